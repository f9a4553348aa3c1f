//! The repository of one build, kept for the next build of the same app and environment: its `.git` folder with those of its
//! submodules and its large files. Invariant: no command of a repository reaches the kept folder, so git may trust it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fairlead_base::tree;
use rustix::io::Errno;

use crate::BuildError;
use crate::as_user::as_user;
use crate::build_folders::{BuildFolders, blocking};
use crate::command::Workshop;

/// Folders within folders of a `.git`: modules nest, and a repository names them.
const DEPTH_MAX: usize = 100;
/// Share of a build's disk bound that the kept repository may take.
const DISK_SHARE: u64 = 4;

/// Moves the kept repository into the source. Returns false when there is none that this build may use.
pub(super) async fn take(workshop: &Workshop<'_>) -> Result<bool, BuildError> {
    let (build_folders, owner) = (workshop.build_folders.clone(), workshop.options.user);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    blocking("taking the kept repository", move || {
        let (kept, into) = (kept(&build_folders), build_folders.source.join(".git"));
        let found = match fs::symlink_metadata(&kept) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        let owner = owner.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        if !found.is_dir() || found.uid() != owner {
            return tree::remove(&kept);
        }
        match fs::rename(&kept, into) {
            // The caches lie on another disk than the builds.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => return tree::remove(&kept),
            moved => moved?,
        }
        // The receiver is gone only when the build is.
        sender.send(()).ok();
        Ok(())
    })
    .await?;
    Ok(receiver.await.is_ok())
}

/// Moves the repository back, as it is: no command of it has run yet.
pub(super) async fn put_back(workshop: &Workshop<'_>) -> Result<(), BuildError> {
    let build_folders = workshop.build_folders.clone();
    blocking("putting the kept repository back", move || {
        tree::remove(&kept(&build_folders))?;
        match fs::rename(build_folders.source.join(".git"), kept(&build_folders)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            moved => moved,
        }
    })
    .await
}

/// Empties the source folder of the build.
pub(super) async fn discard(workshop: &Workshop<'_>) -> Result<(), BuildError> {
    let (source, user) = (workshop.build_folders.source.clone(), workshop.options.user);
    blocking("emptying the source", move || {
        as_user(user, || {
            for entry in fs::read_dir(&source)? {
                tree::remove(&entry?.path())?;
            }
            Ok(())
        })?
    })
    .await
}

/// Copies the repository for the next build. A hard link would let this build's commands change what is kept.
pub(super) async fn keep(workshop: &Workshop<'_>) -> Result<(), BuildError> {
    let (build_folders, user) = (workshop.build_folders.clone(), workshop.options.user);
    let mut left_bytes = workshop.limits.disk_bytes_max / DISK_SHARE;
    blocking("keeping the repository", move || {
        let copy = build_folders.tmp.join("repository");
        let from = build_folders.source.join(".git");
        if as_user(user, || copy_folder(&from, &copy, &mut left_bytes, 0))?? {
            tree::remove(&kept(&build_folders))?;
            return match fs::rename(&copy, kept(&build_folders)) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => tree::remove(&copy),
                moved => moved,
            };
        }
        tree::remove(&copy)
    })
    .await
}

fn kept(build_folders: &BuildFolders) -> std::path::PathBuf {
    build_folders.repository.join("git")
}

/// Copies files and folders, no links. Returns false once there is more than may be kept.
fn copy_folder(from: &Path, to: &Path, left_bytes: &mut u64, depth: usize) -> io::Result<bool> {
    if depth > DEPTH_MAX {
        return Ok(false);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            if !copy_folder(&entry.path(), &to, left_bytes, depth + 1)? {
                return Ok(false);
            }
        } else if kind.is_file() {
            // An empty file takes room as well.
            match left_bytes.checked_sub(entry.metadata()?.len().max(1 << 9)) {
                Some(left) => *left_bytes = left,
                None => return Ok(false),
            }
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_files_and_folders_but_no_links_and_ends_at_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("objects/pack")).unwrap();
        fs::write(from.join("objects/pack/one"), vec![1; 2048]).unwrap();
        fs::write(from.join("HEAD"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        assert!(copy_folder(&from, &dir.path().join("to"), &mut 2560, 0).unwrap());
        assert_eq!(fs::read(dir.path().join("to/objects/pack/one")).unwrap(), vec![1; 2048]);
        assert!(!dir.path().join("to/link").exists());
        assert!(!copy_folder(&from, &dir.path().join("less"), &mut 2559, 0).unwrap());
        for _ in 0..=DEPTH_MAX {
            fs::create_dir_all(dir.path().join("deep").join("d/".repeat(DEPTH_MAX + 1))).unwrap();
        }
        assert!(!copy_folder(&dir.path().join("deep"), &dir.path().join("into"), &mut u64::MAX.clone(), 0).unwrap());
    }
}
