//! Secrets of a release: sealed in transit and on disk, open only on their way into an app.
//! Invariant: no `Debug` in this file shows a value.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::AppKey;

/// Secrets of one release, encrypted for this agent only.
#[derive(Clone, Serialize, Deserialize)]
pub struct SealedSecrets {
    /// age file with an encoded bundle as its plain text.
    pub sealed: Vec<u8>,
    /// Version of the content: the same version means the same content.
    pub version: String,
}

impl SealedSecrets {
    /// True if the control plane could not seal the secrets: no key opens them.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.sealed == [0]
    }
}

/// Equality compares versions: the bytes differ each time the same content is sealed, and that must
/// not cause restarts.
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

/// Plain text of sealed secrets. It contains its app key, so that it can't be used for another app.
#[derive(Debug)]
pub struct SecretBundle {
    /// App and environment that the secrets belong to.
    pub key: AppKey,
    /// Version of the content.
    pub version: String,
    /// Secrets; their names are unique.
    pub secrets: Vec<Secret>,
}

pub struct Secret {
    /// Name, in the form of an environment variable's name.
    pub name: String,
    /// Value, zeroed in memory on drop. Contains no NUL if it is delivered as a variable.
    pub value: Zeroizing<Vec<u8>>,
    pub delivery: SecretDelivery,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).field("delivery", &self.delivery).finish_non_exhaustive()
    }
}

/// Delivery method of a secret to the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretDelivery {
    /// As an environment variable.
    Environment,
    /// File in memory, in the folder that `FAIRLEAD_SECRETS` names.
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
