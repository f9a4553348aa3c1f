//! Counters of one core between two collections. Plain numbers without atomics, because one thread writes them.

use std::collections::BTreeMap;

use fairlead_telemetry::Histogram;

use super::route_metrics::RouteMetricsReport;
use crate::filters::{FILTERS, FilterId, reasons};

/// Numbers of one app on one core since the last collection.
#[derive(Debug, Default, Clone)]
pub(crate) struct AppNumbers {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) client_errors: u64,
    pub(crate) latency: Histogram,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    /// Requests that waited for an instance.
    pub(crate) queued: u64,
    /// Queued requests that timed out.
    pub(crate) queue_timeouts: u64,
    /// Requests rejected because the queue was full.
    pub(crate) queue_full: u64,
    /// Requests rejected in favor of others with a higher priority (load shedding).
    pub(crate) load_shed: u64,
    /// Requests sent to an app again after a failure.
    pub(crate) retries: u64,
    /// Times that outlier ejection removed an instance.
    pub(crate) ejections: u64,
}

impl AppNumbers {
    /// Counts one exchange by the status that the client received; `None` if it left before any.
    pub(crate) fn count(&mut self, status: Option<u16>, latency_us: Option<u64>) {
        self.requests += 1;
        match status {
            Some(500..) => self.errors += 1,
            Some(400..) => self.client_errors += 1,
            _ => {}
        }
        if let Some(us) = latency_us {
            self.latency.record(us);
        }
    }

    /// Adds the counters of another core.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.client_errors += other.client_errors;
        self.latency.merge(&other.latency);
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.queued += other.queued;
        self.queue_timeouts += other.queue_timeouts;
        self.queue_full += other.queue_full;
        self.load_shed += other.load_shed;
        self.retries += other.retries;
        self.ejections += other.ejections;
    }
}

/// Collected numbers of one app.
#[derive(Debug)]
pub(crate) struct AppStats {
    pub(crate) key: Box<str>,
    pub(crate) measured: bool,
    pub(crate) numbers: AppNumbers,
    pub(crate) in_flight: u32,
    /// Requests in the queue now.
    pub(crate) queue_length: u32,
    /// Instances that outlier ejection removes now.
    pub(crate) ejected: u32,
    /// Instances that are unhealthy by active health checks.
    pub(crate) unhealthy: u32,
}

/// Requests of one route that its filters rejected, on one core since the last collection, by `FilterId`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RejectCounters([u64; FILTERS]);

impl RejectCounters {
    pub(crate) fn count(&mut self, filter: FilterId) {
        self.0[filter.index()] += 1;
    }

    /// Adds the counters of another core.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Returns the counts by reason.
    pub(crate) fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for (reason, count) in reasons().into_iter().zip(self.0) {
            *counts.entry(reason).or_default() += count;
        }
        counts
    }
}

impl AppStats {
    /// Adds the numbers of another core. Health check results are the same on all cores; ejection is decided by each
    /// core, over the same instances.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.numbers.merge(&other.numbers);
        self.in_flight += other.in_flight;
        self.queue_length += other.queue_length;
        self.ejected = self.ejected.max(other.ejected);
        self.unhealthy = self.unhealthy.max(other.unhealthy);
    }
}

/// All numbers of a core at a collection.
#[derive(Debug, Default)]
pub(crate) struct CoreStats {
    pub(crate) apps: Vec<AppStats>,
    /// Routes with any rejected requests, by host and path prefix; empty for all that have no policy.
    pub(crate) rejected: Vec<(Box<str>, RejectCounters)>,
    /// Routes with any requests.
    pub(crate) route_metrics: Vec<RouteMetricsReport>,
    /// Sides of canaries with any requests.
    pub(crate) sides: Vec<RouteMetricsReport>,
    /// (instance id, exchanges in flight).
    pub(crate) instances: Vec<(Box<str>, u32)>,
    pub(crate) open_connections: u32,
    pub(crate) malformed_requests: u64,
    /// Batches of access log records that the writer could not keep up with.
    pub(crate) access_log_dropped: u64,
    pub(crate) accept_pauses: u32,
    pub(crate) rejected_connections: u32,
    pub(crate) panics: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_are_counted_by_filter_and_reported_by_reason() {
        let (mut one, mut other) = (RejectCounters::default(), RejectCounters::default());
        for filter in (0..FILTERS).map(|index| FilterId::of(reasons()[index])) {
            one.count(filter);
        }
        other.count(FilterId::of("denied"));
        one.merge(&other);
        let counts = one.by_reason();
        assert_eq!(counts.values().sum::<u64>(), FILTERS as u64 + 1);
        assert_eq!((counts["denied"], counts["redirected"]), (2, 2));
    }
}
