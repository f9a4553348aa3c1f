//! A client's connection: plain or TLS. Turns bytes of the socket into plaintext and back, nothing else.
//! All work is done in the core's buffers, so an idle connection owns none and a response leaves in one system call.

mod records;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fairlead_reactor::Stream;
use rustls::ServerConfig;

use crate::core::{Core, Outbox};
use records::Records;

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Plaintext was appended, or the handshake advanced.
    Some,
    /// The client sends nothing more.
    End,
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Stream,
    /// `None`: plain HTTP.
    records: Option<Box<Records>>,
    outbox: Outbox,
}

impl Transport {
    pub(crate) fn plain(socket: Stream) -> Self {
        Self { socket, records: None, outbox: Outbox::default() }
    }

    pub(crate) fn tls(socket: Stream, config: &Arc<ServerConfig>) -> io::Result<Self> {
        Ok(Self { socket, records: Some(Box::new(Records::new(config)?)), outbox: Outbox::default() })
    }

    /// Whether the TLS handshake is still under way.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.is_handshaking())
    }

    /// Whether the client chose HTTP/2 in the handshake.
    pub(crate) fn is_http2(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.is_http2())
    }

    /// Ready when there is something to read, as far as the loop knows. Before it waits, it sends what is due.
    pub(crate) fn poll_arrival(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        let arrived = self.socket.poll_readable(cx);
        if arrived.is_pending()
            && let Poll::Ready(Err(error)) = self.poll_flush(cx, core)
        {
            return Poll::Ready(Err(error));
        }
        arrived.map(Ok)
    }

    /// Reads once and appends what it means to `plaintext`. Before it waits, it sends what is due.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        core: &Core,
        plaintext: &mut Vec<u8>,
    ) -> Poll<io::Result<Received>> {
        loop {
            // It may have come in one piece with data, which was handed over first; the socket may stay open after it.
            if self.records.as_ref().is_some_and(|records| records.is_peer_closed()) {
                return Poll::Ready(Ok(Received::End));
            }
            let mut scratch = core.buffers.read();
            let carried = self.records.as_ref().map_or(0, |records| records.unload(&mut scratch));
            let filled = match self.socket.poll_read_slice(cx, &mut scratch[carried..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Received::End)),
                Poll::Ready(Ok(count)) => carried + count,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    drop(scratch);
                    return match self.poll_flush(cx, core) {
                        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                        _ => Poll::Pending,
                    };
                }
            };
            let Some(records) = &mut self.records else {
                core.buffers.lend(plaintext);
                plaintext.extend_from_slice(&scratch[..filled]);
                return Poll::Ready(Ok(Received::Some));
            };
            let (before, was_handshaking) = (plaintext.len(), records.is_handshaking());
            let opened =
                records.open(&mut scratch[..filled], plaintext, self.outbox.buffer(&core.buffers), &core.buffers);
            drop(scratch);
            if let Err(error) = opened {
                // The alert that says why; whether it still arrives is the network's business.
                return match self.poll_flush(cx, core) {
                    Poll::Ready(Err(io_error)) => Poll::Ready(Err(io_error)),
                    _ => Poll::Ready(Err(error)),
                };
            }
            if plaintext.len() > before || was_handshaking {
                return Poll::Ready(Ok(Received::Some));
            }
        }
    }

    /// Sends plaintext, sealed if it is TLS: now as far as the socket takes it, the rest with `poll_flush`.
    pub(crate) fn push(&mut self, core: &Core, plaintext: &[u8]) -> io::Result<()> {
        match &mut self.records {
            None => self.outbox.push(&self.socket, plaintext, &core.buffers),
            Some(records) => {
                let mut sealed = core.buffers.seal();
                for piece in plaintext.chunks(records::SEAL_BYTES_MAX) {
                    let count = records.seal(piece, &mut sealed, self.outbox.buffer(&core.buffers))?;
                    if self.outbox.is_empty() {
                        self.outbox.push(&self.socket, &sealed[..count], &core.buffers)?;
                    } else {
                        self.outbox.buffer(&core.buffers).extend_from_slice(&sealed[..count]);
                    }
                }
                Ok(())
            }
        }
    }

    /// Bytes that the socket has not taken yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len()
    }

    /// Ready when the socket has taken everything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        self.outbox.poll_flush(&mut self.socket, cx, &core.buffers)
    }

    /// Says that nothing more comes: close_notify, then the end of the stream.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        if let Some(records) = &mut self.records {
            records.close(self.outbox.buffer(&core.buffers));
        }
        ready!(self.poll_flush(cx, core))?;
        Poll::Ready(self.socket.shutdown())
    }
}
