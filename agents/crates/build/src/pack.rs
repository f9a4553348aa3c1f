//! Packs a folder into an artifact, reproducibly: the same files make the same bytes. Invariant: it never follows a link,
//! packs none that leads outside of the app and the system's programs, and reads only what the build's user may read.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_base::root_view::leads_inside;
use fairlead_base::{CancellationToken, file};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use tar::{EntryType, Header};

use crate::as_user::as_user;
use crate::packed_tree::{self, Tee};

/// Fast, and as good as slow levels on JavaScript.
const LEVEL: i32 = 3;
/// Folders within folders: each holds a descriptor and a piece of the stack while it is packed.
pub(crate) const DEPTH_MAX: usize = 128;

/// Takes the bytes of the archive before they are compressed.
type Copy = Option<SyncSender<Vec<u8>>>;

/// Digest and size of a packed artifact.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// `sha256:<hex>` of the file.
    pub(crate) digest: String,
    pub(crate) size_bytes: u64,
    pub(crate) files: u64,
    /// Links and special files that were left out, for the log.
    pub(crate) left_out: Vec<String>,
}

/// Why nothing was packed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    /// Desired state no longer asks for it.
    #[error("it was cancelled")]
    Cancelled,
    /// The build's output can't be an app; the message says why.
    #[error("{0}")]
    Refused(String),
    /// The build's time is over.
    #[error("its time was over")]
    Timeout,
    /// The server itself could not do it.
    #[error(transparent)]
    Server(io::Error),
}

impl From<io::Error> for PackError {
    fn from(error: io::Error) -> Self {
        // The reader of a copy passes a `PackError` through as an I/O error.
        error.downcast::<Self>().unwrap_or_else(Self::Server)
    }
}

/// Empty set of excluded paths, for folders that are packed whole.
pub(crate) static NO_EXCLUSIONS: BTreeSet<PathBuf> = BTreeSet::new();

/// Maximum sizes of an artifact. Unpacking refuses more; packing refuses it first, in the build that made it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArtifactLimits {
    pub(crate) bytes_max: u64,
    pub(crate) entries_max: u64,
}

impl ArtifactLimits {
    pub(crate) const ARTIFACT: Self = Self { bytes_max: 16 << 30, entries_max: 2_000_000 };
}

/// Parameters of packing a folder.
#[derive(Debug)]
pub(crate) struct PackRequest<'a> {
    /// A folder that only the agent can move.
    pub(crate) trusted: &'a Path,
    /// The app's folder below it; a build may have moved any part of this.
    pub(crate) below: &'a Path,
    /// Paths below the app's folder that are left out.
    pub(crate) excluded: &'a BTreeSet<PathBuf>,
    /// User that must be allowed to read the files; `None`: the agent's.
    pub(crate) user: Option<u32>,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) deadline: Instant,
    pub(crate) bounds: ArtifactLimits,
}

impl PackRequest<'_> {
    pub(crate) fn goes_on(&self) -> Result<(), PackError> {
        if self.cancel.is_cancelled() {
            return Err(PackError::Cancelled);
        }
        if Instant::now() >= self.deadline { Err(PackError::Timeout) } else { Ok(()) }
    }
}

/// Packs a folder into `artifacts/<hex>.tar.zst`, and writes the release's folder beside it. Blocking.
pub(crate) fn pack(order: &PackRequest<'_>, artifacts: &Path, name: &str) -> Result<Packed, PackError> {
    let hex = |packed: &Packed| packed.digest.trim_start_matches("sha256:").to_owned();
    packed_tree::beside_pack(artifacts, name, |copy| pack_archive(order, artifacts, name, copy), hex)
}

