//! App of the lab: one epoll thread answers every request at minimal cost. Paths below `/delay/` and `/bytes/` ask for another
//! response than the default one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use fairlead_model::LabApp;
use memchr::memmem;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{EventData, EventFlags};
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, read, write};
use rustix::net::{SocketFlags, accept_with};

use crate::floor::taken;

const LISTENER: u64 = u64::MAX;
const EVENTS_MAX: usize = 256;
const READ_BYTES: usize = 64 * 1024;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// Largest head of a request. A longer one ends its connection.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of a response below `/bytes/`.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// Most bytes that a connection may leave unread. A proxy or client that sends requests without reading responses is closed.
const UNSENT_BYTES_MAX: usize = 4 << 20;
/// Longest delay of a response below `/delay/`.
pub(crate) const DELAY_MAX: Duration = Duration::from_secs(60);

/// Connection from a proxy.
struct AppConnection {
    socket: OwnedFd,
    /// Distinguishes it from an earlier connection in the same place.
    generation: u64,
    /// Start of an incomplete request head.
    partial: Vec<u8>,
    /// Bytes of a request body that are still to come.
    body_left: usize,
    /// Responses in the order of their requests. The first one waits for its time.
    waiting: VecDeque<Waiting>,
    /// Bytes that the socket has not taken yet.
    unsent: Vec<u8>,
}

/// Response that is due later.
struct Waiting {
    due: Instant,
    response: AppResponse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppResponse {
    Default,
    Bytes(usize),
    /// Head of a response with this length, to HEAD.
    Head(usize),
    Error,
    NotFound,
}

/// Place of a connection, and when its first response is due.
type ResponseTimer = Reverse<(Instant, usize, u64)>;

struct AppServer {
    settings: LabApp,
    default: Vec<u8>,
    requests: u64,
    connections: Vec<Option<AppConnection>>,
    vacant: Vec<usize>,
    generation: u64,
    timers: BinaryHeap<ResponseTimer>,
}

/// Serves until the process ends. `listener` does not block.
pub(crate) fn serve(listener: &OwnedFd, settings: LabApp) -> Result<()> {
    let interest = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&interest, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut server = AppServer {
        settings,
        default: ok(settings.response_bytes as usize),
        requests: 0,
        connections: Vec::new(),
        vacant: Vec::new(),
        generation: 0,
        timers: BinaryHeap::new(),
    };
    let (mut events, mut scratch) = (Vec::with_capacity(EVENTS_MAX), vec![0; READ_BYTES]);
    loop {
        match epoll::wait(&interest, spare_capacity(&mut events), server.time_to_next_timer().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let key = event.data.u64();
            if key == LISTENER {
                server.accept(listener, &interest)?;
                continue;
            }
            server.serve_connection(usize::try_from(key).map_err(Error::other)?, &mut scratch);
        }
        server.send_all_due(&mut scratch);
    }
}

impl AppServer {
    /// Returns the time until the next due response.
    fn time_to_next_timer(&self) -> Option<Timespec> {
        let Reverse((due, ..)) = self.timers.peek()?;
        Timespec::try_from(due.saturating_duration_since(Instant::now())).ok()
    }

    /// Sends the responses that are due.
    fn send_all_due(&mut self, scratch: &mut [u8]) {
        while let Some(Reverse((due, index, generation))) = self.timers.peek().copied() {
            if due > Instant::now() {
                return;
            }
            self.timers.pop();
            if self.connections[index].as_ref().is_some_and(|connection| connection.generation == generation) {
                self.serve_connection(index, scratch);
            }
        }
    }

