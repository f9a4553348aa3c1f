//! Adapter from a client transport to the byte stream of the `h2` crate. Collects frames and seals them at a flush.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::core::Core;
use crate::limits::BACKLOG_BYTES_MAX;
use crate::transport::{Transport, TransportRead};

/// A transport with plaintext buffers on both sides.
pub(crate) struct Io {
    core: Rc<Core>,
    transport: Transport,
    input: Vec<u8>,
    taken: usize,
    plain: Vec<u8>,
}

impl Io {
    pub(crate) fn new(core: Rc<Core>, transport: Transport, input: Vec<u8>) -> Self {
        Self { core, transport, input, taken: 0, plain: Vec::new() }
    }

    fn push_plain(&mut self) -> io::Result<()> {
        if !self.plain.is_empty() {
            self.transport.push(&self.core, &self.plain)?;
            self.plain.clear();
        }
        self.core.buffers.reclaim(&mut self.plain);
        Ok(())
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.taken == this.input.len() {
            this.input.clear();
            this.taken = 0;
            match ready!(this.transport.poll_read(cx, &this.core, &mut this.input))? {
                TransportRead::Some => {}
                TransportRead::End => return Poll::Ready(Ok(())),
            }
        }
        let length = buffer.remaining().min(this.input.len() - this.taken);
        buffer.put_slice(&this.input[this.taken..this.taken + length]);
        this.taken += length;
        if this.taken == this.input.len() {
            this.input.clear();
            this.taken = 0;
            this.core.buffers.reclaim(&mut this.input);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.plain.len() >= BACKLOG_BYTES_MAX {
            // For a client that takes everything, one turn would seal every stream's bytes.
            ready!(fairlead_reactor::poll_turn());
            this.push_plain()?;
        }
        if this.transport.backlog() >= BACKLOG_BYTES_MAX {
            ready!(this.transport.poll_flush(cx, &this.core))?;
        }
        this.core.buffers.lend(&mut this.plain);
        this.plain.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.push_plain()?;
        let this = &mut *self;
        this.transport.poll_flush(cx, &this.core)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.push_plain()?;
        let this = &mut *self;
        this.transport.poll_close(cx, &this.core)
    }
}
