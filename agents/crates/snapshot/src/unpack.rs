//! Unpacks a snapshot into a new folder: whole and with the right digest, or not at all. Believes nothing that the archive says
//! about paths and owners.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_base::tree;
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, chmodat, chownat, fchmod, futimens, linkat,
    mkdirat, openat, symlinkat,
};
use tar::{Entry, EntryType, Header};

use crate::{APP, ENTRIES_MAX, FILE_BYTES_MAX, FreeSpace, VolumeAccess, VolumeSnapshotError, digest_of};

/// Maximum length of a path or of a link's target, as Linux has it.
const PATH_BYTES_MAX: u64 = 4096;
/// Blocks of zeros of this size become holes.
const BLOCK_BYTES: usize = 64 << 10;

/// Unpacks an archive into `into`, which must not exist. On an error nothing of it remains. Blocking.
pub fn unpack(archive: &Path, digest: &str, into: &Path, access: &VolumeAccess<'_>) -> Result<(), VolumeSnapshotError> {
    let file = File::open(archive)?;
    DirBuilder::new().mode(0o700).create(into)?;
    let result = fill(file, digest, into, access).and_then(|()| {
        // Or a power cut after the rename of the folder could leave empty files.
        rustix::fs::syncfs(File::open(into)?)?;
        Ok(())
    });
    if result.is_err() {
        tree::remove(into)?;
    }
    result
}

fn fill(file: File, digest: &str, into: &Path, access: &VolumeAccess<'_>) -> Result<(), VolumeSnapshotError> {
    let hashing = SnapshotReader { inner: BufReader::with_capacity(1 << 17, file), hash: Context::new(&SHA256) };
    let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(1 << 17, hashing)).map_err(damaged)?;
    let mut unpacker = SnapshotUnpacker {
        root: open_folder(CWD, into.as_os_str())?,
        is_root: rustix::process::geteuid().is_root(),
        access,
        space: FreeSpace::new(into, access.free_bytes_min),
        bytes: 0,
        entries: 0,
        parent: None,
        top: None,
        long_path: None,
        long_target: None,
    };
    for entry in tar::Archive::new(&mut decoder).entries().map_err(damaged)?.raw(true) {
        unpacker.entry(&mut entry.map_err(damaged)?)?;
    }
    unpacker.finish()?;
    // Bytes after the archive are part of the digest too.
    io::copy(&mut decoder, &mut io::sink()).map_err(damaged)?;
    let mut hashing = decoder.finish().into_inner();
    io::copy(&mut hashing, &mut io::sink())?;
    if digest_of(hashing.hash) == digest { Ok(()) } else { Err(VolumeSnapshotError::Damaged) }
}

/// Decoders fail with many kinds of error at bytes that they can't read.
fn damaged(error: io::Error) -> VolumeSnapshotError {
    match VolumeSnapshotError::from(error) {
        VolumeSnapshotError::Server(_) => VolumeSnapshotError::Damaged,
        error => error,
    }
}

struct SnapshotUnpacker<'a> {
    root: OwnedFd,
    /// Only root gives files to other users.
    is_root: bool,
    access: &'a VolumeAccess<'a>,
    space: FreeSpace<'a>,
    bytes: u64,
    entries: u64,
    /// Folder of the last entry.
    parent: Option<(PathBuf, OwnedFd)>,
    /// Header of the volume itself, which is applied at the end.
    top: Option<Header>,
    /// Names too long for a header, which precede their entry.
    long_path: Option<PathBuf>,
    long_target: Option<PathBuf>,
}

