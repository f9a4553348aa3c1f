//! Sets of IP address ranges: sorted and merged, with one binary search per request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

/// Set of address ranges. An IPv4 address in its IPv6 form (`::ffff:192.0.2.1`) counts as the IPv4 address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressSet {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl AddressSet {
    /// Builds the union of `nets`.
    pub fn new(nets: impl IntoIterator<Item = IpNet>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for net in nets.into_iter().map(plain) {
            match net {
                IpNet::V4(net) => v4.push((net.network().to_bits(), net.broadcast().to_bits())),
                IpNet::V6(net) => v6.push((net.network().to_bits(), net.broadcast().to_bits())),
            }
        }
        Self { v4: merge(v4).into(), v6: merge(v6).into() }
    }

    /// True if the set has no ranges.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// True if an address is in one of the ranges.
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => holds(&self.v4, address.to_bits()),
            IpAddr::V6(address) => holds(&self.v6, address.to_bits()),
        }
    }
}

/// Converts a range of IPv4 addresses in IPv6 form to the IPv4 range.
fn plain(net: IpNet) -> IpNet {
    if let IpNet::V6(v6) = net
        && let Some(address) = v6.addr().to_ipv4_mapped()
        && let Some(length) = v6.prefix_len().checked_sub(96)
        && let Ok(v4) = Ipv4Net::new(address, length)
    {
        return IpNet::V4(v4);
    }
    net
}

fn merge<T: Ord + Copy>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut merged: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, end)) if first <= *end => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn holds<T: Ord>(ranges: &[(T, T)], address: T) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= address);
    after.checked_sub(1).is_some_and(|index| address <= ranges[index].1)
}

/// Allow and deny lists of client addresses: `deny` wins, and an `allow` list that is not empty excludes all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRules {
    allow: AddressSet,
    deny: AddressSet,
}

impl AddressRules {
    /// Returns `None` if both lists are empty.
    pub fn new(allow: &[IpNet], deny: &[IpNet]) -> Option<Self> {
        if allow.is_empty() && deny.is_empty() {
            return None;
        }
        Some(Self { allow: AddressSet::new(allow.iter().copied()), deny: AddressSet::new(deny.iter().copied()) })
    }

    /// True if `client` is allowed.
    pub fn admit(&self, client: IpAddr) -> bool {
        !self.deny.contains(client) && (self.allow.is_empty() || self.allow.contains(client))
    }
}

/// Returns the key of a client for limits: its IPv4 address, or the /64 of its IPv6 address, which one household has to
/// itself.
pub fn client_key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        // No client has an address in ::/64, so IPv4 and IPv6 keys never collide.
        IpAddr::V4(address) => u64::from(Ipv4Addr::to_bits(address)) | 0xffff << 32,
        IpAddr::V6(address) => (Ipv6Addr::to_bits(address) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn net() -> impl Strategy<Value = IpNet> {
        prop_oneof![
            (0u32..64, 26u8..=32).prop_map(|(bits, length)| Ipv4Net::new(bits.into(), length).unwrap().into()),
            (0u128..64, 122u8..=128)
                .prop_map(|(bits, length)| ipnet::Ipv6Net::new(bits.into(), length).unwrap().into()),
        ]
    }

    proptest! {
        #[test]
        fn a_set_holds_what_any_of_its_ranges_holds(nets in prop::collection::vec(net(), 0..8), bits in 0u32..80, v6: bool) {
            let set = AddressSet::new(nets.clone());
            let address: IpAddr = if v6 { Ipv6Addr::from(u128::from(bits)).into() } else { Ipv4Addr::from(bits).into() };
            prop_assert_eq!(set.contains(address), nets.iter().any(|net| net.contains(&address)));
            prop_assert_eq!(set.is_empty(), nets.is_empty());
        }
    }

    #[test]
    fn mapped_addresses_are_ipv4_ones() {
        for net in ["192.0.2.0/24", "::ffff:192.0.2.0/120"] {
            let set = AddressSet::new([net.parse().unwrap()]);
            assert!(set.contains("192.0.2.9".parse().unwrap()) && set.contains("::ffff:192.0.2.9".parse().unwrap()));
            assert!(!set.contains("192.0.3.9".parse().unwrap()));
        }
        assert_eq!(client_key("::ffff:192.0.2.1".parse().unwrap()), client_key("192.0.2.1".parse().unwrap()));
        assert_eq!(client_key("2001:db8::1".parse().unwrap()), client_key("2001:db8::2".parse().unwrap()));
        assert_ne!(client_key("2001:db8:0:1::1".parse().unwrap()), client_key("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn a_denied_client_stays_out_though_it_is_allowed() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        let rules = AddressRules::new(&[net("10.0.0.0/8")], &[net("10.1.0.0/16")]).unwrap();
        let admit = |text: &str| rules.admit(text.parse().unwrap());
        assert!(admit("10.2.0.1") && !admit("10.1.0.1") && !admit("192.0.2.1"));
        let rules = AddressRules::new(&[], &[net("10.1.0.0/16")]).unwrap();
        assert!(rules.admit("192.0.2.1".parse().unwrap()) && !rules.admit("10.1.2.3".parse().unwrap()));
        assert_eq!(AddressRules::new(&[], &[]), None);
    }
}
