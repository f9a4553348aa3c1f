//! Closed-loop HTTP/1.1 clients on keep-alive connections. One epoll loop serves all clients of a worker, without a task for
//! each: it reads every response that has arrived, then sends the next requests.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinSet;

use crate::client::{SharedRef, Window, pause_after_failure};
use crate::failure::{FailureKind, RequestError};
use crate::http1::{Exchanges, HEAD_BYTES_MAX, Http1Request, requests};
use crate::response::{Response, ResponseParser};
use crate::stream::ClientStream;
use crate::transport::ClientTransport;

const EVENTS_MAX: usize = 256;
const BUFFER_BYTES: usize = 64 * 1024;
/// Longest time that the loop blocks its thread, on which other tasks of the worker wait.
const BLOCK_MAX: Duration = Duration::from_millis(20);
/// Bounds of the time between two searches for requests that are past their timeout.
const TIMEOUT_CHECK_MIN: Duration = Duration::from_millis(1);
const TIMEOUT_CHECK_MAX: Duration = Duration::from_millis(250);

const READING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// Opens the connections of `clients` clients and sends requests until the end of the measured time.
pub(crate) async fn run(shared: SharedRef, clients: u32) {
    let ended = match KeepaliveLoop::new(shared, clients) {
        Ok(mut clients) => clients.run().await,
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::error!(%error, "the event loop of a benchmark worker failed");
    }
}

struct KeepaliveLoop {
    shared: SharedRef,
    requests: Rc<[Http1Request]>,
    /// The epoll descriptor. Like a pipe it is only polled, and a registered `AsyncFd` would need unsafe code.
    epoll: Receiver,
    events: Vec<epoll::Event>,
    buffer: Vec<u8>,
    /// Clients by number, which is also their event data; `None` while a task opens the connection.
    clients: Vec<Option<KeepaliveClient>>,
    /// Clients that send their next request at the end of the turn.
    idle: Vec<usize>,
    /// Clients that wait for their think time, with its end, in this order.
    thinking: VecDeque<(Instant, usize)>,
    /// Tasks that open connections.
    openings: JoinSet<Opened>,
    next_timeout_check: Instant,
}

impl KeepaliveLoop {
    fn new(shared: SharedRef, clients: u32) -> io::Result<Self> {
        let requests = requests(&shared.destination, false);
        let mut openings = JoinSet::new();
        for client in 0..clients as usize {
            openings.spawn_local(open_first(shared.clone(), requests.clone(), client));
        }
        Ok(Self {
            requests,
            shared,
            epoll: Receiver::from_owned_fd_unchecked(epoll::create(CreateFlags::CLOEXEC)?)?,
            events: Vec::with_capacity(EVENTS_MAX),
            buffer: vec![0; BUFFER_BYTES],
            clients: (0..clients).map(|_| None).collect(),
            idle: Vec::new(),
            thinking: VecDeque::new(),
            openings,
            next_timeout_check: Instant::now(),
        })
    }

    async fn run(&mut self) -> io::Result<()> {
        self.shared.announced().await;
        let Some(window) = *self.shared.announcement.borrow() else { return Ok(()) };
        // The worker may not have seen the announcement yet.
        self.shared.window.set(Some(window));
        while Instant::now() < window.end {
            while let Some(Ok(opened)) = self.openings.try_join_next() {
                self.adopt(opened)?;
            }
            self.send_requests()?;
            self.fail_late_requests(Instant::now());
            if self.openings.is_empty() {
                self.block(window)?;
                tokio::task::yield_now().await;
            } else {
                self.wait_for_openings().await?;
            }
        }
        Ok(())
    }

    /// Serves events while all clients are connected, for a short time.
    fn block(&mut self, window: Window) -> io::Result<()> {
        let mut now = Instant::now();
        let until = (now + BLOCK_MAX).min(window.end).min(self.next_timeout_check);
        while now < until && self.openings.is_empty() {
            let next = self.thinking.front().map_or(until, |(due, _)| until.min(*due));
            self.turn(next.saturating_duration_since(now))?;
            self.send_requests()?;
            now = Instant::now();
        }
        Ok(())
    }