    /// Takes every connection that waits.
    fn accept(&mut self, listener: &OwnedFd, interest: &OwnedFd) -> Result<()> {
        loop {
            let socket = match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            // A Unix socket has no such option and sends at once anyway.
            if let Err(error) = rustix::net::sockopt::set_tcp_nodelay(&socket, true)
                && error != Errno::OPNOTSUPP
            {
                return Err(error.into());
            }
            let index = self.vacant.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(interest, socket.as_fd(), EventData::new_u64(index as u64), flags)?;
            self.generation += 1;
            self.connections[index] = Some(AppConnection {
                socket,
                generation: self.generation,
                partial: Vec::new(),
                body_left: 0,
                waiting: VecDeque::new(),
                unsent: Vec::new(),
            });
        }
    }

    /// Reads the requests of a connection and answers them. A closed connection is no error: every measurement ends with one.
    fn serve_connection(&mut self, index: usize, scratch: &mut [u8]) {
        let Some(mut connection) = self.connections[index].take() else { return };
        if self.answer(&mut connection, scratch).is_err() {
            self.vacant.push(index);
            return;
        }
        if let Some(first) = connection.waiting.front() {
            self.timers.push(Reverse((first.due, index, connection.generation)));
        }
        self.connections[index] = Some(connection);
    }

    fn answer(&mut self, connection: &mut AppConnection, scratch: &mut [u8]) -> Result<()> {
        connection.flush()?;
        self.send_due(connection)?;
        loop {
            let length = match read(&connection.socket, &mut *scratch) {
                Ok(0) => return Err(Errno::PIPE.into()),
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            self.take(connection, &scratch[..length])?;
            self.send_due(connection)?;
            // A read that the socket could not fill has emptied it.
            if length < scratch.len() {
                return Ok(());
            }
        }
    }

    /// Queues the responses to the requests whose heads end within `input`.
    fn take(&mut self, connection: &mut AppConnection, input: &[u8]) -> Result<()> {
        let joined;
        let mut left = input;
        if !connection.partial.is_empty() {
            joined = [std::mem::take(&mut connection.partial), input.to_vec()].concat();
            left = &joined;
        }
        loop {
            let body = connection.body_left.min(left.len());
            connection.body_left -= body;
            left = &left[body..];
            let Some(end) = memmem::find(left, END_OF_HEAD) else { break };
            let (head, rest) = left.split_at(end + END_OF_HEAD.len());
            left = rest;
            let (response, delay) = self.respond(connection, head)?;
            let due = if delay.is_zero() { None } else { Instant::now().checked_add(delay) };
            // A response without a delay keeps its place in the order of requests.
            match (due, connection.waiting.is_empty()) {
                (None, true) => self.send(connection, response)?,
                (due, _) => connection.waiting.push_back(Waiting { due: due.unwrap_or_else(Instant::now), response }),
            }
        }
        if left.len() > HEAD_BYTES_MAX {
            return Err(Errno::MSGSIZE.into());
        }
        connection.partial = left.to_vec();
        Ok(())
    }

    /// Decides the response to a head, and its delay.
    fn respond(&mut self, connection: &mut AppConnection, head: &[u8]) -> Result<(AppResponse, Duration)> {
        self.requests += 1;
        let every = u64::from(self.settings.error_every);
        let response =
            if every > 0 && self.requests.is_multiple_of(every) { AppResponse::Error } else { AppResponse::Default };
        if head.starts_with(b"GET / ") {
            return Ok((response, self.settings.response_delay));
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(head).map_err(Error::other)?;
        for header in &*request.headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                let length = std::str::from_utf8(header.value).ok().and_then(|text| text.parse().ok());
                connection.body_left = length.ok_or_else(|| Error::other("invalid content length"))?;
            }
        }
        let is_head = request.method == Some("HEAD");
        let path = request.path.unwrap_or("/");
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let number = |prefix: &str| path.strip_prefix(prefix).and_then(|number| number.parse::<u64>().ok());
        if let Some(milliseconds) = number("/delay/") {
            return Ok((self.to_method(response, is_head), Duration::from_millis(milliseconds).min(DELAY_MAX)));
        }
        if let Some(bytes) = number("/bytes/") {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(BODY_BYTES_MAX);
            return Ok((self.to_method(AppResponse::Bytes(bytes), is_head), Duration::ZERO));
        }
        let response = if path == "/" { response } else { AppResponse::NotFound };
        Ok((self.to_method(response, is_head), self.settings.response_delay))
    }

