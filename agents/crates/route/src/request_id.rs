//! Request ids: 32 hex digits, unique without a lock. They are never secrets.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Longest id that is accepted from a client.
pub const REQUEST_ID_BYTES_MAX: usize = 64;

/// True if a client's id can be used: short, and harmless in logs, headers and file names.
pub fn usable_request_id(value: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&value.len())
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Generator of request ids. One half is random for each generator. The other is a scrambled counter, so ids don't
/// reveal the request rate.
#[derive(Debug)]
pub struct RequestIds {
    prefix: u64,
    prefix_hex: [u8; 16],
    next: Cell<u64>,
}

impl RequestIds {
    /// Creates a generator with its own random half.
    pub fn new() -> Self {
        let random = |salt: u64| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(salt);
            hasher.finish()
        };
        let prefix = random(1);
        Self { prefix, prefix_hex: hex(prefix), next: Cell::new(random(2)) }
    }

    /// Returns the next request id.
    pub fn next(&self) -> [u8; 32] {
        let count = self.next.get();
        self.next.set(count.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut id = [0; 32];
        id[..16].copy_from_slice(&self.prefix_hex);
        id[16..].copy_from_slice(&hex(mix(count)));
        id
    }

    /// Returns a random number, unrelated to any id.
    pub fn random(&self) -> u64 {
        let count = self.next.get();
        self.next.set(count.wrapping_add(0x9e37_79b9_7f4a_7c15));
        mix(count ^ self.prefix)
    }
}

impl Default for RequestIds {
    fn default() -> Self {
        Self::new()
    }
}

/// SplitMix64's finaliser: a bijection, so distinct counts stay distinct.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Converts to sixteen hex digits at once.
fn hex(value: u64) -> [u8; 16] {
    // Spreads each half of a byte to a byte.
    let mut halves = u128::from(value);
    halves = (halves | halves << 32) & 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff;
    halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff;
    halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff;
    halves = (halves | halves << 4) & (EACH * 0x0f);
    // One in each byte that becomes a letter.
    let letters = (halves + EACH * 6) >> 4 & EACH;
    (halves + EACH * u128::from(b'0') + letters * u128::from(b'a' - 10 - b'0')).to_be_bytes()
}

/// A one in each byte.
const EACH: u128 = u128::from_ne_bytes([1; 16]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_in_hex() {
        assert_eq!(&hex(0x0123_4567_89ab_cdef), b"0123456789abcdef");
        assert_eq!(&hex(0xfedc_ba98_7654_3210), b"fedcba9876543210");
        assert_eq!((&hex(0), &hex(u64::MAX)), (&[b'0'; 16], &[b'f'; 16]));
    }

    #[test]
    fn ids_are_usable_and_do_not_repeat() {
        let (a, b) = (RequestIds::new(), RequestIds::new());
        let ids: std::collections::HashSet<_> = (0..1000).flat_map(|_| [a.next(), b.next()]).collect();
        assert_eq!(ids.len(), 2000);
        assert!(ids.iter().all(|id| usable_request_id(id)));
        for bad in ["", "a b", "a\"b", &"x".repeat(65)] {
            assert!(!usable_request_id(bad.as_bytes()));
        }
    }
}
