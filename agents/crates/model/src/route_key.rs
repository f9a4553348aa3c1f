//! What may be routed: the one rule that the parser of desired state and the proxy's table both follow.

use std::net::Ipv6Addr;

/// Longest host name (RFC 1035, 2.3.4).
pub const HOST_BYTES_MAX: usize = 253;

/// Why routes can't be used together or at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The host is not a lower-case host name without port, nor `*.` and such a name.
    #[error("`{host}` is not a host name in lower case, or `*.` and one")]
    Host {
        /// What was given.
        host: String,
    },
    /// The prefix doesn't start with `/`, or holds what no path holds.
    #[error("`{path_prefix}` of {host} is not a path prefix")]
    PathPrefix {
        /// Its host.
        host: String,
        /// What was given.
        path_prefix: String,
    },
    /// Two routes are the same.
    #[error("{host}{path_prefix} is routed twice")]
    Duplicate {
        /// Their host.
        host: String,
        /// Their prefix.
        path_prefix: String,
    },
}

/// The name that a wildcard host is of: `example.com` of `*.example.com`, which stands for every name below it, of any depth, but
/// not for `example.com` itself. `None` for a host that is only itself.
pub fn wildcard_of(host: &str) -> Option<&str> {
    host.strip_prefix("*.")
}

/// Tells the prefix without its final slash, by which two routes of a host are the same.
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

/// A name as look-ups hold it: lower case, no port, no final dot; an IPv6 address keeps its brackets.
fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return !inner.bytes().any(|byte| byte.is_ascii_uppercase()) && inner.parse::<Ipv6Addr>().is_ok();
    }
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_');
    let name = wildcard_of(host).unwrap_or(host);
    // What stands below an address or an empty label can't be asked for.
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
