//! Strict decoder and encoder of the chunked coding (RFC 9112, 7.1): CRLF and hexadecimal only, with limits on
//! everything except data.

use fairlead_route::trailer_forwards;

use crate::limits::HEADERS_MAX;

/// Maximum size of all chunk extensions in one body: they cost parsing time and carry no data.
const EXTENSION_BYTES_MAX: usize = 4096;
const TRAILER_BYTES_MAX: usize = 8192;

/// Violation of the chunked coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunked body is not valid")]
pub(crate) struct ChunkError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    /// Before or within the size; counts its digits.
    Size(u32),
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    Trailers,
    Done,
}

/// Decodes one chunked body from pieces of any size.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: ChunkState,
    remaining: u64,
    extension_bytes: usize,
    trailers: Vec<u8>,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { state: ChunkState::Size(0), remaining: 0, extension_bytes: 0, trailers: Vec::new() }
    }

    /// Consumes a part of `input`; tells how much, which part of it is data, and whether the body has ended.
    /// At most one run of data a call, so that nothing is copied.
    pub(crate) fn decode<'a>(&mut self, input: &'a [u8]) -> Result<(usize, &'a [u8], bool), ChunkError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.state {
                ChunkState::Data => {
                    let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(input.len() - at);
                    self.remaining -= length as u64;
                    if self.remaining == 0 {
                        self.state = ChunkState::DataCr;
                    }
                    return Ok((at + length, &input[at..at + length], false));
                }
                ChunkState::Size(digits) => self.size(byte, digits)?,
                ChunkState::Extension => {
                    self.extension_bytes += 1;
                    match byte {
                        b'\r' => self.state = ChunkState::SizeEnd,
                        b'\n' | 0 => return Err(ChunkError),
                        _ if self.extension_bytes > EXTENSION_BYTES_MAX => return Err(ChunkError),
                        _ => {}
                    }
                }
                ChunkState::SizeEnd if byte == b'\n' => {
                    self.state = if self.remaining == 0 { ChunkState::Trailers } else { ChunkState::Data };
                }
                ChunkState::DataCr if byte == b'\r' => self.state = ChunkState::DataLf,
                ChunkState::DataLf if byte == b'\n' => self.state = ChunkState::Size(0),
                ChunkState::Trailers => self.trailer(byte)?,
                ChunkState::Done => break,
                ChunkState::SizeEnd | ChunkState::DataCr | ChunkState::DataLf => return Err(ChunkError),
            }
            at += 1;
        }
        Ok((at, &[], self.state == ChunkState::Done))
    }

    fn size(&mut self, byte: u8, digits: u32) -> Result<(), ChunkError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\r' if digits > 0 => {
                self.state = ChunkState::SizeEnd;
                return Ok(());
            }
            b';' if digits > 0 => {
                self.state = ChunkState::Extension;
                return Ok(());
            }
            _ => return Err(ChunkError),
        };
        // 15 digits are a petabyte and can't overflow.
        if digits >= 15 {
            return Err(ChunkError);
        }
        self.remaining = if digits == 0 { u64::from(digit) } else { self.remaining * 16 + u64::from(digit) };
        self.state = ChunkState::Size(digits + 1);
        Ok(())
    }

    fn trailer(&mut self, byte: u8) -> Result<(), ChunkError> {
        self.trailers.push(byte);
        if self.trailers == b"\r\n" || self.trailers.ends_with(b"\r\n\r\n") {
            self.state = ChunkState::Done;
            return Ok(());
        }
        if self.trailers.len() > TRAILER_BYTES_MAX { Err(ChunkError) } else { Ok(()) }
    }

    /// The trailer lines that may be sent on, each with its CRLF; empty when there are none. Call it after the end.
    pub(crate) fn forwardable_trailers(&self) -> Result<Vec<u8>, ChunkError> {
        let mut lines = Vec::new();
        if self.trailers.len() <= 2 {
            return Ok(lines);
        }
        if !super::head::lines_are_strict(&self.trailers) {
            return Err(ChunkError);
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let Ok(httparse::Status::Complete((_, headers))) = httparse::parse_headers(&self.trailers, &mut headers) else {
            return Err(ChunkError);
        };
        for header in headers.iter().filter(|header| trailer_forwards(header.name.as_bytes())) {
            for part in [header.name.as_bytes(), b": ", header.value, b"\r\n"] {
                lines.extend_from_slice(part);
            }
        }
        Ok(lines)
    }
}

