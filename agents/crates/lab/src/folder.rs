//! Folders of labs. A killed agent leaves its folder, which the next lab removes.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use tempfile::TempDir;

const PREFIX: &str = "fairlead-lab-";
const LOCK: &str = "lock";

/// Folder of a lab, removed on drop. Its lock is held while the lab runs.
#[derive(Debug)]
pub(crate) struct LabFolder {
    folder: TempDir,
    _lock: File,
}

impl LabFolder {
    /// Creates a folder below `parent`, and removes those that no lab holds any more.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        if let Err(error) = remove_stale(parent) {
            tracing::warn!(%error, "folders of former labs stay");
        }
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Gets its name once it is locked: a free lock is that of a dead lab.
        let unlocked = folder.path().join("unlocked");
        let lock = File::create_new(&unlocked)?;
        lock.lock()?;
        std::fs::rename(unlocked, folder.path().join(LOCK))?;
        // Workers of some proxies run as another user and read below it; secrets have modes of their own.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a folder of one program, with a folder `run` for what it writes.
    pub(crate) fn add(&self) -> io::Result<std::path::PathBuf> {
        let folder = tempfile::Builder::new().prefix("peer-").tempdir_in(self.path())?.keep();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o711))?;
        DirBuilder::new().mode(0o755).create(folder.join("run"))?;
        Ok(folder)
    }
}

/// Removes folders of this user with a free lock. A folder without a lock file is still being created.
fn remove_stale(parent: &Path) -> io::Result<()> {
    let own_user = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Not through links: another user may have made one in a shared folder.
        let metadata = entry.metadata()?;
        if !metadata.is_dir() || metadata.uid() != own_user {
            continue;
        }
        let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let lock = OpenOptions::new().read(true).custom_flags(flags).open(entry.path().join(LOCK));
        let lock = match lock {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // Holds the lock until the folder is gone, so that no other lab removes it too.
        match lock.try_lock() {
            Ok(()) => std::fs::remove_dir_all(entry.path())?,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_removes_folders_of_dead_labs_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, file: &str| {
            std::fs::create_dir(parent.path().join(name)).unwrap();
            std::fs::write(parent.path().join(name).join(file), "").unwrap();
        };
        make("fairlead-lab-dead", LOCK);
        make("fairlead-lab-starting", "certificate");
        make("other", LOCK);
        std::os::unix::fs::symlink(parent.path().join("other"), parent.path().join("fairlead-lab-link")).unwrap();
        let alive = LabFolder::create(parent.path()).unwrap();
        let second = LabFolder::create(parent.path()).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        let mut expected = vec![alive.path().to_owned(), second.path().to_owned()];
        expected.extend(["fairlead-lab-link", "fairlead-lab-starting", "other"].map(|name| parent.path().join(name)));
        expected.sort();
        assert_eq!(left, expected);
        assert!(parent.path().join("other").join(LOCK).exists());
    }

    #[test]
    fn labs_that_start_at_once_keep_their_folders() {
        let parent = tempfile::tempdir().unwrap();
        let start = || {
            let labs: Vec<_> = (0..100).map(|_| LabFolder::create(parent.path()).unwrap()).collect();
            labs.iter().all(|lab| lab.path().join(LOCK).exists())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
    }
}
