//! Host names in requests: validates and lower-cases them without their port and without allocation.

use fairlead_model::HOST_BYTES_MAX;

use crate::Malformed;

/// Bytes allowed in host names.
const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        byte += 1;
    }
    table
};

/// Value of a Host header or an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority<'a> {
    /// Text as sent, including the port.
    pub text: &'a [u8],
    /// Host without the port; an IPv6 address keeps its brackets.
    pub host: &'a [u8],
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Parses `host[:port]`. Refuses user information, empty names and bytes that host names don't have.
    pub fn parse(text: &'a [u8]) -> Result<Self, Malformed> {
        let end = match text.first() {
            Some(b'[') => memchr::memchr(b']', text).ok_or(Malformed::Host)? + 1,
            _ => text.iter().position(|byte| *byte == b':').unwrap_or(text.len()),
        };
        let (host, rest) = text.split_at(end);
        let port = match rest {
            [] => None,
            [b':', digits @ ..] => Some(port(digits).ok_or(Malformed::Host)?),
            _ => return Err(Malformed::Host),
        };
        let valid = match host {
            [b'[', inner @ .., b']'] => {
                std::str::from_utf8(inner).is_ok_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
            }
            name => {
                !name.is_empty()
                    && name.len() <= HOST_BYTES_MAX
                    && name.iter().fold(true, |fine, byte| fine & NAME_BYTES[usize::from(*byte)])
            }
        };
        if valid { Ok(Self { text, host, port }) } else { Err(Malformed::Host) }
    }

    /// Returns the name for a lookup if it was sent in exactly that form, as nearly every client does.
    pub fn plain_name(&self) -> Option<&'a [u8]> {
        let upper = self.host.iter().fold(false, |found, byte| found | byte.is_ascii_uppercase());
        (!upper && self.host.last() != Some(&b'.')).then_some(self.host)
    }

    /// Returns the name for a lookup.
    pub fn name(&self) -> HostName {
        HostName::new(self.host)
    }
}

/// Parses a port of 1 to 5 digits, at most 65535.
fn port(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 5 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    u16::try_from(digits.iter().fold(0u32, |port, digit| port * 10 + u32::from(digit - b'0'))).ok()
}

/// Host name in lower case and without a final dot, on the stack.
#[derive(Clone, Copy)]
pub struct HostName {
    bytes: [u8; HOST_BYTES_MAX],
    length: usize,
}

impl HostName {
    fn new(host: &[u8]) -> Self {
        let host = host.strip_suffix(b".").unwrap_or(host);
        let length = host.len().min(HOST_BYTES_MAX);
        let mut bytes = [0; HOST_BYTES_MAX];
        for (lower, byte) in bytes.iter_mut().zip(host) {
            *lower = byte.to_ascii_lowercase();
        }
        Self { bytes, length }
    }

    /// Returns the bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_port_case_and_final_dot() {
        for (text, name, port) in [
            ("Hello.LocalHost:4443", "hello.localhost", Some(4443)),
            ("example.com.", "example.com", None),
            ("[::1]:80", "[::1]", Some(80)),
            ("10.0.0.1", "10.0.0.1", None),
        ] {
            let authority = Authority::parse(text.as_bytes()).unwrap();
            assert_eq!(authority.name().as_bytes(), name.as_bytes());
            assert_eq!(
                authority.plain_name(),
                text.starts_with(name).then_some(name.as_bytes()).filter(|_| !text.ends_with('.'))
            );
            assert_eq!(authority.port, port);
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let long = "a".repeat(254);
        for text in [
            "",
            ":80",
            "a b",
            "a/b",
            "user@host",
            "a:",
            "a:99999",
            "a:+1",
            "a:80:80",
            "[::1",
            "[x]",
            "[::1]x",
            "é",
            &long,
        ] {
            assert_eq!(Authority::parse(text.as_bytes()), Err(Malformed::Host), "{text:?}");
        }
    }
}
