//! Conformance with RFC 9114 and RFC 9204: each case sends invalid bytes over QUIC and expects the stream or
//! connection error of the RFC. Each case is one requirement of h3spec.

use std::time::Duration;

use crate::support::app::App;
use crate::support::{HOST, Proxy, quick, upstream};
use quinn::{Connection, ConnectionError, ReadToEndError, RecvStream, SendStream, VarInt};

const SETTINGS: &[u8] = &[0x00, 0x04, 0x00];

/// Result that the client observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The connection was closed with this code.
    Closed(u64),
    /// The stream was reset or refused with this code, and the connection lives.
    Reset(u64),
    /// An answer, and the connection lives.
    Status(u16),
}

/// A client that has a connection and nothing of HTTP/3 yet.
async fn connect(proxy: &Proxy) -> (quinn::Endpoint, Connection) {
    let endpoint = crate::quic::endpoint();
    let connection =
        endpoint.connect_with(crate::quic::config(proxy, |_| ()), proxy.https, HOST).unwrap().await.unwrap();
    (endpoint, connection)
}

async fn uni(connection: &Connection, bytes: &[u8]) -> SendStream {
    let mut stream = connection.open_uni().await.unwrap();
    // The connection may be closed for it before all is written.
    drop(stream.write_all(bytes).await);
    stream
}

/// The code that the server closes the connection with.
async fn closed(connection: &Connection) -> Seen {
    match tokio::time::timeout(Duration::from_secs(20), connection.closed()).await {
        Ok(ConnectionError::ApplicationClosed(close)) => Seen::Closed(close.error_code.into_inner()),
        other => panic!("{other:?}"),
    }
}

/// Sends a request stream of these bytes and returns the result; `ends` ends the stream.
async fn ask(connection: &Connection, bytes: &[u8], ends: bool) -> Seen {
    let (mut send, mut receive): (SendStream, RecvStream) = connection.open_bi().await.unwrap();
    drop(send.write_all(bytes).await);
    if ends {
        drop(send.finish());
    }
    match receive.read_to_end(1_000_000).await {
        Ok(answer) => Seen::Status(status(&answer)),
        Err(ReadToEndError::Read(quinn::ReadError::Reset(code))) => Seen::Reset(VarInt::into_inner(code)),
        Err(ReadToEndError::Read(quinn::ReadError::ConnectionLost(_))) => closed(connection).await,
        Err(error) => panic!("{error}"),
    }
}

/// The status in a HEADERS frame of ours.
fn status(answer: &[u8]) -> u16 {
    assert_eq!(answer.first(), Some(&0x01), "{answer:?}");
    let start = if answer[1] < 0x40 { 2 } else { 3 };
    let mut fields = fairlead_h3::Fields::default();
    let (length, _) = fairlead_h3::read_varint(&answer[1..]).unwrap();
    fairlead_h3::decode(&answer[start..start + length as usize], 100_000, &mut fields).unwrap();
    let (name, value) = fields.iter().next().unwrap();
    assert_eq!(name, b":status");
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    fairlead_h3::write_varint(kind, &mut out);
    fairlead_h3::write_varint(payload.len() as u64, &mut out);
    out.extend_from_slice(payload);
    out
}

fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    fairlead_h3::encode_prefix(&mut block);
    for (name, value) in fields {
        // Spelt out, so that names stay as they are.
        block.push(0x20 | name.len().min(7) as u8);
        if name.len() >= 7 {
            block.push((name.len() - 7) as u8);
        }
        block.extend_from_slice(name.as_bytes());
        block.push(value.len().min(127) as u8);
        if value.len() >= 127 {
            let mut rest = value.len() - 127;
            while rest >= 128 {
                block.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            block.push(rest as u8);
        }
        block.extend_from_slice(value.as_bytes());
    }
    frame(0x1, &block)
}

