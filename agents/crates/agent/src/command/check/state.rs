//! Damaged files of the agent's state: `check` names them, `check --repair` repairs them. Deletes nothing: it renames a damaged
//! file and restores what can be known without it.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use fairlead_base::error::chain;
use fairlead_base::{Folders, StateFileError, config, state_file};
use fairlead_link::AgentConfig;
use fairlead_runtime::Identities;
use fairlead_tls::LocalAuthority;

use super::{CheckStatus, Finding, finding};
use crate::run::{LocalState, lock, open_sealing_key};
use crate::upgrade::UpgradeRecord;

/// Returns one finding for each damaged file, or one that says that there is none.
pub(super) fn inspect(folders: &Folders) -> Vec<Finding> {
    let damaged = damaged(folders);
    if damaged.is_empty() {
        return vec![finding("state", CheckStatus::Good, "every file of the agent's state can be read")];
    }
    damaged.iter().map(|error| finding("state", CheckStatus::Bad, error.to_string())).collect()
}

/// Repairs what can be repaired. Fails while the agent runs, because the agent holds the same files.
pub(super) fn repair(folders: &Folders) -> Result<Vec<Finding>, Box<dyn Error>> {
    let damaged = damaged(folders);
    if damaged.is_empty() {
        return Ok(Vec::new());
    }
    let _lock = lock(folders).map_err(|error| format!("{error}: stop it, then repair"))?;
    let repaired = |error: StateFileError| {
        let path = error.path();
        let done = match &error {
            // The disk or the permissions are at fault, not the contents.
            StateFileError::Io { source, .. } => Err(io::Error::new(source.kind(), source.to_string())),
            StateFileError::Damaged { .. } => repair_file(folders, path),
        };
        match done {
            Ok(sentence) => finding("repaired", CheckStatus::Reduced, format!("{}: {sentence}", path.display())),
            Err(error) => finding("repair", CheckStatus::Bad, format!("{}: {error}", path.display())),
        }
    };
    Ok(damaged.into_iter().map(repaired).collect())
}

fn repair_file(folders: &Folders, path: &Path) -> io::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name != USERS {
        let aside = state_file::set_aside(path)?;
        let name = if path.parent() == Some(&folders.control_authorities()) { "control-ca" } else { name };
        return Ok(format!("renamed to {}; {}", aside.display(), consequence(name)));
    }
    let text = fs::read(path)?;
    let aside = state_file::set_aside(path)?;
    let rebuilt = Identities::rebuild(folders, &text)?;
    Ok(format!(
        "renamed to {}; rebuilt from the owners of the files here: {} users are known, and {} are never given to an app again",
        aside.display(),
        rebuilt.known,
        rebuilt.lost
    ))
}

const USERS: &str = "users.json";

fn consequence(name: &str) -> &'static str {
    match name {
        "apps.json" => {
            "what runs is found by its processes, the control plane's state decides which release is live, and a deployment that was under way begins again"
        }
        "trust.toml" => {
            "the signing keys of the enrolment are trusted, and those that the saved state announces. If the control plane has changed its key since, states are refused: remove the server there and enrol it anew"
        }
        "version.toml" => {
            "the saved state tells the version. If that is damaged too, the next signed state is accepted, whatever its version"
        }
        "desired.bin" => "the agent waits for the control plane's state, and no older one is accepted",
        "key.age" => "the agent makes a new key at its next start, and the control plane seals the secrets to that",
        "control-ca" => {
            "the agent makes a new authority for this address at its next start. Servers elsewhere trust the old one: run the command of “Add server” on each again"
        }
        "ca" => "the agent makes a new local authority at its next start; trust that one instead",
        _ => "the agent begins it anew",
    }
}

/// Reads every file that a start reads, each with its owner's own parser.
fn damaged(folders: &Folders) -> Vec<StateFileError> {
    // Signatures can't be checked without it; the link's finding names it.
    let config = config::read::<AgentConfig>(&folders.config()).ok();
    let mut errors = fairlead_link::damaged_files(config.as_ref(), folders);
    errors.extend(fairlead_runtime::damaged_files(folders));
    errors.extend(LocalState::read(&folders.local_state()).err());
    errors.extend(UpgradeRecord::read(folders).err());
    // Opening it would create a missing file.
    if folders.sealing_key().exists() {
        errors.extend(open_sealing_key(folders).err());
    }
    if folders.authority().join("ca.pem").exists()
        && let Err(error) = LocalAuthority::open_or_create(&folders.authority())
    {
        errors.push(StateFileError::damaged(&folders.authority(), chain(&error)));
    }
    errors.extend(damaged_control_authorities(folders));
    errors
}

fn damaged_control_authorities(folders: &Folders) -> Vec<StateFileError> {
    // A server without a control plane has no such folder.
    let Ok(entries) = std::fs::read_dir(folders.control_authorities()) else { return Vec::new() };
    let mut errors = Vec::new();
    for folder in entries.flatten().map(|entry| entry.path()) {
        // Opening it would create a missing one. A repair renames damaged ones.
        if let Some(host) = folder.file_name().and_then(|name| name.to_str())
            && !host.contains(".damaged")
            && folder.join("ca.pem").exists()
            && let Err(error) = LocalAuthority::open_or_create_for(&folder, host)
        {
            errors.push(StateFileError::damaged(&folder, chain(&error)));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FlockOperation, flock};

    use super::*;

    #[test]
    fn check_names_each_damaged_file_and_none_after_the_repair() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        assert_eq!(inspect(&folders)[0].verdict, CheckStatus::Good);
        assert!(repair(&folders).unwrap().is_empty());
        let state = [USERS, "apps.json", "trust.toml", "version.toml", "desired.bin", "local.json", "agent.json"];
        for name in state {
            fs::write(folders.state().join(name), "{half").unwrap();
        }
        fs::write(folders.sealing_key(), "short").unwrap();
        fs::write(folders.authority().join("ca.pem"), "half").unwrap();
        let found = inspect(&folders);
        for name in state.into_iter().chain(["key.age", "/ca"]) {
            let named = found.iter().any(|finding| finding.detail.contains(&format!("{name} is damaged")));
            assert!(named, "{name}: {found:?}");
        }
        let running = lock(&folders).unwrap();
        assert!(repair(&folders).err().unwrap().to_string().contains("stop it"));
        // Unlocks explicitly: a child of a parallel test inherits the file until its exec, so a drop may not unlock.
        flock(&running, FlockOperation::Unlock).unwrap();
        let repaired = repair(&folders).unwrap();
        assert_eq!(repaired.len(), 9, "{repaired:?}");
        assert!(repaired.iter().all(|finding| finding.verdict == CheckStatus::Reduced), "{repaired:?}");
        assert_eq!(inspect(&folders)[0].verdict, CheckStatus::Good);
        let users = folders.state().join(USERS);
        assert!(users.exists() && users.with_extension("json.damaged").exists());
    }
}
