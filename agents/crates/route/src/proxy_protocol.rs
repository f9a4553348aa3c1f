//! Parser of the PROXY protocol header, versions 1 and 2 (haproxy.org, proxy-protocol.txt). It is strict, because the
//! header determines the client's address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest accepted header: a version 2 header of cloud balancers with its extensions has some hundred bytes.
pub const PROXY_HEADER_BYTES_MAX: usize = 4096;
/// Longest line of version 1 (2.1).
const LINE_BYTES_MAX: usize = 107;
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIXED_BYTES: usize = 16;

/// Complete PROXY protocol header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyHeader {
    /// Length of the header; the client's bytes follow.
    pub length: usize,
    /// Address of the client; `None` if the proxy speaks for itself or doesn't know (LOCAL, UNKNOWN, UNSPEC).
    pub client: Option<SocketAddr>,
}

/// Error of a connection without a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection does not begin with a valid PROXY protocol header")]
pub struct BadProxyHeader;

/// Parses the header at the start of `input`; `None` if `input` is an incomplete header.
pub fn parse_proxy_header(input: &[u8]) -> Result<Option<ProxyHeader>, BadProxyHeader> {
    if input.starts_with(b"P") {
        return version_1(input);
    }
    let known = input.len().min(SIGNATURE.len());
    if input[..known] != SIGNATURE[..known] {
        return Err(BadProxyHeader);
    }
    version_2(input)
}

fn version_1(input: &[u8]) -> Result<Option<ProxyHeader>, BadProxyHeader> {
    const NAME: &[u8] = b"PROXY ";
    let known = input.len().min(NAME.len());
    if input[..known] != NAME[..known] {
        return Err(BadProxyHeader);
    }
    let head = &input[..input.len().min(LINE_BYTES_MAX)];
    let Some(end) = memchr::memchr(b'\n', head) else {
        return if head.len() < LINE_BYTES_MAX { Ok(None) } else { Err(BadProxyHeader) };
    };
    let line = head[..end].strip_suffix(b"\r").ok_or(BadProxyHeader)?;
    let line = std::str::from_utf8(line).map_err(|_| BadProxyHeader)?;
    let mut words = line.split(' ').skip(1);
    let family = words.next();
    if family == Some("UNKNOWN") {
        return Ok(Some(ProxyHeader { length: end + 1, client: None }));
    }
    let mut next = || words.next().ok_or(BadProxyHeader);
    let (source, target, source_port, target_port) = (next()?, next()?, next()?, next()?);
    let (source, target): (IpAddr, IpAddr) =
        (source.parse().map_err(|_| BadProxyHeader)?, target.parse().map_err(|_| BadProxyHeader)?);
    let is_right_family = match family {
        Some("TCP4") => source.is_ipv4() && target.is_ipv4(),
        Some("TCP6") => source.is_ipv6() && target.is_ipv6(),
        _ => false,
    };
    if !is_right_family || words.next().is_some() {
        return Err(BadProxyHeader);
    }
    port(target_port)?;
    Ok(Some(ProxyHeader { length: end + 1, client: Some(SocketAddr::new(source, port(source_port)?)) }))
}

/// Parses a port: digits only, without leading zeros.
fn port(text: &str) -> Result<u16, BadProxyHeader> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.len() > 1 && text.starts_with('0') {
        return Err(BadProxyHeader);
    }
    text.parse().map_err(|_| BadProxyHeader)
}

fn version_2(input: &[u8]) -> Result<Option<ProxyHeader>, BadProxyHeader> {
    let Some(fixed) = input.first_chunk::<FIXED_BYTES>() else { return Ok(None) };
    let (command, family) = (fixed[12], fixed[13]);
    let rest = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let length = FIXED_BYTES + rest;
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return Err(BadProxyHeader),
    };
    // Length of two addresses and two ports. Datagrams don't come over connections.
    let address_bytes = match family {
        0x00 => 0,
        0x11 => 12,
        0x21 => 36,
        0x31 => 216,
        _ => return Err(BadProxyHeader),
    };
    if length > PROXY_HEADER_BYTES_MAX || rest < address_bytes {
        return Err(BadProxyHeader);
    }
    let Some(body) = input.get(FIXED_BYTES..length) else { return Ok(None) };
    if !extensions_are_whole(&body[address_bytes..]) {
        return Err(BadProxyHeader);
    }
    let client = match (is_local, family) {
        (false, 0x11) => body.first_chunk::<4>().map(|octets| (Ipv4Addr::from(*octets).into(), &body[8..10])),
        (false, 0x21) => body.first_chunk::<16>().map(|octets| (Ipv6Addr::from(*octets).into(), &body[32..34])),
        _ => None,
    };
    let client = client.map(|(ip, port): (IpAddr, &[u8])| SocketAddr::new(ip, u16::from_be_bytes([port[0], port[1]])));
    Ok(Some(ProxyHeader { length, client }))
}

