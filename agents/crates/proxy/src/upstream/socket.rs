//! Byte stream of a connection to an app: a plain socket or TLS over one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use fairlead_reactor::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

#[derive(Debug)]
pub(crate) enum UpstreamSocket {
    /// TCP or a Unix socket.
    Plain(Stream),
    Tls(Box<TlsStream<UpstreamSocket>>),
}

impl UpstreamSocket {
    /// True if an idle connection is reusable: no end, error or byte arrived. Makes a system call only after the event
    /// loop reported an event.
    pub(crate) fn is_silent(&mut self) -> bool {
        let read = match self {
            Self::Plain(socket) => socket.try_read(&mut [0; 1]),
            // The bytes may belong to TLS alone.
            Self::Tls(stream) => {
                let mut byte = [0; 1];
                let mut cx = Context::from_waker(Waker::noop());
                return Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)).is_pending();
            }
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads once into `buffer`; zero means end of stream.
    pub(crate) fn poll_read_slice(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read_slice(cx, buffer),
            Self::Tls(stream) => {
                let mut buffer = ReadBuf::new(buffer);
                Pin::new(stream).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
            }
        }
    }
}

impl AsyncRead for UpstreamSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for UpstreamSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
