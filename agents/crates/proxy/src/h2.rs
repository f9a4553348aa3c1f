//! HTTP/2 clients on the `h2` crate, which owns framing, flow control and the defences against floods. Each stream is an
//! exchange in a task of its own; the connection's task only moves frames.

mod io;
mod stream;

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection};

use crate::core::{Alarm, Core};
use crate::exchange::Origin;
use crate::limits::STREAMS_MAX;
use crate::transport::Transport;
use io::Io;

/// Body bytes a client may send ahead, for one stream and for the whole connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// From the last GOAWAY to the end of a connection that has no streams.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a client until its connection ends. `input` is what was read with the handshake.
pub(crate) async fn serve(core: Rc<Core>, transport: Transport, origin: Origin, input: Vec<u8>, alarm: Alarm) {
    let header_bytes_max = u32::try_from(core.limits.head_bytes_max).unwrap_or(u32::MAX);
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(header_bytes_max)
        .max_send_buffer_size(SEND_BUFFER_BYTES);
    alarm.set(core.limits.handshake_timeout);
    let mut handshake = builder.handshake::<_, Bytes>(Io::new(Rc::clone(&core), transport, input));
    let shaken = poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut handshake).poll(cx);
        crate::h1::or_alarm(polled, &alarm, cx)
    });
    let Some(Ok(connection)) = shaken.await else { return };
    alarm.clear();
    let mut served = Served {
        core,
        origin: Rc::new(origin),
        connection,
        streams: Rc::new(Cell::new(0)),
        alarm,
        idle: false,
        leaving: false,
    };
    poll_fn(|cx| served.poll(cx)).await;
}

struct Served {
    core: Rc<Core>,
    origin: Rc<Origin>,
    connection: Connection<Io, Bytes>,
    streams: Rc<Cell<u32>>,
    alarm: Alarm,
    /// No stream was open when last looked.
    idle: bool,
    /// GOAWAY was sent.
    leaving: bool,
}

impl Served {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.core.is_draining() {
                self.leave();
            }
            match self.connection.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    let open = OpenStream::enter(&self.streams);
                    let (core, origin) = (Rc::clone(&self.core), Rc::clone(&self.origin));
                    tokio::task::spawn_local(stream::serve(core, origin, request, respond, open));
                    continue;
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            let idle = self.streams.get() == 0;
            if idle != self.idle {
                self.idle = idle;
                if idle {
                    let limits = &self.core.limits;
                    self.alarm.set(if self.leaving { FAREWELL } else { limits.idle_timeout });
                } else {
                    self.alarm.clear();
                }
            }
            if self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.leaving {
                return Poll::Ready(());
            }
            self.leave();
            self.alarm.set(FAREWELL);
        }
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.leaving, true) {
            self.connection.graceful_shutdown();
        }
    }
}

/// Counts a stream for as long as its task lives.
pub(crate) struct OpenStream(Rc<Cell<u32>>);

impl OpenStream {
    fn enter(count: &Rc<Cell<u32>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
