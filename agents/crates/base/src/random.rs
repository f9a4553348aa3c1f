//! Random numbers for jitter and unique ids. Never for keys, nonces or tokens.

use std::hash::{BuildHasher, RandomState};

/// Returns a number that differs on every call and in every process (SipHash under keys of the operating system).
pub fn number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Returns a fraction in `0.0..1.0`.
pub fn fraction() -> f64 {
    // An f64 holds exactly 53 bits.
    (number() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns `length` letters and digits, for ids.
pub fn alphanumeric(length: usize) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    (0..length).map(|_| char::from(ALPHABET[usize::try_from(number() % 62).unwrap_or_default()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_repeat_and_fractions_stay_in_range() {
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| alphanumeric(20)).collect();
        assert_eq!(ids.len(), 1000);
        assert!((0..1000).map(|_| fraction()).all(|f| (0.0..1.0).contains(&f)));
    }
}
