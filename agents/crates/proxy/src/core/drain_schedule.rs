//! How a core takes its leave of clients: not of all at once. Owns when; the codecs own how.

use std::time::Duration;

/// An idle connection that is told nothing is closed only if its client had this long to send its next request, and so to learn
/// in order that the connection ends.
const SILENCE_MIN: Duration = Duration::from_secs(2);

/// How a drain goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainOptions {
    /// What is in flight may take so long.
    pub patience: Duration,
    /// Idle connections are closed one after another over so long.
    pub spread: Duration,
}

impl Default for DrainOptions {
    /// For a proxy that has a successor: time for long downloads, and no rush of handshakes.
    fn default() -> Self {
        Self { patience: Duration::from_secs(600), spread: Duration::from_secs(10) }
    }
}

/// A stretch of a core's clock in which something is to happen to each of many, at another moment to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrainWindow {
    from_ms: u64,
    length_ms: u64,
}

impl DrainWindow {
    pub(crate) fn new(from_ms: u64, length: Duration) -> Self {
        Self { from_ms, length_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX) }
    }

    /// WebSockets are told within the first half of their time, so that each has at least the other half to end in.
    pub(crate) fn for_tunnels(now_ms: u64, patience: Duration) -> Self {
        Self::new(now_ms, patience / 2)
    }

    /// The moment of the one that drew `lot`.
    pub(crate) fn moment(&self, lot: u16) -> u64 {
        let offset = u128::from(self.length_ms) * u128::from(lot) / u128::from(u16::MAX);
        self.from_ms.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }
}

/// A drain under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainSchedule {
    idle: DrainWindow,
    pub(crate) tunnels: DrainWindow,
}

impl DrainSchedule {
    pub(crate) fn begin(now_ms: u64, order: DrainOptions) -> Self {
        let silence = SILENCE_MIN.min(order.spread / 2);
        let idle = DrainWindow::new(now_ms + u64::try_from(silence.as_millis()).unwrap_or(0), order.spread - silence);
        Self { idle, tunnels: DrainWindow::for_tunnels(now_ms, order.patience) }
    }

    /// When the idle connection that drew `lot` is closed.
    pub(crate) fn close_idle_at(&self, lot: u16) -> u64 {
        self.idle.moment(lot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_closed_before_a_silence_and_all_are_within_the_spread() {
        let order = |spread| DrainOptions { patience: Duration::from_secs(60), spread: Duration::from_millis(spread) };
        let moments = |spread| {
            let draining = DrainSchedule::begin(1000, order(spread));
            (draining.close_idle_at(0), draining.close_idle_at(u16::MAX))
        };
        assert_eq!(moments(10_000), (3000, 11_000));
        assert_eq!(moments(1000), (1500, 2000));
        assert_eq!(moments(0), (1000, 1000));
        assert_eq!(DrainSchedule::begin(1000, order(0)).tunnels.moment(u16::MAX), 31_000);
    }
}
