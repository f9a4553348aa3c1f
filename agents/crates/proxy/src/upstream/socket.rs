//! A connection to an app as a stream of bytes: TCP, a Unix socket, or TLS over one of them. Two kinds cost one comparison.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::unix::UnixSocket;

/// One connection to an app.
#[derive(Debug)]
pub(crate) enum UpstreamSocket {
    Tcp(TcpStream),
    Unix(UnixSocket),
    /// Over one of the others.
    Tls(Box<TlsStream<UpstreamSocket>>),
}

impl UpstreamSocket {
    /// Between two responses a connection must have nothing to say: an end, an error or a byte make it unusable.
    /// Asks the kernel only when the runtime has seen something happen.
    pub(crate) fn is_silent(&mut self) -> bool {
        let read = match self {
            Self::Tcp(socket) => socket.try_read(&mut [0; 1]),
            Self::Unix(socket) => socket.try_read(&mut [0; 1]),
            // What it says may be for TLS alone.
            Self::Tls(stream) => {
                let mut byte = [0; 1];
                let mut cx = Context::from_waker(Waker::noop());
                return Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)).is_pending();
            }
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for UpstreamSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Unix(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for UpstreamSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Unix(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Self::Unix(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            // The kernel has it all.
            Self::Tcp(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
