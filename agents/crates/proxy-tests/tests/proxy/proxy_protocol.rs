//! PROXY protocol headers from trusted proxies: the client in the header is used as client.

use crate::support::app::App;
use crate::support::client::{Client, get};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::{ProxySettings, RoutePolicy};
use fairlead_proxy::Limits;
use prost::Message;
use rustls::pki_types::ServerName;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A proxy that trusts `trusted` and wants headers from there, on both listeners.
async fn proxy(limits: Limits, trusted: &str, app: &App) -> Proxy {
    let mut proxy = Proxy::bare(limits).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    let settings =
        ProxySettings { proxy_protocol: true, trusted_proxies: vec![trusted.to_owned()], ..ProxySettings::default() };
    snapshot.settings = settings.encode_to_vec();
    snapshot.routes[0].policy = RoutePolicy { serve_plain_http: true, ..RoutePolicy::default() }.encode_to_vec();
    proxy.apply(snapshot).await.unwrap();
    proxy
}

fn version_2() -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0f".to_vec();
    header.extend([192, 0, 2, 9, 10, 0, 0, 1, 0x30, 0x39, 1, 187, 4, 0, 0]);
    header
}

#[tokio::test]
async fn the_client_is_who_the_header_names_before_tls_too_and_however_its_bytes_come() {
    let app = App::echo().await;
    let proxy = proxy(quick(), "127.0.0.1/32", &app).await;
    let mut plain = Client::new(TcpStream::connect(proxy.http).await.unwrap());
    let line = format!("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n{}", get("/"));
    let response = plain.ask(&line).await;
    assert!(response.text().contains("\r\nx-forwarded-for: 192.0.2.7\r\n"), "{}", response.text());
    for pieces in [1, 7, 100] {
        let mut stream = TcpStream::connect(proxy.https).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for piece in version_2().chunks(pieces) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let name = ServerName::try_from(HOST).unwrap();
        let stream = TlsConnector::from(proxy.tls(&["http/1.1"])).connect(name, stream).await.unwrap();
        let response = Client::new(stream).ask(&get("/")).await;
        assert!(response.text().contains("\r\nx-forwarded-for: 192.0.2.9\r\n"), "{}", response.text());
    }
    // The proxy speaks for itself.
    let mut plain = Client::new(TcpStream::connect(proxy.http).await.unwrap());
    let response = plain.ask(&format!("PROXY UNKNOWN\r\n{}", get("/"))).await;
    assert!(response.text().contains("\r\nx-forwarded-for: 127.0.0.1\r\n"), "{}", response.text());
}

#[tokio::test]
async fn a_trusted_proxy_without_a_header_and_anyone_else_are_turned_away() {
    let app = App::echo().await;
    let trusting = proxy(quick(), "127.0.0.1/32", &app).await;
    for bytes in [get("/"), "PROXY TCP4 1.2.3.4\r\n".to_owned(), "\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0".to_owned()] {
        turned_away(&trusting, &bytes).await;
    }
    let other = proxy(quick(), "192.0.2.0/24", &app).await;
    for bytes in [get("/"), format!("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n{}", get("/"))] {
        turned_away(&other, &bytes).await;
    }
}

/// An end or a reset, and no byte.
async fn turned_away(proxy: &Proxy, bytes: &str) {
    for address in [proxy.http, proxy.https] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // It may be closed before all is said.
        drop(stream.write_all(bytes.as_bytes()).await);
        let mut answer = Vec::new();
        assert!(stream.read_to_end(&mut answer).await.is_err() || answer.is_empty(), "{bytes:?}");
        assert!(answer.is_empty(), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_header_that_does_not_end_is_not_waited_for() {
    let app = App::echo().await;
    let limits = Limits { handshake_timeout: Duration::from_millis(50), ..quick() };
    let proxy = proxy(limits, "127.0.0.1/32", &app).await;
    let mut stream = TcpStream::connect(proxy.http).await.unwrap();
    stream.write_all(b"PROXY TCP4 ").await.unwrap();
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).await.is_err() || answer.is_empty());
}
