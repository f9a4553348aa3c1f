//! Validation of traffic policy. Both borders (desired state and the standalone proxy's file) run
//! it; later code trusts the values.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::traffic::{
    ActiveHealthCheck, AppTraffic, BasicAuth, ErrorPage, HeaderAction, HeaderRule, Page, ProxySettings, Redirect,
    RoutePolicy, StickySessions, TrafficError,
};

/// Maximum number of header rules, pages, address ranges or users of one route.
const ENTRIES_MAX: usize = 256;
/// Maximum length of a page that the proxy responds with.
const PAGE_BYTES_MAX: usize = 64 * 1024;
const VALUE_BYTES_MAX: usize = 4096;
/// One hour: a longer time is a mistake.
const MILLISECONDS_MAX: u32 = 3_600_000;
const COUNT_MAX: u32 = 1_000_000;
/// One PiB: a greater limit is a mistake.
const BODY_BYTES_MAX: u64 = 1 << 50;

const TRUSTS_THIS_MACHINE: &str = "trusted_proxies contains this machine itself: every app on it can then claim any client address, \
                                   past address rules and limits of clients";

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

type Checked = Result<(), TrafficError>;

fn wrong<T>(field: impl Into<String>, reason: impl Into<String>) -> Result<T, TrafficError> {
    Err(TrafficError::new(field, reason))
}

impl RoutePolicy {
    /// Returns an error for the first invalid field.
    pub fn check(&self) -> Checked {
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
        Ok(())
    }
}

fn few(name: &str, count: usize) -> Checked {
    if count <= ENTRIES_MAX { Ok(()) } else { wrong(name, format!("has {count} entries, more than {ENTRIES_MAX}")) }
}

fn within(name: &str, value: u32, least: u32, most: u32) -> Checked {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    wrong(name, format!("is {value}, not within {least} and {most}"))
}

