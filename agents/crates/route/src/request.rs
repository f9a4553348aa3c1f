//! Parsing of request heads, and encoding of the normalised head for the app. The proxy writes framing and client
//! address itself.

use std::ops::Range;

use crate::framing::FramingHeaders;
use crate::grpc::is_grpc;
use crate::header::{ConnectionHeader, Role, role};
use crate::{Authority, Client, HeaderRules, Malformed, RequestBody, RequestTarget, StrippedPath, usable_request_id};

/// HTTP version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

/// Validated request line and host.
#[derive(Debug, Clone, Copy)]
pub struct RequestLine<'a> {
    /// Method token as sent: methods are case-sensitive.
    pub method: &'a [u8],
    pub target: RequestTarget<'a>,
    pub version: HttpVersion,
    /// `:authority` of HTTP/2.
    pub authority: Option<&'a [u8]>,
    /// True if a body of unknown length follows: HTTP/2 does its own framing, so no header needs to announce it.
    pub unsized_body: bool,
}

/// Meaning of the fields of one head.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    pub authority: Authority<'a>,
    /// Body of the request.
    pub body: RequestBody,
    /// True if the connection closes afterwards: the client asks for it, or its version implies it.
    pub close: bool,
    /// WebSocket upgrade, if the client offers it with `Connection: upgrade`. No other protocol: with another HTTP
    /// version (h2c) the app would get requests that the proxy has not checked.
    pub upgrade: Option<&'a [u8]>,
    /// True if the client waits for 100 (Continue) before it sends its body.
    pub expects_continue: bool,
    /// True if the client accepts trailers.
    pub takes_trailers: bool,
    /// True for a gRPC call: its outcome is in trailers, and it may stream both ways.
    pub grpc: bool,
    /// Valid request id from the client.
    pub request_id: Option<&'a [u8]>,
    connection: ConnectionHeader<'a>,
}

impl<'a> RequestFacts<'a> {
    /// Reads all fields once. `headers` are (name, value); the values have no surrounding blanks.
    pub fn gather(
        line: &RequestLine<'a>,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<Self, Malformed> {
        let (mut host, mut request_id, mut upgrade) = (None, None, None);
        let (mut framing, mut connection) = (FramingHeaders::default(), ConnectionHeader::default());
        let (mut expects_continue, mut takes_trailers, mut grpc) = (false, false, false);
        for (name, value) in headers {
            match role(name) {
                Role::Host if host.is_some() => return Err(Malformed::Host),
                Role::Host => host = Some(value),
                Role::ContentLength => framing.see_content_length(value)?,
                Role::TransferEncoding => framing.see_transfer_encoding(value)?,
                Role::Connection if !connection.see(value) => return Err(Malformed::Connection),
                Role::Upgrade => upgrade = Some(value),
                Role::Te => {
                    takes_trailers |= value
                        .split(|byte| *byte == b',')
                        .any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"))
                }
                Role::Expect if value.eq_ignore_ascii_case(b"100-continue") => expects_continue = true,
                Role::Expect => return Err(Malformed::Expectation),
                Role::RequestId if usable_request_id(value) => request_id = Some(value),
                Role::ContentType => grpc = is_grpc(value),
                _ => {}
            }
        }
        let authority = authority(line, host)?;
        let body = match framing.request(line.version != HttpVersion::Http10)? {
            RequestBody::None if line.unsized_body => RequestBody::Chunked,
            body => body,
        };
        let close = connection.close || (line.version == HttpVersion::Http10 && !connection.keep_alive);
        // HTTP/1.0 has no upgrades, the request is a GET (RFC 6455, 4.1), and a body before an upgrade has no use.
        let may_upgrade =
            line.version == HttpVersion::Http11 && line.method == b"GET" && matches!(body, RequestBody::None);
        let takes = |protocol: &&[u8]| protocol.eq_ignore_ascii_case(b"websocket");
        Ok(Self {
            authority,
            body,
            close,
            upgrade: upgrade.filter(takes).filter(|_| may_upgrade && connection.upgrade),
            expects_continue: expects_continue && line.version != HttpVersion::Http10 && body != RequestBody::None,
            takes_trailers: takes_trailers && line.version != HttpVersion::Http10,
            grpc,
            request_id,
            connection,
        })
    }
}

