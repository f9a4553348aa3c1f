//! Parsing of an upstream's response head, and encoding of the head for an HTTP/1 client.

use crate::ResponseBody;
use crate::framing::FramingHeaders;
use crate::header::{ConnectionHeader, Role, role};
use crate::request::{push, push_length};

/// Invalid response of an app: the client gets 502, and the connection to the app is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    /// Not HTTP/1.x, or a forbidden byte.
    #[error("the app's response is not valid HTTP")]
    Syntax,
    /// The length is ambiguous.
    #[error("the app's response has ambiguous framing")]
    Framing,
    /// Head that is longer or has more fields than the limit.
    #[error("the app's response headers are too large")]
    HeadTooLarge,
    /// Upgrade that the client did not request.
    #[error("the app changed the protocol without being asked")]
    Upgrade,
    /// The chunked body is not valid.
    #[error("the app's response body is not valid")]
    Body,
    /// More interim responses than any client needs.
    #[error("the app sent too many interim responses")]
    Interims,
}

/// Meaning of the fields of one response head.
#[derive(Debug, Clone, Copy)]
pub struct ResponseFacts<'a> {
    /// Body of the response.
    pub body: ResponseBody,
    /// Value of Content-Length, also without a body (HEAD, 304).
    pub content_length: Option<u64>,
    /// True if the app keeps its connection open after this response.
    pub reusable: bool,
    /// Time in seconds for which the app keeps an idle connection (`Keep-Alive: timeout=`).
    pub keep_alive_seconds: Option<u64>,
    /// Protocol that a 101 switches to.
    pub upgrade: Option<&'a [u8]>,
    /// True for server-sent events, which may stay open for hours.
    pub event_stream: bool,
    connection: ConnectionHeader<'a>,
}

impl<'a> ResponseFacts<'a> {
    /// Reads all fields once.
    pub fn gather(
        status: u16,
        is_http_1_1: bool,
        to_head_request: bool,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<Self, BadResponse> {
        let (mut framing, mut connection) = (FramingHeaders::default(), ConnectionHeader::default());
        let (mut keep_alive_seconds, mut upgrade, mut event_stream) = (None, None, false);
        for (name, value) in headers {
            match role(name) {
                Role::ContentLength => framing.see_content_length(value).map_err(|_| BadResponse::Framing)?,
                Role::TransferEncoding => framing.see_transfer_encoding(value).map_err(|_| BadResponse::Framing)?,
                Role::Connection if !connection.see(value) => return Err(BadResponse::Syntax),
                Role::KeepAlive => keep_alive_seconds = keep_alive_timeout(value),
                Role::Upgrade => upgrade = Some(value),
                Role::ContentType => {
                    event_stream = value.get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"));
                }
                _ => {}
            }
        }
        let body = match (framing.chunked, framing.length) {
            _ if to_head_request || status < 200 || status == 204 || status == 304 => ResponseBody::None,
            (true, Some(_)) => return Err(BadResponse::Framing),
            (true, None) if !is_http_1_1 => return Err(BadResponse::Framing),
            (true, None) => ResponseBody::Chunked,
            (false, Some(length)) => ResponseBody::Length(length),
            (false, None) => ResponseBody::UntilClose,
        };
        let reusable = body != ResponseBody::UntilClose && !connection.close && (is_http_1_1 || connection.keep_alive);
        Ok(Self {
            body,
            content_length: framing.length,
            reusable,
            keep_alive_seconds,
            upgrade,
            event_stream,
            connection,
        })
    }

    /// Returns the same facts with another body of a known length.
    pub fn with_body(&self, body: ResponseBody, content_length: u64) -> Self {
        Self { body, content_length: Some(content_length), ..*self }
    }

    /// True if a field is forwarded to the client unchanged.
    pub fn forwards(&self, name: &[u8]) -> bool {
        // Roles that matter only in requests are ordinary fields here.
        let end_to_end = matches!(
            role(name),
            Role::EndToEnd | Role::ContentType | Role::RequestId | Role::Cookie | Role::Expect | Role::Host
        );
        end_to_end && !self.connection.names(name)
    }
}

/// Parses N of `timeout=N`.
fn keep_alive_timeout(value: &[u8]) -> Option<u64> {
    value
        .split(|byte| *byte == b',')
        .find_map(|part| crate::content_length(part.trim_ascii().strip_prefix(b"timeout=")?))
}

/// Framing of a body for an HTTP/1 client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownstreamBody {
    /// No body; an announced length only (HEAD, 304).
    None(Option<u64>),
    /// Body with a Content-Length.
    Length(u64),
    /// Body with chunked transfer coding.
    Chunked,
    /// Body until the connection closes: for an HTTP/1.0 client and an unknown length.
    UntilClose,
}

