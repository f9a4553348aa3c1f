//! Policy of one route: its type, its conversion from a message, and its bounds.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fmt;

use super::{Checked, Parsed, TrafficError, TrafficPart, few, networks, or, unknown, within, wrong};
use crate::message;

/// Maximum length of a page that the proxy responds with.
const PAGE_BYTES_MAX: usize = 64 * 1024;
const VALUE_BYTES_MAX: usize = 4096;
const COUNT_MAX: u32 = 1_000_000;
/// One PiB: a greater limit is a mistake.
const BODY_BYTES_MAX: u64 = 1 << 50;

/// Ten years.
const HSTS_SECONDS_MAX: u32 = 315_360_000;
const CA_PEM_BYTES_MAX: usize = 64 * 1024;

/// Framing and hop-by-hop headers: the proxy writes them, so no rule may.
const NOT_FOR_RULES: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-request-id",
];

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
    /// App that decides whether a request may pass; `None` turns it off.
    pub forward_auth: Option<ForwardAuth>,
    /// Path that the app gets in place of the route's prefix; empty for none. Wins over `strip_prefix`.
    pub rewrite_prefix: String,
    /// TLS of the host: all of its routes have the same. `None`: TLS 1.2 or newer, without client certificates.
    pub tls: Option<HostTls>,
    /// Strict-Transport-Security of responses over HTTPS, in place of the app's own; `None` leaves the app's.
    pub hsts: Option<Hsts>,
}

impl RoutePolicy {
    /// Returns the path that replaces the route's prefix; `None` if the app gets the path as it is.
    pub fn prefix_for_app(&self) -> Option<&str> {
        match (self.rewrite_prefix.as_str(), self.strip_prefix) {
            ("", false) => None,
            ("", true) => Some("/"),
            (prefix, _) => Some(prefix),
        }
    }
}

/// TLS of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostTls {
    /// True for TLS 1.3 alone; otherwise TLS 1.2 too.
    pub tls13_only: bool,
    /// Client certificates; `None`: none are asked for.
    pub client_auth: Option<ClientAuth>,
}

/// Client certificates of a host (mutual TLS).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientAuth {
    /// True if a handshake without a valid certificate fails; otherwise the visitor may have none.
    pub required: bool,
    /// Authorities of client certificates in PEM.
    pub ca_pem: String,
}

/// Strict-Transport-Security (RFC 6797).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hsts {
    /// Time for which browsers use HTTPS alone; zero: they forget the rule.
    pub max_age_seconds: u32,
    #[serde(default)]
    pub include_subdomains: bool,
    #[serde(default)]
    pub preload: bool,
}

/// Forward auth: an app on the same server decides about each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardAuth {
    /// App in the environment of the route, by its id; in a standalone proxy, by its name. Never an address: the proxy
    /// reaches what no visitor may.
    pub app: String,
    /// Path that is asked, with its query.
    pub path: String,
    /// Response headers that are copied to the request, in lower case. A client can't send them.
    #[serde(default)]
    pub response_headers: Vec<String>,
    /// Timeout of one question.
    #[serde(default = "auth_timeout_ms")]
    pub timeout_ms: u32,
    /// Time for which an allowed request is cached; zero: never.
    #[serde(default)]
    pub cache_seconds: u32,
    /// True if Cookie and Authorization alone decide, so that one cache entry is valid for all paths.
    #[serde(default)]
    pub cache_by_credentials: bool,
}

