//! Disk space of a build's folders, and of files without a name that its processes hold open. Never follows a link and opens one
//! name at a time, so that no path is too long to count.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, MemfdFlags, Mode, OFlags, Stat, fstat, memfd_create, openat, statat};
use rustix::io::Errno;
use rustix::process::Pid;

/// Maximum depth of folders; each level takes one descriptor during the count. No build needs as many, and packing refuses more
/// than half of them.
pub(crate) const DEPTH_MAX: usize = 256;
/// Minimum cost of a file or folder, also of an empty one: a disk runs out of them too.
const ENTRY_BYTES: u64 = 4096;
/// Cost of each further name of a file: it takes room in its folder, and time at each count.
const NAME_BYTES: u64 = 256;
/// Maximum number of remembered files with several names, 16 MiB of them; later ones count once for each name.
const LINKED_MAX: usize = 1 << 20;

/// Space taken and space left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// The count stops once this exceeds the limit.
    pub(crate) used_bytes: u64,
    /// Space left on the disk for everything on the server.
    pub(crate) free_bytes: u64,
    /// Some folders are nested deeper than `DEPTH_MAX` and were not counted.
    pub(crate) too_deep: bool,
}

/// Counts folders alone, to the end.
pub(crate) fn of_folders(folders: &[&Path], limit_bytes: u64) -> io::Result<Size> {
    of(&SizeQuery { folders, limit_bytes, processes: &[] }, &AtomicBool::new(false))
}

/// Folders and processes to count, up to `limit_bytes`.
#[derive(Debug, Default)]
pub(crate) struct SizeQuery<'a> {
    pub(crate) folders: &'a [&'a Path],
    /// They may hold files that have no name any more.
    pub(crate) processes: &'a [Pid],
    pub(crate) limit_bytes: u64,
}

/// Counts the folders with everything below them and the files held open, until they exceed the limit or it is stopped. Blocking.
/// Entries that vanish meanwhile do not count.
pub(crate) fn of(counted: &SizeQuery<'_>, stopped: &AtomicBool) -> io::Result<Size> {
    let limit_bytes = counted.limit_bytes;
    let mut count = Count { used_bytes: 0, limit_bytes, linked: HashSet::new(), too_deep: false, stopped };
    let mut free_bytes = u64::MAX;
    count.add_unlinked(counted.processes)?;
    for folder in counted.folders {
        let disk = rustix::fs::statvfs(*folder)?;
        free_bytes = free_bytes.min(disk.f_bavail.saturating_mul(disk.f_frsize));
        count.add(folder)?;
    }
    Ok(Size { used_bytes: count.used_bytes, free_bytes, too_deep: count.too_deep })
}

struct Count<'a> {
    used_bytes: u64,
    limit_bytes: u64,
    linked: HashSet<(u64, u64)>,
    too_deep: bool,
    stopped: &'a AtomicBool,
}

