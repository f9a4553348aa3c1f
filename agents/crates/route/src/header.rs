//! Role of each header name for the proxy. Lookup compares the length first, then one name.

/// Role of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// End-to-end header that is forwarded unchanged.
    EndToEnd,
    Host,
    ContentLength,
    TransferEncoding,
    Connection,
    KeepAlive,
    Upgrade,
    Te,
    Expect,
    RequestId,
    Cookie,
    ContentType,
    /// Never forwarded: a hop-by-hop header, or a claim about the client that only the proxy may make.
    Dropped,
}

/// Returns the role of a header. CGI-like apps read `X_Forwarded_For` as `X-Forwarded-For`. So a name that becomes a
/// special one with dashes for underscores is dropped.
pub(crate) fn role(name: &[u8]) -> Role {
    let Some(first) = name.first() else { return Role::EndToEnd };
    // Length and first letter distinguish most names from all special ones: one jump, no comparison.
    match (name.len(), first | 0x20) {
        (2, b't') => special(name, b"te", Role::Te),
        (4, b'h') => special(name, b"host", Role::Host),
        // The "httpoxy" header: CGI turns it into HTTP_PROXY.
        (5, b'p') => special(name, b"proxy", Role::Dropped),
        (6, b'e') => special(name, b"expect", Role::Expect),
        (6, b'c') => special(name, b"cookie", Role::Cookie),
        (7, b'u') => special(name, b"upgrade", Role::Upgrade),
        (9, b'x') => special(name, b"x-real-ip", Role::Dropped),
        (9, b'f') => special(name, b"forwarded", Role::Dropped),
        // The verified certificate of the client (RFC 9440); only this proxy may set it.
        (11, b'c') => special(name, b"client-cert", Role::Dropped),
        (17, b'c') => special(name, b"client-cert-chain", Role::Dropped),
        // Other proxies' names for the client's address; only this proxy may set it.
        (11, b'x') => special(name, b"x-client-ip", Role::Dropped),
        (14, b't') => special(name, b"true-client-ip", Role::Dropped),
        (16, b'c') => special(name, b"cf-connecting-ip", Role::Dropped),
        (18, b'c') => special(name, b"cf-connecting-ipv6", Role::Dropped),
        (19, b'x') if is(name, b"x-cluster-client-ip") => Role::Dropped,
        (10, b'c') => special(name, b"connection", Role::Connection),
        (10, b'k') => special(name, b"keep-alive", Role::KeepAlive),
        (12, b'x') => special(name, b"x-request-id", Role::RequestId),
        (12, b'c') => special(name, b"content-type", Role::ContentType),
        (14, b'c') => special(name, b"content-length", Role::ContentLength),
        (14, b'h') => special(name, b"http2-settings", Role::Dropped),
        (16, b'p') => special(name, b"proxy-connection", Role::Dropped),
        (17, b't') => special(name, b"transfer-encoding", Role::TransferEncoding),
        (18, b'p') => special(name, b"proxy-authenticate", Role::Dropped),
        (19, b'p') => special(name, b"proxy-authorization", Role::Dropped),
        (13.., b'x') => special(&name[..12], b"x-forwarded-", Role::Dropped),
        _ => Role::EndToEnd,
    }
}

/// Returns `role` if `name` equals `lower` ignoring case, and `Dropped` if it would with dashes for underscores. The
/// length is known, so all bytes are compared at once. Only letters differ by the case bit among the bytes of names.
#[inline]
fn special<const N: usize>(name: &[u8], lower: &[u8; N], role: Role) -> Role {
    let Ok(bytes) = <&[u8; N]>::try_from(name) else { return Role::EndToEnd };
    let difference = bytes.iter().zip(lower).fold(0, |difference, (byte, lower)| difference | ((byte | 0x20) ^ lower));
    if difference == 0 {
        role
    } else if bytes.contains(&b'_') && is(name, lower) {
        Role::Dropped
    } else {
        Role::EndToEnd
    }
}