    /// Serves the events of connected clients while tasks of this thread connect others.
    async fn wait_for_openings(&mut self) -> io::Result<()> {
        let until = self.thinking.front().map_or(self.next_timeout_check, |(due, _)| self.next_timeout_check.min(*due));
        tokio::select! {
            ready = self.epoll.readable() => ready?,
            Some(Ok(opened)) = self.openings.join_next() => return self.adopt(opened),
            () = tokio::time::sleep_until(until.into()) => return Ok(()),
        }
        if self.turn(Duration::ZERO)? == 0 {
            // Tells the runtime to wait for the next event.
            match self.epoll.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into())) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits for events and reads what has arrived; returns the number of events.
    fn turn(&mut self, limit: Duration) -> io::Result<usize> {
        let limit = Timespec::try_from(limit).unwrap_or_default();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = std::mem::take(&mut self.events);
        let count = events.len();
        for event in events.drain(..) {
            self.handle_event(event.data.u64() as usize, event.flags)?;
        }
        self.events = events;
        Ok(count)
    }

    fn handle_event(&mut self, number: usize, flags: EventFlags) -> io::Result<()> {
        let Some(client) = &mut self.clients[number] else { return Ok(()) };
        client.is_ended |= flags.intersects(ENDED);
        if client.watches_writing && flags.contains(EventFlags::OUT) {
            self.send(number)?;
        }
        self.receive(number);
        Ok(())
    }

    /// Sends the next request of all idle clients.
    fn send_requests(&mut self) -> io::Result<()> {
        if !self.thinking.is_empty() {
            let now = Instant::now();
            while let Some((due, number)) = self.thinking.front().copied()
                && due <= now
            {
                self.thinking.pop_front();
                self.idle.push(number);
            }
        }
        while !self.idle.is_empty() {
            let mut idle = std::mem::take(&mut self.idle);
            for number in idle.drain(..) {
                let Some(client) = &mut self.clients[number] else { continue };
                // A server may have closed the connection during the think time.
                if client.is_ended && client.is_thinking {
                    self.reopen(number);
                    continue;
                }
                client.begin(self.shared.order.take(), &self.requests);
                self.send(number)?;
            }
            if self.idle.is_empty() {
                self.idle = idle;
            }
        }
        Ok(())
    }

    /// Sends what is left of the request.
    fn send(&mut self, number: usize) -> io::Result<()> {
        let Some(client) = &mut self.clients[number] else { return Ok(()) };
        match client.send(&self.requests[client.request].bytes) {
            Ok(true) if client.is_ended => self.receive(number),
            Ok(true) => {}
            Ok(false) if client.watches_writing => {}
            Ok(false) => {
                client.watches_writing = true;
                epoll::modify(&self.epoll, &client.transport, data(number), READING | EventFlags::OUT)?;
            }
            Err(error) => self.fail(number, &RequestError::new(FailureKind::Closed, error)),
        }
        Ok(())
    }

    /// Reads what has arrived.
    fn receive(&mut self, number: usize) {
        let Some(client) = &mut self.clients[number] else { return };
        if client.is_thinking {
            return;
        }
        match client.receive(&mut self.buffer) {
            Ok(None) => {}
            Ok(Some(response)) => {
                let now = self.shared.answered(client.started, &response);
                // After a response that came before the end of its request, the connection can't take another request.
                if response.closes || client.sent < self.requests[client.request].bytes.len() {
                    self.reopen(number);
                } else if self.shared.think_time.is_zero() {
                    self.idle.push(number);
                } else {
                    client.is_thinking = true;
                    self.thinking.push_back((now + self.shared.think_time, number));
                }
            }
            Err(error) => self.fail(number, &error),
        }
    }

    fn reopen(&mut self, number: usize) {
        self.clients[number] = None;
        self.openings.spawn_local(open(self.shared.clone(), number));
    }

    fn fail(&mut self, number: usize, error: &RequestError) {
        self.shared.failed(error);
        self.clients[number] = None;
        let shared = self.shared.clone();
        self.openings.spawn_local(async move {
            pause_after_failure().await;
            open(shared, number).await
        });
    }

    fn fail_late_requests(&mut self, now: Instant) {
        if now < self.next_timeout_check {
            return;
        }
        let timeout = self.shared.request_timeout;
        self.next_timeout_check = now + (timeout / 16).clamp(TIMEOUT_CHECK_MIN, TIMEOUT_CHECK_MAX);
        for number in 0..self.clients.len() {
            let is_late = |client: &KeepaliveClient| {
                !client.is_thinking && now.saturating_duration_since(client.started) >= timeout
            };
            if self.clients[number].as_ref().is_some_and(is_late) {
                self.fail(number, &RequestError::late(timeout));
            }
        }
    }

    /// Takes a connection from the task that opened it.
    fn adopt(&mut self, Opened { number, stream }: Opened) -> io::Result<()> {
        let Some(stream) = stream else {
            self.openings.spawn_local(open(self.shared.clone(), number));
            return Ok(());
        };
        let transport = ClientTransport::take(stream)?;
        epoll::add(&self.epoll, &transport, data(number), READING)?;
        self.clients[number] = Some(KeepaliveClient::new(transport));
        self.idle.push(number);
        Ok(())
    }
}

