//! Reader of a client's unidirectional streams (RFC 9114, 6.2): the control stream and QPACK's two.

use crate::error::ErrorCode;
use crate::frame::{self, CANCEL_PUSH, DATA, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, SETTINGS};
use crate::varint::read_varint;

/// Maximum payload of a control frame: more than any client needs.
const PAYLOAD_BYTES_MAX: u64 = 4096;

/// Type of a unidirectional stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UniKind {
    /// Control stream: settings and messages about the whole connection.
    Control,
    /// Instructions of the client's QPACK encoder.
    QpackEncoder,
    /// Instructions of the client's QPACK decoder.
    QpackDecoder,
    /// Unknown type; its data is ignored.
    Unknown,
}

/// Reader of one unidirectional stream of a client.
#[derive(Debug, Default)]
pub struct UniReader {
    kind: Option<UniKind>,
    control: ControlReader,
    /// True within an integer of a decoder instruction.
    in_integer: bool,
}

impl UniReader {
    /// Returns the type of the stream, once its first bytes have arrived.
    pub fn kind(&self) -> Option<UniKind> {
        self.kind
    }

    /// Reads from the start of `input`; returns the number of consumed bytes. An error ends the connection.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, ErrorCode> {
        let mut at = 0;
        let kind = match self.kind {
            Some(kind) => kind,
            None => {
                let Some((number, length)) = read_varint(input) else { return Ok(0) };
                at = length;
                let kind = match number {
                    0 => UniKind::Control,
                    // Push stream: only servers push.
                    1 => return Err(ErrorCode::StreamCreation),
                    2 => UniKind::QpackEncoder,
                    3 => UniKind::QpackDecoder,
                    _ => UniKind::Unknown,
                };
                *self.kind.insert(kind)
            }
        };
        let rest = &input[at..];
        match kind {
            UniKind::Control => Ok(at + self.control.advance(rest)?),
            // Nothing fits a table without capacity: only setting that capacity to zero again is valid (RFC 9204,
            // 4.3.1).
            UniKind::QpackEncoder if rest.iter().all(|byte| *byte == 0x20) => Ok(input.len()),
            UniKind::QpackEncoder => Err(ErrorCode::QpackEncoderStream),
            UniKind::QpackDecoder => {
                rest.iter().try_for_each(|byte| self.decoder_byte(*byte))?;
                Ok(input.len())
            }
            UniKind::Unknown => Ok(input.len()),
        }
    }

    /// Our responses refer to no table, so the only valid decoder instruction is Stream Cancellation (RFC 9204, 4.4).
    fn decoder_byte(&mut self, byte: u8) -> Result<(), ErrorCode> {
        if self.in_integer {
            self.in_integer = byte & 0x80 != 0;
        } else if byte & 0xc0 == 0x40 {
            self.in_integer = byte & 0x3f == 0x3f;
        } else {
            return Err(ErrorCode::QpackDecoderStream);
        }
        Ok(())
    }
}

/// Reader of a client's control stream after its type.
#[derive(Debug, Default)]
pub struct ControlReader {
    settled: bool,
    skip_left: u64,
    /// Smallest push id of all GOAWAY frames.
    goaway: Option<u64>,
    max_push_id: Option<u64>,
}

impl ControlReader {
    /// Reads whole frames from the start of `input`; returns the number of consumed bytes.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, ErrorCode> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.skip_left > 0 {
                let skipped = self.skip_left.min(rest.len() as u64);
                self.skip_left -= skipped;
                at += skipped as usize;
                if self.skip_left > 0 {
                    return Ok(at);
                }
                continue;
            }
            let Some((kind, length, header)) = frame::read_header(rest) else { return Ok(at) };
            if !self.settled && kind != SETTINGS {
                return Err(ErrorCode::MissingSettings);
            }
            match kind {
                SETTINGS if self.settled => return Err(ErrorCode::FrameUnexpected),
                SETTINGS | GOAWAY | MAX_PUSH_ID | CANCEL_PUSH => {
                    if length > PAYLOAD_BYTES_MAX {
                        return Err(ErrorCode::ExcessiveLoad);
                    }
                    let Some(payload) = rest.get(header..header + length as usize) else { return Ok(at) };
                    self.frame(kind, payload)?;
                    at += header + payload.len();
                }
                DATA | HEADERS | PUSH_PROMISE => return Err(ErrorCode::FrameUnexpected),
                kind if frame::is_of_http2(kind) => return Err(ErrorCode::FrameUnexpected),
                _ => {
                    self.skip_left = length;
                    at += header;
                }
            }
        }
    }

    fn frame(&mut self, kind: u64, payload: &[u8]) -> Result<(), ErrorCode> {
        if kind == SETTINGS {
            self.settled = true;
            return check_settings(payload);
        }
        let id = match read_varint(payload) {
            Some((id, length)) if length == payload.len() => id,
            _ => return Err(ErrorCode::Frame),
        };
        match kind {
            GOAWAY if self.goaway.is_some_and(|before| id > before) => return Err(ErrorCode::Id),
            GOAWAY => self.goaway = Some(id),
            MAX_PUSH_ID if self.max_push_id.is_some_and(|before| id < before) => return Err(ErrorCode::Id),
            MAX_PUSH_ID => self.max_push_id = Some(id),
            // No push was promised, so there is none to cancel.
            _ => return Err(ErrorCode::Id),
        }
        Ok(())
    }
}

