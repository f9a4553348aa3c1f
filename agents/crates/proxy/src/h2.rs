//! HTTP/2 server on the `h2` crate, which implements framing, flow control and flood defences. Each stream is an
//! exchange in its own task; the connection task only moves frames.

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
use payload::{Payload, StreamBacklog};
pub(crate) use request::{as_tunnel, request};
pub(crate) use upstream::Http2Upstream;

/// Flow control windows in bytes, for one stream and for the whole connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// Heads up to this multiple of the limit are read and refused with 431; for larger ones, `h2` ends the connection.
const HEAD_BYTES_FACTOR: u32 = 4;
/// Time from the last GOAWAY to the close of a connection without streams.
const GOAWAY_LINGER: Duration = Duration::from_secs(5);

/// Serves a client until its connection ends. `input` holds bytes that were read with the handshake.
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
    let mut serving = H2Connection {
        backlog: core.backlog(origin.client.ip()),
        stuck: core.alarms.alarm(),
        core,
        origin: Rc::new(origin),
        connection,
        streams: Rc::default(),
        alarm,
        idle: false,
        drain_alarm: None,
        goaway_sent: false,
    };
    poll_fn(|cx| serving.poll(cx)).await;
}

struct H2Connection {
    core: Rc<Core>,
    origin: Rc<Origin>,
    connection: Connection<Io, Payload>,
    backlog: Rc<Backlog>,
    /// Fires when the client has taken nothing for too long.
    stuck: Alarm,
    streams: Rc<Streams>,
    alarm: Alarm,
    /// True if no stream was open at the last poll.
    idle: bool,
    /// Time of GOAWAY; set in a drain.
    drain_alarm: Option<Alarm>,
    /// True if GOAWAY was sent.
    goaway_sent: bool,
}

impl H2Connection {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if !self.goaway_sent && self.core.is_draining() && self.poll_drain_alarm(cx).is_ready() {
                self.send_goaway();
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
                        StreamBacklog::new(&self.backlog),
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
                    self.alarm.set(if self.goaway_sent { GOAWAY_LINGER } else { limits.idle_timeout });
                    self.alarm.idles();
                } else {
                    self.alarm.works();
                    self.alarm.clear();
                }
            }
            if self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.goaway_sent {
                return Poll::Ready(());
            }
            self.send_goaway();
            if self.alarm.is_wanted() && self.backlog.stuck_since().is_none() {
                // Fires the alarm as soon as GOAWAY is sent.
                self.alarm.set(Duration::ZERO);
            }
        }
    }

    /// Completes if the client takes none of the pending bytes, or too few for a core that holds too many.
    fn poll_stuck(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.backlog.is_cut() {
            return Poll::Ready(());
        }
        let stall_ms = u64::try_from(self.core.limits.write_stall_timeout.as_millis()).unwrap_or(u64::MAX);
        self.stuck.set_at(self.backlog.stuck_since().map(|since| since.saturating_add(stall_ms)));
        self.stuck.poll(cx)
    }

    /// Ready when the drain schedule reaches this connection.
    fn poll_drain_alarm(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let alarm = self.drain_alarm.get_or_insert_with(|| {
            let alarm = self.core.alarms.alarm();
            alarm.set_at(self.core.close_idle_at());
            alarm
        });
        alarm.poll(cx)
    }

    /// Sends GOAWAY: refuses new streams, while open ones complete.
    fn send_goaway(&mut self) {
        self.goaway_sent = true;
        self.connection.graceful_shutdown();
        if self.idle {
            self.alarm.set(GOAWAY_LINGER);
        }
    }
}

/// Stream counters of one connection.
#[derive(Debug, Default)]
struct Streams {
    open: Cell<u32>,
    flood: Flood,
}

/// Counts a stream until its task ends.
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

    /// Records that the client reset the stream before its response was complete.
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
