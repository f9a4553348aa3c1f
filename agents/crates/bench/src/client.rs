//! What one client sends, over which kind of connection, and what it counts.

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

use crate::connect::{CONNECT_TIMEOUT, Connection, SocketPool};
use crate::mode::Mode;

/// Streams on one connection of HTTP/2 or HTTP/3; more clients open more connections.
const STREAMS_PER_CONNECTION: u32 = 16;

/// First connections that one worker opens at once.
pub(crate) const OPENINGS_MAX: usize = 32;

/// The protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Http3,
}

impl Protocol {
    /// Clients that share a connection: streams of one, or one.
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

/// Where requests go and what they ask for.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    pub(crate) address: UpstreamAddress,
    /// `None`: no TLS. HTTP/3 has no other way.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Value of `Host` or `:authority`.
    pub(crate) authority: String,
    pub(crate) path: String,
}

/// The measured time; what ends outside of it does not count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// What a worker's clients counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    /// Handshakes shortened by a ticket.
    pub(crate) resumed: u64,
    pub(crate) body_bytes: u64,
    pub(crate) latency: Histogram,
    pub(crate) last_error: Option<String>,
}

/// What the clients of one worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) destination: Destination,
    pub(crate) mode: Mode,
    pub(crate) sockets: SocketPool,
    /// First connections of HTTP/1 clients that open at once: what a server needs for a rush of thousands is neither what
    /// their silence costs nor what their requests do.
    pub(crate) openings: Semaphore,
    pub(crate) window: Cell<Option<Window>>,
    /// Says it before it is in `window`.
    pub(crate) announcement: watch::Receiver<Option<Window>>,
    pub(crate) tally: RefCell<Tally>,
    /// Clients that have had their first answer, of all workers.
    pub(crate) ready: Arc<AtomicU32>,
}

/// A stream of either kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl Shared {
    /// Opens a connection, by TLS when the destination asks for it.
    pub(crate) async fn connect(&self, destination: &Destination) -> io::Result<Box<dyn Stream>> {
        let opening = async {
            let stream = match (self.sockets.connect(&destination.address).await?, &destination.tls) {
                (Connection::Tcp(stream), Some((config, name))) => {
                    TlsConnector::from(config.clone()).connect(name.clone(), stream).await?
                }
                (Connection::Tcp(stream), None) => return Ok(Box::new(stream) as Box<dyn Stream>),
                (Connection::Unix(stream), None) => return Ok(Box::new(stream) as Box<dyn Stream>),
                (Connection::Unix(_), Some(_)) => return Err(io::Error::other("TLS is spoken over TCP only")),
            };
            if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) && self.counts(Instant::now()) {
                self.tally.borrow_mut().resumed += 1;
            }
            Ok(Box::new(stream) as Box<dyn Stream>)
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection within 10 s");
        tokio::time::timeout(CONNECT_TIMEOUT, opening).await.unwrap_or_else(|_| Err(late()))
    }

    /// Counts an answer that ended now.
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

    /// Waits until it is known when measuring begins.
    pub(crate) async fn announced(&self) {
        if self.announcement.clone().wait_for(Option::is_some).await.is_err() {
            // The measurement was given up, and this client is about to be.
            std::future::pending::<()>().await;
        }
    }

    /// Asks for spare sockets before measuring begins, for servers that close connections.
    pub(crate) async fn prepare(&self) {
        self.announced().await;
        if let Err(error) = self.sockets.fill(&self.destination.address).await {
            self.failed(&error);
        }
    }

    /// Says, once a client, that it has had an answer.
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

/// Pause before a client that failed tries again: errors are counted, not multiplied.
pub(crate) async fn pause_after_failure() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Shared by the clients of one worker, on its thread only.
pub(crate) type SharedRef = Rc<Shared>;
