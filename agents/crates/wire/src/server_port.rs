//! Ports of the server that an instance may reach over its own network. Pure.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Address of the DNS resolver in every instance.
const RESOLVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 53)), 53);
const METADATA: &str = "is the metadata service of a cloud";
const DISGUISED_V4: &str = "is an IPv4 address written as IPv6";

/// Returns why an instance may not have this port of the server. Refuses wildcard, link-local and multicast addresses,
/// those of other instances and of metadata services, and IPv4 addresses written as IPv6. The control plane refuses the
/// same ones.
pub(crate) fn refusal(port: SocketAddr) -> Option<&'static str> {
    if port.port() == 0 {
        return Some("has port 0");
    }
    if port == RESOLVER {
        return Some("is the resolver of every app");
    }
    match port {
        SocketAddr::V4(v4) => match v4.ip().octets() {
            [0, ..] => Some("is a wildcard address"),
            [169, 254, ..] => Some("is a link-local address"),
            // Azure, Oracle and Alibaba.
            [168, 63, 129, 16] | [192, 0, 0, 192] | [100, 100, 100, 200] => Some(METADATA),
            [198, 18 | 19, ..] => Some("is an address of another app"),
            [224..=255, ..] => Some("is no unicast address"),
            _ => None,
        },
        SocketAddr::V6(v6) => match v6.ip() {
            ip if ip.is_unspecified() => Some("is a wildcard address"),
            ip if ip.is_unicast_link_local() || v6.scope_id() != 0 => Some("is a link-local address"),
            ip if ip.is_multicast() => Some("is no unicast address"),
            // An IPv4 address in IPv6 form would evade the rules for IPv4.
            ip if ip.to_ipv4().is_some() && !ip.is_loopback() => Some(DISGUISED_V4),
            ip => match ip.segments() {
                // EC2, then single addresses of other clouds.
                [0xfd00, 0xec2, ..]
                | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
                | [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]
                | [0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1]
                | [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]
                | [0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200] => Some(METADATA),
                // RFC 6052, RFC 8215 and RFC 3056.
                [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x2002, ..] => Some(DISGUISED_V4),
                _ => None,
            },
        },
    }
}
