//! HTTP/3 connection of one client: request streams, control streams and shutdown. The endpoint drives QUIC; exchanges
//! handle the requests.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairlead_h3::{ErrorCode, UniKind, UniReader, goaway, settings};
use fairlead_route::Client;
use foldhash::fast::RandomState;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{Connection, ConnectionEvent, Dir, Event, ReadError, StreamEvent, StreamId, VarInt, WriteError};

use super::endpoint::EndpointHandle;
use super::request_head::{RequestHeadReader, RequestHeadResult};
use super::stream;
use crate::client::OpenConnection;
use crate::connection_tls::ConnectionTls;
use crate::core::{Backlog, Core};
use crate::exchange::Origin;
use crate::flood::Flood;

/// Maximum number of bytes read from a stream at once.
const READ_BYTES_MAX: usize = 64 * 1024;
/// Maximum buffered bytes of incomplete heads on one connection: an honest client sends each head at once.
const OPENING_BYTES_MAX: usize = 512 * 1024;
/// Silence after which a client with open requests gets a PING, before QUIC treats it as gone.
const PING_AFTER: Duration = Duration::from_secs(10);

/// Result of reading a stream.
pub(crate) enum ReadResult {
    Some(Bytes),
    /// The stream ended in order.
    End,
    /// No data is available yet.
    Blocked,
    /// The stream was reset, or its connection is gone.
    Gone,
}

/// Result of a write.
pub(crate) enum WriteResult {
    All,
    /// A part was written; the rest is blocked.
    Some,
    /// The client stopped the stream, or the connection is closed.
    Gone,
}

/// A connection, shared by the endpoint and the tasks of its streams.
pub(crate) struct H3Connection {
    pub(crate) core: Rc<Core>,
    driver: Rc<EndpointHandle>,
    /// Index among the connections of the endpoint.
    pub(crate) key: usize,
    pub(crate) state: RefCell<ConnectionState>,
    pub(crate) backlog: Rc<Backlog>,
    /// True while the connection is queued for sending.
    pub(crate) touched: Cell<bool>,
    /// True while the endpoint counts it as a half-open handshake.
    pub(crate) half_open: Cell<bool>,
}

/// Mutable state of a connection.
pub(crate) struct ConnectionState {
    pub(crate) quic: Connection,
    /// Time of its entry in the timers of the endpoint.
    pub(crate) timer: Option<Instant>,
    streams: HashMap<StreamId, StreamState, RandomState>,
    uni: HashMap<StreamId, (UniReader, Vec<u8>), RandomState>,
    control: Option<StreamId>,
    /// Control stream bytes that flow control has blocked.
    control_unsent: Bytes,
    /// Client of every request: the address validated by the handshake.
    remote: IpAddr,
    origin: Rc<Origin>,
    phase: ConnectionPhase,
    /// Index of the first request stream that was not opened yet.
    next_stream: u64,
    /// Time of the last phase change or of the end of the last stream, on the core clock.
    since_ms: u64,
    heard_ms: u64,
    pinged_ms: u64,
    flood: Flood,
    open: Option<OpenConnection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    Handshake,
    Open,
    /// GOAWAY was sent; open streams complete.
    Leaving,
    /// No more reads or writes.
    Closed,
}

enum StreamState {
    /// The head is incomplete.
    Opening(Box<RequestHeadReader>),
    /// A task serves the stream.
    Served { waker: Option<Waker>, stopped: bool, since_ms: u64 },
}

