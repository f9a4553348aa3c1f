//! Walks folder trees that hostile programs made: iterative, relative to descriptors, with a bounded number of them.
//! Invariant: no walk follows a link, crosses a mount or grows the stack with the depth of the tree.

mod remove;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat};
use rustix::io::Errno;

pub(crate) use remove::take_rights;
pub use remove::{Leftover, Removal, empty, remove};

/// Descriptors that one walk holds at once.
const HELD_MAX: usize = 48;
/// Levels that a size walk remembers, 24 bytes each; deeper folders count as incomplete.
const SIZE_LEVELS_MAX: usize = 1_000_000;

/// Minimum cost of a file or folder, also of an empty one: a disk runs out of them too.
pub const ENTRY_BYTES: u64 = 4096;

/// Disk space of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeSize {
    /// Allocated bytes, so that holes cost nothing.
    pub bytes: u64,
    /// Allocated bytes, at least [`ENTRY_BYTES`] for each entry.
    pub cost_bytes: u64,
    /// Files and folders, including the top.
    pub entries: u64,
    /// Folders that could not be read, or that moved during the walk. Their contents are missing from the sums.
    pub skipped: u64,
}

/// Measures a file, or a folder with everything below it on the same mount. Calls `enough` after each entry and ends early once
/// it returns true. Entries that vanish during the walk count nothing. Blocking.
pub fn size(path: &Path, mut enough: impl FnMut(&TreeSize) -> bool) -> io::Result<TreeSize> {
    let mut size = TreeSize::default();
    let found = statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    size.add(&found);
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(size);
    }
    let top = openat(rustix::fs::CWD, path, FOLDER, Mode::empty())?;
    let mut levels = vec![TreeLevel::new(top)?];
    while let Some(level) = levels.last_mut() {
        // Reads only the deepest level; leaving a level reopens the one above.
        let Some(dir) = &mut level.dir else { return Err(io::Error::other("a level of the walk is closed")) };
        let entry = match dir.read() {
            Some(Ok(entry)) => entry,
            // A folder that was removed during the walk reads as ended.
            Some(Err(_)) | None => {
                size.skipped += ascend(&mut levels);
                continue;
            }
        };
        if is_dots(entry.file_name()) {
            continue;
        }
        level.offset = entry.offset();
        let Ok(found) = statat(dir.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        size.add(&found);
        if enough(&size) {
            return Ok(size);
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            let below = open_folder(dir.fd()?, entry.file_name(), level.device);
            match below {
                Ok(below) if levels.len() < SIZE_LEVELS_MAX => descend(&mut levels, TreeLevel::new(below)?),
                Ok(_) => size.skipped += 1,
                // The entry is gone or replaced, or belongs to another file system.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {}
                Err(_) => size.skipped += 1,
            }
        }
    }
    Ok(size)
}

impl TreeSize {
    fn add(&mut self, found: &Stat) {
        // Some damaged file systems report negative counts.
        let blocks = u64::try_from(found.st_blocks).unwrap_or(0);
        let bytes = blocks.saturating_mul(512);
        self.bytes = self.bytes.saturating_add(bytes);
        self.cost_bytes = self.cost_bytes.saturating_add(bytes.max(ENTRY_BYTES));
        self.entries += 1;
    }
}

/// Folder on the way down. Levels far above the deepest one are closed and found again through `..`.
struct TreeLevel {
    dir: Option<Dir>,
    device: u64,
    inode: u64,
    offset: i64,
}

impl TreeLevel {
    fn new(folder: OwnedFd) -> io::Result<Self> {
        let found = fstat(&folder)?;
        Ok(Self { dir: Some(Dir::new(folder)?), device: found.st_dev, inode: found.st_ino, offset: 0 })
    }
}

fn descend(levels: &mut Vec<TreeLevel>, below: TreeLevel) {
    levels.push(below);
    // The top stays open: a walk continues there when a moved folder blocks its way back.
    let far = levels.len().saturating_sub(HELD_MAX);
    if far > 0 {
        levels[far].dir = None;
    }
}

/// Leaves the deepest level; returns how many levels above were abandoned because `..` leads elsewhere.
fn ascend(levels: &mut Vec<TreeLevel>) -> u64 {
    let Some(left) = levels.pop() else { return 0 };
    let Some(above) = levels.last_mut() else { return 0 };
    if above.dir.is_some() {
        return 0;
    }
    let reopened = left.dir.and_then(|dir| reopen(&dir, above).ok());
    above.dir = reopened;
    let mut given_up = 0;
    while levels.last().is_some_and(|level| level.dir.is_none()) {
        levels.pop();
        given_up += 1;
    }
    given_up
}

/// Opens the folder above and continues where its reading stopped. The owner may have moved the folder below it, so `..` counts
/// only when it leads to the same inode as before.
fn reopen(below: &Dir, above: &TreeLevel) -> rustix::io::Result<Dir> {
    let folder = openat(below.fd()?, c"..", FOLDER, Mode::empty())?;
    let found = fstat(&folder)?;
    if (found.st_dev, found.st_ino) != (above.device, above.inode) {
        return Err(Errno::STALE);
    }
    let mut dir = Dir::new(folder)?;
    dir.seek(above.offset)?;
    Ok(dir)
}

/// Flags to open a folder for reading.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder inside another one, unless it is a link or lies on another mount (`XDEV`).
fn open_folder(parent: impl AsFd, name: &CStr, device: u64) -> rustix::io::Result<OwnedFd> {
    open_inside(parent.as_fd(), name, FOLDER, device)
}

fn open_inside(parent: impl AsFd, name: &CStr, flags: OFlags, device: u64) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(parent.as_fd(), name, flags, Mode::empty(), resolve) {
        // Container engines of some years reject openat2(2) as unknown.
        Err(Errno::NOSYS | Errno::PERM) => {
            let folder = openat(parent.as_fd(), name, flags, Mode::empty())?;
            if fstat(&folder)?.st_dev == device { Ok(folder) } else { Err(Errno::XDEV) }
        }
        opened => opened,
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}
