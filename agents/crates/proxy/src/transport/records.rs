//! TLS record layer on the unbuffered API of rustls: decrypts and encrypts. Never touches a socket.

use std::io;
use std::sync::Arc;

use fairlead_tls::{SelectedConfig, ServerConfigs, TlsPolicy};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

use crate::connection_tls::ConnectionTls;
use crate::core::Buffers;

/// Maximum plaintext for one `seal`: four full records of 16 KiB (RFC 8446, 5.1).
pub(crate) const SEAL_BYTES_MAX: usize = 4 * 16 * 1024;

/// TLS state of one connection, with a partial record.
pub(crate) struct RecordLayer {
    configs: Arc<ServerConfigs>,
    /// `None` until the name of the host is known, which selects the configuration.
    session: Option<UnbufferedServerConnection>,
    /// TLS policy of the host, if it has one.
    policy: Option<Arc<TlsPolicy>>,
    /// Start of an incomplete record.
    partial: Vec<u8>,
    /// True if close_notify was sent.
    closed: bool,
    /// True if the peer sent close_notify: later bytes are ignored.
    peer_closed: bool,
}

impl std::fmt::Debug for RecordLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordLayer").field("partial_bytes", &self.partial.len()).finish_non_exhaustive()
    }
}

impl RecordLayer {
    pub(crate) fn new(configs: Arc<ServerConfigs>) -> Self {
        Self { configs, session: None, policy: None, partial: Vec::new(), closed: false, peer_closed: false }
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.is_handshaking())
    }

    /// Returns the handshake with a host that has a TLS policy.
    pub(crate) fn connection_tls(&self) -> Option<ConnectionTls> {
        let (Some(session), Some(policy)) = (&self.session, &self.policy) else { return None };
        let leaf = session.peer_certificates().and_then(|chain| chain.first()).map(AsRef::as_ref);
        Some(ConnectionTls::new(Arc::clone(policy), leaf))
    }

    /// Opens the session once the name of the host is known; `None` before.
    fn session(&mut self, incoming: &[u8]) -> io::Result<Option<&mut UnbufferedServerConnection>> {
        if self.session.is_none() {
            let (config, policy) = match self.configs.select(incoming).map_err(io::Error::other)? {
                SelectedConfig::Incomplete => return Ok(None),
                SelectedConfig::Complete(config, policy) => (config, policy),
            };
            self.session = Some(UnbufferedServerConnection::new(config).map_err(io::Error::other)?);
            self.policy = policy;
        }
        Ok(self.session.as_mut())
    }

    fn alpn_protocol(&self) -> Option<&[u8]> {
        self.session.as_ref().and_then(|session| session.alpn_protocol())
    }

    /// True if the client negotiated HTTP/2; known after the handshake.
    pub(crate) fn is_http2(&self) -> bool {
        self.alpn_protocol() == Some(b"h2")
    }

    /// True if a certificate authority made the handshake to validate a host (RFC 8737); known after the handshake.
    pub(crate) fn is_acme_challenge(&self) -> bool {
        self.alpn_protocol() == Some(fairlead_tls::ACME_TLS_ALPN)
    }

    /// True if the peer sent close_notify.
    pub(crate) fn is_peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Copies the partial record to the start of the read buffer; returns its length.
    pub(crate) fn unload(&self, buffer: &mut [u8]) -> usize {
        let length = self.partial.len();
        buffer[..length].copy_from_slice(&self.partial);
        length
    }

    /// Decrypts all complete records of `incoming`. Protocol replies go to `outgoing`.
    pub(crate) fn open(
        &mut self,
        incoming: &mut [u8],
        plaintext: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
        buffers: &Buffers,
    ) -> io::Result<()> {
        let (consumed, closed) = match self.session(incoming)? {
            Some(session) => open_records(session, incoming, plaintext, outgoing, buffers)?,
            None => (0, false),
        };
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

    /// Encrypts at most `SEAL_BYTES_MAX` of plaintext into `sealed`, after a pending key update; returns the length.
    pub(crate) fn seal(&mut self, plaintext: &[u8], sealed: &mut [u8], outgoing: &mut Vec<u8>) -> io::Result<usize> {
        if self.closed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let Some(session) = &mut self.session else { return Err(io::ErrorKind::NotConnected.into()) };
        seal_records(session, &mut self.partial, plaintext, sealed, outgoing)
    }

    /// Appends close_notify to `outgoing`; further calls do nothing.
    pub(crate) fn close(&mut self, outgoing: &mut Vec<u8>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let Some(session) = &mut self.session else { return };
        let UnbufferedStatus { state, .. } = session.process_tls_records(&mut self.partial);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            append(outgoing, |space| match traffic.queue_close_notify(space) {
                Ok(count) => Ok(count),
                Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => Err(required_size),
                Err(EncryptError::EncryptExhausted) => Ok(0),
            });
        }
    }
}

/// Decrypts all complete records of `incoming`. Protocol replies go to `outgoing`.
fn open_records(
    session: &mut UnbufferedServerConnection,
    incoming: &mut [u8],
    plaintext: &mut Vec<u8>,
    outgoing: &mut Vec<u8>,
    buffers: &Buffers,
) -> io::Result<(usize, bool)> {
    let mut consumed = 0;
    let mut closed = false;
    loop {
        let UnbufferedStatus { discard, state } = session.process_tls_records(&mut incoming[consumed..]);
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

fn seal_records(
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
