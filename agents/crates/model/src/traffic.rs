//! Traffic policy of a route, an app and the whole proxy. Types and bounds only: desired state and
//! the file of a standalone proxy both become these types.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Reason why a policy is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct TrafficError {
    /// Path of the field, like `limits.client_burst`.
    pub field: String,
    /// Description of the problem.
    pub reason: String,
}

impl TrafficError {
    /// Creates an error of one field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

// ----------------------------------------------------------------------------------------------
// route policy

/// Policy for the requests of one route. The default only redirects plain HTTP to HTTPS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoutePolicy {
    /// Serves plain HTTP like HTTPS; otherwise the proxy redirects it to HTTPS, if it listens for it.
    pub serve_plain_http: bool,
    /// True if the app gets the path without the route's prefix; X-Forwarded-Prefix holds the
    /// prefix.
    pub strip_prefix: bool,
    /// Rules for the headers that the app gets, applied in order.
    pub request_headers: Vec<HeaderRule>,
    /// Rules for the headers that the client gets, applied in order.
    pub response_headers: Vec<HeaderRule>,
    /// Users of HTTP basic authentication; `None` turns it off.
    pub basic_auth: Option<BasicAuth>,
    /// Client addresses that are allowed; empty for all.
    pub allow: Vec<IpNet>,
    /// Client addresses that are denied; wins over `allow`.
    pub deny: Vec<IpNet>,
    /// Maintenance page: when set, all requests get it with status 503.
    pub maintenance: Option<Page>,
    /// Pages that replace the proxy's error responses and, with `replace_app`, the app's.
    pub error_pages: Vec<ErrorPage>,
    /// Rate and concurrency limits.
    pub limits: RouteLimits,
    /// Priority for load shedding, used when the app can't serve all requests.
    pub priority: Priority,
    /// True to compress responses where it helps.
    pub compress: bool,
    /// Maximum size of a request's body in bytes, as it is sent; zero for no limit.
    pub request_body_bytes_max: u64,
}

/// Change of one header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    pub action: HeaderAction,
    /// Field name in lower case.
    pub name: String,
    /// Field value; empty for `remove`.
    #[serde(default)]
    pub value: String,
}

/// Action of a header rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderAction {
    /// Replaces all fields of this name.
    Set,
    /// Adds a field beside those of the same name.
    Append,
    /// Removes all fields of this name.
    Remove,
}

/// HTTP basic authentication (RFC 7617).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicAuth {
    /// Realm that browsers show.
    #[serde(default)]
    pub realm: String,
    /// Users, at least one.
    pub users: Vec<BasicUser>,
}

/// One user of basic authentication.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicUser {
    /// User name without a colon.
    pub name: String,
    /// Hash: `pbkdf2-sha256:<iterations>:<salt, base64>:<32 bytes, base64>`.
    pub password_hash: String,
}

impl fmt::Debug for BasicUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Page that the proxy responds with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Media type of the body.
    #[serde(default = "html")]
    pub content_type: String,
    pub body: String,
    /// Value of Retry-After in seconds; zero leaves it out.
    #[serde(default)]
    pub retry_after_seconds: u32,
}

fn html() -> String {
    "text/html; charset=utf-8".to_owned()
}

/// Page for a range of status codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPage {
    /// First status code, 400 to 599.
    pub from: u16,
    /// Last status code, inclusive.
    pub to: u16,
    /// True if the page also replaces the app's own responses.
    #[serde(default)]
    pub replace_app: bool,
    pub page: Page,
}

/// Limits of a route; zero means no limit. All cores share the counters.
///
/// A client may send the requests of a whole second at once, and the burst beyond them. A client
/// that keeps to its rate is never refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteLimits {
    /// Requests per second from one client address (IPv6: one /64).
    pub client_requests_per_second: u32,
    /// Burst: requests that one client may send at once beyond its rate.
    pub client_burst: u32,
    /// In-flight requests of one client.
    pub client_in_flight: u32,
    /// Requests per second of the whole route.
    pub requests_per_second: u32,
    /// Burst: requests at once beyond that rate.
    pub burst: u32,
    /// In-flight requests of the whole route.
    pub in_flight: u32,
}

/// Priority of a route for load shedding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Refused first when load is shed.
    Low,
    /// Priority of a route without a setting.
    #[default]
    Normal,
    /// Refused last when load is shed.
    High,
}

/// Redirect to another URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// Status code: 301, 302, 303, 307 or 308.
    #[serde(default = "permanent")]
    pub status: u16,
    /// Location: `https://host`, `https://host/path` or `/path`.
    pub to: String,
    /// True to append the rest of the path after the route's prefix, and the query.
    #[serde(default = "yes")]
    pub keep_path: bool,
}

fn permanent() -> u16 {
    308
}

fn yes() -> bool {
    true
}

// ----------------------------------------------------------------------------------------------
// app traffic

