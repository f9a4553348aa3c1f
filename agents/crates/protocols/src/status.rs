//! Malformed requests get the status that their RFC names. They end their connection, never reach the app, and are
//! counted.

use std::time::Duration;

use fairlead_proxy::Limits;
use libtest_mimic::Trial;

use crate::case::case;
use crate::frames::{END_HEADERS, END_STREAM, HEADERS, Http2Client, StreamOutcome, block, frame, literal};
use crate::proxy_endpoint::ProxyEndpoint;
use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, quick, upstream};

/// (name, status, request). `{host}` is the routed host, `{long}` 20,000 letters.
#[rustfmt::skip]
const CASES: &[(&str, u16, &str)] = &[
    ("400-syntax", 400, "GET / HTTP/1.1\nHost: {host}\r\n\r\n"),
    ("400-no-host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ("400-two-lengths", 400, "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("405-connect", 405, "CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n"),
    ("414-target", 414, "GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
    ("414-target-without-end", 414, "GET /{long}"),
    ("417-expectation", 417, "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nExpect: x\r\n\r\n"),
    ("431-one-field", 431, "GET / HTTP/1.1\r\nHost: {host}\r\nX: {long}{long}{long}{long}\r\n\r\n"),
    ("431-one-field-without-end", 431, "GET / HTTP/1.1\r\nHost: {host}\r\nX: {long}{long}{long}{long}"),
    ("431-many-fields", 431, "GET / HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"),
    ("501-transfer-coding", 501, "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: gzip\r\n\r\n"),
    ("505-version", 505, "GET / HTTP/3.0\r\nHost: {host}\r\n\r\n"),
    ("408-half-a-head", 408, "GET / HTTP/1.1\r\nHost: {host}\r\nX"),
];

pub fn trials() -> Vec<Trial> {
    let tables = CASES.iter().map(|(name, status, send)| case("status", *name, || refused(*status, send)));
    tables
        .chain([
            case("status", "http2", http2),
            case("status", "408-half-a-body", half_a_body),
            case("status", "head-byte-by-byte", head_byte_by_byte),
            case("status", "head-in-two-pieces", head_in_two_pieces),
        ])
        .collect()
}

/// Timeouts short enough to wait for, and long enough for a head in one packet.
fn impatient() -> Limits {
    Limits { head_timeout: Duration::from_millis(300), body_stall_timeout: Duration::from_millis(300), ..quick() }
}

async fn refused(status: u16, send: &str) {
    let app = App::echo().await;
    let mut proxy = Proxy::with(impatient(), vec![upstream("ins_1", app.address)]).await;
    let mut client = client::tls(&proxy).await;
    let send = send.replace("{host}", HOST).replace("{long}", &"a".repeat(20_000));
    client.send(&send.replace("{fields}", &"X: y\r\n".repeat(100))).await;
    let response = client.response(false).await.unwrap();
    assert_eq!((response.status, response.header("connection")), (status, Some("close")), "{}", response.text());
    assert!(client.at_end().await);
    assert_eq!(app.connections(), 0);
    proxy.stats_until(|stats| stats.malformed_requests == 1).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 200);
}

async fn half_a_body() {
    let app = App::echo().await;
    let proxy = Proxy::with(impatient(), vec![upstream("ins_1", app.address)]).await;
    let mut client = client::tls(&proxy).await;
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 5\r\n\r\nhel")).await;
    let response = client.response(false).await.unwrap();
    assert_eq!((response.status, response.header("connection")), (408, Some("close")));
    assert!(client.at_end().await);
}

async fn http2() {
    let app = App::echo().await;
    let mut proxy = Proxy::before(app.address).await;
    let mut client = Http2Client::connect(&ProxyEndpoint::of(&proxy)).await;
    let head = |path: &str, more: &[(&[u8], &[u8])]| {
        let line: [(&[u8], &[u8]); 4] = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", HOST.as_bytes()),
            (b":path", path.as_bytes()),
        ];
        block(&[&line, more].concat())
    };
    let mut many = head("/", &[]);
    for number in 0..101 {
        literal(format!("x-{number}").as_bytes(), b"y", &mut many);
    }
    let asked = [
        (400, head("/", &[(b"host", b"other.localhost")])),
        (400, head("/", &[(b"content-length", b"+1")])),
        (414, head(&format!("/{}", "a".repeat(16_500)), &[])),
        (417, head("/", &[(b"expect", b"x")])),
        (431, many),
    ];
    for (number, (status, head)) in asked.iter().enumerate() {
        let stream = number as u32 * 2 + 1;
        let mut pieces = head.chunks(16_000);
        let first = pieces.next().unwrap();
        let flags = if head.len() > first.len() { END_STREAM } else { END_STREAM | END_HEADERS };
        client.send(&frame(HEADERS, flags, stream, first)).await;
        for piece in pieces {
            client.send(&frame(crate::frames::CONTINUATION, END_HEADERS, stream, piece)).await;
        }
        let answer = client.answer(stream).await;
        // The `h2` crate itself resets malformed streams.
        let by_library = *status == 400 && matches!(answer, StreamOutcome::Reset(1));
        assert!(answer == StreamOutcome::Status(*status) || by_library, "{status}: {answer:?}");
    }
    assert_eq!(app.connections(), 0);
    proxy.stats_until(|stats| stats.malformed_requests >= 4).await;
}

async fn head_byte_by_byte() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for byte in get("/slow").as_bytes() {
        client.send_bytes(&[*byte]).await;
    }
    assert!(client.response(false).await.unwrap().text().starts_with("GET /slow "));
}

async fn head_in_two_pieces() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let request = get("/parted");
    for cut in 1..request.len() {
        client.send(&request[..cut]).await;
        client.send(&request[cut..]).await;
        assert!(client.response(false).await.unwrap().text().starts_with("GET /parted "), "{cut}");
    }
}
