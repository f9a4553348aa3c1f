//! TLS after the handshake: a client on rustls that can change its records before sending them.

use std::io::{Read, Write};
use std::sync::Arc;

use libtest_mimic::Trial;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::case::case;
use crate::proxy_endpoint::ProxyEndpoint;
use crate::support::app::App;
use crate::support::client::get;
use crate::support::{HOST, Proxy};

pub fn trials() -> Vec<Trial> {
    let versions = [("1.3", &rustls::version::TLS13), ("1.2", &rustls::version::TLS12)];
    let mut trials = Vec::new();
    for (name, version) in versions {
        trials.extend([
            case("tls", format!("records/{name}-byte-by-byte"), move || byte_by_byte(version)),
            case("tls", format!("records/{name}-many-at-once"), move || many_at_once(version)),
            case("tls", format!("records/{name}-large-both-ways"), move || large_both_ways(version)),
            case("tls", format!("records/{name}-end-with-the-request"), move || end_with_the_request(version)),
            case("tls", format!("records/{name}-changed-byte"), move || {
                changed(version, |record| *record.last_mut().unwrap() ^= 1)
            }),
            case("tls", format!("records/{name}-changed-length"), move || changed(version, |record| record[4] ^= 1)),
            case("tls", format!("records/{name}-replayed"), move || replayed(version)),
            case("tls", format!("records/{name}-of-no-type"), move || raw(version, &[99, 3, 3, 0, 1, 0])),
            case("tls", format!("records/{name}-too-long"), move || raw(version, &[23, 3, 3, 0xff, 0xff])),
            case("tls", format!("records/{name}-empty-and-plain"), move || raw(version, &[23, 3, 3, 0, 0])),
            case("tls", format!("records/{name}-plain-alert"), move || raw(version, &[21, 3, 3, 0, 2, 2, 0])),
            case("tls", format!("records/{name}-plain-handshake"), move || raw(version, &[22, 3, 3, 0, 4, 0, 0, 0, 0])),
            case("tls", format!("records/{name}-late-change-cipher-spec"), move || raw(version, &[20, 3, 3, 0, 1, 1])),
        ]);
    }
    trials.extend([
        case("tls", "key-update/once", || key_updates(1)),
        case("tls", "key-update/a-hundred-times", || key_updates(100)),
        case("tls", "key-update/within-a-body", key_update_within_a_body),
        case("tls", "key-update/before-a-large-response", key_update_before_a_large_response),
    ]);
    trials
}

type TlsVersion = &'static rustls::SupportedProtocolVersion;

/// TLS client with access to its records.
struct TlsSession {
    tls: ClientConnection,
    stream: TcpStream,
    /// Plaintext received by now.
    heard: Vec<u8>,
}

impl TlsSession {
    async fn open(proxy: &Proxy, version: TlsVersion) -> Self {
        let endpoint = ProxyEndpoint::of(proxy);
        let config = endpoint.tls_of(&["http/1.1"], &[version]);
        let tls = ClientConnection::new(Arc::new(config), ServerName::try_from(HOST).unwrap()).unwrap();
        let mut session = Self { tls, stream: TcpStream::connect(proxy.https).await.unwrap(), heard: Vec::new() };
        session.stream.set_nodelay(true).unwrap();
        while session.tls.is_handshaking() {
            session.flush().await;
            if session.tls.is_handshaking() {
                session.read().await.unwrap();
            }
        }
        session.flush().await;
        session
    }

    /// Takes the records to send.
    fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    async fn flush(&mut self) {
        let bytes = self.take();
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// Queues plaintext for the next `take`.
    fn say(&mut self, text: &[u8]) {
        self.tls.set_buffer_limit(None);
        self.tls.writer().write_all(text).unwrap();
    }

    /// Reads once from the socket; `Ok(false)` at the end, or the error of an alert.
    async fn read(&mut self) -> Result<bool, Error> {
        let mut bytes = vec![0; 16 * 1024];
        let count = self.stream.read(&mut bytes).await.unwrap_or(0);
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            self.tls.read_tls(&mut rest).unwrap();
            let state = self.tls.process_new_packets()?;
            let mut text = vec![0; state.plaintext_bytes_to_read()];
            self.tls.reader().read_exact(&mut text).unwrap();
            self.heard.extend(text);
        }
        Ok(count > 0)
    }

    /// Reads until there are `count` bytes of plaintext.
    async fn hear(&mut self, count: usize) -> Vec<u8> {
        while self.heard.len() < count {
            assert!(self.read().await.unwrap(), "ended after {} bytes", self.heard.len());
            self.flush().await;
        }
        std::mem::take(&mut self.heard)
    }

