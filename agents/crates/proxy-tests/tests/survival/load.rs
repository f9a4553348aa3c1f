//! Steady load over every protocol: each client counts requests and failures, and reconnects when the proxy drains its
//! connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use fairlead_tls::LocalAuthority;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::app::{DOWNLOAD_BYTES, ECHO_TEXT, LONG_BYTES};
use crate::quic;
use crate::support::client::{Client, get};
use crate::support::{HOST, client_tls};

type Stream = TlsStream<TcpStream>;

/// Totals of all clients.
#[derive(Debug, Default)]
pub struct Counts {
    pub requests: AtomicU64,
    pub failed: AtomicU64,
    pub long: AtomicU64,
    pub echoes: AtomicU64,
    pub http3: AtomicU64,
    pub downloads: AtomicU64,
    /// HTTP/3 connections that were begun.
    pub http3_connections: AtomicU64,
    /// WebSockets that were told to come back.
    pub told: AtomicU64,
    /// Connections that were refused: never due.
    pub refused: AtomicU64,
    stop: AtomicBool,
    /// Wakes the waiters after every request.
    moved: Notify,
}

impl Counts {
    fn done(&self, counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.moved.notify_waiters();
    }

    fn fail(&self, what: &str) {
        eprintln!("failed: {what}");
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.moved.notify_waiters();
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// Waits for `more` of what `counter` counts.
    pub async fn more(&self, counter: &AtomicU64, more: u64) {
        let wanted = Self::read(counter) + more;
        loop {
            let moved = self.moved.notified();
            if Self::read(counter) >= wanted {
                return;
            }
            moved.await;
        }
    }
}

/// Number of clients of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// HTTP/1.1, one request after another on a connection that is kept.
    pub http1: usize,
    /// HTTP/2, four streams at a time.
    pub http2: usize,
    /// HTTP/1.1 with responses that take a while.
    pub long: usize,
    /// WebSockets that are echoed.
    pub sockets: usize,
    /// HTTP/3, three streams at a time and a long download beside them.
    pub http3: usize,
}

/// Load on one proxy.
pub struct Load {
    pub counts: Arc<Counts>,
    clients: Vec<JoinHandle<()>>,
}

/// Address and protocol settings for clients.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
    http3: quinn::ClientConfig,
}

impl Target {
    pub fn new(address: SocketAddr, authority: &LocalAuthority) -> Self {
        let http1 = client_tls(authority, &["http/1.1"]);
        Self { address, http1, http2: client_tls(authority, &["h2"]), http3: quic::client_config(authority) }
    }

    /// A connection; `None` counts as refused only if it was.
    async fn connect(&self, config: &Arc<ClientConfig>, counts: &Counts) -> Option<Stream> {
        let stream = match TcpStream::connect(self.address).await {
            Ok(stream) => stream,
            Err(error) => {
                counts.refused.fetch_add(1, Ordering::Relaxed);
                counts.fail(&format!("connect: {error}"));
                return None;
            }
        };
        let name = HOST.try_into().expect("a name");
        match TlsConnector::from(Arc::clone(config)).connect(name, stream).await {
            Ok(stream) => Some(stream),
            Err(error) => {
                counts.fail(&format!("handshake: {error}"));
                None
            }
        }
    }

    /// An HTTP/1.1 connection that is one's own.
    pub async fn http1(&self) -> Option<Client<Stream>> {
        Some(Client::new(self.connect(&self.http1, &Counts::default()).await?))
    }
}

impl Load {
    pub fn start(target: &Target, mix: Mix) -> Self {
        let counts = Arc::new(Counts::default());
        let mut clients = Vec::new();
        for _ in 0..mix.http1 {
            clients.push(tokio::spawn(http1(target.clone(), Arc::clone(&counts), "/")));
        }
        for _ in 0..mix.long {
            clients.push(tokio::spawn(http1(target.clone(), Arc::clone(&counts), "/long")));
        }
        for _ in 0..mix.http2 {
            clients.push(tokio::spawn(http2(target.clone(), Arc::clone(&counts))));
        }
        for _ in 0..mix.http3 {
            clients.push(tokio::spawn(http3(target.clone(), Arc::clone(&counts))));
        }
        for _ in 0..mix.sockets {
            clients.push(tokio::spawn(web_socket(target.clone(), Arc::clone(&counts))));
        }
        Self { counts, clients }
    }

