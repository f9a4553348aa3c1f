//! Every bound of the data plane in one place: sizes, counts and deadlines. Those that differ from app to app are `AppTraffic`'s.

use std::time::Duration;

/// Most fields of one head; more are refused.
pub(crate) const HEADERS_MAX: usize = 100;
/// Unsent bytes towards one peer above which nothing more is read for it.
pub(crate) const BACKLOG_BYTES_MAX: usize = 64 * 1024;
/// Interim responses (1xx) before one response.
pub(crate) const INTERIMS_MAX: u32 = 16;
/// Streams of one HTTP/2 connection at once.
pub(crate) const STREAMS_MAX: u32 = 128;

/// Bounds of one proxy. The defaults suit an ordinary server; tests shorten the deadlines.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest head of a request or response.
    pub head_bytes_max: usize,
    /// Longest request line.
    pub target_bytes_max: usize,
    /// Time that a client has for its part of the TLS handshake. The core's own time does not count.
    pub handshake_timeout: Duration,
    /// Time for a QUIC handshake while at least `half_open_max` are in flight.
    pub crowded_handshake_timeout: Duration,
    /// TLS handshakes on one core that wait for their clients; beyond, the one that has waited longest ends.
    pub silent_handshakes_max: usize,
    /// From the first byte of a head to its last; bytes in between don't prolong it.
    pub head_timeout: Duration,
    /// An open connection without a request.
    pub idle_timeout: Duration,
    /// A request body of which nothing arrives.
    pub body_stall_timeout: Duration,
    /// Bytes a second that a request body must bring while it is waited for; measured over `body_rate_interval`.
    pub body_rate_min: u64,
    /// How long a slow body is let be before its rate counts, and between two measurements.
    pub body_rate_interval: Duration,
    /// Bytes a second that a client must take of a response while some of it waits, measured over `response_rate_interval`. The
    /// streams of one connection that are behind share it.
    pub response_rate_min: u64,
    /// Time for which a client must be behind before its rate counts, and between two measurements.
    pub response_rate_interval: Duration,
    /// A client that takes nothing of what waits for it.
    pub write_stall_timeout: Duration,
    /// An upgraded connection on which nothing moves.
    pub tunnel_idle_timeout: Duration,
    /// A response that goes on, silent, for a client that has closed its sending side.
    pub half_closed_timeout: Duration,
    /// How long a refused client's bytes are read away, so that it gets to see the answer.
    pub linger_timeout: Duration,
    /// Connecting to an app.
    pub connect_timeout: Duration,
    /// An exchange gives its place to those who wait once the app has not been what it waits for, for so long: a response
    /// that goes on after its head, a client that is slow either way.
    pub slot_patience: Duration,
    /// An idle connection to an app is closed after this; sooner when the app said so.
    pub upstream_idle_timeout: Duration,
    /// QUIC handshakes under way on one core above which clients have to prove their address first (Retry).
    pub half_open_max: u32,
    /// Clients connected to one core.
    pub connections_max: u32,
    /// Clients on this very machine have as few connections as others: for tests.
    pub bounds_loopback: bool,
    /// How exact all deadlines are.
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
            slot_patience: Duration::from_secs(1),
            upstream_idle_timeout: Duration::from_secs(30),
            half_open_max: 64,
            connections_max: 8192,
            bounds_loopback: false,
            tick: Duration::from_millis(250),
        }
    }
}
