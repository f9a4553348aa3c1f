//! Verifies desired states: signed by a trusted key, for this server, never older than an accepted one. Owns `desired.bin`,
//! `trust.toml` and `version.toml`. Never applies a state.

use std::io;
use std::path::PathBuf;

use fairlead_base::config::ConfigError;
use fairlead_base::{Folders, StateFileError, config, file, state_file};
use fairlead_model::{DesiredState, ServerId, StateError, Version};
use fairlead_wire::agent;
use prost::Message;
use serde::{Deserialize, Serialize};

use crate::config::{AgentConfig, SigningKey};
use crate::key::{KEY_BYTES, state_signature_valid};

/// Reason why the saved state can't be used at start.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file can't be read or written.
    #[error("the saved state can't be read or written")]
    Io(#[from] io::Error),
    /// A file can't be written.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file is damaged and its contents must not be guessed.
    #[error(transparent)]
    Damaged(#[from] StateFileError),
}

/// Result of an offered state.
#[derive(Debug)]
pub(crate) enum StateDecision {
    /// The state is newer than the current one and is saved.
    Accepted(Box<DesiredState>),
    /// The state has the current version.
    Unchanged,
}

/// Reason why a state was refused or not saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateRefusal {
    /// The state is invalid.
    #[error(transparent)]
    State(#[from] StateError),
    /// The state could not be saved, so it must not be applied.
    #[error("the desired state could not be saved: {0}")]
    Save(#[source] TrustError),
}

impl StateRefusal {
    /// Returns the code of the contract's error table.
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

/// Trusted keys and the current version.
#[derive(Debug)]
pub(crate) struct Trust {
    server: ServerId,
    keys: Vec<SigningKey>,
    held: Version,
    /// Highest version that was ever accepted. Stored apart from the state, so that damage to one file allows no downgrade.
    highest: Version,
    state_path: PathBuf,
    keys_path: PathBuf,
    version_path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    signing_keys: Vec<SigningKey>,
}

/// Highest version accepted from one control plane; another server id means another control plane.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionFile {
    server_id: ServerId,
    highest: Version,
}

impl Trust {
    /// Reads the saved files. A damaged or foreign state is logged and ignored: the agent then starts without one and syncs.
    pub(crate) fn open(config: &AgentConfig, folders: &Folders) -> Result<(Self, Option<DesiredState>), TrustError> {
        let keys_path = folders.state().join("trust.toml");
        let keys = state_file::read_toml::<TrustFile>(&keys_path)?.map(|file| file.signing_keys);
        let version_path = folders.state().join("version.toml");
        let highest = state_file::read_toml::<VersionFile>(&version_path);
        let mut trust = Self {
            server: config.server_id.clone(),
            keys: keys.unwrap_or_else(|| config.signing_keys.clone()),
            held: Version::default(),
            highest: Version::default(),
            state_path: folders.desired_state(),
            keys_path,
            version_path,
        };
        if let Ok(Some(file)) = &highest
            && file.server_id == trust.server
        {
            trust.highest = file.highest;
        }
        let Some(bytes) = file::read_if_present(&trust.state_path)? else {
            highest?;
            return Ok((trust, None));
        };
        let judged = agent::SignedState::decode(bytes.as_slice())
            .map_err(|error| StateError::Field { field: "saved".into(), reason: error.to_string() })
            .and_then(|signed| trust.verify(&signed));
        match judged {
            Ok((state, keys)) => {
                // A crash between saving a state, its keys and its version is repaired here, as is a damaged version.
                trust.save_keys(keys)?;
                trust.save_highest(state.version)?;
                trust.held = state.version;
                Ok((trust, Some(state)))
            }
            Err(error) => {
                let path = trust.state_path.display();
                tracing::error!(%error, %path, "the saved desired state can't be used; waiting for the control plane");
                // If both files are damaged, nothing shows which states are too old.
                highest?;
                Ok((trust, None))
            }
        }
    }

    /// Lists the files that `open` can't use, or can't use whole.
    pub(crate) fn damaged(config: Option<&AgentConfig>, folders: &Folders) -> Vec<StateFileError> {
        let (keys_path, version_path) = (folders.state().join("trust.toml"), folders.state().join("version.toml"));
        let keys = state_file::read_toml::<TrustFile>(&keys_path);
        let state = state_file::read(&folders.desired_state(), |bytes| {
            let signed = agent::SignedState::decode(bytes).map_err(|error| error.to_string())?;
            let Some(config) = config else { return Ok(()) };
            let trusted =
                keys.as_ref().ok().and_then(Option::as_ref).map_or(&config.signing_keys, |file| &file.signing_keys);
            let signer = trusted.iter().any(|key| {
                key.key_id == signed.key_id && state_signature_valid(&key.public_key, &signed.state, &signed.signature)
            });
            if signer { Ok(()) } else { Err("no trusted key signed it".to_owned()) }
        });
        let version = state_file::read_toml::<VersionFile>(&version_path);
        [keys.err(), version.err(), state.err()].into_iter().flatten().collect()
    }

    /// Returns the current version; zero without a state.
    pub(crate) fn held(&self) -> Version {
        self.held
    }

    /// Verifies a state and, if it is newer, saves its exact bytes before it may be applied.
    pub(crate) fn offer(&mut self, signed: &agent::SignedState) -> Result<StateDecision, StateRefusal> {
        let (state, keys) = self.verify(signed)?;
        if state.version == self.held {
            return Ok(StateDecision::Unchanged);
        }
        let version = state.version;
        file::replace(&self.state_path, &signed.encode_to_vec(), 0o600)
            .map_err(|error| StateRefusal::Save(error.into()))?;
        self.save_keys(keys).map_err(StateRefusal::Save)?;
        self.save_highest(version).map_err(StateRefusal::Save)?;
        // Last step: the current state is published, and a state that was not saved completely is accepted when offered again.
        self.held = version;
        Ok(StateDecision::Accepted(Box::new(state)))
    }

    /// Returns the state and the keys trusted once it is accepted: its signer and the successors that it announces.
    fn verify(&self, signed: &agent::SignedState) -> Result<(DesiredState, Vec<SigningKey>), StateError> {
        let signer = self.keys.iter().find(|key| {
            key.key_id == signed.key_id && state_signature_valid(&key.public_key, &signed.state, &signed.signature)
        });
        let Some(signer) = signer else {
            return Err(StateError::Signature { key_id: signed.key_id.chars().take(80).collect() });
        };
        let state = fairlead_wire::desired_state(&signed.state, &self.server)?;
        let current = self.held.max(self.highest);
        if state.version < current {
            return Err(StateError::Older { found: state.version, current });
        }
        let mut keys = vec![signer.clone()];
        for announced in fairlead_wire::announced_keys(&signed.state)? {
            let fits = announced.public_key.len() == KEY_BYTES;
            // A trusted id never gets another key: succession only adds keys.
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

    fn save_highest(&mut self, version: Version) -> Result<(), TrustError> {
        if version > self.highest {
            config::write(&self.version_path, &VersionFile { server_id: self.server.clone(), highest: version })?;
            self.highest = version;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