    /// Lets every client end the request it is in.
    pub async fn stop(self) -> Arc<Counts> {
        self.counts.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("a client of the load panicked");
        }
        self.counts
    }
}

async fn http1(target: Target, counts: Arc<Counts>, path: &'static str) {
    let request = get(path);
    while !counts.stops() {
        let Some(stream) = target.connect(&target.http1, &counts).await else { continue };
        let mut client = Client::new(stream);
        while !counts.stops() {
            if tokio::io::AsyncWriteExt::write_all(&mut client.stream, request.as_bytes()).await.is_err() {
                counts.fail("http/1.1: the request could not be sent");
                break;
            }
            let Some(response) = client.response(false).await else {
                counts.fail(&format!("http/1.1 {path}: no whole response"));
                break;
            };
            let expected = if path == "/long" { LONG_BYTES } else { 2 };
            if response.status != 200 || response.body.len() != expected {
                counts.fail(&format!("http/1.1 {path}: {} {}", response.status, response.text().trim()));
            } else if path == "/long" {
                counts.done(&counts.long);
            } else {
                counts.done(&AtomicU64::new(0));
            }
            if response.header("connection") == Some("close") {
                break;
            }
        }
    }
}

const STREAMS: usize = 4;

async fn http2(target: Target, counts: Arc<Counts>) {
    while !counts.stops() {
        let Some(stream) = target.connect(&target.http2, &counts).await else { continue };
        let Ok((send, connection)) = h2::client::handshake(stream).await else {
            counts.fail("http/2: no handshake");
            continue;
        };
        let moving = tokio::spawn(connection);
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(tokio::spawn(http2_stream(send.clone(), Arc::clone(&counts))));
        }
        drop(send);
        for stream in streams {
            stream.await.expect("a stream panicked");
        }
        moving.abort();
    }
}

/// Requests until the connection takes no more, which it may say at any time between two. What the server says that it has not
/// looked at, another connection asks again (RFC 9113, 8.7); all else that has no whole response is a failure.
async fn http2_stream(mut send: h2::client::SendRequest<Bytes>, counts: Arc<Counts>) {
    while !counts.stops() {
        match send.ready().await {
            Ok(ready) => send = ready,
            // GOAWAY: no request was made.
            Err(_) => return,
        }
        let request = http::Request::get(format!("https://{HOST}/")).body(()).expect("a request");
        // The same, seen a moment later.
        let Ok((response, _)) = send.send_request(request, true) else { return };
        let response = match response.await {
            // The stream is later than the last one that GOAWAY names.
            Err(error) if error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR) => {
                return;
            }
            response => response,
        };
        let ended = async {
            let response = response.map_err(|error| error.to_string())?;
            let status = response.status();
            let mut body = response.into_body();
            let mut length = 0;
            while let Some(data) = body.data().await {
                length += data.map_err(|error| error.to_string())?.len();
            }
            if status == 200 && length == 2 { Ok(()) } else { Err(format!("{status}, {length} bytes")) }
        };
        match ended.await {
            Ok(()) => counts.done(&AtomicU64::new(0)),
            Err(error) => {
                counts.fail(&format!("http/2: {error}"));
                return;
            }
        }
    }
}

/// Connects, asks on several streams until the server takes no more, and comes back.
async fn http3(target: Target, counts: Arc<Counts>) {
    let endpoint = quic::endpoint();
    while !counts.stops() {
        let connecting = endpoint.connect_with(target.http3.clone(), target.address, HOST).expect("an address");
        let connection = match connecting.await {
            Ok(connection) => connection,
            Err(error) => {
                counts.fail(&format!("http/3: no handshake: {error}"));
                continue;
            }
        };
        let Ok((mut driver, send)) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await else {
            counts.fail("http/3: the connection ended before its first request");
            continue;
        };
        counts.http3_connections.fetch_add(1, Ordering::Relaxed);
        let driving = tokio::spawn(async move { drop(std::future::poll_fn(|cx| driver.poll_close(cx)).await) });
        let mut streams = Vec::new();
        for path in ["/", "/", "/", "/download"] {
            streams.push(tokio::spawn(http3_stream(send.clone(), Arc::clone(&counts), path)));
        }
        for stream in streams {
            stream.await.expect("a stream panicked");
        }
        driving.abort();
        connection.close(0x100u32.into(), b"");
    }
    endpoint.wait_idle().await;
}

