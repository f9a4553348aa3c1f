//! User of the lab's third-party programs. Programs that parse responses of a tenant's code must not have the agent's rights.

use std::io::{Error, Result};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use fairlead_base::accounts::{self, User};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities};

/// Capabilities of an agent that changes to the user, ends its programs and removes their files.
const NEEDED: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);
const SEARCHED_BY_OTHERS: u32 = 0o001;

/// Returns the user of the programs of a lab below `folder`, who owns `files` from then on. `None`: they run as the user of this
/// process, which is not root or may not change to another one.
pub(crate) fn user_of_programs(folder: &Path, files: &[&Path]) -> Option<User> {
    if !geteuid().is_root() {
        return None;
    }
    match find(folder, files) {
        Ok(user) => Some(user),
        Err(error) => {
            tracing::warn!(%error, "other proxies and app servers of the lab run as root");
            None
        }
    }
}

fn find(folder: &Path, files: &[&Path]) -> Result<User> {
    let missing = NEEDED.difference(capabilities(None)?.effective);
    if !missing.is_empty() {
        return Err(Error::other(format!("the agent lacks {missing:?}")));
    }
    for ancestor in folder.canonicalize()?.ancestors() {
        if ancestor.metadata()?.mode() & SEARCHED_BY_OTHERS == 0 {
            return Err(Error::other(format!("only its owner reaches files in {}", ancestor.display())));
        }
    }
    let user = accounts::lab_user()?;
    // A container or user namespace may not know the number.
    files.iter().try_for_each(|file| give(file, user))?;
    Ok(user)
}

pub(crate) fn give(file: &Path, User { uid, gid }: User) -> Result<()> {
    chown(file, Some(uid), Some(gid))
}

/// Prepares this thread for a start of programs as another user: none gets a capability or another user by its file.
pub(crate) fn forbid_new_rights() -> Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let held = capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::empty(), ..held })?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}