fn data(number: usize) -> EventData {
    EventData::new_u64(number as u64)
}

/// Client with a connection.
struct KeepaliveClient {
    transport: ClientTransport,
    parser: ResponseParser,
    /// Received bytes that the parser did not consume.
    rest: Vec<u8>,
    /// Number of bytes of the request that the transport took.
    sent: usize,
    /// Position of the request in the plan.
    request: usize,
    /// True during the think time: no request is in flight.
    is_thinking: bool,
    started: Instant,
    /// True if the server ended the stream or reset the connection. Further events may not come.
    is_ended: bool,
    watches_writing: bool,
}

impl KeepaliveClient {
    fn new(transport: ClientTransport) -> Self {
        Self {
            transport,
            parser: ResponseParser::new(),
            rest: Vec::new(),
            sent: 0,
            request: 0,
            is_thinking: false,
            started: Instant::now(),
            is_ended: false,
            watches_writing: false,
        }
    }

    /// Begins a request; `send` sends it.
    fn begin(&mut self, request: usize, requests: &[Http1Request]) {
        (self.request, self.sent, self.started, self.is_thinking) = (request, 0, Instant::now(), false);
        self.parser.expect(requests[request].is_head);
    }

    /// Sends what is left of `request`; returns false if the socket has no room for all.
    fn send(&mut self, request: &[u8]) -> io::Result<bool> {
        while self.sent < request.len() {
            let sent = self.transport.send(&request[self.sent..])?;
            if sent == 0 {
                return Ok(false);
            }
            self.sent += sent;
        }
        self.transport.flush()
    }

    /// Reads until the end of the response, or until nothing more has arrived.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Response>, RequestError> {
        loop {
            let received = match self.transport.receive(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(RequestError::new(FailureKind::Closed, error)),
            };
            if received.length == 0 {
                return self.parser.close().map(Some).ok_or_else(RequestError::ended_early);
            }
            let response = self.parse(&buffer[..received.length])?;
            if response.is_some() || !(received.has_more || self.is_ended) {
                return Ok(response);
            }
        }
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Option<Response>, RequestError> {
        let malformed = |error: String| RequestError::new(FailureKind::Malformed, error);
        let progress = if self.rest.is_empty() {
            let progress = self.parser.advance(bytes).map_err(|error| malformed(error.to_string()))?;
            self.rest.extend_from_slice(&bytes[progress.consumed..]);
            progress
        } else {
            self.rest.extend_from_slice(bytes);
            let progress = self.parser.advance(&self.rest).map_err(|error| malformed(error.to_string()))?;
            self.rest.drain(..progress.consumed);
            progress
        };
        if progress.response.is_some() && !self.rest.is_empty() {
            return Err(malformed("the server sent more than it was asked for".to_owned()));
        }
        if self.rest.len() >= HEAD_BYTES_MAX {
            return Err(malformed("the header section is too long".to_owned()));
        }
        Ok(progress.response)
    }
}

/// Result of a task that opens the connection of a client.
struct Opened {
    number: usize,
    /// `None` if the server closed the connection after the first response.
    stream: Option<ClientStream>,
}

/// Opens the first connection of a client, until the server answers a request.
async fn open_first(shared: SharedRef, requests: Rc<[Http1Request]>, number: usize) -> Opened {
    loop {
        match ask_first(&shared, &requests).await {
            Ok(stream) => return Opened { number, stream },
            Err(error) => {
                shared.failed(&error);
                pause_after_failure().await;
            }
        }
    }
}

/// Limits concurrent openings: with thousands at once, the first responses would come only after the last handshake.
async fn ask_first(shared: &SharedRef, requests: &[Http1Request]) -> Result<Option<ClientStream>, RequestError> {
    let acquired = shared.openings.acquire().await;
    let _opening = acquired.map_err(|error| RequestError::new(FailureKind::Connect, error))?;
    let mut stream = shared.connect(&shared.destination).await?;
    let started = Instant::now();
    let request = &requests[shared.order.take()];
    let response = Exchanges::new(shared.request_timeout).ask(&mut stream, request).await?;
    shared.answered(started, &response);
    shared.ready(&mut false);
    Ok((!response.closes).then_some(stream))
}

/// Opens another connection of a client, until the server accepts it.
async fn open(shared: SharedRef, number: usize) -> Opened {
    loop {
        match shared.connect(&shared.destination).await {
            Ok(stream) => return Opened { number, stream: Some(stream) },
            Err(error) => {
                shared.failed(&error);
                pause_after_failure().await;
            }
        }
    }
}
