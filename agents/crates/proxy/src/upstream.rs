//! One instance of an app as one core sees it: its idle connections, its limit, its queue, and what is in flight.
//! Never reuses a connection that has anything to say between two responses.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::core::{Buffers, Outbox};
use crate::limits::Limits;

/// Why an instance took no request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AcquireError {
    /// Too many wait already, or this one waited too long.
    #[error("too many requests wait for the app")]
    Busy,
    /// It began to drain while this request waited.
    #[error("the instance drains")]
    Draining,
    /// Nothing answers at its address.
    #[error("the app can't be reached: {0}")]
    Connect(#[source] io::Error),
}

/// An instance and this core's connections to it.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: Box<str>,
    pub(crate) address: SocketAddr,
    in_flight: Cell<u32>,
    draining: Cell<bool>,
    slots: Arc<Semaphore>,
    queued: Cell<u32>,
    idle: RefCell<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    socket: TcpStream,
    until_ms: u64,
}

/// The right to use one connection; FIFO among those who wait.
pub(crate) type Slot = OwnedSemaphorePermit;

/// Counts an exchange for as long as it lives, however it ends.
#[derive(Debug)]
pub(crate) struct InFlight(Rc<Instance>);

impl InFlight {
    pub(crate) fn instance(&self) -> &Rc<Instance> {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
    }
}

impl Instance {
    pub(crate) fn new(id: &str, address: SocketAddr, limits: &Limits) -> Rc<Self> {
        Rc::new(Self {
            id: id.into(),
            address,
            in_flight: Cell::new(0),
            draining: Cell::new(false),
            slots: Arc::new(Semaphore::new(limits.upstream_connections_max)),
            queued: Cell::new(0),
            idle: RefCell::default(),
        })
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// Counts a new exchange.
    pub(crate) fn begin(self: &Rc<Self>) -> InFlight {
        self.in_flight.set(self.in_flight.get() + 1);
        InFlight(Rc::clone(self))
    }

    /// A draining instance gets nothing new and keeps nothing idle.
    pub(crate) fn set_draining(&self, draining: bool) {
        self.draining.set(draining);
        if draining {
            self.idle.borrow_mut().clear();
        }
    }

    /// Waits its turn. The common case, a free slot, waits for nothing.
    pub(crate) async fn slot(&self, limits: &Limits) -> Result<Slot, AcquireError> {
        if self.draining.get() {
            return Err(AcquireError::Draining);
        }
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(slot);
        }
        if self.queued.get() >= limits.queue_max {
            return Err(AcquireError::Busy);
        }
        let _queued = Queued::enter(&self.queued);
        match timeout(limits.queue_timeout, Arc::clone(&self.slots).acquire_owned()).await {
            Ok(Ok(_)) if self.draining.get() => Err(AcquireError::Draining),
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => Err(AcquireError::Busy),
        }
    }

    /// The connection that was used last: the warmest, and the others get to expire.
    pub(crate) fn reuse(&self, now_ms: u64) -> Option<UpstreamConnection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(connection) = idle.pop() {
            if connection.until_ms > now_ms && is_silent(&connection.socket) {
                return Some(UpstreamConnection::new(connection.socket, true));
            }
        }
        None
    }

    /// A new connection.
    pub(crate) async fn dial(&self, limits: &Limits) -> Result<UpstreamConnection, AcquireError> {
        let socket = match timeout(limits.connect_timeout, TcpStream::connect(self.address)).await {
            Ok(connected) => connected.map_err(AcquireError::Connect)?,
            Err(_) => return Err(AcquireError::Connect(io::ErrorKind::TimedOut.into())),
        };
        socket.set_nodelay(true).map_err(AcquireError::Connect)?;
        Ok(UpstreamConnection::new(socket, false))
    }

    /// Keeps a connection whose response has ended cleanly.
    pub(crate) fn keep(&self, connection: UpstreamConnection, until_ms: u64) {
        if !self.draining.get() {
            self.idle.borrow_mut().push(IdleConnection { socket: connection.socket, until_ms });
        }
    }

    /// Closes idle connections that expired or that the app closed.
    pub(crate) fn sweep(&self, now_ms: u64) {
        self.idle.borrow_mut().retain(|connection| connection.until_ms > now_ms && is_silent(&connection.socket));
    }
}

/// Between two responses a connection must have nothing to say: an end, an error or a byte make it unusable.
/// Asks the kernel only when the runtime has seen something happen.
fn is_silent(socket: &TcpStream) -> bool {
    matches!(socket.try_read(&mut [0; 1]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

struct Queued<'a>(&'a Cell<u32>);

impl<'a> Queued<'a> {
    fn enter(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A connection to an instance during one exchange.
#[derive(Debug)]
pub(crate) struct UpstreamConnection {
    socket: TcpStream,
    pub(crate) outbox: Outbox,
    /// It served an exchange before, so the app may just be closing it.
    pub(crate) reused: bool,
}

impl UpstreamConnection {
    fn new(socket: TcpStream, reused: bool) -> Self {
        Self { socket, outbox: Outbox::default(), reused }
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<()>> {
        self.outbox.poll_flush(&mut self.socket, cx, buffers)
    }

    /// Reads once into `buffer`; zero is the end.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(&mut self.socket).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    /// Closes our sending side; the app's half goes on.
    pub(crate) fn shutdown(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write)?)
    }
}
