//! How requests are treated on their way: per route, per app, and for the whole proxy. Words and bounds only; `route` decides
//! and `proxy` acts. Desired state and the file of a proxy that runs alone both become these types.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Why a policy can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct TrafficError {
    /// Path of the field, like `limits.client_burst`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl TrafficError {
    /// An error of one field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

// ---------------------------------------------------------------------------------------------- of a route

/// What happens to the requests of one route. The default changes nothing but to send plain HTTP to HTTPS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoutePolicy {
    /// What plain HTTP gets.
    pub http: PlainHttp,
    /// The app gets the path without the route's prefix, which X-Forwarded-Prefix tells it.
    pub strip_prefix: bool,
    /// Applied in order to what the app gets.
    pub request_headers: Vec<HeaderRule>,
    /// Applied in order to what the client gets.
    pub response_headers: Vec<HeaderRule>,
    /// Who may come in.
    pub basic_auth: Option<BasicAuth>,
    /// Client addresses that may come in; empty for all.
    pub allow: Vec<IpNet>,
    /// Client addresses that may not; wins over `allow`.
    pub deny: Vec<IpNet>,
    /// When set, all requests get it as 503.
    pub maintenance: Option<Page>,
    /// What clients see instead of the proxy's and, if so said, the app's errors.
    pub error_pages: Vec<ErrorPage>,
    /// How much may come.
    pub limits: RouteLimits,
    /// Who goes first when not all can be served.
    pub priority: Priority,
    /// Compress answers where it helps.
    pub compress: bool,
    /// Bytes of a request's body, as it is sent; zero for no bound.
    pub request_body_bytes_max: u64,
}

/// What requests over plain HTTP get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainHttp {
    /// A redirect to HTTPS, when the proxy listens for it.
    #[default]
    Redirect,
    /// The same as over HTTPS.
    Serve,
}

/// One change of headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// What is done.
    pub action: HeaderAction,
    /// A field name, in lower case.
    pub name: String,
    /// The value; empty for `remove`.
    #[serde(default)]
    pub value: String,
}

/// What a header rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderAction {
    /// This one instead of all of its name.
    Set,
    /// This one beside those of its name.
    Append,
    /// None of this name.
    Remove,
}

/// HTTP basic authentication (RFC 7617).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicAuth {
    /// What browsers show.
    #[serde(default)]
    pub realm: String,
    /// At least one.
    pub users: Vec<BasicUser>,
}

/// One user of basic authentication.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicUser {
    /// Without a colon.
    pub name: String,
    /// `pbkdf2-sha256:<iterations>:<salt, base64>:<32 bytes, base64>`.
    pub password_hash: String,
}

impl fmt::Debug for BasicUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A page that the proxy answers with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Its media type.
    #[serde(default = "html")]
    pub content_type: String,
    /// Its text.
    pub body: String,
    /// Sent as Retry-After when not zero.
    #[serde(default)]
    pub retry_after_seconds: u32,
}

fn html() -> String {
    "text/html; charset=utf-8".to_owned()
}

/// A page for some statuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPage {
    /// First status, 400 to 599.
    pub from: u16,
    /// Last status.
    pub to: u16,
    /// Also in place of the app's own answers.
    #[serde(default)]
    pub replace_app: bool,
    /// What is shown.
    pub page: Page,
}

/// Bounds of a route; zero is none. Counted over all cores together.
///
/// A whole second's requests may come at once, and the burst beyond them: who keeps to a rate is never refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteLimits {
    /// Requests a second from one client address (IPv6: one /64).
    pub client_requests_per_second: u32,
    /// Requests that one client may send at once beyond its rate.
    pub client_burst: u32,
    /// Requests of one client under way.
    pub client_concurrent: u32,
    /// Requests a second of the whole route.
    pub requests_per_second: u32,
    /// Requests at once beyond that rate.
    pub burst: u32,
    /// Requests of the route under way.
    pub concurrent: u32,
}

/// Who goes first when an app can't serve all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Shed first.
    Low,
    /// What nothing else is said of.
    #[default]
    Normal,
    /// Shed last.
    High,
}

/// Somewhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// 301, 302, 303, 307 or 308.
    #[serde(default = "permanent")]
    pub status: u16,
    /// `https://host`, `https://host/path` or `/path`.
    pub to: String,
    /// What follows the route's prefix, with the query, is added.
    #[serde(default = "yes")]
    pub keep_path: bool,
}

fn permanent() -> u16 {
    308
}

fn yes() -> bool {
    true
}

// ---------------------------------------------------------------------------------------------- of an app

/// How the requests of one app reach its instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppTraffic {
    /// What its instances speak.
    pub protocol: UpstreamProtocol,
    /// Set when they speak it over TLS.
    pub tls: Option<UpstreamTls>,
    /// How an instance is chosen.
    pub balance: Balance,
    /// Whether a client stays with its instance.
    pub sticky: Option<Sticky>,
    /// How long a new instance gets less than its share.
    pub slow_start_ms: u32,
    /// Connections to one instance from one core; zero: adaptive.
    pub connections_per_instance: u32,
    /// Requests under way at one instance from one core; zero: as many as there are connections.
    pub in_flight_per_instance: u32,
    /// Requests of the app under way on one core; zero for no bound.
    pub in_flight_max: u32,
    /// Requests that may wait for an instance on one core.
    pub queue_max: u32,
    /// How long they may wait.
    pub queue_timeout_ms: u32,
    /// From the end of a request to the head of its response.
    pub response_timeout_ms: u32,
    /// Shed load by priority when requests have to wait for long.
    pub adaptive: bool,
    /// Second attempts as a share of requests.
    pub retry_budget_percent: u32,
    /// When a failing instance is passed over.
    pub ejection: Ejection,
    /// Asked by the proxy itself when set.
    pub health: Option<HealthProbe>,
}

