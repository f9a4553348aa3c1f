//! Null proxy of the lab: forwards bytes without parsing them, with as few system calls as a proxy needs. Its figures are the
//! floor for proxies on this machine.

use std::io::{Error, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::event::epoll::{EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::{SocketFlags, accept_with};
use rustls::{ServerConfig, ServerConnection};

const HTTPS: u64 = u64::MAX;
const CLEARTEXT: u64 = u64::MAX - 1;
const EVENTS_MAX: usize = 256;
const READ_BYTES: usize = 64 * 1024;

/// Sockets and destination of one thread.
#[derive(Debug)]
pub(crate) struct FloorThread {
    /// Listener whose connections use TLS. It does not block.
    pub(crate) https: OwnedFd,
    /// Listener whose connections don't. It does not block.
    pub(crate) cleartext: OwnedFd,
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) app: SocketAddr,
}

/// Connection of a client and its own connection to the app.
struct Pair {
    client: OwnedFd,
    app: OwnedFd,
    tls: Option<Box<ServerConnection>>,
    /// Bytes that a socket has not taken yet.
    unsent_to_client: Vec<u8>,
    unsent_to_app: Vec<u8>,
}

/// Forwards until the process ends.
pub(crate) fn forward(thread: &FloorThread) -> Result<()> {
    let interest = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&interest, &thread.https, EventData::new_u64(HTTPS), EventFlags::IN)?;
    epoll::add(&interest, &thread.cleartext, EventData::new_u64(CLEARTEXT), EventFlags::IN)?;
    let (mut pairs, mut vacant): (Vec<Option<Pair>>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut events, mut scratch) = (Vec::with_capacity(EVENTS_MAX), vec![0; READ_BYTES]);
    loop {
        match epoll::wait(&interest, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let key = event.data.u64();
            if key == HTTPS || key == CLEARTEXT {
                accept(thread, key == HTTPS, &interest, &mut pairs, &mut vacant)?;
                continue;
            }
            let index = usize::try_from(key / 2).map_err(Error::other)?;
            let Some(Some(pair)) = pairs.get_mut(index) else { continue };
            let moved = if key.is_multiple_of(2) {
                pair.forward_to_app(&mut scratch)
            } else {
                pair.forward_to_client(&mut scratch)
            };
            // An end of either side is the end of both.
            if moved.is_err() {
                pairs[index] = None;
                vacant.push(index);
            }
        }
    }
}

fn accept(
    thread: &FloorThread,
    secure: bool,
    interest: &OwnedFd,
    pairs: &mut Vec<Option<Pair>>,
    vacant: &mut Vec<usize>,
) -> Result<()> {
    let listener = if secure { &thread.https } else { &thread.cleartext };
    loop {
        let client = match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(client) => client,
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::CONNABORTED | Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        rustix::net::sockopt::set_tcp_nodelay(&client, true)?;
        // The app is on this machine: a connection takes no time.
        let app = TcpStream::connect(thread.app)?;
        app.set_nodelay(true)?;
        app.set_nonblocking(true)?;
        let tls = match secure {
            true => Some(Box::new(ServerConnection::new(thread.tls.clone()).map_err(Error::other)?)),
            false => None,
        };
        let index = vacant.pop().unwrap_or_else(|| {
            pairs.push(None);
            pairs.len() - 1
        });
        let app = OwnedFd::from(app);
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(interest, client.as_fd(), EventData::new_u64(index as u64 * 2), flags)?;
        epoll::add(interest, app.as_fd(), EventData::new_u64(index as u64 * 2 + 1), flags)?;
        pairs[index] = Some(Pair { client, app, tls, unsent_to_client: Vec::new(), unsent_to_app: Vec::new() });
    }
}

impl Pair {
    fn forward_to_app(&mut self, scratch: &mut [u8]) -> Result<()> {
        flush(&self.client, &mut self.unsent_to_client)?;
        while let Some(length) = take(&self.client, scratch)? {
            let Some(tls) = &mut self.tls else {
                send(&self.app, &mut self.unsent_to_app, &scratch[..length])?;
                if length < scratch.len() {
                    return Ok(());
                }
                continue;
            };
            let mut records = &scratch[..length];
            let mut plain = Vec::new();
            while !records.is_empty() {
                tls.read_tls(&mut records)?;
                let state = tls.process_new_packets().map_err(Error::other)?;
                plain.resize(state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut plain)?;
                if !plain.is_empty() {
                    send(&self.app, &mut self.unsent_to_app, &plain)?;
                }
            }
            self.flush_tls()?;
            if length < scratch.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn forward_to_client(&mut self, scratch: &mut [u8]) -> Result<()> {
        flush(&self.app, &mut self.unsent_to_app)?;
        while let Some(length) = take(&self.app, scratch)? {
            match &mut self.tls {
                None => send(&self.client, &mut self.unsent_to_client, &scratch[..length])?,
                Some(tls) => {
                    tls.writer().write_all(&scratch[..length])?;
                    self.flush_tls()?;
                }
            }
            if length < scratch.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends the records that TLS has ready, in one call.
    fn flush_tls(&mut self) -> Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let mut records = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut records)?;
        }
        if records.is_empty() { Ok(()) } else { send(&self.client, &mut self.unsent_to_client, &records) }
    }
}

/// Reads once. `None`: there is nothing to read now; an error: the connection is over.
fn take(socket: &OwnedFd, scratch: &mut [u8]) -> Result<Option<usize>> {
    match read(socket, scratch) {
        Ok(0) => Err(Errno::PIPE.into()),
        Ok(length) => Ok(Some(length)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn send(socket: &OwnedFd, unsent: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let taken = if unsent.is_empty() { taken(write(socket, bytes))? } else { 0 };
    unsent.extend_from_slice(&bytes[taken..]);
    Ok(())
}

fn flush(socket: &OwnedFd, unsent: &mut Vec<u8>) -> Result<()> {
    while !unsent.is_empty() {
        match taken(write(socket, unsent))? {
            0 => return Ok(()),
            length => unsent.drain(..length),
        };
    }
    Ok(())
}

pub(crate) fn taken(written: rustix::io::Result<usize>) -> Result<usize> {
    match written {
        Err(Errno::AGAIN) => Ok(0),
        other => other.map_err(Error::from),
    }
}
