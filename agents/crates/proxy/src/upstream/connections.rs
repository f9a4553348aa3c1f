//! Connection pool of one core to one instance. Invariant: a connection with unsolicited bytes between two responses
//! is never reused.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use fairlead_model::UpstreamProtocol;
use tokio::io::AsyncWrite;

use super::http2::{Http2Connections, Http2Lease};
use super::{Connector, UpstreamSocket};
use crate::core::{Buffers, Outbox, PermitPool};
use crate::h1::ResponseReader;
use crate::limits::Limits;

#[derive(Debug)]
pub(crate) struct Connections {
    connector: Arc<Connector>,
    idle: RefCell<Vec<IdleConnection>>,
    http2: Http2Connections,
    /// HTTP/1.1 connections of all cores.
    open: Arc<PermitPool>,
}

#[derive(Debug)]
struct IdleConnection {
    socket: UpstreamSocket,
    open: CountedConnection,
    until_ms: u64,
}

/// Open HTTP/1.1 connection among those of all cores.
#[derive(Debug)]
struct CountedConnection(Arc<PermitPool>);

impl CountedConnection {
    fn count(open: &Arc<PermitPool>) -> Self {
        open.take_anyway(1);
        Self(Arc::clone(open))
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.put_back(1);
    }
}

impl Connections {
    pub(crate) fn new(connector: Arc<Connector>, open: Arc<PermitPool>) -> Self {
        Self { connector, idle: RefCell::default(), http2: Http2Connections::default(), open }
    }

    /// True if `connector` reaches the same instance in the same way.
    pub(crate) fn lead_as(&self, connector: &Connector) -> bool {
        *self.connector == *connector
    }

    pub(crate) fn are_secure(&self) -> bool {
        self.connector.is_secure()
    }

    /// Opens or reuses a connection for one exchange. With `fresh`, never reuses an idle HTTP/1 connection. If all cores
    /// have more connections than allowed then, closes idle ones here and calls `is_over` for those of other cores.
    pub(crate) async fn link(
        &self,
        fresh: bool,
        now_ms: u64,
        limits: &Limits,
        is_over: impl FnOnce(&Arc<PermitPool>),
    ) -> io::Result<ConnectionLease> {
        if self.connector.protocol() == UpstreamProtocol::Http2 {
            return Ok(ConnectionLease::Http2(Box::pin(self.http2.lease(&self.connector, limits)).await?));
        }
        if !fresh && let Some(connection) = self.reuse(now_ms) {
            return Ok(ConnectionLease::Http1(connection));
        }
        let open = CountedConnection::count(&self.open);
        if self.open.is_over() {
            self.close_surplus();
            is_over(&self.open);
        }
        let socket = self.connector.connect(limits.connect_timeout).await?;
        Ok(ConnectionLease::Http1(UpstreamConnection::new(socket, open, false)))
    }

    /// Takes the most recently used idle connection: it is the warmest, and the others can expire.
    fn reuse(&self, now_ms: u64) -> Option<UpstreamConnection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if connection.until_ms > now_ms && connection.socket.is_silent() {
                return Some(UpstreamConnection::new(connection.socket, connection.open, true));
            }
        }
        None
    }

    /// Returns a clean connection to the idle pool, or closes it if all cores have more than allowed.
    pub(crate) fn keep(&self, connection: UpstreamConnection, until_ms: u64) {
        if self.open.is_over() {
            return;
        }
        self.idle.borrow_mut().push(IdleConnection { socket: connection.socket, open: connection.open, until_ms });
    }

    /// Closes idle connections while all cores have more connections than allowed, the longest idle first.
    pub(crate) fn close_surplus(&self) {
        let mut idle = self.idle.borrow_mut();
        while self.open.is_over() && !idle.is_empty() {
            idle.remove(0);
        }
    }

    /// Closes all idle connections.
    pub(crate) fn close_idle(&self) {
        self.idle.borrow_mut().clear();
        self.http2.leave();
    }

    /// Closes idle connections that expired or that the app closed.
    pub(crate) fn sweep(&self, now_ms: u64, limits: &Limits) {
        self.idle.borrow_mut().retain_mut(|connection| connection.until_ms > now_ms && connection.socket.is_silent());
        self.http2.sweep(now_ms, limits.upstream_idle_timeout);
        self.connector.sweep();
    }
}

/// Connection of one exchange to an instance.
#[derive(Debug)]
pub(crate) enum ConnectionLease {
    /// HTTP/1.1 connection, exclusive to the exchange.
    Http1(UpstreamConnection),
    /// Stream of a shared HTTP/2 connection.
    Http2(Http2Lease),
}

impl ConnectionLease {
    /// True if the connection served an exchange before, so that the app may be closing it.
    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.reused,
            Self::Http2(lease) => lease.reused,
        }
    }
}

/// HTTP/1.1 connection to an instance during one exchange.
#[derive(Debug)]
pub(crate) struct UpstreamConnection {
    socket: UpstreamSocket,
    open: CountedConnection,
    pub(crate) outbox: Outbox,
    pub(crate) reading: ResponseReader,
    /// True if the connection served an exchange before, so that the app may be closing it.
    pub(crate) reused: bool,
    /// True while TLS holds bytes that the socket has not taken.
    sending: bool,
}

impl UpstreamConnection {
    fn new(socket: UpstreamSocket, open: CountedConnection, reused: bool) -> Self {
        Self { socket, open, outbox: Outbox::default(), reading: ResponseReader::default(), reused, sending: false }
    }

    /// True if `poll_send` has something to send.
    pub(crate) fn owes(&self) -> bool {
        self.sending || !self.outbox.is_empty()
    }

    /// Ready when the socket has taken everything.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<()>> {
        let sent = self.outbox.poll_flush(&mut self.socket, cx, buffers);
        self.sending = sent.is_pending();
        sent
    }

    /// Reads once into `buffer`; zero means end of stream.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.socket.poll_read_slice(cx, buffer)
    }

    /// Closes the sending side; the half of the app stays open.
    pub(crate) fn poll_close_half(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
