//! ReferenceApp app that records received bytes and hyper's reading of them, to compare with the proxy's request
//! boundaries.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Complete request as parsed by a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedRequest {
    pub method: String,
    pub target: String,
    pub body: Vec<u8>,
}

impl ParsedRequest {
    pub fn new(method: &str, target: &str, body: &[u8]) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), body: body.to_vec() }
    }
}

/// Everything that reached the app until all its connections had ended.
#[derive(Debug, Default)]
pub struct AppTranscript {
    /// Complete requests as hyper read them.
    pub requests: Vec<ParsedRequest>,
    /// Bytes of each connection.
    pub bytes: Vec<Vec<u8>>,
    /// Errors that hyper reported.
    pub errors: Vec<String>,
}

pub struct ReferenceApp {
    pub address: SocketAddr,
    record: Arc<Mutex<AppTranscript>>,
    stop: tokio::sync::oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl ReferenceApp {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let record = Arc::<Mutex<AppTranscript>>::default();
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let log = Arc::clone(&record);
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    accepted = listener.accept() => {
                        let (stream, _) = accepted.unwrap();
                        connections.spawn(serve(stream, Arc::clone(&log)));
                    }
                    _ = &mut stopped => break,
                }
            }
            while let Some(ended) = connections.join_next().await {
                ended.unwrap();
            }
        });
        Self { address, record, stop, serving }
    }

    /// Waits until every connection has ended, and returns the record. All possible clients must have ended before.
    pub async fn finish(self) -> AppTranscript {
        drop(self.stop);
        self.serving.await.unwrap();
        std::mem::take(&mut self.record.lock().unwrap())
    }
}

async fn serve(stream: TcpStream, record: Arc<Mutex<AppTranscript>>) {
    let bytes = Arc::<Mutex<Vec<u8>>>::default();
    let recording = RecordingStream { stream, bytes: Arc::clone(&bytes) };
    let log = Arc::clone(&record);
    let service = service_fn(move |request: Request<Incoming>| {
        let log = Arc::clone(&log);
        async move {
            let (head, body) = request.into_parts();
            // A cut body is not a complete request; hyper reports the connection's error.
            if let Ok(body) = body.collect().await {
                let body = body.to_bytes().to_vec();
                let seen = ParsedRequest { method: head.method.to_string(), target: head.uri.to_string(), body };
                log.lock().unwrap().requests.push(seen);
            }
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        }
    });
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(recording), service).await;
    let mut record = record.lock().unwrap();
    if let Err(error) = served {
        record.errors.push(error.to_string());
    }
    record.bytes.push(std::mem::take(&mut bytes.lock().unwrap()));
}

/// Stream that keeps a copy of the bytes that are read from it.
struct RecordingStream {
    stream: TcpStream,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for RecordingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.bytes.lock().unwrap().extend_from_slice(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for RecordingStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Strict reader of the requests of one connection: lines end with CR LF, fields are `name: value`, and there is one
/// length or one `chunked`. Returns the requests and the rest after the last complete one.
pub fn strict(mut bytes: &[u8]) -> (Vec<ParsedRequest>, Vec<u8>) {
    let mut requests = Vec::new();
    while let Some((seen, rest)) = strict_request(bytes) {
        requests.push(seen);
        bytes = rest;
    }
    (requests, bytes.to_vec())
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    let line = &bytes[..end];
    (!line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))).then_some((line, &bytes[end + 2..]))
}

fn strict_request(bytes: &[u8]) -> Option<(ParsedRequest, &[u8])> {
    let (first, mut rest) = line(bytes)?;
    let words: Vec<_> = std::str::from_utf8(first).ok()?.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else { return None };
    let (mut length, mut chunked, mut hosts) = (None, false, 0);
    loop {
        let (field, next) = line(rest)?;
        rest = next;
        if field.is_empty() {
            break;
        }
        let colon = field.iter().position(|byte| *byte == b':')?;
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if colon == 0 || !field[..colon].iter().all(is_token) {
            return None;
        }
        let value = field[colon + 1..].trim_ascii();
        match field[..colon].to_ascii_lowercase().as_slice() {
            b"host" => hosts += 1,
            b"content-length" if length.is_some() => return None,
            b"content-length" => length = Some(std::str::from_utf8(value).ok()?.parse().ok()?),
            b"transfer-encoding" if chunked || value != b"chunked" => return None,
            b"transfer-encoding" => chunked = true,
            _ => {}
        }
    }
    if hosts != 1 || chunked && length.is_some() {
        return None;
    }
    let (body, rest) = if chunked { strict_chunks(rest)? } else { sized(rest, length.unwrap_or(0))? };
    Some((ParsedRequest::new(method, target, &body), rest))
}

fn sized(bytes: &[u8], length: usize) -> Option<(Vec<u8>, &[u8])> {
    let (body, rest) = bytes.split_at_checked(length)?;
    Some((body.to_vec(), rest))
}

fn strict_chunks(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, rest) = line(bytes)?;
        if !size.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let size = usize::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
        if size == 0 {
            bytes = rest;
            break;
        }
        let (data, rest) = sized(rest, size)?;
        body.extend(data);
        bytes = rest.strip_prefix(b"\r\n")?;
    }
    loop {
        let (trailer, rest) = line(bytes)?;
        bytes = rest;
        if trailer.is_empty() {
            return Some((body, bytes));
        }
    }
}
