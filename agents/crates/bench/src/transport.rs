//! Non-blocking socket of a client in an epoll loop, with or without TLS. Reads no more often than needed: a read that does not
//! fill its buffer has emptied the socket.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;

use crate::stream::ClientStream;

/// Bytes that a read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Number of bytes; zero means the end of the stream.
    pub(crate) length: usize,
    /// True if another read may return more without a new event.
    pub(crate) has_more: bool,
}

#[derive(Debug)]
pub(crate) struct ClientTransport {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
}

impl ClientTransport {
    /// Takes a stream from its runtime.
    pub(crate) fn take(stream: ClientStream) -> io::Result<Self> {
        let (socket, tls) = match stream {
            ClientStream::Tcp(stream) => (stream.into_std()?.into(), None),
            ClientStream::Unix(stream) => (stream.into_std()?.into(), None),
            ClientStream::Tls(stream) => {
                let (stream, tls) = stream.into_inner();
                (stream.into_std()?.into(), Some(Box::new(tls)))
            }
        };
        Ok(Self { socket, tls })
    }

    /// Takes bytes to send and returns their number; zero if there is no room. With TLS, `flush` sends them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(tls) = &mut self.tls {
            return tls.writer().write(bytes);
        }
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN) => Ok(0),
            sent => Ok(sent?),
        }
    }

    /// Sends encrypted bytes as far as the socket has room; returns true if none is left.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        let mut socket = Socket { socket: &self.socket, is_empty: false };
        while tls.wants_write() {
            match tls.write_tls(&mut socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                written => written?,
            };
        }
        Ok(true)
    }

    /// Reads into `buffer`; `WouldBlock` if nothing has arrived.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(tls) = &mut self.tls else {
            let (length, _) = recv(&self.socket, &mut *buffer, RecvFlags::empty())?;
            return Ok(Received { length, has_more: length == buffer.len() });
        };
        let mut socket = Socket { socket: &self.socket, is_empty: false };
        loop {
            match tls.reader().read(buffer) {
                Ok(length) => return Ok(Received { length, has_more: length == buffer.len() || !socket.is_empty }),
                // The server closed without close_notify; without TLS it looks the same.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(Received { length: 0, has_more: false });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !socket.is_empty => {}
                Err(error) => return Err(error),
            }
            tls.read_tls(&mut socket)?;
            tls.process_new_packets().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }
}

impl AsFd for ClientTransport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Socket as rustls reads and writes it.
struct Socket<'a> {
    socket: &'a OwnedFd,
    /// True after a read that left nothing.
    is_empty: bool,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, _) = recv(self.socket, &mut *buffer, RecvFlags::empty())?;
        self.is_empty = length < buffer.len();
        Ok(length)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.socket, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
