//! Send buffer of a socket: sends immediately as much as the socket accepts and keeps the rest in order.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use fairlead_reactor::Stream;
use tokio::io::AsyncWrite;

use super::Buffers;

/// Bytes that the socket has not accepted yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Returns the number of unsent bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the buffer to append to; nothing is sent before `poll_flush`.
    pub(crate) fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8> {
        buffers.lend(&mut self.bytes);
        self.release_sent();
        &mut self.bytes
    }

    /// Drops sent bytes. A slow but steady reader never lets the buffer run empty, and without this all bytes ever
    /// sent would stay in memory. Amortized, each byte moves at most once.
    fn release_sent(&mut self) {
        if self.sent > 0 && self.sent >= self.len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Sends what the socket accepts and keeps the rest. One call makes at most one system call.
    pub(crate) fn push(&mut self, socket: &Stream, bytes: &[u8], buffers: &Buffers) -> io::Result<()> {
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

    pub(crate) fn discard(&mut self, buffers: &Buffers) {
        self.bytes.clear();
        self.sent = 0;
        buffers.reclaim(&mut self.bytes);
    }

    /// Ready once everything is sent.
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
        // Flushes TLS connections to apps, which buffer records; a no-op for other sockets.
        ready!(Pin::new(socket).poll_flush(cx))?;
        self.discard(buffers);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Reader that accepts `window` bytes at each wake-up.
    struct SlowReader {
        window: usize,
        left: usize,
        taken: Vec<u8>,
    }

    impl AsyncWrite for SlowReader {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.left);
            if count == 0 {
                return Poll::Pending;
            }
            self.left -= count;
            self.taken.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_slow_but_steady_reader_does_not_grow_the_buffer() {
        const BACKLOG: usize = 64 << 10;
        let buffers = Buffers::new();
        let mut outbox = Outbox::default();
        let mut reader = SlowReader { window: 20 << 10, left: 0, taken: Vec::new() };
        let mut cx = Context::from_waker(Waker::noop());
        let mut pushed = 0_usize;
        for _ in 0..1000 {
            // The relay fills up to its bound and is never let run empty.
            while outbox.len() < BACKLOG {
                let piece: Vec<u8> = (pushed..pushed + 4096).map(|at| (at % 251) as u8).collect();
                outbox.buffer(&buffers).extend_from_slice(&piece);
                pushed += piece.len();
            }
            reader.left = reader.window;
            assert!(outbox.poll_flush(&mut reader, &mut cx, &buffers).is_pending());
            assert!(outbox.bytes.capacity() <= 8 * BACKLOG, "{} bytes are held", outbox.bytes.capacity());
        }
        assert_eq!(reader.taken.len() + outbox.len(), pushed);
        assert!(reader.taken.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8), "in order, none twice");
    }
}
