//! A client's unidirectional streams (RFC 9114, 6.2): its control stream, and QPACK's two.

use crate::error::Code;
use crate::frame::{self, CANCEL_PUSH, DATA, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, SETTINGS};
use crate::varint::read_varint;

/// More than any client has to say at once on a control stream.
const PAYLOAD_BYTES_MAX: u64 = 4096;

/// What a unidirectional stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UniKind {
    /// Settings and what concerns the whole connection.
    Control,
    /// Instructions of the client's QPACK encoder.
    QpackEncoder,
    /// Instructions of the client's QPACK decoder.
    QpackDecoder,
    /// A kind that nobody knows, which is not read.
    Unknown,
}

/// Reads one unidirectional stream of a client.
#[derive(Debug, Default)]
pub struct UniReader {
    kind: Option<UniKind>,
    control: ControlReader,
    /// Within an integer of a decoder instruction.
    in_integer: bool,
}

impl UniReader {
    /// What the stream is for, once its first bytes have told.
    pub fn kind(&self) -> Option<UniKind> {
        self.kind
    }

    /// Reads on at the start of `input`; tells how much of it is done with. An error ends the connection.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, Code> {
        let mut at = 0;
        let kind = match self.kind {
            Some(kind) => kind,
            None => {
                let Some((number, length)) = read_varint(input) else { return Ok(0) };
                at = length;
                let kind = match number {
                    0 => UniKind::Control,
                    // Only servers push.
                    1 => return Err(Code::StreamCreation),
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
            // Nothing fits a table without room; only saying so again is right (RFC 9204, 4.3.1).
            UniKind::QpackEncoder if rest.iter().all(|byte| *byte == 0x20) => Ok(input.len()),
            UniKind::QpackEncoder => Err(Code::QpackEncoderStream),
            UniKind::QpackDecoder => {
                rest.iter().try_for_each(|byte| self.decoder_byte(*byte))?;
                Ok(input.len())
            }
            UniKind::Unknown => Ok(input.len()),
        }
    }

    /// We refer to no table, so of a decoder's instructions only the cancelling of streams makes sense (RFC 9204, 4.4).
    fn decoder_byte(&mut self, byte: u8) -> Result<(), Code> {
        if self.in_integer {
            self.in_integer = byte & 0x80 != 0;
        } else if byte & 0xc0 == 0x40 {
            self.in_integer = byte & 0x3f == 0x3f;
        } else {
            return Err(Code::QpackDecoderStream);
        }
        Ok(())
    }
}

/// Reads a client's control stream after its type.
#[derive(Debug, Default)]
pub struct ControlReader {
    settled: bool,
    skip_left: u64,
    /// The smallest push id that a GOAWAY named.
    goaway: Option<u64>,
    max_push_id: Option<u64>,
}

impl ControlReader {
    /// Reads whole frames at the start of `input`; tells how much of it is done with.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, Code> {
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
                return Err(Code::MissingSettings);
            }
            match kind {
                SETTINGS if self.settled => return Err(Code::FrameUnexpected),
                SETTINGS | GOAWAY | MAX_PUSH_ID | CANCEL_PUSH => {
                    if length > PAYLOAD_BYTES_MAX {
                        return Err(Code::ExcessiveLoad);
                    }
                    let Some(payload) = rest.get(header..header + length as usize) else { return Ok(at) };
                    self.frame(kind, payload)?;
                    at += header + payload.len();
                }
                DATA | HEADERS | PUSH_PROMISE => return Err(Code::FrameUnexpected),
                kind if frame::is_of_http2(kind) => return Err(Code::FrameUnexpected),
                _ => {
                    self.skip_left = length;
                    at += header;
                }
            }
        }
    }

    fn frame(&mut self, kind: u64, payload: &[u8]) -> Result<(), Code> {
        if kind == SETTINGS {
            self.settled = true;
            return check_settings(payload);
        }
        let id = match read_varint(payload) {
            Some((id, length)) if length == payload.len() => id,
            _ => return Err(Code::Frame),
        };
        match kind {
            GOAWAY if self.goaway.is_some_and(|before| id > before) => return Err(Code::Id),
            GOAWAY => self.goaway = Some(id),
            MAX_PUSH_ID if self.max_push_id.is_some_and(|before| id < before) => return Err(Code::Id),
            MAX_PUSH_ID => self.max_push_id = Some(id),
            // Nothing was promised, so there is nothing to cancel.
            _ => return Err(Code::Id),
        }
        Ok(())
    }
}

/// What the settings say is about what we send, and we send little; they only have to be right.
fn check_settings(mut payload: &[u8]) -> Result<(), Code> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (id, first) = read_varint(payload).ok_or(Code::Frame)?;
        let (_, second) = read_varint(&payload[first..]).ok_or(Code::Frame)?;
        payload = &payload[first + second..];
        // Of HTTP/2, which HTTP/3 does without (RFC 9114, 7.2.4.1).
        if matches!(id, 0x0 | 0x2..=0x5) || seen.contains(&id) {
            return Err(Code::Settings);
        }
        seen.push(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], piece: usize) -> Result<Option<UniKind>, Code> {
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
        // SETTINGS with a reserved id, a reserved frame, MAX_PUSH_ID growing, GOAWAY shrinking.
        let stream = b"\x00\x04\x06\x06\x44\x00\x21\x40\x7f\x21\x03abc\x0d\x01\x05\x0d\x01\x06\x07\x01\x04\x07\x01\x00";
        for piece in 1..=stream.len() {
            assert_eq!(read(stream, piece), Ok(Some(UniKind::Control)), "pieces of {piece}");
        }
    }

    #[test]
    fn each_fault_of_a_stream_has_its_code() {
        let cases: [(&[u8], Code); 17] = [
            (b"\x01", Code::StreamCreation),
            (b"\x00\x21\x00", Code::MissingSettings),
            (b"\x00\x04\x00\x04\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x00\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x01\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x05\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x06\x00", Code::FrameUnexpected),
            (b"\x00\x04\x04\x06\x00\x06\x00", Code::Settings),
            (b"\x00\x04\x02\x02\x00", Code::Settings),
            (b"\x00\x04\x01\x06", Code::Frame),
            (b"\x00\x04\x60\x00", Code::ExcessiveLoad),
            (b"\x00\x04\x00\x07\x02\x00\x00", Code::Frame),
            (b"\x00\x04\x00\x07\x01\x00\x07\x01\x01", Code::Id),
            (b"\x00\x04\x00\x0d\x01\x02\x0d\x01\x01", Code::Id),
            (b"\x00\x04\x00\x03\x01\x00", Code::Id),
            (b"\x02\x3f\x01", Code::QpackEncoderStream),
            (b"\x03\x80", Code::QpackDecoderStream),
        ];
        for (stream, code) in cases {
            assert_eq!(read(stream, stream.len()), Err(code), "{stream:?}");
        }
    }

    #[test]
    fn the_streams_of_qpack_say_what_they_may() {
        assert_eq!(read(b"\x02\x20\x20", 1), Ok(Some(UniKind::QpackEncoder)));
        assert_eq!(read(b"\x03\x44\x7f\x81\x00\x45", 1), Ok(Some(UniKind::QpackDecoder)));
        assert_eq!(read(b"\x03\x01", 1), Err(Code::QpackDecoderStream));
        assert_eq!(read(b"\x21anything", 2), Ok(Some(UniKind::Unknown)));
    }
}
