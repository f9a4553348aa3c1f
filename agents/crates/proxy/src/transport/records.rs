//! TLS records: ciphertext in, plaintext out, and the other way round. rustls' unbuffered interface shakes hands; what follows
//! is `RecordLayer`'s, for TLS 1.3, and rustls' again for TLS 1.2. Never touches a socket.

use std::io;
use std::sync::Arc;

use fairlead_tls::{Opened, RECORD_DATA_BYTES_MAX, RecordLayer};
use rustls::ServerConfig;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

use crate::core::Buffers;

/// Plaintext that one `seal` takes: four full records.
pub(crate) const SEAL_BYTES_MAX: usize = 4 * RECORD_DATA_BYTES_MAX;

/// One connection's TLS state and the part of a record that has arrived.
pub(crate) struct Records {
    session: Session,
    /// Bytes at the front of the stream that make no whole record yet.
    partial: Vec<u8>,
    is_http2: bool,
    /// We said that nothing more comes.
    closed: bool,
    /// The peer said so: what else arrives is not its.
    peer_closed: bool,
}

enum Session {
    /// Until the handshake is done, and TLS 1.2 after it.
    Rustls(Box<UnbufferedServerConnection>),
    /// TLS 1.3 after the handshake.
    Own(Box<RecordLayer>),
    /// It failed on its way from one to the other.
    Broken,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("partial_bytes", &self.partial.len()).finish_non_exhaustive()
    }
}

impl Records {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> io::Result<Self> {
        let session = UnbufferedServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let session = Session::Rustls(Box::new(session));
        Ok(Self { session, partial: Vec::new(), is_http2: false, closed: false, peer_closed: false })
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(&self.session, Session::Rustls(session) if session.is_handshaking())
    }

    /// Whether the client chose HTTP/2; known once the handshake is done.
    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// Whether the peer has said that it sends nothing more.
    pub(crate) fn is_peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Puts the partial record in front of what is about to be read; tells its length.
    pub(crate) fn unload(&self, buffer: &mut [u8]) -> usize {
        let length = self.partial.len();
        buffer[..length].copy_from_slice(&self.partial);
        length
    }

    /// Opens all whole records of `incoming`. Answers of the protocol itself go to `outgoing`.
    pub(crate) fn open(
        &mut self,
        incoming: &mut [u8],
        plaintext: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
        buffers: &Buffers,
    ) -> io::Result<()> {
        let (mut consumed, mut closed) = (0, false);
        if let Session::Rustls(session) = &mut self.session {
            (consumed, closed) = open_with_rustls(session, incoming, plaintext, outgoing, buffers)?;
            if !session.is_handshaking() {
                self.is_http2 = session.alpn_protocol() == Some(b"h2");
            }
            if !closed {
                self.take_over()?;
            }
        }
        if let Session::Own(layer) = &mut self.session {
            while !closed {
                match layer.open(&mut incoming[consumed..], outgoing).map_err(invalid)? {
                    Opened::Partial => break,
                    Opened::Data(count, data) => {
                        if !data.is_empty() {
                            buffers.lend(plaintext);
                            plaintext.extend_from_slice(data);
                        }
                        consumed += count;
                    }
                    Opened::Closed(_) => closed = true,
                }
            }
        }
        let rest = &incoming[consumed..];
        if closed || rest.is_empty() {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        }
        self.peer_closed = closed;
        Ok(())
    }

    /// Goes on without rustls, once all that it has to say was handed over.
    fn take_over(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.session, Session::Broken) {
            Session::Rustls(session) if RecordLayer::takes(&session) => {
                self.session = Session::Own(Box::new(RecordLayer::take_over(*session).map_err(io::Error::other)?));
            }
            other => self.session = other,
        }
        Ok(())
    }

    /// Seals plaintext of at most `SEAL_BYTES_MAX` into `sealed`; tells the length. A due key update goes to `outgoing` first.
    pub(crate) fn seal(&mut self, plaintext: &[u8], sealed: &mut [u8], outgoing: &mut Vec<u8>) -> io::Result<usize> {
        if self.closed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        match &mut self.session {
            Session::Own(layer) => layer.seal(plaintext, sealed, outgoing).map_err(io::Error::other),
            Session::Rustls(session) => seal_with_rustls(session, &mut self.partial, plaintext, sealed, outgoing),
            Session::Broken => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Appends close_notify, once.
    pub(crate) fn close(&mut self, outgoing: &mut Vec<u8>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        match &mut self.session {
            Session::Own(layer) => {
                if let Err(error) = layer.close(outgoing) {
                    tracing::debug!(%error, "a connection ends without saying so");
                }
            }
            Session::Rustls(session) => {
                let UnbufferedStatus { state, .. } = session.process_tls_records(&mut self.partial);
                if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
                    append(outgoing, |space| match traffic.queue_close_notify(space) {
                        Ok(count) => Ok(count),
                        Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
                            Err(required_size)
                        }
                        Err(EncryptError::EncryptExhausted) => Ok(0),
                    });
                }
            }
            Session::Broken => {}
        }
    }

    /// Lets go of what an idle connection needs no memory for.
    pub(crate) fn rest(&mut self) {
        if let Session::Own(layer) = &mut self.session {
            layer.rest();
        }
    }
}

