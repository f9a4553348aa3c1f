//! TLS 1.3 records after the handshake (RFC 8446, 5): opened and sealed in the caller's buffers, without a copy in between.
//! Owns traffic keys and their sequence numbers, and the one rule of them all: a key never seals twice under one number.
//! Never shakes hands: rustls does, and still derives the next keys when either side asks for them.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::kernel::KernelConnection;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// Type, version and length of a record.
const HEADER_BYTES: usize = 5;
const TAG_BYTES: usize = 16;
/// Data of one record.
pub const RECORD_DATA_BYTES_MAX: usize = 16 * 1024;
/// What sealing adds to the data of one record: header, true type, tag.
pub const RECORD_OVERHEAD_BYTES: usize = HEADER_BYTES + 1 + TAG_BYTES;
/// RFC 8446, 5.2: what a record's length may say.
const SEALED_BYTES_MAX: usize = RECORD_DATA_BYTES_MAX + 256;
/// Records under one key, of the 2^24.5 that AES-GCM takes (RFC 8446, 5.5).
const REKEY_AFTER: u64 = 1 << 23;
/// Records in a row that carry no data: nobody honest sends so many.
const IDLE_RECORDS_MAX: u32 = 32;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const KEY_UPDATE: u8 = 24;
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// Why a connection can't go on. The peer is told by an alert where it is the one at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record that was changed on its way, or sealed with another key.
    #[error("a record does not open")]
    BadRecordMac,
    /// Longer than TLS allows.
    #[error("a record is too long")]
    Overflow,
    /// A record or message that has no place after the handshake.
    #[error("a record is not expected here")]
    Unexpected,
    /// The peer ended the connection with this alert.
    #[error("the peer ended the connection: alert {0}")]
    PeerAlert(u8),
    /// `out` is too small for what is to be sealed.
    #[error("there is no room for the sealed records")]
    NoRoom,
    /// A key can't be made or used.
    #[error("a key can't be used: {0}")]
    Key(String),
}

impl RecordError {
    /// What the peer is told (RFC 8446, 6.2).
    fn alert(&self) -> Option<u8> {
        match self {
            Self::BadRecordMac => Some(20),
            Self::Overflow => Some(22),
            Self::Unexpected => Some(10),
            Self::Key(_) => Some(80),
            Self::PeerAlert(_) | Self::NoRoom => None,
        }
    }
}

/// What the front of the stream held.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened<'i> {
    /// No whole record yet.
    Partial,
    /// So many bytes are done with; this is the data among them, maybe none.
    Data(usize, &'i [u8]),
    /// So many bytes are done with, and the peer sends nothing more.
    Closed(usize),
}

/// The keys of one direction.
struct Half {
    secrets: ConnectionTrafficSecrets,
    /// `None` while the connection rests: an expanded key takes ten times the room of its secret.
    key: Option<LessSafeKey>,
    sequence: u64,
}

impl Half {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> Self {
        Self { secrets, key: None, sequence }
    }

