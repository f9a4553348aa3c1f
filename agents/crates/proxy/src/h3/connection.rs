//! One client's connection: its streams as they open, its control streams, and its end. What QUIC itself needs done is the
//! endpoint's; what a request means is the exchange's.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairlead_h3::{Code, UniKind, UniReader, goaway, settings};
use fairlead_route::Client;
use foldhash::fast::RandomState;
use quinn_proto::{Connection, ConnectionEvent, Dir, Event, ReadError, StreamEvent, StreamId, VarInt, WriteError};

use super::endpoint::Driver;
use super::opening::{Opened, Opening};
use super::stream;
use crate::client::OpenConnection;
use crate::core::{Backlog, Core};
use crate::exchange::Origin;
use crate::flood::Flood;

/// Most bytes taken from a stream at once.
const READ_BYTES_MAX: usize = 64 * 1024;
/// Heads of one connection that are not whole: no client has so much under way that does not come at once.
const OPENING_BYTES_MAX: usize = 512 * 1024;
/// Silence after which a client with requests under way is asked whether it still lives, before QUIC takes it for gone.
const PING_AFTER: Duration = Duration::from_secs(10);

/// What a stream has to say.
pub(crate) enum Read {
    Some(Bytes),
    /// It ended in order.
    End,
    /// Nothing yet.
    Blocked,
    /// It was reset, or its connection is gone.
    Gone,
}

/// What became of a write.
pub(crate) enum Wrote {
    All,
    /// The rest has to wait.
    Some,
    /// Nobody wants it any more.
    Gone,
}

/// A connection, shared by the endpoint and the tasks of its streams.
pub(crate) struct H3Connection {
    pub(crate) core: Rc<Core>,
    driver: Rc<Driver>,
    /// Its place among the endpoint's connections.
    pub(crate) key: usize,
    pub(crate) state: RefCell<State>,
    pub(crate) backlog: Rc<Backlog>,
    /// It waits for the endpoint to send what there is.
    pub(crate) touched: Cell<bool>,
    /// The endpoint counts it among the handshakes under way.
    pub(crate) half_open: Cell<bool>,
}

/// What changes with every datagram.
pub(crate) struct State {
    pub(crate) quic: Connection,
    /// The moment for which the endpoint has an entry.
    pub(crate) timer: Option<Instant>,
    streams: HashMap<StreamId, Stream, RandomState>,
    uni: HashMap<StreamId, (UniReader, Vec<u8>), RandomState>,
    control: Option<StreamId>,
    /// Bytes of the control stream that the client's windows had no room for yet.
    unsaid: Bytes,
    /// Client of every request: the address that the handshake has proved.
    remote: IpAddr,
    origin: Rc<Origin>,
    phase: Phase,
    /// The first request stream that was not looked at.
    next_stream: u64,
    /// The phase began, or the last stream ended, or something arrived; by the core's clock.
    since_ms: u64,
    heard_ms: u64,
    pinged_ms: u64,
    flood: Flood,
    open: Option<OpenConnection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Handshake,
    Open,
    /// GOAWAY was sent.
    Leaving,
    /// Nothing more is read or written.
    Closed,
}

enum Stream {
    /// Its head has not all come.
    Opening(Box<Opening>),
    /// A task has it.
    Served { waker: Option<Waker>, stopped: bool, since_ms: u64 },
}

impl H3Connection {
    pub(crate) fn new(
        core: &Rc<Core>,
        driver: &Rc<Driver>,
        key: usize,
        quic: Connection,
        open: OpenConnection,
    ) -> Rc<Self> {
        let now_ms = core.alarms.now_ms();
        let state = State {
            remote: quic.remote_address().ip(),
            origin: Rc::new(Origin { client: Client::new(quic.remote_address().ip(), true) }),
            quic,
            timer: None,
            streams: HashMap::default(),
            uni: HashMap::default(),
            control: None,
            unsaid: Bytes::new(),
            phase: Phase::Handshake,
            next_stream: 0,
            since_ms: now_ms,
            heard_ms: now_ms,
            pinged_ms: now_ms,
            flood: Flood::default(),
            open: Some(open),
        };
        let backlog = core.backlog(state.remote);
        let (core, driver) = (Rc::clone(core), Rc::clone(driver));
        Rc::new(Self {
            backlog,
            core,
            driver,
            key,
            state: RefCell::new(state),
            touched: Cell::new(false),
            half_open: Cell::new(true),
        })
    }

