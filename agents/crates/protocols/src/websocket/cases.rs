//! WebSocket cases by Autobahn's sections: framing, control frames, reserved bits and opcodes, fragments, UTF-8,
//! closing, limits, extensions. Further cases of a proxy: pieces, half-closed connections, refused upgrades.

use futures_util::{SinkExt, StreamExt};
use libtest_mimic::Trial;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use super::frames::{BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, RSV1, RawWebSocket, TEXT, frame, request, unmasked};
use super::{binary, config, echo, text};
use crate::case::case;
use crate::proxy_endpoint::ProxyEndpoint;
use crate::support::app::App;
use crate::support::client::{self, Client, get};
use crate::support::{HOST, Proxy};

const SIZES: [usize; 11] = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537, 1 << 20, 16 << 20];
const CODES_GOOD: [u16; 13] = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
const CODES_BAD: [u16; 6] = [0, 999, 1005, 1006, 1015, 5000];

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        case("websocket", "many-messages-in-one-write", many_messages_in_one_write),
        case("websocket", "byte-by-byte", byte_by_byte),
        case("websocket", "fragments-with-pings-between", fragments_with_pings_between),
        case("websocket", "a-thousand-fragments", a_thousand_fragments),
        case("websocket", "character-cut-in-two-fragments", character_cut_in_two_fragments),
        case("websocket", "pong-nobody-asked-for", unsolicited_pong),
        case("websocket", "close-without-a-code", close_without_a_code),
        case("websocket", "frames-with-the-handshake", frames_with_the_handshake),
        case("websocket", "frames-with-the-answer", frames_with_the_answer),
        case("websocket", "deflate-is-between-the-ends", deflate_is_between_the_ends),
        case("websocket", "subprotocol-is-between-the-ends", subprotocol_is_between_the_ends),
        case("websocket", "client-closes-its-half", client_closes_its_half),
        case("websocket", "app-closes-its-half", app_closes_its_half),
        case("websocket", "refused-upgrade-leaves-the-connection", refused_upgrade),
        case("websocket", "handshake-of-another-version", another_version),
        case("websocket", "both-ways-at-once", both_ways_at_once),
    ];
    for size in SIZES {
        trials.push(case("websocket", format!("text-{size}"), move || echoes(text(size))));
        trials.push(case("websocket", format!("binary-{size}"), move || echoes(binary(size))));
    }
    for length in [0, 1, 125] {
        trials.push(case("websocket", format!("ping-{length}"), move || ping(length)));
    }
    for code in CODES_GOOD {
        trials.push(case("websocket", format!("close-{code}"), move || close(code)));
    }
    for code in CODES_BAD {
        trials.push(broken(format!("close-{code}"), frame(FIN | CLOSE, &code.to_be_bytes())));
    }
    for (bit, name) in [(0x40, "rsv1"), (0x20, "rsv2"), (0x10, "rsv3"), (0x70, "all-reserved-bits")] {
        trials.push(broken(format!("{name}-in-a-message"), frame(FIN | bit | TEXT, b"hello")));
        trials.push(broken(format!("{name}-in-a-ping"), frame(FIN | bit | PING, b"hello")));
    }
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        trials.push(broken(format!("opcode-{opcode}"), frame(FIN | opcode, b"")));
        trials.push(broken(format!("opcode-{opcode}-with-a-payload"), frame(FIN | opcode, b"hello")));
    }
    trials.extend([
        broken("ping-of-126", frame(FIN | PING, &[7; 126])),
        broken("ping-in-fragments", frame(PING, b"hello")),
        broken("close-of-126", frame(FIN | CLOSE, &[7; 126])),
        broken("close-of-one-byte", frame(FIN | CLOSE, &[3])),
        broken("close-with-bad-text", frame(FIN | CLOSE, &[3, 0xe8, 0xff])),
        broken("frame-without-a-mask", unmasked(FIN | TEXT, b"hello")),
        broken("continuation-of-nothing", frame(FIN | CONTINUATION, b"hello")),
        broken("message-within-a-message", [frame(TEXT, b"he"), frame(FIN | TEXT, b"llo")].concat()),
        broken(
            "continuation-after-the-end",
            [frame(TEXT, b"he"), frame(FIN | CONTINUATION, b"llo"), frame(FIN | CONTINUATION, b"!")].concat(),
        ),
        broken("text-with-a-bad-byte", frame(FIN | TEXT, b"a\xffb")),
        broken("text-with-a-surrogate", frame(FIN | TEXT, b"\xed\xa0\x80")),
        broken("text-with-an-overlong-slash", frame(FIN | TEXT, b"\xc0\xaf")),
        broken("text-beyond-unicode", frame(FIN | TEXT, b"\xf4\x90\x80\x80")),
        broken("text-cut-within-a-character", frame(FIN | TEXT, b"a\xe2\x82")),
        broken("bad-byte-in-the-second-fragment", [frame(TEXT, b"good"), frame(FIN | CONTINUATION, b"\xff")].concat()),
    ]);
    trials
}

