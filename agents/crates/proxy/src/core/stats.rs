//! What a core counts for each app between two collections. Plain numbers: one core, one writer, no atomics.

use fairlead_telemetry::Histogram;

/// Numbers of one app on one core since the last collection.
#[derive(Debug, Default, Clone)]
pub(crate) struct AppNumbers {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) client_errors: u64,
    pub(crate) latency: Histogram,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
}

impl AppNumbers {
    /// Counts one exchange by the status the client got; `None` when it left before any.
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

    /// Adds another core's numbers.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.client_errors += other.client_errors;
        self.latency.merge(&other.latency);
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
    }
}

/// One app's numbers as a core hands them over.
#[derive(Debug)]
pub(crate) struct AppStats {
    pub(crate) key: Box<str>,
    pub(crate) measured: bool,
    pub(crate) numbers: AppNumbers,
    pub(crate) in_flight: u32,
}

/// Everything a core hands over at a collection.
#[derive(Debug, Default)]
pub(crate) struct CoreStats {
    pub(crate) apps: Vec<AppStats>,
    /// (instance id, exchanges in flight).
    pub(crate) instances: Vec<(Box<str>, u32)>,
    pub(crate) open_connections: u32,
    pub(crate) malformed_requests: u64,
}