    /// Has the endpoint send what there is.
    pub(crate) fn touch(&self) {
        if !self.touched.replace(true) {
            self.driver.touch(self.key);
        }
    }

    /// Ends the whole connection, and with it every stream.
    pub(crate) fn close(&self, code: Code) {
        let mut state = self.state.borrow_mut();
        state.close(code);
        drop(state);
        self.touch();
    }

    /// Reads some of a stream. When there is nothing yet, `waker` is woken once there is.
    pub(crate) fn read(&self, id: StreamId, waker: &Waker) -> Read {
        let mut state = self.state.borrow_mut();
        let (read, transmit) = state.read(id);
        if matches!(read, Read::Blocked) {
            state.wait(id, waker);
        }
        drop(state);
        if transmit {
            self.touch();
        }
        read
    }

    /// Writes as much of `bytes` as QUIC takes, and takes it off them; `waker` is woken when it takes more.
    pub(crate) fn write(&self, id: StreamId, bytes: &mut Bytes, waker: &Waker) -> Wrote {
        let mut state = self.state.borrow_mut();
        if state.phase == Phase::Closed {
            return Wrote::Gone;
        }
        let wrote = loop {
            match state.quic.send_stream(id).write_chunks(std::slice::from_mut(bytes)) {
                Ok(_) if bytes.is_empty() => break Wrote::All,
                // QUIC reports room again only to a stream whose last write it blocked.
                Ok(_) => {}
                Err(WriteError::Blocked) => {
                    state.wait(id, waker);
                    break Wrote::Some;
                }
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => break Wrote::Gone,
            }
        };
        drop(state);
        self.touch();
        wrote
    }

    /// Nothing more is written. `false` when the client has given the stream up.
    pub(crate) fn finish(&self, id: StreamId) -> bool {
        let finished = self.state.borrow_mut().quic.send_stream(id).finish().is_ok();
        self.touch();
        finished
    }

    /// Whether the client wants no response any more; else `waker` is woken when that changes.
    pub(crate) fn is_stopped(&self, id: StreamId, waker: &Waker) -> bool {
        let mut state = self.state.borrow_mut();
        let stopped = match state.streams.get(&id) {
            Some(Stream::Served { stopped, .. }) => *stopped,
            _ => true,
        };
        state.wait(id, waker);
        stopped || state.phase == Phase::Closed
    }

    /// A task is done with its stream. `reset`: what was sent of the response is to be forgotten. `stop`: what is still to
    /// come of the request is not wanted. `canceled`: it was the client that did not want the response.
    pub(crate) fn leave_stream(&self, id: StreamId, reset: Option<Code>, stop: Option<Code>, canceled: bool) {
        let mut state = self.state.borrow_mut();
        let now_ms = self.core.alarms.now_ms();
        state.end_stream(id, reset, stop);
        if let Some(Stream::Served { since_ms, .. }) = state.streams.remove(&id) {
            state.flood.ended();
            if canceled {
                state.flood.canceled(now_ms - since_ms);
            }
        }
        if state.flood.is_flood() {
            state.close(Code::ExcessiveLoad);
        }
        if state.streams.is_empty() {
            state.since_ms = now_ms;
        }
        drop(state);
        self.touch();
    }

    pub(crate) fn driver(&self) -> &Rc<Driver> {
        &self.driver
    }

