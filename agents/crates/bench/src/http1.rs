//! Closed-loop HTTP/1.1 client: one request, its complete response, the next request; on kept, fresh or resumed connections. In
//! idle mode it sends one request and keeps the connection.

use std::io;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{ClientStream, LoadTarget, SharedRef, pause_after_failure};
use crate::mode::Mode;
use crate::response::{Response, ResponseParser};
use crate::tls::own_sessions;

const BUFFER_BYTES: usize = 8 * 1024;

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
            Mode::Keepalive => request_loop(&destination, &request, &shared, &mut ready).await,
            Mode::Fresh | Mode::Resumed => request_once(&destination, &request, &shared, &mut ready).await,
            Mode::Idle => request_and_idle(&destination, &request, &shared, &mut ready).await,
        };
        if let Err(error) = outcome {
            shared.failed(&error);
            pause_after_failure().await;
        }
    }
}

fn request(destination: &LoadTarget, closes: bool) -> Vec<u8> {
    let LoadTarget { path, authority, .. } = destination;
    let close = if closes { "Connection: close\r\n" } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: fairlead-bench\r\nAccept: */*\r\n{close}\r\n")
        .into_bytes()
}

/// Uses one connection until the server closes it cleanly (`Ok`) or it fails.
async fn request_loop(
    destination: &LoadTarget,
    request: &[u8],
    shared: &SharedRef,
    ready: &mut bool,
) -> io::Result<()> {
    // Limits concurrent openings: with thousands at once, the first responses would come only after the last handshake. Clients
    // with a response must not delay the others.
    let mut opening = if *ready { None } else { Some(shared.openings.acquire().await.map_err(io::Error::other)?) };
    let mut stream = shared.connect(destination).await?;
    let mut exchanges = Exchanges::new();
    loop {
        let started = Instant::now();
        let response = exchanges.ask(&mut *stream, request).await?;
        shared.answered(started, response.status, response.body_bytes);
        shared.ready(ready);
        if let Some(opening) = opening.take() {
            drop(opening);
            shared.announced().await;
        }
        if response.closes {
            return Ok(());
        }
    }
}

/// Opens a connection for one request; the latency includes both.
async fn request_once(
    destination: &LoadTarget,
    request: &[u8],
    shared: &SharedRef,
    ready: &mut bool,
) -> io::Result<()> {
    let started = Instant::now();
    let mut stream = shared.connect(destination).await?;
    let response = Exchanges::new().ask(&mut *stream, request).await?;
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
) -> io::Result<()> {
    let opening = shared.openings.acquire().await.map_err(io::Error::other)?;
    let mut stream = shared.connect(destination).await?;
    let started = Instant::now();
    let response = Exchanges::new().ask(&mut *stream, request).await?;
    shared.answered(started, response.status, response.body_bytes);
    shared.ready(ready);
    drop(opening);
    match stream.read(&mut [0; 1]).await? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed an idle connection")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the server spoke without being asked")),
    }
}

/// HTTP/1.1 exchanges on one connection, with the bytes that were read but not parsed.
struct Exchanges {
    buffer: Vec<u8>,
    reader: ResponseParser,
}

impl Exchanges {
    fn new() -> Self {
        Self { buffer: Vec::with_capacity(BUFFER_BYTES), reader: ResponseParser::new() }
    }

    /// Sends a request and reads its complete response.
    async fn ask(&mut self, stream: &mut dyn ClientStream, request: &[u8]) -> io::Result<Response> {
        stream.write_all(request).await?;
        stream.flush().await?;
        loop {
            if !self.buffer.is_empty() {
                let progress =
                    self.reader.advance(&self.buffer).map_err(|error| io::Error::other(error.to_string()))?;
                self.buffer.drain(..progress.consumed);
                if let Some(response) = progress.response {
                    return Ok(response);
                }
            }
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return self.reader.close().ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
