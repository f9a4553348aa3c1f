//! Writable layer of one instance over its release. An overlay shows the release as the app user's own; where the server can't
//! mount one, the layer is a copy. Invariant: the release itself is never written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown, lchown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::{Folders, random, tree};
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::layer_bound::{FREE_BYTES_RESERVE, bytes_of, free_bytes};

/// Folder of a layer that the instance sees as `/app`.
const APP: &str = "app";
/// Maximum number of releases copied at once: each copy keeps the disk busy.
const COPIES_MAX: usize = 2;
/// Names are relative, because paths would have to be escaped. Features that a kernel may have switched on are not needed.
const OVERLAY: &std::ffi::CStr = c"lowerdir=app,upperdir=upper,workdir=work,index=off,metacopy=off";

/// Kind of an instance's layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LayerKind {
    /// Overlay: only what the instance changes takes space (overlayfs, Linux 5.19 for its users).
    Overlay,
    /// Copy of the whole release, made at each start.
    Copy,
}

impl LayerKind {
    /// Tries what the kernel and the file system of the data folder can do.
    pub(crate) fn detect(folders: &Folders) -> Self {
        let probe = folders.instances().join(format!(".layer-{}", random::alphanumeric(12)));
        let tried = std::thread::scope(|scope| scope.spawn(|| try_overlay(&folders.releases(), &probe)).join());
        let tried = tried.unwrap_or_else(|_| Err(io::Error::other("the attempt ended unexpectedly")));
        if let Err(error) = tree::remove(&probe) {
            tracing::warn!(folder = %probe.display(), %error, "could not be removed");
        }
        match tried {
            Ok(()) => Self::Overlay,
            Err(error) => {
                tracing::info!(%error, "instances get copies of their releases: overlays can't be mounted here");
                Self::Copy
            }
        }
    }

    /// Makes the folders of a layer in a new folder of the agent's own.
    pub(crate) fn make(self, release: &Path, layer: &Path, user: u32) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(layer)?;
        match self {
            Self::Copy => copy(release, &layer.join(APP), user),
            Self::Overlay => {
                for (name, owner) in [(APP, None), ("upper", Some(user)), ("work", None)] {
                    make_folder(&layer.join(name), owner)?;
                }
                Ok(())
            }
        }
    }

    /// Mounts the layer in this process's own mounts; returns the folder to show as `/app`. Changes the working directory.
    pub(crate) fn mount(self, release: &Path, layer: &Path, user: u32) -> io::Result<PathBuf> {
        let app = layer.join(APP);
        if self == Self::Overlay {
            // The mount goes under the overlay, which keeps its own reference to it.
            owned_by(release, user, &app)?;
            std::env::set_current_dir(layer)?;
            mount("overlay", APP, "overlay", MountFlags::NOSUID | MountFlags::NODEV, OVERLAY)?;
        }
        Ok(app)
    }
}

/// Refusal of a copy that would fill the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the copy of its release needs {} MiB of the server's disk, where {} MiB are free. Free some space, then deploy again",
    .needed_bytes.div_ceil(1 << 20), .free_bytes >> 20
)]
pub(crate) struct DiskFull {
    /// Size of the release, with the space that stays free.
    pub(crate) needed_bytes: u64,
    pub(crate) free_bytes: u64,
}

impl DiskFull {
    fn check(release: &Path, free_bytes: Option<u64>) -> Result<(), Self> {
        let needed_bytes = bytes_of(release).saturating_add(FREE_BYTES_RESERVE);
        match free_bytes {
            Some(free_bytes) if free_bytes < needed_bytes => Err(Self { needed_bytes, free_bytes }),
            _ => Ok(()),
        }
    }
}

impl From<DiskFull> for io::Error {
    fn from(error: DiskFull) -> Self {
        Self::new(io::ErrorKind::StorageFull, error)
    }
}

