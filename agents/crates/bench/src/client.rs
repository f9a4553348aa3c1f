//! State of the clients of one worker: destination, connections and results.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fairlead_model::{BenchmarkRequest, UpstreamAddress};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsConnector;

use crate::connect::{CONNECT_TIMEOUT, ClientSockets, PlainConnection};
use crate::failure::{FailureKind, RequestError};
use crate::mode::Mode;
use crate::order::RequestOrder;
use crate::pacer::Pacer;
use crate::response::Response;
use crate::stream::ClientStream;
use crate::tally::{BusyClock, LoadTally};

/// Maximum number of streams on one HTTP/2 or HTTP/3 connection; more clients open more connections.
pub(crate) const STREAMS_PER_CONNECTION: u32 = 16;

/// Maximum number of first connections that one worker opens concurrently.
pub(crate) const OPENINGS_MAX: usize = 32;

/// Protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Http3,
    /// Unary calls over HTTP/2.
    Grpc,
}

impl Protocol {
    /// Returns the number of clients that share a connection.
    pub(crate) fn clients_per_connection(self) -> u32 {
        match self {
            Self::Http1 => 1,
            Self::Http2 | Self::Http3 | Self::Grpc => STREAMS_PER_CONNECTION,
        }
    }

    pub(crate) fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 | Self::Grpc => b"h2",
            Self::Http3 => b"h3",
        }
    }
}

/// Destination of the requests.
#[derive(Debug, Clone)]
pub(crate) struct LoadTarget {
    pub(crate) address: UpstreamAddress,
    /// TLS configuration and server name; `None`: plain text, which HTTP/3 does not allow.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Value of `Host` or `:authority`.
    pub(crate) authority: String,
    pub(crate) path: String,
    /// Requests in place of one GET of `path`.
    pub(crate) requests: Arc<[BenchmarkRequest]>,
}

/// Measured time. A closed loop counts the requests that end in it, an open loop those that are scheduled in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Time of the announcement, at which an open loop begins.
    pub(crate) announced: Instant,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// State that the clients of one worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) destination: LoadTarget,
    pub(crate) mode: Mode,
    pub(crate) order: RequestOrder,
    /// Time of a client between a response and its next request, in a closed loop.
    pub(crate) think_time: Duration,
    pub(crate) request_timeout: Duration,
    /// Timer of an open loop's clients; not used in a closed loop.
    pub(crate) pacer: Pacer,
    pub(crate) busy: RefCell<BusyClock>,
    pub(crate) sockets: ClientSockets,
    /// Limits the first connections of HTTP/1 clients that open concurrently. The resources that a server needs for a rush of
    /// thousands of openings reflect neither idle connections nor requests.
    pub(crate) openings: Semaphore,
    pub(crate) window: Cell<Option<Window>>,
    /// Announces the window before the start of it.
    pub(crate) announcement: watch::Receiver<Option<Window>>,
    pub(crate) tally: RefCell<LoadTally>,
    /// Number of clients of all workers with a first response.
    pub(crate) ready: Arc<AtomicU32>,
}

impl Shared {
    /// Opens a connection, with TLS if the destination requires it.
    pub(crate) async fn connect(&self, destination: &LoadTarget) -> Result<ClientStream, RequestError> {
        let opening = async {
            let plain = self.sockets.connect(&destination.address).await;
            let stream = match (plain.map_err(RequestError::io(FailureKind::Connect))?, &destination.tls) {
                (PlainConnection::Tcp(stream), Some((config, name))) => {
                    let handshake = TlsConnector::from(config.clone()).connect(name.clone(), stream);
                    handshake.await.map_err(RequestError::io(FailureKind::Tls))?
                }
                (PlainConnection::Tcp(stream), None) => return Ok(ClientStream::Tcp(stream)),
                (PlainConnection::Unix(stream), None) => return Ok(ClientStream::Unix(stream)),
                (PlainConnection::Unix(_), Some(_)) => {
                    return Err(RequestError::new(FailureKind::Tls, "TLS is spoken over TCP only"));
                }
            };
            if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) && self.counts(Instant::now()) {
                self.tally.borrow_mut().resumed += 1;
            }
            Ok(ClientStream::Tls(Box::new(stream)))
        };
        let limit = CONNECT_TIMEOUT.min(self.request_timeout);
        tokio::time::timeout(limit, opening).await.unwrap_or_else(|_| Err(RequestError::late_connection(limit)))
    }

    /// Counts a response that ended now; returns the time.
    pub(crate) fn answered(&self, started: Instant, response: &Response) -> Instant {
        let now = Instant::now();
        self.record(started, now, now, response);
        now
    }

    /// Counts a response to a request scheduled at `scheduled` that ended now; returns the time.
    pub(crate) fn answered_scheduled(&self, scheduled: Instant, response: &Response) -> Instant {
        let now = Instant::now();
        self.record(scheduled, now, scheduled, response);
        now
    }

    fn record(&self, started: Instant, ended: Instant, counted_at: Instant, response: &Response) {
        let mut tally = self.tally.borrow_mut();
        let counts = self.counts(counted_at);
        match response.failure() {
            Some((kind, sentence)) => {
                tally.last_error = Some(sentence);
                if counts {
                    tally.fail(kind);
                }
            }
            None if counts => tally.succeed(ended.saturating_duration_since(started), response.body_bytes),
            None => {}
        }
    }

    /// Counts a request or connection that failed now.
    pub(crate) fn failed(&self, error: &RequestError) {
        self.failed_at(error, Instant::now());
    }

    /// Counts a failed request by `counted_at`: the time of its end in a closed loop, its schedule in an open loop.
    pub(crate) fn failed_at(&self, error: &RequestError, counted_at: Instant) {
        let mut tally = self.tally.borrow_mut();
        tally.last_error = Some(error.to_string());
        if self.counts(counted_at) {
            tally.fail(error.kind);
        }
    }

    /// Waits until the measured time is announced.
    pub(crate) async fn announced(&self) {
        if self.announcement.clone().wait_for(Option::is_some).await.is_err() {
            // The measurement was cancelled, and this client soon ends.
            std::future::pending::<()>().await;
        }
    }

    /// Requests spare sockets before the measured time, for servers that close connections.
    pub(crate) async fn prepare(&self) {
        self.announced().await;
        if let Err(error) = self.sockets.fill(&self.destination.address).await {
            self.failed(&RequestError::new(FailureKind::Connect, error));
        }
    }

    /// Waits before the next request of a closed loop.
    pub(crate) async fn think(&self) {
        if !self.think_time.is_zero() {
            tokio::time::sleep(self.think_time).await;
        }
    }

    /// Reports the first response of a client, once.
    pub(crate) fn ready(&self, said: &mut bool) {
        if !*said {
            *said = true;
            self.ready.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn counts(&self, now: Instant) -> bool {
        self.window.get().is_some_and(|window| window.start <= now && now < window.end)
    }
}

/// Pauses before a failed client retries, so that errors are not multiplied.
pub(crate) async fn pause_after_failure() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// State shared on one worker's thread.
pub(crate) type SharedRef = Rc<Shared>;
