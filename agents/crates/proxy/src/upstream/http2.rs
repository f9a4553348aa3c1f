//! HTTP/2 connection pool of one core to one instance: few connections, each with many streams. Invariants: one dial
//! at a time, no new streams after GOAWAY; the last stream of a removed connection closes it.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use fairlead_reactor::{spawn, timeout};
use h2::Ping;
use h2::client::{Builder, SendRequest};
use tokio::sync::Mutex;

use super::{Connector, UpstreamSocket};
use crate::limits::Limits;

/// Streams on one connection before another is opened; fewer if the app allows fewer.
const STREAMS_PER_CONNECTION: u32 = 64;
/// Maximum connections to one instance from one core; beyond it, streams wait until the app allows more.
const CONNECTIONS_MAX: usize = 8;
/// Flow control window of one stream in bytes. The connection window fits all of its streams, so that slow clients
/// never block others.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = STREAM_WINDOW_BYTES * STREAMS_PER_CONNECTION;
const SEND_BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Http2Connections {
    open: RefCell<Vec<Rc<Http2Connection>>>,
    dialing: Mutex<()>,
    /// Number of failed dials; everything that waited for a failed dial fails too.
    failures: Cell<u64>,
}

#[derive(Debug)]
struct Http2Connection {
    send: SendRequest<Bytes>,
    closed: Rc<Cell<bool>>,
    streams: Cell<u32>,
    served: Cell<bool>,
    /// Time since which it has no streams, as of the last sweep; zero while it has some.
    idle_since_ms: Cell<u64>,
}

impl Http2Connection {
    /// True if it accepts new streams: it is neither closed nor closing.
    fn is_open(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        !self.closed.get() && !matches!(self.send.clone().poll_ready(&mut cx), std::task::Poll::Ready(Err(_)))
    }

    fn has_room(&self) -> bool {
        let allowed = u32::try_from(self.send.current_max_send_streams()).unwrap_or(u32::MAX);
        self.streams.get() < allowed.clamp(1, STREAMS_PER_CONNECTION)
    }
}

impl Http2Connections {
    /// Leases a stream slot on an open or a new connection.
    pub(crate) async fn lease(&self, connector: &Connector, limits: &Limits) -> io::Result<Http2Lease> {
        if let Some(lease) = self.join() {
            return Ok(lease);
        }
        let failures = self.failures.get();
        let _dialing = self.dialing.lock().await;
        if let Some(lease) = self.join() {
            return Ok(lease);
        }
        if self.failures.get() != failures {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the app could not be connected to just now"));
        }
        let dialed = match timeout(limits.connect_timeout, dial(connector, limits)).await {
            Ok(dialed) => dialed,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        match dialed {
            Ok(connection) => {
                self.open.borrow_mut().push(Rc::clone(&connection));
                Ok(Http2Lease::enter(connection))
            }
            Err(error) => {
                self.failures.set(failures + 1);
                Err(error)
            }
        }
    }

    /// Leases a slot on an open connection; returns `None` if a new one should be dialled.
    fn join(&self) -> Option<Http2Lease> {
        let mut open = self.open.borrow_mut();
        open.retain(|connection| connection.is_open());
        let with_room = open.iter().find(|connection| connection.has_room());
        let found = match with_room {
            None if open.len() >= CONNECTIONS_MAX => open.iter().min_by_key(|connection| connection.streams.get()),
            found => found,
        };
        found.map(|connection| Http2Lease::enter(Rc::clone(connection)))
    }

    /// Removes all connections: each closes with its last stream.
    pub(crate) fn leave(&self) {
        self.open.borrow_mut().clear();
    }

    /// Removes connections that ended or had no streams for `idle`.
    pub(crate) fn sweep(&self, now_ms: u64, idle: Duration) {
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        self.open.borrow_mut().retain(|connection| {
            if connection.streams.get() > 0 {
                return !connection.closed.get();
            }
            if connection.idle_since_ms.get() == 0 {
                connection.idle_since_ms.set(now_ms);
            }
            !connection.closed.get() && now_ms - connection.idle_since_ms.get() < idle_ms
        });
    }
}

/// Connects and sends a PING, which verifies HTTP/2: its answer follows the SETTINGS of the app.
async fn dial(connector: &Connector, limits: &Limits) -> io::Result<Rc<Http2Connection>> {
    let socket = connector.connect(limits.connect_timeout).await?;
    let (send, mut connection) = Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .handshake::<UpstreamSocket, Bytes>(socket)
        .await
        .map_err(io_error)?;
    let pings = connection.ping_pong();
    let closed = Rc::new(Cell::new(false));
    let has_closed = Rc::clone(&closed);
    // Ends with the connection, which lives until its last handle is dropped: a lease or the list entry.
    spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to an app failed");
        }
        has_closed.set(true);
    });
    if let Some(mut pings) = pings {
        pings.ping(Ping::opaque()).await.map_err(io_error)?;
    }
    Ok(Rc::new(Http2Connection {
        send,
        closed,
        streams: Cell::new(0),
        served: Cell::new(false),
        idle_since_ms: Cell::new(0),
    }))
}

fn io_error(error: h2::Error) -> io::Error {
    if error.is_io() {
        error.into_io().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    } else {
        io::Error::other(error)
    }
}

/// Stream slot on a connection, counted until dropped.
#[derive(Debug)]
pub(crate) struct Http2Lease {
    connection: Rc<Http2Connection>,
    /// True if the connection served an exchange before, so that the app may be closing it.
    pub(crate) reused: bool,
}

impl Http2Lease {
    fn enter(connection: Rc<Http2Connection>) -> Self {
        connection.streams.set(connection.streams.get() + 1);
        connection.idle_since_ms.set(0);
        let reused = connection.served.replace(true);
        Self { connection, reused }
    }

    /// Returns a handle to send one request.
    pub(crate) fn send(&self) -> SendRequest<Bytes> {
        self.connection.send.clone()
    }
}

impl Drop for Http2Lease {
    fn drop(&mut self) {
        self.connection.streams.set(self.connection.streams.get() - 1);
    }
}