impl H3Connection {
    pub(crate) fn new(
        core: &Rc<Core>,
        driver: &Rc<EndpointHandle>,
        key: usize,
        quic: Connection,
        open: OpenConnection,
    ) -> Rc<Self> {
        let now_ms = core.alarms.now_ms();
        let state = ConnectionState {
            remote: quic.remote_address().ip(),
            origin: Rc::new(Origin { client: Client::new(quic.remote_address().ip(), true), tls: None }),
            quic,
            timer: None,
            streams: HashMap::default(),
            uni: HashMap::default(),
            control: None,
            control_unsent: Bytes::new(),
            phase: ConnectionPhase::Handshake,
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

    /// Queues the connection for sending.
    pub(crate) fn touch(&self) {
        if !self.touched.replace(true) {
            self.driver.touch(self.key);
        }
    }

    /// Closes the connection and all of its streams.
    pub(crate) fn close(&self, code: ErrorCode) {
        let mut state = self.state.borrow_mut();
        state.close(code);
        drop(state);
        self.touch();
    }

    /// Reads from a stream. If no data is available, `waker` is woken once there is.
    pub(crate) fn read(&self, id: StreamId, waker: &Waker) -> ReadResult {
        let mut state = self.state.borrow_mut();
        let (read, transmit) = state.read(id);
        if matches!(read, ReadResult::Blocked) {
            state.wait(id, waker);
        }
        drop(state);
        if transmit {
            self.touch();
        }
        read
    }

    /// Writes as much of `bytes` as QUIC accepts and removes it; `waker` is woken when QUIC accepts more.
    pub(crate) fn write(&self, id: StreamId, bytes: &mut Bytes, waker: &Waker) -> WriteResult {
        let mut state = self.state.borrow_mut();
        if state.phase == ConnectionPhase::Closed {
            return WriteResult::Gone;
        }
        let wrote = loop {
            match state.quic.send_stream(id).write_chunks(std::slice::from_mut(bytes)) {
                Ok(_) if bytes.is_empty() => break WriteResult::All,
                // QUIC reports new capacity only after a write was blocked.
                Ok(_) => {}
                Err(WriteError::Blocked) => {
                    state.wait(id, waker);
                    break WriteResult::Some;
                }
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => break WriteResult::Gone,
            }
        };
        drop(state);
        self.touch();
        wrote
    }

    /// Ends the response. Returns `false` if the client has stopped the stream.
    pub(crate) fn finish(&self, id: StreamId) -> bool {
        let finished = self.state.borrow_mut().quic.send_stream(id).finish().is_ok();
        self.touch();
        finished
    }

    /// True if the client has stopped the stream; otherwise `waker` is woken when that changes.
    pub(crate) fn is_stopped(&self, id: StreamId, waker: &Waker) -> bool {
        let mut state = self.state.borrow_mut();
        let stopped = match state.streams.get(&id) {
            Some(StreamState::Served { stopped, .. }) => *stopped,
            _ => true,
        };
        state.wait(id, waker);
        stopped || state.phase == ConnectionPhase::Closed
    }

    /// Releases a stream. `reset`: code that discards the response. `stop`: code that refuses the rest of the request.
    /// `taken_back`: the client cancelled the response.
    pub(crate) fn leave_stream(&self, id: StreamId, reset: Option<ErrorCode>, stop: Option<ErrorCode>, canceled: bool) {
        let mut state = self.state.borrow_mut();
        let now_ms = self.core.alarms.now_ms();
        state.end_stream(id, reset, stop);
        if let Some(StreamState::Served { since_ms, .. }) = state.streams.remove(&id) {
            state.flood.ended();
            if canceled {
                state.flood.canceled(now_ms - since_ms);
            }
        }
        if state.flood.is_flood() {
            state.close(ErrorCode::ExcessiveLoad);
        }
        if state.streams.is_empty() {
            state.since_ms = now_ms;
        }
        drop(state);
        self.touch();
    }

    pub(crate) fn driver(&self) -> &Rc<EndpointHandle> {
        &self.driver
    }

    /// True until the handshake completes.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state.borrow().phase == ConnectionPhase::Handshake
    }

    /// Handles a received datagram.
    pub(crate) fn receive(&self, event: ConnectionEvent) {
        let mut state = self.state.borrow_mut();
        state.heard_ms = self.core.alarms.now_ms();
        state.quic.handle_event(event);
        drop(state);
        self.touch();
    }

    /// Processes the QUIC events of received datagrams.
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
        // QUIC migrates to a new client address before it is validated, and a client can forge it. So requests keep
        // the validated address, and the client must open a new connection from the new one.
        if state.phase == ConnectionPhase::Open && state.quic.remote_address().ip() != state.remote {
            state.leave(self.core.alarms.now_ms());
        }
        // Closing earlier would lose responses that the client has not acknowledged.
        if state.phase == ConnectionPhase::Leaving && state.is_done() {
            state.close(ErrorCode::NoError);
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
        let late = |stream: &StreamState| matches!(stream, StreamState::Opening(opening) if passed(opening.since_ms, limits.head_timeout));
        let late: Vec<StreamId> = state.streams.iter().filter(|(_, stream)| late(stream)).map(|(id, _)| *id).collect();
        for id in &late {
            state.end_stream(*id, Some(ErrorCode::RequestCancelled), Some(ErrorCode::RequestCancelled));
            state.streams.remove(id);
        }
        let before = state.phase;
        let handshake_timeout = if crowded { limits.crowded_handshake_timeout } else { limits.handshake_timeout };
        match state.phase {
            _ if self.backlog.is_cut() => state.close(ErrorCode::ExcessiveLoad),
            // The connection was never accepted, so it needs no GOAWAY.
            ConnectionPhase::Handshake if draining || passed(state.since_ms, handshake_timeout) => {
                state.close(ErrorCode::NoError)
            }
            ConnectionPhase::Open
                if draining || state.streams.is_empty() && passed(state.since_ms, limits.idle_timeout) =>
            {
                state.leave(now_ms);
            }
            ConnectionPhase::Open if state.streams.is_empty() && self.core.wants_place_of(state.since_ms) => {
                state.close(ErrorCode::NoError);
            }
            ConnectionPhase::Leaving if state.streams.is_empty() && passed(state.since_ms, super::GOAWAY_LINGER) => {
                state.close(ErrorCode::NoError);
            }
            _ => {}
        }
        let quiet = passed(state.heard_ms.max(state.pinged_ms), PING_AFTER.min(limits.idle_timeout / 3));
        let pings = quiet && !state.streams.is_empty() && state.phase != ConnectionPhase::Closed;
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

impl ConnectionState {
    fn read(&mut self, id: StreamId) -> (ReadResult, bool) {
        if self.phase == ConnectionPhase::Closed {
            return (ReadResult::Gone, false);
        }
        let mut recv = self.quic.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return (ReadResult::Gone, false) };
        let read = match chunks.next(READ_BYTES_MAX) {
            Ok(Some(chunk)) => ReadResult::Some(chunk.bytes),
            Ok(None) => ReadResult::End,
            Err(ReadError::Blocked) => ReadResult::Blocked,
            Err(ReadError::Reset(_)) => ReadResult::Gone,
        };
        let transmit = chunks.finalize().should_transmit();
        (read, transmit)
    }

    fn wait(&mut self, id: StreamId, waker: &Waker) {
        if let Some(StreamState::Served { waker: slot, .. }) = self.streams.get_mut(&id)
            && !slot.as_ref().is_some_and(|slot| slot.will_wake(waker))
        {
            *slot = Some(waker.clone());
        }
    }

    fn wake(&mut self, id: StreamId) {
        if let Some(StreamState::Served { waker: Some(waker), .. }) = self.streams.get(&id) {
            waker.wake_by_ref();
        }
    }

    /// Opens the control stream. QPACK streams would carry nothing: neither side uses a dynamic table.
    fn connected(&mut self, core: &Core) {
        self.phase = ConnectionPhase::Open;
        self.since_ms = core.alarms.now_ms();
        let handshake = self.quic.crypto_session().handshake_data().and_then(|data| data.downcast().ok());
        let name = handshake.and_then(|data: Box<HandshakeData>| data.server_name);
        // QUIC is TLS 1.3, and its handshake asks no client for a certificate.
        if let Some(policy) = name.and_then(|name| core.tls_policy(&name)).filter(|tls| !tls.asks_for_certificates()) {
            let tls = Some(Box::new(ConnectionTls::new(policy, None)));
            self.origin = Rc::new(Origin { client: Client::new(self.remote, true), tls });
        }
        let head_bytes_max = u64::try_from(core.limits.head_bytes_max).unwrap_or(u64::MAX);
        self.control = self.quic.streams().open(Dir::Uni);
        self.write_control(&settings(head_bytes_max, false));
    }

    /// Writes on the control stream, after blocked bytes.
    fn write_control(&mut self, bytes: &[u8]) {
        self.control_unsent = [&self.control_unsent, bytes].concat().into();
        self.flush_control();
    }

    /// Responses in flight may fill the connection window; the rest is then sent at `Writable`.
    fn flush_control(&mut self) {
        let Some(control) = self.control else { return self.close(ErrorCode::GeneralProtocol) };
        while !self.control_unsent.is_empty() {
            match self.quic.send_stream(control).write_chunks(std::slice::from_mut(&mut self.control_unsent)) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return self.close(ErrorCode::ClosedCriticalStream);
                }
            }
        }
    }

