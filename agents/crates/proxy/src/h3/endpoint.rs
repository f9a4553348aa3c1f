//! QUIC endpoint of a core on one address: one task receives datagrams, drives all connections and sends their
//! datagrams in batches.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::BytesMut;
use fairlead_h3::Fields;
use fairlead_reactor::Sleep;
use quinn_proto::{ConnectionHandle, DatagramEvent, Endpoint, Incoming, Transmit};

use super::connection::H3Connection;
use super::cross_core_datagrams::CrossCoreDatagrams;
use super::process_handover::ProcessHandover;
use super::routing_id::QuicRoutingId;
use super::settings::{QuicSettings, SEND_WINDOW_BYTES};
use super::socket::{Datagram, QuicSocket};
use super::timers::QuicTimers;
use crate::client::OpenConnection;
use crate::core::{Alarm, Core};

/// Maximum rounds of receiving and sending before other tasks of the core run.
const ROUNDS_MAX: usize = 4;
/// Maximum sends of one connection before others run.
const SENDS_MAX: usize = 16;
/// Multiple of the half-open limit at which new handshakes are ignored, even with validated addresses.
const HALF_OPEN_FACTOR: u32 = 8;
/// Maximum unacknowledged response bytes of all clients of one endpoint. Connections share it evenly, down to a
/// minimum that keeps them moving.
const SEND_BYTES_MAX: u64 = 32 * 1024 * 1024;
const SEND_WINDOW_BYTES_MIN: u64 = 32 * 1024;

/// Result of sending what a connection had to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendProgress {
    All,
    /// It used its share of the turn: other connections or tasks run next.
    Share,
    /// The socket is full.
    Blocked,
}

/// Handle with which connections and stream tasks request a poll of their endpoint, with shared scratch memory.
pub(crate) struct EndpointHandle {
    touched: RefCell<Vec<usize>>,
    /// Set while the endpoint task sleeps.
    waker: RefCell<Option<Waker>>,
    pub(crate) fields: RefCell<Fields>,
    pub(crate) block: RefCell<Vec<u8>>,
}

impl EndpointHandle {
    fn new() -> Rc<Self> {
        Rc::new(Self {
            touched: RefCell::default(),
            waker: RefCell::default(),
            fields: RefCell::default(),
            block: RefCell::default(),
        })
    }