const GET: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", HOST)];
const POST: [(&str, &str); 4] = [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", HOST)];

fn get_with(more: &[(&'static str, &'static str)]) -> Vec<u8> {
    headers(&[&GET[..], more].concat())
}

fn post_with(more: &[(&'static str, &'static str)], rest: &[u8]) -> Vec<u8> {
    [headers(&[&POST[..], more].concat()), rest.to_vec()].concat()
}

#[tokio::test]
async fn heads_that_are_never_whole_do_not_fill_the_memory() {
    let proxy = proxy().await;
    let (_endpoint, connection) = connect(&proxy).await;
    let _control = uni(&connection, SETTINGS).await;
    // Each is within what one may be; all together are more than one client has to say.
    let unfinished = &frame(0x1, &[0; 60_000])[..50_000];
    let mut streams = Vec::new();
    for _ in 0..100 {
        let Ok((mut send, receive)) = connection.open_bi().await else { break };
        if send.write_all(unfinished).await.is_err() {
            break;
        }
        streams.push((send, receive));
    }
    assert_eq!(closed(&connection).await, Seen::Closed(0x107));
}

async fn proxy() -> Proxy {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    Proxy::with(quick(), vec![upstream("ins_1", app.address)]).await
}

#[tokio::test]
async fn faults_of_unidirectional_streams_close_the_connection() {
    let proxy = proxy().await;
    let cases: [(&str, &[&[u8]], u64); 20] = [
        ("a frame before SETTINGS (6.2.1)", &[&[0x00, 0x21, 0x00]], 0x10a),
        ("GOAWAY before SETTINGS", &[&[0x00, 0x07, 0x01, 0x00]], 0x10a),
        ("SETTINGS twice (7.2.4)", &[&[0x00, 0x04, 0x00, 0x04, 0x00]], 0x105),
        ("DATA on the control stream (7.2.1)", &[&[0x00, 0x04, 0x00, 0x00, 0x01, 0x00]], 0x105),
        ("HEADERS on the control stream (7.2.2)", &[&[0x00, 0x04, 0x00, 0x01, 0x00]], 0x105),
        ("PUSH_PROMISE on the control stream (7.2.5)", &[&[0x00, 0x04, 0x00, 0x05, 0x01, 0x00]], 0x105),
        ("a frame of HTTP/2 (7.2.8)", &[&[0x00, 0x04, 0x00, 0x09, 0x00]], 0x105),
        ("a setting twice (7.2.4)", &[&[0x00, 0x04, 0x04, 0x06, 0x01, 0x06, 0x01]], 0x109),
        ("a setting of HTTP/2 (7.2.4.1)", &[&[0x00, 0x04, 0x02, 0x03, 0x01]], 0x109),
        ("a setting that is cut (7.1)", &[&[0x00, 0x04, 0x01, 0x06]], 0x106),
        ("GOAWAY with more than an id (7.1)", &[&[0x00, 0x04, 0x00, 0x07, 0x02, 0x00, 0x00]], 0x106),
        ("GOAWAY that grows (5.2)", &[&[0x00, 0x04, 0x00, 0x07, 0x01, 0x00, 0x07, 0x01, 0x04]], 0x108),
        ("MAX_PUSH_ID that shrinks (7.2.7)", &[&[0x00, 0x04, 0x00, 0x0d, 0x01, 0x05, 0x0d, 0x01, 0x04]], 0x108),
        ("CANCEL_PUSH of nothing promised (7.2.3)", &[&[0x00, 0x04, 0x00, 0x03, 0x01, 0x00]], 0x108),
        ("a second control stream (6.2.1)", &[SETTINGS, SETTINGS], 0x103),
        ("a second encoder stream (RFC 9204, 4.2)", &[SETTINGS, &[0x02], &[0x02]], 0x103),
        ("a second decoder stream (RFC 9204, 4.2)", &[SETTINGS, &[0x03], &[0x03]], 0x103),
        ("a push stream of a client (6.2.2)", &[SETTINGS, &[0x01, 0x00]], 0x103),
        ("an insert into a table without room (RFC 9204, 3.2.2)", &[SETTINGS, &[0x02, 0x41, b'a', 0x01, b'b']], 0x201),
        ("an acknowledgment of nothing sent (RFC 9204, 4.4.1)", &[SETTINGS, &[0x03, 0x84]], 0x202),
    ];
    for (name, streams, code) in cases {
        let (_endpoint, connection) = connect(&proxy).await;
        let mut open = Vec::new();
        for bytes in streams {
            open.push(uni(&connection, bytes).await);
        }
        assert_eq!(closed(&connection).await, Seen::Closed(code), "{name}");
    }
}

#[tokio::test]
async fn critical_streams_must_not_end() {
    let proxy = proxy().await;
    for bytes in [SETTINGS, &[0x02], &[0x03]] {
        for by_reset in [false, true] {
            let (_endpoint, connection) = connect(&proxy).await;
            let mut stream = uni(&connection, bytes).await;
            if by_reset {
                // So that its kind is known before it goes.
                assert_eq!(ask(&connection, &get_with(&[]), true).await, Seen::Status(200));
                drop(stream.reset(VarInt::from_u32(0)));
            } else {
                drop(stream.finish());
            }
            assert_eq!(closed(&connection).await, Seen::Closed(0x104), "{bytes:?} by reset: {by_reset}");
        }
    }
    // Nor may the client stop ours (6.2.1).
    let (_endpoint, connection) = connect(&proxy).await;
    let mut control = connection.accept_uni().await.unwrap();
    let mut settings = [0; 3];
    control.read_exact(&mut settings).await.unwrap();
    assert_eq!(settings[..2], [0x00, 0x04]);
    drop(control.stop(VarInt::from_u32(0)));
    assert_eq!(closed(&connection).await, Seen::Closed(0x104));
}

#[tokio::test]
async fn faults_of_frames_on_a_request_close_the_connection() {
    let proxy = proxy().await;
    let head = get_with(&[]);
    let after = |rest: &[u8]| [&head[..], rest].concat();
    let trailed = [&post_with(&[], &frame(0x0, b"x"))[..], &headers(&[("x-t", "1")])].concat();
    let cases = [
        ("DATA before HEADERS (4.1)", frame(0x0, b"x"), 0x105),
        ("SETTINGS on a request (7.2.4)", after(&[0x04, 0x00]), 0x105),
        ("GOAWAY on a request (7.2.6)", after(&[0x07, 0x01, 0x00]), 0x105),
        ("MAX_PUSH_ID on a request (7.2.7)", after(&[0x0d, 0x01, 0x00]), 0x105),
        ("CANCEL_PUSH on a request (7.2.3)", after(&[0x03, 0x01, 0x00]), 0x105),
        ("PUSH_PROMISE of a client (7.2.5)", after(&[0x05, 0x01, 0x00]), 0x105),
        ("a frame of HTTP/2 (7.2.8)", after(&[0x06, 0x00]), 0x105),
        ("DATA after trailers (4.1)", [&trailed[..], &frame(0x0, b"x")].concat(), 0x105),
        ("HEADERS after trailers (4.1)", [&trailed[..], &headers(&[("x-u", "1")])].concat(), 0x105),
        ("a HEADERS frame that is cut (7.1)", head[..head.len() - 1].to_vec(), 0x106),
        ("a DATA frame that is cut (7.1)", post_with(&[], &[0x00, 0x05, b'x']), 0x106),
        ("a frame's header that is cut (7.1)", post_with(&[], &[0x00]), 0x106),
        ("a block that is no block (RFC 9204, 2.2)", frame(0x1, &[]), 0x200),
        ("a required insert (RFC 9204, 2.2.1)", frame(0x1, &[0x02, 0x00, 0x80]), 0x200),
        ("the dynamic table (RFC 9204, 3.2.2)", frame(0x1, &[0x00, 0x00, 0x80]), 0x200),
        ("beyond the static table (RFC 9204, 3.1)", frame(0x1, &[0x00, 0x00, 0xff, 0x24]), 0x200),
        ("a base below nothing (RFC 9204, 4.5.1.2)", frame(0x1, &[0x00, 0x80, 0xd1]), 0x200),
        ("Huffman code padded with zeros (RFC 7541, 5.2)", frame(0x1, &[0x00, 0x00, 0x51, 0x81, 0x18]), 0x200),
    ];
    for (name, bytes, code) in cases {
        let (_endpoint, connection) = connect(&proxy).await;
        let _control = uni(&connection, SETTINGS).await;
        assert_eq!(ask(&connection, &bytes, true).await, Seen::Closed(code), "{name}");
    }
}

#[tokio::test]
async fn malformed_requests_are_errors_of_their_stream() {
    let proxy = proxy().await;
    let (_endpoint, connection) = connect(&proxy).await;
    let _control = uni(&connection, SETTINGS).await;
    let message = Seen::Reset(0x10e);
    let lacking = |name: &str| headers(&GET.into_iter().filter(|(other, _)| *other != name).collect::<Vec<_>>());
    let cases = [
        ("without :method (4.3.1)", lacking(":method"), message),
        ("without :scheme (4.3.1)", lacking(":scheme"), message),
        ("without :path (4.3.1)", lacking(":path"), message),
        ("without :authority or host (4.3.1)", lacking(":authority"), message),
        ("a pseudo-field twice (4.3.1)", get_with(&[(":path", "/")]), message),
        ("an unknown pseudo-field (4.3)", get_with(&[(":nothing", "1")]), message),
        ("a response's pseudo-field (4.3)", get_with(&[(":status", "200")]), message),
        ("a pseudo-field after others (4.3)", headers(&[GET[0], GET[1], GET[2], ("x", "1"), GET[3]]), message),
        ("an empty :path (4.3.1)", headers(&[GET[0], GET[1], (":path", ""), GET[3]]), message),
        ("a name in upper case (4.2)", get_with(&[("Upper", "1")]), message),
        ("connection (4.2)", get_with(&[("connection", "close")]), message),
        ("transfer-encoding (4.2)", get_with(&[("transfer-encoding", "chunked")]), message),
        ("te of another than trailers (4.2)", get_with(&[("te", "gzip")]), message),
        ("a line end in a value (10.3)", get_with(&[("x", "a\r\nb: c")]), message),
        ("a NUL in a value (10.3)", get_with(&[("x", "a\0b")]), message),
        ("a blank in a name (10.3)", get_with(&[("x y", "1")]), message),
        ("a method that is no token", headers(&[(":method", "GE T"), GET[1], GET[2], GET[3]]), message),
        ("two hosts that differ (4.3.1)", get_with(&[("host", "other.localhost")]), Seen::Status(400)),
        ("a length that is no number", post_with(&[("content-length", "x")], &frame(0x0, b"x")), Seen::Status(400)),
        (
            "a length that is too short (4.1.2)",
            post_with(&[("content-length", "1")], &frame(0x0, b"xy")),
            Seen::Status(400),
        ),
        (
            "a length that is too long (4.1.2)",
            post_with(&[("content-length", "3")], &frame(0x0, b"xy")),
            Seen::Status(400),
        ),
        ("a length and no content (4.1.2)", post_with(&[("content-length", "3")], b""), Seen::Status(400)),
        ("an end without a request (4.1)", frame(0x21, b"grease"), Seen::Reset(0x10d)),
        ("an end without anything (4.1)", Vec::new(), Seen::Reset(0x10d)),
        ("fields larger than we take (4.2.2)", frame(0x1, &[0x00; 70_000]), Seen::Status(431)),
        ("CONNECT to a host (4.4)", headers(&[(":method", "CONNECT"), (":authority", HOST)]), Seen::Status(405)),
    ];
    for (name, bytes, seen) in cases {
        assert_eq!(ask(&connection, &bytes, true).await, seen, "{name}");
    }
    // And all the while the connection has served.
    assert_eq!(ask(&connection, &get_with(&[]), true).await, Seen::Status(200));
}

#[tokio::test]
async fn unknown_frames_streams_and_settings_are_ignored() {
    let proxy = proxy().await;
    let (_endpoint, connection) = connect(&proxy).await;
    // Reserved settings and frames, MAX_PUSH_ID, GOAWAY, and an unknown frame longer than a packet.
    let control = [&[0x00, 0x04, 0x03, 0x21, 0x40, 0x7f][..], &frame(0x21, &[7; 3000]), &[0x0d, 0x01, 0x08]].concat();
    let _control = uni(&connection, &control).await;
    let _encoder = uni(&connection, &[0x02, 0x20]).await;
    let _decoder = uni(&connection, &[0x03, 0x44]).await;
    // A stream of an unknown kind is refused, and nothing else happens (6.2.3).
    let unknown = uni(&connection, &[0x21, 1, 2, 3]).await;
    assert_eq!(unknown.stopped().await.unwrap(), Some(VarInt::from_u32(0x103)));
    let request = [frame(0x21, b"first"), get_with(&[]), frame(0x40, b"between"), frame(0x21, b"")].concat();
    assert_eq!(ask(&connection, &request, true).await, Seen::Status(200));
    let request =
        [post_with(&[("content-length", "4")], &frame(0x0, b"ab")), frame(0x2f, b"z"), frame(0x0, b"cd")].concat();
    assert_eq!(ask(&connection, &request, true).await, Seen::Status(200));
    // No fault, and no end yet: a request goes on while its rest is due.
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    for byte in post_with(&[], &frame(0x0, b"slow")) {
        send.write_all(&[byte]).await.unwrap();
    }
    send.finish().unwrap();
    assert_eq!(status(&receive.read_to_end(10_000).await.unwrap()), 200);
}
