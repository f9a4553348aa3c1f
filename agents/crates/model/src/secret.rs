//! Secrets of a release: sealed as they travel and lie on disk, open only on their way into an app.
//! Never printed: no `Debug` here shows a value.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::AppKey;

/// Secrets of one release, encrypted to this agent alone.
#[derive(Clone, Serialize, Deserialize)]
pub struct SealedSecrets {
    /// An age file whose plain text is an encoded bundle.
    pub sealed: Vec<u8>,
    /// The same version is the same content.
    pub version: String,
}

impl SealedSecrets {
    /// Whether the control plane could not seal them: no key opens this.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.sealed == [0]
    }
}

/// By version: the bytes differ each time the same content is sealed, and nothing may restart for that.
impl PartialEq for SealedSecrets {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl Eq for SealedSecrets {}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedSecrets").field("version", &self.version).finish_non_exhaustive()
    }
}

/// What was sealed. It names its place, so that it serves no other app.
#[derive(Debug)]
pub struct SecretBundle {
    /// Whose it is.
    pub key: AppKey,
    /// Names what is inside.
    pub version: String,
    /// No two have the same name.
    pub secrets: Vec<Secret>,
}

/// One secret, open.
pub struct Secret {
    /// Of the form of a variable's name.
    pub name: String,
    /// Gone from memory when it is dropped. As a variable it has no NUL.
    pub value: Zeroizing<Vec<u8>>,
    /// How the app gets it.
    pub delivery: SecretDelivery,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).field("delivery", &self.delivery).finish_non_exhaustive()
    }
}

/// How an app gets a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretDelivery {
    /// A variable of its environment.
    Environment,
    /// A file in memory, in the folder that `FAIRLEAD_SECRETS` names.
    File,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_version_is_the_same_however_it_was_sealed_and_nothing_is_shown() {
        let sealed = |sealed: &[u8], version: &str| SealedSecrets { sealed: sealed.into(), version: version.into() };
        assert_eq!(sealed(b"one", "v1"), sealed(b"two", "v1"));
        assert_ne!(sealed(b"one", "v1"), sealed(b"one", "v2"));
        let secret =
            Secret { name: "KEY".into(), value: Zeroizing::new(b"hidden".to_vec()), delivery: SecretDelivery::File };
        assert_eq!(format!("{secret:?}"), "Secret { name: \"KEY\", delivery: File, .. }");
    }
}
