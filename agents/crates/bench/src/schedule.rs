//! Schedule of an open loop: fixed send times that do not depend on responses. Pure.

use std::time::{Duration, Instant};

/// Rate that is constant for a time and then changes evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ramp {
    /// Requests per second while the rate is constant.
    pub(crate) first: f64,
    /// Requests per second at the end.
    pub(crate) last: f64,
    /// Time of the constant rate.
    pub(crate) hold: Duration,
    /// Time of the change.
    pub(crate) length: Duration,
}

impl Ramp {
    /// Returns the time of a request since the origin; `None`: the rate falls to zero before it.
    fn time_of(self, number: u64) -> Option<Duration> {
        let (number, hold) = (number as f64, self.hold.as_secs_f64());
        let held = self.first * hold;
        if number < held || self.length.is_zero() {
            return Some(Duration::from_secs_f64(number / self.first));
        }
        // Number of requests after t seconds: first · t + slope · t² ÷ 2. This form of the solution has no difference of
        // nearly equal numbers.
        let (left, slope) = (number - held, (self.last - self.first) / self.length.as_secs_f64());
        let root = (self.first * self.first + 2.0 * slope * left).sqrt();
        // NaN for a root of a negative number.
        root.is_finite().then(|| Duration::from_secs_f64(hold + 2.0 * left / (self.first + root)))
    }
}

/// Send times of one client: every `clients`th request of the whole rate.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    origin: Instant,
    rate: Ramp,
    clients: u32,
    /// Number of the next request among those of all clients.
    next: u64,
}

impl Schedule {
    /// Spreads the requests evenly over the clients. `client` counts from 0.
    pub(crate) fn new(origin: Instant, rate: Ramp, clients: u32, client: u32) -> Self {
        Self { origin, rate, clients, next: client.into() }
    }
}

impl Iterator for Schedule {
    /// Number of the request among those of all clients, and its time.
    type Item = (u64, Instant);

    /// Computes each time from the origin, so that rounding errors do not add up.
    fn next(&mut self) -> Option<(u64, Instant)> {
        let number = self.next;
        let due = self.origin + self.rate.time_of(number)?;
        self.next += u64::from(self.clients);
        Some((number, due))
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
        let rate = Ramp { first: 300.0, last: 300.0, hold: Duration::from_secs(1), length: Duration::from_secs(9) };
        let mut all: Vec<_> = (0..3).flat_map(|client| Schedule::new(origin, rate, 3, client).take(1_000)).collect();
        all.sort();
        assert!(all.iter().map(|(number, _)| *number).eq(0..3_000));
        let all: Vec<_> = all.into_iter().map(|(_, due)| due).collect();
        let last = all.last().unwrap().duration_since(origin).as_secs_f64();
        assert!((last - 2_999.0 / 300.0).abs() < 1e-6, "{last}");
        let step = |pair: &[Instant]| (pair[1] - pair[0]).as_secs_f64();
        assert!(all.windows(2).all(|pair| (step(pair) - 1.0 / 300.0).abs() < 1e-6));
    }

    #[test]
    fn a_ramp_changes_the_rate_evenly_after_the_hold() {
        let origin = Instant::now();
        for (first, last) in [(10.0, 100.0), (100.0, 10.0)] {
            let rate = Ramp { first, last, hold: Duration::from_secs(2), length: Duration::from_secs(4) };
            let times: Vec<f64> = Schedule::new(origin, rate, 1, 0)
                .map(|(_, due)| due.duration_since(origin).as_secs_f64())
                .take_while(|time| *time < 6.0)
                .collect();
            let between = |start: f64, end: f64| times.iter().filter(|time| (start..end).contains(*time)).count();
            assert_eq!(between(0.0, 2.0), 2 * first as usize);
            // Mean rate of the ramp, and of its first and last quarter.
            assert_eq!(between(2.0, 6.0), 220);
            let quarter = (last - first) / 8.0;
            assert!((between(2.0, 3.0) as f64 - (first + quarter)).abs() <= 1.0);
            assert!((between(5.0, 6.0) as f64 - (last - quarter)).abs() <= 1.0);
        }
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
