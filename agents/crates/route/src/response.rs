//! What an upstream's response head means, and the head that is sent to an HTTP/1 client.

use crate::ResponseBody;
use crate::framing::FramingHeaders;
use crate::header::{Connection, Role, role};
use crate::request::{push, push_length};

/// A response that can't be passed on; the client gets 502 and the connection to the app is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    /// Not HTTP/1.x, or a byte that may not be there.
    #[error("the app's response is not valid HTTP")]
    Syntax,
    /// Its length is ambiguous.
    #[error("the app's response has ambiguous framing")]
    Framing,
    /// Its head is longer or has more fields than the limit.
    #[error("the app's response headers are too large")]
    HeadTooLarge,
    /// It changes to a protocol that nobody asked for.
    #[error("the app changed the protocol without being asked")]
    Upgrade,
    /// Its chunked body is not valid.
    #[error("the app's response body is not valid")]
    Body,
    /// More interim responses than anybody needs.
    #[error("the app sent too many interim responses")]
    Interims,
}

/// What the fields of one response head say.
#[derive(Debug, Clone, Copy)]
pub struct ResponseFacts<'a> {
    /// The body that follows.
    pub body: ResponseBody,
    /// Content-Length as said, also where no body follows (HEAD, 304).
    pub content_length: Option<u64>,
    /// The app keeps its connection open after this response.
    pub reusable: bool,
    /// How long the app keeps an idle connection (`Keep-Alive: timeout=`), seconds.
    pub keep_alive_seconds: Option<u64>,
    /// The protocol that a 101 changes to.
    pub upgrade: Option<&'a [u8]>,
    /// Server-sent events: may stay open for hours.
    pub event_stream: bool,
    connection: Connection<'a>,
}

impl<'a> ResponseFacts<'a> {
    /// Reads all fields once.
    pub fn gather(
        status: u16,
        is_http_1_1: bool,
        to_head_request: bool,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<Self, BadResponse> {
        let (mut framing, mut connection) = (FramingHeaders::default(), Connection::default());
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

    /// The same head before another body, whose length is told.
    pub fn with_body(&self, body: ResponseBody, content_length: u64) -> Self {
        Self { body, content_length: Some(content_length), ..*self }
    }

    /// Whether a field goes to the client as it is.
    pub fn forwards(&self, name: &[u8]) -> bool {
        // Roles that matter only in requests are ordinary fields here.
        let end_to_end = matches!(
            role(name),
            Role::EndToEnd | Role::ContentType | Role::RequestId | Role::Cookie | Role::Expect | Role::Host
        );
        end_to_end && !self.connection.names(name)
    }
}

/// N of `timeout=N`.
fn keep_alive_timeout(value: &[u8]) -> Option<u64> {
    value
        .split(|byte| *byte == b',')
        .find_map(|part| crate::content_length(part.trim_ascii().strip_prefix(b"timeout=")?))
}

/// How the body is framed towards an HTTP/1 client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownstreamBody {
    /// No body; the length is only told (HEAD, 304).
    None(Option<u64>),
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Until we close: an HTTP/1.0 client and a body of unknown length.
    UntilClose,
}

/// Appends the head of a response for an HTTP/1 client: `fields` as they are, then framing. `connection` is what to say in
/// Connection, if anything.
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
    // From within, because they are several chained: asked for one by one, each would ask every link of the chain.
    fields.for_each(|(name, value)| push(out, &[name, b": ", value, b"\r\n"]));
    match body {
        DownstreamBody::None(None) | DownstreamBody::UntilClose => {}
        // RFC 9110, 8.6: a length is forbidden in 1xx and 204.
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