/// Appends a response head for an HTTP/1 client: `fields` unchanged, then framing. `connection` is the value of
/// Connection, if any.
pub fn encode_response<'a>(
    status: u16,
    reason: &[u8],
    facts: &ResponseFacts<'_>,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    body: DownstreamBody,
    connection: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    push_status_line(out, status, reason);
    // Internal iteration: `fields` is a chain of iterators, which is slow with `next`.
    fields.for_each(|(name, value)| push(out, &[name, b": ", value, b"\r\n"]));
    match body {
        DownstreamBody::None(None) | DownstreamBody::UntilClose => {}
        // A length is forbidden in 1xx and 204 (RFC 9110, 8.6).
        DownstreamBody::None(Some(_)) if status < 200 || status == 204 => {}
        DownstreamBody::None(Some(length)) | DownstreamBody::Length(length) => push_length(out, length),
        DownstreamBody::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    if let Some(option) = connection {
        push(out, &[b"connection: ", option, b"\r\n"]);
    }
    if let Some(protocol) = facts.upgrade.filter(|_| status == 101) {
        push(out, &[b"upgrade: ", protocol, b"\r\n"]);
    }
    out.extend_from_slice(b"\r\n");
}

fn push_status_line(out: &mut Vec<u8>, status: u16, reason: &[u8]) {
    let digits = [b'0' + (status / 100 % 10) as u8, b'0' + (status / 10 % 10) as u8, b'0' + (status % 10) as u8];
    push(out, &[b"HTTP/1.1 ", &digits, b" ", reason, b"\r\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    type Header = (&'static str, &'static str);

    fn bytes(headers: &[Header]) -> impl Iterator<Item = (&'static [u8], &'static [u8])> {
        headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect::<Vec<_>>().into_iter()
    }

    fn facts(status: u16, head: bool, headers: &[Header]) -> Result<ResponseFacts<'static>, BadResponse> {
        ResponseFacts::gather(status, true, head, bytes(headers))
    }

    #[test]
    fn bodies_follow_the_rfc() {
        let length = [("content-length", "5")];
        for (status, head, headers, body) in [
            (200, false, &length[..], ResponseBody::Length(5)),
            (200, true, &length, ResponseBody::None),
            (304, false, &length, ResponseBody::None),
            (204, false, &[], ResponseBody::None),
            (103, false, &[], ResponseBody::None),
            (200, false, &[("transfer-encoding", "chunked")], ResponseBody::Chunked),
            (200, false, &[], ResponseBody::UntilClose),
        ] {
            assert_eq!(facts(status, head, headers).unwrap().body, body, "{status} {headers:?}");
        }
        assert_eq!(facts(200, true, &length).unwrap().content_length, Some(5));
    }

    #[test]
    fn ambiguous_framing_is_bad() {
        for headers in [
            &[("content-length", "5"), ("content-length", "6")][..],
            &[("content-length", "5"), ("transfer-encoding", "chunked")],
            &[("content-length", "-5")],
            &[("transfer-encoding", "gzip")],
        ] {
            assert_eq!(facts(200, false, headers).unwrap_err(), BadResponse::Framing, "{headers:?}");
        }
    }

    #[test]
    fn reuse_needs_a_known_end_and_a_willing_app() {
        assert!(facts(200, false, &[("content-length", "0")]).unwrap().reusable);
        assert!(!facts(200, false, &[("content-length", "0"), ("connection", "close")]).unwrap().reusable);
        assert!(!facts(200, false, &[]).unwrap().reusable);
        let node = facts(200, false, &[("content-length", "0"), ("keep-alive", "timeout=5, max=100")]).unwrap();
        assert_eq!(node.keep_alive_seconds, Some(5));
    }

    #[test]
    fn the_head_for_the_client_has_our_framing_and_no_field_of_the_other_hop() {
        let headers = [
            ("Server", "x"),
            ("Connection", "keep-alive, x-hop"),
            ("X-Hop", "1"),
            ("Content-Length", "02"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
        ];
        let facts = facts(200, false, &headers).unwrap();
        let mut out = Vec::new();
        let fields = bytes(&headers).filter(|(name, _)| facts.forwards(name));
        encode_response(200, b"OK", &facts, fields, DownstreamBody::Length(2), Some(b"close"), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\ncontent-length: 2\r\nconnection: close\r\n\r\n"
        );
    }
}