    /// The key, and a nonce that it has not seen.
    fn next(&mut self) -> Result<(&LessSafeKey, Nonce), RecordError> {
        let (algorithm, key, iv) = match &self.secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&aead::CHACHA20_POLY1305, key, iv),
            _ => return Err(RecordError::Key("an unknown cipher".to_owned())),
        };
        let unusable = |_| RecordError::Key("it does not fit its cipher".to_owned());
        let mut nonce = <[u8; aead::NONCE_LEN]>::try_from(iv.as_ref()).map_err(|_| unusable(()))?;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        // Counted before it is used: whatever happens then, this number is gone.
        self.sequence = self.sequence.checked_add(1).ok_or_else(|| RecordError::Key("it is used up".to_owned()))?;
        let key = match &mut self.key {
            Some(key) => key,
            empty => {
                let made = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| unusable(()))?;
                empty.insert(LessSafeKey::new(made))
            }
        };
        Ok((key, Nonce::assume_unique_for_key(nonce)))
    }

    /// Opens the body of a record in place.
    fn open<'r>(&mut self, header: [u8; HEADER_BYTES], body: &'r mut [u8]) -> Result<&'r mut [u8], RecordError> {
        let (key, nonce) = self.next()?;
        key.open_in_place(nonce, Aad::from(header), body).map_err(|_| RecordError::BadRecordMac)
    }

    /// Seals one record to the front of `out`; tells its length.
    fn seal(&mut self, kind: u8, data: &[u8], out: &mut [u8]) -> Result<usize, RecordError> {
        let inner = data.len() + 1;
        let sealed = u16::try_from(inner + TAG_BYTES).map_err(|_| RecordError::Overflow)?;
        let [high, low] = sealed.to_be_bytes();
        let header = [DATA, 3, 3, high, low];
        let (room, body) = out.split_at_mut_checked(HEADER_BYTES).ok_or(RecordError::NoRoom)?;
        let (body, tag_room) = body.split_at_mut_checked(inner).ok_or(RecordError::NoRoom)?;
        let tag_room = tag_room.get_mut(..TAG_BYTES).ok_or(RecordError::NoRoom)?;
        room.copy_from_slice(&header);
        body[..data.len()].copy_from_slice(data);
        body[data.len()] = kind;
        let (key, nonce) = self.next()?;
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(header), body);
        tag_room.copy_from_slice(tag.map_err(|_| RecordError::Key("sealing failed".to_owned()))?.as_ref());
        Ok(HEADER_BYTES + inner + TAG_BYTES)
    }
}

/// One server connection whose handshake is done.
pub struct RecordLayer {
    receive: Half,
    send: Half,
    /// Derives the keys that follow.
    next_keys: Box<KernelConnection<ServerConnectionData>>,
    rekey_after: u64,
    /// The peer asked for new keys of ours. It gets them with our next data, once however often it asked: else it could make
    /// us say so without end while it reads nothing (RFC 8446, 4.6.3).
    owes_keys: bool,
    idle_records: u32,
}

impl std::fmt::Debug for RecordLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordLayer").field("sent", &self.send.sequence).finish_non_exhaustive()
    }
}

impl RecordLayer {
    /// Whether a connection can be taken over: TLS 1.3, the handshake done. What rustls wants to send must have been sent.
    pub fn takes(connection: &UnbufferedServerConnection) -> bool {
        connection.protocol_version() == Some(ProtocolVersion::TLSv1_3) && !connection.is_handshaking()
    }

    /// Takes a connection over. Bytes that rustls has not discarded are opened here.
    pub fn take_over(connection: UnbufferedServerConnection) -> Result<Self, rustls::Error> {
        let (secrets, next_keys) = connection.dangerous_into_kernel_connection()?;
        Ok(Self {
            receive: Half::new(secrets.rx),
            send: Half::new(secrets.tx),
            next_keys: Box::new(next_keys),
            rekey_after: REKEY_AFTER,
            owes_keys: false,
            idle_records: 0,
        })
    }

