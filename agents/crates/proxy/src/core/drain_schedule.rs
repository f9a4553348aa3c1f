//! Drain schedule of a core: spreads the closing of connections over time. The codecs perform the close.

use std::time::Duration;

/// Minimum time before an idle connection closes without notice, so that a next request can still get a response that
/// announces the close.
const SILENCE_MIN: Duration = Duration::from_secs(2);

/// Options of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainOptions {
    /// Maximum time of exchanges in flight.
    pub timeout: Duration,
    /// Time over which idle connections close one after another.
    pub idle_window: Duration,
}

impl Default for DrainOptions {
    /// Drain of a proxy that has a successor: enough time for long downloads, and no rush of TLS handshakes.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(600), idle_window: Duration::from_secs(10) }
    }
}

/// Period of the core clock that spreads events over its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrainWindow {
    from_ms: u64,
    length_ms: u64,
}

impl DrainWindow {
    pub(crate) fn new(from_ms: u64, length: Duration) -> Self {
        Self { from_ms, length_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Returns the period in which WebSockets are asked to close: the first half of the drain, so that each has at
    /// least the other half for its closing handshake.
    pub(crate) fn for_tunnels(now_ms: u64, timeout: Duration) -> Self {
        Self::new(now_ms, timeout / 2)
    }

    /// Returns the moment for a random `jitter`.
    pub(crate) fn moment(&self, jitter: u16) -> u64 {
        let offset = u128::from(self.length_ms) * u128::from(jitter) / u128::from(u16::MAX);
        self.from_ms.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }
}

/// Schedule of a drain in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainSchedule {
    idle: DrainWindow,
    pub(crate) tunnels: DrainWindow,
}

impl DrainSchedule {
    pub(crate) fn begin(now_ms: u64, order: DrainOptions) -> Self {
        let silence = SILENCE_MIN.min(order.idle_window / 2);
        let idle =
            DrainWindow::new(now_ms + u64::try_from(silence.as_millis()).unwrap_or(0), order.idle_window - silence);
        Self { idle, tunnels: DrainWindow::for_tunnels(now_ms, order.timeout) }
    }

    /// Returns when the idle connection with this random `jitter` closes.
    pub(crate) fn close_idle_at(&self, jitter: u16) -> u64 {
        self.idle.moment(jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_close_after_the_minimum_silence_and_within_the_spread() {
        let order = |idle_window| DrainOptions {
            timeout: Duration::from_secs(60),
            idle_window: Duration::from_millis(idle_window),
        };
        let moments = |idle_window| {
            let draining = DrainSchedule::begin(1000, order(idle_window));
            (draining.close_idle_at(0), draining.close_idle_at(u16::MAX))
        };
        assert_eq!(moments(10_000), (3000, 11_000));
        assert_eq!(moments(1000), (1500, 2000));
        assert_eq!(moments(0), (1000, 1000));
        assert_eq!(DrainSchedule::begin(1000, order(0)).tunnels.moment(u16::MAX), 31_000);
    }
}
