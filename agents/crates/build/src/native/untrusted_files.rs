//! Reads files that a build left. Invariant: it reads regular files only, up to a maximum size, and follows no link.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Folder of installed packages.
pub(super) const MODULES: &str = "node_modules";
/// Maximum size of a package.json that is parsed.
pub(super) const MANIFEST_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of entries that are looked at.
const ENTRIES_MAX: usize = 500_000;
/// Maximum length of their paths together, for the agent's memory.
const PATH_BYTES_MAX: usize = 64 << 20;

/// Reads a file; `None` if it is larger than `bytes_max` or not a regular one, such as a pipe that a build put in its place.
pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Ok(None),
        opened => File::from(opened?),
    };
    if !opened.metadata()?.is_file() {
        return Ok(None);
    }
    let mut content = Vec::new();
    opened.take(bytes_max + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= bytes_max).then_some(content))
}

/// Visits all below a folder and never follows a link; the visitor says whether to go into a folder. Returns false if there are
/// too many entries.
pub(super) fn visit(root: &Path, mut visitor: impl FnMut(&Path, FileType) -> io::Result<bool>) -> io::Result<bool> {
    let (mut left, mut count, mut path_bytes) = (vec![PathBuf::new()], 0, 0);
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(root.join(&below))? {
            let entry = entry?;
            let (path, kind) = (below.join(entry.file_name()), entry.file_type()?);
            count += 1;
            path_bytes += path.as_os_str().len();
            if count > ENTRIES_MAX || path_bytes > PATH_BYTES_MAX {
                return Ok(false);
            }
            if visitor(&path, kind)? && kind.is_dir() {
                left.push(path);
            }
        }
    }
    Ok(true)
}
