//! Request smuggling by HTTP/2 downgrade: fields and bodies that HTTP/1.1 would read as something else. A refused
//! request never reaches the app; hyper and a strict reader see a forwarded one as one request.

use libtest_mimic::Trial;

use crate::case::case;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Client, StreamOutcome, block, frame, get,
};
use crate::proxy_endpoint::ProxyEndpoint;
use crate::reference::{ParsedRequest, ReferenceApp, strict};
use crate::support::{HOST, Proxy};

type Field = (&'static [u8], &'static [u8]);

/// Request parts and the expected outcome.
#[derive(Debug, Clone, Copy)]
struct DowngradeCase {
    name: &'static str,
    method: &'static [u8],
    path: &'static [u8],
    fields: &'static [Field],
    /// DATA frames; without any, the headers have END_STREAM.
    body: &'static [&'static [u8]],
    trailers: &'static [Field],
    /// Request as the app sees it; `None` if the proxy refuses it.
    seen: Option<(&'static str, &'static str, &'static [u8])>,
}

const PLAIN: DowngradeCase =
    DowngradeCase { name: "", method: b"GET", path: b"/", fields: &[], body: &[], trailers: &[], seen: None };

const fn fields(name: &'static str, fields: &'static [Field]) -> DowngradeCase {
    DowngradeCase { name, fields, ..PLAIN }
}

const fn path(name: &'static str, path: &'static [u8]) -> DowngradeCase {
    DowngradeCase { name, path, ..PLAIN }
}

const fn method(name: &'static str, method: &'static [u8]) -> DowngradeCase {
    DowngradeCase { name, method, ..PLAIN }
}

/// Returns a POST with a body that the proxy refuses, or that is cut before its end.
const fn post(name: &'static str, fields: &'static [Field], body: &'static [&'static [u8]]) -> DowngradeCase {
    DowngradeCase { name, method: b"POST", fields, body, ..PLAIN }
}

const fn seen(case: DowngradeCase, method: &'static str, target: &'static str, body: &'static [u8]) -> DowngradeCase {
    DowngradeCase { seen: Some((method, target, body)), ..case }
}

