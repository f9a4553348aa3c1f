//! Allocates a system user to each app in an environment, and to its builds there. Invariant: a user is never given to
//! another app, because files on disk belong to it. Makes no accounts: numbers are enough for the kernel.

mod rebuild;

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fairlead_base::{Folders, StateFileError, accounts, file, state_file};
use fairlead_model::AppKey;

pub use rebuild::RebuiltUsers;

/// Range of users: above what Debian, systemd's dynamic users (61184 to 65519) and uid 65534 use, below the first
/// subordinate ids (100000).
pub const APP_USERS: RangeInclusive<u32> = 70_000..=89_999;

/// Users by name, stored in `state/users.json`.
#[derive(Debug)]
pub struct Identities {
    path: PathBuf,
    root: bool,
    users: Mutex<BTreeMap<String, u32>>,
}

impl Identities {
    /// Reads `state/users.json`.
    pub fn open(folders: &Folders) -> Result<Self, StateFileError> {
        let path = folders.state().join("users.json");
        let parse = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| error.to_string());
        let users = state_file::read(&path, parse)?.unwrap_or_default();
        Ok(Self { path, root: rustix::process::geteuid().is_root(), users: Mutex::new(users) })
    }

    /// Returns the user of `name`, allocated and saved at its first call. `None` if the agent isn't root and all run as
    /// the agent's user.
    pub fn user_for(&self, name: &str) -> io::Result<Option<u32>> {
        if !self.root {
            return Ok(None);
        }
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = users.get(name) {
            return Ok(Some(*user));
        }
        let accounts = accounts::users()?;
        // Two data folders on one server start at different users: the end of a build kills all processes of its user.
        let (size, start) = (APP_USERS.end() - APP_USERS.start() + 1, self.start());
        let mut candidates = (0..size).map(|step| APP_USERS.start() + (start + step) % size);
        let free = candidates.find(|user| !users.values().any(|taken| taken == user) && !accounts.contains(user));
        let user = free.ok_or_else(|| io::Error::other("all 20000 users for apps are taken on this server"))?;
        let mut changed = users.clone();
        changed.insert(name.to_owned(), user);
        // Save before use: two names must never share a user, also after a crash.
        file::replace(&self.path, &serde_json::to_vec(&changed)?, 0o600)?;
        *users = changed;
        Ok(Some(user))
    }

    /// Returns the user of an app's processes in an environment, who owns its volumes.
    pub fn app_user(&self, key: &AppKey) -> io::Result<Option<u32>> {
        self.user_for(&format!("run/{key}"))
    }

    /// Returns the start of this folder's search: the same at every start, seldom that of another folder (FNV-1a of its
    /// path).
    fn start(&self) -> u32 {
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        self.path.as_os_str().as_bytes().iter().fold(0x811c_9dc5, step) % (APP_USERS.end() - APP_USERS.start() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_user_and_keeps_it_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let first = Identities::open(&folders).unwrap();
        let (a, b) = (first.user_for("run/a").unwrap(), first.user_for("run/b").unwrap());
        if !rustix::process::geteuid().is_root() {
            assert_eq!((a, b), (None, None));
            return;
        }
        assert_ne!(a, b);
        drop(first);
        let second = Identities::open(&folders).unwrap();
        assert_eq!(second.user_for("run/b").unwrap(), b);
        assert!(![a, b].contains(&second.user_for("run/c").unwrap()));
    }

    #[test]
    fn two_folders_begin_apart_and_stay_within_the_range() {
        let users = ["/var/lib/fairlead", "/srv/fairlead"].map(|root| {
            let dir = tempfile::tempdir().unwrap();
            let path = PathBuf::from(root).join("users.json");
            let kept = dir.path().join("users.json");
            let start = Identities { path, root: true, users: Mutex::default() }.start();
            let identities = Identities { path: kept, root: true, users: Mutex::default() };
            assert!(APP_USERS.contains(&identities.user_for("run/a").unwrap().unwrap()));
            start
        });
        assert!(users[0].abs_diff(users[1]) > 100, "{users:?}");
    }
}