/// Appends one chunk; nothing for no data, because an empty chunk would be the last.
pub(crate) fn encode_chunk(data: &[u8], out: &mut Vec<u8>) {
    if data.is_empty() {
        return;
    }
    let mut digits = [0; 16];
    let mut start = digits.len();
    let mut rest = data.len();
    while rest > 0 {
        start -= 1;
        digits[start] = b"0123456789abcdef"[rest % 16];
        rest /= 16;
    }
    for part in [&digits[start..], b"\r\n", data, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Appends the last chunk with its trailer lines.
pub(crate) fn encode_end(trailers: &[u8], out: &mut Vec<u8>) {
    for part in [b"0\r\n", trailers, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes in pieces of `step` bytes: data, bytes consumed, trailers.
    fn decode(input: &[u8], step: usize) -> Result<(Vec<u8>, usize, Vec<u8>), ChunkError> {
        let (mut chunked, mut data, mut consumed) = (Chunked::new(), Vec::new(), 0);
        let mut end = step.min(input.len());
        loop {
            let (used, piece, done) = chunked.decode(&input[consumed..end])?;
            data.extend_from_slice(piece);
            consumed += used;
            if done {
                return Ok((data, consumed, chunked.forwardable_trailers()?));
            }
            if consumed == end {
                assert!(end < input.len(), "the body never ends");
                end = (end + step).min(input.len());
            }
        }
    }

    #[test]
    fn whatever_the_pieces_the_data_is_the_same() {
        let input = b"5\r\nhello\r\n6;a=\"b\"\r\n world\r\n000\r\nExpires: 0\r\nContent-Length: 3\r\n\r\nNEXT";
        for step in 1..=input.len() {
            let (data, consumed, trailers) = decode(input, step).unwrap();
            assert_eq!(data, b"hello world");
            assert_eq!(&input[consumed..], b"NEXT");
            assert_eq!(trailers, b"Expires: 0\r\n");
        }
    }

    #[test]
    fn what_other_parsers_may_read_differently_is_refused() {
        let long_extension = format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(EXTENSION_BYTES_MAX + 1));
        for input in [
            "\r\n",
            ";\r\n",
            " 5\r\nhello\r\n",
            "+5\r\nhello\r\n",
            "0x5\r\nhello\r\n",
            "5 \r\nhello\r\n",
            "5\nhello\r\n",
            "5\r\nhelloX\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "g\r\n",
            "1000000000000000\r\n",
            "5;a\nb\r\nhello\r\n",
            "5\rhello\r\n",
            "0\r\nbad line\r\n\r\n",
            "0\r\nA: b\n\r\n\r\n",
            "0\r\n A: b\r\n\r\n",
            &long_extension,
        ] {
            let mut padded = input.as_bytes().to_vec();
            // An end for those that must fail before it.
            padded.extend_from_slice(b"0\r\n\r\n\r\n\r\n");
            assert!(decode(&padded, usize::MAX).is_err(), "{input:?}");
        }
    }

    #[test]
    fn encoded_chunks_decode_to_what_they_were() {
        let mut out = Vec::new();
        encode_chunk(&[7; 300], &mut out);
        encode_chunk(b"", &mut out);
        encode_chunk(b"x", &mut out);
        encode_end(b"a: b\r\n", &mut out);
        let (data, consumed, trailers) = decode(&out, 7).unwrap();
        assert_eq!((data.len(), consumed, trailers.as_slice()), (301, out.len(), &b"a: b\r\n"[..]));
    }
}
