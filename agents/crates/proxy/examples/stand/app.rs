//! Backend app for proxy benchmarks: one epoll thread sends the same response to every request, at minimal cost.
//! Supports only requests without a body.

use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

use memchr::memmem;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::event::epoll::{EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::{SocketFlags, accept_with};

const LISTENER: u64 = u64::MAX;
const EVENTS_MAX: usize = 256;
const READ_BYTES: usize = 64 * 1024;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Connection from a proxy.
struct Peer {
    socket: OwnedFd,
    /// Start of an incomplete request.
    partial: Vec<u8>,
    /// Bytes that the socket has not taken yet.
    owed: Vec<u8>,
}

/// Serves until the process ends. `listener` does not block.
pub(crate) fn serve(listener: &OwnedFd, body_bytes: usize) -> Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n");
    let response = [head.into_bytes(), vec![b'x'; body_bytes]].concat();
    let interest = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&interest, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let (mut peers, mut vacant): (Vec<Option<Peer>>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut events, mut scratch) = (Vec::with_capacity(EVENTS_MAX), vec![0; READ_BYTES]);
    loop {
        match epoll::wait(&interest, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let key = event.data.u64();
            if key == LISTENER {
                welcome(listener, &interest, &mut peers, &mut vacant)?;
                continue;
            }
            let index = usize::try_from(key).map_err(Error::other)?;
            let Some(Some(peer)) = peers.get_mut(index) else { continue };
            // A proxy that leaves is how every measurement ends.
            if peer.answer(&response, &mut scratch).is_err() {
                peers[index] = None;
                vacant.push(index);
            }
        }
    }
}

/// Takes every connection that waits.
fn welcome(
    listener: &OwnedFd,
    interest: &OwnedFd,
    peers: &mut Vec<Option<Peer>>,
    vacant: &mut Vec<usize>,
) -> Result<()> {
    loop {
        let socket = match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => socket,
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::CONNABORTED | Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        // Not for every kind of socket: one without it sends at once anyway.
        if let Err(error) = rustix::net::sockopt::set_tcp_nodelay(&socket, true)
            && error != Errno::OPNOTSUPP
        {
            return Err(error.into());
        }
        let index = vacant.pop().unwrap_or_else(|| {
            peers.push(None);
            peers.len() - 1
        });
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(interest, socket.as_fd(), EventData::new_u64(index as u64), flags)?;
        peers[index] = Some(Peer { socket, partial: Vec::new(), owed: Vec::new() });
    }
}

impl Peer {
    /// Sends what is owed, reads what is there and answers each request in it. An error is the connection's end.
    fn answer(&mut self, response: &[u8], scratch: &mut [u8]) -> Result<()> {
        self.pay()?;
        loop {
            let length = match read(&self.socket, &mut *scratch) {
                Ok(0) => return Err(Errno::PIPE.into()),
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let requests = self.requests(&scratch[..length]);
            for _ in 0..requests {
                self.send(response)?;
            }
            // A read that the socket could not fill has emptied it.
            if length < scratch.len() {
                return Ok(());
            }
        }
    }

    /// Requests that end within `input`.
    fn requests(&mut self, input: &[u8]) -> usize {
        if self.partial.is_empty() {
            let (count, end) = heads(input);
            self.partial.extend_from_slice(&input[end..]);
            return count;
        }
        self.partial.extend_from_slice(input);
        let (count, end) = heads(&self.partial);
        self.partial.drain(..end);
        count
    }

    fn send(&mut self, response: &[u8]) -> Result<()> {
        let taken = if self.owed.is_empty() { taken(write(&self.socket, response))? } else { 0 };
        self.owed.extend_from_slice(&response[taken..]);
        Ok(())
    }

    fn pay(&mut self) -> Result<()> {
        while !self.owed.is_empty() {
            match taken(write(&self.socket, &self.owed))? {
                0 => return Ok(()),
                length => self.owed.drain(..length),
            };
        }
        Ok(())
    }
}

/// Returns the number of complete heads in `input`, and the end of the last one.
fn heads(input: &[u8]) -> (usize, usize) {
    memmem::find_iter(input, END_OF_HEAD).fold((0, 0), |(count, _), at| (count + 1, at + END_OF_HEAD.len()))
}

fn taken(written: rustix::io::Result<usize>) -> Result<usize> {
    match written {
        Err(Errno::AGAIN) => Ok(0),
        other => other.map_err(Error::from),
    }
}
