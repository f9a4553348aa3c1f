//! Reader of a request stream: HEADERS, DATA, trailing HEADERS, and unknown frames in between (RFC 9114, 4.1).

use crate::error::{ErrorCode, Fault};
use crate::frame::{self, CANCEL_PUSH, DATA, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, SETTINGS};

/// Part of a message at the start of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum MessageEvent<'a> {
    /// Field section of the head.
    Head(&'a [u8]),
    /// Piece of the content.
    Data(&'a [u8]),
    /// Field section of the trailers.
    Trailers(&'a [u8]),
    /// Nothing yet: more of the stream has to come.
    More,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Content,
    /// State after the trailers: only unknown frames may follow.
    End,
}

/// Reader of one message. The caller keeps unconsumed bytes.
#[derive(Debug, Clone)]
pub struct MessageReader {
    part: Part,
    /// Remaining bytes of the current DATA frame.
    data_left: u64,
    /// Remaining bytes of an unknown frame.
    skip_left: u64,
    block_bytes_max: usize,
}

impl MessageReader {
    /// Creates a reader at the start of a stream; it refuses field sections longer than `block_bytes_max`.
    pub fn new(block_bytes_max: usize) -> Self {
        Self { part: Part::Head, data_left: 0, skip_left: 0, block_bytes_max }
    }

    /// Reads from the start of `input`; returns the number of consumed bytes.
    pub fn advance<'a>(&mut self, input: &'a [u8]) -> Result<(MessageEvent<'a>, usize), Fault> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.skip_left > 0 {
                let skipped = self.skip_left.min(rest.len() as u64);
                self.skip_left -= skipped;
                at += skipped as usize;
                if self.skip_left > 0 {
                    return Ok((MessageEvent::More, at));
                }
                continue;
            }
            if self.data_left > 0 {
                let length = self.data_left.min(rest.len() as u64);
                if length == 0 {
                    return Ok((MessageEvent::More, at));
                }
                self.data_left -= length;
                let length = length as usize;
                return Ok((MessageEvent::Data(&rest[..length]), at + length));
            }
            let Some((kind, length, header)) = frame::read_header(rest) else { return Ok((MessageEvent::More, at)) };
            match (kind, self.part) {
                (HEADERS, Part::Head | Part::Content) => {
                    let fits = usize::try_from(length).ok().filter(|length| *length <= self.block_bytes_max);
                    let length = fits.ok_or(Fault::HeadTooLarge)?;
                    let Some(block) = rest.get(header..header + length) else { return Ok((MessageEvent::More, at)) };
                    at += header + length;
                    if self.part == Part::Head {
                        self.part = Part::Content;
                        return Ok((MessageEvent::Head(block), at));
                    }
                    self.part = Part::End;
                    return Ok((MessageEvent::Trailers(block), at));
                }
                (DATA, Part::Content) => self.data_left = length,
                (HEADERS | DATA | CANCEL_PUSH | SETTINGS | PUSH_PROMISE | GOAWAY | MAX_PUSH_ID, _) => {
                    return Err(Fault::Connection(ErrorCode::FrameUnexpected));
                }
                (kind, _) if frame::is_of_http2(kind) => return Err(Fault::Connection(ErrorCode::FrameUnexpected)),
                _ => self.skip_left = length,
            }
            at += header;
        }
    }

    /// Returns the number of content bytes in `input`, which is the rest of the stream.
    pub fn content_bytes(&self, mut input: &[u8]) -> Result<u64, Fault> {
        let (mut reader, mut bytes) = (self.clone(), 0);
        loop {
            let (event, consumed) = reader.advance(input)?;
            let is_last = event == MessageEvent::More;
            if let MessageEvent::Data(data) = event {
                bytes += data.len() as u64;
            }
            input = &input[consumed..];
            if is_last {
                return reader.end(input.len()).map(|()| bytes);
            }
        }
    }

    /// Checks the end of the stream; `unread` is what the last `advance` left.
    pub fn end(&self, unread: usize) -> Result<(), Fault> {
        if unread > 0 || self.data_left > 0 || self.skip_left > 0 {
            // The frame is incomplete, whatever its type (RFC 9114, 7.1).
            return Err(Fault::Connection(ErrorCode::Frame));
        }
        if self.part == Part::Head { Err(Fault::Stream(ErrorCode::RequestIncomplete)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(input: &[u8], piece: usize) -> Result<Vec<String>, Fault> {
        let (mut reader, mut buffer, mut found) = (MessageReader::new(100), Vec::new(), Vec::new());
        for part in input.chunks(piece) {
            buffer.extend_from_slice(part);
            loop {
                let (event, consumed) = reader.advance(&buffer)?;
                match event {
                    MessageEvent::More => {
                        buffer.drain(..consumed);
                        break;
                    }
                    MessageEvent::Head(block) => found.push(format!("head {}", block.len())),
                    MessageEvent::Trailers(block) => found.push(format!("trailers {}", block.len())),
                    MessageEvent::Data(data) => match found.last_mut().filter(|last| last.starts_with("data ")) {
                        Some(last) => last.push_str(std::str::from_utf8(data).unwrap()),
                        None => found.push(format!("data {}", std::str::from_utf8(data).unwrap())),
                    },
                }
                buffer.drain(..consumed);
            }
        }
        reader.end(buffer.len())?;
        Ok(found)
    }

    #[test]
    fn a_message_is_read_alike_however_its_bytes_arrive() {
        // A reserved frame first, an empty DATA frame, another unknown one between.
        let stream = b"\x21\x02zz\x01\x03abc\x00\x00\x00\x02he\x40\x5f\x01z\x00\x03llo\x01\x02tt\x21\x00";
        for piece in 1..=stream.len() {
            assert_eq!(events(stream, piece).unwrap(), ["head 3", "data hello", "trailers 2"], "pieces of {piece}");
        }
        assert_eq!(MessageReader::new(100).content_bytes(stream), Ok(5));
        assert_eq!(MessageReader::new(100).content_bytes(&stream[..14]), Err(Fault::Connection(ErrorCode::Frame)));
    }

    #[test]
    fn frames_in_the_wrong_place_and_cut_ones_end_the_connection() {
        let unexpected = Err(Fault::Connection(ErrorCode::FrameUnexpected));
        for stream in [
            &b"\x00\x01x"[..],              // content before the head
            b"\x01\x01h\x01\x01t\x00\x01x", // content after the trailers
            b"\x01\x01h\x01\x01t\x01\x01x", // a third block
            b"\x01\x01h\x04\x00",           // settings
            b"\x01\x01h\x07\x01\x00",
            b"\x01\x01h\x0d\x01\x00",
            b"\x01\x01h\x03\x01\x00",
            b"\x01\x01h\x05\x01\x00",
            b"\x01\x01h\x08\x01\x00", // HTTP/2's window update
        ] {
            assert_eq!(events(stream, stream.len()), unexpected, "{stream:?}");
        }
        for stream in [&b"\x01\x05h"[..], b"\x01\x01h\x00\x05x", b"\x01\x01h\x21\x05x", b"\x01\x01h\x00", b"\x40"] {
            assert_eq!(events(stream, stream.len()), Err(Fault::Connection(ErrorCode::Frame)), "{stream:?}");
        }
        assert_eq!(events(b"\x21\x00", 1), Err(Fault::Stream(ErrorCode::RequestIncomplete)));
        assert_eq!(events(b"\x01\x40\xff", 3), Err(Fault::HeadTooLarge));
    }
}
