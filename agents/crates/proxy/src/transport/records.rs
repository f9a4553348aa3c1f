//! TLS records by rustls' unbuffered interface: ciphertext in, plaintext out, and the other way round. Never touches a socket.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

use crate::core::Buffers;

/// Plaintext that one `seal` takes: four full records.
pub(crate) const SEAL_BYTES_MAX: usize = 64 * 1024;

/// One connection's TLS state and the part of a record that has arrived.
pub(crate) struct Records {
    session: UnbufferedServerConnection,
    /// Bytes at the front of the stream that make no whole record yet.
    partial: Vec<u8>,
    closed: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("partial_bytes", &self.partial.len()).finish_non_exhaustive()
    }
}

impl Records {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> io::Result<Self> {
        let session = UnbufferedServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        Ok(Self { session, partial: Vec::new(), closed: false })
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// Puts the partial record in front of what is about to be read; tells its length.
    pub(crate) fn unload(&self, buffer: &mut [u8]) -> usize {
        let length = self.partial.len();
        buffer[..length].copy_from_slice(&self.partial);
        length
    }

    /// Opens all whole records of `incoming`. Answers of the protocol itself go to `outgoing`. Tells whether the peer closed.
    pub(crate) fn open(
        &mut self,
        incoming: &mut [u8],
        plaintext: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
        buffers: &Buffers,
    ) -> Result<bool, rustls::Error> {
        let mut consumed = 0;
        let mut closed = false;
        loop {
            let UnbufferedStatus { discard, state } = self.session.process_tls_records(&mut incoming[consumed..]);
            let mut extra = 0;
            let mut waits = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    buffers.lend(plaintext);
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
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
                    // After an error rustls has an alert to send and nothing else.
                    let rest = &mut incoming[consumed + discard..];
                    if let Ok(ConnectionState::EncodeTlsData(data)) = self.session.process_tls_records(rest).state {
                        encode(data, outgoing);
                    }
                    return Err(error);
                }
            }
            consumed += discard + extra;
            if waits {
                self.partial = incoming[consumed..].to_vec();
                return Ok(closed);
            }
        }
    }

    /// Seals plaintext of at most `SEAL_BYTES_MAX` into `sealed`; tells the length. A due key update goes to `outgoing` first.
    pub(crate) fn seal(&mut self, plaintext: &[u8], sealed: &mut [u8], outgoing: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            let UnbufferedStatus { discard, state } = self.session.process_tls_records(&mut self.partial);
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
                self.partial.drain(..discard);
            }
            match outcome {
                None => {}
                Some(Ok(count)) => return Ok(count),
                Some(Err(error)) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Appends close_notify, once.
    pub(crate) fn close(&mut self, outgoing: &mut Vec<u8>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut self.partial);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            append(outgoing, |space| match traffic.queue_close_notify(space) {
                Ok(count) => Ok(count),
                Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => Err(required_size),
                Err(EncryptError::EncryptExhausted) => Ok(0),
            });
        }
    }
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