    /// Opens the record at the front of `incoming`, in place. The alert that tells of an error is appended to `outgoing`;
    /// after an error the connection is of no more use.
    pub fn open<'i>(&mut self, incoming: &'i mut [u8], outgoing: &mut Vec<u8>) -> Result<Opened<'i>, RecordError> {
        match self.open_record(incoming) {
            Err(error) => {
                if let Some(alert) = error.alert() {
                    // The first error is the one to tell of.
                    drop(self.append(ALERT, &[2, alert], outgoing));
                }
                Err(error)
            }
            opened => opened,
        }
    }

    fn open_record<'i>(&mut self, incoming: &'i mut [u8]) -> Result<Opened<'i>, RecordError> {
        let Some((header, rest)) = incoming.split_first_chunk_mut::<HEADER_BYTES>() else { return Ok(Opened::Partial) };
        let [kind, _, _, high, low] = *header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if kind != DATA {
            return Err(RecordError::Unexpected);
        }
        if length > SEALED_BYTES_MAX {
            return Err(RecordError::Overflow);
        }
        let Some(body) = rest.get_mut(..length) else { return Ok(Opened::Partial) };
        let inner: &'i [u8] = self.receive.open(*header, body)?;
        if inner.len() > RECORD_DATA_BYTES_MAX + 1 {
            return Err(RecordError::Overflow);
        }
        // The true type stands after the content, before any padding of zeros.
        let end = inner.iter().rposition(|byte| *byte != 0).ok_or(RecordError::Unexpected)?;
        let (content, kind) = (&inner[..end], inner[end]);
        if kind == DATA && !content.is_empty() {
            self.idle_records = 0;
        } else {
            self.idle_records += 1;
            if self.idle_records > IDLE_RECORDS_MAX {
                return Err(RecordError::Unexpected);
            }
        }
        let consumed = HEADER_BYTES + length;
        match (kind, content) {
            (DATA, data) => Ok(Opened::Data(consumed, data)),
            (ALERT, [_, CLOSE_NOTIFY]) => Ok(Opened::Closed(consumed)),
            (ALERT, [_, USER_CANCELED]) => Ok(Opened::Data(consumed, &[])),
            (ALERT, [_, alert]) => Err(RecordError::PeerAlert(*alert)),
            // Alone in its record: no message may stand behind a change of keys (RFC 8446, 5.1).
            (HANDSHAKE, [KEY_UPDATE, 0, 0, 1, wants_ours @ (0 | 1)]) => {
                self.receive = Half::new(self.next_keys.update_rx_secret().map_err(key_error)?);
                self.owes_keys |= *wants_ours == 1;
                Ok(Opened::Data(consumed, &[]))
            }
            _ => Err(RecordError::Unexpected),
        }
    }

    /// Seals `data` as records to the front of `out`; tells their length. A change of keys goes to `outgoing`, which must be
    /// sent before. Each record takes `RECORD_OVERHEAD_BYTES` more than its data.
    pub fn seal(&mut self, data: &[u8], out: &mut [u8], outgoing: &mut Vec<u8>) -> Result<usize, RecordError> {
        if self.owes_keys || self.send.sequence >= self.rekey_after {
            self.change_keys(outgoing)?;
        }
        let mut length = 0;
        for piece in data.chunks(RECORD_DATA_BYTES_MAX) {
            length += self.send.seal(DATA, piece, &mut out[length..])?;
        }
        Ok(length)
    }

    /// Appends close_notify: nothing may be sealed after it.
    pub fn close(&mut self, outgoing: &mut Vec<u8>) -> Result<(), RecordError> {
        self.append(ALERT, &[1, CLOSE_NOTIFY], outgoing)
    }

    /// Lets go of what an idle connection needs no memory for; the next record makes it anew.
    pub fn rest(&mut self) {
        self.receive.key = None;
        self.send.key = None;
    }

    fn change_keys(&mut self, outgoing: &mut Vec<u8>) -> Result<(), RecordError> {
        self.append(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
        self.send = Half::new(self.next_keys.update_tx_secret().map_err(key_error)?);
        self.owes_keys = false;
        Ok(())
    }

    fn append(&mut self, kind: u8, message: &[u8], outgoing: &mut Vec<u8>) -> Result<(), RecordError> {
        let start = outgoing.len();
        outgoing.resize(start + message.len() + RECORD_OVERHEAD_BYTES, 0);
        let sealed = self.send.seal(kind, message, &mut outgoing[start..]);
        outgoing.truncate(start + sealed.as_ref().copied().unwrap_or(0));
        sealed.map(|_| ())
    }
}

fn key_error(error: rustls::Error) -> RecordError {
    RecordError::Key(error.to_string())
}

#[cfg(test)]
mod tests;