/// Validates settings. Their values only limit what we send, which is little, so they are not stored.
fn check_settings(mut payload: &[u8]) -> Result<(), ErrorCode> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (id, first) = read_varint(payload).ok_or(ErrorCode::Frame)?;
        let (_, second) = read_varint(&payload[first..]).ok_or(ErrorCode::Frame)?;
        payload = &payload[first + second..];
        // Settings of HTTP/2 that HTTP/3 reserves (RFC 9114, 7.2.4.1).
        if matches!(id, 0x0 | 0x2..=0x5) || seen.contains(&id) {
            return Err(ErrorCode::Settings);
        }
        seen.push(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], piece: usize) -> Result<Option<UniKind>, ErrorCode> {
        let (mut reader, mut buffer) = (UniReader::default(), Vec::new());
        for part in input.chunks(piece) {
            buffer.extend_from_slice(part);
            let consumed = reader.advance(&buffer)?;
            buffer.drain(..consumed);
        }
        Ok(reader.kind())
    }

    #[test]
    fn a_control_stream_is_read_alike_however_its_bytes_arrive() {
        // SETTINGS with a reserved id, a reserved frame, growing MAX_PUSH_ID, shrinking GOAWAY.
        let stream = b"\x00\x04\x06\x06\x44\x00\x21\x40\x7f\x21\x03abc\x0d\x01\x05\x0d\x01\x06\x07\x01\x04\x07\x01\x00";
        for piece in 1..=stream.len() {
            assert_eq!(read(stream, piece), Ok(Some(UniKind::Control)), "pieces of {piece}");
        }
    }

    #[test]
    fn each_fault_of_a_stream_has_its_code() {
        let cases: [(&[u8], ErrorCode); 17] = [
            (b"\x01", ErrorCode::StreamCreation),
            (b"\x00\x21\x00", ErrorCode::MissingSettings),
            (b"\x00\x04\x00\x04\x00", ErrorCode::FrameUnexpected),
            (b"\x00\x04\x00\x00\x00", ErrorCode::FrameUnexpected),
            (b"\x00\x04\x00\x01\x00", ErrorCode::FrameUnexpected),
            (b"\x00\x04\x00\x05\x00", ErrorCode::FrameUnexpected),
            (b"\x00\x04\x00\x06\x00", ErrorCode::FrameUnexpected),
            (b"\x00\x04\x04\x06\x00\x06\x00", ErrorCode::Settings),
            (b"\x00\x04\x02\x02\x00", ErrorCode::Settings),
            (b"\x00\x04\x01\x06", ErrorCode::Frame),
            (b"\x00\x04\x60\x00", ErrorCode::ExcessiveLoad),
            (b"\x00\x04\x00\x07\x02\x00\x00", ErrorCode::Frame),
            (b"\x00\x04\x00\x07\x01\x00\x07\x01\x01", ErrorCode::Id),
            (b"\x00\x04\x00\x0d\x01\x02\x0d\x01\x01", ErrorCode::Id),
            (b"\x00\x04\x00\x03\x01\x00", ErrorCode::Id),
            (b"\x02\x3f\x01", ErrorCode::QpackEncoderStream),
            (b"\x03\x80", ErrorCode::QpackDecoderStream),
        ];
        for (stream, code) in cases {
            assert_eq!(read(stream, stream.len()), Err(code), "{stream:?}");
        }
    }

    #[test]
    fn the_streams_of_qpack_say_what_they_may() {
        assert_eq!(read(b"\x02\x20\x20", 1), Ok(Some(UniKind::QpackEncoder)));
        assert_eq!(read(b"\x03\x44\x7f\x81\x00\x45", 1), Ok(Some(UniKind::QpackDecoder)));
        assert_eq!(read(b"\x03\x01", 1), Err(ErrorCode::QpackDecoderStream));
        assert_eq!(read(b"\x21anything", 2), Ok(Some(UniKind::Unknown)));
    }
}
