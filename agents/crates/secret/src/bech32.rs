//! Encodes age recipients as Bech32 (BIP 173) without its limit of 90 characters.

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
const CHECKSUM_CHARACTERS: u32 = 6;

/// Returns `prefix`, which must be lower case, then `1`, the bytes and their checksum.
pub(crate) fn encode(prefix: &str, bytes: &[u8]) -> String {
    let mut words = Vec::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut held, mut bits) = (0u32, 0);
    for byte in bytes {
        held = (held << 8 | u32::from(*byte)) & 0xfff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            words.push((held >> bits & 31) as u8);
        }
    }
    if bits > 0 {
        words.push((held << (5 - bits) & 31) as u8);
    }
    let sum = checksum(prefix, &words);
    let tail = (0..CHECKSUM_CHARACTERS).rev().map(|place| (sum >> (5 * place) & 31) as u8);
    let text = words.iter().copied().chain(tail).map(|word| char::from(CHARSET[usize::from(word)]));
    format!("{prefix}1{}", text.collect::<String>())
}

fn checksum(prefix: &str, words: &[u8]) -> u32 {
    let step = |sum: u32, word: u8| {
        let top = sum >> 25;
        let sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(word);
        let taps = GENERATOR.iter().enumerate().filter(|(place, _)| top >> place & 1 == 1);
        taps.fold(sum, |sum, (_, tap)| sum ^ tap)
    };
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    let empty = [0u8; CHECKSUM_CHARACTERS as usize];
    let all = high.chain([0]).chain(low).chain(words.iter().copied()).chain(empty);
    all.fold(1, step) ^ 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_come_out() {
        // BIP 173: the data parts of two of its valid strings.
        assert_eq!(encode("a", &[]), "a12uel5l");
        let words: Vec<u8> = (0..32).collect();
        let bits: Vec<u8> = words.iter().flat_map(|word| (0..5).rev().map(move |bit| word >> bit & 1)).collect();
        let bytes: Vec<u8> = bits.chunks(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit)).collect();
        assert_eq!(encode("abcdef", &bytes), "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw");
    }
}
