//! HTTP/3 test client on an independent implementation: `h3` on `quinn`.
// Each test program uses its own part.
#![allow(dead_code, unreachable_pub)]

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use fairlead_tls::LocalAuthority;
use h3::client::{RequestStream, SendRequest};
use h3_quinn::{BidiStream, OpenStreams};
use http::{Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig};

use crate::support::{HOST, Proxy, client_tls};

pub type Send = SendRequest<OpenStreams, Bytes>;
pub type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

pub struct Quic {
    pub endpoint: Endpoint,
    pub connection: quinn::Connection,
    pub send: Send,
}

/// The client's side of TLS and QUIC.
pub fn config(proxy: &Proxy, change: impl FnOnce(&mut TransportConfig)) -> ClientConfig {
    let tls = proxy.tls(&["h3"]);
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let mut transport = TransportConfig::default();
    change(&mut transport);
    config.transport_config(Arc::new(transport));
    config
}

/// Returns the client configuration for a test that has only the authority.
pub fn client_config(authority: &LocalAuthority) -> ClientConfig {
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls(authority, &["h3"])).unwrap()))
}

pub fn endpoint() -> Endpoint {
    Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
}

pub async fn connect(proxy: &Proxy) -> Quic {
    connect_with(proxy, config(proxy, |_| ())).await
}

pub async fn connect_with(proxy: &Proxy, config: ClientConfig) -> Quic {
    let endpoint = endpoint();
    let connection = endpoint.connect_with(config, proxy.https, HOST).unwrap().await.unwrap();
    let (mut driver, send) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await.unwrap();
    tokio::spawn(async move {
        // Ends with the test, or as the test wants.
        std::future::poll_fn(|cx| driver.poll_close(cx)).await;
    });
    Quic { endpoint, connection, send }
}

pub fn request(method: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("https://{HOST}{path}")).body(()).unwrap()
}

/// Sends a request without body and reads its whole response.
pub async fn ask(send: &Send, request: Request<()>) -> Result<(Response<()>, Vec<u8>), h3::error::StreamError> {
    let mut stream = send.clone().send_request(request).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    Ok((response, read(&mut stream).await?))
}

pub async fn get(send: &Send, path: &str) -> (u16, String) {
    let (response, body) = ask(send, request("GET", path)).await.unwrap();
    (response.status().as_u16(), String::from_utf8(body).unwrap())
}

pub async fn read(stream: &mut Stream) -> Result<Vec<u8>, h3::error::StreamError> {
    let mut bytes = Vec::new();
    while let Some(mut data) = stream.recv_data().await? {
        bytes.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(bytes)
}

/// The type of a long packet that asks for an address to be proved (RFC 9000, 17.2.5).
pub const RETRY: u8 = 3;

/// Sends the first datagram of a handshake that never goes on; tells the type of packet that comes back.
pub async fn first_flight(proxy: &Proxy) -> u8 {
    let own = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let config = config(proxy, |_| ());
    let relay = own.local_addr().unwrap();
    let endpoint = endpoint();
    let connecting = endpoint.connect_with(config, relay, HOST).unwrap();
    let mut datagram = [0; 2048];
    let (length, _) = own.recv_from(&mut datagram).await.unwrap();
    own.send_to(&datagram[..length], proxy.https).await.unwrap();
    let (_, from) = own.recv_from(&mut datagram).await.unwrap();
    drop(connecting);
    assert_eq!((from, datagram[0] & 0x80), (proxy.https, 0x80));
    datagram[0] >> 4 & 3
}
