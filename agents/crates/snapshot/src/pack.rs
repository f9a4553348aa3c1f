//! Packs a volume as a compressed archive. The app may write during it: a file that grows is cut, one that shrinks is padded
//! with zeros, and one that vanishes is left out.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, Stat, fstat, openat, readlinkat, seek, statat};
use rustix::io::Errno;
use tar::{EntryType, Header};

use crate::{APP, DEPTH_MAX, ENTRIES_MAX, FILE_BYTES_MAX, FreeSpace, VolumeAccess, VolumeSnapshotError, digest_of};

/// Fast, and good enough for databases and uploads.
const LEVEL: i32 = 3;
/// Files with several names that are remembered; the names of further ones become files of their own.
const HARD_LINKS_MAX: usize = 500_000;

/// Digest and size of a packed volume.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedSnapshot {
    /// `sha256:<hex>` of the archive.
    pub digest: String,
    pub size_bytes: u64,
    /// Number of sockets, pipes, devices, mounts and files of other apps' users, which no snapshot has.
    pub left_out: u64,
}

/// Packs a volume into the file `into`, which is replaced. A missing volume becomes an empty archive. Blocking.
pub fn pack(
    volume: &Path,
    into: &Path,
    bytes_max: u64,
    access: &VolumeAccess<'_>,
) -> Result<PackedSnapshot, VolumeSnapshotError> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(into)?;
    let folder = into.parent().unwrap_or(Path::new("."));
    let output = Output {
        inner: BufWriter::new(file),
        hash: Context::new(&SHA256),
        size_bytes: 0,
        bytes_max,
        space: FreeSpace::new(folder, access.free_bytes_min),
    };
    let mut encoder = zstd::Encoder::new(output, LEVEL)?;
    encoder.include_checksum(true)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = match openat(CWD, volume, flags, Mode::empty()) {
        Err(Errno::NOENT) => None,
        root => Some(root?),
    };
    let mut packer = SnapshotPacker {
        archive: tar::Builder::new(encoder),
        access,
        device: 0,
        bytes: 0,
        entries: 0,
        links: HashMap::new(),
        left_out: 0,
    };
    if let Some(root) = root {
        let found = fstat(&root)?;
        packer.device = found.st_dev;
        packer.archive.append_data(&mut header(EntryType::Directory, &found, 0, access), "./", io::empty())?;
        packer.folder(Dir::new(root)?, Path::new(""), 0)?;
    }
    let SnapshotPacker { archive, left_out, .. } = packer;
    let output = archive.into_inner()?.finish()?;
    let (size_bytes, digest) = (output.size_bytes, digest_of(output.hash));
    output.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(PackedSnapshot { digest, size_bytes, left_out })
}

struct SnapshotPacker<'a, W: Write> {
    archive: tar::Builder<W>,
    access: &'a VolumeAccess<'a>,
    /// Device of the volume: other mounts inside it belong to no snapshot.
    device: u64,
    bytes: u64,
    entries: u64,
    /// First path of each file with several names, by its inode.
    links: HashMap<u64, PathBuf>,
    left_out: u64,
}

