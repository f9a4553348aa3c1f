//! Wall clock in the wire format. Durations use `Instant`, never this.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the Unix time in milliseconds; zero for a clock set before 1970.
pub fn unix_ms() -> u64 {
    unix_us() / 1000
}

/// Returns the Unix time in microseconds; zero for a clock set before 1970.
pub fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
