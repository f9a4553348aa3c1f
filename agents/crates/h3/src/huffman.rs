//! Huffman code of HPACK and QPACK (RFC 7541, appendix B). It is canonical: the lengths determine all codes.

/// Length in bits of each byte's code.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26,
];
const LENGTH_MAX: usize = 30;

/// Decoding tables, computed from `LENGTHS` at compile time.
struct Tables {
    /// Bytes by length of their code, then by value.
    symbols: [u8; 256],
    /// First code of each length, number of codes, and index of their bytes.
    first: [u32; LENGTH_MAX + 1],
    count: [u32; LENGTH_MAX + 1],
    offset: [u32; LENGTH_MAX + 1],
    /// Byte and length by the next eight bits, for codes of at most eight; length 0 for others.
    short: [(u8, u8); 256],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut made = Tables {
        symbols: [0; 256],
        first: [0; LENGTH_MAX + 1],
        count: [0; LENGTH_MAX + 1],
        offset: [0; LENGTH_MAX + 1],
        short: [(0, 0); 256],
    };
    let (mut length, mut code, mut placed) = (1, 0u32, 0);
    while length <= LENGTH_MAX {
        code <<= 1;
        made.first[length] = code;
        made.offset[length] = placed as u32;
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                made.symbols[placed] = symbol as u8;
                if length <= 8 {
                    let mut rest = 0;
                    while rest < 1 << (8 - length) {
                        made.short[((code as usize) << (8 - length)) | rest] = (symbol as u8, length as u8);
                        rest += 1;
                    }
                }
                placed += 1;
                code += 1;
                made.count[length] += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    made
}

/// Appends the decoded `input`; `None` if it is invalid or its padding is not less than a byte of ones.
pub(crate) fn decode(input: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // The lowest `held` bits of `bits` are unread.
    let (mut bits, mut held) = (0u64, 0u32);
    for byte in input {
        bits = bits << 8 | u64::from(*byte);
        held += 8;
        while held >= 8 {
            let (symbol, length) = TABLES.short[(bits >> (held - 8)) as usize & 0xff];
            if length > 0 {
                out.push(symbol);
                held -= u32::from(length);
                continue;
            }
            let Some((symbol, length)) = long(bits, held) else {
                if held >= LENGTH_MAX as u32 {
                    return None;
                }
                break;
            };
            out.push(symbol);
            held -= length;
        }
    }
    while held > 0 {
        // Fills up with ones, which begin no short code.
        let next = if held >= 8 { bits >> (held - 8) } else { bits << (8 - held) | ((1 << (8 - held)) - 1) };
        let (symbol, length) = TABLES.short[next as usize & 0xff];
        if length == 0 || u32::from(length) > held {
            break;
        }
        out.push(symbol);
        held -= u32::from(length);
    }
    let ones = (1u64 << held) - 1;
    (held < 8 && bits & ones == ones).then_some(())
}

/// Returns the code of more than eight bits at the top of the `held` lowest bits.
fn long(bits: u64, held: u32) -> Option<(u8, u32)> {
    (9..=held.min(LENGTH_MAX as u32)).find_map(|length| {
        let code = (bits >> (held - length)) as u32 & ((1 << length) - 1);
        let place = code.checked_sub(TABLES.first[length as usize])?;
        let found = place < TABLES.count[length as usize];
        found.then(|| (TABLES.symbols[(TABLES.offset[length as usize] + place) as usize], length))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Simple model: one bit after the other.
    fn encode(input: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for byte in input {
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            let start = TABLES.offset[length] as usize;
            let place = TABLES.symbols[start..].iter().position(|symbol| symbol == byte).unwrap();
            let code = TABLES.first[length] + place as u32;
            bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
        }
        while bits.len() % 8 != 0 {
            bits.push(true);
        }
        bits.chunks(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | u8::from(*bit))).collect()
    }

    fn decoded(input: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(input, &mut out).map(|()| out)
    }

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        let example = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&example).unwrap(), b"www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), b"no-cache");
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        assert_eq!(decoded(&[0x1f]).unwrap(), b"a");
        assert_eq!(decoded(&[0x18]), None);
        assert_eq!(decoded(&[0x1f, 0xff]), None);
        assert_eq!(decoded(&[0xff; 4]), None);
        assert_eq!(decoded(&[0xff; 40]), None);
    }

    proptest! {
        #[test]
        fn every_text_is_read_back(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(decoded(&encode(&text)).unwrap(), text);
        }

        #[test]
        fn no_input_is_too_strange(input in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(text) = decoded(&input) {
                prop_assert_eq!(encode(&text), input);
            }
        }
    }
}