impl<W: Write> SnapshotPacker<'_, W> {
    fn folder(&mut self, mut folder: Dir, at: &Path, depth: usize) -> Result<(), VolumeSnapshotError> {
        if depth > DEPTH_MAX {
            return Err(VolumeSnapshotError::TooLarge(format!("it has folders nested deeper than {DEPTH_MAX} levels")));
        }
        while let Some(entry) = folder.read() {
            self.access.require_uncancelled()?;
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match self.entry(folder.fd()?, name, &at.join(OsStr::from_bytes(name.to_bytes())), depth) {
                // It vanished, or became something else, since the folder was read.
                Err(VolumeSnapshotError::Server(error)) if is_gone(&error) => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        at: &Path,
        depth: usize,
    ) -> Result<(), VolumeSnapshotError> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if self.is_left_out(&found) {
            self.left_out += 1;
            return Ok(());
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let inner = openat(folder, name, flags, Mode::empty())?;
                self.count(0)?;
                let mut header = header(EntryType::Directory, &found, 0, self.access);
                self.archive.append_data(&mut header, at, io::empty())?;
                self.folder(Dir::new(inner)?, at, depth + 1)
            }
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new())?;
                self.count(0)?;
                let mut header = header(EntryType::Symlink, &found, 0, self.access);
                Ok(self.archive.append_link(&mut header, at, OsStr::from_bytes(target.as_bytes()))?)
            }
            FileType::RegularFile => self.file(folder, name, at),
            _ => {
                self.left_out += 1;
                Ok(())
            }
        }
    }

    fn file(&mut self, folder: BorrowedFd<'_>, name: &CStr, at: &Path) -> Result<(), VolumeSnapshotError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty())?;
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || self.is_left_out(&found) {
            self.left_out += 1;
            return Ok(());
        }
        if found.st_nlink > 1 {
            if let Some(first) = self.links.get(&found.st_ino) {
                let mut header = header(EntryType::Link, &found, 0, self.access);
                self.archive.append_link(&mut header, at, first)?;
                return self.count(0);
            }
            if self.links.len() < HARD_LINKS_MAX {
                self.links.insert(found.st_ino, at.to_owned());
            }
        }
        let size = u64::try_from(found.st_size).unwrap_or_default();
        self.count(size)?;
        let mut header = header(EntryType::Regular, &found, size, self.access);
        let content = FileContent { file: file.as_fd(), at: 0, size, data_end: 0, access: self.access };
        Ok(self.archive.append_data(&mut header, at, content)?)
    }

    fn is_left_out(&self, found: &Stat) -> bool {
        let is_own = found.st_uid == self.access.user;
        found.st_dev != self.device || (!is_own && self.access.is_foreign(found.st_uid))
    }

    /// Counts an entry of this size, before anything of it is read.
    fn count(&mut self, size: u64) -> Result<(), VolumeSnapshotError> {
        self.bytes = self.bytes.saturating_add(size);
        self.entries += 1;
        if self.bytes > FILE_BYTES_MAX {
            return Err(VolumeSnapshotError::TooLarge(format!(
                "its files have more than {} GiB",
                FILE_BYTES_MAX >> 30
            )));
        }
        if self.entries > ENTRIES_MAX {
            return Err(VolumeSnapshotError::TooLarge(format!("it has more than {ENTRIES_MAX} files")));
        }
        Ok(())
    }
}

/// True if an entry is not what it was when its folder was read.
fn is_gone(error: &io::Error) -> bool {
    use Errno as E;
    matches!(Errno::from_io_error(error), Some(E::NOENT | E::NOTDIR | E::LOOP | E::INVAL | E::NXIO))
}

/// Leaves set-user and set-group bits out; a folder keeps the set-group bit, by which its files inherit the group.
fn header(kind: EntryType, found: &Stat, size: u64, access: &VolumeAccess<'_>) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(found.st_mode & if kind == EntryType::Directory { 0o3777 } else { 0o1777 });
    header.set_size(size);
    header.set_mtime(u64::try_from(found.st_mtime).unwrap_or_default());
    header.set_uid(found.st_uid.into());
    header.set_gid(found.st_gid.into());
    if let Some(gnu) = header.as_gnu_mut() {
        if found.st_uid == access.user {
            gnu.uname[..APP.len()].copy_from_slice(APP.as_bytes());
        }
        if found.st_gid == access.group {
            gnu.gname[..APP.len()].copy_from_slice(APP.as_bytes());
        }
    }
    header
}

/// FileContent of a file: exactly `size` bytes, without reading its holes.
struct FileContent<'a> {
    file: BorrowedFd<'a>,
    at: u64,
    size: u64,
    /// End of the data that `at` is in; `at` if it is unknown.
    data_end: u64,
    access: &'a VolumeAccess<'a>,
}

impl Read for FileContent<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.access.require_uncancelled().map_err(io::Error::other)?;
        let most = usize::try_from(self.size - self.at).unwrap_or(usize::MAX).min(bytes.len());
        if most == 0 {
            return Ok(0);
        }
        let mut data_start = self.at;
        if self.at >= self.data_end {
            data_start = match seek(self.file, SeekFrom::Data(self.at)) {
                Err(Errno::NXIO) => self.size,
                start => start?,
            };
            if data_start == self.at {
                self.data_end = seek(self.file, SeekFrom::Hole(self.at))?;
            }
        }
        let count = if data_start > self.at {
            let hole = usize::try_from(data_start - self.at).unwrap_or(usize::MAX).min(most);
            bytes[..hole].fill(0);
            hole
        } else {
            match rustix::io::pread(self.file, &mut bytes[..most], self.at)? {
                // It became shorter.
                0 => {
                    bytes[..most].fill(0);
                    most
                }
                count => count,
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

/// Hashes, counts and bounds what is written.
struct Output<'a> {
    inner: BufWriter<File>,
    hash: Context,
    size_bytes: u64,
    bytes_max: u64,
    space: FreeSpace<'a>,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.space.take(bytes.len() as u64).map_err(io::Error::other)?;
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.size_bytes += count as u64;
        if self.size_bytes > self.bytes_max {
            let most = format!("it has more than {} MiB when it is packed", self.bytes_max >> 20);
            return Err(io::Error::other(VolumeSnapshotError::TooLarge(most)));
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