async fn before_echo() -> (Proxy, ProxyEndpoint) {
    let proxy = Proxy::before(echo().await).await;
    let endpoint = ProxyEndpoint::of(&proxy);
    (proxy, endpoint)
}

/// Creates a case of a protocol violation: it reaches the endpoint unchanged, which closes, and the connection ends.
fn broken(name: impl Into<String>, bytes: Vec<u8>) -> Trial {
    case("websocket", format!("broken/{}", name.into()), move || async move {
        let (_proxy, endpoint) = before_echo().await;
        let mut socket = RawWebSocket::open(&endpoint).await;
        socket.send(&bytes).await;
        let (code, _) = socket.until_closed().await;
        assert!(matches!(code, Some(1000..=1011)), "{code:?}");
    })
}

async fn echoes(message: Message) {
    let (_proxy, endpoint) = before_echo().await;
    let url = format!("wss://{HOST}/socket");
    let stream = endpoint.open("http/1.1").await;
    let (mut socket, _) = tokio_tungstenite::client_async_with_config(url, stream, Some(config())).await.unwrap();
    for _ in 0..3 {
        socket.send(message.clone()).await.unwrap();
        assert!(socket.next().await.unwrap().unwrap() == message, "it came back changed");
    }
    socket.close(None).await.unwrap();
    while let Some(Ok(last)) = socket.next().await {
        assert!(last.is_close());
    }
}

async fn many_messages_in_one_write() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    let all: Vec<u8> = (0..1000).flat_map(|number| frame(FIN | TEXT, format!("{number}").as_bytes())).collect();
    socket.send(&all).await;
    for number in 0..1000 {
        assert_eq!(socket.next().await, Some((FIN | TEXT, number.to_string().into_bytes())));
    }
}

async fn byte_by_byte() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    for byte in frame(FIN | TEXT, &[b'a'; 300]) {
        socket.send(&[byte]).await;
    }
    assert_eq!(socket.next().await, Some((FIN | TEXT, vec![b'a'; 300])));
}

async fn fragments_with_pings_between() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    for piece in [frame(TEXT, b"one "), frame(FIN | PING, b"1"), frame(CONTINUATION, b"two "), frame(FIN | PING, b"2")]
    {
        socket.send(&piece).await;
    }
    socket.send(&frame(FIN | CONTINUATION, b"three")).await;
    assert_eq!(socket.next().await, Some((FIN | PONG, b"1".to_vec())));
    assert_eq!(socket.next().await, Some((FIN | PONG, b"2".to_vec())));
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"one two three".to_vec())));
}

async fn a_thousand_fragments() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&frame(BINARY, b"")).await;
    for _ in 0..1000 {
        socket.send(&frame(CONTINUATION, &[7; 100])).await;
    }
    socket.send(&frame(FIN | CONTINUATION, b"")).await;
    assert_eq!(socket.next().await, Some((FIN | BINARY, vec![7; 100_000])));
}

async fn character_cut_in_two_fragments() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&frame(TEXT, b"a\xe2\x82")).await;
    socket.send(&frame(FIN | CONTINUATION, b"\xac!")).await;
    assert_eq!(socket.next().await, Some((FIN | TEXT, "a€!".as_bytes().to_vec())));
}

async fn ping(length: usize) {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&frame(FIN | PING, &vec![9; length])).await;
    assert_eq!(socket.next().await, Some((FIN | PONG, vec![9; length])));
}

async fn unsolicited_pong() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&[frame(FIN | PONG, b"x"), frame(FIN | TEXT, b"y")].concat()).await;
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"y".to_vec())));
}

async fn close(code: u16) {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&frame(FIN | CLOSE, &[&code.to_be_bytes()[..], b"bye"].concat())).await;
    assert_eq!(socket.until_closed().await, (Some(code), Vec::new()));
}

async fn close_without_a_code() {
    let (_proxy, endpoint) = before_echo().await;
    let mut socket = RawWebSocket::open(&endpoint).await;
    socket.send(&frame(FIN | CLOSE, b"")).await;
    assert_eq!(socket.until_closed().await.1, Vec::new());
}

/// A client may send its first frames before the response to its handshake.
async fn frames_with_the_handshake() {
    let (_proxy, endpoint) = before_echo().await;
    let mut client = Client::new(endpoint.open("http/1.1").await);
    client.send_bytes(&[request("").as_bytes(), &frame(FIN | TEXT, b"early")].concat()).await;
    assert_eq!(client.head().await.unwrap().0, 101);
    let mut socket = RawWebSocket { client };
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"early".to_vec())));
}

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

async fn frames_with_the_answer() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write_bytes(&[SWITCH.as_bytes(), b"\r\n", &unmasked(FIN | TEXT, b"first")].concat()).await;
        while peer.fill().await {}
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut socket = RawWebSocket::open(&ProxyEndpoint::of(&proxy)).await;
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"first".to_vec())));
}