fn auth_timeout_ms() -> u32 {
    5000
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

impl TrafficPart for RoutePolicy {
    type Message = message::RoutePolicy;

    fn from_message(message: message::RoutePolicy) -> Parsed<Self> {
        let limits = message.limits.unwrap_or_default();
        Ok(Self {
            serve_plain_http: message.serve_plain_http,
            strip_prefix: message.strip_prefix,
            request_headers: header_rules("request_headers", &message.request_headers)?,
            response_headers: header_rules("response_headers", &message.response_headers)?,
            basic_auth: message.basic_auth.as_ref().map(|auth| BasicAuth {
                realm: auth.realm.clone(),
                users: auth.users.iter().map(basic_user).collect(),
            }),
            allow: networks("allow", &message.allow)?,
            deny: networks("deny", &message.deny)?,
            maintenance: message.maintenance.as_ref().map(page_of),
            error_pages: message.error_pages.iter().enumerate().map(error_page_of).collect::<Parsed<_>>()?,
            limits: RouteLimits {
                client_requests_per_second: limits.client_requests_per_second,
                client_burst: limits.client_burst,
                client_in_flight: limits.client_in_flight,
                requests_per_second: limits.requests_per_second,
                burst: limits.burst,
                in_flight: limits.in_flight,
            },
            priority: match message::Priority::try_from(message.priority) {
                Ok(message::Priority::Low) => Priority::Low,
                Ok(message::Priority::Unspecified | message::Priority::Normal) => Priority::Normal,
                Ok(message::Priority::High) => Priority::High,
                Err(_) => return unknown("priority"),
            },
            compress: message.compress,
            request_body_bytes_max: message.request_body_bytes_max,
            rewrite_prefix: message.rewrite_prefix,
            tls: message.tls.map(|tls| HostTls {
                tls13_only: tls.tls13_only,
                client_auth: tls.client_auth.map(|auth| ClientAuth { required: auth.required, ca_pem: auth.ca_pem }),
            }),
            hsts: message.hsts.map(|hsts| Hsts {
                max_age_seconds: hsts.max_age_seconds,
                include_subdomains: hsts.include_subdomains,
                preload: hsts.preload,
            }),
            forward_auth: message.forward_auth.map(|auth| ForwardAuth {
                app: auth.app,
                path: auth.path,
                response_headers: auth.response_headers,
                timeout_ms: or(auth.timeout_ms, auth_timeout_ms()),
                cache_seconds: auth.cache_seconds,
                cache_by_credentials: auth.cache_by_credentials,
            }),
        })
    }

    fn check(&self) -> Checked {
        for (name, rules) in [("request_headers", &self.request_headers), ("response_headers", &self.response_headers)]
        {
            few(name, rules.len())?;
            for (index, rule) in rules.iter().enumerate() {
                header_rule(&format!("{name}[{index}]"), rule)?;
            }
        }
        if let Some(auth) = &self.basic_auth {
            basic_auth(auth)?;
        }
        few("allow", self.allow.len())?;
        few("deny", self.deny.len())?;
        if let Some(maintenance) = &self.maintenance {
            page("maintenance", maintenance)?;
        }
        few("error_pages", self.error_pages.len())?;
        for (index, found) in self.error_pages.iter().enumerate() {
            error_page(&format!("error_pages[{index}]"), found)?;
        }
        let limits = &self.limits;
        for (name, value) in [
            ("limits.client_requests_per_second", limits.client_requests_per_second),
            ("limits.client_burst", limits.client_burst),
            ("limits.client_in_flight", limits.client_in_flight),
            ("limits.requests_per_second", limits.requests_per_second),
            ("limits.burst", limits.burst),
            ("limits.in_flight", limits.in_flight),
        ] {
            within(name, value, 0, COUNT_MAX)?;
        }
        if self.request_body_bytes_max > BODY_BYTES_MAX {
            let reason = format!("is {}, more than {BODY_BYTES_MAX}", self.request_body_bytes_max);
            return wrong("request_body_bytes_max", reason);
        }
        if let Some(hsts) = &self.hsts {
            within("hsts.max_age_seconds", hsts.max_age_seconds, 0, HSTS_SECONDS_MAX)?;
        }
        if let Some(auth) = self.tls.as_ref().and_then(|tls| tls.client_auth.as_ref())
            && (auth.ca_pem.is_empty() || auth.ca_pem.len() > CA_PEM_BYTES_MAX)
        {
            return wrong("tls.client_auth.ca_pem", format!("is empty, or longer than {CA_PEM_BYTES_MAX} bytes"));
        }
        let prefix = &self.rewrite_prefix;
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'\\');
        if prefix.len() > 1024 || !prefix.bytes().all(plain) || !prefix.is_empty() && !is_path(prefix) {
            return wrong("rewrite_prefix", "is not a path such as /v1, without `//`");
        }
        self.forward_auth.as_ref().map_or(Ok(()), forward_auth)
    }
}

fn header_rules(field: &str, rules: &[message::HeaderRule]) -> Parsed<Vec<HeaderRule>> {
    let rule = |rule: &message::HeaderRule| {
        let action = match message::HeaderAction::try_from(rule.action) {
            Ok(message::HeaderAction::Set) => HeaderAction::Set,
            Ok(message::HeaderAction::Append) => HeaderAction::Append,
            Ok(message::HeaderAction::Remove) => HeaderAction::Remove,
            Ok(message::HeaderAction::Unspecified) | Err(_) => return unknown(&format!("{field}.action")),
        };
        Ok(HeaderRule { action, name: rule.name.clone(), value: rule.value.clone() })
    };
    rules.iter().map(rule).collect()
}

fn basic_user(user: &message::BasicUser) -> BasicUser {
    BasicUser { name: user.name.clone(), password_hash: user.password_hash.clone() }
}

fn page_of(page: &message::Page) -> Page {
    Page {
        content_type: page.content_type.clone(),
        body: page.body.clone(),
        retry_after_seconds: page.retry_after_seconds,
    }
}

fn error_page_of((index, found): (usize, &message::ErrorPage)) -> Parsed<ErrorPage> {
    let at = format!("error_pages[{index}]");
    let status = |value: u32| u16::try_from(value).map_err(|_| TrafficError::new(&at, "has a status beyond 599"));
    let found_page = found.page.as_ref().ok_or_else(|| TrafficError::new(format!("{at}.page"), "is missing"))?;
    Ok(ErrorPage {
        from: status(found.from)?,
        to: status(found.to)?,
        replace_app: found.replace_app,
        page: page_of(found_page),
    })
}

/// An app could take what follows `//` for a host.
fn is_path(prefix: &str) -> bool {
    prefix.starts_with('/') && !prefix.contains("//")
}

