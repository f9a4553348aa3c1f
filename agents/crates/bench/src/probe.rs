//! Latency probes over HTTP/1.1. Each client sends one request or message at a time and measures the latency that a visitor
//! notices.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairlead_model::BenchmarkProbe;
use futures_util::{SinkExt, StreamExt};
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustix::time::{ClockId, clock_gettime};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::client::{SharedRef, pause_after_failure};
use crate::failure::{FailureKind, RequestError, of_status};
use crate::response::Response;
use crate::stream::ClientStream;

const UPLOAD_BYTES: usize = 64 * 1024;
const MESSAGE: Bytes = Bytes::from_static(&[b'x'; 64]);
/// Most bytes of an event that has not ended.
const EVENT_BYTES_MAX: usize = 64 * 1024;
const USER_AGENT_VALUE: &str = "fairlead-bench";
/// Status of a WebSocket handshake that succeeded, counted like a response.
const OK: u16 = 200;

/// Runs one client until its worker ends it.
pub(crate) async fn run(shared: SharedRef, probe: BenchmarkProbe) {
    let mut ready = false;
    loop {
        let Err(error) = match probe {
            BenchmarkProbe::Websocket => exchange_messages(&shared, &mut ready).await,
            _ => exchange_requests(&shared, probe, &mut ready).await,
        };
        shared.failed(&error);
        pause_after_failure().await;
    }
}

/// Sends requests on one connection until one fails.
async fn exchange_requests(
    shared: &SharedRef,
    probe: BenchmarkProbe,
    ready: &mut bool,
) -> Result<Infallible, RequestError> {
    let stream = shared.connect(&shared.destination).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(of_hyper)?;
    tokio::task::spawn_local(async {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection of a latency probe ended");
        }
    });
    let request = request(shared, probe)?;
    let timeout = shared.request_timeout;
    loop {
        let exchange = tokio::time::timeout(timeout, exchange(shared, &mut sender, request.clone(), probe));
        exchange.await.unwrap_or_else(|_| Err(RequestError::late(timeout)))?;
        shared.ready(ready);
    }
}

fn request(shared: &SharedRef, probe: BenchmarkProbe) -> Result<Request<Full<Bytes>>, RequestError> {
    let builder = Request::builder()
        .uri(&shared.destination.path)
        .header(HOST, &shared.destination.authority)
        .header(USER_AGENT, USER_AGENT_VALUE);
    let request = if probe == BenchmarkProbe::Upload {
        let body = Full::from(vec![b'x'; UPLOAD_BYTES]);
        builder.method(Method::POST).header(CONTENT_TYPE, "application/octet-stream").body(body)
    } else {
        builder.body(Full::default())
    };
    request.map_err(|error| RequestError::new(FailureKind::Malformed, error))
}

/// Sends one request, reads its whole response, and counts the latency of the probe.
async fn exchange(
    shared: &SharedRef,
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    probe: BenchmarkProbe,
) -> Result<(), RequestError> {
    sender.ready().await.map_err(of_hyper)?;
    let started = Instant::now();
    let response = sender.send_request(request).await.map_err(of_hyper)?;
    let (status, mut body) = (response.status().as_u16(), response.into_body());
    let is_good = of_status(status).is_none();
    match probe {
        BenchmarkProbe::StreamFirstByte if is_good => {
            let first = next_data(&mut body).await?.ok_or_else(RequestError::ended_early)?;
            shared.answered(started, &Response::new(status, first.len() as u64));
            while next_data(&mut body).await?.is_some() {}
        }
        BenchmarkProbe::Sse if is_good => {
            let mut events = EventParser::default();
            while let Some(data) = next_data(&mut body).await? {
                let received = monotonic();
                for sent in events.take(&data)? {
                    let delay = received.saturating_sub(sent);
                    let sent = Instant::now().checked_sub(delay).unwrap_or(started);
                    shared.answered(sent, &Response::new(status, 0));
                }
            }
        }
        _ => {
            let mut body_bytes = 0;
            while let Some(data) = next_data(&mut body).await? {
                body_bytes += data.len() as u64;
            }
            shared.answered(started, &Response::new(status, body_bytes));
        }
    }
    Ok(())
}

