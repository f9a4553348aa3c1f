//! Rendezvous (highest random weight) hashing: picks the same instance for a client on every core, without a table. A
//! change moves only the clients of the affected instance. Hashes have no seed: cores and proxies must agree.

/// Returns the key of an instance from its id.
pub fn instance_key(id: &str) -> u64 {
    hash(id.as_bytes())
}

/// Returns the position of the instance for a client (`client_key`) among (position, key, weight). Each instance gets
/// clients by its weight. `None` if there are no instances.
pub fn rendezvous(client: u64, instances: impl IntoIterator<Item = (usize, u64, u32)>) -> Option<usize> {
    let arrival = |key: u64, weight: u32| {
        // Even in (0, 1), so the logarithm is finite.
        let even = ((mix(mix(client) ^ key) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        // The minimum of exponential variables is distributed by weight.
        -even.ln() / f64::from(weight)
    };
    instances
        .into_iter()
        .filter(|(_, _, weight)| *weight > 0)
        .map(|(index, key, weight)| (index, arrival(key, weight)))
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(index, _)| index)
}

/// FNV-1a, then mixed: similar short inputs must not get similar hashes.
fn hash(bytes: &[u8]) -> u64 {
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)))
}

/// SplitMix64's finaliser.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::client_key;

    fn clients() -> impl Iterator<Item = u64> {
        (0..20_000u32).map(|number| client_key(Ipv4Addr::from(0x0a00_0000 + number).into()))
    }

    fn fleet(ids: &[&str]) -> Vec<(usize, u64, u32)> {
        ids.iter().enumerate().map(|(index, id)| (index, instance_key(id), 1)).collect()
    }

    #[test]
    fn clients_spread_by_weight() {
        let mut instances = fleet(&["ins_a", "ins_b", "ins_c"]);
        instances[2].2 = 2;
        let mut counts = [0; 3];
        clients().for_each(|client| counts[rendezvous(client, instances.iter().copied()).unwrap()] += 1);
        for (count, share) in counts.into_iter().zip([0.25, 0.25, 0.5]) {
            assert!((f64::from(count) / 20_000.0 - share).abs() < 0.02, "{counts:?}");
        }
    }

    #[test]
    fn only_the_clients_of_an_instance_that_goes_move() {
        let all = fleet(&["ins_a", "ins_b", "ins_c", "ins_d"]);
        for client in clients() {
            let before = rendezvous(client, all.iter().copied()).unwrap();
            let after = rendezvous(client, all.iter().copied().filter(|(index, ..)| *index != 1)).unwrap();
            assert!(before == after || before == 1);
        }
    }

    #[test]
    fn no_instances_give_none() {
        assert_eq!((rendezvous(7, []), rendezvous(7, [(0, 1, 0)])), (None, None));
    }
}
