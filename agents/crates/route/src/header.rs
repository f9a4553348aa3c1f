//! What each header name means to a proxy. Decided by length first, then by one comparison.

/// The part a header plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sent on as it is.
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
    /// Never sent on: of this hop only, or a claim about the client that only the proxy may make.
    Dropped,
}

/// The role of a header. `X_Forwarded_For` reads as `X-Forwarded-For` in CGI-like apps, so a name that becomes a special
/// one when its underscores are dashes is dropped.
pub(crate) fn role(name: &[u8]) -> Role {
    let Some(first) = name.first() else { return Role::EndToEnd };
    // Most names part from every special one by their length and first letter: one jump, no comparison.
    let role = match (name.len(), first | 0x20) {
        (2, b't') if is(name, b"te") => Role::Te,
        (4, b'h') if is(name, b"host") => Role::Host,
        // The "httpoxy" header: CGI turns it into HTTP_PROXY.
        (5, b'p') if is(name, b"proxy") => Role::Dropped,
        (6, b'e') if is(name, b"expect") => Role::Expect,
        (6, b'c') if is(name, b"cookie") => Role::Cookie,
        (7, b'u') if is(name, b"upgrade") => Role::Upgrade,
        (9, b'x') if is(name, b"x-real-ip") => Role::Dropped,
        (9, b'f') if is(name, b"forwarded") => Role::Dropped,
        // Other proxies' ways to name the client; only this one's word counts.
        (11, b'x') if is(name, b"x-client-ip") => Role::Dropped,
        (14, b't') if is(name, b"true-client-ip") => Role::Dropped,
        (16, b'c') if is(name, b"cf-connecting-ip") => Role::Dropped,
        (18, b'c') if is(name, b"cf-connecting-ipv6") => Role::Dropped,
        (19, b'x') if is(name, b"x-cluster-client-ip") => Role::Dropped,
        (10, b'c') if is(name, b"connection") => Role::Connection,
        (10, b'k') if is(name, b"keep-alive") => Role::KeepAlive,
        (12, b'x') if is(name, b"x-request-id") => Role::RequestId,
        (12, b'c') if is(name, b"content-type") => Role::ContentType,
        (14, b'c') if is(name, b"content-length") => Role::ContentLength,
        (14, b'h') if is(name, b"http2-settings") => Role::Dropped,
        (16, b'p') if is(name, b"proxy-connection") => Role::Dropped,
        (17, b't') if is(name, b"transfer-encoding") => Role::TransferEncoding,
        (18, b'p') if is(name, b"proxy-authenticate") => Role::Dropped,
        (19, b'p') if is(name, b"proxy-authorization") => Role::Dropped,
        (13.., b'x') if is(&name[..12], b"x-forwarded-") => Role::Dropped,
        _ => return Role::EndToEnd,
    };
    if role != Role::Dropped && name.iter().fold(false, |found, byte| found | (*byte == b'_')) {
        Role::Dropped
    } else {
        role
    }
}

/// Whether `name` is `lower` but for case and for underscores in place of dashes. Looks at every byte: that takes no branch.
#[inline]
pub(crate) fn is(name: &[u8], lower: &[u8]) -> bool {
    let difference = name.iter().zip(lower).fold(0, |difference, (byte, lower)| {
        let byte = if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
        difference | (byte ^ lower)
    });
    name.len() == lower.len() && difference == 0
}

/// Whether a trailer field may be sent on: nothing that frames, routes or authenticates (RFC 9110, 6.5.1).
pub fn trailer_forwards(name: &[u8]) -> bool {
    let private: [&[u8]; 6] =
        [b"authorization", b"set-cookie", b"content-encoding", b"content-range", b"content-type", b"trailer"];
    matches!(role(name), Role::EndToEnd) && !private.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// What Connection said: its options, and the headers it names as belonging to this hop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Connection<'a> {
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
    pub(crate) upgrade: bool,
    names: [&'a [u8]; 8],
    count: usize,
}

impl<'a> Connection<'a> {
    /// Adds one Connection header; `false` when it names more than is kept.
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

    /// Whether a header was named, and so ends here.
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
    fn connection_names_headers_of_this_hop() {
        let mut connection = Connection::default();
        assert!(connection.see(b"Upgrade, X-Hop ,, close"));
        assert!(connection.upgrade && connection.close && !connection.keep_alive);
        assert!(connection.names(b"x-hop") && !connection.names(b"x-other"));
        assert!(!connection.see(b"a,b,c,d,e,f,g,h"));
    }
}
