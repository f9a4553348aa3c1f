//! Streams of bytes, TCP or a Unix socket, and who accepts them. One type for both: between accepting and closing they differ in nothing.

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
/// What a reader with memory that was never written gets at once: it has to be cleared first.
const CLEARED_BYTES_MAX: usize = 8 * 1024;
/// Cost of accepting a client, and of everything that begins for it, in bytes.
const ACCEPT_BYTES: usize = 16 * 1024;

/// A connected socket.
#[derive(Debug)]
pub struct Stream(Source<OwnedFd>);

impl Stream {
    /// Connects over TCP.
    ///
    /// # Errors
    ///
    /// Why there is no connection.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        Self::connect_with(socket_with(family, SocketType::STREAM, FLAGS, None)?, address).await
    }

    /// Connects a TCP socket that does not block, of the address's family.
    ///
    /// # Errors
    ///
    /// Why there is no connection.
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

    /// Watches a connected socket that came from elsewhere and does not block.
    ///
    /// # Errors
    ///
    /// When the kernel does not watch it.
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
    /// Why there is no connection; `WouldBlock` when its line of those that wait is full.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self(Source::new(socket)?))
    }

    /// Reads once into `buffer`; zero is the end.
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

    /// Reads what has come.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing has, mostly without asking the kernel.
    #[inline]
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = self.0.try_read_by(|socket| Ok(recv(socket, &mut *buffer, RecvFlags::empty())?))?;
        self.0.spend(count);
        if 0 < count && count < buffer.len() {
            self.0.mark_drained();
        }
        Ok(count)
    }

    /// Reads without taking; zero is the end.
    ///
    /// # Errors
    ///
    /// What the socket failed with.
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

    /// Receives by `receive` once there is something to receive, for what a plain read does not return.
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

    /// Ready when there is something to read, as far as the loop knows.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.poll_readable(cx)
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none.
    #[inline]
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.try_write_by(|socket| Ok(send(socket, bytes, SendFlags::NOSIGNAL)?))?;
        self.0.spend(OPERATION_BYTES + count);
        Ok(count)
    }

    fn poll_write_by(
        &self,
        cx: &Context<'_>,
        mut write: impl FnMut(&OwnedFd) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_writable(cx));
            match self.0.try_write_by(&mut write) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    self.0.spend(*result.as_ref().unwrap_or(&0));
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Ends what is sent; what the peer sends still comes.
    ///
    /// # Errors
    ///
    /// When it is not connected any more.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(shutdown(&self.0, Shutdown::Write)?)
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
        self.poll_write_by(cx, |socket| Ok(send(socket, bytes, SendFlags::NOSIGNAL)?))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(cx, |socket| {
            Ok(sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The kernel has it all.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.shutdown() {
            // The peer reset it: what it sent before is still to be read, and whoever shuts down wants nothing more of it.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

/// A listening TCP socket.
#[derive(Debug)]
pub struct Listener(Source<TcpListener>);

impl Listener {
    /// Watches one that listens already.
    ///
    /// # Errors
    ///
    /// When the kernel does not watch it.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self(Source::new(listener)?))
    }

    /// Reports whether the kernel has a connection that waits to be accepted.
    ///
    /// # Errors
    ///
    /// When the kernel does not tell.
    pub fn has_waiting(&self) -> io::Result<bool> {
        let mut listener = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(poll(&mut listener, Some(&Timespec::default()))? > 0)
    }

    /// The next connection, and whose it is.
    ///
    /// # Errors
    ///
    /// `ConnectionAborted` when a client has left again, and what the system lacks.
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
        // Without an address it has left already.
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        let address = address.ok_or(io::ErrorKind::ConnectionAborted)?;
        self.0.spend(ACCEPT_BYTES);
        Ok((Stream(Source::new(socket)?), address))
    }
}
