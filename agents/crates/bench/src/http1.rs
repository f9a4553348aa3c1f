//! HTTP/1.1 exchanges, and closed-loop clients on fresh or resumed connections: one request, its complete response, the next
//! connection. In idle mode a client sends one request and keeps the connection.

use std::pin::Pin;
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
pub(crate) async fn run(shared: SharedRef) {
    let mut destination = shared.destination.clone();
    if let (Mode::Resumed, Some((config, _))) = (shared.mode, &mut destination.tls) {
        *config = own_sessions(config);
    }
    let closes = matches!(shared.mode, Mode::Fresh | Mode::Resumed);
    let request = request(&destination, closes);
    let mut ready = false;
    loop {
        let outcome = match shared.mode {
            Mode::Idle => request_and_idle(&destination, &request, &shared, &mut ready).await,
            _ => request_once(&destination, &request, &shared, &mut ready).await,
        };
        if let Err(error) = outcome {
            shared.failed(&error);
            pause_after_failure().await;
        }
    }
}

pub(crate) fn request(destination: &LoadTarget, closes: bool) -> Vec<u8> {
    let LoadTarget { path, authority, .. } = destination;
    let close = if closes { "Connection: close\r\n" } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: fairlead-bench\r\nAccept: */*\r\n{close}\r\n")
        .into_bytes()
}

/// Opens a connection for one request; the latency includes both.
async fn request_once(
    destination: &LoadTarget,
    request: &[u8],
    shared: &SharedRef,
    ready: &mut bool,
) -> Result<(), RequestError> {
    let started = Instant::now();
    let mut stream = shared.connect(destination).await?;
    let response = Exchanges::new(shared.request_timeout).ask(&mut stream, request).await?;
    shared.answered(started, response.status, response.body_bytes);
    shared.ready(ready);
    Ok(())
}

/// Sends one request, then keeps the connection; its end is a failure.
async fn request_and_idle(
    destination: &LoadTarget,
    request: &[u8],
    shared: &SharedRef,
    ready: &mut bool,
) -> Result<(), RequestError> {
    let opening = shared.openings.acquire().await.map_err(|error| RequestError::new(FailureKind::Connect, error))?;
    let mut stream = shared.connect(destination).await?;
    let started = Instant::now();
    let response = Exchanges::new(shared.request_timeout).ask(&mut stream, request).await?;
    shared.answered(started, response.status, response.body_bytes);
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
    pub(crate) async fn ask(&mut self, stream: &mut ClientStream, request: &[u8]) -> Result<Response, RequestError> {
        let started = Instant::now();
        stream.write_all(request).await.map_err(RequestError::io(FailureKind::Closed))?;
        if let ClientStream::Tls(stream) = stream {
            stream.flush().await.map_err(RequestError::io(FailureKind::Closed))?;
        }
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
    request: Vec<u8>,
    open: Option<(ClientStream, Exchanges)>,
}

impl KeptClient {
    pub(crate) fn new(destination: &LoadTarget) -> Self {
        Self { request: request(destination, false), open: None }
    }
}

impl Requester for KeptClient {
    async fn ask(&mut self, shared: &SharedRef) -> Result<Response, RequestError> {
        let (mut stream, mut exchanges) = match self.open.take() {
            Some(open) => open,
            None => (shared.connect(&shared.destination).await?, Exchanges::new(shared.request_timeout)),
        };
        let response = exchanges.ask(&mut stream, &self.request).await?;
        if !response.closes {
            self.open = Some((stream, exchanges));
        }
        Ok(response)
    }
}
