//! The agent's key and every signature on the link. Invariant: the seed never leaves this type: no accessor, no Debug.

use std::fmt;
use std::io;
use std::path::Path;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use fairlead_base::file;
use fairlead_model::ServerId;

/// Bytes of a public key and of a seed.
pub(crate) const KEY_BYTES: usize = 32;

/// Reason why the agent's key can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file can't be read or written.
    #[error("the key file can't be read or written")]
    Io(#[from] io::Error),
    /// The file does not hold a 32-byte seed.
    #[error("the key file is damaged: enrol this server again")]
    Damaged,
    /// The system gave no randomness.
    #[error("the system gave no random bytes for a key")]
    NoRandomness,
}

/// Key by which this agent authenticates.
pub struct AgentKey(Ed25519KeyPair);

impl AgentKey {
    /// Opens the key, or creates it with mode 0600 when it is missing.
    pub fn open_or_create(path: &Path) -> Result<Self, KeyError> {
        if let Some(seed) = file::read_if_present(path)? {
            return Self::from_seed(&seed);
        }
        let mut seed = [0u8; KEY_BYTES];
        SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
        // Never replaces a key that appeared meanwhile: the control plane may know it already.
        file::create(path, &seed, 0o600)?;
        Self::from_seed(&seed)
    }

    /// Opens the key that enrolment created.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        Self::from_seed(&std::fs::read(path)?)
    }

    /// Creates a key from its 32-byte seed (RFC 8032, section 5.1.5).
    pub fn from_seed(seed: &[u8]) -> Result<Self, KeyError> {
        Ed25519KeyPair::from_seed_unchecked(seed).map(Self).map_err(|_| KeyError::Damaged)
    }

    /// Returns the raw public key.
    pub fn public(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    /// Signs the enrolment token, which proves that this agent holds the key.
    pub fn sign_enrolment(&self, token: &str) -> Vec<u8> {
        self.sign(&[b"fairlead-enrol-v1\n", token.as_bytes(), b"\n", self.public()])
    }

    /// Signs the nonce of a connection's challenge.
    pub fn sign_hello(&self, server: &ServerId, nonce: &[u8]) -> Vec<u8> {
        self.sign(&[b"fairlead-hello-v1\n", server.as_str().as_bytes(), b"\n", nonce])
    }

    /// Signs the sealing recipient, which proves that it belongs to this agent.
    pub fn sign_sealing(&self, recipient: &str) -> fairlead_wire::agent::SealingKey {
        let signature = self.sign(&[b"fairlead-sealing-v1\n", recipient.as_bytes()]);
        fairlead_wire::agent::SealingKey { recipient: recipient.to_owned(), signature }
    }

    fn sign(&self, parts: &[&[u8]]) -> Vec<u8> {
        self.0.sign(&parts.concat()).as_ref().to_vec()
    }
}

impl fmt::Debug for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentKey(..)")
    }
}

/// True if the holder of `public` signed the desired state.
pub fn state_signature_valid(public: &[u8], state: &[u8], signature: &[u8]) -> bool {
    let message = [b"fairlead-state-v1\n".as_slice(), state].concat();
    UnparsedPublicKey::new(&ED25519, public).verify(&message, signature).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_survives_a_restart_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made = AgentKey::open_or_create(&path).unwrap().public().to_vec();
        assert_eq!(AgentKey::open_or_create(&path).unwrap().public(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, b"short").unwrap();
        assert!(matches!(AgentKey::open(&path), Err(KeyError::Damaged)));
    }
}
