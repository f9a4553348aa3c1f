//! WebSockets between HTTP/1.1 upgrades and HTTP/2 extended CONNECT, in every combination.

use crate::support::app::App;
use crate::support::client;
use crate::support::http2::{self, Http2App, connect, proxy_before, read, send_all};
use crate::support::{HOST, Proxy};
use bytes::Bytes;
use h2::ext::Protocol;
use h2::{RecvStream, SendStream};
use http::{Request, Response};

/// The RFC's own pair.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

fn extended_connect(path: &str) -> Request<()> {
    let ask = Request::builder().method("CONNECT").uri(format!("https://{HOST}{path}"));
    ask.header("sec-websocket-version", "13")
        .header("sec-websocket-protocol", "chat")
        .extension(Protocol::from_static("websocket"))
        .body(())
        .unwrap()
}

fn upgrade(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {KEY}\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
    )
}

/// An app of HTTP/1.1 that upgrades and then sends everything back, in capitals, until the end. `/wrong` proves nothing.
async fn http1_app() -> App {
    App::new(|mut peer, _| async move {
        let Some(request) = peer.request().await else { return };
        assert!(request.head.starts_with("GET /"), "{}", request.head);
        assert_eq!(request.header("connection"), Some("upgrade"));
        assert_eq!(request.header("upgrade"), Some("websocket"));
        assert_eq!(request.header("sec-websocket-version"), Some("13"));
        if request.head.starts_with("GET /denied") {
            return peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
        }
        if request.head.starts_with("GET /ordinary") {
            return peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await;
        }
        let key = request.header("sec-websocket-key").unwrap();
        let accept = if request.head.starts_with("GET /wrong") { ACCEPT.to_owned() } else { accept(key) };
        peer.write(&format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\
             Sec-WebSocket-Protocol: chat\r\n\r\naloha "
        ))
        .await;
        while peer.fill().await {
            let said = std::mem::take(&mut peer.unread).to_ascii_uppercase();
            peer.write_bytes(&said).await;
        }
        peer.write(" BYE").await;
    })
    .await
}

fn accept(key: &str) -> String {
    use base64::Engine as _;
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(hash)
}

/// The same by HTTP/2.
async fn http2_app() -> Http2App {
    let mut builder = h2::server::Builder::new();
    builder.enable_connect_protocol();
    Http2App::with(builder, |(request, mut respond)| async move {
        assert_eq!(request.method(), "CONNECT");
        assert_eq!(request.extensions().get::<Protocol>().unwrap().as_str(), "websocket");
        assert_eq!(request.headers()["sec-websocket-version"], "13");
        for name in ["sec-websocket-key", "connection", "upgrade"] {
            assert!(!request.headers().contains_key(name), "{name}");
        }
        if request.uri().path() == "/denied" {
            let response = Response::builder().status(403).body(()).unwrap();
            respond.send_response(response, false).unwrap().send_data(Bytes::from_static(b"no"), true).unwrap();
            return;
        }
        let response = Response::builder().header("sec-websocket-protocol", "chat").body(()).unwrap();
        let mut send = respond.send_response(response, false).unwrap();
        send_all(&mut send, Bytes::from_static(b"aloha "), false).await;
        let mut body = request.into_body();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            body.flow_control().release_capacity(data.len()).unwrap();
            send_all(&mut send, data.to_ascii_uppercase().into(), false).await;
        }
        send.send_data(Bytes::from_static(b" BYE"), true).unwrap();
    })
    .await
}

async fn hear(body: &mut RecvStream, expected: &[u8]) {
    let mut heard = Vec::new();
    while heard.len() < expected.len() {
        let data = body.data().await.unwrap().unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        heard.extend_from_slice(&data);
    }
    assert!(heard == expected, "{} bytes", heard.len());
}

/// A conversation of an HTTP/2 client: there, back, much, and the end from its side.
async fn converse(mut send: SendStream<Bytes>, body: &mut RecvStream) {
    hear(body, b"aloha ").await;
    for said in ["a", "second", "and third"] {
        send_all(&mut send, Bytes::from(said), false).await;
        hear(body, said.to_ascii_uppercase().as_bytes()).await;
    }
    let sending = tokio::spawn(async move {
        send_all(&mut send, vec![b'x'; 500_000].into(), false).await;
        send.send_data(Bytes::new(), true).unwrap();
    });
    let mut rest = vec![b'X'; 500_000];
    rest.extend_from_slice(b" BYE");
    hear(body, &rest).await;
    sending.await.unwrap();
    assert!(body.data().await.is_none());
}

async fn over_http1(proxy: &Proxy) {
    let mut client = client::tls(proxy).await;
    client.send(&upgrade("/ws")).await;
    let (status, head) = client.head().await.unwrap();
    assert_eq!((status, crate::support::app::header(&head, "sec-websocket-accept")), (101, Some(ACCEPT)), "{head}");
    assert_eq!(crate::support::app::header(&head, "sec-websocket-protocol"), Some("chat"));
    assert_eq!(crate::support::app::header(&head, "upgrade"), Some("websocket"));
    client.send("there").await;
    while client.unread.len() < 11 {
        assert!(client.fill().await);
    }
    assert_eq!(client.unread, b"aloha THERE");
}

