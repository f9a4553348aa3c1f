//! Test apps on raw sockets: each test defines the handling of a connection.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A listening app; counts the connections it took.
pub struct App {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
}

impl App {
    /// An app that does `handle` with every connection; the number is the connection's, from 0.
    pub async fn new<F: Future<Output = ()> + Send + 'static>(
        handle: impl Fn(Peer, usize) -> F + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(handle(Peer::new(stream), number));
            }
        });
        Self { address, connections }
    }

    /// An app that answers every request with the head and body it got.
    pub async fn echo() -> Self {
        Self::new(|mut peer, _| async move {
            while let Some(request) = peer.request().await {
                let text = format!("{}{}", request.head, String::from_utf8_lossy(&request.body));
                peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len())).await;
            }
        })
        .await
    }

    /// An app that answers every request with these bytes.
    pub async fn answering(response: &'static str) -> Self {
        Self::new(move |mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.write(response).await;
            }
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A request as an app reads it.
#[derive(Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
    /// Trailer lines of a chunked body.
    pub trailers: String,
}

impl Request {
    /// The first value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The app's end of a connection.
pub struct Peer {
    pub stream: TcpStream,
    pub unread: Vec<u8>,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// More bytes; `false` at the end.
    pub async fn fill(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes).await {
            Ok(count) => {
                self.unread.extend_from_slice(&bytes[..count]);
                count > 0
            }
            Err(_) => false,
        }
    }

    /// The next head with its empty line, or `None` at the end.
    pub async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                return Some(String::from_utf8(self.unread.drain(..end + 4).collect()).unwrap());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    pub async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.windows(2).position(|window| window == b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            assert!(self.fill().await, "the line never ends");
        }
    }

    pub async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.fill().await, "the body is cut");
        }
        self.unread.drain(..count).collect()
    }

    /// So many bytes, or `None` when the end comes first.
    pub async fn try_exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.unread.len() < count {
            if !self.fill().await {
                return None;
            }
        }
        Some(self.unread.drain(..count).collect())
    }

    /// The next whole request, or `None` at the end.
    pub async fn request(&mut self) -> Option<Request> {
        let head = self.head().await?;
        let (mut body, mut trailers) = (Vec::new(), String::new());
        if header(&head, "transfer-encoding").is_some() {
            loop {
                let size = usize::from_str_radix(&self.line().await, 16).unwrap();
                if size == 0 {
                    break;
                }
                body.extend(self.exactly(size).await);
                assert_eq!(self.exactly(2).await, b"\r\n");
            }
            loop {
                let line = self.line().await;
                if line.is_empty() {
                    break;
                }
                trailers.push_str(&line);
                trailers.push('\n');
            }
        } else if let Some(length) = header(&head, "content-length") {
            body = self.exactly(length.parse().unwrap()).await;
        }
        Some(Request { head, body, trailers })
    }

    /// Writes; a proxy that has gone is its own test's matter.
    pub async fn write(&mut self, text: &str) {
        self.write_bytes(text.as_bytes()).await;
    }

    pub async fn write_bytes(&mut self, bytes: &[u8]) {
        if self.stream.write_all(bytes).await.is_err() {
            self.unread.clear();
        }
    }

    /// Ends the connection with a reset instead of an end.
    pub fn reset(self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    }
}