    /// Whether the handshake goes on.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state.borrow().phase == Phase::Handshake
    }

    /// Takes a datagram in.
    pub(crate) fn hear(&self, event: ConnectionEvent) {
        let mut state = self.state.borrow_mut();
        state.heard_ms = self.core.alarms.now_ms();
        state.quic.handle_event(event);
        drop(state);
        self.touch();
    }

    /// Does what QUIC has found in the datagrams that came.
    pub(crate) fn process(self: &Rc<Self>) {
        let mut state = self.state.borrow_mut();
        while let Some(event) = state.quic.poll() {
            match event {
                Event::Connected => state.connected(&self.core),
                Event::ConnectionLost { reason } => {
                    tracing::debug!(%reason, "an HTTP/3 connection ended");
                    state.end();
                }
                Event::Stream(event) => state.stream_event(self, event),
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {}
            }
        }
        // QUIC follows a client to a new address before that is proved, and a client can forge it. So requests stay with the proved
        // address, and the client has to prove the new one on a new connection.
        if state.phase == Phase::Open && state.quic.remote_address().ip() != state.remote {
            state.leave(self.core.alarms.now_ms());
        }
        // Responses that the client has not confirmed would be lost with the connection.
        if state.phase == Phase::Leaving && state.is_done() {
            state.close(Code::NoError);
        }
    }

    /// Checks deadlines; called about once a second, and when the core begins to drain. `crowded`: many handshakes are in flight.
    pub(crate) fn sweep(&self, draining: bool, crowded: bool, send_window: u64) {
        let (now_ms, limits) = (self.core.alarms.now_ms(), &self.core.limits);
        let passed = |since_ms: u64, limit: Duration| {
            now_ms.saturating_sub(since_ms) >= u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
        };
        let mut state = self.state.borrow_mut();
        state.quic.set_send_window(send_window);
        let late = |stream: &Stream| matches!(stream, Stream::Opening(opening) if passed(opening.since_ms, limits.head_timeout));
        let late: Vec<StreamId> = state.streams.iter().filter(|(_, stream)| late(stream)).map(|(id, _)| *id).collect();
        for id in &late {
            state.end_stream(*id, Some(Code::RequestCancelled), Some(Code::RequestCancelled));
            state.streams.remove(id);
        }
        let before = state.phase;
        let handshake_timeout = if crowded { limits.crowded_handshake_timeout } else { limits.handshake_timeout };
        match state.phase {
            _ if self.backlog.is_cut() => state.close(Code::ExcessiveLoad),
            // It was never accepted, so there is nobody to be polite to.
            Phase::Handshake if draining || passed(state.since_ms, handshake_timeout) => state.close(Code::NoError),
            Phase::Open if draining || state.streams.is_empty() && passed(state.since_ms, limits.idle_timeout) => {
                state.leave(now_ms);
            }
            Phase::Open if state.streams.is_empty() && self.core.wants_place_of(state.since_ms) => {
                state.close(Code::NoError);
            }
            Phase::Leaving if state.streams.is_empty() && passed(state.since_ms, super::FAREWELL) => {
                state.close(Code::NoError);
            }
            _ => {}
        }
        let quiet = passed(state.heard_ms.max(state.pinged_ms), PING_AFTER.min(limits.idle_timeout / 3));
        let pings = quiet && !state.streams.is_empty() && state.phase != Phase::Closed;
        if pings {
            state.quic.ping();
            state.pinged_ms = now_ms;
        }
        let changed = pings || !late.is_empty() || before != state.phase;
        drop(state);
        if changed {
            self.touch();
        }
    }
}