/// Permits of starts that copy a release.
#[derive(Debug)]
pub(crate) struct CopyPermits(Arc<Semaphore>);

impl Default for CopyPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(COPIES_MAX)))
    }
}

impl CopyPermits {
    /// Waits for a permit to copy; returns at once if nothing is copied.
    pub(crate) async fn take(&self, layer: Option<LayerKind>) -> Option<OwnedSemaphorePermit> {
        match layer {
            // The semaphore is never closed.
            Some(LayerKind::Copy) => self.0.clone().acquire_owned().await.ok(),
            _ => None,
        }
    }
}

/// Mounts an overlay over a folder of the agent's own, and writes there. Runs in a thread that does nothing else.
#[allow(unsafe_code)]
fn try_overlay(release: &Path, layer: &Path) -> io::Result<()> {
    const USER: u32 = 65_533;
    // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; it isn't given.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    LayerKind::Overlay.make(release, layer, USER)?;
    let app = LayerKind::Overlay.mount(release, layer, USER)?;
    fs::write(app.join("probe"), "")?;
    fs::remove_file(app.join("probe"))
}

/// Mounts a folder so that root's files in it appear as the user's (mount_setattr(2), idmapped mounts).
fn owned_by(folder: &Path, user: u32, at: &Path) -> io::Result<()> {
    let users = user_namespace(user)?;
    let tree = open_tree(CWD, folder, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    map_users(tree.as_fd(), users.as_fd())?;
    move_mount(&tree, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

#[allow(unsafe_code)]
fn map_users(tree: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
    let users = u64::try_from(users.as_raw_fd()).map_err(io::Error::other)?;
    let attributes = MountAttributes { set: MOUNT_ATTR_IDMAP, clear: 0, propagation: 0, users };
    let (tree, size) = (tree.as_raw_fd(), size_of::<MountAttributes>());
    // SAFETY: the call takes descriptors that are open and reads one structure that outlives it.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, tree, c"".as_ptr(), libc::AT_EMPTY_PATH, &raw const attributes, size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a user namespace in which root is this user. A process is needed to make one, and ends before this returns.
#[allow(unsafe_code)]
fn user_namespace(user: u32) -> io::Result<OwnedFd> {
    let (mut ours, theirs) = UnixStream::pair()?;
    // SAFETY: after the fork the child makes system calls only, and ends without returning.
    let child = unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let made: u8 = u8::from(libc::unshare(libc::CLONE_NEWUSER) == 0);
                libc::write(theirs.as_raw_fd(), (&raw const made).cast(), 1);
                loop {
                    libc::pause();
                }
            }
            child => Pid::from_raw(child).ok_or(io::ErrorKind::InvalidData)?,
        }
    };
    drop(theirs);
    let mapped = (|| {
        let mut made = [0];
        ours.read_exact(&mut made)?;
        if made == [0] {
            return Err(io::Error::other("user namespaces are switched off"));
        }
        let process = PathBuf::from(format!("/proc/{child}"));
        for map in ["uid_map", "gid_map"] {
            fs::write(process.join(map), format!("0 {user} 1"))?;
        }
        File::open(process.join("ns/user"))
    })();
    rustix::process::kill_process(child, rustix::process::Signal::KILL)?;
    waitpid(Some(child), WaitOptions::empty())?;
    mapped.map(OwnedFd::from)
}

/// Copies a release, as the user's own. Shares blocks where the file system can; elsewhere the disk must have room for all of them.
fn copy(release: &Path, into: &Path, user: u32) -> io::Result<()> {
    make_folder(into, Some(user))?;
    let mut has_room = false;
    let mut folders = vec![(release.to_owned(), into.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, source, copy) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
            if kind.is_dir() {
                make_folder(&copy, Some(user))?;
                folders.push((source, copy));
            } else if kind.is_symlink() {
                symlink(fs::read_link(&source)?, &copy)?;
                lchown(&copy, Some(user), Some(user))?;
            } else if kind.is_file() {
                copy_file(&source, &copy, user, || {
                    if !has_room {
                        DiskFull::check(release, free_bytes(into))?;
                    }
                    has_room = true;
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, user: u32, mut require_room: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut from = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(from)?;
    let found = from.metadata()?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    if found.len() > 0 && rustix::fs::ioctl_ficlone(&to, &from).is_err() {
        require_room()?;
        io::copy(&mut from, &mut to)?;
    }
    // Servers derive ETags from it, which must be the same in all instances.
    to.set_modified(found.modified()?)?;
    to.set_permissions(found.permissions())?;
    fchown(&to, Some(user), Some(user))
}

fn make_folder(path: &Path, owner: Option<u32>) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    // The umask may have removed some bits.
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))?;
    if owner.is_some() { chown(path, owner, owner) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use futures_util::FutureExt;

    use super::*;

    const USER: u32 = 71_236;

    #[test]
    fn a_copy_is_the_users_and_keeps_links_programs_and_times() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (release, layer) = (dir.path().join("release"), dir.path().join("layer"));
        fs::create_dir_all(release.join("bin")).unwrap();
        fs::write(release.join("bin/run"), "#!").unwrap();
        fs::set_permissions(release.join("bin/run"), PermissionsExt::from_mode(0o755)).unwrap();
        File::open(release.join("bin/run")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        symlink("/etc/shadow", release.join("link")).unwrap();
        LayerKind::Copy.make(&release, &layer, USER).unwrap();
        let app = layer.join(APP);
        let program = fs::metadata(app.join("bin/run")).unwrap();
        assert_eq!((program.uid(), program.mode() & 0o777, program.mtime()), (USER, 0o755, 0));
        assert_eq!(fs::metadata(app.join("bin")).unwrap().uid(), USER);
        let link = fs::symlink_metadata(app.join("link")).unwrap();
        assert!(link.is_symlink() && link.uid() == USER);
        assert_eq!(fs::metadata("/etc/shadow").unwrap().uid(), 0);
        assert_eq!(fs::metadata(&layer).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(release.join("bin/run")).unwrap().uid(), 0);
    }

    #[test]
    fn a_copy_needs_room_for_the_release_and_for_what_stays_free() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), vec![1; 2 << 20]).unwrap();
        assert_eq!(DiskFull::check(dir.path(), None), Ok(()));
        assert_eq!(DiskFull::check(dir.path(), Some(FREE_BYTES_RESERVE + (3 << 20))), Ok(()));
        let free_bytes = FREE_BYTES_RESERVE + (1 << 20);
        let error = DiskFull::check(dir.path(), Some(free_bytes)).unwrap_err();
        assert!(error.free_bytes == free_bytes && error.needed_bytes >= FREE_BYTES_RESERVE + (2 << 20), "{error:?}");
        assert!(
            error.to_string().contains("needs 259 MiB") && error.to_string().contains("257 MiB are free"),
            "{error}"
        );
        let error = io::Error::from(error);
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.get_ref().is_some_and(|inner| inner.is::<DiskFull>()));
    }

    #[tokio::test]
    async fn only_a_few_releases_are_copied_at_once() {
        let turns = CopyPermits::default();
        let first = turns.take(Some(LayerKind::Copy)).await;
        let second = turns.take(Some(LayerKind::Copy)).now_or_never().unwrap();
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(turns.take(Some(LayerKind::Copy)));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(turns.take(Some(LayerKind::Overlay)).now_or_never().unwrap().is_none());
        assert!(turns.take(None).now_or_never().unwrap().is_none());
        drop(first);
        assert!(third.await.is_some());
    }

    #[test]
    fn the_attempt_to_mount_an_overlay_leaves_nothing() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        // The kernel of this machine decides which kind.
        LayerKind::detect(&folders);
        assert_eq!(fs::read_dir(folders.instances()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(folders.releases()).unwrap().count(), 0);
    }
}