/// Only the endpoints negotiate extensions: the proxy forwards the offer, the response and compressed frames unchanged
/// (RFC 7692, 7.2.3.1).
async fn deflate_is_between_the_ends() {
    const OFFER: &str = "permessage-deflate; client_max_window_bits, permessage-deflate; server_no_context_takeover";
    const HELLO: [u8; 7] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let app = App::new(|mut peer, _| async move {
        let head = peer.head().await.unwrap();
        assert_eq!(crate::support::app::header(&head, "sec-websocket-extensions"), Some(OFFER));
        peer.write(&format!("{SWITCH}Sec-WebSocket-Extensions: permessage-deflate; x=\"y\"\r\n\r\n")).await;
        let sent = peer.exactly(frame(FIN | RSV1 | TEXT, &HELLO).len()).await;
        assert_eq!(sent, frame(FIN | RSV1 | TEXT, &HELLO));
        peer.write_bytes(&unmasked(FIN | RSV1 | TEXT, &HELLO)).await;
        while peer.fill().await {}
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&request(&format!("Sec-WebSocket-Extensions: {OFFER}\r\n"))).await;
    let (status, head) = client.head().await.unwrap();
    assert_eq!(status, 101);
    assert!(head.contains("Sec-WebSocket-Extensions: permessage-deflate; x=\"y\"\r\n"), "{head}");
    let mut socket = RawWebSocket { client };
    socket.send(&frame(FIN | RSV1 | TEXT, &HELLO)).await;
    assert_eq!(socket.next().await, Some((FIN | RSV1 | TEXT, HELLO.to_vec())));
}

async fn subprotocol_is_between_the_ends() {
    let app = App::new(|mut peer, _| async move {
        let head = peer.head().await.unwrap();
        assert_eq!(crate::support::app::header(&head, "sec-websocket-protocol"), Some("chat, superchat"));
        peer.write(&format!("{SWITCH}Sec-WebSocket-Protocol: superchat\r\n\r\n")).await;
        while peer.fill().await {}
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&request("Sec-WebSocket-Protocol: chat, superchat\r\n")).await;
    let (status, head) = client.head().await.unwrap();
    assert_eq!((status, crate::support::app::header(&head, "sec-websocket-protocol")), (101, Some("superchat")));
}

/// The app's frames still arrive after the client has closed its half.
async fn client_closes_its_half() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write(&format!("{SWITCH}\r\n")).await;
        while peer.fill().await {}
        peer.write_bytes(&unmasked(FIN | TEXT, b"last words")).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut socket = RawWebSocket::open(&ProxyEndpoint::of(&proxy)).await;
    socket.send(&frame(FIN | TEXT, b"x")).await;
    socket.client.stream.shutdown().await.unwrap();
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"last words".to_vec())));
    assert_eq!(socket.next().await, None);
}

async fn app_closes_its_half() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write_bytes(&[SWITCH.as_bytes(), b"\r\n", &unmasked(FIN | TEXT, b"bye")].concat()).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut socket = RawWebSocket::open(&ProxyEndpoint::of(&proxy)).await;
    assert_eq!(socket.next().await, Some((FIN | TEXT, b"bye".to_vec())));
    assert_eq!(socket.next().await, None);
}

async fn refused_upgrade() {
    for status in [200, 400, 403, 426] {
        let app = App::new(move |mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.write(&format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno")).await;
            }
        })
        .await;
        let proxy = Proxy::before(app.address).await;
        let mut client = client::tls(&proxy).await;
        assert_eq!(client.ask(&request("")).await.status, status);
        assert_eq!(client.ask(&get("/")).await.status, status);
    }
}

async fn another_version() {
    let (_proxy, endpoint) = before_echo().await;
    let mut client = Client::new(endpoint.open("http/1.1").await);
    client.send(&request("").replace("Version: 13", "Version: 12")).await;
    // The endpoint's own response, or its end.
    assert!(client.head().await.is_none_or(|(status, _)| (400..=502).contains(&status)));
}

async fn both_ways_at_once() {
    let (_proxy, endpoint) = before_echo().await;
    let stream = endpoint.open("http/1.1").await;
    let (socket, _) =
        tokio_tungstenite::client_async_with_config(format!("wss://{HOST}/"), stream, Some(config())).await.unwrap();
    let (mut sender, mut receiver) = socket.split();
    // More than all buffers on the way hold, so the reader has to keep up.
    let sending = tokio::spawn(async move {
        for number in 0..64 {
            sender.send(binary(100_000 + number)).await.unwrap();
        }
        sender
    });
    for number in 0..64 {
        assert!(receiver.next().await.unwrap().unwrap() == binary(100_000 + number), "{number}");
    }
    drop(sending.await.unwrap());
}
