//! State of the clients of one worker: destination, connections and results.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fairlead_model::UpstreamAddress;
use fairlead_telemetry::Histogram;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsConnector;

use crate::connect::{CONNECT_TIMEOUT, ClientSockets, PlainConnection};
use crate::mode::Mode;

/// Maximum number of streams on one HTTP/2 or HTTP/3 connection; more clients open more connections.
const STREAMS_PER_CONNECTION: u32 = 16;

/// Maximum number of first connections that one worker opens concurrently.
pub(crate) const OPENINGS_MAX: usize = 32;

/// HTTP version of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Http3,
}

impl Protocol {
    /// Returns the number of clients that share a connection.
    pub(crate) fn clients_per_connection(self) -> u32 {
        match self {
            Self::Http1 => 1,
            Self::Http2 | Self::Http3 => STREAMS_PER_CONNECTION,
        }
    }

    pub(crate) fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
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
}

/// Measured time; requests that end outside of it do not count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// Results of a worker's clients.
#[derive(Debug, Default)]
pub(crate) struct LoadTally {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    /// Handshakes shortened by a ticket.
    pub(crate) resumed: u64,
    pub(crate) body_bytes: u64,
    pub(crate) latency: Histogram,
    pub(crate) last_error: Option<String>,
}

/// State that the clients of one worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) destination: LoadTarget,
    pub(crate) mode: Mode,
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

/// Byte stream with or without TLS.
pub(crate) trait ClientStream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream for S {}

impl Shared {
    /// Opens a connection, with TLS if the destination requires it.
    pub(crate) async fn connect(&self, destination: &LoadTarget) -> io::Result<Box<dyn ClientStream>> {
        let opening = async {
            let stream = match (self.sockets.connect(&destination.address).await?, &destination.tls) {
                (PlainConnection::Tcp(stream), Some((config, name))) => {
                    TlsConnector::from(config.clone()).connect(name.clone(), stream).await?
                }
                (PlainConnection::Tcp(stream), None) => return Ok(Box::new(stream) as Box<dyn ClientStream>),
                (PlainConnection::Unix(stream), None) => return Ok(Box::new(stream) as Box<dyn ClientStream>),
                (PlainConnection::Unix(_), Some(_)) => return Err(io::Error::other("TLS is spoken over TCP only")),
            };
            if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) && self.counts(Instant::now()) {
                self.tally.borrow_mut().resumed += 1;
            }
            Ok(Box::new(stream) as Box<dyn ClientStream>)
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection within 10 s");
        tokio::time::timeout(CONNECT_TIMEOUT, opening).await.unwrap_or_else(|_| Err(late()))
    }

    /// Counts a response that ended now.
    pub(crate) fn answered(&self, started: Instant, status: u16, body_bytes: u64) {
        let now = Instant::now();
        let mut tally = self.tally.borrow_mut();
        if !(200..300).contains(&status) {
            tally.last_error = Some(format!("it answered {status}"));
        }
        if !self.counts(now) {
            return;
        }
        if (200..300).contains(&status) {
            tally.requests += 1;
            tally.body_bytes += body_bytes;
            let us = now.saturating_duration_since(started).as_micros();
            tally.latency.record(u64::try_from(us).unwrap_or(u64::MAX));
        } else {
            tally.errors += 1;
        }
    }

    /// Counts a request or connection that failed now.
    pub(crate) fn failed(&self, error: &dyn std::error::Error) {
        let mut tally = self.tally.borrow_mut();
        tally.last_error = Some(error.to_string());
        if self.counts(Instant::now()) {
            tally.errors += 1;
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
            self.failed(&error);
        }
    }

    /// Reports the first response of a client, once.
    pub(crate) fn ready(&self, said: &mut bool) {
        if !*said {
            *said = true;
            self.ready.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(&self, now: Instant) -> bool {
        self.window.get().is_some_and(|window| window.start <= now && now < window.end)
    }
}

/// Pauses before a failed client retries, so that errors are not multiplied.
pub(crate) async fn pause_after_failure() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// State shared on one worker's thread.
pub(crate) type SharedRef = Rc<Shared>;
