//! Minimal HTTP/1.1 response parser of the load generator: status, end of the body and its length.

use std::mem::MaybeUninit;

use crate::failure::{FailureKind, of_status};
use crate::grpc::GrpcOutcome;

const HEADERS_MAX: usize = 64;

/// Result of parsing a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParseProgress {
    /// Number of parsed bytes at the buffer's front.
    pub(crate) consumed: usize,
    /// Response, once it is complete.
    pub(crate) response: Option<Response>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    /// True if the server closes the connection after it.
    pub(crate) closes: bool,
    /// Outcome of a gRPC call; `None` for other requests and for HTTP statuses other than 2xx.
    pub(crate) grpc: Option<GrpcOutcome>,
}

impl Response {
    /// Returns a response without a gRPC outcome, on a connection that stays open.
    pub(crate) fn new(status: u16, body_bytes: u64) -> Self {
        Self { status, body_bytes, closes: false, grpc: None }
    }

    /// Returns the failure that the response means, with a sentence; `None` for a success.
    pub(crate) fn failure(&self) -> Option<(FailureKind, String)> {
        match self.grpc {
            Some(outcome) => outcome.failure(),
            None => of_status(self.status).map(|kind| (kind, format!("it answered {}", self.status))),
        }
    }
}

/// Bytes that are no HTTP/1.1 response.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not HTTP/1.1: {0}")]
pub(crate) struct MalformedResponse(&'static str);

#[derive(Debug, Clone, Copy)]
enum ParserState {
    Head,
    /// Body bytes to come.
    Sized(u64),
    ChunkSize,
    /// Chunk bytes to come.
    Chunk(u64),
    ChunkEnd,
    Trailers,
    UntilClose,
}

/// Parser of consecutive responses.
#[derive(Debug)]
pub(crate) struct ResponseParser {
    state: ParserState,
    response: Response,
    /// True for responses to HEAD, which have no body.
    is_head: bool,
}

impl ResponseParser {
    pub(crate) fn new() -> Self {
        Self { state: ParserState::Head, response: Response::new(0, 0), is_head: false }
    }

    /// Prepares for the response to the next request.
    pub(crate) fn expect(&mut self, is_head: bool) {
        self.is_head = is_head;
    }

    /// Continues parsing. If `response` is `None`, it needs more bytes after the unconsumed ones.
    pub(crate) fn advance(&mut self, buffer: &[u8]) -> Result<ParseProgress, MalformedResponse> {
        let mut at = 0;
        loop {
            let rest = &buffer[at..];
            let step = match self.state {
                ParserState::Head => self.head(rest)?,
                ParserState::Sized(0) => {
                    self.state = ParserState::Head;
                    return Ok(ParseProgress { consumed: at, response: Some(self.response) });
                }
                ParserState::Sized(left) => self.body(rest, left, ParserState::Sized),
                ParserState::ChunkSize => self.chunk_size(rest)?,
                ParserState::Chunk(0) => {
                    self.state = ParserState::ChunkEnd;
                    continue;
                }
                ParserState::ChunkEnd => self.chunk_end(rest)?,
                ParserState::Chunk(left) => self.body(rest, left, ParserState::Chunk),
                ParserState::Trailers => self.trailer(rest),
                ParserState::UntilClose => {
                    self.response.body_bytes += rest.len() as u64;
                    return Ok(ParseProgress { consumed: buffer.len(), response: None });
                }
            };
            match step {
                0 => return Ok(ParseProgress { consumed: at, response: None }),
                read => at += read,
            }
        }
    }

    /// Handles the end of the connection. Returns the response if its body ends with the connection.
    pub(crate) fn close(&self) -> Option<Response> {
        matches!(self.state, ParserState::UntilClose).then_some(self.response)
    }

    fn head(&mut self, input: &[u8]) -> Result<usize, MalformedResponse> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let length = match config.parse_response_with_uninit_headers(&mut parsed, input, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(0),
            Err(_) => return Err(MalformedResponse("its head can't be parsed")),
        };
        let status = parsed.code.unwrap_or_default();
        if (100..200).contains(&status) {
            return Ok(length);
        }
        self.response = Response::new(status, 0);
        self.state = ParserState::UntilClose;
        for header in parsed.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(header.value).ok().map(str::trim);
                let size = text
                    .and_then(|text| text.parse().ok())
                    .ok_or(MalformedResponse("its Content-Length is no number"))?;
                self.state = ParserState::Sized(size);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                self.state = ParserState::ChunkSize;
            } else if header.name.eq_ignore_ascii_case("connection") {
                self.response.closes = header.value.eq_ignore_ascii_case(b"close");
            }
        }
        if self.is_head || matches!(status, 204 | 304) {
            self.state = ParserState::Sized(0);
        }
        self.response.closes |= matches!(self.state, ParserState::UntilClose);
        Ok(length)
    }

    fn body(&mut self, input: &[u8], left: u64, state: fn(u64) -> ParserState) -> usize {
        let read = left.min(input.len() as u64);
        self.state = state(left - read);
        self.response.body_bytes += read;
        read as usize
    }

    fn chunk_size(&mut self, input: &[u8]) -> Result<usize, MalformedResponse> {
        match httparse::parse_chunk_size(input) {
            Ok(httparse::Status::Complete((length, 0))) => {
                self.state = ParserState::Trailers;
                Ok(length)
            }
            Ok(httparse::Status::Complete((length, size))) => {
                self.state = ParserState::Chunk(size);
                Ok(length)
            }
            Ok(httparse::Status::Partial) => Ok(0),
            Err(_) => Err(MalformedResponse("a chunk size can't be parsed")),
        }
    }

    fn chunk_end(&mut self, input: &[u8]) -> Result<usize, MalformedResponse> {
        match input {
            [b'\r', b'\n', ..] => {
                self.state = ParserState::ChunkSize;
                Ok(2)
            }
            [] | [b'\r'] => Ok(0),
            _ => Err(MalformedResponse("a chunk does not end where it said")),
        }
    }

    fn trailer(&mut self, input: &[u8]) -> usize {
        let Some(end) = input.windows(2).position(|pair| pair == b"\r\n") else { return 0 };
        if end == 0 {
            self.state = ParserState::Sized(0);
        }
        end + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in_pieces(input: &[u8], piece: usize) -> (Vec<Response>, ResponseParser) {
        let (mut reader, mut buffer, mut responses) = (ResponseParser::new(), Vec::new(), Vec::new());
        for part in input.chunks(piece) {
            buffer.extend_from_slice(part);
            loop {
                let progress = reader.advance(&buffer).unwrap();
                buffer.drain(..progress.consumed);
                match progress.response {
                    Some(response) => responses.push(response),
                    None => break,
                }
            }
        }
        (responses, reader)
    }

    #[test]
    fn every_framing_is_read_alike_however_the_bytes_arrive() {
        let stream = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\n3;x=y\r\nped\r\n0\r\nx-sum: 1\r\n\r\n\
            HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let whole = |status, body_bytes, closes| Response { closes, ..Response::new(status, body_bytes) };
        let expected = [whole(200, 5, false), whole(200, 7, false), whole(204, 0, false), whole(404, 0, true)];
        for piece in [1, 2, 3, 7, 64, stream.len()] {
            assert_eq!(read_in_pieces(stream, piece).0, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let (responses, reader) = read_in_pieces(b"HTTP/1.1 200 OK\r\n\r\nsome bytes", 4);
        assert_eq!(responses, []);
        assert_eq!(reader.close(), Some(Response { closes: true, ..Response::new(200, 10) }));
        assert_eq!(read_in_pieces(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 9).1.close(), None);
    }

    #[test]
    fn a_response_to_head_ends_with_its_head() {
        let mut reader = ResponseParser::new();
        reader.expect(true);
        let progress = reader.advance(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").unwrap();
        assert_eq!(progress.response, Some(Response::new(200, 0)));
    }

    #[test]
    fn invalid_bytes_differ_from_an_incomplete_head() {
        assert!(ResponseParser::new().advance(b"SSH-2.0-OpenSSH\r\n").is_err());
        assert_eq!(
            ResponseParser::new().advance(b"HTTP/1.1 20").unwrap(),
            ParseProgress { consumed: 0, response: None }
        );
    }
}
