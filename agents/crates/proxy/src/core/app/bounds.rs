//! Traffic limits of an app, prepared for use on every request.

use std::time::Duration;

use fairlead_model::{AppTraffic, UpstreamProtocol};
use fairlead_route::LIMIT_MIN;

/// Number of concurrent streams assumed for one HTTP/2 connection.
const STREAMS_PER_CONNECTION: u32 = 100;

/// Limits of one app. Those that a user sets hold for all cores together; the automatic ones hold for each core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppLimits {
    /// Maximum number of concurrent requests of one instance.
    pub(crate) permits_per_instance: u32,
    /// True if a user set that limit, so that all cores share it.
    pub(crate) shares_instance_permits: bool,
    /// Maximum number of HTTP/1.1 connections to one instance, idle ones included.
    pub(crate) connections_max: u32,
    /// True if adaptive concurrency lowers that limit to the capacity that the instance has shown.
    pub(crate) adapts_concurrency: bool,
    /// Maximum number of concurrent requests of all instances, which all cores share.
    pub(crate) permits_max: u32,
    /// True if requests share connections (HTTP/2).
    pub(crate) shares_connections: bool,
    pub(crate) queue_length_max: u32,
    pub(crate) queue_timeout_ms: u32,
    pub(crate) response_timeout: Duration,
    pub(crate) retry_budget_percent: u32,
    pub(crate) load_shedding: bool,
    pub(crate) sticky_sessions: bool,
}

impl AppLimits {
    pub(crate) fn of(traffic: &AppTraffic) -> Self {
        // Streams are cheap, so HTTP/2 needs no adaptive limit.
        let (connections, adapts_concurrency) = match (traffic.upstream_protocol, traffic.connections_per_instance) {
            (UpstreamProtocol::Http1, 0) => (u32::MAX, true),
            (UpstreamProtocol::Http1, connections) => (connections, false),
            (UpstreamProtocol::Http2, 0) => (LIMIT_MIN * STREAMS_PER_CONNECTION, false),
            (UpstreamProtocol::Http2, connections) => (connections.saturating_mul(STREAMS_PER_CONNECTION), false),
        };
        Self {
            permits_per_instance: connections.min(or_none(traffic.in_flight_per_instance)),
            shares_instance_permits: traffic.connections_per_instance > 0 || traffic.in_flight_per_instance > 0,
            connections_max: match traffic.upstream_protocol {
                UpstreamProtocol::Http1 => or_none(traffic.connections_per_instance),
                UpstreamProtocol::Http2 => u32::MAX,
            },
            adapts_concurrency,
            permits_max: or_none(traffic.in_flight_per_app),
            shares_connections: traffic.upstream_protocol == UpstreamProtocol::Http2,
            queue_length_max: traffic.queue_length_max,
            queue_timeout_ms: traffic.queue_timeout_ms,
            response_timeout: Duration::from_millis(u64::from(traffic.response_timeout_ms)),
            retry_budget_percent: traffic.retry_budget_percent,
            load_shedding: traffic.load_shedding,
            sticky_sessions: traffic.sticky_sessions.is_some(),
        }
    }

    /// True if all cores share permits of the whole app.
    pub(crate) fn shares_app_permits(&self) -> bool {
        self.permits_max < u32::MAX
    }

    /// True if all cores share any permits.
    pub(crate) fn shares_permits(&self) -> bool {
        self.shares_app_permits() || self.shares_instance_permits
    }
}

/// Returns `u32::MAX` for zero, which means no limit.
fn or_none(bound: u32) -> u32 {
    if bound == 0 { u32::MAX } else { bound }
}
