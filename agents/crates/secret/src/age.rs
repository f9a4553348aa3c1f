//! Decrypts files of the age format (https://age-encryption.org/v1) for an X25519 recipient. Invariant: a file that does not
//! verify is an error, never a partial text.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

const VERSION_LINE: &str = "age-encryption.org/v1";
const X25519_LABEL: &[u8] = b"age-encryption.org/v1/X25519";
/// Maximum number of recipients in a file; more would only cost time.
const STANZAS_MAX: usize = 16;
const BODY_COLUMNS: usize = 64;
const CHUNK_BYTES: usize = 64 * 1024;
const TAG_BYTES: usize = 16;
const PAYLOAD_NONCE_BYTES: usize = 16;
const FILE_KEY_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// Reason why a sealed file can't be opened. Reveals nothing of the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The file is not an age file.
    #[error("it is damaged")]
    Format,
    /// The file is not sealed to this key.
    #[error("it is sealed to another key than this server's")]
    Recipient,
    /// The file was changed or truncated.
    #[error("it was changed after it was sealed")]
    Authenticity,
}

/// Decrypts `file` with a key pair.
pub(crate) fn open(key: &PrivateKey, public: &[u8], file: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let header = Header::parse(file)?;
    let file_key = header.stanzas.iter().find_map(|stanza| stanza.unwrap(key, public)).ok_or(OpenError::Recipient)?;
    let mac = derive(b"", file_key.as_slice(), b"header")?;
    let mac = hmac::Key::new(hmac::HMAC_SHA256, mac.as_slice());
    hmac::verify(&mac, header.signed, &header.mac).map_err(|_| OpenError::Authenticity)?;
    let (nonce, chunks) = header.payload.split_at_checked(PAYLOAD_NONCE_BYTES).ok_or(OpenError::Format)?;
    payload(&derive(nonce, file_key.as_slice(), b"payload")?, chunks)
}

struct Header<'a> {
    stanzas: Vec<RecipientStanza>,
    /// Bytes that the MAC covers: everything up to and including `---`.
    signed: &'a [u8],
    mac: Vec<u8>,
    payload: &'a [u8],
}

/// X25519 recipient stanza.
struct RecipientStanza {
    ephemeral: Vec<u8>,
    wrapped: Vec<u8>,
}

impl<'a> Header<'a> {
    fn parse(file: &'a [u8]) -> Result<Self, OpenError> {
        let mut at = 0;
        let mut line = || {
            let end = file[at..].iter().position(|byte| *byte == b'\n').ok_or(OpenError::Format)?;
            let start = at;
            at += end + 1;
            let text = std::str::from_utf8(&file[start..start + end]).map_err(|_| OpenError::Format)?;
            Ok((start, text))
        };
        if line()?.1 != VERSION_LINE {
            return Err(OpenError::Format);
        }
        let mut stanzas = Vec::new();
        for _ in 0..=STANZAS_MAX {
            let (start, text) = line()?;
            if let Some(mac) = text.strip_prefix("--- ") {
                let mac = decode(mac)?;
                let after = start + text.len() + 1;
                return Ok(Self { stanzas, signed: &file[..start + "---".len()], mac, payload: &file[after..] });
            }
            let mut words = text.strip_prefix("-> ").ok_or(OpenError::Format)?.split(' ');
            let (kind, ephemeral, more) = (words.next(), words.next(), words.next());
            let mut body = String::new();
            loop {
                let (_, text) = line()?;
                body.push_str(text);
                if text.len() > BODY_COLUMNS {
                    return Err(OpenError::Format);
                }
                if text.len() < BODY_COLUMNS {
                    break;
                }
            }
            // Other kinds of recipients are ignored; a malformed X25519 stanza is an error.
            if kind == Some("X25519") {
                let stanza =
                    RecipientStanza { ephemeral: decode(ephemeral.unwrap_or_default())?, wrapped: decode(&body)? };
                if more.is_some()
                    || stanza.ephemeral.len() != KEY_BYTES
                    || stanza.wrapped.len() != FILE_KEY_BYTES + TAG_BYTES
                {
                    return Err(OpenError::Format);
                }
                stanzas.push(stanza);
            }
        }
        Err(OpenError::Format)
    }
}

impl RecipientStanza {
    /// Returns the file key if this stanza is for this recipient.
    fn unwrap(&self, key: &PrivateKey, public: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let salt = [self.ephemeral.as_slice(), public].concat();
        let peer = UnparsedPublicKey::new(&X25519, &self.ephemeral);
        // The library rejects a shared secret of zeros, as the format requires.
        let wrap = agree(key, peer, OpenError::Recipient, |shared| derive(&salt, shared, X25519_LABEL)).ok()?;
        let mut wrapped = Zeroizing::new(self.wrapped.clone());
        let length = cipher(&wrap)
            .ok()?
            .open_in_place(Nonce::assume_unique_for_key([0; 12]), Aad::empty(), &mut wrapped)
            .ok()?
            .len();
        wrapped.truncate(length);
        Some(wrapped)
    }
}

/// Decrypts the chunks of STREAM. Each nonce holds the chunk's number and a flag for the last chunk.
fn payload(key: &Zeroizing<[u8; KEY_BYTES]>, chunks: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let cipher = cipher(key)?;
    // Allocates the full size: growing would leave copies of the plaintext in memory.
    let mut text = Zeroizing::new(Vec::with_capacity(chunks.len()));
    let pieces = chunks.chunks(CHUNK_BYTES + TAG_BYTES);
    let last = pieces.len().checked_sub(1).ok_or(OpenError::Format)?;
    for (number, piece) in pieces.enumerate() {
        let mut nonce = [0u8; 12];
        nonce[3..11].copy_from_slice(&(number as u64).to_be_bytes());
        nonce[11] = u8::from(number == last);
        let mut piece = Zeroizing::new(piece.to_vec());
        let opened = cipher.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut piece);
        let opened = opened.map_err(|_| OpenError::Authenticity)?;
        // Only an empty file may have an empty last chunk.
        if opened.is_empty() && number > 0 {
            return Err(OpenError::Format);
        }
        text.extend_from_slice(opened);
    }
    Ok(text)
}

fn cipher(key: &Zeroizing<[u8; KEY_BYTES]>) -> Result<LessSafeKey, OpenError> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).map_err(|_| OpenError::Format)?;
    Ok(LessSafeKey::new(key))
}

struct KeyBytes;

impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

fn derive(salt: &[u8], secret: &[u8], info: &[u8]) -> Result<Zeroizing<[u8; KEY_BYTES]>, OpenError> {
    let mut key = Zeroizing::new([0u8; KEY_BYTES]);
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let info = [info];
    let filled = extracted.expand(&info, KeyBytes).and_then(|okm| okm.fill(key.as_mut_slice()));
    filled.map_err(|_| OpenError::Format)?;
    Ok(key)
}

fn decode(text: &str) -> Result<Vec<u8>, OpenError> {
    STANDARD_NO_PAD.decode(text).map_err(|_| OpenError::Format)
}