fn pack_archive(order: &PackRequest<'_>, artifacts: &Path, name: &str, copy: Copy) -> Result<Packed, PackError> {
    // Two builds never share a name; what a crash left is replaced.
    let partial = artifacts.join(format!("{name}.part"));
    let result = write(order, &partial, copy).and_then(|packed| {
        let path = crate::artifact_path(artifacts, &packed.digest)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        fs::rename(&partial, &path)?;
        file::sync_folder(&path)?;
        Ok(packed)
    });
    if result.is_err() {
        // The first error is the one to tell; the next attempt replaces what stays.
        fs::remove_file(&partial).ok();
    }
    result
}

fn write(order: &PackRequest<'_>, partial: &Path, copy: Copy) -> Result<Packed, PackError> {
    // The agent's rights open the file: the folder of artifacts is closed to all others.
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(partial)?;
    as_user(order.user, || fill(order, file, copy))?
}

fn fill(order: &PackRequest<'_>, file: File, copy: Copy) -> Result<Packed, PackError> {
    let root = open_below(order.trusted, order.below)?;
    let mut encoder = zstd::Encoder::new(HashingWriter::new(BufWriter::new(file)), LEVEL)?;
    encoder.include_checksum(true)?;
    let archive = tar::Builder::new(Tee::new(encoder, copy));
    let mut packer = Packer { archive, order, bytes: 0, entries: 0, files: 0, left_out: Vec::new() };
    packer.folder(root.as_fd(), Path::new(""), 0)?;
    let Packer { archive, files, left_out, .. } = packer;
    let hashing = archive.into_inner()?.finish().finish()?;
    let (hash, size_bytes) = (hashing.hash, hashing.size_bytes);
    let file = hashing.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    let hex: String = hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Packed { digest: format!("sha256:{hex}"), size_bytes, files, left_out })
}

/// Opens the folder one name at a time: none of them may be a link. Those above it may be closed to reading.
pub(crate) fn open_below(trusted: &Path, below: &Path) -> Result<OwnedFd, PackError> {
    let pass = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(CWD, trusted, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(io::Error::from)?;
    for component in below.components() {
        let Component::Normal(name) = component else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        };
        folder = openat(&folder, name, pass, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP | Errno::NOENT => PackError::Refused(
                "The build removed or replaced the folder of the app. Build into a folder inside of it.".to_owned(),
            ),
            _ => io::Error::from(error).into(),
        })?;
    }
    Ok(open_folder(folder.as_fd(), OsStr::new("."))?)
}

pub(crate) fn open_folder(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

struct Packer<'a, W: Write> {
    archive: tar::Builder<W>,
    order: &'a PackRequest<'a>,
    bytes: u64,
    entries: u64,
    files: u64,
    left_out: Vec<String>,
}