impl Count<'_> {
    fn goes_on(&self) -> bool {
        self.used_bytes <= self.limit_bytes && !self.stopped.load(Ordering::Relaxed)
    }

    /// Adds what only open descriptors and mappings keep on a disk. Threads may have descriptors of their own.
    fn add_unlinked(&mut self, processes: &[Pid]) -> io::Result<()> {
        // Memory files have no name either; the memory limit counts them.
        let memory = fstat(memfd_create("size", MemfdFlags::CLOEXEC)?)?.st_dev;
        for process in processes {
            let process = PathBuf::from(format!("/proc/{process}"));
            let threads = entries(&process.join("task")).map(|thread| thread.join("fd"));
            for file in threads.chain([process.join("map_files")]).flat_map(|held| entries(&held)) {
                if !self.goes_on() {
                    return Ok(());
                }
                // Closed meanwhile, or not to be seen without rights.
                let Ok(found) = fs::metadata(file) else { continue };
                let is_unlinked = found.is_file() && found.nlink() == 0 && found.dev() != memory;
                if is_unlinked && self.linked.insert((found.dev(), found.ino())) {
                    self.used_bytes += found.blocks().saturating_mul(512).max(ENTRY_BYTES);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        let top = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut ways = vec![open(top.as_fd(), c".")?];
        while self.goes_on()
            && let Some(folder) = ways.last_mut()
        {
            let Some(entry) = folder.read() else {
                ways.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let found = match statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                found => found?,
            };
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            self.take(&found, is_folder);
            if is_folder && ways.len() == DEPTH_MAX {
                self.too_deep = true;
            } else if is_folder && let Some(folder) = ways.last() {
                match open(folder.fd()?, name) {
                    Ok(below) => ways.push(below),
                    // The entry is gone or replaced. Root may read each folder; an agent that is not root has no walls around
                    // builds.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, found: &Stat, is_folder: bool) {
        // Package managers link files of their cache into the app.
        let has_names = !is_folder && found.st_nlink > 1;
        if has_names && self.linked.len() < LINKED_MAX && !self.linked.insert((found.st_dev, found.st_ino)) {
            self.used_bytes += NAME_BYTES;
            return;
        }
        // Blocks, not the length, so that holes cost nothing.
        let blocks = u64::try_from(found.st_blocks).unwrap_or_default();
        self.used_bytes += blocks.saturating_mul(512).max(ENTRY_BYTES);
    }
}

/// Paths of a folder's entries; none of a folder that is gone or not to be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn open(at: BorrowedFd<'_>, name: &CStr) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).and_then(Dir::new)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use rustix::fs::mkdirat;

    use super::*;

    const MANY: u64 = u64::MAX;

    #[test]
    fn a_file_without_a_name_counts_while_a_process_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let script = "exec 3>f; rm f; head -c 1048576 /dev/zero >&3; echo written; read end";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let count = |processes: &[Pid]| {
            let counted = SizeQuery { folders: &[dir.path()], limit_bytes: MANY, processes };
            of(&counted, &AtomicBool::new(false)).unwrap().used_bytes
        };
        let process = Pid::from_child(&child);
        let (without, with) = (count(&[]), count(&[process, process]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(without, 0, "no name leads to it");
        assert!((1 << 20..2 << 20).contains(&with), "{with}");
    }

    #[test]
    fn each_further_name_costs_something_and_counting_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("0"), "").unwrap();
        for name in 1..=100 {
            fs::hard_link(dir.path().join("0"), dir.path().join(name.to_string())).unwrap();
        }
        assert_eq!(of_folders(&[dir.path()], MANY).unwrap().used_bytes, ENTRY_BYTES + 100 * NAME_BYTES);
        let counted = SizeQuery { folders: &[dir.path()], limit_bytes: MANY, processes: &[] };
        assert_eq!(of(&counted, &AtomicBool::new(true)).unwrap().used_bytes, 0);
    }

    #[test]
    fn all_below_counts_once_and_what_links_lead_to_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::create_dir_all(one.join("a")).unwrap();
        fs::create_dir(&two).unwrap();
        fs::write(one.join("a/b"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(one.join("a/b"), two.join("c")).unwrap();
        std::os::unix::fs::symlink("/", one.join("all")).unwrap();
        let size = of_folders(&[&one, &two], MANY).unwrap();
        assert!((1 << 20..2 << 20).contains(&size.used_bytes), "{size:?}");
        assert!(size.free_bytes > 0 && !size.too_deep);
        fs::write(two.join("d"), vec![1; 1 << 20]).unwrap();
        assert!(of_folders(&[&one, &two], MANY).unwrap().used_bytes >= 2 << 20);
    }

    #[test]
    fn empty_files_count_and_counting_stops_at_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        for name in 0..1000 {
            fs::write(dir.path().join(name.to_string()), "").unwrap();
        }
        assert_eq!(of_folders(&[dir.path()], MANY).unwrap().used_bytes, 1000 * ENTRY_BYTES);
        assert_eq!(of_folders(&[dir.path()], 10 * ENTRY_BYTES).unwrap().used_bytes, 11 * ENTRY_BYTES);
    }

    /// Makes nested folders, deeper than any path is long, and writes a file into the last.
    fn nest(folder: &Path, levels: usize, name: &str) {
        let mut at = openat(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..levels {
            mkdirat(&at, name, Mode::RWXU).unwrap();
            at = openat(&at, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let file = openat(at.as_fd(), "file", OFlags::WRONLY | OFlags::CREATE, Mode::RUSR | Mode::WUSR).unwrap();
        rustix::io::write(&file, &[1; 1 << 20]).unwrap();
    }

    /// Counts by whole paths, as this file once did.
    fn by_paths(folder: &Path) -> u64 {
        let (mut bytes, mut folders) = (0, vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let found = entry.metadata().unwrap();
                bytes += found.blocks() * 512;
                if found.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        bytes
    }

    #[test]
    fn no_path_is_too_long_to_be_counted_and_folders_that_are_too_deep_are_told() {
        let dir = tempfile::tempdir().unwrap();
        nest(dir.path(), 50, &"n".repeat(200));
        assert!(by_paths(dir.path()) < 1 << 20, "paths do not reach the file");
        let size = of_folders(&[dir.path()], MANY).unwrap();
        assert!(size.used_bytes >= 1 << 20 && !size.too_deep, "{size:?}");
        let deep = tempfile::tempdir().unwrap();
        nest(deep.path(), DEPTH_MAX + 1, "d");
        assert!(of_folders(&[deep.path()], MANY).unwrap().too_deep);
    }
}
