//! The numbers of an app's traffic that are asked on every request, ready to use.

use std::time::Duration;

use fairlead_model::{AppTraffic, UpstreamProtocol};
use fairlead_route::LIMIT_MIN;

/// Streams of one HTTP/2 connection that count on.
const STREAMS_PER_CONNECTION: u32 = 100;

/// Of one app on one core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum number of requests that one instance works on.
    pub(crate) slots_per_instance: u32,
    /// Lowers that to the number that the instance has shown to handle.
    pub(crate) adapts: bool,
    /// Requests that all of them work on.
    pub(crate) slots_max: u32,
    /// Many requests share one connection.
    pub(crate) shares_connections: bool,
    pub(crate) queue_max: u32,
    pub(crate) queue_timeout_ms: u32,
    pub(crate) response_timeout: Duration,
    pub(crate) retry_budget_percent: u32,
    pub(crate) adaptive: bool,
    pub(crate) sticky: bool,
}

impl Bounds {
    pub(crate) fn of(traffic: &AppTraffic) -> Self {
        // Streams cost little, so HTTP/2 needs no limit that adapts.
        let (connections, adapts) = match (traffic.protocol, traffic.connections_per_instance) {
            (UpstreamProtocol::Http1, 0) => (u32::MAX, true),
            (UpstreamProtocol::Http1, connections) => (connections, false),
            (UpstreamProtocol::Http2, 0) => (LIMIT_MIN * STREAMS_PER_CONNECTION, false),
            (UpstreamProtocol::Http2, connections) => (connections.saturating_mul(STREAMS_PER_CONNECTION), false),
        };
        Self {
            slots_per_instance: connections.min(or_none(traffic.in_flight_per_instance)),
            adapts,
            slots_max: or_none(traffic.in_flight_max),
            shares_connections: traffic.protocol == UpstreamProtocol::Http2,
            queue_max: traffic.queue_max,
            queue_timeout_ms: traffic.queue_timeout_ms,
            response_timeout: Duration::from_millis(u64::from(traffic.response_timeout_ms)),
            retry_budget_percent: traffic.retry_budget_percent,
            adaptive: traffic.adaptive,
            sticky: traffic.sticky.is_some(),
        }
    }
}

/// Zero is no bound.
fn or_none(bound: u32) -> u32 {
    if bound == 0 { u32::MAX } else { bound }
}
