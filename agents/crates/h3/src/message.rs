//! A request stream: HEADERS, DATA, trailing HEADERS, and whatever else may lie between (RFC 9114, 4.1).

use crate::error::{Code, Fault};
use crate::frame::{self, CANCEL_PUSH, DATA, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, SETTINGS};

/// What was found at the start of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The block of fields that a message begins with.
    Head(&'a [u8]),
    /// Some of its content.
    Data(&'a [u8]),
    /// The block of fields that it ends with.
    Trailers(&'a [u8]),
    /// Nothing yet: more of the stream has to come.
    More,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Content,
    /// Trailers have been read.
    End,
}

/// Reads one message. The caller keeps what was not consumed.
#[derive(Debug, Clone)]
pub struct MessageReader {
    part: Part,
    /// Bytes left of the DATA frame that is being read.
    data_left: u64,
    /// Bytes left of a frame that nobody knows.
    skip_left: u64,
    block_bytes_max: usize,
}

impl MessageReader {
    /// A reader at the beginning of a stream; blocks of fields longer than `block_bytes_max` are refused.
    pub fn new(block_bytes_max: usize) -> Self {
        Self { part: Part::Head, data_left: 0, skip_left: 0, block_bytes_max }
    }

    /// Reads on at the start of `input`; tells how much of it is done with.
    pub fn advance<'a>(&mut self, input: &'a [u8]) -> Result<(Event<'a>, usize), Fault> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.skip_left > 0 {
                let skipped = self.skip_left.min(rest.len() as u64);
                self.skip_left -= skipped;
                at += skipped as usize;
                if self.skip_left > 0 {
                    return Ok((Event::More, at));
                }
                continue;
            }
            if self.data_left > 0 {
                let length = self.data_left.min(rest.len() as u64);
                if length == 0 {
                    return Ok((Event::More, at));
                }
                self.data_left -= length;
                let length = length as usize;
                return Ok((Event::Data(&rest[..length]), at + length));
            }
            let Some((kind, length, header)) = frame::read_header(rest) else { return Ok((Event::More, at)) };
            match (kind, self.part) {
                (HEADERS, Part::Head | Part::Content) => {
                    let fits = usize::try_from(length).ok().filter(|length| *length <= self.block_bytes_max);
                    let length = fits.ok_or(Fault::HeadTooLarge)?;
                    let Some(block) = rest.get(header..header + length) else { return Ok((Event::More, at)) };
                    at += header + length;
                    if self.part == Part::Head {
                        self.part = Part::Content;
                        return Ok((Event::Head(block), at));
                    }
                    self.part = Part::End;
                    return Ok((Event::Trailers(block), at));
                }
                (DATA, Part::Content) => self.data_left = length,
                (HEADERS | DATA | CANCEL_PUSH | SETTINGS | PUSH_PROMISE | GOAWAY | MAX_PUSH_ID, _) => {
                    return Err(Fault::Connection(Code::FrameUnexpected));
                }
                (kind, _) if frame::is_of_http2(kind) => return Err(Fault::Connection(Code::FrameUnexpected)),
                _ => self.skip_left = length,
            }
            at += header;
        }
    }

    /// Bytes of content in `input`, which is all that comes.
    pub fn content_bytes(&self, mut input: &[u8]) -> Result<u64, Fault> {
        let (mut reader, mut bytes) = (self.clone(), 0);
        loop {
            let (event, consumed) = reader.advance(input)?;
            let is_last = event == Event::More;
            if let Event::Data(data) = event {
                bytes += data.len() as u64;
            }
            input = &input[consumed..];
            if is_last {
                return reader.end(input.len()).map(|()| bytes);
            }
        }
    }

    /// Judges the end of the stream; `unread` is what the last `advance` left.
    pub fn end(&self, unread: usize) -> Result<(), Fault> {
        if unread > 0 || self.data_left > 0 || self.skip_left > 0 {
            // Whatever a frame said that it is, it is not whole (RFC 9114, 7.1).
            return Err(Fault::Connection(Code::Frame));
        }
        if self.part == Part::Head { Err(Fault::Stream(Code::RequestIncomplete)) } else { Ok(()) }
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
                    Event::More => {
                        buffer.drain(..consumed);
                        break;
                    }
                    Event::Head(block) => found.push(format!("head {}", block.len())),
                    Event::Trailers(block) => found.push(format!("trailers {}", block.len())),
                    Event::Data(data) => match found.last_mut().filter(|last| last.starts_with("data ")) {
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
        assert_eq!(MessageReader::new(100).content_bytes(&stream[..14]), Err(Fault::Connection(Code::Frame)));
    }

    #[test]
    fn frames_in_the_wrong_place_and_cut_ones_end_the_connection() {
        let unexpected = Err(Fault::Connection(Code::FrameUnexpected));
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
            assert_eq!(events(stream, stream.len()), Err(Fault::Connection(Code::Frame)), "{stream:?}");
        }
        assert_eq!(events(b"\x21\x00", 1), Err(Fault::Stream(Code::RequestIncomplete)));
        assert_eq!(events(b"\x01\x40\xff", 3), Err(Fault::HeadTooLarge));
    }
}