/// Returns the next part of a body; `None` at its end.
async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, RequestError> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(of_hyper)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Parser of server-sent events that consist of their send time.
#[derive(Debug, Default)]
struct EventParser {
    /// Start of an event that has not ended.
    rest: String,
}

impl EventParser {
    /// Returns the send times of the events that end in `bytes`, on the monotonic clock of this machine.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Duration>, RequestError> {
        let malformed = |reason: &'static str| RequestError::new(FailureKind::Malformed, reason);
        self.rest.push_str(std::str::from_utf8(bytes).map_err(|_| malformed("an event is not UTF-8"))?);
        let mut sent = Vec::new();
        while let Some((event, rest)) = self.rest.split_once("\n\n") {
            let nanos = event.strip_prefix("data: ").and_then(|text| text.parse().ok());
            sent.push(Duration::from_nanos(nanos.ok_or_else(|| malformed("an event has no send time"))?));
            self.rest = rest.to_owned();
        }
        if self.rest.len() > EVENT_BYTES_MAX {
            return Err(malformed("an event does not end"));
        }
        Ok(sent)
    }
}

/// Returns the time of the clock by which the lab's app stamps events: it runs on the same machine.
fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Sends messages on one WebSocket and waits for the echo of each, until one fails.
async fn exchange_messages(shared: &SharedRef, ready: &mut bool) -> Result<Infallible, RequestError> {
    let timeout = shared.request_timeout;
    let opening = tokio::time::timeout(timeout, open_websocket(shared));
    let mut socket = opening.await.unwrap_or_else(|_| Err(RequestError::late_connection(timeout)))?;
    loop {
        let started = Instant::now();
        let echo = tokio::time::timeout(timeout, echo(&mut socket));
        let body_bytes = echo.await.unwrap_or_else(|_| Err(RequestError::late(timeout)))?;
        shared.answered(started, &Response::new(OK, body_bytes));
        shared.ready(ready);
    }
}

async fn open_websocket(shared: &SharedRef) -> Result<WebSocketStream<ClientStream>, RequestError> {
    let stream = shared.connect(&shared.destination).await?;
    // Scheme `ws` also with TLS: the connection is already open.
    let url = format!("ws://{}{}", shared.destination.authority, shared.destination.path);
    let (socket, _) = client_async(url, stream).await.map_err(of_websocket)?;
    Ok(socket)
}

async fn echo(socket: &mut WebSocketStream<ClientStream>) -> Result<u64, RequestError> {
    socket.send(Message::Binary(MESSAGE)).await.map_err(of_websocket)?;
    match socket.next().await {
        Some(Ok(Message::Binary(echo))) if echo == MESSAGE => Ok(echo.len() as u64),
        Some(Ok(other)) => Err(RequestError::new(FailureKind::Malformed, format!("no echo but {other:?}"))),
        Some(Err(error)) => Err(of_websocket(error)),
        None => Err(RequestError::ended_early()),
    }
}

fn of_hyper(error: hyper::Error) -> RequestError {
    RequestError::new(if error.is_parse() { FailureKind::Malformed } else { FailureKind::Closed }, error)
}

fn of_websocket(error: tungstenite::Error) -> RequestError {
    let kind = match &error {
        tungstenite::Error::Http(response) => of_status(response.status().as_u16()).unwrap_or(FailureKind::Malformed),
        tungstenite::Error::Io(_) | tungstenite::Error::ConnectionClosed => FailureKind::Closed,
        _ => FailureKind::Malformed,
    };
    RequestError::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_their_bytes_arrive() {
        let text = b"data: 5\n\ndata: 17\n\ndata: 4000000000\n\n";
        let expected = [5, 17, 4_000_000_000].map(Duration::from_nanos);
        for piece in 1..=text.len() {
            let mut parser = EventParser::default();
            let times: Vec<_> = text.chunks(piece).flat_map(|bytes| parser.take(bytes).unwrap()).collect();
            assert_eq!(times, expected, "pieces of {piece}");
        }
        assert!(EventParser::default().take(b"data: soon\n\n").is_err());
        assert!(EventParser::default().take(&[b'x'; EVENT_BYTES_MAX + 1]).is_err());
    }
}
