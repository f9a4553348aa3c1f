//! Rebuild of a damaged `users.json` from the owners of files on the disk. Invariant: a user that may own files is never free
//! again, even when its app can't be determined any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fairlead_base::{Folders, file};

use super::{APP_USERS, Identities};
use crate::instance::InstanceFolder;
use crate::volumes::key_of;

/// Margin of users after the last one found that count as given too, because users are given in sequence.
const MARGIN: u32 = 32;
/// Name prefix of a user without a known app.
const LOST: &str = "lost/";

/// Rebuilt list of users.
#[derive(Debug, PartialEq, Eq)]
pub struct RebuiltUsers {
    /// Number of names that have their user again.
    pub known: usize,
    /// Number of users that are never given to a name again.
    pub lost: usize,
}

impl Identities {
    /// Rebuilds the list and saves it. `damaged` is the text of the old one.
    pub fn rebuild(folders: &Folders, damaged: &[u8]) -> io::Result<RebuiltUsers> {
        let path = folders.state().join("users.json");
        let mut found = OwnerEvidence::default();
        found.read(folders)?;
        found.salvage(&String::from_utf8_lossy(damaged));
        let identities = Self { path, root: true, users: Default::default() };
        let known = found.users.len();
        let lost = found.lost(identities.start());
        let list: BTreeMap<String, u32> =
            found.users.into_iter().chain(lost.iter().map(|user| (format!("{LOST}{user}"), *user))).collect();
        file::replace(&identities.path, &serde_json::to_vec(&list)?, 0o600)?;
        Ok(RebuiltUsers { known, lost: lost.len() })
    }
}

#[derive(Default)]
struct OwnerEvidence {
    users: BTreeMap<String, u32>,
    /// Collects the users of files of this data folder, also of unknown apps.
    seen: BTreeSet<u32>,
    /// Collects the users of processes, also of another data folder's.
    running: BTreeSet<u32>,
}

impl OwnerEvidence {
    fn read(&mut self, folders: &Folders) -> io::Result<()> {
        for instance in entries(&folders.instances())? {
            // Damage to one instance's file must not hide the others.
            if let Ok(Some(spec)) = InstanceFolder::new(instance).spec() {
                self.name(format!("run/{}", spec.key), spec.user);
                self.name(format!("release/{}", spec.key.app), spec.group);
            }
        }
        // The home of an app is never removed.
        for home in entries(&folders.homes())? {
            let key = home.file_name().and_then(|name| name.to_str()).and_then(key_of);
            self.owner(key.map(|key| format!("run/{key}")), &home)?;
        }
        for cache in entries(&folders.caches())? {
            let name = cache.file_name().and_then(|name| name.to_str());
            self.owner(name.map(|name| format!("build/{name}")), &cache)?;
        }
        for folder in [folders.volumes(), folders.builds(), folders.instances(), folders.releases(), folders.trash()] {
            for entry in entries(&folder)? {
                self.owner(None, &entry)?;
                for below in entries(&entry)? {
                    self.owner(None, &below)?;
                }
            }
        }
        for process in entries(Path::new("/proc"))? {
            if let Ok(found) = fs::symlink_metadata(process) {
                self.running.extend([found.uid()].iter().filter(|user| APP_USERS.contains(*user)));
            }
        }
        Ok(())
    }

    /// Records the owner and the group of a file; ignores a file that vanished.
    fn owner(&mut self, name: Option<String>, path: &Path) -> io::Result<()> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        self.seen.extend([found.uid(), found.gid()].iter().filter(|user| APP_USERS.contains(*user)));
        if let Some(name) = name {
            self.name(name, Some(found.uid()));
        }
        Ok(())
    }

    /// Keeps the first evidence for a name, and gives no two names the same user.
    fn name(&mut self, name: String, user: Option<u32>) {
        let Some(user) = user.filter(|user| APP_USERS.contains(user)) else { return };
        self.seen.insert(user);
        if !self.users.values().any(|taken| *taken == user) {
            self.users.entry(name).or_insert(user);
        }
    }

    /// Takes pairs from the damaged list for names without evidence on the disk.
    fn salvage(&mut self, text: &str) {
        for pair in text.split(['{', ',', '}']) {
            let Some((name, user)) = pair.rsplit_once(':') else { continue };
            let Ok(user) = user.trim().parse::<u32>() else { continue };
            let name = name.trim().trim_matches('"');
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte);
            let kind = ["run/", "release/", "build/"].iter().any(|kind| name.starts_with(kind));
            if APP_USERS.contains(&user) {
                self.seen.insert(user);
                if kind && name.bytes().all(plain) {
                    self.name(name.to_owned(), Some(user));
                }
            }
        }
    }

    /// Lists every user without a name, from the first given to the last found and a margin.
    fn lost(&self, start: u32) -> Vec<u32> {
        let size = APP_USERS.end() - APP_USERS.start() + 1;
        let step = |user: &u32| (user - APP_USERS.start() + size - start) % size;
        let last = self.seen.iter().map(step).filter(|step| *step < size / 2).max().map_or(0, |step| step + MARGIN);
        let in_sequence = (0..=last).map(|step| APP_USERS.start() + (start + step) % size);
        let named: BTreeSet<u32> = self.users.values().copied().collect();
        let lost: BTreeSet<u32> = self.seen.union(&self.running).copied().chain(in_sequence).collect();
        lost.difference(&named).copied().collect()
    }
}

/// Lists the entries of a folder; empty if it is gone or no folder.
fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    match fs::read_dir(folder) {
        Ok(found) => found.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn apps_keep_their_users_and_no_user_that_may_own_files_is_given_again() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let path = folders.state().join("users.json");
        let first = Identities::open(&folders).unwrap();
        let names = ["build/app_a-env_p", "run/app_a/env_p", "release/app_a", "run/app_gone/env_p", "release/app_gone"];
        let users = names.map(|name| first.user_for(name).unwrap().unwrap());
        // Two apps have homes; only the text knows the others, and half of it is lost.
        for (home, user) in [("app_a-env_p", users[1]), ("app_gone-env_p", users[3])] {
            let home = folders.homes().join(home);
            fs::create_dir(&home).unwrap();
            chown(&home, Some(user), Some(user)).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let half = &text.as_bytes()[..text.find("release/app_gone").unwrap()];
        fs::write(&path, half).unwrap();
        let error = Identities::open(&folders).unwrap_err().to_string();
        assert!(error.contains("users.json is damaged") && error.contains("check --repair"), "{error}");
        let rebuilt = Identities::rebuild(&folders, half).unwrap();
        assert!(rebuilt.known >= 4 && rebuilt.lost > 0, "{rebuilt:?}");
        let again = Identities::open(&folders).unwrap();
        for (name, user) in names.iter().zip(users).take(4) {
            assert_eq!(again.user_for(name).unwrap(), Some(user), "{name}");
        }
        let new = again.user_for("run/app_new/env_p").unwrap().unwrap();
        assert!(!users.contains(&new), "{new} of {users:?}");
        // A new list would allocate a user that owns files.
        fs::remove_file(&path).unwrap();
        let twin = Identities::open(&folders).unwrap();
        assert!(users.contains(&twin.user_for("run/app_new/env_p").unwrap().unwrap()));
    }
}