    fn close(&mut self, code: ErrorCode) {
        if self.phase != ConnectionPhase::Closed {
            self.quic.close(Instant::now(), VarInt::from_u32(code.number()), Bytes::new());
            self.end();
        }
    }

    /// Marks the connection as closed and wakes its streams.
    fn end(&mut self) {
        self.phase = ConnectionPhase::Closed;
        for stream in self.streams.values() {
            if let StreamState::Served { waker: Some(waker), .. } = stream {
                waker.wake_by_ref();
            }
        }
        self.streams.retain(|_, stream| matches!(stream, StreamState::Served { .. }));
        self.uni.clear();
    }

    /// Releases the connection count after the last datagram was sent.
    pub(crate) fn release(&mut self) {
        if self.phase == ConnectionPhase::Closed {
            self.open = None;
        }
    }

    /// Sends GOAWAY: the client opens a new connection; requests in flight complete.
    fn leave(&mut self, now_ms: u64) {
        self.phase = ConnectionPhase::Leaving;
        self.since_ms = now_ms;
        self.write_control(&goaway(self.next_stream * 4));
    }

    /// True if no stream is open and the client has acknowledged everything except the control stream.
    fn is_done(&mut self) -> bool {
        self.streams.is_empty() && self.quic.streams().send_streams() <= 1
    }

