//! Whose desired state is accepted, and which: signed by a trusted key, for this server, never older than what was held.
//! Owns `desired.bin` and `trust.toml`. Never applies a state.

use std::io;
use std::path::PathBuf;

use fairlead_base::config::ConfigError;
use fairlead_base::{Folders, config, file};
use fairlead_model::{DesiredState, ServerId, StateError, Version};
use fairlead_wire::agent;
use prost::Message;
use serde::{Deserialize, Serialize};

use crate::config::{AgentConfig, SigningKey};
use crate::key::{KEY_BYTES, state_signature_valid};

/// Why the saved state can't be used at start.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file can't be read or written.
    #[error("the saved state can't be read or written")]
    Io(#[from] io::Error),
    /// The list of trusted keys is damaged.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// What became of a state that was offered.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Newer than the one held; it is saved.
    Accepted(Box<DesiredState>),
    /// The one that is held.
    Held,
}

/// A state that was refused, or could not be saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// It is not acceptable.
    #[error(transparent)]
    State(#[from] StateError),
    /// It could not be saved, so it must not be applied.
    #[error("the desired state could not be saved: {0}")]
    Save(#[source] TrustError),
}

impl Refusal {
    /// The code of the contract's error table.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::State(StateError::Field { .. }) => "state.invalid",
            Self::State(StateError::Capability { .. }) => "state.capability_missing",
            Self::State(StateError::Server { .. }) => "state.wrong_server",
            Self::State(StateError::Older { .. }) => "state.older",
            Self::State(StateError::Signature { .. }) => "state.bad_signature",
            Self::Save(_) => "state.apply_failed",
        }
    }
}

/// The keys trusted now and the version held.
#[derive(Debug)]
pub(crate) struct Trust {
    server: ServerId,
    keys: Vec<SigningKey>,
    held: Version,
    state_path: PathBuf,
    keys_path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    signing_keys: Vec<SigningKey>,
}

impl Trust {
    /// Reads what is saved. A damaged or foreign state is logged and left out: the agent then starts with none and syncs.
    pub(crate) fn open(config: &AgentConfig, folders: &Folders) -> Result<(Self, Option<DesiredState>), TrustError> {
        let keys_path = folders.state().join("trust.toml");
        let keys = if keys_path.exists() {
            config::read::<TrustFile>(&keys_path)?.signing_keys
        } else {
            config.signing_keys.clone()
        };
        let mut trust = Self {
            server: config.server_id.clone(),
            keys,
            held: Version::default(),
            state_path: folders.desired_state(),
            keys_path,
        };
        let Some(bytes) = file::read_if_present(&trust.state_path)? else { return Ok((trust, None)) };
        let judged = agent::SignedState::decode(bytes.as_slice())
            .map_err(|error| StateError::Field { field: "saved".into(), reason: error.to_string() })
            .and_then(|signed| trust.judge(&signed));
        match judged {
            Ok((state, keys)) => {
                trust.held = state.version;
                // A crash between saving a state and its keys is repaired here.
                trust.save_keys(keys)?;
                Ok((trust, Some(state)))
            }
            Err(error) => {
                tracing::error!(%error, "the saved desired state can't be used; waiting for the control plane");
                Ok((trust, None))
            }
        }
    }

    /// The version held; zero when none.
    pub(crate) fn held(&self) -> Version {
        self.held
    }

    /// Checks a state and, when it is newer, saves its exact bytes before anyone may apply it.
    pub(crate) fn offer(&mut self, signed: &agent::SignedState) -> Result<Verdict, Refusal> {
        let (state, keys) = self.judge(signed)?;
        if state.version == self.held {
            return Ok(Verdict::Held);
        }
        file::replace(&self.state_path, &signed.encode_to_vec(), 0o600).map_err(|error| Refusal::Save(error.into()))?;
        self.save_keys(keys).map_err(Refusal::Save)?;
        // Last: a state that is held is handed out, and one that could not be saved whole is accepted when offered again.
        self.held = state.version;
        Ok(Verdict::Accepted(Box::new(state)))
    }

    /// The state and the keys trusted once it is accepted: its signer and the successors it announces.
    fn judge(&self, signed: &agent::SignedState) -> Result<(DesiredState, Vec<SigningKey>), StateError> {
        let signer = self.keys.iter().find(|key| {
            key.key_id == signed.key_id && state_signature_valid(&key.public_key, &signed.state, &signed.signature)
        });
        let Some(signer) = signer else {
            return Err(StateError::Signature { key_id: signed.key_id.chars().take(80).collect() });
        };
        let state = fairlead_wire::desired_state(&signed.state, &self.server)?;
        if state.version < self.held {
            return Err(StateError::Older { found: state.version, current: self.held });
        }
        let mut keys = vec![signer.clone()];
        for announced in fairlead_wire::announced_keys(&signed.state)? {
            let fits = announced.public_key.len() == KEY_BYTES;
            // An id already trusted can't be given another key: succession adds, it never rewrites.
            if fits && keys.iter().all(|key| key.key_id != announced.key_id) {
                keys.push(announced.into());
            }
        }
        Ok((state, keys))
    }

    fn save_keys(&mut self, keys: Vec<SigningKey>) -> Result<(), TrustError> {
        if keys != self.keys {
            config::write(&self.keys_path, &TrustFile { signing_keys: keys.clone() })?;
            self.keys = keys;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