/// Checks that the extensions are a sequence of type, length and value without a remainder.
fn extensions_are_whole(mut rest: &[u8]) -> bool {
    while let [_, high, low, values @ ..] = rest {
        let Some(after) = values.get(usize::from(u16::from_be_bytes([*high, *low]))..) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(input: &[u8]) -> Result<Option<ProxyHeader>, BadProxyHeader> {
        parse_proxy_header(input)
    }

    fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family][..], &length, body].concat()
    }

    const V4: [u8; 12] = [192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 1, 187];

    #[test]
    fn a_line_names_the_client() {
        for (line, client) in [
            ("PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\r\n", Some("192.0.2.7:12345")),
            ("PROXY TCP6 2001:db8::7 ::1 1 65535\r\n", Some("[2001:db8::7]:1")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", None),
        ] {
            let header = parse(format!("{line}GET / HTTP/1.1\r\n").as_bytes()).unwrap().unwrap();
            assert_eq!(header, ProxyHeader { length: line.len(), client: client.map(|text| text.parse().unwrap()) });
            for end in 0..line.len() {
                assert_eq!(parse(&line.as_bytes()[..end]), Ok(None), "{end} of {line:?}");
            }
        }
    }

    #[test]
    fn what_is_not_quite_a_line_is_refused() {
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(LINE_BYTES_MAX));
        for line in [
            "PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 12345\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 12345 443 \r\n",
            "PROXY TCP4  192.0.2.7 10.0.0.1 12345 443\r\n",
            "PROXY TCP4 192.0.2.07 10.0.0.1 12345 443\r\n",
            "PROXY TCP4 ::1 10.0.0.1 12345 443\r\n",
            "PROXY TCP6 192.0.2.7 10.0.0.1 12345 443\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 +1 443\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 01 443\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 65536 443\r\n",
            "PROXY UDP4 192.0.2.7 10.0.0.1 1 443\r\n",
            "PROXY\r\n",
            "proxy UNKNOWN\r\n",
            "POST / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\n",
            "\u{16}\u{3}\u{1}",
            &long,
        ] {
            assert_eq!(parse(line.as_bytes()), Err(BadProxyHeader), "{line:?}");
        }
    }

    #[test]
    fn the_binary_form_names_the_client_and_its_extensions_are_passed_over() {
        let v6: Vec<u8> = [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], [0; 16]].concat();
        let v6 = [&v6[..], &[0, 80, 1, 187]].concat();
        let extended = [&V4[..], &[4, 0, 3, 1, 2, 3, 2, 0, 0]].concat();
        for (header, client) in [
            (v2(0x21, 0x11, &V4), Some("192.0.2.7:12345")),
            (v2(0x21, 0x11, &extended), Some("192.0.2.7:12345")),
            (v2(0x21, 0x21, &v6), Some("[2001:db8::7]:80")),
            (v2(0x20, 0x11, &V4), None),
            (v2(0x20, 0x00, &[]), None),
            (v2(0x21, 0x31, &[0; 216]), None),
        ] {
            let with_more = [&header[..], b"more"].concat();
            let expected = ProxyHeader { length: header.len(), client: client.map(|text| text.parse().unwrap()) };
            assert_eq!(parse(&with_more), Ok(Some(expected)));
            for end in 0..header.len() {
                assert_eq!(parse(&header[..end]), Ok(None), "{end}");
            }
        }
        for header in [
            v2(0x11, 0x11, &V4),
            v2(0x22, 0x11, &V4),
            v2(0x21, 0x12, &V4),
            v2(0x21, 0x41, &V4),
            v2(0x21, 0x11, &V4[..11]),
            v2(0x21, 0x21, &V4),
            v2(0x21, 0x11, &[&V4[..], &[4, 0, 9, 1]].concat()),
            v2(0x21, 0x11, &[&V4[..], &[4]].concat()),
            v2(0x21, 0x11, &[0; PROXY_HEADER_BYTES_MAX]),
        ] {
            assert_eq!(parse(&header), Err(BadProxyHeader), "{header:?}");
        }
    }

    proptest! {
        #[test]
        fn a_header_never_ends_beyond_its_input_and_more_never_changes_it(
            input in proptest::collection::vec(any::<u8>(), 0..80), prefix in 0usize..3,
        ) {
            let input = [[b"".as_slice(), b"PROXY TCP4 1.2.3.4 ", SIGNATURE][prefix], &input[..]].concat();
            if let Ok(Some(header)) = parse(&input) {
                prop_assert!(header.length <= input.len());
                prop_assert_eq!(parse(&input[..header.length]), Ok(Some(header)));
                prop_assert_eq!(parse(&input[..header.length - 1]), Ok(None));
            }
        }
    }
}
