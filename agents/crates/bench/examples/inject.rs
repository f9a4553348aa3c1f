//! HTTP/1.1 server that injects delays and faults, for e2e/perf/check-generator.ts: `inject DELAY_US FAULT EVERY SKIP`. FAULT is
//! `none`, `status` (503) or `reset`. Counts the injected faults and serves the counts at `/counts`. A delay begins when the
//! kernel receives the request and ends when it has taken the response: a client also waits for the wake-up and the system
//! calls of the server.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::net::sockopt::set_socket_linger;

const EVENTS_MAX: usize = 64;
const LISTENER: u64 = u64::MAX;
const LEAD: Duration = Duration::from_micros(200);

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [delay_us, fault, every, skip] = arguments.as_slice() else {
        return Err(io::Error::other("usage: inject DELAY_US FAULT EVERY SKIP"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
    raise_priority();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    request_timestamps(&listener)?;
    println!(r#"{{"address":"{}"}}"#, listener.local_addr()?);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let mut server = Server {
        delay: Duration::from_micros(number(delay_us)?),
        fault: fault.clone(),
        every: number(every)?.max(1),
        skip: number(skip)?,
        connections: Vec::new(),
        delayed: VecDeque::new(),
        requests: 0,
        injected: 0,
        delay_sum: Duration::ZERO,
    };
    std::thread::spawn(move || {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            if let Err(error) = server.turn(&listener, &epoll, &mut events) {
                eprintln!("inject: {error}");
                std::process::exit(1);
            }
        }
    });
    // The end of standard input ends the server.
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Asks for real-time priority, so that other processes do not lengthen the delays. The serving thread inherits it.
#[allow(unsafe_code)]
fn raise_priority() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one structure that outlives it; zero means this thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } != 0 {
        eprintln!("inject: it keeps its normal priority");
    }
}

/// Asks for the time at which the kernel received data, for all connections of a listener.
#[allow(unsafe_code)]
fn request_timestamps(listener: &TcpListener) -> io::Result<()> {
    let on: libc::c_int = 1;
    let (socket, size) = (listener.as_raw_fd(), size_of_val(&on) as libc::socklen_t);
    // SAFETY: the call takes an open descriptor and reads one integer that outlives it.
    let done =
        unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, (&raw const on).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads what has arrived; returns its length and the time of its arrival.
#[allow(unsafe_code)]
fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Instant)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = [0_u64; 8];
    // SAFETY: zero is a valid value of each field.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control));
    // SAFETY: the header names two buffers with their sizes, which outlive the call.
    let length = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) };
    let now = Instant::now();
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel filled the control buffer, which is alive and aligned.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let is_time = |header: &&libc::cmsghdr| header.cmsg_type == libc::SCM_TIMESTAMPNS;
    let Some(header) = header.filter(is_time) else { return Ok((length, now)) };
    // SAFETY: a message of this type carries one `timespec`.
    let received = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
    let received = Duration::new(received.tv_sec.unsigned_abs(), received.tv_nsec as u32);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    Ok((length, now.checked_sub(since_1970.saturating_sub(received)).unwrap_or(now)))
}

struct Server {
    delay: Duration,
    fault: String,
    /// Every `every`th request fails.
    every: u64,
    /// Number of first requests without a delay or a fault, for the warm-up of clients.
    skip: u64,
    /// Connections by number, which is also their event data.
    connections: Vec<Option<TcpStream>>,
    /// Requests with a delayed response, in the order of their arrival, which is also that of their responses.
    delayed: VecDeque<DelayedRequest>,
    requests: u64,
    injected: u64,
    delay_sum: Duration,
}

struct DelayedRequest {
    connection: usize,
    arrived: Instant,
    fails: bool,
}

impl Server {
    /// Serves what has arrived and what is due.
    fn turn(&mut self, listener: &TcpListener, epoll: &OwnedFd, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        // Sleeps until shortly before the next response, and polls until its time. Epoll rounds up to milliseconds.
        let left = self.delayed.front().map(|request| self.delay.saturating_sub(request.arrived.elapsed() + LEAD));
        let whole_ms = |left: Duration| Duration::from_millis(left.as_millis() as u64);
        let limit = left.map(|left| Timespec::try_from(whole_ms(left)).unwrap_or_default());
        epoll::wait(epoll, spare_capacity(events), limit.as_ref())?;
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let data = epoll::EventData::new_u64(self.connections.len() as u64);
                    epoll::add(epoll, &stream, data, epoll::EventFlags::IN)?;
                    self.connections.push(Some(stream));
                }
                number => self.read(number as usize)?,
            }
        }
        while self.delayed.front().is_some_and(|request| request.arrived.elapsed() >= self.delay) {
            let Some(DelayedRequest { connection, arrived, fails }) = self.delayed.pop_front() else { break };
            self.respond(connection, fails)?;
            self.delay_sum += arrived.elapsed();
        }
        Ok(())
    }

    fn read(&mut self, number: usize) -> io::Result<()> {
        let Some(mut stream) = self.connections[number].as_ref() else { return Ok(()) };
        let mut request = [0; 4096];
        let arrived = match receive(stream, &mut request) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The client is gone.
            Ok((0, _)) | Err(_) => {
                self.connections[number] = None;
                return Ok(());
            }
            Ok((_, arrived)) => arrived,
        };
        if request.starts_with(b"GET /counts ") {
            return stream.write_all(&response("200 OK", &self.counts()));
        }
        self.requests += 1;
        let counted = self.requests.saturating_sub(self.skip);
        let fails = self.fault != "none" && counted > 0 && counted.is_multiple_of(self.every);
        if counted > 0 && !self.delay.is_zero() {
            self.delayed.push_back(DelayedRequest { connection: number, arrived, fails });
            return Ok(());
        }
        self.respond(number, fails)
    }

    fn respond(&mut self, number: usize, fails: bool) -> io::Result<()> {
        let Some(mut stream) = self.connections[number].take() else { return Ok(()) };
        self.injected += u64::from(fails);
        if fails && self.fault == "reset" {
            // Without lingering, a close resets the connection.
            return Ok(set_socket_linger(&stream, Some(Duration::ZERO))?);
        }
        let answer = if fails { response("503 Service Unavailable", "") } else { response("200 OK", "ok") };
        // A client that is gone gets no answer.
        if stream.write_all(&answer).is_ok() {
            self.connections[number] = Some(stream);
        }
        Ok(())
    }

    fn counts(&self) -> String {
        let requests = self.requests.saturating_sub(self.skip);
        let mean_us = self.delay_sum.as_secs_f64() * 1e6 / requests.max(1) as f64;
        format!(r#"{{"requests":{requests},"injected":{},"delay_mean_us":{mean_us:.1}}}"#, self.injected)
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
