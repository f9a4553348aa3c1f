//! HTTP/2 clients on the `h2` crate, which owns framing, flow control and the defences against floods. Each stream is an
//! exchange in a task of its own; the connection's task only moves frames. Streams towards apps are in `upstream`.

mod io;
mod payload;
mod request;
mod stream;
mod trailers;
mod upstream;

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use h2::Reason;
use h2::server::{Builder, Connection};

use crate::core::{Alarm, Alarms, Backlog, Core};
use crate::exchange::Origin;
use crate::flood::Flood;
use crate::limits::STREAMS_MAX;
use crate::transport::Transport;
use io::Io;
use payload::{Held, Payload};
pub(crate) use request::{as_tunnel, request};
pub(crate) use upstream::Http2Upstream;

/// Body bytes a client may send ahead, for one stream and for the whole connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// Heads up to this multiple of the bound are read to their end and refused with 431; beyond, `h2` ends the connection.
const HEAD_BYTES_FACTOR: u32 = 4;
/// From the last GOAWAY to the end of a connection that has no streams.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a client until its connection ends. `input` is what was read with the handshake.
pub(crate) async fn serve(core: Rc<Core>, transport: Transport, origin: Origin, input: Vec<u8>, alarm: Alarm) {
    let head_bytes_max = u32::try_from(core.limits.head_bytes_max).unwrap_or(u32::MAX);
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(head_bytes_max.saturating_mul(HEAD_BYTES_FACTOR))
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .enable_connect_protocol();
    alarm.set(core.limits.handshake_timeout);
    let mut handshake = builder.handshake::<_, Payload>(Io::new(Rc::clone(&core), transport, input));
    let shaken = poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut handshake).poll(cx);
        crate::h1::or_alarm(polled, &alarm, cx)
    });
    let silence = core.handshakes.wait_for_client(&alarm, core.limits.silent_handshakes_max);
    let shaken = shaken.await;
    drop(silence);
    let Some(Ok(connection)) = shaken else { return };
    alarm.clear();
    let mut served = Served {
        backlog: core.backlog(origin.client.ip()),
        stuck: core.alarms.alarm(),
        core,
        origin: Rc::new(origin),
        connection,
        streams: Rc::default(),
        alarm,
        idle: false,
        farewell: None,
        leaving: false,
    };
    poll_fn(|cx| served.poll(cx)).await;
}

struct Served {
    core: Rc<Core>,
    origin: Rc<Origin>,
    connection: Connection<Io, Payload>,
    backlog: Rc<Backlog>,
    /// Rings when the client has taken nothing for too long.
    stuck: Alarm,
    streams: Rc<Streams>,
    alarm: Alarm,
    /// No stream was open when last looked.
    idle: bool,
    /// Set in a drain, for GOAWAY.
    farewell: Option<Alarm>,
    /// GOAWAY was sent.
    leaving: bool,
}

impl Served {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if !self.leaving && self.core.is_draining() && self.poll_farewell(cx).is_ready() {
                self.leave();
            }
            if self.streams.flood.is_flood() || self.backlog.is_cut() {
                self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
            }
            match self.connection.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, mut respond)))) => {
                    if !self.backlog.may_open() {
                        // The client may retry it: the request was not processed (RFC 9113, 8.7).
                        respond.send_reset(Reason::REFUSED_STREAM);
                        continue;
                    }
                    let open = OpenStream::enter(&self.streams, &self.core.alarms);
                    let (core, origin) = (Rc::clone(&self.core), Rc::clone(&self.origin));
                    fairlead_reactor::spawn(stream::serve(
                        core,
                        origin,
                        request,
                        respond,
                        open,
                        Held::new(&self.backlog),
                    ));
                    continue;
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            if self.poll_stuck(cx).is_ready() {
                return Poll::Ready(());
            }
            let idle = self.streams.open.get() == 0;
            if idle != self.idle {
                self.idle = idle;
                if idle {
                    let limits = &self.core.limits;
                    self.alarm.set(if self.leaving { FAREWELL } else { limits.idle_timeout });
                    self.alarm.idles();
                } else {
                    self.alarm.works();
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
            if self.alarm.is_wanted() && self.backlog.stuck_since().is_none() {
                // The alarm rings as soon as GOAWAY is sent.
                self.alarm.set(Duration::ZERO);
            }
        }
    }

    /// Completes when the client takes nothing of what waits, or too little for a core that holds too much.
    fn poll_stuck(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.backlog.is_cut() {
            return Poll::Ready(());
        }
        let stall_ms = u64::try_from(self.core.limits.write_stall_timeout.as_millis()).unwrap_or(u64::MAX);
        self.stuck.set_at(self.backlog.stuck_since().map(|since| since.saturating_add(stall_ms)));
        self.stuck.poll(cx)
    }

    /// Ready when it is this connection's turn in a drain.
    fn poll_farewell(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let alarm = self.farewell.get_or_insert_with(|| {
            let alarm = self.core.alarms.alarm();
            alarm.set_at(self.core.close_idle_at());
            alarm
        });
        alarm.poll(cx)
    }

    /// Takes no new streams; those that are open go on.
    fn leave(&mut self) {
        self.leaving = true;
        self.connection.graceful_shutdown();
        if self.idle {
            self.alarm.set(FAREWELL);
        }
    }
}

/// The streams of one connection, counted.
#[derive(Debug, Default)]
struct Streams {
    open: Cell<u32>,
    flood: Flood,
}

/// Counts a stream for as long as its task lives.
pub(crate) struct OpenStream {
    streams: Rc<Streams>,
    alarms: Rc<Alarms>,
    since_ms: u64,
}

impl OpenStream {
    fn enter(streams: &Rc<Streams>, alarms: &Rc<Alarms>) -> Self {
        streams.open.set(streams.open.get() + 1);
        Self { streams: Rc::clone(streams), alarms: Rc::clone(alarms), since_ms: alarms.now_ms() }
    }

    /// The client reset the stream before its response was complete.
    fn reset_by_client(&self) {
        self.streams.flood.canceled(self.alarms.now_ms() - self.since_ms);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.open.set(self.streams.open.get() - 1);
        self.streams.flood.ended();
    }
}
