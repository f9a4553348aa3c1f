//! HTTP/1.1 server that injects delays and faults, for e2e/perf/check-generator.ts: `inject DELAY_US FAULT EVERY SKIP`. FAULT is
//! `none`, `status` (503) or `reset`. Counts what it injects and tells it at `/counts`. One thread polls without sleeping, so
//! that a delay begins when its request arrives: a wake-up would lengthen it by a time that the server can't measure.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::net::sockopt::set_socket_linger;
use rustix::process::setpriority_process;

const EVENTS_MAX: usize = 64;
const LISTENER: u64 = u64::MAX;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [delay_us, fault, every, skip] = arguments.as_slice() else {
        return Err(io::Error::other("usage: inject DELAY_US FAULT EVERY SKIP"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
    // Other processes must not lengthen the delays.
    if let Err(error) = setpriority_process(None, -20) {
        eprintln!("inject: its priority stays: {error}");
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
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
        epoll::wait(epoll, spare_capacity(events), Some(&Timespec::default()))?;
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
            self.delay_sum += arrived.elapsed();
            self.respond(connection, fails)?;
        }
        Ok(())
    }

    fn read(&mut self, number: usize) -> io::Result<()> {
        let arrived = Instant::now();
        let Some(mut stream) = self.connections[number].as_ref() else { return Ok(()) };
        let mut request = [0; 4096];
        match stream.read(&mut request) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The client is gone.
            Ok(0) | Err(_) => {
                self.connections[number] = None;
                return Ok(());
            }
            Ok(_) => {}
        }
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