/// Traffic settings between the proxy and the instances of one app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppTraffic {
    /// Protocol between the proxy and the instances.
    pub upstream_protocol: UpstreamProtocol,
    /// TLS settings; `None` for plain TCP.
    pub tls: Option<UpstreamTls>,
    /// Algorithm that picks an instance.
    pub load_balancing: LoadBalancing,
    /// Sticky sessions; `None` turns them off.
    pub sticky_sessions: Option<StickySessions>,
    /// Slow start: time in which a new instance's share of requests grows to its full weight.
    pub slow_start_ms: u32,
    /// Connections to one instance; zero: adaptive.
    pub connections_per_instance: u32,
    /// In-flight requests of one instance; zero: as many as there are connections.
    pub in_flight_per_instance: u32,
    /// In-flight requests of the app on this server; zero for no limit.
    pub in_flight_per_app: u32,
    /// Maximum number of requests in the wait queue on this server.
    pub queue_length_max: u32,
    /// Queue timeout: the longest time that a request may wait.
    pub queue_timeout_ms: u32,
    /// Response timeout: from the end of a request to the head of its response.
    pub response_timeout_ms: u32,
    /// Load shedding: refuse requests by priority when the queue stays long.
    pub load_shedding: bool,
    /// Retry budget: retries as a percentage of requests.
    pub retry_budget_percent: u32,
    /// Outlier ejection (circuit breaker) of failing instances.
    pub outlier_ejection: OutlierEjection,
    /// Active health check by the proxy; `None` turns it off.
    pub health_check: Option<ActiveHealthCheck>,
}

impl Default for AppTraffic {
    fn default() -> Self {
        Self {
            upstream_protocol: UpstreamProtocol::Http1,
            tls: None,
            load_balancing: LoadBalancing::LeastLoaded,
            sticky_sessions: None,
            slow_start_ms: 0,
            connections_per_instance: 0,
            in_flight_per_instance: 0,
            in_flight_per_app: 0,
            queue_length_max: 8192,
            queue_timeout_ms: 60_000,
            response_timeout_ms: 120_000,
            load_shedding: false,
            retry_budget_percent: 20,
            outlier_ejection: OutlierEjection::default(),
            health_check: None,
        }
    }
}

/// Active health check that the proxy runs against each instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActiveHealthCheck {
    /// Path that must respond with 2xx or 3xx; empty: a TCP connection is enough.
    pub path: String,
    pub interval_ms: u32,
    /// Timeout of one check.
    pub timeout_ms: u32,
    /// Healthy threshold: successful checks in a row that make an instance healthy again.
    pub healthy_threshold: u32,
    /// Unhealthy threshold: failed checks in a row that make an instance unhealthy.
    pub unhealthy_threshold: u32,
}

impl Default for ActiveHealthCheck {
    fn default() -> Self {
        Self {
            path: "/".to_owned(),
            interval_ms: 5_000,
            timeout_ms: 2_000,
            healthy_threshold: 1,
            unhealthy_threshold: 3,
        }
    }
}

/// Protocol of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamProtocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by prior knowledge, or by ALPN over TLS. gRPC needs it.
    Http2,
}

/// TLS between the proxy and the instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamTls {
    /// Name in the certificate; empty: the address.
    pub server_name: String,
    /// Certificate authorities as PEM that replace the system's.
    pub ca_pem: String,
}

/// Load balancing algorithm over the available instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalancing {
    /// Least loaded: picks two instances at random and takes the less loaded one (power of two choices).
    #[default]
    LeastLoaded,
    /// Round robin: takes the instances one after the other.
    RoundRobin,
}

/// Key of a sticky session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StickySessions {
    /// Cookie of this name that the proxy sets.
    Cookie(String),
    /// Address of the client.
    ClientAddress,
}

/// Outlier ejection (circuit breaker): takes an instance that fails out of the load balancer for a
/// while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutlierEjection {
    /// Failures in a row (no connection, no response, or 502, 503 or 504) until ejection; zero
    /// turns ejection off.
    pub consecutive_failures: u32,
    /// Length of the first ejection; doubles with each further one, up to ten times the first.
    pub ejection_time_ms: u32,
    /// Maximum percentage of an app's instances that may be ejected at once.
    pub ejected_percent_max: u32,
}

impl Default for OutlierEjection {
    fn default() -> Self {
        Self { consecutive_failures: 5, ejection_time_ms: 5_000, ejected_percent_max: 50 }
    }
}

