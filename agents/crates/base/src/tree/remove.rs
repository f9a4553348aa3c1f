//! Removal of everything below a folder. Folders below a bounded depth are renamed up first, so the walk never needs `..` and
//! never depends on where the tree's owner moves folders.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, chmod, fchmod, fstat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{HELD_MAX, is_dots, open_folder, open_inside};
use crate::random;

/// Maximum number of passes over one folder that another process keeps filling.
const PASSES_MAX: u32 = 8;
/// Maximum number of such passes in the whole tree.
const REFILLED_MAX: u32 = 1_000;
/// Number of entries that a report names; it counts the rest.
const NAMED_MAX: usize = 8;
/// Longest path in a report, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// An entry that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Path below the emptied folder. A long path is cut to its end, after `…`.
    pub path: String,
    pub reason: String,
}

/// Result of emptying a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Number of removed entries.
    pub removed: u64,
    /// First entries that stay, each with its reason.
    pub left: Vec<Leftover>,
    /// Number of entries that stay, without the folders that only hold them.
    pub left_count: u64,
    /// True if the work stopped before its end.
    pub stopped: bool,
}

impl Removal {
    /// True if nothing is left.
    pub fn is_complete(&self) -> bool {
        self.left_count == 0 && !self.stopped
    }

    fn leave(&mut self, levels: &[RemovalLevel], name: &CStr, error: Errno) {
        self.left_count += 1;
        if self.left.len() < NAMED_MAX {
            let reason = match error {
                Errno::XDEV | Errno::BUSY => "it is a mount point or lies on another file system".to_owned(),
                Errno::NOTEMPTY => "it was filled again each time it was emptied".to_owned(),
                error => io::Error::from(error).to_string(),
            };
            self.left.push(Leftover { path: shown(levels, name), reason });
        }
    }
}

/// Removes a file, a link, or a folder with everything below it; succeeds when nothing is there. Blocking.
pub fn remove(path: &Path) -> io::Result<()> {
    let (parent, name) = match split(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        split => split?,
    };
    match unlinkat(&parent, &name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        done => return gone(done),
    }
    let folder = match open_owned(parent.as_fd(), &name, fstat(&parent)?.st_dev) {
        Err(Errno::NOENT) => return Ok(()),
        folder => folder?,
    };
    match empty(folder, || false)?.left.first() {
        Some(left) => Err(io::Error::other(format!("{} stays: {}", left.path, left.reason))),
        None => gone(unlinkat(&parent, &name, AtFlags::REMOVEDIR)),
    }
}

/// Makes a folder readable and writable for its owner; never follows a link.
pub(crate) fn take_rights(path: &Path) -> io::Result<()> {
    let (parent, name) = split(path)?;
    open_owned(parent.as_fd(), &name, fstat(&parent)?.st_dev)?;
    Ok(())
}

fn split(path: &Path) -> io::Result<(OwnedFd, CString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((parent, CString::new(name.as_bytes())?))
}

fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes everything below `folder`, which stays. Calls `stop` before each entry. Blocking.
pub fn empty(folder: OwnedFd, stop: impl FnMut() -> bool) -> io::Result<Removal> {
    let top = RemovalLevel::new(folder, CString::default())?;
    let mut work = Work { levels: vec![top], removal: Removal::default(), refilled: 0, stop };
    while !work.levels.is_empty() {
        if (work.stop)() {
            work.removal.stopped = true;
            break;
        }
        work.step()?;
    }
    Ok(work.removal)
}

/// Folder on the way down.
struct RemovalLevel {
    dir: Dir,
    device: u64,
    /// Name in the folder above; empty at the top.
    name: CString,
    passes: u32,
    /// True if a folder from below was moved here, so another pass is needed.
    received: bool,
    /// Entries here that stay: they are not retried, and the folder can't be removed.
    left: HashSet<CString>,
}

impl RemovalLevel {
    fn new(folder: OwnedFd, name: CString) -> io::Result<Self> {
        let device = own(folder.as_fd())?;
        let mut dir = Dir::new(folder)?;
        // Another reader may have used the same descriptor.
        dir.rewind();
        Ok(Self { dir, device, name, passes: 0, received: false, left: HashSet::new() })
    }
}

