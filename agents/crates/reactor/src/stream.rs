//! Byte streams over TCP or a Unix socket, and their listeners. One type serves both: they differ only in connecting
//! and closing.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
    acceptfrom_with, connect, recv, send, sendmsg, shutdown, socket_with, sockopt,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::event_loop::OPERATION_BYTES;
use crate::source::Source;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// Largest read into uninitialized memory, which has to be cleared first.
const CLEARED_BYTES_MAX: usize = 8 * 1024;
/// Cost of accepting a client and setting up its connection, in bytes.
const ACCEPT_BYTES: usize = 16 * 1024;

/// Connected stream socket, TCP or Unix.
#[derive(Debug)]
pub struct Stream(Source<OwnedFd>);

impl Stream {
    /// Connects over TCP.
    ///
    /// # Errors
    ///
    /// The connection fails.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        Self::connect_with(socket_with(family, SocketType::STREAM, FLAGS, None)?, address).await
    }

    /// Connects a non-blocking TCP socket of the address's family.
    ///
    /// # Errors
    ///
    /// The connection fails.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub async fn connect_with(socket: OwnedFd, address: SocketAddr) -> io::Result<Self> {
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let source = Source::connecting(socket)?;
        poll_fn(|cx| source.poll_writable(cx)).await;
        sockopt::socket_error(&source)??;
        Ok(Self(source))
    }

    /// Watches a connected, non-blocking socket from elsewhere.
    ///
    /// # Errors
    ///
    /// The kernel can't watch it.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn adopt(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self(Source::new(socket)?))
    }

    /// Connects to a Unix socket.
    ///
    /// # Errors
    ///
    /// The connection fails; `WouldBlock` if the listener's backlog is full.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self(Source::new(socket)?))
    }

    /// Reads once into `buffer`; zero means the end of the stream.
    #[inline]
    pub fn poll_read_slice(&self, cx: &Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_readable(cx));
            match self.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Reads available bytes.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there are none, mostly without a system call.
    #[inline]
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = self.0.try_read_by(|socket| Ok(recv(socket, &mut *buffer, RecvFlags::empty())?))?;
        self.0.spend(count);
        if 0 < count && count < buffer.len() {
            self.0.mark_drained();
        }
        Ok(count)
    }

    /// Reads without consuming; zero means the end of the stream.
    ///
    /// # Errors
    ///
    /// The error of the socket.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| {
            loop {
                ready!(self.0.poll_readable(cx));
                match self.0.try_read_by(|socket| Ok(recv(socket, &mut *buffer, RecvFlags::PEEK)?)) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return Poll::Ready(result.map(|(count, _)| count)),
                }
            }
        })
        .await
    }

    /// Receives with `receive` once the socket is readable, for data that a plain read does not return.
    ///
    /// # Errors
    ///
    /// The error of `receive`; never `WouldBlock`.
    pub async fn receive_by<R>(&self, mut receive: impl FnMut(&OwnedFd) -> io::Result<R>) -> io::Result<R> {
        poll_fn(|cx| {
            loop {
                ready!(self.0.poll_readable(cx));
                match self.0.try_read_by(&mut receive) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return Poll::Ready(result),
                }
            }
        })
        .await
    }

    /// Completes when the socket is readable, as far as the loop knows.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.poll_readable(cx)
    }

    /// Writes as many bytes as there is room for. A loop with a send ring queues a small write until the end of the loop
    /// iteration; the next write, flush or shutdown returns its error.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room.
    #[inline]
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.write(&[IoSlice::new(bytes)])?;
        self.0.spend(OPERATION_BYTES + count);
        Ok(count)
    }

    #[inline]
    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.take_failure()?;
        if self.0.try_queue(parts) {
            return Ok(parts.iter().map(|part| part.len()).sum());
        }
        match self.0.take_queued() {
            Some(queued) => self.write_behind(&queued, parts),
            None => self.0.try_write_by(|socket| Ok(send_parts(socket, parts)?)),
        }
    }

    /// Sends queued bytes and more bytes in one call. Returns the number of the additional bytes that the socket took.
    #[cold]
    fn write_behind(&self, queued: &[u8], parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut all = Vec::with_capacity(1 + parts.len());
        all.push(IoSlice::new(queued));
        all.extend_from_slice(parts);
        match send_parts(self.0.get_ref(), &all) {
            Ok(count) if count > queued.len() => {
                self.0.complete_send(queued, Ok(queued.len()));
                Ok(count - queued.len())
            }
            result => {
                self.0.complete_send(queued, result);
                self.0.take_failure()?;
                self.0.try_write_by(|socket| Ok(send_parts(socket, parts)?))
            }
        }
    }

    fn poll_write_parts(&self, cx: &Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_writable(cx));
            match self.write(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    self.0.spend(*result.as_ref().unwrap_or(&0));
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Returns the number of written bytes that still wait for room in the socket. They were queued when it seemed to have
    /// room.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.0.unsent()
    }

    /// Shuts down the sending side once the socket has taken all written bytes; the peer's data can still be received.
    ///
    /// # Errors
    ///
    /// The socket is no longer connected, or a queued write failed.
    pub fn poll_shutdown_write(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.0.send_queued();
        ready!(self.0.poll_unsent(cx))?;
        Poll::Ready(Ok(shutdown(&self.0, Shutdown::Write)?))
    }
}

#[inline]
fn send_parts(socket: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    match parts {
        [bytes] => send(socket, bytes, SendFlags::NOSIGNAL),
        _ => sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL),
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let written = buffer.initialized().len() - buffer.filled().len();
        let room = buffer.remaining().min(written.max(CLEARED_BYTES_MAX));
        let count = ready!(self.poll_read_slice(cx, buffer.initialize_unfilled_to(room)))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_parts(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_parts(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The kernel has all written bytes already, or gets them at the end of the loop iteration.
        self.0.poll_unsent(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.poll_shutdown_write(cx)) {
            // The peer reset the connection. Bytes that arrived before can still be read, and the sending side is
            // already shut down.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

/// Listening TCP socket that this thread's loop watches.
#[derive(Debug)]
pub struct Listener(Source<TcpListener>);

impl Listener {
    /// Watches a socket that already listens.
    ///
    /// # Errors
    ///
    /// The kernel can't watch it.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self(Source::new(listener)?))
    }

    /// True if a connection waits to be accepted.
    ///
    /// # Errors
    ///
    /// The system call fails.
    pub fn has_waiting(&self) -> io::Result<bool> {
        let mut listener = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(poll(&mut listener, Some(&Timespec::default()))? > 0)
    }

    /// Accepts the next connection; returns it with the peer's address.
    ///
    /// # Errors
    ///
    /// `ConnectionAborted` if the client has already disconnected, or the system's error, such as no free descriptor.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        let (socket, address) = poll_fn(|cx| {
            loop {
                ready!(self.0.poll_readable(cx));
                match self.0.try_read_by(|listener| Ok(acceptfrom_with(listener, FLAGS)?)) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return Poll::Ready(result),
                }
            }
        })
        .await?;
        // A client without an address has already disconnected.
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        let address = address.ok_or(io::ErrorKind::ConnectionAborted)?;
        self.0.spend(ACCEPT_BYTES);
        Ok((Stream(Source::new(socket)?), address))
    }
}
