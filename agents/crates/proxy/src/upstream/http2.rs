//! One core's HTTP/2 connections to one instance: few, each carrying many exchanges. One is dialled at a time, a connection
//! that says goodbye gets nothing new, and the last exchange of one that is no longer wanted closes it.

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

/// Streams of one connection before another is made; fewer when the app allows fewer.
const STREAMS_PER_CONNECTION: u32 = 64;
/// Connections to one instance from one core; beyond, streams wait for the app to allow more.
const CONNECTIONS_MAX: usize = 8;
/// Body bytes an app may send ahead on one stream. The connection's window has room for as many streams as one carries, so
/// that clients which read slowly never hold up the others.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = STREAM_WINDOW_BYTES * STREAMS_PER_CONNECTION;
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// The connections of one instance.
#[derive(Debug, Default)]
pub(crate) struct Http2Connections {
    open: RefCell<Vec<Rc<Http2Connection>>>,
    dialing: Mutex<()>,
    /// Dials that failed; whoever waited for one failed with it.
    failures: Cell<u64>,
}

/// One connection.
#[derive(Debug)]
struct Http2Connection {
    send: SendRequest<Bytes>,
    closed: Rc<Cell<bool>>,
    streams: Cell<u32>,
    served: Cell<bool>,
    /// Since when it carries nothing, as far as was looked; zero while it does.
    idle_since_ms: Cell<u64>,
}

impl Http2Connection {
    /// Takes new streams: neither ended nor about to.
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
    /// A place on a connection.
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

    /// A place on a connection that is there; `None` when another should be made.
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

    /// Lets all go: each closes with its last exchange.
    pub(crate) fn leave(&self) {
        self.open.borrow_mut().clear();
    }

    /// Lets those go that ended, or carried nothing for `idle`.
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

/// Connects and asks whether HTTP/2 is really spoken: the answer comes after the app's settings, which are then known.
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
    // Ends with the connection, which ends with its last handle: a lease or a place in the list.
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

/// A place on a connection, counted for as long as it lives.
#[derive(Debug)]
pub(crate) struct Http2Lease {
    connection: Rc<Http2Connection>,
    /// The connection served an exchange before, so the app may just be closing it.
    pub(crate) reused: bool,
}

impl Http2Lease {
    fn enter(connection: Rc<Http2Connection>) -> Self {
        connection.streams.set(connection.streams.get() + 1);
        connection.idle_since_ms.set(0);
        let reused = connection.served.replace(true);
        Self { connection, reused }
    }

    /// For one request.
    pub(crate) fn send(&self) -> SendRequest<Bytes> {
        self.connection.send.clone()
    }
}

impl Drop for Http2Lease {
    fn drop(&mut self) {
        self.connection.streams.set(self.connection.streams.get() - 1);
    }
}
