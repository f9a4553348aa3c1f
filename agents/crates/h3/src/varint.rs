//! Variable-length integers (RFC 9000, 16).

/// Largest value (62 bits).
pub const VARINT_MAX: u64 = (1 << 62) - 1;

/// Reads the integer at the start of `input`; returns it and its length, or `None` if more has to come.
pub fn read_varint(input: &[u8]) -> Option<(u64, usize)> {
    let first = *input.first()?;
    let length = 1 << (first >> 6);
    let bytes = input.get(1..length)?;
    Some((bytes.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)), length))
}

/// Appends `value`, which is at most `VARINT_MAX`; a larger one loses its upper bits.
pub fn write_varint(value: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; 8];
    let size = put_varint(value, &mut bytes);
    out.extend_from_slice(&bytes[..size]);
}

/// Writes `value` at the start of `out`, which has room for eight bytes; returns its length.
pub(crate) fn put_varint(value: u64, out: &mut [u8]) -> usize {
    let size = varint_size(value);
    let bytes = (value & VARINT_MAX).to_be_bytes();
    out[..size].copy_from_slice(&bytes[8 - size..]);
    out[0] |= (size.trailing_zeros() as u8) << 6;
    size
}

/// Returns the encoded length of `value`.
pub fn varint_size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(read_varint(bytes), Some((value, bytes.len())));
            assert_eq!(read_varint(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for value in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, VARINT_MAX] {
            let mut out = Vec::new();
            write_varint(value, &mut out);
            assert_eq!(out.len(), varint_size(value));
            assert_eq!(read_varint(&out), Some((value, out.len())));
        }
    }
}