impl<W: Write> Packer<'_, W> {
    /// Packs what is in the folder at this relative path, by name.
    fn folder(&mut self, folder: BorrowedFd<'_>, at: &Path, depth: usize) -> Result<(), PackError> {
        if depth > DEPTH_MAX {
            return Err(PackError::Refused(format!(
                "The build left folders nested deeper than {DEPTH_MAX} levels, which can't be packed. Remove them at the end of the build."
            )));
        }
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(io::Error::from)? {
            let name = CString::from(entry.map_err(io::Error::from)?.file_name());
            if !matches!(name.as_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        names.sort();
        for name in names {
            self.order.goes_on()?;
            let name = OsStr::from_bytes(name.as_bytes());
            // History is no part of an app; caches differ from build to build.
            let path = at.join(name);
            if path == Path::new(".git") || path.ends_with("node_modules/.cache") || self.order.excluded.contains(&path)
            {
                continue;
            }
            self.entry(folder, name, &path, depth).map_err(|error| match error {
                PackError::Server(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                    PackError::Refused(format!(
                        "The build's user can't read `{}`, so it can't be packed. Let the build make it readable.",
                        path.display()
                    ))
                }
                error => error,
            })?;
        }
        Ok(())
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &OsStr, at: &Path, depth: usize) -> Result<(), PackError> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                let inner = open_folder(folder, name)?;
                self.count(0)?;
                self.archive.append_data(&mut header(EntryType::Directory, 0o755, 0), at, io::empty())?;
                self.folder(inner.as_fd(), at, depth + 1)
            }
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new()).map_err(io::Error::from)?;
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                if !stays_inside(at, target) && !leads_inside(target) {
                    let words = format!("{} (a link to {}, outside of the app)", at.display(), target.display());
                    self.left_out.push(words);
                    return Ok(());
                }
                self.count(0)?;
                Ok(self.archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), at, target)?)
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = File::from(openat(folder, name, flags, Mode::empty()).map_err(io::Error::from)?);
                let found = fstat(&file).map_err(io::Error::from)?;
                let size = u64::try_from(found.st_size).unwrap_or_default();
                self.count(size)?;
                // Only the release's own user enters its folder, and must be able to read what the build made.
                let mode = if found.st_mode & 0o111 == 0 { 0o644 } else { 0o755 };
                self.files += 1;
                // A file that shrinks meanwhile makes the archive invalid, so that is an error below; one that grows is cut.
                Ok(self.archive.append_data(
                    &mut header(EntryType::Regular, mode, size),
                    at,
                    exactly(self.order, file, size),
                )?)
            }
            _ => {
                self.left_out.push(format!("{} (not a file)", at.display()));
                Ok(())
            }
        }
    }

    /// Counts an entry of this size, before anything of it is read.
    fn count(&mut self, size: u64) -> Result<(), PackError> {
        let ArtifactLimits { bytes_max, entries_max } = self.order.bounds;
        self.bytes = self.bytes.saturating_add(size);
        self.entries += 1;
        let much = if self.bytes > bytes_max {
            format!("more than {} GiB", bytes_max >> 30)
        } else if self.entries > entries_max {
            format!("more than {entries_max} files and folders")
        } else {
            return Ok(());
        };
        Err(PackError::Refused(format!(
            "The app's folder holds {much} after the build, which is too much to pack. Remove what the app does not need at the end of the build."
        )))
    }
}

/// The first `size` bytes; an error when there are fewer, or when packing must end.
pub(crate) fn exactly<'a>(order: &'a PackRequest<'a>, file: File, size: u64) -> impl io::Read + 'a {
    struct Exactly<'a> {
        order: &'a PackRequest<'a>,
        file: File,
        left: u64,
    }
    impl io::Read for Exactly<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.order.goes_on().map_err(io::Error::other)?;
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let count = self.file.read(&mut bytes[..most])?;
            if count == 0 && self.left > 0 && most > 0 {
                return Err(io::Error::other("a file became shorter while it was packed"));
            }
            self.left -= count as u64;
            Ok(count)
        }
    }
    Exactly { order, file, left: size }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// Returns true if a link at `at` leads inside the folder, judged by its path alone.
