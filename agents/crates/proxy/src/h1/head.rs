//! Parser for heads of requests and responses: httparse finds the fields, and this module rejects its lenient cases.

use std::mem::MaybeUninit;

use fairlead_route::{BadResponse, HttpVersion, Malformed, RequestLine, RequestTarget};
use httparse::{Header, ParserConfig, Request, Response, Status};

use crate::limits::{HEADERS_MAX, Limits};

/// Space for the fields of a head; on the stack of one parse.
pub(crate) type HeaderSlots<'b> = [MaybeUninit<Header<'b>>; HEADERS_MAX];

pub(crate) const fn header_slots<'b>() -> HeaderSlots<'b> {
    [const { MaybeUninit::uninit() }; HEADERS_MAX]
}

pub(crate) struct RequestHead<'h, 'b> {
    pub(crate) length: usize,
    pub(crate) line: RequestLine<'b>,
    pub(crate) headers: &'h [Header<'b>],
}

pub(crate) struct ResponseHead<'h, 'b> {
    pub(crate) length: usize,
    pub(crate) status: u16,
    pub(crate) reason: &'b [u8],
    pub(crate) is_http_1_1: bool,
    pub(crate) headers: &'h [Header<'b>],
}

/// Returns (name, value) pairs without whitespace around values.
pub(crate) fn fields<'h, 'b>(
    headers: &'h [Header<'b>],
) -> impl Iterator<Item = (&'b [u8], &'b [u8])> + Clone + use<'h, 'b> {
    headers.iter().map(|header| (header.name.as_bytes(), header.value.trim_ascii()))
}

/// Parses a request head at the start of `input`; returns `None` if it is incomplete.
pub(crate) fn parse_request<'h, 'b>(
    input: &'b [u8],
    slots: &'h mut HeaderSlots<'b>,
    limits: &Limits,
) -> Result<Option<RequestHead<'h, 'b>>, Malformed> {
    let mut request = Request::new(&mut []);
    let length = match ParserConfig::default().parse_request_with_uninit_headers(&mut request, input, slots) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return too_long(input, limits).map_or(Ok(None), Err),
        Err(httparse::Error::Version) => return Err(version_error(input)),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::Syntax),
    };
    if !lines_are_strict(&input[..length]) {
        return Err(Malformed::Syntax);
    }
    if let Some(error) = too_long(&input[..length], limits) {
        return Err(error);
    }
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version) else {
        return Err(Malformed::Syntax);
    };
    let line = RequestLine {
        method: method.as_bytes(),
        target: RequestTarget::parse(method.as_bytes(), path.as_bytes())?,
        version: if version == 0 { HttpVersion::Http10 } else { HttpVersion::Http11 },
        authority: None,
        unsized_body: false,
    };
    Ok(Some(RequestHead { length, line, headers: request.headers }))
}

/// A version that is only unknown, or a line with something else in its place.
fn version_error(input: &[u8]) -> Malformed {
    let line = &input[..memchr::memchr(b'\r', input).unwrap_or(input.len())];
    let mut words = line.split(|byte| *byte == b' ').skip(2);
    match (words.next(), words.next()) {
        (Some(version), None) if version.starts_with(b"HTTP/") => Malformed::Version,
        _ => Malformed::Syntax,
    }
}

fn too_long(head: &[u8], limits: &Limits) -> Option<Malformed> {
    if head.len() <= limits.target_bytes_max.min(limits.head_bytes_max) {
        return None;
    }
    let line_bytes = memchr::memchr(b'\n', &head[..head.len().min(limits.target_bytes_max + 1)]);
    match line_bytes {
        None if head.len() > limits.target_bytes_max => Some(Malformed::TargetTooLong),
        _ if head.len() > limits.head_bytes_max => Some(Malformed::HeadTooLarge),
        _ => None,
    }
}

/// Reads a response's head at the start of `input`; `None` when more of it has to come.
pub(crate) fn parse_response<'h, 'b>(
    input: &'b [u8],
    slots: &'h mut HeaderSlots<'b>,
    limits: &Limits,
) -> Result<Option<ResponseHead<'h, 'b>>, BadResponse> {
    let mut response = Response::new(&mut []);
    let length = match ParserConfig::default().parse_response_with_uninit_headers(&mut response, input, slots) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if input.len() > limits.head_bytes_max => return Err(BadResponse::HeadTooLarge),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(BadResponse::HeadTooLarge),
        Err(_) => return Err(BadResponse::Syntax),
    };
    let (Some(version), Some(status), Some(reason)) = (response.version, response.code, response.reason) else {
        return Err(BadResponse::Syntax);
    };
    if !lines_are_strict(&input[..length]) || !(100..=999).contains(&status) {
        return Err(BadResponse::Syntax);
    }
    let reason = reason.as_bytes();
    Ok(Some(ResponseHead { length, status, reason, is_http_1_1: version == 1, headers: response.headers }))
}