impl Default for AppTraffic {
    fn default() -> Self {
        Self {
            protocol: UpstreamProtocol::Http1,
            tls: None,
            balance: Balance::LeastInFlight,
            sticky: None,
            slow_start_ms: 0,
            connections_per_instance: 0,
            in_flight_per_instance: 0,
            in_flight_max: 0,
            queue_max: 8192,
            queue_timeout_ms: 60_000,
            response_timeout_ms: 120_000,
            adaptive: false,
            retry_budget_percent: 20,
            ejection: Ejection::default(),
            health: None,
        }
    }
}

/// A question that the proxy asks each instance, again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthProbe {
    /// Must answer 2xx or 3xx; empty: a connect is enough.
    pub path: String,
    /// Pause between two.
    pub interval_ms: u32,
    /// Limit of one.
    pub timeout_ms: u32,
    /// Good answers in a row that make an instance healthy again.
    pub healthy_after: u32,
    /// Bad ones that make it unhealthy.
    pub unhealthy_after: u32,
}

impl Default for HealthProbe {
    fn default() -> Self {
        Self { path: "/".to_owned(), interval_ms: 5_000, timeout_ms: 2_000, healthy_after: 1, unhealthy_after: 3 }
    }
}

/// What an instance speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamProtocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by prior knowledge, or by ALPN over TLS. gRPC needs it.
    Http2,
}

/// TLS towards instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamTls {
    /// The name in the certificate; empty: the address.
    pub server_name: String,
    /// Authorities to trust instead of the system's, as PEM.
    pub ca_pem: String,
}

/// How an instance is chosen among those that may serve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// The less busy of two picked at random.
    #[default]
    LeastInFlight,
    /// One after the other.
    RoundRobin,
}

/// What ties a client to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sticky {
    /// A cookie of this name, made by the proxy.
    Cookie(String),
    /// The client's address.
    Client,
}

/// When an instance that fails is passed over for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ejection {
    /// Failures in a row (no connection, no response, 5xx of a gateway kind); zero: never.
    pub failures: u32,
    /// The first time; doubles each time again, up to ten of the first.
    pub period_ms: u32,
    /// Most of an app's instances that may be out at once.
    pub max_percent: u32,
}

impl Default for Ejection {
    fn default() -> Self {
        Self { failures: 5, period_ms: 5_000, max_percent: 50 }
    }
}

/// The most that the path of a Unix socket can have: the kernel adds a NUL and stops at 108 (unix(7)).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Where an instance listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UpstreamAddress {
    /// `127.0.0.1:3000`, or `71234@127.0.0.1:3000`.
    Tcp {
        /// Address at which it listens.
        address: SocketAddr,
        /// User that must listen there, on this machine; none: any. Any program can bind a free port first.
        owner: Option<u32>,
    },
    /// `unix:/run/app.sock`, or `unix:2001@/run/app.sock`.
    Unix {
        /// Absolute, short enough for the kernel.
        path: PathBuf,
        /// Who must listen there; none: anybody. Its folder may be in the hands of somebody who would lead elsewhere.
        owner: Option<u32>,
    },
    /// `ns:127.0.0.1:3000@/path`, or `ns:unix@/path`: inside a network namespace, whose sockets are handed over at the path.
    Namespace {
        /// Unix socket of the hand-over (`fairlead_base::handover`); absolute, short enough for the kernel.
        handover: PathBuf,
        /// Address inside; `None`: the app's Unix socket, to which the other side connects.
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

// ---------------------------------------------------------------------------------------------- of the proxy

/// What holds for the whole proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxySettings {
    /// Proxies in front of this one, whose word on the client's address counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Cloudflare's published ranges count as trusted, and `CF-Connecting-IP` from there as the client.
    pub cloudflare: bool,
    /// Connections of trusted proxies begin with a PROXY protocol header (v1 or v2).
    pub proxy_protocol: bool,
    /// Offer HTTP/3.
    pub http3: bool,
    /// Connections of one client address (IPv6: one /64) to one core; zero for no bound.
    pub connections_per_client: u32,
    /// What is written of requests.
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

/// What is written of requests. Failures (5xx) always are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLog {
    /// Written at all.
    pub enabled: bool,
    /// How a line looks.
    pub format: LogFormat,
    /// Of a thousand requests that did not fail, so many are written.
    pub sample_permille: u32,
    /// A file is closed at this size and kept under a number.
    pub file_bytes_max: u64,
    /// Closed files kept.
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

/// The form of a line of the access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object.
    #[default]
    Json,
    /// As web servers have written it since NCSA: the "combined" format.
    Combined,
}