impl SnapshotUnpacker<'_> {
    fn entry<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), VolumeSnapshotError> {
        self.access.require_uncancelled()?;
        let header = entry.header().clone();
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(header.entry_size().map_err(damaged)?);
        if self.entries > ENTRIES_MAX || self.bytes > FILE_BYTES_MAX {
            return Err(VolumeSnapshotError::Refused("it is too large".to_owned()));
        }
        match header.entry_type() {
            EntryType::GNULongName => {
                self.long_path = Some(long_name(entry)?);
                return Ok(());
            }
            EntryType::GNULongLink => {
                self.long_target = Some(long_name(entry)?);
                return Ok(());
            }
            _ => {}
        }
        let own_path = || header.path().map(|path| path.into_owned()).map_err(damaged);
        let at = self.long_path.take().map_or_else(own_path, Ok)?;
        let target = self.long_target.take().or(header.link_name().map_err(damaged)?.map(|name| name.into_owned()));
        if at == Path::new("./") && header.entry_type() == EntryType::Directory {
            self.top = Some(header);
            return Ok(());
        }
        let name = plain_name(&at)?.to_owned();
        self.enter(at.parent().unwrap_or(Path::new("")))?;
        match header.entry_type() {
            EntryType::Directory => self.folder(&name, &header),
            EntryType::Regular => self.file(&name, &header, entry),
            EntryType::Symlink => self.symlink(&name, &header, target.ok_or_else(|| refused("links to nothing", &at))?),
            EntryType::Link => self.hard_link(&name, &target.ok_or_else(|| refused("links to nothing", &at))?),
            _ => Err(refused("is neither file, folder nor link", &at)),
        }
    }

    fn folder(&mut self, name: &OsStr, header: &Header) -> Result<(), VolumeSnapshotError> {
        let parent = self.parent()?;
        mkdirat(parent, name, Mode::from_raw_mode(0o700)).map_err(|error| taken(error, name))?;
        let mode = self.mode(header, 0o3777, 0o700)?;
        self.give(parent, name, header)?;
        Ok(chmodat(parent, name, mode, AtFlags::empty())?)
    }

    fn file<R: Read>(&mut self, name: &OsStr, header: &Header, content: &mut R) -> Result<(), VolumeSnapshotError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made =
            openat(self.parent()?, name, flags, Mode::from_raw_mode(0o600)).map_err(|error| taken(error, name))?;
        let mut file = File::from(made);
        self.write(&mut file, content)?;
        let mode = self.mode(header, 0o1777, 0)?;
        self.give(self.parent()?, name, header)?;
        fchmod(&file, mode)?;
        let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let modified = Timespec { tv_sec: i64::try_from(header.mtime().map_err(damaged)?).unwrap_or(0), tv_nsec: 0 };
        Ok(futimens(&file, &Timestamps { last_access: omit, last_modification: modified })?)
    }

    /// Writes a file's content; zeros become holes.
    fn write<R: Read>(&mut self, file: &mut File, content: &mut R) -> Result<(), VolumeSnapshotError> {
        let (mut block, mut size) = (vec![0; BLOCK_BYTES], 0);
        loop {
            self.access.require_uncancelled()?;
            let mut filled = 0;
            while filled < block.len() {
                match content.read(&mut block[filled..]).map_err(damaged)? {
                    0 => break,
                    count => filled += count,
                }
            }
            if filled == 0 {
                break;
            }
            size += filled as u64;
            if block[..filled].iter().all(|byte| *byte == 0) {
                file.seek_relative(i64::try_from(filled).map_err(io::Error::other)?)?;
            } else {
                self.space.take(filled as u64)?;
                file.write_all(&block[..filled])?;
            }
        }
        Ok(file.set_len(size)?)
    }

    fn symlink(&mut self, name: &OsStr, header: &Header, target: PathBuf) -> Result<(), VolumeSnapshotError> {
        let parent = self.parent()?;
        // The target is free: nothing here follows it, and the app resolves it with the app's own rights.
        symlinkat(&target, parent, name).map_err(|error| taken(error, name))?;
        self.give(parent, name, header)
    }

    fn hard_link(&mut self, name: &OsStr, target: &Path) -> Result<(), VolumeSnapshotError> {
        let target_name = plain_name(target)?.to_owned();
        let folder = open_below(&self.root, target.parent().unwrap_or(Path::new("")))?;
        linkat(&folder, target_name, self.parent()?, name, AtFlags::empty()).map_err(|error| taken(error, name))
    }

    /// Applies mode and owner of the volume itself. An empty archive has none: the volume did not exist.
    fn finish(&mut self) -> Result<(), VolumeSnapshotError> {
        let Some(header) = self.top.take() else {
            return self.chown(self.root.as_fd(), OsStr::new("."), self.access.user, self.access.group);
        };
        let mode = self.mode(&header, 0o3777, 0o700)?;
        self.give(self.root.as_fd(), OsStr::new("."), &header)?;
        Ok(fchmod(&self.root, mode)?)
    }

    /// Opens the folder of the next entry, one name at a time: none of them may be a link.
    fn enter(&mut self, at: &Path) -> Result<(), VolumeSnapshotError> {
        if self.parent.as_ref().is_none_or(|(known, _)| known != at) {
            self.parent = Some((at.to_owned(), open_below(&self.root, at)?));
        }
        Ok(())
    }

    fn parent(&self) -> Result<std::os::fd::BorrowedFd<'_>, VolumeSnapshotError> {
        match &self.parent {
            Some((_, folder)) => Ok(folder.as_fd()),
            None => Err(VolumeSnapshotError::Server(io::ErrorKind::NotFound.into())),
        }
    }

    /// Returns the mode of an entry without bits that run a program as another user.
    fn mode(&self, header: &Header, mask: u32, needed: u32) -> Result<Mode, VolumeSnapshotError> {
        let needed = if self.is_root { 0 } else { needed };
        Ok(Mode::from_raw_mode(header.mode().map_err(damaged)? & mask | needed))
    }

    /// Gives an entry to its owner: to the app's user of this server, or to a user that its image has chosen.
    fn give(&self, parent: impl AsFd, name: &OsStr, header: &Header) -> Result<(), VolumeSnapshotError> {
        let is_app = |name: Option<&[u8]>| name == Some(APP.as_bytes());
        let number = |id: io::Result<u64>| match u32::try_from(id.map_err(damaged)?) {
            Ok(id) if id != u32::MAX && !self.access.is_foreign(id) => Ok(id),
            _ => Err(refused("belongs to the user of another app", Path::new(name))),
        };
        let user = if is_app(header.username_bytes()) { self.access.user } else { number(header.uid())? };
        let group = if is_app(header.groupname_bytes()) { self.access.group } else { number(header.gid())? };
        self.chown(parent, name, user, group)
    }

    fn chown(&self, parent: impl AsFd, name: &OsStr, user: u32, group: u32) -> Result<(), VolumeSnapshotError> {
        if !self.is_root {
            return Ok(());
        }
        let (user, group) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        Ok(chownat(parent, name, user, group, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// Reads a name that was too long for a header.
fn long_name<R: Read>(entry: &mut Entry<'_, R>) -> Result<PathBuf, VolumeSnapshotError> {
    if entry.size() > PATH_BYTES_MAX {
        return Err(VolumeSnapshotError::Refused("it has a path that no server can have".to_owned()));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(damaged)?;
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// Returns the last name of a relative path that goes only down.
fn plain_name(at: &Path) -> Result<&OsStr, VolumeSnapshotError> {
    let is_plain = at.components().all(|part| matches!(part, Component::Normal(_)));
    let fits = at.as_os_str().as_bytes().len() as u64 <= PATH_BYTES_MAX;
    match at.file_name() {
        Some(name) if is_plain && fits => Ok(name),
        _ => Err(refused("leads outside of the volume", at)),
    }
}

fn open_below(root: &OwnedFd, at: &Path) -> Result<OwnedFd, VolumeSnapshotError> {
    let mut folder = open_folder(root, OsStr::new("."))?;
    for name in at.components() {
        folder = open_folder(&folder, name.as_os_str()).map_err(|_| refused("lies in no folder of the archive", at))?;
    }
    Ok(folder)
}

fn open_folder(parent: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

fn refused(why: &str, at: &Path) -> VolumeSnapshotError {
    VolumeSnapshotError::Refused(format!("{} {why}", at.display()))
}

/// Errors of an entry whose name exists, or of a link to nothing, are the archive's fault.
fn taken(error: rustix::io::Errno, name: &OsStr) -> VolumeSnapshotError {
    match error {
        rustix::io::Errno::EXIST => refused("is there twice", Path::new(name)),
        rustix::io::Errno::NOENT | rustix::io::Errno::PERM | rustix::io::Errno::NOTDIR => {
            refused("links to nothing of the archive", Path::new(name))
        }
        error => error.into(),
    }
}

/// Hashes what is read.
struct SnapshotReader<R> {
    inner: R,
    hash: Context,
}

impl<R: Read> Read for SnapshotReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }
}