    /// Leaves the body out of a response to HEAD.
    fn to_method(&self, response: AppResponse, is_head: bool) -> AppResponse {
        match response {
            AppResponse::Default if is_head => AppResponse::Head(self.settings.response_bytes as usize),
            AppResponse::Bytes(bytes) if is_head => AppResponse::Head(bytes),
            _ => response,
        }
    }

    fn send_due(&self, connection: &mut AppConnection) -> Result<()> {
        let now = Instant::now();
        while connection.waiting.front().is_some_and(|first| first.due <= now) {
            let Some(first) = connection.waiting.pop_front() else { break };
            self.send(connection, first.response)?;
        }
        Ok(())
    }

    fn send(&self, connection: &mut AppConnection, response: AppResponse) -> Result<()> {
        match response {
            AppResponse::Default => connection.send(&self.default),
            AppResponse::Bytes(bytes) => connection.send(&ok(bytes)),
            AppResponse::Head(bytes) => connection.send(&head(bytes)),
            AppResponse::Error => connection.send(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
            AppResponse::NotFound => connection.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        }
    }
}

impl AppConnection {
    fn send(&mut self, response: &[u8]) -> Result<()> {
        let taken = if self.unsent.is_empty() { taken(write(&self.socket, response))? } else { 0 };
        if self.unsent.len() + response.len() - taken > UNSENT_BYTES_MAX {
            return Err(Errno::NOBUFS.into());
        }
        self.unsent.extend_from_slice(&response[taken..]);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        while !self.unsent.is_empty() {
            match taken(write(&self.socket, &self.unsent))? {
                0 => return Ok(()),
                length => self.unsent.drain(..length),
            };
        }
        Ok(())
    }
}

fn ok(body_bytes: usize) -> Vec<u8> {
    [head(body_bytes), vec![b'x'; body_bytes]].concat()
}

fn head(body_bytes: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn start(settings: LabApp) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(&listener.into(), settings));
        TcpStream::connect(address).unwrap()
    }

    fn ask(stream: &mut TcpStream, request: &str, response_bytes: usize) -> String {
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = vec![0; response_bytes];
        stream.read_exact(&mut response).unwrap();
        String::from_utf8(response).unwrap()
    }

    #[test]
    fn responses_have_the_order_of_pipelined_requests_and_the_delay_of_theirs() {
        let mut stream = start(LabApp {
            response_bytes: 2,
            response_delay: Duration::ZERO,
            error_every: 3,
            serves_probes: false,
            speaks_grpc: false,
        });
        let began = Instant::now();
        let requests =
            "GET /delay/40 HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n";
        let (good, bad) = (ok(2).len(), "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".len());
        let responses = ask(&mut stream, requests, 2 * good + bad);
        assert!(began.elapsed() >= Duration::from_millis(40));
        assert_eq!(responses.matches("HTTP/1.1 200 OK").count(), 2, "{responses}");
        assert!(responses.ends_with("503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), "{responses}");
    }

    #[test]
    fn large_bodies_are_whole_and_unknown_paths_are_not_found() {
        let mut stream = start(LabApp {
            response_bytes: 2,
            response_delay: Duration::ZERO,
            error_every: 0,
            serves_probes: false,
            speaks_grpc: false,
        });
        let whole = ask(&mut stream, "GET /bytes/1000000 HTTP/1.1\r\n\r\n", ok(1_000_000).len());
        assert!(whole.ends_with("xxx"));
        let to_head = ask(&mut stream, "HEAD /bytes/5 HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\n", 2 * head(5).len());
        assert_eq!(to_head.into_bytes(), [head(5), head(2)].concat());
        assert!(ask(&mut stream, "GET /nothing HTTP/1.1\r\n\r\n", 12).ends_with("404"));
    }
}