pub(crate) fn stays_inside(at: &Path, target: &Path) -> bool {
    let mut depth: usize = at.parent().map_or(0, |parent| parent.components().count());
    for component in target.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Hashes and counts what passes through.
pub(crate) struct HashingWriter<W> {
    pub(crate) inner: W,
    pub(crate) hash: Context,
    pub(crate) size_bytes: u64,
}

impl<W> HashingWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, hash: Context::new(&SHA256), size_bytes: 0 }
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.size_bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The app's folder inside the source, by a path that a user gave; without links, relative to the source.
pub(crate) fn inside(source: &Path, root_folder: &str) -> Option<PathBuf> {
    let relative = Path::new(root_folder);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path = fs::canonicalize(source.join(relative)).ok().filter(|_| plain)?;
    let inside = path.strip_prefix(fs::canonicalize(source).ok()?).ok()?;
    path.is_dir().then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    use super::*;

    fn order<'a>(trusted: &'a Path, below: &'a str, cancel: &'a CancellationToken) -> PackRequest<'a> {
        let deadline = Instant::now() + Duration::from_secs(60);
        PackRequest {
            trusted,
            below: Path::new(below),
            excluded: &NO_EXCLUSIONS,
            user: None,
            cancel,
            deadline,
            bounds: ArtifactLimits::ARTIFACT,
        }
    }

    fn pack_all(folder: &Path, artifacts: &Path, name: &str, cancel: &CancellationToken) -> Result<Packed, PackError> {
        pack(&order(folder, "", cancel), artifacts, name)
    }

    #[test]
    fn too_much_is_refused_before_it_is_read_and_no_file_outlasts_a_deadline_or_a_cancel() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        let cancel = CancellationToken::new();
        sparse.set_len(ArtifactLimits::ARTIFACT.bytes_max + 1).unwrap();
        let error = pack_all(folder.path(), artifacts.path(), "a", &cancel).unwrap_err();
        assert!(error.to_string().contains("more than 16 GiB"), "{error}");
        sparse.set_len(ArtifactLimits::ARTIFACT.bytes_max).unwrap();
        let soon =
            PackRequest { deadline: Instant::now() + Duration::from_millis(50), ..order(folder.path(), "", &cancel) };
        assert!(matches!(pack(&soon, artifacts.path(), "a").unwrap_err(), PackError::Timeout));
        std::thread::scope(|scope| {
            let packing = scope.spawn(|| pack_all(folder.path(), artifacts.path(), "a", &cancel));
            while !artifacts.path().join("a.part").exists() {
                std::thread::yield_now();
            }
            cancel.cancel();
            assert!(matches!(packing.join().unwrap().unwrap_err(), PackError::Cancelled));
        });
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 0);
        let cancel = CancellationToken::new();
        sparse.set_len(1).unwrap();
        fs::write(folder.path().join("another"), "").unwrap();
        let bounds = ArtifactLimits { entries_max: 1, ..ArtifactLimits::ARTIFACT };
        let error =
            pack(&PackRequest { bounds, ..order(folder.path(), "", &cancel) }, artifacts.path(), "a").unwrap_err();
        assert!(error.to_string().contains("more than 1 files"), "{error}");
    }

    fn sample(folder: &Path) {
        fs::create_dir_all(folder.join("src/deep")).unwrap();
        fs::create_dir_all(folder.join(".git")).unwrap();
        fs::write(folder.join(".git/HEAD"), "x").unwrap();
        fs::write(folder.join("src/deep/b.js"), "b").unwrap();
        fs::write(folder.join("a.sh"), "a").unwrap();
        fs::set_permissions(folder.join("a.sh"), fs::Permissions::from_mode(0o4775)).unwrap();
        symlink("src/deep/b.js", folder.join("inside")).unwrap();
    }

    #[test]
    fn the_same_files_make_the_same_digest_whenever_they_were_written() {
        let (one, two, artifacts) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(one.path());
        sample(two.path());
        fs::File::open(two.path().join("a.sh")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::set_permissions(two.path().join("src/deep/b.js"), fs::Permissions::from_mode(0o600)).unwrap();
        let cancel = CancellationToken::new();
        let first = pack_all(one.path(), artifacts.path(), "a", &cancel).unwrap();
        let second = pack_all(two.path(), artifacts.path(), "b", &cancel).unwrap();
        assert_eq!(first, second);
        assert_eq!(first.files, 2);
        let archives = fs::read_dir(artifacts.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file());
        assert_eq!(archives.count(), 1);
        fs::write(two.path().join("a.sh"), "A").unwrap();
        assert_ne!(pack_all(two.path(), artifacts.path(), "b", &cancel).unwrap().digest, first.digest);
    }

    #[test]
    fn links_that_lead_outside_are_left_out_and_named() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(folder.path());
        symlink("/etc/passwd", folder.path().join("absolute")).unwrap();
        symlink("../../etc/passwd", folder.path().join("src/up")).unwrap();
        let packed = pack_all(folder.path(), artifacts.path(), "a", &CancellationToken::new()).unwrap();
        assert_eq!(packed.left_out.len(), 2);
        assert!(packed.left_out[0].starts_with("absolute"), "{:?}", packed.left_out);
    }

    #[test]
    fn links_of_a_virtual_environment_reach_the_release_and_other_absolute_ones_do_not() {
        let (folder, artifacts, into) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let programs = folder.path().join(".venv/bin");
        fs::create_dir_all(&programs).unwrap();
        let kept = [
            ("python", "/usr/bin/python3"),
            ("python3", "/runtimes/python@3.13.1/bin/python3"),
            ("app", "/app/main.py"),
        ];
        let left = [("passwd", "/etc/passwd"), ("up", "/usr/../etc/passwd"), ("top", "/app"), ("home", "/home/ada/x")];
        for (name, target) in kept.iter().chain(&left) {
            symlink(target, programs.join(name)).unwrap();
        }
        let packed = pack_all(folder.path(), artifacts.path(), "a", &CancellationToken::new()).unwrap();
        assert_eq!(packed.left_out.len(), left.len(), "{:?}", packed.left_out);
        let (artifact, release) =
            (crate::artifact_path(artifacts.path(), &packed.digest).unwrap(), into.path().join("r"));
        crate::unpack(&artifact, &packed.digest, &release).unwrap();
        for (name, target) in kept {
            assert_eq!(fs::read_link(release.join(".venv/bin").join(name)).unwrap(), Path::new(target));
        }
        assert_eq!(fs::read_dir(release.join(".venv/bin")).unwrap().count(), kept.len());
    }

    #[test]
    fn a_link_in_the_way_to_the_folder_or_a_folder_without_end_is_refused() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("real")).unwrap();
        sample(&folder.path().join("real"));
        symlink("real", folder.path().join("link")).unwrap();
        let cancel = CancellationToken::new();
        let order = |below| order(folder.path(), below, &cancel);
        pack(&order("real/src"), artifacts.path(), "a").unwrap();
        for below in ["link", "link/src", "absent"] {
            let error = pack(&order(below), artifacts.path(), "a").unwrap_err();
            assert!(matches!(error, PackError::Refused(_)), "{below}: {error}");
        }
        fs::create_dir_all(folder.path().join("real").join("d/".repeat(DEPTH_MAX + 1))).unwrap();
        let error = pack(&order("real"), artifacts.path(), "a").unwrap_err();
        assert!(matches!(error, PackError::Refused(_)), "{error}");
    }

    #[test]
    fn what_the_builds_user_can_not_read_is_not_packed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("key"), "secret").unwrap();
        fs::set_permissions(folder.path().join("key"), fs::Permissions::from_mode(0o600)).unwrap();
        let cancel = CancellationToken::new();
        let order = PackRequest { user: Some(71_234), ..order(folder.path(), "", &cancel) };
        let error = pack(&order, artifacts.path(), "a").unwrap_err();
        assert!(error.to_string().contains("`key`"), "{error}");
    }

    #[test]
    fn a_cancelled_pack_leaves_nothing() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(folder.path());
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = pack_all(folder.path(), artifacts.path(), "a", &cancel).unwrap_err();
        assert!(matches!(error, PackError::Cancelled), "{error}");
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_root_folder_never_leaves_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        sample(folder.path());
        symlink("/etc", folder.path().join("out")).unwrap();
        assert!(inside(folder.path(), "").is_some());
        symlink("src", folder.path().join("alias")).unwrap();
        assert_eq!(inside(folder.path(), "alias/deep"), Some(PathBuf::from("src/deep")));
        for bad in ["..", "src/../..", "/etc", "out", "a.sh", "absent"] {
            assert!(inside(folder.path(), bad).is_none(), "{bad}");
        }
    }
}