fn header_rule(at: &str, rule: &HeaderRule) -> Checked {
    let token = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9') || b"!#$%&'*+-.^`|~".contains(&byte);
    if rule.name.is_empty() || rule.name.len() > 256 || !rule.name.bytes().all(token) {
        return wrong(format!("{at}.name"), "is not a header name in lower case, with dashes and no underscores");
    }
    if NOT_FOR_RULES.contains(&rule.name.as_str()) {
        return wrong(format!("{at}.name"), format!("`{}` is written by the proxy alone", rule.name));
    }
    if rule.action == HeaderAction::Remove && !rule.value.is_empty() {
        return wrong(format!("{at}.value"), "is given, but `remove` takes none");
    }
    header_value(&format!("{at}.value"), &rule.value)
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

impl Redirect {
    /// Returns an error for the first invalid field.
    pub fn check(&self) -> Checked {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return wrong("status", format!("is {}, not 301, 302, 303, 307 or 308", self.status));
        }
        let rest = ["https://", "http://"].iter().find_map(|scheme| self.to.strip_prefix(scheme));
        let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
        let path = self.to.starts_with('/') && !self.to.starts_with("//");
        let plain =
            self.to.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\'));
        if !plain || self.to.len() > 2048 || !(path || host.is_some_and(|host| !host.is_empty() && !host.contains('@')))
        {
            return wrong("to", "is neither https://host, http://host (with or without a path) nor a path");
        }
        if self.keep_path && self.to.contains('?') {
            return wrong("to", "has a query, to which no path can be added");
        }
        Ok(())
    }
}

impl AppTraffic {
    /// Returns an error for the first invalid field.
    pub fn check(&self) -> Checked {
        within("slow_start_ms", self.slow_start_ms, 0, MILLISECONDS_MAX)?;
        within("connections_per_instance", self.connections_per_instance, 0, 10_000)?;
        within("in_flight_per_instance", self.in_flight_per_instance, 0, COUNT_MAX)?;
        within("in_flight_per_app", self.in_flight_per_app, 0, COUNT_MAX)?;
        within("queue_length_max", self.queue_length_max, 0, 100_000)?;
        within("queue_timeout_ms", self.queue_timeout_ms, 1, MILLISECONDS_MAX)?;
        within("response_timeout_ms", self.response_timeout_ms, 1, 24 * MILLISECONDS_MAX)?;
        within("retry_budget_percent", self.retry_budget_percent, 0, 100)?;
        within("outlier_ejection.consecutive_failures", self.outlier_ejection.consecutive_failures, 0, COUNT_MAX)?;
        within("outlier_ejection.ejection_time_ms", self.outlier_ejection.ejection_time_ms, 100, MILLISECONDS_MAX)?;
        within("outlier_ejection.ejected_percent_max", self.outlier_ejection.ejected_percent_max, 0, 100)?;
        if let Some(StickySessions::Cookie(name)) = &self.sticky_sessions {
            let token = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
            if name.is_empty() || name.len() > 64 || !token {
                return wrong("sticky_sessions.cookie", "is not a cookie name of letters, digits, `_`, `-` and `.`");
            }
        }
        if let Some(tls) = &self.tls {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':');
            if tls.server_name.len() > 253 || !tls.server_name.bytes().all(plain) {
                return wrong("tls.server_name", "is not a host name or address");
            }
            if tls.ca_pem.len() > PAGE_BYTES_MAX {
                return wrong("tls.ca_pem", format!("is longer than {PAGE_BYTES_MAX} bytes"));
            }
        }
        self.health_check.as_ref().map_or(Ok(()), health_check)
    }
}

fn health_check(check: &ActiveHealthCheck) -> Checked {
    let path = check.path.as_bytes();
    if !path.is_empty() && (path[0] != b'/' || path.len() > 2048 || !path.iter().all(u8::is_ascii_graphic)) {
        return wrong("health_check.path", "is not a path that starts with `/`");
    }
    within("health_check.interval_ms", check.interval_ms, 10, 600_000)?;
    within("health_check.timeout_ms", check.timeout_ms, 10, 600_000)?;
    within("health_check.healthy_threshold", check.healthy_threshold, 1, 100)?;
    within("health_check.unhealthy_threshold", check.unhealthy_threshold, 1, 100)
}

impl ProxySettings {
    /// Returns a warning about valid but risky settings.
    pub fn warnings(&self) -> Vec<&'static str> {
        if self.trusts_this_machine() { vec![TRUSTS_THIS_MACHINE] } else { Vec::new() }
    }

    /// True if a process on this machine counts as a trusted proxy.
    fn trusts_this_machine(&self) -> bool {
        let loopback = [(Ipv4Addr::LOCALHOST.into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)];
        let loopback = loopback.map(|(address, prefix)| IpNet::new_assert(address, prefix));
        let meets = |net: &IpNet| loopback.iter().any(|local| local.contains(net) || net.contains(local));
        self.trusted_proxies.iter().any(meets)
    }

    /// Returns an error for the first invalid field.
    pub fn check(&self) -> Checked {
        few("trusted_proxies", self.trusted_proxies.len())?;
        if self.proxy_protocol && self.trusted_proxies.is_empty() && !self.cloudflare {
            return wrong("proxy_protocol", "needs `trusted_proxies`: nobody else may connect then");
        }
        within("connections_per_client", self.connections_per_client, 0, COUNT_MAX)?;
        within("access_log.sample_permille", self.access_log.sample_permille, 0, 1000)?;
        within("access_log.files_max", self.access_log.files_max, 1, 1000)?;
        if !(64 * 1024..=16 * 1024 * 1024 * 1024).contains(&self.access_log.file_bytes_max) {
            return wrong("access_log.file_bytes_max", "is not between 64 KiB and 16 GiB");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{BasicUser, UpstreamAddress, UpstreamTls};

    fn rule(name: &str, value: &str) -> HeaderRule {
        HeaderRule { action: HeaderAction::Set, name: name.into(), value: value.into() }
    }

    fn user(hash: &str) -> BasicAuth {
        BasicAuth { realm: String::new(), users: vec![BasicUser { name: "ann".into(), password_hash: hash.into() }] }
    }

    #[test]
    fn the_defaults_are_good() {
        RoutePolicy::default().check().unwrap();
        AppTraffic::default().check().unwrap();
        ProxySettings::default().check().unwrap();
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        let hash = format!("pbkdf2-sha256:100000:{}:{}=", "A".repeat(24), "A".repeat(43));
        let with = |change: &dyn Fn(&mut RoutePolicy)| {
            let mut policy = RoutePolicy { basic_auth: Some(user(&hash)), ..RoutePolicy::default() };
            change(&mut policy);
            policy.check().map_err(|error| error.field)
        };
        assert_eq!(with(&|_| ()), Ok(()));
        type Fault = (&'static str, fn(&mut RoutePolicy));
        let faults: [Fault; 9] = [
            ("request_headers[0].name", |p| p.request_headers.push(rule("Host", "x"))),
            ("request_headers[0].name", |p| p.request_headers.push(rule("content-length", "5"))),
            ("response_headers[0].name", |p| p.response_headers.push(rule("x_y", "5"))),
            ("response_headers[0].value", |p| p.response_headers.push(rule("x-y", "5\r\nz: 1"))),
            ("basic_auth.users", |p| p.basic_auth = Some(BasicAuth { realm: String::new(), users: vec![] })),
            ("basic_auth.users[0].password_hash", |p| p.basic_auth = Some(user("secret"))),
            ("basic_auth.users[0].password_hash", |p| p.basic_auth = Some(user("pbkdf2-sha256:1:AAAAAAAAAAAA:AA"))),
            ("limits.client_burst", |p| p.limits.client_burst = COUNT_MAX + 1),
            ("error_pages[0]", |p| {
                let page = Page { content_type: "text/html".into(), body: String::new(), retry_after_seconds: 0 };
                p.error_pages.push(ErrorPage { from: 200, to: 599, replace_app: false, page });
            }),
        ];
        for (field, change) in faults {
            assert_eq!(with(&change), Err(field.to_owned()));
        }
    }

    #[test]
    fn trusting_this_machine_is_warned_of() {
        let warns = |net: &str| {
            let trusted_proxies = vec![net.parse().unwrap()];
            !ProxySettings { trusted_proxies, ..ProxySettings::default() }.warnings().is_empty()
        };
        assert!(["127.0.0.0/8", "127.0.0.1/32", "127.5.0.0/16", "0.0.0.0/0", "::1/128", "::/0"].into_iter().all(warns));
        assert!(!["10.0.0.0/8", "128.0.0.0/8", "2001:db8::/32"].into_iter().any(warns));
        assert!(ProxySettings::default().warnings().is_empty());
    }

    #[test]
    fn proxy_protocol_needs_trusted_proxies() {
        let check = |trusted_proxies: Vec<ipnet::IpNet>| {
            let settings = ProxySettings { proxy_protocol: true, trusted_proxies, ..ProxySettings::default() };
            settings.check().map_err(|error| error.field)
        };
        assert_eq!(check(vec![]), Err("proxy_protocol".to_owned()));
        assert_eq!(check(vec!["10.0.0.0/8".parse().unwrap()]), Ok(()));
    }

    #[test]
    fn redirects_lead_to_hosts_and_paths_only() {
        let check = |to: &str| Redirect { status: 308, to: to.into(), keep_path: true }.check().is_ok();
        for good in ["https://example.com", "http://example.com:8080/a", "/new"] {
            assert!(check(good), "{good}");
        }
        for bad in
            ["", "//evil.example", "javascript:alert(1)", "https://", "https://u@h", "/a b", "/a\r\nb", "/a?b", "/\\h"]
        {
            assert!(!check(bad), "{bad}");
        }
    }

    #[test]
    fn an_app_s_and_the_proxy_s_bounds_are_kept() {
        let app = AppTraffic { sticky_sessions: Some(StickySessions::Cookie("a b".into())), ..AppTraffic::default() };
        assert_eq!(app.check().unwrap_err().field, "sticky_sessions.cookie");
        let tls = UpstreamTls { server_name: "a/b".into(), ..UpstreamTls::default() };
        let app = AppTraffic { tls: Some(tls), ..AppTraffic::default() };
        assert_eq!(app.check().unwrap_err().field, "tls.server_name");
        let app = AppTraffic { queue_timeout_ms: 0, ..AppTraffic::default() };
        assert_eq!(app.check().unwrap_err().field, "queue_timeout_ms");
        let mut settings = ProxySettings::default();
        settings.access_log.file_bytes_max = 1;
        assert_eq!(settings.check().unwrap_err().field, "access_log.file_bytes_max");
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in [
            "127.0.0.1:3000",
            "[::1]:80",
            "71234@127.0.0.1:3000",
            "0@[::1]:80",
            "unix:/run/app.sock",
            "unix:2001@/run/a@b.sock",
            "unix:/run/a@b.sock",
            "ns:127.0.0.1:3000@/run/a@b.sock",
            "ns:[::1]:80@/run/net",
            "ns:unix@/run/net",
        ] {
            assert_eq!(text.parse::<UpstreamAddress>().unwrap().to_string(), text);
        }
        for text in [
            "localhost:1",
            "@127.0.0.1:3000",
            "root@127.0.0.1:3000",
            "1@2@127.0.0.1:3000",
            "unix:app.sock",
            "unix:@/run/app.sock",
            "unix:root@/run/app.sock",
            "unix:1@app.sock",
            "ns:127.0.0.1:3000",
            "ns:127.0.0.1@/run/net",
            "ns:unix@net",
            "",
            &format!("unix:/{}", "a".repeat(108)),
        ] {
            assert!(text.parse::<UpstreamAddress>().is_err(), "{text}");
        }
    }
}