/// Returns the host of a request: Host, `:authority` and an absolute target must agree.
fn authority<'a>(line: &RequestLine<'a>, host: Option<&'a [u8]>) -> Result<Authority<'a>, Malformed> {
    let host = host.map(Authority::parse).transpose()?;
    let other = match line.authority {
        Some(text) => Some(Authority::parse(text)?),
        None => line.target.authority,
    };
    match (host, other) {
        (Some(host), Some(other)) if !host.text.eq_ignore_ascii_case(other.text) => Err(Malformed::HostMismatch),
        (Some(host), _) => Ok(host),
        (None, Some(other)) => Ok(other),
        (None, None) => Err(Malformed::Host),
    }
}

/// Changes that a route makes to a request; none by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestEdit<'a> {
    /// Header rules of the route.
    pub rules: Option<&'a HeaderRules>,
    /// Path without the route's prefix.
    pub stripped: Option<StrippedPath<'a>>,
}

/// Appends the head for an HTTP/1.1 upstream. Never copies framing, hop-by-hop fields or claims about the client.
/// `headers` restarts the fields: cookies need a second pass. Returns the position of the request id in `out`.
pub fn encode_request<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    line: &RequestLine<'a>,
    facts: &RequestFacts<'a>,
    headers: impl Fn() -> H,
    client: &Client,
    request_id: &[u8],
    edit: &RequestEdit<'_>,
    out: &mut Vec<u8>,
) -> Range<usize> {
    let host = facts.authority.text;
    let drops = |name: &[u8]| edit.rules.is_some_and(|rules| rules.drops(name));
    match &edit.stripped {
        None => push(out, &[line.method, b" ", line.target.path_and_query]),
        Some(stripped) => push(out, &[line.method, b" ", stripped.slash, stripped.rest]),
    }
    push(out, &[b" HTTP/1.1\r\nhost: ", host, b"\r\n"]);
    let mut cookies = 0;
    for (name, value) in headers() {
        match role(name) {
            Role::EndToEnd | Role::ContentType if !facts.connection.names(name) && !drops(name) => {
                push(out, &[name, b": ", value, b"\r\n"]);
            }
            // Skips an empty one: joined with others it would leave a blank at the end.
            Role::Cookie if !value.is_empty() => cookies += 1,
            _ => {}
        }
    }
    if cookies > 0 && !drops(b"cookie") {
        encode_cookies(headers(), edit.rules.map_or(&[], HeaderRules::cookies), out);
    } else if let Some(cookies) = edit.rules.map(HeaderRules::cookies).filter(|cookies| !cookies.is_empty()) {
        push(out, &[b"cookie: ", cookies, b"\r\n"]);
    }
    match edit.rules {
        None => client.encode_all(host, out),
        Some(_) => client.encode(host, drops, out),
    }
    if let Some(stripped) = edit.stripped.filter(|path| !path.prefix.is_empty() && !drops(b"x-forwarded-prefix")) {
        push(out, &[b"x-forwarded-prefix: ", stripped.prefix, b"\r\n"]);
    }
    for (name, value) in edit.rules.iter().flat_map(|rules| rules.added()) {
        push(out, &[name, b": ", value, b"\r\n"]);
    }
    out.extend_from_slice(b"x-request-id: ");
    let id_start = out.len();
    push(out, &[request_id, b"\r\n"]);
    match facts.body {
        RequestBody::None if needs_length(line.method) => out.extend_from_slice(b"content-length: 0\r\n"),
        RequestBody::None => {}
        RequestBody::Length(length) => push_length(out, length),
        RequestBody::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    if facts.expects_continue {
        out.extend_from_slice(b"expect: 100-continue\r\n");
    }
    match facts.upgrade {
        Some(protocol) => push(out, &[b"connection: upgrade\r\nupgrade: ", protocol, b"\r\n"]),
        // TE is hop-by-hop (RFC 9110, 10.1.4): sent only because trailers really are forwarded.
        None if facts.takes_trailers => out.extend_from_slice(b"connection: te\r\nte: trailers\r\n"),
        None => {}
    }
    out.extend_from_slice(b"\r\n");
    id_start..id_start + request_id.len()
}

/// Joins cookies into one Cookie field: HTTP/2 may split it, which HTTP/1.1 forbids (RFC 9113, 8.2.3).
fn encode_cookies<'a>(headers: impl Iterator<Item = (&'a [u8], &'a [u8])>, more: &[u8], out: &mut Vec<u8>) {
    let mut separator: &[u8] = b"cookie: ";
    for (_, value) in headers.filter(|(name, value)| !value.is_empty() && role(name) == Role::Cookie) {
        push(out, &[separator, value]);
        separator = b"; ";
    }
    if !more.is_empty() {
        push(out, &[separator, more]);
    }
    out.extend_from_slice(b"\r\n");
}

