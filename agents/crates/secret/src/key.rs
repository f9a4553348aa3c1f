//! Key that secrets are sealed to. Invariant: its private half never leaves this type: no accessor, no Debug.

use std::fmt;
use std::io;
use std::path::Path;

use aws_lc_rs::agreement::{PrivateKey, X25519};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use fairlead_base::file;
use zeroize::Zeroizing;

use crate::age::{self, OpenError};
use crate::bech32;

const KEY_BYTES: usize = 32;

/// Reason why the sealing key can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SealingKeyError {
    /// The file can't be read or written.
    #[error("the sealing key's file can't be read or written")]
    Io(#[from] io::Error),
    /// The file does not hold a 32-byte key.
    #[error("the sealing key's file is damaged: remove it, and the agent makes a new one at its next start")]
    Damaged,
    /// The system gave no randomness.
    #[error("the system gave no random bytes for a key")]
    NoRandomness,
}

/// X25519 identity of the age format.
pub struct SealingKey {
    private: PrivateKey,
    public: Vec<u8>,
}

impl SealingKey {
    /// Opens the key, or creates it with mode 0600 when it is missing.
    pub fn open_or_create(path: &Path) -> Result<Self, SealingKeyError> {
        if let Some(bytes) = file::read_if_present(path)?.map(Zeroizing::new) {
            return Self::from_bytes(&bytes);
        }
        let mut bytes = Zeroizing::new([0u8; KEY_BYTES]);
        SystemRandom::new().fill(bytes.as_mut_slice()).map_err(|_| SealingKeyError::NoRandomness)?;
        // Never replaces a key that appeared meanwhile: secrets may be sealed to it already.
        file::create(path, bytes.as_slice(), 0o600)?;
        Self::from_bytes(bytes.as_slice())
    }

    /// Creates a key from its 32 bytes (RFC 7748, section 5).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SealingKeyError> {
        let private = PrivateKey::from_private_key(&X25519, bytes).map_err(|_| SealingKeyError::Damaged)?;
        let public = private.compute_public_key().map_err(|_| SealingKeyError::Damaged)?.as_ref().to_vec();
        Ok(Self { private, public })
    }

    /// Returns the recipient that secrets are sealed to, `age1…`.
    pub fn recipient(&self) -> String {
        bech32::encode("age", &self.public)
    }

    /// Decrypts an age file that is sealed to this key.
    pub fn open(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        age::open(&self.private, &self.public, sealed)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(..)")
    }
}
