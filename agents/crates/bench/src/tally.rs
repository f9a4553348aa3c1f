//! Results of a worker's clients, which merge into those of a measurement.

use std::time::{Duration, Instant};

use fairlead_telemetry::Histogram;

use crate::client::Window;
use crate::failure::{FailureKind, Failures};
use crate::schedule::Lateness;

#[derive(Debug, Default)]
pub(crate) struct LoadTally {
    pub(crate) requests: u64,
    pub(crate) failures: Failures,
    /// Handshakes shortened by a ticket.
    pub(crate) resumed: u64,
    pub(crate) body_bytes: u64,
    pub(crate) latency: Histogram,
    pub(crate) latency_max_us: u64,
    pub(crate) open_loop: OpenLoopTally,
    pub(crate) last_error: Option<String>,
}

/// Results of an open loop; empty in a closed one.
#[derive(Debug, Default)]
pub(crate) struct OpenLoopTally {
    /// Number of requests in the schedule, including unsent ones.
    pub(crate) scheduled: u64,
    /// Number of requests not sent before the end of the measured time.
    pub(crate) unsent: u64,
    /// Number of requests that waited for the previous response on their connection.
    pub(crate) waited: u64,
    /// Waits for the previous response.
    pub(crate) connection_wait: Histogram,
    /// Delays of sends by the generator itself.
    pub(crate) generator_lateness: Histogram,
    /// Time in which every client had a request in flight, summed over workers.
    pub(crate) all_busy: Duration,
}

impl LoadTally {
    pub(crate) fn succeed(&mut self, latency: Duration, body_bytes: u64) {
        let us = micros(latency);
        self.requests += 1;
        self.body_bytes += body_bytes;
        self.latency.record(us);
        self.latency_max_us = self.latency_max_us.max(us);
    }

    pub(crate) fn fail(&mut self, kind: FailureKind) {
        *self.failures.entry(kind).or_default() += 1;
    }

    pub(crate) fn errors(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        for (kind, count) in other.failures {
            *self.failures.entry(kind).or_default() += count;
        }
        self.resumed += other.resumed;
        self.body_bytes += other.body_bytes;
        self.latency.merge(&other.latency);
        self.latency_max_us = self.latency_max_us.max(other.latency_max_us);
        self.open_loop.merge(&other.open_loop);
        self.last_error = self.last_error.take().or(other.last_error);
    }
}

impl OpenLoopTally {
    /// Records the send of a scheduled request.
    pub(crate) fn send(&mut self, lateness: Lateness) {
        self.scheduled += 1;
        self.waited += u64::from(!lateness.connection.is_zero());
        self.connection_wait.record(micros(lateness.connection));
        self.generator_lateness.record(micros(lateness.generator));
    }

    /// Records a scheduled request that was never sent.
    pub(crate) fn skip(&mut self) {
        self.scheduled += 1;
        self.unsent += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.unsent += other.unsent;
        self.waited += other.waited;
        self.connection_wait.merge(&other.connection_wait);
        self.generator_lateness.merge(&other.generator_lateness);
        self.all_busy += other.all_busy;
    }
}

/// Measures the time in which all clients of a worker have a request in flight.
#[derive(Debug)]
pub(crate) struct BusyClock {
    clients: u32,
    busy: u32,
    all_busy_since: Option<Instant>,
}

impl BusyClock {
    pub(crate) fn new(clients: u32) -> Self {
        Self { clients, busy: 0, all_busy_since: None }
    }

    pub(crate) fn start(&mut self, now: Instant) {
        self.busy += 1;
        if self.busy == self.clients {
            self.all_busy_since = Some(now);
        }
    }

    /// Returns the part of the window in which all clients were busy until now.
    pub(crate) fn end(&mut self, now: Instant, window: Window) -> Duration {
        self.busy -= 1;
        let since = self.all_busy_since.take();
        since.map_or(Duration::ZERO, |since| now.min(window.end).saturating_duration_since(since.max(window.start)))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_merge_failures_latencies_and_maximum() {
        let (mut one, mut other) = (LoadTally::default(), LoadTally::default());
        one.succeed(Duration::from_millis(5), 3);
        one.fail(FailureKind::Timeout);
        other.succeed(Duration::from_millis(9), 4);
        other.fail(FailureKind::Timeout);
        other.fail(FailureKind::Closed);
        one.merge(other);
        assert_eq!((one.requests, one.errors(), one.body_bytes, one.latency_max_us), (2, 3, 7, 9_000));
        assert_eq!(one.failures, Failures::from([(FailureKind::Timeout, 2), (FailureKind::Closed, 1)]));
        assert_eq!(one.latency.count(), 2);
    }

    #[test]
    fn all_busy_time_is_only_that_of_full_load_within_the_window() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let window = Window { announced: start, start: at(10), end: at(100) };
        let mut clock = BusyClock::new(2);
        clock.start(at(0));
        clock.start(at(5));
        assert_eq!(clock.end(at(30), window), Duration::from_millis(20));
        assert_eq!(clock.end(at(40), window), Duration::ZERO);
    }
}