fn header_name(at: &str, name: &str) -> Checked {
    let token = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9') || b"!#$%&'*+-.^`|~".contains(&byte);
    if name.is_empty() || name.len() > 256 || !name.bytes().all(token) {
        return wrong(at, "is not a header name in lower case, with dashes and no underscores");
    }
    if NOT_FOR_RULES.contains(&name) {
        return wrong(at, format!("`{name}` is written by the proxy alone"));
    }
    Ok(())
}

fn header_rule(at: &str, rule: &HeaderRule) -> Checked {
    header_name(&format!("{at}.name"), &rule.name)?;
    if rule.action == HeaderAction::Remove && !rule.value.is_empty() {
        return wrong(format!("{at}.value"), "is given, but `remove` takes none");
    }
    header_value(&format!("{at}.value"), &rule.value)
}

fn forward_auth(auth: &ForwardAuth) -> Checked {
    // The key of an app in another environment has a slash.
    if auth.app.is_empty() || auth.app.len() > 128 || auth.app.contains('/') {
        return wrong("forward_auth.app", "is not an app");
    }
    let path = auth.path.as_bytes();
    if !path.starts_with(b"/") || path.len() > 2048 || !path.iter().all(u8::is_ascii_graphic) {
        return wrong("forward_auth.path", "is not a path that starts with `/`");
    }
    if auth.response_headers.len() > 20 {
        return wrong("forward_auth.response_headers", "has more than 20 entries");
    }
    for (index, name) in auth.response_headers.iter().enumerate() {
        let at = format!("forward_auth.response_headers[{index}]");
        header_name(&at, name)?;
        if ["client-cert", "cookie", "forwarded", "x-real-ip"].contains(&name.as_str())
            || name.starts_with("x-forwarded-")
        {
            return wrong(at, format!("`{name}` can't be copied from a response"));
        }
    }
    within("forward_auth.timeout_ms", auth.timeout_ms, 1, 60_000)?;
    within("forward_auth.cache_seconds", auth.cache_seconds, 0, 300)
}

fn header_value(at: &str, value: &str) -> Checked {
    // Allows visible ASCII, and blanks between it (RFC 9110, 5.5).
    let plain = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t')) && value.trim() == value;
    if plain && value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    wrong(at, format!("is not a header value of visible ASCII, of at most {VALUE_BYTES_MAX} bytes"))
}

fn basic_auth(auth: &BasicAuth) -> Checked {
    let realm = &auth.realm;
    if realm.len() > 128 || realm.chars().any(|c| c.is_control() || !c.is_ascii() || matches!(c, '"' | '\\')) {
        return wrong("basic_auth.realm", "is not a short name without quotes");
    }
    if auth.users.is_empty() {
        return wrong("basic_auth.users", "is empty: nobody could come in");
    }
    few("basic_auth.users", auth.users.len())?;
    for (index, user) in auth.users.iter().enumerate() {
        let at = format!("basic_auth.users[{index}]");
        if user.name.is_empty() || user.name.len() > 128 || user.name.chars().any(|c| c.is_control() || c == ':') {
            return wrong(format!("{at}.name"), "is not a user name without a colon");
        }
        if auth.users[..index].iter().any(|other| other.name == user.name) {
            return wrong(format!("{at}.name"), "is there twice");
        }
        let mut parts = user.password_hash.split(':');
        let form = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
        let (Some("pbkdf2-sha256"), Some(iterations), Some(salt), Some(hash), None) = form else {
            return wrong(format!("{at}.password_hash"), "is not of the form pbkdf2-sha256:<iterations>:<salt>:<hash>");
        };
        // Fewer iterations can be guessed; more would let a few requests keep a core busy.
        if !iterations.parse::<u32>().is_ok_and(|count| (10_000..=2_000_000).contains(&count)) {
            return wrong(format!("{at}.password_hash"), "has not between 10000 and 2000000 iterations");
        }
        let base64 =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        // 32 bytes are 44 characters; a salt has at least 8 bytes.
        if !base64(salt) || !(12..=88).contains(&salt.len()) || !base64(hash) || hash.len() != 44 {
            return wrong(format!("{at}.password_hash"), "has a salt or hash that is not base64 of its length");
        }
    }
    Ok(())
}

fn page(at: &str, page: &Page) -> Checked {
    header_value(&format!("{at}.content_type"), &page.content_type)?;
    if page.content_type.is_empty() {
        return wrong(format!("{at}.content_type"), "is empty");
    }
    if page.body.len() > PAGE_BYTES_MAX {
        return wrong(format!("{at}.body"), format!("is longer than {PAGE_BYTES_MAX} bytes"));
    }
    within(&format!("{at}.retry_after_seconds"), page.retry_after_seconds, 0, 86_400)
}

fn error_page(at: &str, found: &ErrorPage) -> Checked {
    if found.from < 400 || found.to > 599 || found.from > found.to {
        return wrong(at, format!("{} to {} are not statuses of errors (400 to 599)", found.from, found.to));
    }
    page(&format!("{at}.page"), &found.page)
}
