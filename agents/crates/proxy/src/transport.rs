//! Transport of a client connection, plain TCP or TLS: converts socket bytes to plaintext and back. All work uses the
//! buffers of the core, so idle connections own none and a response needs at most one system call.

mod records;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fairlead_reactor::Stream;
use fairlead_tls::ServerConfigs;

use crate::connection_tls::ConnectionTls;
use crate::core::{Core, Outbox};
use records::RecordLayer;

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportRead {
    /// Plaintext was appended, or the handshake advanced.
    Some,
    /// The client closed its sending side.
    End,
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Stream,
    /// `None` for plain HTTP.
    records: Option<Box<RecordLayer>>,
    outbox: Outbox,
}

impl Transport {
    pub(crate) fn plain(socket: Stream) -> Self {
        Self { socket, records: None, outbox: Outbox::default() }
    }

    pub(crate) fn tls(socket: Stream, configs: Arc<ServerConfigs>) -> Self {
        Self { socket, records: Some(Box::new(RecordLayer::new(configs))), outbox: Outbox::default() }
    }

    /// Returns the handshake with a host that has a TLS policy; known after the handshake.
    pub(crate) fn connection_tls(&self) -> Option<ConnectionTls> {
        self.records.as_ref()?.connection_tls()
    }

    /// True until the TLS handshake completes.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.is_handshaking())
    }

    /// True if the client negotiated HTTP/2 by ALPN.
    pub(crate) fn is_http2(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.is_http2())
    }

    /// True if the handshake itself answered a certificate authority, so that no request follows.
    pub(crate) fn is_acme_challenge(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.is_acme_challenge())
    }

    /// Ready if the socket is readable, as far as the event loop knows. Before it waits, it flushes pending output.
    pub(crate) fn poll_arrival(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        let arrived = self.socket.poll_readable(cx);
        if arrived.is_pending()
            && let Poll::Ready(Err(error)) = self.poll_flush(cx, core)
        {
            return Poll::Ready(Err(error));
        }
        arrived.map(Ok)
    }

    /// Reads once and appends the plaintext. Before it waits, it flushes pending output.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        core: &Core,
        plaintext: &mut Vec<u8>,
    ) -> Poll<io::Result<TransportRead>> {
        loop {
            // close_notify may have arrived together with data, which was returned first. The socket may stay open
            // after it.
            if self.records.as_ref().is_some_and(|records| records.is_peer_closed()) {
                return Poll::Ready(Ok(TransportRead::End));
            }
            let mut scratch = core.buffers.read();
            let carried = self.records.as_ref().map_or(0, |records| records.unload(&mut scratch));
            let filled = match self.socket.poll_read_slice(cx, &mut scratch[carried..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(TransportRead::End)),
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
                return Poll::Ready(Ok(TransportRead::Some));
            };
            let (before, was_handshaking) = (plaintext.len(), records.is_handshaking());
            let opened =
                records.open(&mut scratch[..filled], plaintext, self.outbox.buffer(&core.buffers), &core.buffers);
            drop(scratch);
            if let Err(error) = opened {
                // Sends the TLS alert; the network may still lose it.
                return match self.poll_flush(cx, core) {
                    Poll::Ready(Err(io_error)) => Poll::Ready(Err(io_error)),
                    _ => Poll::Ready(Err(error)),
                };
            }
            if plaintext.len() > before || was_handshaking {
                return Poll::Ready(Ok(TransportRead::Some));
            }
        }
    }

    /// Sends plaintext, encrypted for TLS: as much as the socket takes now, the rest with `poll_flush`.
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

    /// Returns the number of bytes that the socket has not taken yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len() + self.unsent()
    }

    /// Returns the number of bytes of a queued send that the socket did not take.
    pub(crate) fn unsent(&self) -> usize {
        self.socket.unsent()
    }

    /// Ready when the socket has taken everything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        self.outbox.poll_flush(&mut self.socket, cx, &core.buffers)
    }

    /// Sends close_notify, then closes the sending side.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>, core: &Core) -> Poll<io::Result<()>> {
        if let Some(records) = &mut self.records {
            records.close(self.outbox.buffer(&core.buffers));
        }
        ready!(self.poll_flush(cx, core))?;
        self.socket.poll_shutdown_write(cx)
    }
}
