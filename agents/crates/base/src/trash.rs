//! Trash folder: takes folder trees out of use with one rename. Removing a tree may take long or fail, so nothing waits for it;
//! the process that empties the trash finds its entries also after a restart.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tokio::sync::Notify;

use crate::{Folders, random, tree};

/// Name of the trash in a part of the data folder that is a mount of its own.
const ON_MOUNT: &str = ".trash";
/// Number of characters of the former name that an entry keeps, for logs.
const NAME_BYTES_MAX: usize = 100;

/// The trash of a data folder.
#[derive(Debug, Clone)]
pub struct Trash {
    root: PathBuf,
    central: PathBuf,
    filled: Arc<Notify>,
}

impl Trash {
    /// Names the trash; creates nothing.
    pub fn new(folders: &Folders) -> Self {
        Self { root: folders.root().to_owned(), central: folders.trash(), filled: Arc::default() }
    }

    /// Moves a folder into the trash; removes a file or link at once. Returns false when there is nothing at `path`.
    pub fn set_aside(&self, path: &Path) -> io::Result<bool> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            found => found?,
        };
        let moved = match found.is_dir() {
            true => self.take(path),
            false => fs::remove_file(path),
        };
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            moved => moved.map(|()| true),
        }
    }

    fn take(&self, path: &Path) -> io::Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name: String =
            name.chars().filter(|letter| letter.is_ascii_graphic() && *letter != '/').take(NAME_BYTES_MAX).collect();
        let name = format!("{name}.{}", random::alphanumeric(12));
        match self.move_to(path, &self.central, &name) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => match self.on_mount(path) {
                Some(trash) => self.move_to(path, &trash, &name),
                None => Err(error),
            },
            moved => moved,
        }
    }

    fn move_to(&self, path: &Path, trash: &Path, name: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(trash)?;
        let to = trash.join(name);
        let moved = match fs::rename(path, &to) {
            // Without root's rights, a folder that moves must be writable, because its `..` changes.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::ACCESS) => {
                tree::take_rights(path).and_then(|()| fs::rename(path, &to))
            }
            moved => moved,
        };
        moved?;
        self.filled.notify_one();
        Ok(())
    }

    /// Returns the trash on the mount of one of the data folder's parts.
    fn on_mount(&self, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix(&self.root).ok()?.components().next()? {
            Component::Normal(part) => Some(self.root.join(part).join(ON_MOUNT)),
            _ => None,
        }
    }

    /// Lists everything that was set aside and not removed yet, also by former runs.
    pub fn entries(&self) -> io::Result<Vec<PathBuf>> {
        let mut trashes = vec![self.central.clone()];
        for part in fs::read_dir(&self.root)? {
            trashes.push(part?.path().join(ON_MOUNT));
        }
        let mut entries = Vec::new();
        for trash in trashes {
            match fs::read_dir(&trash) {
                Ok(found) => {
                    for entry in found {
                        entries.push(entry?.path());
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(error),
            }
        }
        entries.sort();
        Ok(entries)
    }

    /// Waits until something is set aside after the last call.
    pub async fn wait_for_entries(&self) {
        self.filled.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn trash() -> (tempfile::TempDir, Folders, Trash) {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(&dir.path().join("data")).unwrap();
        folders.create().unwrap();
        let trash = Trash::new(&folders);
        (dir, folders, trash)
    }

    #[tokio::test]
    async fn a_folder_leaves_its_name_at_once_and_is_found_again_by_the_next_run() {
        let (_dir, folders, trash) = trash();
        let (folder, file, link) =
            (folders.builds().join("dep_1"), folders.builds().join("file"), folders.builds().join("link"));
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(&file, "").unwrap();
        symlink(&folder, &link).unwrap();
        assert!(trash.set_aside(&file).unwrap() && trash.set_aside(&link).unwrap());
        assert!(!file.exists() && fs::symlink_metadata(&link).is_err() && folder.join("inner").exists());
        assert!(trash.set_aside(&folder).unwrap() && !trash.set_aside(&folder).unwrap());
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        assert!(trash.set_aside(&folder).unwrap(), "the same name may come again");
        trash.wait_for_entries().await;
        let entries = Trash::new(&folders).entries().unwrap();
        assert_eq!(entries.len(), 2);
        assert!(entries.iter().all(|entry| entry.to_string_lossy().contains("/trash/dep_1.")), "{entries:?}");
        assert_eq!(fs::metadata(folders.trash()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    #[allow(unsafe_code)]
    fn a_part_of_the_data_folder_that_is_a_mount_has_a_trash_of_its_own() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_dir, folders, trash) = trash();
        let work = || {
            use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
            // SAFETY: the mount namespace of this thread alone changes, and the thread ends after the test.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
            mount("tmpfs", folders.volumes(), "tmpfs", MountFlags::empty(), None).unwrap();
            let folder = folders.volumes().join("app_1-env_1/data");
            fs::create_dir_all(&folder).unwrap();
            assert!(trash.set_aside(&folder).unwrap() && !folder.exists());
            assert!(trash.set_aside(&folders.volumes()).is_err(), "the mount itself can't move");
            trash.entries().unwrap()
        };
        let entries = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
        assert_eq!(entries.len(), 1);
        assert!(entries[0].starts_with(folders.volumes().join(ON_MOUNT)), "{entries:?}");
    }
}