/// True if `name` equals `lower`, ignoring case and treating underscores as dashes. Looks at every byte, which needs no
/// branch.
pub(crate) fn is(name: &[u8], lower: &[u8]) -> bool {
    let difference = name.iter().zip(lower).fold(0, |difference, (byte, lower)| {
        let byte = if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
        difference | (byte ^ lower)
    });
    name.len() == lower.len() && difference == 0
}

/// True if a trailer field may be forwarded: it must not frame, route or authenticate (RFC 9110, 6.5.1).
pub fn trailer_forwards(name: &[u8]) -> bool {
    let private: [&[u8]; 6] =
        [b"authorization", b"set-cookie", b"content-encoding", b"content-range", b"content-type", b"trailer"];
    matches!(role(name), Role::EndToEnd) && !private.iter().any(|other| is(name, other))
}

/// Options of Connection, and the hop-by-hop headers that it names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionHeader<'a> {
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
    pub(crate) upgrade: bool,
    names: [&'a [u8]; 8],
    count: usize,
}

impl<'a> ConnectionHeader<'a> {
    /// Adds one Connection header; returns false if it names more headers than fit.
    pub(crate) fn see(&mut self, value: &'a [u8]) -> bool {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty()) {
            if token.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if token.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade = true;
            } else if let Some(slot) = self.names.get_mut(self.count) {
                *slot = token;
                self.count += 1;
            } else {
                return false;
            }
        }
        true
    }

    /// True if Connection names a header, so it is not forwarded.
    pub(crate) fn names(&self, header: &[u8]) -> bool {
        self.names[..self.count].iter().any(|name| name.eq_ignore_ascii_case(header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_about_the_client_are_dropped_in_every_spelling() {
        for name in [
            "X-Forwarded-For",
            "x_forwarded_for",
            "X-Forwarded-Anything",
            "FORWARDED",
            "x-real-ip",
            "CF-Connecting-IP",
            "Proxy",
        ] {
            assert_eq!(role(name.as_bytes()), Role::Dropped, "{name}");
        }
        assert_eq!(role(b"content_length"), Role::Dropped);
        assert_eq!(role(b"Content-Length"), Role::ContentLength);
        assert_eq!(role(b"x-forwarded"), Role::EndToEnd);
        assert_eq!(role(b"my_header"), Role::EndToEnd);
    }

    #[test]
    fn a_special_name_is_known_by_all_of_its_bytes_in_either_case_and_is_dropped_in_disguise() {
        for (name, expected) in [
            ("te", Role::Te),
            ("host", Role::Host),
            ("expect", Role::Expect),
            ("cookie", Role::Cookie),
            ("upgrade", Role::Upgrade),
            ("connection", Role::Connection),
            ("keep-alive", Role::KeepAlive),
            ("content-type", Role::ContentType),
            ("x-request-id", Role::RequestId),
            ("content-length", Role::ContentLength),
            ("transfer-encoding", Role::TransferEncoding),
            ("x-cluster-client-ip", Role::Dropped),
            ("cf-connecting-ipv6", Role::Dropped),
        ] {
            assert_eq!((role(name.as_bytes()), role(name.to_uppercase().as_bytes())), (expected, expected), "{name}");
            if name.contains('-') {
                assert_eq!(role(name.replace('-', "_").as_bytes()), Role::Dropped, "{name}");
            }
            for at in 0..name.len() {
                let mut other = name.as_bytes().to_vec();
                other[at] = b'!';
                assert_eq!(role(&other), Role::EndToEnd, "{name} at {at}");
            }
        }
    }

    #[test]
    fn connection_names_headers_of_this_hop() {
        let mut connection = ConnectionHeader::default();
        assert!(connection.see(b"Upgrade, X-Hop ,, close"));
        assert!(connection.upgrade && connection.close && !connection.keep_alive);
        assert!(connection.names(b"x-hop") && !connection.names(b"x-other"));
        assert!(!connection.see(b"a,b,c,d,e,f,g,h"));
    }
}
