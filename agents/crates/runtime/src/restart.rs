//! When a process that ended by itself is started again, and when it is left alone. Pure: knows no app and no clock.

use std::time::Duration;

/// A process that ran this long before it ended starts its back-off anew.
pub(crate) const STEADY: Duration = Duration::from_secs(60);
/// Pauses between restarts: the first is short, as one crash is often just one.
const PAUSES_MS: [u64; 6] = [100, 500, 2_000, 8_000, 30_000, 60_000];
/// Ends in a row after which it is given up.
const ROW_MAX: usize = 10;
/// What broke it may have been mended from outside by then: a database that came back.
const GIVEN_UP_PAUSE: Duration = Duration::from_secs(30 * 60);

/// How long to wait after the end that is `row`th in a row, counted from 0; true: it is given up meanwhile.
pub(crate) fn pause(row: usize) -> (Duration, bool) {
    if row + 1 >= ROW_MAX {
        return (GIVEN_UP_PAUSE, true);
    }
    let pause = PAUSES_MS.get(row).or(PAUSES_MS.last()).copied().unwrap_or_default();
    (Duration::from_millis(pause), false)
}

/// What people read of one that is given up; `ended` is how it ended last.
pub(crate) fn given_up(ended: &str) -> String {
    format!(
        "Started {ROW_MAX} times in a row and ended each time, so it is left alone. {ended} Fix what its log names and deploy again; without that it is tried again after 30 minutes."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_until_it_is_given_up_for_long() {
        let pauses: Vec<(Duration, bool)> = (0..12).map(pause).collect();
        assert!(pauses.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(pauses.iter().position(|(_, given_up)| *given_up), Some(9));
        assert_eq!(pauses[0].0, Duration::from_millis(100));
        assert_eq!(pauses[11], (GIVEN_UP_PAUSE, true));
    }
}
