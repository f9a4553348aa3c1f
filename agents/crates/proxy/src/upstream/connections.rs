//! One core's connections to one instance: those that wait for their next exchange, and the way to new ones.
//! Never reuses a connection that has anything to say between two responses.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use fairlead_model::UpstreamProtocol;
use tokio::io::AsyncWrite;

use super::http2::{Http2Connections, Http2Lease};
use super::{Connector, UpstreamSocket};
use crate::core::{Buffers, Outbox};
use crate::h1::Reading;
use crate::limits::Limits;

/// The connections of one instance.
#[derive(Debug)]
pub(crate) struct Connections {
    connector: Arc<Connector>,
    idle: RefCell<Vec<IdleConnection>>,
    http2: Http2Connections,
}

#[derive(Debug)]
struct IdleConnection {
    socket: UpstreamSocket,
    until_ms: u64,
}

impl Connections {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, idle: RefCell::default(), http2: Http2Connections::default() }
    }

    /// Whether `connector` leads where these do.
    pub(crate) fn lead_as(&self, connector: &Connector) -> bool {
        *self.connector == *connector
    }

    pub(crate) fn are_secure(&self) -> bool {
        self.connector.is_secure()
    }

    /// A connection for one exchange. With `fresh` never one that may be as dead as the last.
    pub(crate) async fn link(&self, fresh: bool, now_ms: u64, limits: &Limits) -> io::Result<Link> {
        if self.connector.protocol() == UpstreamProtocol::Http2 {
            return Ok(Link::Http2(Box::pin(self.http2.lease(&self.connector, limits)).await?));
        }
        if !fresh && let Some(connection) = self.reuse(now_ms) {
            return Ok(Link::Http1(connection));
        }
        let socket = self.connector.connect(limits.connect_timeout).await?;
        Ok(Link::Http1(UpstreamConnection::new(socket, false)))
    }

    /// The connection that was used last: the warmest, and the others get to expire.
    fn reuse(&self, now_ms: u64) -> Option<UpstreamConnection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if connection.until_ms > now_ms && connection.socket.is_silent() {
                return Some(UpstreamConnection::new(connection.socket, true));
            }
        }
        None
    }

    /// Keeps a connection whose response has ended cleanly.
    pub(crate) fn keep(&self, connection: UpstreamConnection, until_ms: u64) {
        self.idle.borrow_mut().push(IdleConnection { socket: connection.socket, until_ms });
    }

    /// Closes what is idle.
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

/// What one exchange has of an instance's connections.
#[derive(Debug)]
pub(crate) enum Link {
    /// A whole connection.
    Http1(UpstreamConnection),
    /// A place on one.
    Http2(Http2Lease),
}

impl Link {
    /// It served an exchange before, so the app may just be closing it.
    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.reused,
            Self::Http2(lease) => lease.reused,
        }
    }
}

/// A connection of HTTP/1.1 to an instance during one exchange.
#[derive(Debug)]
pub(crate) struct UpstreamConnection {
    socket: UpstreamSocket,
    pub(crate) outbox: Outbox,
    pub(crate) reading: Reading,
    /// It served an exchange before, so the app may just be closing it.
    pub(crate) reused: bool,
    /// TLS has taken bytes that its socket has not.
    sending: bool,
}

impl UpstreamConnection {
    fn new(socket: UpstreamSocket, reused: bool) -> Self {
        Self { socket, outbox: Outbox::default(), reading: Reading::default(), reused, sending: false }
    }

    /// Whether `poll_send` has anything to do.
    pub(crate) fn owes(&self) -> bool {
        self.sending || !self.outbox.is_empty()
    }

    /// Ready when the app has taken everything.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<()>> {
        let sent = self.outbox.poll_flush(&mut self.socket, cx, buffers);
        self.sending = sent.is_pending();
        sent
    }

    /// Reads once into `buffer`; zero is the end.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.socket.poll_read_slice(cx, buffer)
    }

    /// Closes our sending side; the app's half goes on.
    pub(crate) fn poll_close_half(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
