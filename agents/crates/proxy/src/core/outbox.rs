//! Bytes on their way into a socket: sent at once as far as it takes them, the rest kept in order.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::net::TcpStream;

use super::Buffers;

/// What a socket did not take yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Unsent bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer to append to; nothing is sent before `poll_flush`.
    pub(crate) fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8> {
        buffers.lend(&mut self.bytes);
        self.release_sent();
        &mut self.bytes
    }

    /// Lets go of what is sent already. A reader that is slow but steady never lets the outbox run empty, and without this
    /// all that it ever took would stay here. Each byte is moved at most as often as as many were sent.
    fn release_sent(&mut self) {
        if self.sent > 0 && self.sent >= self.len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Sends now what the socket takes and keeps the rest. One call is at most one system call.
    pub(crate) fn push(&mut self, socket: &TcpStream, bytes: &[u8], buffers: &Buffers) -> io::Result<()> {
        let mut rest = bytes;
        if self.is_empty() {
            match socket.try_write(bytes) {
                Ok(count) => rest = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if !rest.is_empty() {
            self.buffer(buffers).extend_from_slice(rest);
        }
        Ok(())
    }

    /// Forgets what is unsent.
    pub(crate) fn discard(&mut self, buffers: &Buffers) {
        self.bytes.clear();
        self.sent = 0;
        buffers.reclaim(&mut self.bytes);
    }

    /// Ready when nothing is left.
    pub(crate) fn poll_flush(
        &mut self,
        socket: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
        buffers: &Buffers,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let count = ready!(Pin::new(&mut *socket).poll_write(cx, &self.bytes[self.sent..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
        }
        // Nothing to do but for TLS towards an app, which gathers records of its own.
        ready!(Pin::new(socket).poll_flush(cx))?;
        self.discard(buffers);
        Poll::Ready(Ok(()))
    }
}