#[rustfmt::skip]
const CASES: &[DowngradeCase] = &[
    // Fields of an HTTP/1.1 connection (RFC 9113, 8.2.2).
    fields("transfer-encoding", &[(b"transfer-encoding", b"chunked")]),
    post("transfer-encoding-with-a-body", &[(b"transfer-encoding", b"chunked")], &[b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"]),
    fields("connection", &[(b"connection", b"close")]),
    fields("connection-names-a-field", &[(b"connection", b"x-forwarded-for")]),
    fields("keep-alive", &[(b"keep-alive", b"timeout=5")]),
    fields("proxy-connection", &[(b"proxy-connection", b"keep-alive")]),
    fields("upgrade", &[(b"upgrade", b"h2c")]),
    fields("te-gzip", &[(b"te", b"gzip")]),
    seen(fields("te-trailers", &[(b"te", b"trailers")]), "GET", "/", b""),
    // Line ends and other bytes within fields (RFC 9113, 8.2.1).
    fields("crlf-in-a-value", &[(b"x", b"a\r\ntransfer-encoding: chunked")]),
    fields("crlf-crlf-in-a-value", &[(b"x", b"a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")]),
    fields("cr-in-a-value", &[(b"x", b"a\rb")]),
    fields("lf-in-a-value", &[(b"x", b"a\nb: c")]),
    fields("nul-in-a-value", &[(b"x", b"a\0b")]),
    fields("lf-at-the-end-of-a-value", &[(b"x", b"a\n")]),
    fields("crlf-in-a-cookie", &[(b"cookie", b"a=1\r\nx: y")]),
    fields("crlf-in-a-name", &[(b"x: y\r\ntransfer-encoding", b"chunked")]),
    fields("colon-in-a-name", &[(b"x: y", b"z")]),
    fields("colon-at-the-end-of-a-name", &[(b"transfer-encoding:", b"chunked")]),
    fields("blank-in-a-name", &[(b"x y", b"z")]),
    fields("blank-at-the-end-of-a-name", &[(b"transfer-encoding ", b"chunked")]),
    fields("nul-in-a-name", &[(b"x\0", b"z")]),
    fields("empty-name", &[(b"", b"z")]),
    fields("capitals-in-a-name", &[(b"Transfer-Encoding", b"chunked")]),
    fields("high-byte-in-a-name", &[(b"x\xff", b"z")]),
    fields("pseudo-header-of-nobody", &[(b":x", b"y")]),
    fields("status-in-a-request", &[(b":status", b"200")]),
    fields("method-twice", &[(b":method", b"POST")]),
    fields("path-twice", &[(b":path", b"/other")]),
    seen(fields("blanks-around-a-value", &[(b"x", b" y ")]), "GET", "/", b""),
    seen(fields("high-bytes-in-a-value", &[(b"x", b"\xe9\xff")]), "GET", "/", b""),
    seen(fields("underscored-coding", &[(b"transfer_encoding", b"chunked")]), "GET", "/", b""),
    seen(fields("underscored-length", &[(b"content_length", b"5")]), "GET", "/", b""),
    // Hosts.
    fields("another-host", &[(b"host", b"other.localhost")]),
    fields("two-hosts", &[(b"host", b"hello.localhost"), (b"host", b"other.localhost")]),
    fields("crlf-in-the-host", &[(b"host", b"hello.localhost\r\nx: y")]),
    seen(fields("the-same-host", &[(b"host", b"hello.localhost")]), "GET", "/", b""),
    // Targets and methods.
    path("crlf-in-the-path", b"/ HTTP/1.1\r\nhost: other\r\n\r\nGET /smuggled"),
    path("blank-in-the-path", b"/ HTTP/1.1"),
    path("lf-in-the-path", b"/\nx"),
    path("nul-in-the-path", b"/\0"),
    // The `http` crate cuts the fragment off before the proxy sees it.
    seen(path("fragment-in-the-path", b"/a#b"), "GET", "/a", b""),
    path("high-byte-in-the-path", b"/\xe9"),
    path("empty-path", b""),
    path("path-without-a-slash", b"x"),
    path("path-of-an-url", b"http://other.localhost/"),
    path("asterisk-for-get", b"*"),
    method("crlf-in-the-method", b"GET / HTTP/1.1\r\nx: y\r\n\r\nGET"),
    method("blank-in-the-method", b"GET /smuggled"),
    method("nul-in-the-method", b"GET\0"),
    method("empty-method", b""),
    method("connect", b"CONNECT"),
    seen(path("an-url-within-the-path", b"/http://other/?a=b"), "GET", "/http://other/?a=b", b""),
    seen(method("method-of-nobody", b"FROB"), "FROB", "/", b""),
    // Lengths and bodies.
    post("length-too-small", &[(b"content-length", b"3")], &[b"hello"]),
    post("length-too-large", &[(b"content-length", b"6")], &[b"hello"]),
    post("length-zero-with-a-body", &[(b"content-length", b"0")], &[b"GET /smuggled HTTP/1.1\r\nhost: hello.localhost\r\n\r\n"]),
    post("length-too-small-over-frames", &[(b"content-length", b"5")], &[b"hello", b" ", b"hello"]),
    post("two-lengths", &[(b"content-length", b"5"), (b"content-length", b"6")], &[b"hello"]),
    post("one-length-twice", &[(b"content-length", b"5"), (b"content-length", b"5")], &[b"hello"]),
    post("list-of-lengths", &[(b"content-length", b"5, 5")], &[b"hello"]),
    post("length-with-plus", &[(b"content-length", b"+5")], &[b"hello"]),
    post("length-in-hex", &[(b"content-length", b"0x5")], &[b"hello"]),
    post("empty-length", &[(b"content-length", b"")], &[b"hello"]),
    post("length-beyond-64-bits", &[(b"content-length", b"18446744073709551621")], &[b"hello"]),
    fields("length-without-a-body", &[(b"content-length", b"5")]),
    seen(post("length", &[(b"content-length", b"5")], &[b"he", b"llo"]), "POST", "/", b"hello"),
    seen(post("no-length", &[], &[b"he", b"llo"]), "POST", "/", b"hello"),
    seen(post("empty-body", &[], &[b""]), "POST", "/", b""),
    seen(post("length-zero", &[(b"content-length", b"0")], &[b""]), "POST", "/", b""),
    seen(post("body-of-chunks", &[], &[b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"]), "POST", "/", b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"),
    seen(DowngradeCase { method: b"GET", ..post("get-with-a-body", &[], &[b"GET /smuggled HTTP/1.1\r\n\r\n"]) }, "GET", "/", b"GET /smuggled HTTP/1.1\r\n\r\n"),
    // Trailers.
    DowngradeCase { trailers: &[(b"transfer-encoding", b"chunked")], ..post("coding-in-trailers", &[], &[b"hello"]) },
    DowngradeCase { trailers: &[(b":path", b"/other")], ..post("path-in-trailers", &[], &[b"hello"]) },
    DowngradeCase { trailers: &[(b"x", b"a\r\n\r\nGET /smuggled HTTP/1.1")], ..post("crlf-in-trailers", &[], &[b"hello"]) },
    seen(DowngradeCase { trailers: &[(b"x", b"y")], ..post("trailers", &[], &[b"hello"]) }, "POST", "/", b"hello"),
    seen(DowngradeCase { trailers: &[(b"host", b"other"), (b"x-forwarded-for", b"6.6.6.6"), (b"authorization", b"x")], ..post("claims-in-trailers", &[], &[b"hello"]) }, "POST", "/", b"hello"),
];

pub fn trials() -> Vec<Trial> {
    CASES
        .iter()
        .flat_map(|attack| {
            [
                case("downgrade", attack.name, || play(attack, false)),
                // A block split in the middle must mean the same.
                case("downgrade", format!("{}-continued", attack.name), || play(attack, true)),
            ]
        })
        .collect()
}

async fn play(attack: &DowngradeCase, continued: bool) {
    let app = ReferenceApp::start().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = Http2Client::connect(&ProxyEndpoint::of(&proxy)).await;
    client.send(&request(attack, continued)).await;
    let answer = client.answer(1).await;
    match attack.seen {
        Some(_) => assert_eq!(answer, StreamOutcome::Status(200)),
        // An error of one stream ends the stream; a field that HPACK or framing forbids may end the connection.
        None => assert!(!matches!(answer, StreamOutcome::Status(..400 | 502..)), "{answer:?}"),
    }
    if !matches!(answer, StreamOutcome::GoAway(_)) {
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get("/after"))).await;
        assert_eq!(client.answer(3).await, StreamOutcome::Status(200));
    }
    drop(client);
    proxy.end().await;
    let record = app.finish().await;
    let mut expected: Vec<_> =
        attack.seen.iter().map(|(method, target, body)| ParsedRequest::new(method, target, body)).collect();
    if !matches!(answer, StreamOutcome::GoAway(_)) {
        expected.push(ParsedRequest::new("GET", "/after", b""));
    }
    assert_eq!(record.requests, expected);
    let read: Vec<_> = record.bytes.iter().flat_map(|bytes| strict(bytes).0).collect();
    assert_eq!(read, expected, "hyper and the strict reader differ");
}

fn request(attack: &DowngradeCase, continued: bool) -> Vec<u8> {
    let line: [(&[u8], &[u8]); 4] = [
        (b":method", attack.method),
        (b":scheme", b"https"),
        (b":authority", HOST.as_bytes()),
        (b":path", attack.path),
    ];
    let head = block(&[&line, attack.fields].concat());
    let end = if attack.body.is_empty() { END_STREAM } else { 0 };
    let mut bytes = if continued {
        let (first, rest) = head.split_at(head.len() / 2);
        [frame(HEADERS, end, 1, first), frame(CONTINUATION, END_HEADERS, 1, rest)].concat()
    } else {
        frame(HEADERS, END_HEADERS | end, 1, &head)
    };
    for (number, data) in attack.body.iter().enumerate() {
        let last = number + 1 == attack.body.len() && attack.trailers.is_empty();
        bytes.extend(frame(DATA, if last { END_STREAM } else { 0 }, 1, data));
    }
    if !attack.trailers.is_empty() {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(attack.trailers)));
    }
    bytes
}
