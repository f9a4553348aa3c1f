//! Validation of route keys (host and path prefix), shared by the parser of desired state and the
//! proxy's route table.

use std::net::Ipv6Addr;

/// Longest host name (RFC 1035, 2.3.4).
pub const HOST_BYTES_MAX: usize = 253;

/// Reason why a route or a set of routes is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The host is neither a lower-case host name without a port, nor `*.` and such a name.
    #[error("`{host}` is not a host name in lower case, or `*.` and one")]
    Host { host: String },
    /// The prefix doesn't start with `/`, or contains something that no path contains.
    #[error("`{path_prefix}` of {host} is not a path prefix")]
    PathPrefix { host: String, path_prefix: String },
    /// Two routes are the same.
    #[error("{host}{path_prefix} is routed twice")]
    Duplicate { host: String, path_prefix: String },
}

/// Returns the parent name of a wildcard host: `example.com` for `*.example.com`, which matches
/// names at any depth below it but not `example.com` itself. Returns `None` for any other host.
pub fn wildcard_of(host: &str) -> Option<&str> {
    host.strip_prefix("*.")
}

/// Checks a route and returns its prefix without the final slash. Two routes of a host with the
/// same returned prefix are duplicates.
pub fn route_key<'a>(host: &str, path_prefix: &'a str) -> Result<&'a str, RouteError> {
    if !is_host(host) {
        return Err(RouteError::Host { host: host.to_owned() });
    }
    let path = path_prefix.strip_suffix('/').unwrap_or(path_prefix);
    let visible = path.bytes().all(|byte| matches!(byte, 0x21..=0x7e) && !matches!(byte, b'?' | b'#'));
    if !path_prefix.starts_with('/') || !visible {
        return Err(RouteError::PathPrefix { host: host.to_owned(), path_prefix: path_prefix.to_owned() });
    }
    Ok(path)
}

/// True for a host in the form that lookups use: lower case, no port, no final dot; an IPv6 address
/// keeps its brackets.
fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return !inner.bytes().any(|byte| byte.is_ascii_uppercase()) && inner.parse::<Ipv6Addr>().is_ok();
    }
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_');
    let name = wildcard_of(host).unwrap_or(host);
    // Clients can't request a name below an address or an empty label.
    let below = name == host || !name.starts_with('.') && !name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
    !name.is_empty() && host.len() <= HOST_BYTES_MAX && !name.ends_with('.') && name.bytes().all(plain) && below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_slash_means_nothing_and_what_no_look_up_can_find_is_refused() {
        assert_eq!(route_key("a.example.com", "/"), Ok(""));
        assert_eq!(route_key("a.example.com", "/api/"), Ok("/api"));
        assert_eq!(route_key("[::1]", "/api"), Ok("/api"));
        for host in ["*.example.com", "*.localhost", "*.a_b.example.com"] {
            assert_eq!(route_key(host, "/"), Ok(""), "{host}");
        }
        for host in ["*", "*.", "*..a", "*.*.a", "a.*.b", "x*.a", "*a.b", "*.[::1]", "*.127.0.0.1", "*.A.b", "*.a."] {
            assert!(matches!(route_key(host, "/"), Err(RouteError::Host { .. })), "{host}");
        }
        for host in ["", "A.example.com", "a.example.com:1", "a.example.com.", "a b", "[::g]", &"a".repeat(254)] {
            assert!(matches!(route_key(host, "/"), Err(RouteError::Host { .. })), "{host}");
        }
        for prefix in ["", "api", "/a b", "/a?b", "/a#b", "/ä"] {
            assert!(matches!(route_key("a.localhost", prefix), Err(RouteError::PathPrefix { .. })), "{prefix}");
        }
    }
}
