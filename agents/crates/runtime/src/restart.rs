//! Restart back-off of a process that ended by itself. Pure: knows no app and no clock.

use std::time::Duration;

/// Uptime after which a process starts its back-off anew.
pub(crate) const STEADY: Duration = Duration::from_secs(60);
/// Pauses between restarts: the first is short, because a crash is often a single one.
const PAUSES_MS: [u64; 6] = [100, 500, 2_000, 8_000, 30_000, 60_000];
/// Number of consecutive ends after which it is given up.
const ROW_MAX: usize = 10;
/// Pause before a process that was given up is retried: the cause may have been fixed outside, such as a database that
/// came back.
const CRASH_LOOP_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Returns the wait after the `row`th consecutive end, counted from 0; true if it is given up meanwhile.
pub(crate) fn pause(row: usize) -> (Duration, bool) {
    if row + 1 >= ROW_MAX {
        return (CRASH_LOOP_PAUSE, true);
    }
    let pause = PAUSES_MS.get(row).or(PAUSES_MS.last()).copied().unwrap_or_default();
    (Duration::from_millis(pause), false)
}

/// Returns the message about a process that is given up; `ended` describes its last exit.
pub(crate) fn crash_looping(ended: &str) -> String {
    format!(
        "Crash-looping: it exited {ROW_MAX} times in a row. {ended} Fix the cause that its log names, then deploy again. Otherwise the agent restarts it after 30 minutes."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_until_it_is_given_up_for_long() {
        let pauses: Vec<(Duration, bool)> = (0..12).map(pause).collect();
        assert!(pauses.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(pauses.iter().position(|(_, crash_looping)| *crash_looping), Some(9));
        assert_eq!(pauses[0].0, Duration::from_millis(100));
        assert_eq!(pauses[11], (CRASH_LOOP_PAUSE, true));
    }
}
