//! Fuzz target of the PROXY protocol header: a simple reader finds the same client, however the bytes arrive and
//! whatever follows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fairlead_route::{PROXY_HEADER_BYTES_MAX, ProxyHeader, parse_proxy_header};

/// Maximum length up to which every prefix is tried; longer ones are sampled.
const EVERY_PREFIX_UP_TO: usize = 300;
const STEP: usize = 97;

/// Fuzzes the beginning of a connection.
pub fn proxy_protocol(data: &[u8]) {
    let whole = parse_proxy_header(data);
    let slow = line(data).or_else(|| binary(data));
    match whole {
        Ok(Some(header)) => {
            assert!(header.length <= data.len() && header.length <= PROXY_HEADER_BYTES_MAX);
            assert_eq!(slow, Some((header.length, header.client)));
            assert_eq!(parse_proxy_header(&data[..header.length]), whole, "what follows changes it");
        }
        Ok(None) | Err(_) => assert_eq!(slow, None, "a header is not seen"),
    }
    // Invariant: the result stays undecided until enough bytes decide it, and never changes after that.
    let mut decided = None;
    let some = |end: &usize| *end <= EVERY_PREFIX_UP_TO || end.is_multiple_of(STEP) || *end == data.len();
    for end in (0..=data.len()).filter(some) {
        let now = parse_proxy_header(&data[..end]);
        match decided {
            Some(before) => assert_eq!(now, before, "{end} bytes change what fewer decided"),
            None if now == Ok(None) => {}
            None => decided = Some(now),
        }
        if let Ok(Some(ProxyHeader { length, .. })) = now {
            assert!(length <= end);
        }
    }
}

/// Reads a line (version 1); returns its length and client.
fn line(data: &[u8]) -> Option<(usize, Option<SocketAddr>)> {
    let end = data.windows(2).position(|pair| pair == b"\r\n")?;
    let text = std::str::from_utf8(&data[..end]).ok().filter(|text| end + 2 <= 107 && !text.contains('\n'))?;
    let words: Vec<&str> = text.split(' ').collect();
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| port.to_string() == text);
    let client: Option<SocketAddr> = match words[..] {
        ["PROXY", "UNKNOWN", ..] => None,
        ["PROXY", "TCP4", from, to, from_port, to_port] => {
            to.parse::<Ipv4Addr>().ok()?;
            port(to_port)?;
            Some((from.parse::<Ipv4Addr>().ok()?, port(from_port)?).into())
        }
        ["PROXY", "TCP6", from, to, from_port, to_port] => {
            to.parse::<Ipv6Addr>().ok()?;
            port(to_port)?;
            Some((from.parse::<Ipv6Addr>().ok()?, port(from_port)?).into())
        }
        _ => return None,
    };
    Some((end + 2, client))
}

/// Reads the binary form (version 2); returns its length and client.
fn binary(data: &[u8]) -> Option<(usize, Option<SocketAddr>)> {
    let rest = data.strip_prefix(b"\r\n\r\n\0\r\nQUIT\n")?;
    let (&[command, family, high, low], rest) = rest.split_first_chunk::<4>()?;
    let length = usize::from(high) * 256 + usize::from(low);
    let body = rest.get(..length).filter(|_| 16 + length <= PROXY_HEADER_BYTES_MAX)?;
    let addresses = match family {
        0x00 => 0,
        0x11 => 2 * (4 + 2),
        0x21 => 2 * (16 + 2),
        0x31 => 2 * 108,
        _ => return None,
    };
    let (addresses, mut extensions) = body.split_at_checked(addresses)?;
    while !extensions.is_empty() {
        let (&[_, high, low], after) = extensions.split_first_chunk::<3>()?;
        extensions = after.get(usize::from(high) * 256 + usize::from(low)..)?;
    }
    let address: Option<IpAddr> = match addresses.len() {
        12 => <[u8; 4]>::try_from(&addresses[..4]).ok().map(IpAddr::from),
        36 => <[u8; 16]>::try_from(&addresses[..16]).ok().map(IpAddr::from),
        _ => None,
    };
    let port = |at: usize| u16::from(addresses[at]) << 8 | u16::from(addresses[at + 1]);
    let client = match command {
        0x20 => None,
        0x21 => address.map(|address| SocketAddr::new(address, port(addresses.len() - 4))),
        _ => return None,
    };
    Some((16 + length, client))
}
