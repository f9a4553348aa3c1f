//! HTTP/2 test apps and clients on the `h2` crate.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use fairlead_model::message::{AppTraffic, UpstreamProtocol};
use fairlead_wire::local::{ProxySnapshot, ProxyUpstream};
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{RecvStream, server};
use http::{HeaderMap, Request, Response};
use prost::Message;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::{HOST, Proxy, client};

/// Request and response handle of one stream.
pub type Stream = (Request<RecvStream>, SendResponse<Bytes>);

/// A listening app; counts the connections it took.
pub struct Http2App {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Http2App {
    /// An app that does `handle` with every request, by prior knowledge.
    pub async fn new<F: Future<Output = ()> + Send + 'static>(
        handle: impl Fn(Stream) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::with(server::Builder::new(), handle).await
    }

    pub async fn with<F: Future<Output = ()> + Send + 'static>(
        builder: server::Builder,
        handle: impl Fn(Stream) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, builder.clone(), handle.clone()));
            }
        });
        Self { address, connections }
    }

    /// The same over TLS.
    pub async fn tls<F: Future<Output = ()> + Send + 'static>(
        config: Arc<ServerConfig>,
        handle: impl Fn(Stream) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(stream) = TlsAcceptor::from(Arc::clone(&config)).accept(stream).await else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, server::Builder::new(), handle.clone()));
            }
        });
        Self { address, connections }
    }

    /// The same on a Unix socket.
    pub fn unix<F: Future<Output = ()> + Send + 'static>(
        path: &Path,
        handle: impl Fn(Stream) -> F + Clone + Send + Sync + 'static,
    ) {
        let listener = UnixListener::bind(path).unwrap();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, server::Builder::new(), handle.clone()));
            }
        });
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve<S, F>(stream: S, builder: server::Builder, handle: impl Fn(Stream) -> F + Send)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let Ok(mut connection) = builder.handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(handle((request, respond)));
    }
}

/// Echoes the request: pseudo-headers, fields, body, trailers.
pub async fn echo((request, mut respond): Stream) {
    let (parts, mut body) = request.into_parts();
    let mut text = format!("{} {}\n", parts.method, parts.uri);
    for (name, value) in &parts.headers {
        text.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
    }
    text.push_str(&String::from_utf8(read(&mut body).await.unwrap()).unwrap());
    for (name, value) in body.trailers().await.unwrap().unwrap_or_default() {
        text.push_str(&format!("\n{}= {}", name.unwrap(), value.to_str().unwrap()));
    }
    let mut send = respond.send_response(Response::new(()), false).unwrap();
    send.send_data(text.into(), true).unwrap();
}

/// Returns a snapshot with an app that speaks HTTP/2.
pub fn snapshot(proxy: &Proxy, upstreams: Vec<ProxyUpstream>, traffic: AppTraffic) -> ProxySnapshot {
    let mut snapshot = proxy.snapshot(upstreams);
    let traffic = AppTraffic { upstream_protocol: UpstreamProtocol::Http2.into(), ..traffic };
    snapshot.apps[0].traffic = traffic.encode_to_vec();
    snapshot
}

/// Starts a proxy with one instance that speaks HTTP/2.
pub async fn proxy_before(app: SocketAddr) -> Proxy {
    let mut proxy = Proxy::bare(super::quick()).await;
    let snapshot = snapshot(&proxy, vec![super::upstream("ins_1", app)], AppTraffic::default());
    proxy.apply(snapshot).await.unwrap();
    proxy
}

/// Opens an HTTP/2 connection to the proxy.
pub async fn connect(proxy: &Proxy) -> SendRequest<Bytes> {
    let client = client::handshake(proxy, &proxy.tls(&["h2"]), HOST).await.unwrap();
    // The connection window is larger than a stream window, so that one unread stream can't block the others.
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(65_535).initial_connection_window_size(1_000_000);
    let (send, connection) = builder.handshake(client.stream).await.unwrap();
    tokio::spawn(async move {
        // Ends with the test.
        drop(connection.await);
    });
    send.ready().await.unwrap()
}

pub fn request(method: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("https://{HOST}{path}")).body(()).unwrap()
}

pub async fn read(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

pub async fn get(send: &SendRequest<Bytes>, path: &str) -> (u16, String) {
    let (response, _) = send.clone().send_request(request("GET", path), true).unwrap();
    let (head, mut body) = response.await.unwrap().into_parts();
    (head.status.as_u16(), String::from_utf8(read(&mut body).await.unwrap()).unwrap())
}

/// Sends all of `bytes` as the windows allow.
pub async fn send_all(stream: &mut h2::SendStream<Bytes>, mut bytes: Bytes, end: bool) {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
        let piece = bytes.split_to(capacity.min(bytes.len()));
        stream.send_data(piece, end && bytes.is_empty()).unwrap();
    }
}

pub fn trailers(name: &'static str, value: &str) -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().unwrap())])
}
