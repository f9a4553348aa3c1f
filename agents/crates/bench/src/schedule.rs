//! Schedule of an open loop: fixed send times that do not depend on responses. Pure.

use std::time::{Duration, Instant};

/// Send times of one client: every `clients`th request of the whole rate.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    origin: Instant,
    rate: f64,
    clients: u32,
    /// Number of the next request among those of all clients.
    next: u64,
}

impl Schedule {
    /// Spreads `rate` requests per second evenly over the clients. `client` counts from 0.
    pub(crate) fn new(origin: Instant, rate: f64, clients: u32, client: u32) -> Self {
        Self { origin, rate, clients, next: client.into() }
    }
}

impl Iterator for Schedule {
    type Item = Instant;

    /// Computes each time from the origin, so that rounding errors do not add up.
    fn next(&mut self) -> Option<Instant> {
        let due = self.origin + Duration::from_secs_f64(self.next as f64 / self.rate);
        self.next += u64::from(self.clients);
        Some(due)
    }
}

/// Delay of one send behind its schedule, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lateness {
    /// Wait for the previous response on the connection.
    pub(crate) connection: Duration,
    /// Delay by the generator's own timer and CPU.
    pub(crate) generator: Duration,
}

impl Lateness {
    /// `idle_since`: end of the client's previous request.
    pub(crate) fn of(scheduled: Instant, idle_since: Instant, sent: Instant) -> Self {
        Self {
            connection: idle_since.saturating_duration_since(scheduled),
            generator: sent.saturating_duration_since(scheduled.max(idle_since)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_share_the_rate_evenly_and_without_drift() {
        let origin = Instant::now();
        let mut all: Vec<_> = (0..3).flat_map(|client| Schedule::new(origin, 300.0, 3, client).take(1_000)).collect();
        all.sort();
        let last = all.last().unwrap().duration_since(origin).as_secs_f64();
        assert!((last - 2_999.0 / 300.0).abs() < 1e-6, "{last}");
        let step = |pair: &[Instant]| (pair[1] - pair[0]).as_secs_f64();
        assert!(all.windows(2).all(|pair| (step(pair) - 1.0 / 300.0).abs() < 1e-6));
    }

    #[test]
    fn lateness_tells_the_generator_from_a_busy_connection() {
        let at = |ms| Duration::from_millis(ms);
        let due = Instant::now();
        let idle = Lateness::of(due, due, due + at(3));
        assert_eq!(idle, Lateness { connection: at(0), generator: at(3) });
        let busy = Lateness::of(due, due + at(40), due + at(41));
        assert_eq!(busy, Lateness { connection: at(40), generator: at(1) });
    }
}
