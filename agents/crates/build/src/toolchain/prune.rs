//! Pruning of the store of toolchains: removes those that no release needs and no build has used for days.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fairlead_base::{Trash, file};

use super::{Toolchains, is_site};

/// After its last use, a toolchain stays this long for the next build.
const UNUSED_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Folder of lists, one for each artifact that a release started from here: names of the toolchains that it runs with.
const NEEDS: &str = ".needs";

impl Toolchains {
    /// Records what an artifact runs with, so that a rollback to it finds them.
    pub fn note_needs(&self, digest: &str, names: &[String]) -> io::Result<()> {
        let Some(path) = self.needs(digest).filter(|_| !names.is_empty()) else { return Ok(()) };
        let text = names.join("\n");
        if file::read_if_present(&path)?.is_some_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        fs::create_dir_all(self.folder.join(NEEDS))?;
        file::replace(&path, text.as_bytes(), 0o600)
    }

    /// Sets aside what is not of `named`, not of an artifact of `kept` (hex digits of its digest), and unused for a week; nothing
    /// while one is fetched. Blocking.
    pub fn prune(
        &self,
        trash: &Trash,
        named: &BTreeSet<&str>,
        kept: &BTreeSet<&str>,
        now: SystemTime,
    ) -> io::Result<()> {
        let Ok(_turn) = self.turn.try_lock() else { return Ok(()) };
        let mut needed: BTreeSet<String> = named.iter().map(|name| (*name).to_owned()).collect();
        for entry in entries(&self.folder.join(NEEDS))? {
            if is_unused(&entry, now)? && !kept.contains(entry.file_name().to_string_lossy().as_ref()) {
                fs::remove_file(entry.path())?;
            } else {
                needed.extend(fs::read_to_string(entry.path())?.lines().map(str::to_owned));
            }
        }
        for entry in entries(&self.folder)? {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Other files there are not ours.
            if name.contains('@') && !is_site(&name) && !needed.contains(&name) && is_unused(&entry, now)? {
                tracing::info!(toolchain = name, "removed: no release needs it");
                trash.set_aside(&entry.path())?;
            }
        }
        Ok(())
    }

    fn needs(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| self.folder.join(NEEDS).join(hex))
    }
}

/// Marks a toolchain as used now.
pub(super) fn touch(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.set_modified(SystemTime::now())
}

fn is_unused(entry: &fs::DirEntry, now: SystemTime) -> io::Result<bool> {
    Ok(now.duration_since(entry.metadata()?.modified()?).unwrap_or_default() >= UNUSED_MAX)
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect(),
    }
}
