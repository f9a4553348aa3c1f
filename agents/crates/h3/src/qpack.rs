//! QPACK decoder and encoder without a dynamic table (RFC 9204).

use crate::error::{ErrorCode, Fault};
use crate::huffman;
use crate::static_table::STATIC_TABLE;

/// Fields of one field section; its memory is reused for the next.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Ends of each name and value; a name begins at the end of the previous value.
    ends: Vec<(u32, u32)>,
}

impl Fields {
    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns (name, value) of the fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let field = (&self.bytes[start..*name_end as usize], &self.bytes[*name_end as usize..*end as usize]);
            start = *end as usize;
            field
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Decodes a whole field section into `fields`, replacing their content. `size_max` limits it as RFC 9114, 4.2.2
/// counts: each field with 32 bytes more than its name and value.
pub fn decode(block: &[u8], size_max: usize, fields: &mut Fields) -> Result<(), Fault> {
    fields.clear();
    let failed = || Fault::Connection(ErrorCode::QpackDecompressionFailed);
    let mut input = Input(block);
    // A table without capacity has no entries to require, so the base is zero.
    if input.integer(8).ok_or_else(failed)? != 0 || input.first().ok_or_else(failed)? & 0x80 != 0 {
        return Err(failed());
    }
    input.integer(7).ok_or_else(failed)?;
    while let Some(first) = input.first() {
        line(&mut input, first, fields).ok_or_else(failed)?;
        if fields.bytes.len() + 32 * fields.ends.len() > size_max {
            return Err(Fault::HeadTooLarge);
        }
    }
    Ok(())
}

/// Decodes one field; `None` if it refers to a dynamic table or is incomplete.
fn line(input: &mut Input<'_>, first: u8, fields: &mut Fields) -> Option<()> {
    let out = &mut fields.bytes;
    let name_end = match first {
        // 1T: indexed name and value.
        0x80.. => {
            let (name, value) = input.entry(6, first & 0x40)?;
            out.extend_from_slice(name);
            let name_end = out.len();
            out.extend_from_slice(value);
            name_end
        }
        // 01NT: indexed name.
        0x40..0x80 => {
            let (name, _) = input.entry(4, first & 0x10)?;
            out.extend_from_slice(name);
            let name_end = out.len();
            input.string(7, out)?;
            name_end
        }
        // 001N: literal name and value.
        0x20..0x40 => {
            input.string(3, out)?;
            let name_end = out.len();
            input.string(7, out)?;
            name_end
        }
        // All others refer to a dynamic table by a base.
        _ => return None,
    };
    fields.ends.push((u32::try_from(name_end).ok()?, u32::try_from(out.len()).ok()?));
    Some(())
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn first(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Decodes an integer with `prefix` bits in its first byte (RFC 7541, 5.1); refuses more than 32 bits.
    fn integer(&mut self, prefix: u32) -> Option<usize> {
        let full = (1u64 << prefix) - 1;
        let mut value = u64::from(self.first()?) & full;
        let mut length = 1;
        if value == full {
            let mut shift = 0;
            loop {
                let byte = *self.0.get(length)?;
                length += 1;
                value += u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
                if shift > 28 {
                    return None;
                }
            }
        }
        self.0 = &self.0[length..];
        usize::try_from(u32::try_from(value).ok()?).ok()
    }

    fn entry(&mut self, prefix: u32, is_static: u8) -> Option<(&'static [u8], &'static [u8])> {
        if is_static == 0 {
            return None;
        }
        STATIC_TABLE.get(self.integer(prefix)?).copied()
    }

    /// Decodes a string with `prefix` bits of its length in its first byte, below the Huffman flag.
    fn string(&mut self, prefix: u32, out: &mut Vec<u8>) -> Option<()> {
        let coded = u32::from(self.first()?) >> prefix & 1 == 1;
        let length = self.integer(prefix)?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        if coded {
            return huffman::decode(text, out);
        }
        out.extend_from_slice(text);
        Some(())
    }
}

/// Appends the prefix of our field sections, which refer to no dynamic table.
pub fn encode_prefix(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends `:status` as a field.
pub fn encode_status(status: u16, out: &mut Vec<u8>) {
    let index: u8 = match status {
        103 => 24,
        200 => 25,
        304 => 26,
        404 => 27,
        503 => 28,
        100 => 63,
        204 => 64,
        206 => 65,
        302 => 66,
        400 => 67,
        403 => 68,
        421 => 69,
        425 => 70,
        500 => 71,
        _ => {
            let digits =
                [b'0' + (status / 100 % 10) as u8, b'0' + (status / 10 % 10) as u8, b'0' + (status % 10) as u8];
            integer(0x50, 4, 24, out);
            return string(0, 7, &digits, out);
        }
    };
    integer(0xc0, 6, usize::from(index), out);
}

/// Response header names in the static table, by the index of one of their entries.
const NAMES: [(&[u8], u8); 22] = [
    (b"content-type", 53),
    (b"content-length", 4),
    (b"date", 6),
    (b"server", 92),
    (b"cache-control", 39),
    (b"etag", 7),
    (b"last-modified", 10),
    (b"vary", 59),
    (b"set-cookie", 14),
    (b"location", 12),
    (b"content-encoding", 43),
    (b"accept-ranges", 32),
    (b"link", 11),
    (b"age", 2),
    (b"alt-svc", 83),
    (b"strict-transport-security", 56),
    (b"access-control-allow-origin", 35),
    (b"x-content-type-options", 61),
    (b"x-frame-options", 97),
    (b"content-security-policy", 85),
    (b"content-disposition", 3),
    (b"timing-allow-origin", 93),
];

/// Appends a field; its name is sent in lower case.
pub fn encode_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
        Some((_, index)) => integer(0x50, 4, usize::from(*index), out),
        None => {
            let start = out.len();
            string(0x20, 3, name, out);
            let text = out.len() - name.len();
            debug_assert!(text > start);
            out[text..].make_ascii_lowercase();
        }
    }
    string(0, 7, value, out);
}

fn integer(pattern: u8, prefix: u32, value: usize, out: &mut Vec<u8>) {
    let full = (1usize << prefix) - 1;
    if value < full {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | full as u8);
    let mut rest = value - full;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Never Huffman-coded: it would save a fifth of some bytes that fit the packet anyway.
fn string(pattern: u8, prefix: u32, text: &[u8], out: &mut Vec<u8>) {
    integer(pattern, prefix, text.len(), out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(block: &[u8]) -> Result<Vec<(String, String)>, Fault> {
        let mut fields = Fields::default();
        decode(block, 1000, &mut fields)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ok(fields.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    #[test]
    fn the_example_of_the_rfc_is_read() {
        // Example of RFC 9204, B.1.
        let block = b"\x00\x00\x51\x0b/index.html";
        assert_eq!(read(block).unwrap(), [(":path".to_owned(), "/index.html".to_owned())]);
    }

    #[test]
    fn every_kind_of_line_is_read() {
        let block = b"\x00\x00\xd1\xd7\x50\x05a.com\x23abc\x03def\x2f\x01\x25\xaf\xff\x00";
        // The last one ends within its name.
        assert_eq!(read(block), Err(Fault::Connection(ErrorCode::QpackDecompressionFailed)));
        let fields = read(b"\x00\x00\xd1\xd7\x50\x05a.com\x23abc\x03def\x29\x1f\x81\x1f").unwrap();
        let expected = [(":method", "GET"), (":scheme", "https"), (":authority", "a.com"), ("abc", "def"), ("a", "a")];
        assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_needs_a_table_or_is_cut_fails_the_connection() {
        for block in [
            &b""[..],
            b"\x00",
            b"\x01\x00",             // one insert is required
            b"\x00\x80",             // a base below nothing
            b"\x00\x00\x80",         // the dynamic table's first
            b"\x00\x00\x40\x00",     // its name
            b"\x00\x00\x10",         // counted from the base
            b"\x00\x00\x00\x00",     // and its name
            b"\x00\x00\xff\x24",     // the static table's 100th
            b"\x00\x00\x51\x05/ab",  // a value that is cut
            b"\x00\x00\x51\x81\x18", // Huffman padded with zeros
            b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\x00",
        ] {
            assert_eq!(read(block), Err(Fault::Connection(ErrorCode::QpackDecompressionFailed)), "{block:?}");
        }
        let mut long = b"\x00\x00".to_vec();
        encode_field(b"x", &[b'y'; 999], &mut long);
        assert_eq!(read(&long), Err(Fault::HeadTooLarge));
        assert_eq!(read(&[&b"\x00\x00"[..], &[0xd1; 30]].concat()), Err(Fault::HeadTooLarge));
    }

    #[test]
    fn every_status_and_known_name_is_what_it_says() {
        for status in 100..600 {
            let mut block = vec![0, 0];
            encode_status(status, &mut block);
            assert_eq!(read(&block).unwrap(), [(":status".to_owned(), status.to_string())]);
        }
        for (name, index) in NAMES {
            assert_eq!(STATIC_TABLE[usize::from(index)].0, name);
        }
    }

    proptest! {
        #[test]
        fn fields_are_read_back_in_lower_case(fields in proptest::collection::vec(("[A-Za-z-]{1,40}", "[ -~]{0,200}"), 0..3)) {
            let mut block = Vec::new();
            encode_prefix(&mut block);
            fields.iter().for_each(|(name, value)| encode_field(name.as_bytes(), value.as_bytes(), &mut block));
            let expected: Vec<_> = fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
            prop_assert_eq!(read(&block).unwrap(), expected);
        }

        #[test]
        fn no_block_is_too_strange(block in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut fields = Fields::default();
            if decode(&block, 1000, &mut fields).is_ok() {
                prop_assert_eq!(fields.iter().count(), fields.len());
            }
        }
    }
}