    fn end_stream(&mut self, id: StreamId, reset: Option<ErrorCode>, stop: Option<ErrorCode>) {
        if self.phase == ConnectionPhase::Closed {
            return;
        }
        let number = |code: ErrorCode| VarInt::from_u32(code.number());
        // Both fail only for a stream that has already ended.
        let reset = reset.map(|code| self.quic.send_stream(id).reset(number(code)));
        let stop = stop.map(|code| self.quic.recv_stream(id).stop(number(code)));
        tracing::trace!(stream = %id, ?reset, ?stop, "a stream is left");
    }

    fn stream_event(&mut self, connection: &Rc<H3Connection>, event: StreamEvent) {
        if self.phase == ConnectionPhase::Closed {
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
                Some(StreamState::Opening(_)) => self.read_head(connection, id),
                _ => self.wake(id),
            },
            StreamEvent::Writable { id } if self.control == Some(id) => self.flush_control(),
            StreamEvent::Writable { id } => self.wake(id),
            StreamEvent::Stopped { id, .. } => self.stopped(id),
            StreamEvent::Finished { .. } | StreamEvent::Available { .. } => {}
        }
    }

    fn stopped(&mut self, id: StreamId) {
        if self.control == Some(id) {
            return self.close(ErrorCode::ClosedCriticalStream);
        }
        match self.streams.get_mut(&id) {
            Some(StreamState::Served { stopped, .. }) => {
                *stopped = true;
                self.wake(id);
            }
            // The client would not read the response.
            Some(StreamState::Opening(_)) => {
                self.flood.ended();
                self.end_stream(id, Some(ErrorCode::RequestCancelled), Some(ErrorCode::RequestCancelled));
                self.streams.remove(&id);
            }
            None => {}
        }
    }

    fn open(&mut self, connection: &Rc<H3Connection>, id: StreamId) {
        if self.phase == ConnectionPhase::Leaving || !connection.backlog.may_open() {
            // The client may retry it on another connection: the request was not processed.
            return self.end_stream(id, Some(ErrorCode::RequestRejected), Some(ErrorCode::RequestRejected));
        }
        self.next_stream = self.next_stream.max(id.index() + 1);
        let opening = RequestHeadReader::new(&connection.core);
        self.streams.insert(id, StreamState::Opening(Box::new(opening)));
        self.read_head(connection, id);
    }

    /// Continues to read a head; when it is complete, spawns a task for the stream.
    fn read_head(&mut self, connection: &Rc<H3Connection>, id: StreamId) {
        let Some(StreamState::Opening(mut opening)) = self.streams.remove(&id) else { return };
        let opened = loop {
            match self.read(id).0 {
                ReadResult::Some(bytes) => {
                    opening.push(bytes);
                    // One more read shows whether the request ends here, as most do.
                    if opening.is_enough() && !opening.has_head_only() {
                        break opening.finish(false);
                    }
                }
                ReadResult::End => break opening.finish(true),
                ReadResult::Blocked if opening.has_head_only() && !opening.awaits_end() => break opening.finish(false),
                ReadResult::Blocked => {
                    self.streams.insert(id, StreamState::Opening(opening));
                    if self.opening_bytes() > OPENING_BYTES_MAX {
                        self.close(ErrorCode::ExcessiveLoad);
                    }
                    return;
                }
                ReadResult::Gone => {
                    return self.end_stream(id, Some(ErrorCode::RequestCancelled), None);
                }
            }
        };
        match opened {
            RequestHeadResult::Fault(code) => self.close(code),
            RequestHeadResult::Reset(code) => {
                connection.core.malformed_requests.set(connection.core.malformed_requests.get() + 1);
                self.end_stream(id, Some(code), Some(code));
            }
            RequestHeadResult::Head(head) => match head.begin(&connection.core, &self.origin, &connection.driver) {
                Ok(dispatch) => {
                    let since_ms = connection.core.alarms.now_ms();
                    self.streams.insert(id, StreamState::Served { waker: None, stopped: false, since_ms });
                    stream::spawn(connection, id, dispatch);
                }
                Err(code) => self.close(code),
            },
        }
    }

    /// Returns the number of buffered bytes of incomplete heads.
    fn opening_bytes(&self) -> usize {
        let held =
            |stream: &StreamState| if let StreamState::Opening(opening) = stream { opening.held_bytes() } else { 0 };
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
                ReadResult::Some(bytes) => {
                    unread.extend_from_slice(&bytes);
                    match reader.advance(&unread) {
                        Ok(consumed) => drop(unread.drain(..consumed)),
                        Err(code) => return self.close(code),
                    }
                    let twice = |kind| {
                        kind != UniKind::Unknown && self.uni.values().any(|(other, _)| other.kind() == Some(kind))
                    };
                    match reader.kind() {
                        Some(UniKind::Unknown) => return self.end_stream(id, None, Some(ErrorCode::StreamCreation)),
                        Some(kind) if twice(kind) => return self.close(ErrorCode::StreamCreation),
                        _ => {}
                    }
                }
                ReadResult::Blocked => {
                    self.uni.insert(id, (reader, unread));
                    return;
                }
                ReadResult::End | ReadResult::Gone => {
                    if reader.kind().is_some() {
                        self.close(ErrorCode::ClosedCriticalStream);
                    }
                    return;
                }
            }
        }
    }
}