/// Every line ends with CR LF, and neither stands alone: other parsers see another message there (RFC 9112, 2.2).
pub(crate) fn lines_are_strict(head: &[u8]) -> bool {
    let [first, rest @ ..] = head else { return true };
    // Compares every pair of adjacent bytes: this needs no branch.
    let paired =
        head.iter().zip(rest).fold(true, |paired, (byte, next)| paired & ((*byte == b'\r') == (*next == b'\n')));
    paired && *first != b'\n' && head.last() != Some(&b'\r')
}

/// True if a head may end at or after `from`; avoids a new parse for every byte that arrives.
pub(crate) fn may_have_ended(input: &[u8], from: usize) -> bool {
    let from = from.saturating_sub(3);
    memchr::memchr_iter(b'\n', &input[from..]).any(|position| {
        let rest = &input[from + position + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &str) -> Result<Option<usize>, Malformed> {
        let mut slots = header_slots();
        parse_request(input.as_bytes(), &mut slots, &Limits::default()).map(|head| head.map(|head| head.length))
    }

    #[test]
    fn an_ordinary_head_parses_and_a_part_of_it_waits() {
        let head = "GET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
        assert_eq!(parse(&format!("{head}BODY")), Ok(Some(head.len())));
        for end in 0..head.len() {
            assert_eq!(parse(&head[..end]), Ok(None), "{end}");
        }
    }

    /// The smuggling corpus: heads that two parsers may read in two ways. Framing itself is in `fairlead_route`.
    #[test]
    fn heads_that_parsers_disagree_about_are_refused() {
        for (input, error) in [
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\n\tX: folded\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX\u{e9}: y\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1\r\nHost: a\r\nX(: y\r\n\r\n", Malformed::Syntax),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", Malformed::Version),
            ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", Malformed::Version),
            ("GET / http/1.1\r\nHost: a\r\n\r\n", Malformed::Syntax),
            ("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Target),
            ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Target),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", Malformed::Method),
        ] {
            assert_eq!(parse(input), Err(error), "{input:?}");
        }
    }

    #[test]
    fn strict_lines_have_no_carriage_return_or_line_feed_alone() {
        for (head, strict) in [
            ("", true),
            ("\r\n", true),
            ("a\r\nb\r\n\r\n", true),
            ("\n", false),
            ("\r", false),
            ("a\nb\r\n", false),
            ("a\r\r\n", false),
            ("a\r\n\n", false),
            ("a\r\n\r", false),
            ("a\rb\r\n", false),
        ] {
            assert_eq!(lines_are_strict(head.as_bytes()), strict, "{head:?}");
        }
    }

    #[test]
    fn bounds_have_their_own_answers() {
        let long = "a".repeat(20_000);
        assert_eq!(parse(&format!("GET /{long}")), Err(Malformed::TargetTooLong));
        assert_eq!(parse(&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n")), Err(Malformed::TargetTooLong));
        assert_eq!(parse(&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", long.repeat(4))), Err(Malformed::HeadTooLarge));
        assert_eq!(
            parse(&format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(HEADERS_MAX))),
            Err(Malformed::HeadTooLarge)
        );
    }

    #[test]
    fn a_response_that_is_no_clean_http_1_is_bad() {
        let parse = |input: &'static str| {
            let mut slots = header_slots();
            parse_response(input.as_bytes(), &mut slots, &Limits::default()).map(|head| head.map(|head| head.status))
        };
        assert_eq!(parse("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), Ok(Some(200)));
        assert_eq!(parse("HTTP/1.1 200\r\n\r\n"), Ok(Some(200)));
        assert_eq!(parse("HTTP/1.1 20"), Ok(None));
        for input in [
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\nA: b\n\n",
            "garbage\r\n\r\n",
            "HTTP/1.1 042 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        ] {
            assert_eq!(parse(input), Err(BadResponse::Syntax), "{input:?}");
        }
    }

    #[test]
    fn an_end_is_seen_wherever_the_pieces_part() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for from in 0..head.len() {
            assert!(may_have_ended(head, from), "{from}");
            assert!(!may_have_ended(&head[..head.len() - 1], from.min(head.len() - 1)));
        }
    }
}