/// True for methods that expect content: without a length some servers respond with 411 (RFC 9110, 8.6).
fn needs_length(method: &[u8]) -> bool {
    matches!(method, b"POST" | b"PUT" | b"PATCH")
}

pub(crate) fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

pub(crate) fn push_length(out: &mut Vec<u8>, length: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = length;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    push(out, &[b"content-length: ", &digits[start..], b"\r\n"]);
}

#[cfg(test)]
mod tests {
    use fairlead_model::{HeaderAction, HeaderRule};

    use super::*;

    type Header = (&'static str, &'static str);

    fn bytes(headers: &[Header]) -> impl Iterator<Item = (&'static [u8], &'static [u8])> + Clone {
        headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect::<Vec<_>>().into_iter()
    }

    fn line(method: &'static str, version: HttpVersion) -> RequestLine<'static> {
        let target = RequestTarget::parse(method.as_bytes(), b"/p?q").unwrap();
        RequestLine { method: method.as_bytes(), target, version, authority: None, unsized_body: false }
    }

    fn sent_on(method: &'static str, version: HttpVersion, headers: &[Header]) -> Result<String, Malformed> {
        let line = line(method, version);
        let facts = RequestFacts::gather(&line, bytes(headers))?;
        let client = Client::new("192.0.2.7".parse().unwrap(), true);
        let mut out = Vec::new();
        let id = encode_request(&line, &facts, || bytes(headers), &client, b"id1", &RequestEdit::default(), &mut out);
        assert_eq!(&out[id], b"id1");
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_head_sent_on_names_the_client_and_nothing_it_forged() {
        let head = sent_on(
            "GET",
            HttpVersion::Http11,
            &[
                ("Host", "a.test:444"),
                ("X-Forwarded-For", "6.6.6.6"),
                ("forwarded", "for=6.6.6.6"),
                ("Accept", "*/*"),
                ("X-Hop", "1"),
                ("Connection", "x-hop, keep-alive"),
                ("Keep-Alive", "5"),
            ],
        );
        assert_eq!(
            head.unwrap(),
            "GET /p?q HTTP/1.1\r\nhost: a.test:444\r\nAccept: */*\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-host: a.test:444\r\n\
             x-forwarded-proto: https\r\nforwarded: for=192.0.2.7;host=\"a.test:444\";proto=https\r\nx-request-id: id1\r\n\r\n"
        );
    }

    #[test]
    fn framing_is_written_anew() {
        let body = |headers: &[Header]| {
            let headers = [&[("host", "a")], headers].concat();
            sent_on("POST", HttpVersion::Http11, &headers).map(|head| head.split("id1\r\n").nth(1).unwrap().to_owned())
        };
        assert_eq!(body(&[("Content-Length", "007")]).unwrap(), "content-length: 7\r\n\r\n");
        assert_eq!(body(&[("Transfer-Encoding", "Chunked")]).unwrap(), "transfer-encoding: chunked\r\n\r\n");
        assert_eq!(body(&[]).unwrap(), "content-length: 0\r\n\r\n");
        assert_eq!(body(&[("Content-Length", "1"), ("Transfer-Encoding", "chunked")]), Err(Malformed::Framing));
        assert_eq!(body(&[("Content-Length", "1"), ("Content-Length", "1")]), Err(Malformed::ContentLength));
        assert_eq!(body(&[("Transfer-Encoding", "gzip, chunked")]), Err(Malformed::TransferEncoding));
        assert_eq!(
            body(&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]),
            Err(Malformed::TransferEncoding)
        );
        assert_eq!(
            sent_on("POST", HttpVersion::Http10, &[("host", "a"), ("transfer-encoding", "chunked")]),
            Err(Malformed::Framing)
        );
    }

    #[test]
    fn a_request_has_exactly_one_host() {
        assert_eq!(sent_on("GET", HttpVersion::Http11, &[]), Err(Malformed::Host));
        assert_eq!(sent_on("GET", HttpVersion::Http11, &[("host", "a"), ("host", "a")]), Err(Malformed::Host));
        let absolute = RequestLine {
            target: RequestTarget::parse(b"GET", b"http://b/").unwrap(),
            ..line("GET", HttpVersion::Http11)
        };
        assert_eq!(RequestFacts::gather(&absolute, bytes(&[("host", "a")])).unwrap_err(), Malformed::HostMismatch);
        assert!(RequestFacts::gather(&absolute, bytes(&[("host", "B")])).is_ok());
        let http2 = RequestLine { authority: Some(b"a.test"), ..line("GET", HttpVersion::Http2) };
        assert_eq!(RequestFacts::gather(&http2, bytes(&[])).unwrap().authority.host, b"a.test");
    }

    #[test]
    fn an_upgrade_is_sent_on_only_when_connection_says_so() {
        let head = |connection| {
            sent_on("GET", HttpVersion::Http11, &[("host", "a"), ("Upgrade", "websocket"), ("Connection", connection)])
                .unwrap()
        };
        assert!(head("Upgrade").ends_with("connection: upgrade\r\nupgrade: websocket\r\n\r\n"));
        assert!(!head("keep-alive").contains("upgrade"));
        let post = [("host", "a"), ("Upgrade", "websocket"), ("Connection", "Upgrade")];
        assert!(!sent_on("POST", HttpVersion::Http11, &post).unwrap().contains("upgrade"));
        let h2c = [("host", "a"), ("Upgrade", "h2c"), ("Connection", "Upgrade")];
        assert!(!sent_on("GET", HttpVersion::Http11, &h2c).unwrap().contains("h2c"));
    }

    #[test]
    fn split_cookies_are_joined() {
        let head =
            sent_on("GET", HttpVersion::Http2, &[("host", "a"), ("cookie", "a=1"), ("accept", "x"), ("cookie", "b=2")])
                .unwrap();
        assert!(head.contains("\r\ncookie: a=1; b=2\r\n"), "{head}");
        let empty = [("host", "a"), ("cookie", ""), ("cookie", "a=1"), ("cookie", "")];
        assert!(sent_on("GET", HttpVersion::Http2, &empty).unwrap().contains("\r\ncookie: a=1\r\n"));
        assert!(!sent_on("GET", HttpVersion::Http2, &[("host", "a"), ("cookie", "")]).unwrap().contains("cookie"));
    }

    #[test]
    fn a_route_s_rules_and_strip_shape_the_head_and_cookies_stay_one_field() {
        let rule = |action, name: &str, value: &str| HeaderRule { action, name: name.into(), value: value.into() };
        let rules = HeaderRules::of_requests(
            &[
                rule(HeaderAction::Set, "x-user", "ann"),
                rule(HeaderAction::Append, "cookie", "c=3"),
                rule(HeaderAction::Remove, "forwarded", ""),
                rule(HeaderAction::Set, "x-forwarded-proto", "https"),
            ],
            &["authorization"],
        );
        let headers =
            [("host", "a"), ("X_User", "root"), ("Authorization", "Basic x"), ("cookie", "a=1"), ("cookie", "b=2")];
        let line = line("GET", HttpVersion::Http2);
        let facts = RequestFacts::gather(&line, bytes(&headers)).unwrap();
        let client = Client::new("192.0.2.7".parse().unwrap(), false);
        let edit = RequestEdit { rules: rules.as_ref(), stripped: crate::strip_prefix(b"/p?q", 2) };
        let mut out = Vec::new();
        encode_request(&line, &facts, || bytes(&headers), &client, b"id1", &edit, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "GET /?q HTTP/1.1\r\nhost: a\r\ncookie: a=1; b=2; c=3\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-host: a\r\n\
             x-forwarded-prefix: /p\r\nx-user: ann\r\nx-forwarded-proto: https\r\nx-request-id: id1\r\n\r\n"
        );
    }
}
