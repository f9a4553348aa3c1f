//! Frame headers, and encoding of the frames that a server sends.

use crate::varint::{put_varint, read_varint, write_varint};

pub(crate) const DATA: u64 = 0x0;
pub(crate) const HEADERS: u64 = 0x1;
pub(crate) const CANCEL_PUSH: u64 = 0x3;
pub(crate) const SETTINGS: u64 = 0x4;
pub(crate) const PUSH_PROMISE: u64 = 0x5;
pub(crate) const GOAWAY: u64 = 0x7;
pub(crate) const MAX_PUSH_ID: u64 = 0xd;

pub(crate) const SETTING_QPACK_CAPACITY: u64 = 0x1;
pub(crate) const SETTING_FIELD_SECTION_SIZE: u64 = 0x6;
pub(crate) const SETTING_QPACK_BLOCKED: u64 = 0x7;
pub(crate) const SETTING_CONNECT_PROTOCOL: u64 = 0x8;

/// Longest header of a frame that we send: its type and its length.
pub const FRAME_HEADER_BYTES_MAX: usize = 9;

/// True for HTTP/2's frame types that HTTP/3 reserves: receiving one is an error (RFC 9114, 7.2.8).
pub(crate) fn is_of_http2(kind: u64) -> bool {
    matches!(kind, 0x2 | 0x6 | 0x8 | 0x9)
}

/// Returns type and length of the frame at the start of `input`, and the length of this header.
pub(crate) fn read_header(input: &[u8]) -> Option<(u64, u64, usize)> {
    let (kind, first) = read_varint(input)?;
    let (length, second) = read_varint(&input[first..])?;
    Some((kind, length, first + second))
}

/// Encodes the header of a DATA frame (`is_data`) or a HEADERS frame of `length` bytes in `buffer`.
pub fn header(is_data: bool, length: u64, buffer: &mut [u8; FRAME_HEADER_BYTES_MAX]) -> &[u8] {
    buffer[0] = if is_data { DATA } else { HEADERS } as u8;
    let size = put_varint(length, &mut buffer[1..]);
    &buffer[..1 + size]
}

/// Encodes the start of our control stream: its type and SETTINGS. `connect_protocol` offers extended CONNECT (RFC
/// 9220).
pub fn settings(field_section_size_max: u64, connect_protocol: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut setting = |id, value| {
        write_varint(id, &mut payload);
        write_varint(value, &mut payload);
    };
    setting(SETTING_QPACK_CAPACITY, 0);
    setting(SETTING_FIELD_SECTION_SIZE, field_section_size_max);
    setting(SETTING_QPACK_BLOCKED, 0);
    if connect_protocol {
        setting(SETTING_CONNECT_PROTOCOL, 1);
    }
    let mut out = vec![0];
    write_varint(SETTINGS, &mut out);
    write_varint(payload.len() as u64, &mut out);
    out.extend_from_slice(&payload);
    out
}

/// Encodes a GOAWAY: requests on streams from `first_refused` on were not and will not be processed.
pub fn goaway(first_refused: u64) -> Vec<u8> {
    let (mut out, mut id) = (Vec::new(), Vec::new());
    write_varint(first_refused, &mut id);
    write_varint(GOAWAY, &mut out);
    write_varint(id.len() as u64, &mut out);
    out.extend_from_slice(&id);
    out
}
