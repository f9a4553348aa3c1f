//! Server of the local protocol in a shim, without an async runtime: a listening socket and a few agents as clients.
//! Handles framing and versions. A peer that breaks the protocol is disconnected and never stops the loop.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_wire::local::{ShimCommand, ShimEvent, ShimHello, ShimStatus, shim_command, shim_event};
use fairlead_wire::{LOCAL_PROTOCOL, local_protocol_accepted};
use prost::Message;

/// Maximum size of a request: valid ones are tiny.
const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of connected agents: the old one and its successor.
const CLIENTS_MAX: usize = 8;

/// Request of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShimRequest {
    /// Asks for the app's status; the number is the client.
    Status(u64),
    Stop {
        /// Time between SIGTERM and SIGKILL.
        stop_timeout: Duration,
    },
}

pub(super) struct ShimServer {
    path: PathBuf,
    inode: u64,
    listener: UnixListener,
    clients: Vec<ShimClient>,
    next: u64,
}

struct ShimClient {
    id: u64,
    stream: UnixStream,
    unread: Vec<u8>,
    greeted: bool,
}

impl ShimServer {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        let inode = std::fs::metadata(path)?.ino();
        listener.set_nonblocking(true)?;
        Ok(Self { path: path.to_owned(), inode, listener, clients: Vec::new(), next: 0 })
    }

    /// Lists what to poll: the listener, then the clients in the order that `serve` expects.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.listener.as_fd()).chain(self.clients.iter().map(|client| client.stream.as_fd()))
    }

    /// Serves clients that are ready and returns their requests.
    pub(super) fn serve(&mut self, ready: &[bool]) -> Vec<ShimRequest> {
        let mut requests = Vec::new();
        let mut index = 0;
        self.clients.retain_mut(|client| {
            index += 1;
            if ready.get(index).copied().unwrap_or(false) { client.read(&mut requests).is_ok() } else { true }
        });
        if ready.first().copied().unwrap_or(false) {
            self.accept();
        }
        requests
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() >= CLIENTS_MAX {
                self.clients.remove(0);
            }
            self.next += 1;
            self.clients.push(ShimClient { id: self.next, stream, unread: Vec::new(), greeted: false });
        }
    }

    pub(super) fn answer(&mut self, client: u64, status: &ShimStatus) {
        let event = ShimEvent { body: Some(shim_event::Body::Status(status.clone())) };
        self.clients.retain_mut(|one| one.id != client || one.send(&event).is_ok());
    }

    pub(super) fn broadcast(&mut self, status: &ShimStatus) {
        let event = ShimEvent { body: Some(shim_event::Body::Status(status.clone())) };
        self.clients.retain_mut(|one| !one.greeted || one.send(&event).is_ok());
    }
}

/// Removes the socket when the shim ends, also after a failed start. Keeps the socket of a later shim of the same instance.
impl Drop for ShimServer {
    fn drop(&mut self) {
        if std::fs::metadata(&self.path).is_ok_and(|socket| socket.ino() == self.inode) {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

impl ShimClient {
    fn read(&mut self, requests: &mut Vec<ShimRequest>) -> io::Result<()> {
        let mut bytes = [0u8; 1024];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            while let Some(command) = self.message()? {
                self.execute(command, requests)?;
            }
        }
        Ok(())
    }

    fn message(&mut self) -> io::Result<Option<ShimCommand>> {
        let Some(head) = self.unread.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if length > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if self.unread.len() < length + 4 {
            return Ok(None);
        }
        let command = ShimCommand::decode(&self.unread[4..length + 4])?;
        self.unread.drain(..length + 4);
        Ok(Some(command))
    }

    fn execute(&mut self, command: ShimCommand, requests: &mut Vec<ShimRequest>) -> io::Result<()> {
        match command.body {
            Some(shim_command::Body::Hello(hello)) => {
                if !local_protocol_accepted(hello.protocol_version) {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                self.greeted = true;
                let hello = ShimHello {
                    protocol_version: LOCAL_PROTOCOL,
                    agent_version: env!("CARGO_PKG_VERSION").to_owned(),
                    pid: std::process::id(),
                };
                self.send(&ShimEvent { body: Some(shim_event::Body::Hello(hello)) })?;
            }
            _ if !self.greeted => return Err(io::ErrorKind::InvalidData.into()),
            Some(shim_command::Body::Stop(stop)) => {
                requests.push(ShimRequest::Stop { stop_timeout: Duration::from_millis(stop.stop_timeout_ms.into()) });
            }
            Some(shim_command::Body::Status(_)) => requests.push(ShimRequest::Status(self.id)),
            // A newer agent may know more commands than this shim.
            None => {}
        }
        Ok(())
    }

    /// Sends an event. Events are far smaller than a socket's buffer: a peer that doesn't read them is disconnected.
    fn send(&mut self, event: &ShimEvent) -> io::Result<()> {
        let length = u32::try_from(event.encoded_len()).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut bytes = length.to_be_bytes().to_vec();
        event.encode(&mut bytes).map_err(io::Error::other)?;
        self.stream.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_takes_its_socket_with_it_and_leaves_that_of_a_later_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ins_a.sock");
        let first = ShimServer::open(&path).unwrap();
        let second = ShimServer::open(&path).unwrap();
        drop(first);
        assert!(path.exists(), "the later shim can be reached");
        drop(second);
        assert!(!path.exists(), "nothing stays");
    }
}