/// Restores the rights that the owner of a folder may lack, as in Go's read-only modules; returns the folder's device.
fn own(folder: BorrowedFd<'_>) -> rustix::io::Result<u64> {
    let found = fstat(folder)?;
    let mode = Mode::from_raw_mode(found.st_mode as RawMode);
    if !mode.contains(Mode::RWXU) {
        match fchmod(folder, mode | Mode::RWXU) {
            // Not the owner: the errors of the entries show the consequence.
            Ok(()) | Err(Errno::PERM | Errno::ROFS) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found.st_dev)
}

struct Work<S> {
    levels: Vec<RemovalLevel>,
    removal: Removal,
    refilled: u32,
    stop: S,
}

impl<S: FnMut() -> bool> Work<S> {
    fn step(&mut self) -> io::Result<()> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        match level.dir.read() {
            Some(Ok(entry)) if is_dots(entry.file_name()) => Ok(()),
            Some(Ok(entry)) => {
                let name = entry.file_name().to_owned();
                if !level.left.contains(&name) {
                    self.entry(&name, entry.file_type())?;
                }
                Ok(())
            }
            Some(Err(error)) => {
                let name = level.name.clone();
                self.levels.pop();
                self.leave(&name, error);
                Ok(())
            }
            None => self.finish(),
        }
    }

    fn entry(&mut self, name: &CStr, kind: FileType) -> io::Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let (parent, device) = (level.dir.fd()?, level.device);
        if kind != FileType::Directory {
            match unlinkat(parent, name, AtFlags::empty()) {
                Err(Errno::ISDIR) => {}
                done => {
                    self.done(name, done);
                    return Ok(());
                }
            }
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            // The owner replaced it.
            Err(Errno::NOTDIR) => {
                let done = unlinkat(parent, name, AtFlags::empty());
                self.done(name, done);
                return Ok(());
            }
            done => {
                self.done(name, done);
                return Ok(());
            }
        }
        if self.levels.len() >= HELD_MAX {
            let moved = self.move_up(name);
            if !matches!(moved, Ok(()) | Err(Errno::NOENT)) {
                self.done(name, moved);
            }
            return Ok(());
        }
        match open_owned(parent, name, device) {
            Ok(folder) => self.levels.push(RemovalLevel::new(folder, name.to_owned())?),
            // Another process replaced it; the next pass removes the new entry.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {}
            Err(error) => self.leave(name, error),
        }
        Ok(())
    }

    fn done(&mut self, name: &CStr, done: rustix::io::Result<()>) {
        match done {
            Ok(()) => self.removal.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => self.leave(name, error),
        }
    }

    fn leave(&mut self, name: &CStr, error: Errno) {
        self.removal.leave(&self.levels, name, error);
        self.keep(name);
    }

    /// Records an entry of the deepest level that stays.
    fn keep(&mut self, name: &CStr) {
        if let Some(level) = self.levels.last_mut() {
            level.left.insert(name.to_owned());
        }
    }

    /// Renames a folder of the deepest level to the highest level on the same device: the top, unless it is on a subvolume.
    fn move_up(&mut self, name: &CStr) -> rustix::io::Result<()> {
        let Some((level, above)) = self.levels.split_last_mut() else { return Ok(()) };
        let Some(target) = above.iter_mut().find(|target| target.device == level.device) else {
            return Err(Errno::XDEV);
        };
        let new_name = format!("moved-{}", random::alphanumeric(16));
        let moved = match renameat(level.dir.fd()?, name, target.dir.fd()?, &new_name) {
            // A folder that moves must be writable, because its `..` changes.
            Err(Errno::ACCESS) => {
                open_owned(level.dir.fd()?, name, level.device)?;
                renameat(level.dir.fd()?, name, target.dir.fd()?, &new_name)
            }
            moved => moved,
        };
        target.received |= moved.is_ok();
        moved
    }

    /// Ends a pass over the deepest level: goes up when the level is gone, else begins another pass or leaves it.
    fn finish(&mut self) -> io::Result<()> {
        let Some((level, above)) = self.levels.split_last_mut() else { return Ok(()) };
        if std::mem::take(&mut level.received) {
            level.dir.rewind();
            return Ok(());
        }
        let Some(parent) = above.last() else {
            self.levels.pop();
            return Ok(());
        };
        let removed = match unlinkat(parent.dir.fd()?, &level.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if level.left.is_empty() => {
                level.passes += 1;
                self.refilled += 1;
                if level.passes < PASSES_MAX && self.refilled < REFILLED_MAX {
                    level.dir.rewind();
                    return Ok(());
                }
                Err(Errno::NOTEMPTY)
            }
            removed => removed,
        };
        let Some(level) = self.levels.pop() else { return Ok(()) };
        if removed.is_err() && !level.left.is_empty() {
            // Its entries are in the report already.
            self.keep(&level.name);
        } else {
            // The owner replaced it.
            let removed = if removed == Err(Errno::NOTDIR) { Ok(()) } else { removed };
            self.done(&level.name, removed);
        }
        Ok(())
    }
}

/// Opens a folder inside another one, and restores the rights to read and change it if its owner took them away.
fn open_owned(parent: BorrowedFd<'_>, name: &CStr, device: u64) -> rustix::io::Result<OwnedFd> {
    match open_folder(parent, name, device) {
        Err(Errno::ACCESS) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = open_inside(parent, name, flags, device)?;
            // A descriptor that was opened for its path alone can be changed only through this name of the same inode.
            chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
            open_folder(parent, name, device)
        }
        folder => {
            let folder = folder?;
            own(folder.as_fd())?;
            Ok(folder)
        }
    }
}

fn shown(levels: &[RemovalLevel], name: &CStr) -> String {
    let mut path = String::new();
    for level in levels.iter().skip(1) {
        push(&mut path, &level.name);
        path.push('/');
    }
    push(&mut path, name);
    if path.len() <= SHOWN_BYTES_MAX {
        return path;
    }
    let from = (path.len() - SHOWN_BYTES_MAX..path.len()).find(|at| path.is_char_boundary(*at)).unwrap_or(path.len());
    format!("…{}", &path[from..])
}

/// Escapes control characters: names come from hostile programs and go to a log.
fn push(path: &mut String, name: &CStr) {
    for letter in name.to_string_lossy().chars() {
        if letter.is_control() {
            // `write!` to a string can't fail.
            write!(path, "{}", letter.escape_default()).ok();
        } else {
            path.push(letter);
        }
    }
}