/// Requests until the connection takes no more. What the server says that it has not looked at, another connection asks again
/// (RFC 9114, 5.2); all else that has no whole response is a failure.
async fn http3_stream(mut send: quic::Send, counts: Arc<Counts>, path: &'static str) {
    let length = if path == "/download" { DOWNLOAD_BYTES } else { 2 };
    while !counts.stops() {
        let Ok(mut stream) = send.send_request(quic::request("GET", path)).await else { return };
        let ended = async {
            stream.finish().await?;
            let status = stream.recv_response().await?.status();
            Ok::<_, h3::error::StreamError>((status, quic::read(&mut stream).await?.len()))
        };
        match ended.await {
            Ok((status, bytes)) if status == 200 && bytes == length => {
                counts.done(if path == "/download" { &counts.downloads } else { &counts.http3 });
            }
            Ok((status, bytes)) => counts.fail(&format!("http/3 {path}: {status}, {bytes} bytes")),
            Err(h3::error::StreamError::RemoteTerminate { code, .. })
                if code == h3::error::Code::H3_REQUEST_REJECTED =>
            {
                return;
            }
            Err(error) => {
                counts.fail(&format!("http/3 {path}: {error}"));
                return;
            }
        }
    }
}

const UPGRADE: &str = "GET /socket HTTP/1.1\r\nHost: hello.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const MASK: [u8; 4] = [1, 2, 3, 4];

/// A frame of a client.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode, 0x80 | payload.len() as u8];
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// Sends, is echoed, and again; asked to close it answers and comes back. An end without that is a failure.
async fn web_socket(target: Target, counts: Arc<Counts>) {
    while !counts.stops() {
        let Some(stream) = target.connect(&target.http1, &counts).await else { continue };
        let mut client = Client::new(stream);
        let sent = tokio::io::AsyncWriteExt::write_all(&mut client.stream, UPGRADE.as_bytes()).await;
        if sent.is_err() || client.head().await.map(|(status, _)| status) != Some(101) {
            counts.fail("websocket: not upgraded");
            continue;
        }
        if let Err(what) = echoes(&mut client, &counts).await {
            counts.fail(&format!("websocket: {what}"));
        }
    }
}

async fn echoes(client: &mut Client<Stream>, counts: &Counts) -> Result<(), &'static str> {
    use tokio::io::AsyncWriteExt;
    while !counts.stops() {
        client.stream.write_all(&frame(1, ECHO_TEXT)).await.map_err(|_| "the connection broke")?;
        let (opcode, payload) = read_frame(client).await.ok_or("ended without a Close")?;
        match opcode {
            1 if payload == ECHO_TEXT => counts.done(&counts.echoes),
            8 if payload == 1012u16.to_be_bytes() => {
                counts.told.fetch_add(1, Ordering::Relaxed);
                client
                    .stream
                    .write_all(&frame(8, &payload))
                    .await
                    .map_err(|_| "broke before the Close was answered")?;
                // The app sees it, closes, and so the connection ends.
                while client.fill().await {}
                return Ok(());
            }
            _ => return Err("an echo that differs"),
        }
    }
    client.stream.write_all(&frame(8, &1000u16.to_be_bytes())).await.map_err(|_| "the connection broke")?;
    while client.fill().await {}
    Ok(())
}

async fn read_frame(client: &mut Client<Stream>) -> Option<(u8, Vec<u8>)> {
    let head = client.exactly(2).await?;
    let payload = client.exactly(usize::from(head[1])).await?;
    Some((head[0] & 0x0f, payload))
}