#[tokio::test]
async fn http_2_to_http_1() {
    let app = App::new(|mut peer, _| async move {
        // The one ordinary request that `over_http2` begins with.
        peer.request().await;
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let upgrading = http1_app().await;
    let mut client = connect(&proxy).await;
    assert_eq!(http2::get(&client, "/nothing").await.0, 502);
    proxy.route(vec![crate::support::upstream("ins_2", upgrading.address)]).await;
    assert!(client.is_extended_connect_protocol_enabled());
    let (response, send) = client.send_request(extended_connect("/ws"), false).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    for name in ["sec-websocket-accept", "content-length", "upgrade"] {
        assert!(!response.headers().contains_key(name), "{name}");
    }
    assert_eq!(response.headers()["sec-websocket-protocol"], "chat");
    converse(send, &mut response.into_body()).await;
    // A response without the WebSocket proof opens no tunnel: the client would take any success for one.
    for (path, status) in [("/wrong", 502), ("/ordinary", 502), ("/denied", 403)] {
        let (response, _send) = client.send_request(extended_connect(path), false).unwrap();
        assert_eq!(response.await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn http_2_to_http_2() {
    let refuses = Http2App::new(|(_, mut respond)| async move { respond.send_reset(h2::Reason::INTERNAL_ERROR) }).await;
    let mut proxy = proxy_before(refuses.address).await;
    let client = connect(&proxy).await;
    assert_eq!(http2::get(&client, "/nothing").await.0, 502);
    let app = http2_app().await;
    let snapshot = http2::snapshot(&proxy, vec![crate::support::upstream("ins_2", app.address)], Default::default());
    proxy.apply(snapshot).await.unwrap();
    let mut client = client;
    let (response, send) = client.send_request(extended_connect("/ws"), false).unwrap();
    let response = response.await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["sec-websocket-protocol"]),
        (200, &"chat".parse().unwrap())
    );
    assert!(!response.headers().contains_key("sec-websocket-accept"));
    converse(send, &mut response.into_body()).await;
    let (response, _send) = client.send_request(extended_connect("/denied"), false).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 403);
    assert_eq!(read(&mut response.into_body()).await.unwrap(), b"no");
}

#[tokio::test]
async fn http_1_to_http_2() {
    let app = http2_app().await;
    let proxy = proxy_before(app.address).await;
    over_http1(&proxy).await;
}

#[tokio::test]
async fn http_1_to_http_1() {
    let app = http1_app().await;
    let proxy = Proxy::before(app.address).await;
    over_http1(&proxy).await;
}

/// Drains the proxy while an HTTP/2 client has an open WebSocket: the Close arrives between two frames, the client
/// answers, and all ends.
async fn told_of_a_drain(proxy: &Proxy) {
    let mut client = connect(proxy).await;
    let (response, mut send) = client.send_request(extended_connect("/ws"), false).unwrap();
    let mut body = response.await.unwrap().into_body();
    // The greeting is parsed as frames: the header of a text frame that announces 108 bytes, with four of them.
    hear(&mut body, b"aloha ").await;
    send_all(&mut send, vec![b'a'; 104].into(), false).await;
    hear(&mut body, &[b'A'; 104]).await;
    proxy.drain(20_000).await;
    hear(&mut body, &[0x88, 2, 0x03, 0xf4]).await;
    send_all(&mut send, Bytes::from_static(&[0x88, 0x80, 0, 0, 0, 0]), true).await;
    // Later bytes of the app do not reach the client.
    while let Some(data) = body.data().await {
        assert!(data.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_client_of_http_2_is_told_of_a_drain_as_one_of_http_1_is() {
    let (one, other) = (http1_app().await, http2_app().await);
    let (mut proxy, mut other) = (Proxy::before(one.address).await, proxy_before(other.address).await);
    tokio::join!(told_of_a_drain(&proxy), told_of_a_drain(&other));
    // Nothing is left to wait for.
    for proxy in [&mut proxy, &mut other] {
        (&mut proxy.served).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_app_whose_http_2_has_no_websockets_is_a_bad_gateway_and_no_other_tunnel_is_opened() {
    let app = Http2App::new(http2::echo).await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    assert_eq!(client.ask(&upgrade("/ws")).await.status, 502);
    let mut client = connect(&proxy).await;
    assert_eq!(http2::get(&client, "/").await.0, 200);
    let (response, _send) = client.send_request(extended_connect("/ws"), false).unwrap();
    assert_eq!(response.await.unwrap().status(), 502);
    let mut other = extended_connect("/ws");
    other.extensions_mut().insert(Protocol::from_static("connect-udp"));
    let (response, _send) = client.send_request(other, false).unwrap();
    assert_eq!(response.await.unwrap().status(), 405);
}