/// Maximum length of a Unix socket's path: the kernel adds a NUL and stops at 108 (unix(7)).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Address of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UpstreamAddress {
    /// TCP address: `127.0.0.1:3000`, or `71234@127.0.0.1:3000`.
    Tcp {
        /// Address that the instance listens on.
        address: SocketAddr,
        /// User that must own the listener on this machine; `None` for any. Any program can bind a
        /// free port first.
        owner: Option<u32>,
    },
    /// Unix socket: `unix:/run/app.sock`, or `unix:2001@/run/app.sock`.
    Unix {
        /// Absolute path, short enough for the kernel.
        path: PathBuf,
        /// User that must own the listener; `None` for any. Another user may own the folder and
        /// replace the socket.
        owner: Option<u32>,
    },
    /// Address inside a network namespace: `ns:127.0.0.1:3000@/path`, or `ns:unix@/path`. A
    /// hand-over at the path passes the sockets.
    Namespace {
        /// Unix socket of the hand-over (`fairlead_base::handover`); absolute, short enough for the kernel.
        handover: PathBuf,
        /// Address inside the namespace; `None`: the app's Unix socket, which the other side of the
        /// hand-over connects to.
        address: Option<SocketAddr>,
    },
}

impl FromStr for UpstreamAddress {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let wrong = || TrafficError::new("address", format!("`{text}` is neither IP:port nor unix:/path"));
        if let Some(inside) = text.strip_prefix("ns:") {
            let (address, handover) = inside.split_once('@').ok_or_else(wrong)?;
            let address = if address == "unix" { None } else { Some(address.parse().map_err(|_| wrong())?) };
            return match fits(handover) {
                true => Ok(Self::Namespace { handover: handover.into(), address }),
                false => Err(wrong()),
            };
        }
        let Some(socket) = text.strip_prefix("unix:") else {
            let (owner, address) = match text.split_once('@') {
                Some((owner, address)) => (Some(owner.parse().map_err(|_| wrong())?), address),
                None => (None, text),
            };
            return address.parse().map(|address| Self::Tcp { address, owner }).map_err(|_| wrong());
        };
        let (owner, path) = match socket.split_once('@') {
            Some((owner, path)) if !owner.contains('/') => (Some(owner.parse().map_err(|_| wrong())?), path),
            _ => (None, socket),
        };
        if fits(path) { Ok(Self::Unix { path: path.into(), owner }) } else { Err(wrong()) }
    }
}

fn fits(socket_path: &str) -> bool {
    socket_path.starts_with('/') && socket_path.len() <= SOCKET_PATH_BYTES_MAX
}

impl TryFrom<String> for UpstreamAddress {
    type Error = TrafficError;

    fn try_from(text: String) -> Result<Self, TrafficError> {
        text.parse()
    }
}

impl From<UpstreamAddress> for String {
    fn from(address: UpstreamAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { address, owner: None } => address.fmt(f),
            Self::Tcp { address, owner: Some(owner) } => write!(f, "{owner}@{address}"),
            Self::Unix { path, owner: None } => write!(f, "unix:{}", path.display()),
            Self::Unix { path, owner: Some(owner) } => write!(f, "unix:{owner}@{}", path.display()),
            Self::Namespace { handover, address: None } => write!(f, "ns:unix@{}", handover.display()),
            Self::Namespace { handover, address: Some(address) } => write!(f, "ns:{address}@{}", handover.display()),
        }
    }
}

impl From<SocketAddr> for UpstreamAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp { address, owner: None }
    }
}

// ----------------------------------------------------------------------------------------------
// proxy settings

/// Settings of the whole proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxySettings {
    /// Trusted proxies in front of this one, which may name the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// Trusts Cloudflare's published ranges, and the client in their `CF-Connecting-IP`.
    pub cloudflare: bool,
    /// Expects a PROXY protocol header (v1 or v2) at the start of connections from trusted proxies.
    pub proxy_protocol: bool,
    /// Offers HTTP/3.
    pub http3: bool,
    /// Connections of one client address (IPv6: one /64) to one core; zero for no limit.
    pub connections_per_client: u32,
    pub access_log: AccessLog,
}

impl Default for ProxySettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            cloudflare: false,
            proxy_protocol: false,
            http3: true,
            connections_per_client: 1024,
            access_log: AccessLog::default(),
        }
    }
}

/// Access log settings. The log always contains failures (5xx) while it is enabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLog {
    /// True to write an access log.
    pub enabled: bool,
    /// Format of an entry.
    pub format: LogFormat,
    /// Sampling: requests out of 1000 successful ones that are logged.
    pub sample_permille: u32,
    /// Size in bytes at which a file is closed and renamed to a numbered one.
    pub file_bytes_max: u64,
    /// Number of closed files to keep.
    pub files_max: u32,
}

impl Default for AccessLog {
    fn default() -> Self {
        Self {
            enabled: true,
            format: LogFormat::Json,
            sample_permille: 10,
            file_bytes_max: 64 * 1024 * 1024,
            files_max: 5,
        }
    }
}

/// Format of an access log entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object for each entry.
    #[default]
    Json,
    /// "Combined" format, which web servers have written since NCSA.
    Combined,
}