    /// Reads to the end; returns the alert, if one came.
    async fn end(&mut self) -> Option<AlertDescription> {
        loop {
            match self.read().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(Error::AlertReceived(alert)) => return Some(alert),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Received length: names are as the app writes them, framing is the proxy's.
const RESPONSE_BYTES: usize = RESPONSE.len();

async fn before_ok() -> Proxy {
    Proxy::before(App::answering(RESPONSE).await.address).await
}

async fn is_served(session: &mut TlsSession) {
    let text = session.hear(RESPONSE_BYTES).await;
    assert!(text.starts_with(b"HTTP/1.1 200 ") && text.ends_with(b"ok"), "{}", String::from_utf8_lossy(&text));
}

async fn byte_by_byte(version: TlsVersion) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    session.say(get("/").as_bytes());
    for byte in session.take() {
        session.stream.write_all(&[byte]).await.unwrap();
    }
    is_served(&mut session).await;
}

/// A record for each byte, all in one write.
async fn many_at_once(version: TlsVersion) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    let mut records = Vec::new();
    for byte in get("/").as_bytes() {
        session.say(&[*byte]);
        records.extend(session.take());
    }
    session.stream.write_all(&records).await.unwrap();
    is_served(&mut session).await;
}

async fn large_both_ways(version: TlsVersion) {
    const BYTES: usize = 3_000_000;
    let app = App::new(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len())).await;
        peer.write_bytes(&request.body).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut session = TlsSession::open(&proxy, version).await;
    let body: Vec<u8> = (0..BYTES).map(|at| (at * 31 % 251) as u8).collect();
    session.say(format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {BYTES}\r\n\r\n").as_bytes());
    session.say(&body);
    session.flush().await;
    let heard = session.hear(BYTES + 30).await;
    assert!(heard.ends_with(&body), "it came back changed");
}

/// The proxy still responds to a client that has sent close_notify.
async fn end_with_the_request(version: TlsVersion) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    session.say(get("/").as_bytes());
    session.tls.send_close_notify();
    session.flush().await;
    is_served(&mut session).await;
    assert_eq!(session.end().await, None);
}

async fn changed(version: TlsVersion, change: fn(&mut Vec<u8>)) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    session.say(get("/").as_bytes());
    let mut record = session.take();
    change(&mut record);
    // Extra bytes, so that a record with a greater length is complete.
    record.extend([0; 2]);
    session.stream.write_all(&record).await.unwrap();
    assert_eq!(session.end().await, Some(AlertDescription::BadRecordMac));
}

async fn replayed(version: TlsVersion) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    session.say(get("/").as_bytes());
    let record = session.take();
    session.stream.write_all(&record).await.unwrap();
    is_served(&mut session).await;
    session.stream.write_all(&record).await.unwrap();
    assert_eq!(session.end().await, Some(AlertDescription::BadRecordMac));
}

/// Sends bytes that no client may send: the connection ends, and no HTTP follows.
async fn raw(version: TlsVersion, bytes: &[u8]) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, version).await;
    session.stream.write_all(bytes).await.unwrap();
    session.stream.write_all(&[0; 64]).await.unwrap();
    session.end().await;
    assert!(session.heard.is_empty(), "answered");
}

async fn key_updates(count: usize) {
    let proxy = before_ok().await;
    let mut session = TlsSession::open(&proxy, &rustls::version::TLS13).await;
    for _ in 0..count {
        session.tls.refresh_traffic_keys().unwrap();
        session.say(get("/").as_bytes());
        session.flush().await;
        is_served(&mut session).await;
    }
    session.say(get("/").as_bytes());
    session.flush().await;
    is_served(&mut session).await;
}

async fn key_update_within_a_body() {
    let proxy = Proxy::before(App::echo().await.address).await;
    let mut session = TlsSession::open(&proxy, &rustls::version::TLS13).await;
    session.say(format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 10\r\n\r\nhello").as_bytes());
    session.flush().await;
    session.tls.refresh_traffic_keys().unwrap();
    session.say(b"again");
    session.flush().await;
    let heard = session.hear(60).await;
    assert!(heard.starts_with(b"HTTP/1.1 200 "));
}

/// The proxy's key changes between a response's records.
async fn key_update_before_a_large_response() {
    const BYTES: usize = 2_000_000;
    let app = App::new(|mut peer, _| async move {
        peer.request().await.unwrap();
        peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n")).await;
        peer.write_bytes(&vec![b'z'; BYTES]).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut session = TlsSession::open(&proxy, &rustls::version::TLS13).await;
    session.say(get("/").as_bytes());
    session.flush().await;
    let mut heard = session.hear(1000).await.len();
    session.tls.refresh_traffic_keys().unwrap();
    session.flush().await;
    heard += session.hear(BYTES - heard).await.len();
    assert!(heard >= BYTES);
}