impl State {
    fn read(&mut self, id: StreamId) -> (Read, bool) {
        if self.phase == Phase::Closed {
            return (Read::Gone, false);
        }
        let mut recv = self.quic.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return (Read::Gone, false) };
        let read = match chunks.next(READ_BYTES_MAX) {
            Ok(Some(chunk)) => Read::Some(chunk.bytes),
            Ok(None) => Read::End,
            Err(ReadError::Blocked) => Read::Blocked,
            Err(ReadError::Reset(_)) => Read::Gone,
        };
        let transmit = chunks.finalize().should_transmit();
        (read, transmit)
    }

    fn wait(&mut self, id: StreamId, waker: &Waker) {
        if let Some(Stream::Served { waker: slot, .. }) = self.streams.get_mut(&id)
            && !slot.as_ref().is_some_and(|slot| slot.will_wake(waker))
        {
            *slot = Some(waker.clone());
        }
    }

    fn wake(&mut self, id: StreamId) {
        if let Some(Stream::Served { waker: Some(waker), .. }) = self.streams.get(&id) {
            waker.wake_by_ref();
        }
    }

    /// Opens our control stream. QPACK's would carry nothing: no table is used either way.
    fn connected(&mut self, core: &Core) {
        self.phase = Phase::Open;
        self.since_ms = core.alarms.now_ms();
        let head_bytes_max = u64::try_from(core.limits.head_bytes_max).unwrap_or(u64::MAX);
        self.control = self.quic.streams().open(Dir::Uni);
        self.say(&settings(head_bytes_max, false));
    }

    /// Writes on the control stream, behind bytes that its windows had no room for.
    fn say(&mut self, bytes: &[u8]) {
        self.unsaid = [&self.unsaid, bytes].concat().into();
        self.say_rest();
    }

    /// Responses in flight may have used up the client's connection window, so the rest waits for `Writable`.
    fn say_rest(&mut self) {
        let Some(control) = self.control else { return self.close(Code::GeneralProtocol) };
        while !self.unsaid.is_empty() {
            match self.quic.send_stream(control).write_chunks(std::slice::from_mut(&mut self.unsaid)) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return self.close(Code::ClosedCriticalStream);
                }
            }
        }
    }

    fn close(&mut self, code: Code) {
        if self.phase != Phase::Closed {
            self.quic.close(Instant::now(), VarInt::from_u32(code.number()), Bytes::new());
            self.end();
        }
    }

    /// The connection is of no more use to anybody.
    fn end(&mut self) {
        self.phase = Phase::Closed;
        for stream in self.streams.values() {
            if let Stream::Served { waker: Some(waker), .. } = stream {
                waker.wake_by_ref();
            }
        }
        self.streams.retain(|_, stream| matches!(stream, Stream::Served { .. }));
        self.uni.clear();
    }

    /// The count of open connections lets it go once its last datagram was sent.
    pub(crate) fn release(&mut self) {
        if self.phase == Phase::Closed {
            self.open = None;
        }
    }

    /// Tells the client to ask elsewhere; what it has asked already is served.
    fn leave(&mut self, now_ms: u64) {
        self.phase = Phase::Leaving;
        self.since_ms = now_ms;
        self.say(&goaway(self.next_stream * 4));
    }

    /// Nothing is under way, and the client has confirmed all that was sent but on our control stream.
    fn is_done(&mut self) -> bool {
        self.streams.is_empty() && self.quic.streams().send_streams() <= 1
    }

    fn end_stream(&mut self, id: StreamId, reset: Option<Code>, stop: Option<Code>) {
        if self.phase == Phase::Closed {
            return;
        }
        let number = |code: Code| VarInt::from_u32(code.number());
        // Both fail only for a stream that has ended by itself.
        let reset = reset.map(|code| self.quic.send_stream(id).reset(number(code)));
        let stop = stop.map(|code| self.quic.recv_stream(id).stop(number(code)));
        tracing::trace!(stream = %id, ?reset, ?stop, "a stream is left");
    }

    fn stream_event(&mut self, connection: &Rc<H3Connection>, event: StreamEvent) {
        if self.phase == Phase::Closed {
            return;
        }
        match event {
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some(id) = self.quic.streams().accept(Dir::Bi) {
                    self.open(connection, id);
                }
            }
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                    self.uni.insert(id, Default::default());
                    self.read_uni(connection, id);
                }
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => self.read_uni(connection, id),
            StreamEvent::Readable { id } => match self.streams.get(&id) {
                Some(Stream::Opening(_)) => self.read_head(connection, id),
                _ => self.wake(id),
            },
            StreamEvent::Writable { id } if self.control == Some(id) => self.say_rest(),
            StreamEvent::Writable { id } => self.wake(id),
            StreamEvent::Stopped { id, .. } => self.stopped(id),
            StreamEvent::Finished { .. } | StreamEvent::Available { .. } => {}
        }
    }

    fn stopped(&mut self, id: StreamId) {
        if self.control == Some(id) {
            return self.close(Code::ClosedCriticalStream);
        }
        match self.streams.get_mut(&id) {
            Some(Stream::Served { stopped, .. }) => {
                *stopped = true;
                self.wake(id);
            }
            // Nobody would read the answer.
            Some(Stream::Opening(_)) => {
                self.flood.ended();
                self.end_stream(id, Some(Code::RequestCancelled), Some(Code::RequestCancelled));
                self.streams.remove(&id);
            }
            None => {}
        }
    }

    fn open(&mut self, connection: &Rc<H3Connection>, id: StreamId) {
        if self.phase == Phase::Leaving || !connection.backlog.may_open() {
            // The client may send it again on another connection, or later: the request was not processed.
            return self.end_stream(id, Some(Code::RequestRejected), Some(Code::RequestRejected));
        }
        self.next_stream = self.next_stream.max(id.index() + 1);
        let opening = Opening::new(&connection.core);
        self.streams.insert(id, Stream::Opening(Box::new(opening)));
        self.read_head(connection, id);
    }

    /// Reads on in a head; once it is whole, a task takes the stream.
    fn read_head(&mut self, connection: &Rc<H3Connection>, id: StreamId) {
        let Some(Stream::Opening(mut opening)) = self.streams.remove(&id) else { return };
        let opened = loop {
            match self.read(id).0 {
                Read::Some(bytes) => {
                    opening.push(bytes);
                    // One more look tells whether the request ends here, as most do.
                    if opening.is_enough() && !opening.has_head_only() {
                        break opening.finish(false);
                    }
                }
                Read::End => break opening.finish(true),
                Read::Blocked if opening.has_head_only() && !opening.awaits_end() => break opening.finish(false),
                Read::Blocked => {
                    self.streams.insert(id, Stream::Opening(opening));
                    if self.opening_bytes() > OPENING_BYTES_MAX {
                        self.close(Code::ExcessiveLoad);
                    }
                    return;
                }
                Read::Gone => {
                    return self.end_stream(id, Some(Code::RequestCancelled), None);
                }
            }
        };
        match opened {
            Opened::Fault(code) => self.close(code),
            Opened::Reset(code) => {
                connection.core.malformed_requests.set(connection.core.malformed_requests.get() + 1);
                self.end_stream(id, Some(code), Some(code));
            }
            Opened::Head(head) => match head.begin(&connection.core, &self.origin, &connection.driver) {
                Ok(begun) => {
                    let since_ms = connection.core.alarms.now_ms();
                    self.streams.insert(id, Stream::Served { waker: None, stopped: false, since_ms });
                    stream::spawn(connection, id, begun);
                }
                Err(code) => self.close(code),
            },
        }
    }

    /// Bytes of heads that are not whole.
    fn opening_bytes(&self) -> usize {
        let held = |stream: &Stream| if let Stream::Opening(opening) = stream { opening.held_bytes() } else { 0 };
        self.streams.values().map(held).sum()
    }

    fn read_uni(&mut self, connection: &Rc<H3Connection>, id: StreamId) {
        let Some((mut reader, mut unread)) = self.uni.remove(&id) else { return };
        loop {
            let (read, transmit) = self.read(id);
            if transmit {
                connection.touch();
            }
            match read {
                Read::Some(bytes) => {
                    unread.extend_from_slice(&bytes);
                    match reader.advance(&unread) {
                        Ok(consumed) => drop(unread.drain(..consumed)),
                        Err(code) => return self.close(code),
                    }
                    let twice = |kind| {
                        kind != UniKind::Unknown && self.uni.values().any(|(other, _)| other.kind() == Some(kind))
                    };
                    match reader.kind() {
                        Some(UniKind::Unknown) => return self.end_stream(id, None, Some(Code::StreamCreation)),
                        Some(kind) if twice(kind) => return self.close(Code::StreamCreation),
                        _ => {}
                    }
                }
                Read::Blocked => {
                    self.uni.insert(id, (reader, unread));
                    return;
                }
                Read::End | Read::Gone => {
                    if reader.kind().is_some() {
                        self.close(Code::ClosedCriticalStream);
                    }
                    return;
                }
            }
        }
    }
}
