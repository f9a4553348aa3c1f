//! HTTP/1.1 test clients that send exact bytes.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::app::header;
use super::{HOST, Proxy};

/// A response as a client reads it.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    pub trailers: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub struct Client<S> {
    pub stream: S,
    pub unread: Vec<u8>,
}

pub async fn tls(proxy: &Proxy) -> Client<TlsStream<TcpStream>> {
    handshake(proxy, &proxy.tls(&["http/1.1"]), HOST).await.unwrap()
}

pub async fn handshake(
    proxy: &Proxy,
    config: &Arc<ClientConfig>,
    host: &str,
) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    handshake_from("127.0.0.1", proxy, config, host).await
}

/// Returns the same as a client with another address of this machine.
pub async fn handshake_from(
    from: &str,
    proxy: &Proxy,
    config: &Arc<ClientConfig>,
    host: &str,
) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0))?;
    let stream = socket.connect(proxy.https).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    Ok(Client::new(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?))
}

pub async fn plain(proxy: &Proxy) -> Client<TcpStream> {
    Client::new(TcpStream::connect(proxy.http).await.unwrap())
}

/// GET of a path on the usual host.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Sends a request without body and reads its response.
    pub async fn ask(&mut self, request: &str) -> Response {
        self.send(request).await;
        self.response(request.starts_with("HEAD")).await.unwrap()
    }

    /// More bytes; `false` at the end, however it came.
    pub async fn fill(&mut self) -> bool {
        let mut bytes = vec![0; 64 * 1024];
        match self.stream.read(&mut bytes).await {
            Ok(count) => {
                self.unread.extend_from_slice(&bytes[..count]);
                count > 0
            }
            Err(_) => false,
        }
    }

    /// The next head, or `None` at the end.
    pub async fn head(&mut self) -> Option<(u16, String)> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(self.unread.drain(..end + 4).collect()).unwrap();
                return Some((head[9..12].parse().unwrap(), head));
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    pub async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|window| window == b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return Some(String::from_utf8(line[..end].to_vec()).unwrap());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    pub async fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.unread.len() < count {
            if !self.fill().await {
                return None;
            }
        }
        Some(self.unread.drain(..count).collect())
    }

    /// One chunk; empty is the last one's.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        if size == 0 {
            return Some(Vec::new());
        }
        let data = self.exactly(size).await?;
        self.exactly(2).await.map(|_| data)
    }

    /// A whole response; `None` when it was cut.
    pub async fn response(&mut self, to_head: bool) -> Option<Response> {
        let (status, head) = self.head().await?;
        let (mut body, mut trailers) = (Vec::new(), String::new());
        if to_head || status < 200 || status == 204 || status == 304 {
        } else if header(&head, "transfer-encoding").is_some() {
            loop {
                let data = self.chunk().await?;
                if data.is_empty() {
                    break;
                }
                body.extend(data);
            }
            loop {
                let line = self.line().await?;
                if line.is_empty() {
                    break;
                }
                if !trailers.is_empty() {
                    trailers.push('\n');
                }
                trailers.push_str(&line);
            }
        } else if let Some(length) = header(&head, "content-length") {
            body = self.exactly(length.parse().unwrap()).await?;
        } else {
            while self.fill().await {}
            body = std::mem::take(&mut self.unread);
        }
        Some(Response { status, head, body, trailers })
    }

    /// True if the proxy has closed the connection and nothing is left to read.
    pub async fn at_end(&mut self) -> bool {
        self.unread.is_empty() && !self.fill().await
    }
}
