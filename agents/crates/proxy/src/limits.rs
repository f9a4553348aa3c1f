//! Limits of the data plane: sizes, counts and timeouts. Limits that differ between apps are in `AppTraffic`.

use std::time::Duration;

/// Maximum number of header fields; heads with more are refused.
pub(crate) const HEADERS_MAX: usize = 100;
/// Maximum number of unsent bytes to a peer before reads for it pause.
pub(crate) const BACKLOG_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of interim responses (1xx) before a response.
pub(crate) const INTERIMS_MAX: u32 = 16;
/// Maximum number of concurrent streams of one HTTP/2 connection.
pub(crate) const STREAMS_MAX: u32 = 128;

/// Limits of one proxy. The defaults suit an ordinary server; tests shorten the timeouts.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum length of a request or response head in bytes.
    pub head_bytes_max: usize,
    /// Maximum length of a request line in bytes.
    pub target_bytes_max: usize,
    /// Time that a client has for its part of the TLS handshake. The core's own time does not count.
    pub handshake_timeout: Duration,
    /// Time for a QUIC handshake while at least `half_open_max` are in flight.
    pub crowded_handshake_timeout: Duration,
    /// TLS handshakes on one core that wait for their clients; beyond, the one that has waited longest ends.
    pub silent_handshakes_max: usize,
    /// Timeout from the first to the last byte of a head; bytes in between do not extend it.
    pub head_timeout: Duration,
    /// Idle timeout of a client connection without a request.
    pub idle_timeout: Duration,
    /// Timeout of a request body while no bytes arrive.
    pub body_stall_timeout: Duration,
    /// Minimum rate of an awaited request body in bytes a second, measured over `body_rate_interval`.
    pub body_rate_min: u64,
    /// Time before the rate of a slow body counts, and between two measurements.
    pub body_rate_interval: Duration,
    /// Minimum rate in bytes a second at which a client must take a response that waits for it, measured over
    /// `response_rate_interval`. Streams of one connection share it.
    pub response_rate_min: u64,
    /// Time for which a client must be behind before its rate counts, and between two measurements.
    pub response_rate_interval: Duration,
    /// Timeout of a client that takes none of the bytes that wait for it.
    pub write_stall_timeout: Duration,
    /// Idle timeout of an upgraded connection.
    pub tunnel_idle_timeout: Duration,
    /// Timeout of a silent response to a client that has closed its sending side.
    pub half_closed_timeout: Duration,
    /// Time for which the bytes of a refused client are read and discarded, so that the client receives the response.
    pub linger_timeout: Duration,
    /// Connect timeout to an app.
    pub connect_timeout: Duration,
    /// Time after which an exchange that does not wait for the app gives its permit to queued requests: for a response
    /// that continues after its head, or a slow client.
    pub permit_timeout: Duration,
    /// Idle timeout of a connection to an app; shorter if the app says so.
    pub upstream_idle_timeout: Duration,
    /// Number of QUIC handshakes in flight on one core above which clients must validate their address (Retry).
    pub half_open_max: u32,
    /// Maximum number of clients of one core.
    pub connections_max: u32,
    /// True if local clients have the connection limits of others; for tests.
    pub bounds_loopback: bool,
    /// Precision of all timeouts.
    pub tick: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            target_bytes_max: 16 * 1024,
            handshake_timeout: Duration::from_secs(60),
            crowded_handshake_timeout: Duration::from_secs(10),
            silent_handshakes_max: 7168,
            head_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(75),
            body_stall_timeout: Duration::from_secs(60),
            body_rate_min: 1024,
            body_rate_interval: Duration::from_secs(10),
            response_rate_min: 1024,
            response_rate_interval: Duration::from_secs(30),
            write_stall_timeout: Duration::from_secs(60),
            tunnel_idle_timeout: Duration::from_secs(3600),
            half_closed_timeout: Duration::from_secs(30),
            linger_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            permit_timeout: Duration::from_secs(1),
            upstream_idle_timeout: Duration::from_secs(30),
            half_open_max: 64,
            connections_max: 8192,
            bounds_loopback: false,
            tick: Duration::from_millis(250),
        }
    }
}