/// Opens all that rustls will; tells how many bytes are done with, and whether the peer closed.
fn open_with_rustls(
    session: &mut UnbufferedServerConnection,
    incoming: &mut [u8],
    plaintext: &mut Vec<u8>,
    outgoing: &mut Vec<u8>,
    buffers: &Buffers,
) -> io::Result<(usize, bool)> {
    let mut consumed = 0;
    let mut closed = false;
    loop {
        // What follows the handshake is for the record layer that takes over: rustls would answer a change of keys with a
        // message that it then keeps to itself.
        let input: &mut [u8] = if RecordLayer::takes(session) { &mut [] } else { &mut incoming[consumed..] };
        let UnbufferedStatus { discard, state } = session.process_tls_records(input);
        let mut extra = 0;
        let mut waits = false;
        match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                buffers.lend(plaintext);
                while let Some(record) = traffic.next_record() {
                    let record = record.map_err(invalid)?;
                    extra += record.discard;
                    plaintext.extend_from_slice(record.payload);
                }
            }
            Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing),
            Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
            Ok(ConnectionState::PeerClosed) => closed = true,
            // Early data is never offered, so this state can't come with anything in it.
            Ok(ConnectionState::ReadEarlyData(_) | ConnectionState::Closed) => {
                closed = true;
                waits = true;
            }
            Ok(_) => waits = true,
            Err(error) => {
                // After an error rustls has an alert to send, behind what was due before, and nothing else.
                loop {
                    match session.process_tls_records(&mut []).state {
                        Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing),
                        Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                        _ => return Err(invalid(error)),
                    }
                }
            }
        }
        consumed += discard + extra;
        if waits {
            return Ok((consumed, closed));
        }
    }
}

fn seal_with_rustls(
    session: &mut UnbufferedServerConnection,
    partial: &mut Vec<u8>,
    plaintext: &[u8],
    sealed: &mut [u8],
    outgoing: &mut Vec<u8>,
) -> io::Result<usize> {
    loop {
        let UnbufferedStatus { discard, state } = session.process_tls_records(partial);
        let outcome = match state.map_err(io::Error::other)? {
            ConnectionState::WriteTraffic(mut traffic) => Some(traffic.encrypt(plaintext, sealed)),
            ConnectionState::EncodeTlsData(data) => {
                encode(data, outgoing);
                None
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                None
            }
            ConnectionState::PeerClosed => None,
            _ => return Err(io::ErrorKind::NotConnected.into()),
        };
        if discard > 0 {
            partial.drain(..discard);
        }
        match outcome {
            None => {}
            Some(Ok(count)) => return Ok(count),
            Some(Err(error)) => return Err(io::Error::other(error)),
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn encode(mut data: EncodeTlsData<'_, ServerConnectionData>, outgoing: &mut Vec<u8>) {
    append(outgoing, |space| match data.encode(space) {
        Ok(count) => Ok(count),
        Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => Err(required_size),
        Err(EncodeError::AlreadyEncoded) => Ok(0),
    });
}

/// Lets `write` fill the end of `buffer`; it tells how much it wrote, or how much room it needs.
fn append(buffer: &mut Vec<u8>, mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>) {
    let start = buffer.len();
    let mut room = 512;
    loop {
        buffer.resize(start + room, 0);
        match write(&mut buffer[start..]) {
            Ok(count) => return buffer.truncate(start + count),
            // A need that fits would be asked for without end.
            Err(needed) if needed <= room => return buffer.truncate(start),
            Err(needed) => room = needed,
        }
    }
}
