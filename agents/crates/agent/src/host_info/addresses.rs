//! Addresses of this host's interfaces, as the kernel lists them in `/proc/net`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum number of reported addresses: a host with containers has many private ones.
const ADDRESSES_MAX: usize = 32;
/// Flags of an IPv6 address that changes or does not answer yet (linux/if_addr.h): temporary, deprecated, tentative.
const UNSTABLE: u32 = 0x01 | 0x20 | 0x40;

/// Returns the addresses that other machines may reach, public ones first. A kernel without IPv6 has no list of it.
pub(super) fn read() -> Vec<IpAddr> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut found: Vec<IpAddr> = ipv4(&text("/proc/net/fib_trie")).into_iter().map(IpAddr::V4).collect();
    found.extend(ipv6(&text("/proc/net/if_inet6")).into_iter().map(IpAddr::V6));
    found.sort_by_key(|address| matches!(address, IpAddr::V4(address) if address.is_private()));
    found.truncate(ADDRESSES_MAX);
    found
}

/// Reads the local addresses of the routing table: `|-- 192.0.2.7` followed by `/32 host LOCAL`.
fn ipv4(trie: &str) -> Vec<Ipv4Addr> {
    let mut leaf: Option<Ipv4Addr> = None;
    let mut found = Vec::new();
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = leaf
            && !address.is_loopback()
            && !address.is_link_local()
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

/// Reads the interface addresses of global scope: address, index, prefix length, scope, flags and interface, in hex.
fn ipv6(list: &str) -> Vec<Ipv6Addr> {
    let parse = |line: &str| {
        let mut fields = line.split_whitespace();
        let address = u128::from_str_radix(fields.next()?, 16).ok()?;
        let (scope, flags) = (fields.nth(2)?, u32::from_str_radix(fields.next()?, 16).ok()?);
        (scope == "00" && flags & UNSTABLE == 0).then(|| Ipv6Addr::from(address))
    };
    list.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_of_the_routing_table_are_found_once() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 198.51.100.7\n        /32 host LOCAL\n\
                    Local:\n     |-- 198.51.100.7\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n\
                    |-- 169.254.3.4\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n     |-- 10.0.0.4\n        /32 host LOCAL\n";
        assert_eq!(ipv4(trie), [Ipv4Addr::new(198, 51, 100, 7), Ipv4Addr::new(10, 0, 0, 4)]);
    }

    #[test]
    fn only_stable_global_ipv6_addresses_are_found() {
        let list = "20010db8000000000000000000000007 02 40 00 80 eth0\n20010db8000000000000000000000008 02 40 00 01 eth0\n\
                    fe80000000000000021a4afffe000001 02 40 20 80 eth0\n00000000000000000000000000000001 01 80 10 80 lo\n";
        assert_eq!(ipv6(list), ["2001:db8::7".parse::<Ipv6Addr>().unwrap()]);
    }
}
