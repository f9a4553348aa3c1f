//! HTTP/1.1 exchanges, and closed-loop clients on fresh or resumed connections: one request, its complete response, the next
//! connection. In idle mode a client sends one request and keeps the connection.

use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use crate::client::{LoadTarget, SharedRef, pause_after_failure};
use crate::deadline::Deadline;
use crate::failure::{FailureKind, RequestError};
use crate::mode::Mode;
use crate::open_loop::Requester;
use crate::response::{Response, ResponseParser};
use crate::stream::ClientStream;
use crate::tls::own_sessions;

const BUFFER_BYTES: usize = 8 * 1024;
/// Larger than any header section that the parser accepts in practice.
pub(crate) const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Sends requests until its worker ends it.
pub(crate) async fn run(shared: SharedRef, requests: Rc<[Http1Request]>) {
    let mut destination = shared.destination.clone();
    if let (Mode::Resumed, Some((config, _))) = (shared.mode, &mut destination.tls) {
        *config = own_sessions(config);
    }
    let mut ready = false;
    loop {
        let request = &requests[shared.order.take()];
        let outcome = match shared.mode {
            Mode::Idle => request_and_idle(&destination, request, &shared, &mut ready).await,
            _ => request_once(&destination, request, &shared, &mut ready).await,
        };
        match outcome {
            Err(error) => {
                shared.failed(&error);
                pause_after_failure().await;
            }
            Ok(()) => shared.think().await,
        }
    }
}

/// Encoded request.
#[derive(Debug)]
pub(crate) struct Http1Request {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_head: bool,
}

/// Encodes the requests of a destination, in their order. `closes`: each is the last on its connection.
pub(crate) fn requests(destination: &LoadTarget, closes: bool) -> Rc<[Http1Request]> {
    let LoadTarget { path, authority, requests, .. } = destination;
    let close = if closes { "Connection: close\r\n" } else { "" };
    let encode = |method: &str, path: &str, headers: &[(String, String)], body: &str| {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n");
        let is_set = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let defaults = [("User-Agent", "fairlead-bench"), ("Accept", "*/*")];
        for (name, value) in defaults.into_iter().filter(|(name, _)| !is_set(name)) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() || takes_body(method) {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.extend([close, "\r\n", body]);
        Http1Request { bytes: head.into_bytes(), is_head: method == "HEAD" }
    };
    if requests.is_empty() {
        return [encode("GET", path, &[], "")].into();
    }
    requests.iter().map(|each| encode(&each.method, &each.path, &each.headers, &each.body)).collect()
}

/// True for methods that declare the length of an empty body too (RFC 9110, section 8.6).
fn takes_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Opens a connection for one request; the latency includes both.
async fn request_once(
    destination: &LoadTarget,
    request: &Http1Request,
    shared: &SharedRef,
    ready: &mut bool,
) -> Result<(), RequestError> {
    let started = Instant::now();
    let mut stream = shared.connect(destination).await?;
    let response = Exchanges::new(shared.request_timeout).ask(&mut stream, request).await?;
    shared.answered(started, &response);
    shared.ready(ready);
    Ok(())
}

/// Sends one request, then keeps the connection; its end is a failure.
async fn request_and_idle(
    destination: &LoadTarget,
    request: &Http1Request,
    shared: &SharedRef,
    ready: &mut bool,
) -> Result<(), RequestError> {
    let opening = shared.openings.acquire().await.map_err(|error| RequestError::new(FailureKind::Connect, error))?;
    let mut stream = shared.connect(destination).await?;
    let started = Instant::now();
    let response = Exchanges::new(shared.request_timeout).ask(&mut stream, request).await?;
    shared.answered(started, &response);
    shared.ready(ready);
    drop(opening);
    match stream.read(&mut [0; 1]).await.map_err(RequestError::io(FailureKind::Closed))? {
        0 => Err(RequestError::new(FailureKind::Closed, "the server closed an idle connection")),
        _ => Err(RequestError::new(FailureKind::Malformed, "the server spoke without being asked")),
    }
}

/// HTTP/1.1 exchanges on one connection, with the bytes that were read but not parsed.
pub(crate) struct Exchanges {
    buffer: Vec<u8>,
    /// End of the unparsed bytes, which start at 0.
    filled: usize,
    reader: ResponseParser,
    deadline: Deadline,
}

impl Exchanges {
    pub(crate) fn new(timeout: Duration) -> Self {
        let (reader, deadline) = (ResponseParser::new(), Deadline::new(timeout));
        Self { buffer: vec![0; BUFFER_BYTES], filled: 0, reader, deadline }
    }

    /// Sends a request and reads its complete response.
    pub(crate) async fn ask(
        &mut self,
        stream: &mut ClientStream,
        request: &Http1Request,
    ) -> Result<Response, RequestError> {
        let started = Instant::now();
        self.reader.expect(request.is_head);
        let write = async {
            stream.write_all(&request.bytes).await?;
            match stream {
                ClientStream::Tls(stream) => stream.flush().await,
                _ => Ok(()),
            }
        };
        // A server that reads no body must not block the client forever.
        self.deadline.limit(started, async { write.await.map_err(RequestError::io(FailureKind::Closed)) }).await?;
        loop {
            if self.filled > 0 {
                let progress = self.reader.advance(&self.buffer[..self.filled]);
                let progress =
                    progress.map_err(|error| RequestError::new(FailureKind::Malformed, error.to_string()))?;
                self.buffer.copy_within(progress.consumed..self.filled, 0);
                self.filled -= progress.consumed;
                if let Some(response) = progress.response {
                    return Ok(response);
                }
            }
            if self.read(stream, started).await? == 0 {
                return self.reader.close().ok_or_else(RequestError::ended_early);
            }
        }
    }

    /// Reads what has arrived, or waits for it until the request's deadline.
    async fn read(&mut self, stream: &mut ClientStream, started: Instant) -> Result<usize, RequestError> {
        if self.filled == self.buffer.len() {
            if self.filled >= HEAD_BYTES_MAX {
                return Err(RequestError::new(FailureKind::Malformed, "the header section is too long"));
            }
            self.buffer.resize(self.filled * 2, 0);
        }
        let mut buffer = ReadBuf::new(&mut self.buffer[self.filled..]);
        let read = std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, &mut buffer));
        let read = async { read.await.map_err(RequestError::io(FailureKind::Closed)) };
        self.deadline.limit(started, read).await?;
        let length = buffer.filled().len();
        self.filled += length;
        Ok(length)
    }
}

/// Client of an open loop, with one keep-alive connection. The next request after a failure or a close opens another.
pub(crate) struct KeptClient {
    requests: Rc<[Http1Request]>,
    open: Option<(ClientStream, Exchanges)>,
}

impl KeptClient {
    pub(crate) fn new(requests: Rc<[Http1Request]>) -> Self {
        Self { requests, open: None }
    }
}

impl Requester for KeptClient {
    async fn ask(&mut self, shared: &SharedRef, request: usize) -> Result<Response, RequestError> {
        let (mut stream, mut exchanges) = match self.open.take() {
            Some(open) => open,
            None => (shared.connect(&shared.destination).await?, Exchanges::new(shared.request_timeout)),
        };
        let response = exchanges.ask(&mut stream, &self.requests[request]).await?;
        if !response.closes {
            self.open = Some((stream, exchanges));
        }
        Ok(response)
    }
}