    /// Marks a connection that has something to send.
    pub(crate) fn touch(&self, key: usize) {
        self.touched.borrow_mut().push(key);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Serves QUIC on one socket until the core stops.
pub(crate) async fn serve(
    core: Rc<Core>,
    socket: QuicSocket,
    settings: QuicSettings,
    cross_core: CrossCoreDatagrams,
    handover: ProcessHandover,
    routing_id: QuicRoutingId,
) {
    let config = Arc::new(settings.endpoint(routing_id));
    let quic = Endpoint::new(config, Some(settings.server), socket.may_probe_mtu(), None);
    let alarm = core.alarms.alarm();
    alarm.set(core.limits.tick);
    let mut serving = EndpointTask {
        socket,
        cross_core,
        handover,
        blocked: None,
        out: Vec::new(),
        timers: QuicTimers::default(),
        sleep: Box::pin(fairlead_reactor::sleep(std::time::Duration::ZERO)),
        alarm,
        drained: false,
        step: None,
        table: Table {
            driver: EndpointHandle::new(),
            quic,
            routing_id,
            connections: Vec::new(),
            half_open: 0,
            arrivals: VecDeque::new(),
            replies: Vec::new(),
            core,
        },
    };
    poll_fn(|cx| serving.poll(cx)).await;
}

struct EndpointTask {
    socket: QuicSocket,
    cross_core: CrossCoreDatagrams,
    handover: ProcessHandover,
    /// Datagram that the socket did not accept; it is sent before all others.
    blocked: Option<(Transmit, Vec<u8>)>,
    out: Vec<u8>,
    timers: QuicTimers,
    sleep: Pin<Box<Sleep>>,
    alarm: Alarm,
    drained: bool,
    /// Handshake permit of the first queued handshake.
    step: Option<Pin<Box<dyn Future<Output = ()>>>>,
    table: Table,
}

/// Open connections and the QUIC state that identifies them.
struct Table {
    core: Rc<Core>,
    driver: Rc<EndpointHandle>,
    quic: Endpoint,
    routing_id: QuicRoutingId,
    /// Connections by QUIC connection handle.
    connections: Vec<Option<Rc<H3Connection>>>,
    half_open: u32,
    /// Handshakes that wait for a permit.
    arrivals: VecDeque<Incoming>,
    /// Datagrams without a connection: Retry, resets, refusals.
    replies: Vec<(Transmit, Vec<u8>)>,
}

impl EndpointTask {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.table.driver.waker.borrow_mut().take();
        for _ in 0..ROUNDS_MAX {
            let now = Instant::now();
            let more = self.receive(now, cx);
            self.accept(now, cx);
            self.fire(now, cx);
            self.sweep(cx);
            self.send(now, cx);
            if fairlead_reactor::poll_turn().is_pending() {
                return Poll::Pending;
            }
            if !more && (self.blocked.is_some() || self.table.driver.touched.borrow().is_empty()) {
                *self.table.driver.waker.borrow_mut() = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        fairlead_reactor::defer_turn();
        Poll::Pending
    }

    /// Receives datagrams; returns true if there may be more.
    fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let Self { socket, cross_core, handover, table, .. } = self;
        let mut more = cross_core.poll_receive(cx, |datagram| table.datagram(now, &datagram));
        more |= handover.poll_receive(cx, |datagram| table.datagram(now, &datagram));
        if handover.succeeded && table.core.is_draining() {
            // The new process reads the socket and forwards the datagrams of this one.
            return more;
        }
        match socket.poll_receive(cx, |datagram| {
            match QuicRoutingId::of(datagram.bytes) {
                // The address of the client has changed, or the kernel distributes packets differently.
                Some(routing_id)
                    if routing_id != table.routing_id
                        && (cross_core.forward(table.routing_id, routing_id, &datagram)
                            || handover.forward(routing_id, &datagram)) => {}
                _ => table.datagram(now, &datagram),
            }
        }) {
            Poll::Ready(Ok(())) => more = true,
            Poll::Ready(Err(error)) => {
                tracing::warn!(%error, "a datagram socket failed");
                // The error consumed one event, and the socket is watched again only once it is empty.
                more = true;
            }
            Poll::Pending => {}
        }
        more
    }

    /// Accepts handshakes, sharing the handshake permits with TCP: one costs as much as dozens of requests.
    fn accept(&mut self, now: Instant, cx: &mut Context<'_>) {
        while !self.table.arrivals.is_empty() {
            let core = &self.table.core;
            let step = self.step.get_or_insert_with(|| {
                let core = Rc::clone(core);
                Box::pin(async move { core.handshakes.step().await })
            });
            if step.as_mut().poll(cx).is_pending() {
                return;
            }
            self.step = None;
            if let Some(incoming) = self.table.arrivals.pop_front() {
                self.table.accept(now, incoming);
            }
        }
    }

    /// Handles the timeouts of connections that are due.
    fn fire(&mut self, now: Instant, cx: &mut Context<'_>) {
        while let Some((at, key)) = self.timers.first() {
            if at > now {
                self.sleep.reset(at);
                if self.sleep.as_mut().poll(cx).is_pending() {
                    return;
                }
            }
            self.timers.drop_first();
            let Some(connection) = self.table.connection(key) else { continue };
            let mut state = connection.state.borrow_mut();
            if state.timer != Some(at) {
                continue;
            }
            state.timer = None;
            state.quic.handle_timeout(now.max(at));
            drop(state);
            connection.touch();
        }
    }

    fn sweep(&mut self, cx: &mut Context<'_>) {
        let draining = self.table.is_leaving();
        let begins = draining && !std::mem::replace(&mut self.drained, draining);
        if self.alarm.poll(cx).is_pending() && !begins {
            return;
        }
        let crowded = self.table.half_open >= self.table.core.limits.half_open_max;
        let send_window = self.table.send_window();
        for connection in self.table.connections.iter().flatten() {
            connection.sweep(draining, crowded, send_window);
        }
        self.alarm.set(self.table.core.limits.tick * 4);
        // Registers for the next alarm.
        if self.alarm.poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }

    /// Sends pending datagrams until the socket is full.
    fn send(&mut self, now: Instant, cx: &mut Context<'_>) {
        if let Some((transmit, bytes)) = self.blocked.take()
            && (self.socket.poll_writable(cx).is_pending() || !self.socket.send(&transmit, &bytes))
        {
            self.blocked = Some((transmit, bytes));
            return;
        }
        for (transmit, bytes) in self.table.replies.drain(..) {
            // A reply that the socket does not accept is lost; its client retries.
            self.socket.send(&transmit, &bytes);
        }
        let touched = std::mem::take(&mut *self.table.driver.touched.borrow_mut());
        for (position, key) in touched.iter().enumerate() {
            let Some(connection) = self.table.connection(*key) else { continue };
            connection.touched.set(false);
            self.table.process_connection(&connection);
            let sent = self.send_of(now, &connection);
            if sent == SendProgress::Blocked {
                touched[position..].iter().for_each(|key| self.table.touch(*key));
                break;
            }
            let is_spent = fairlead_reactor::poll_turn().is_pending();
            if is_spent {
                touched[position + 1..].iter().for_each(|key| self.table.touch(*key));
            }
            if sent == SendProgress::Share {
                connection.touch();
            }
            if is_spent {
                break;
            }
        }
        // Reuses the memory of the queue, unless it was refilled meanwhile.
        let mut queue = self.table.driver.touched.borrow_mut();
        if queue.is_empty() && queue.capacity() == 0 {
            *queue = touched;
            queue.clear();
        }
        drop(queue);
        if self.blocked.is_some() && self.socket.poll_writable(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }

    /// Sends the pending datagrams of one connection.
    fn send_of(&mut self, now: Instant, connection: &Rc<H3Connection>) -> SendProgress {
        let segments_max = self.socket.segments_max();
        let mut state = connection.state.borrow_mut();
        let mut sends = 0;
        loop {
            self.out.clear();
            let Some(transmit) = state.quic.poll_transmit(now, segments_max, &mut self.out) else { break };
            if !self.socket.send(&transmit, &self.out) {
                self.blocked = Some((transmit, std::mem::take(&mut self.out)));
                break;
            }
            sends += 1;
            if sends == SENDS_MAX || fairlead_reactor::poll_turn().is_pending() {
                return SendProgress::Share;
            }
        }
        state.release();
        let due = state.quic.poll_timeout();
        self.timers.want(connection.key, due, &mut state.timer);
        if self.blocked.is_none() { SendProgress::All } else { SendProgress::Blocked }
    }
}

impl Table {
    fn connection(&self, key: usize) -> Option<Rc<H3Connection>> {
        self.connections.get(key)?.clone()
    }

    /// Returns the bytes of responses that QUIC may keep for one connection until its client has confirmed them.
    fn send_window(&self) -> u64 {
        let connections = self.quic.open_connections() as u64;
        (SEND_BYTES_MAX / connections.max(1)).clamp(SEND_WINDOW_BYTES_MIN, SEND_WINDOW_BYTES)
    }

    fn touch(&self, key: usize) {
        if let Some(connection) = self.connections.get(key).and_then(Option::as_ref) {
            connection.touched.set(false);
            connection.touch();
        }
    }

    /// True during a drain or with HTTP/3 off: new connections are refused, open ones get GOAWAY.
    fn is_leaving(&self) -> bool {
        self.core.is_draining() || !self.core.offers_http3()
    }

    fn datagram(&mut self, now: Instant, datagram: &Datagram<'_>) {
        let (mut reply, bytes) = (Vec::new(), BytesMut::from(datagram.bytes));
        let event = self.quic.handle(now, datagram.remote, datagram.local, datagram.ecn, bytes, &mut reply);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(connection) = self.connection(handle.0) else { return };
                connection.receive(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.arrive(incoming),
            Some(DatagramEvent::Response(transmit)) => self.replies.push((transmit, reply)),
            None => {}
        }
    }

    /// Queues a new handshake, or refuses it at once: expensive work waits for its permit.
    fn arrive(&mut self, incoming: Incoming) {
        let waiting = u32::try_from(self.arrivals.len()).unwrap_or(u32::MAX);
        let half_open = self.half_open.saturating_add(waiting);
        let limits = &self.core.limits;
        let mut reply = Vec::new();
        if self.is_leaving() {
            let transmit = self.quic.refuse(incoming, &mut reply);
            return self.replies.push((transmit, reply));
        }
        if half_open >= limits.half_open_max.saturating_mul(HALF_OPEN_FACTOR) {
            return self.quic.ignore(incoming);
        }
        // Under load a client must first validate its address (RFC 9000, 8.1.2). Otherwise forged addresses could
        // close the connections of others.
        let is_full = self.core.is_full();
        let is_busy = is_full || half_open >= limits.half_open_max;
        if is_busy && incoming.may_retry() && !incoming.remote_address_validated() {
            if let Ok(transmit) = self.quic.retry(incoming, &mut reply) {
                self.replies.push((transmit, reply));
            }
            return;
        }
        if is_full && !(self.core.may_enter(incoming.remote_address().ip()) && self.core.make_room()) {
            let transmit = self.quic.refuse(incoming, &mut reply);
            return self.replies.push((transmit, reply));
        }
        self.arrivals.push_back(incoming);
    }

    fn accept(&mut self, now: Instant, incoming: Incoming) {
        let mut reply = Vec::new();
        if self.is_leaving() {
            let transmit = self.quic.refuse(incoming, &mut reply);
            return self.replies.push((transmit, reply));
        }
        let Some(open) = OpenConnection::enter(&self.core, incoming.remote_address().ip(), || None) else {
            let transmit = self.quic.refuse(incoming, &mut reply);
            return self.replies.push((transmit, reply));
        };
        match self.quic.accept(incoming, now, &mut reply, None) {
            Ok((handle, mut quic)) => {
                quic.set_send_window(self.send_window());
                let connection = H3Connection::new(&self.core, &self.driver, handle.0, quic, open);
                if self.connections.len() <= handle.0 {
                    self.connections.resize(handle.0 + 1, None);
                }
                self.half_open += 1;
                connection.touch();
                self.connections[handle.0] = Some(connection);
            }
            Err(error) => {
                tracing::debug!(%error.cause, "an HTTP/3 connection was not accepted");
                self.replies.extend(error.response.map(|transmit| (transmit, reply)));
            }
        }
    }

    /// Processes the events of a connection, and those that concern the endpoint.
    fn process_connection(&mut self, connection: &Rc<H3Connection>) {
        connection.process();
        let handle = ConnectionHandle(connection.key);
        let mut drained = false;
        let mut state = connection.state.borrow_mut();
        while let Some(event) = state.quic.poll_endpoint_events() {
            drained |= event.is_drained();
            if let Some(answer) = self.quic.handle_event(handle, event) {
                state.quic.handle_event(answer);
            }
        }
        drop(state);
        if !connection.is_half_open() && connection.half_open.replace(false) {
            self.half_open -= 1;
        }
        if drained {
            self.connections[connection.key] = None;
        }
    }
}
