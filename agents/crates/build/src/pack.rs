//! A folder to an artifact: the same files make the same bytes, whoever packs them and when.
//! Owns the order and the attributes of entries. Never follows a link, never packs one that leads outside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_base::{CancellationToken, file};
use tar::{EntryType, Header};

/// Fast, and as good as slow levels on JavaScript.
const LEVEL: i32 = 3;

/// What was packed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// `sha256:<hex>` of the file.
    pub(crate) digest: String,
    pub(crate) size_bytes: u64,
    pub(crate) files: u64,
    /// Links and special files that were left out, for the log.
    pub(crate) left_out: Vec<String>,
}

/// Packs `folder` into `artifacts/<hex>.tar.zst`. Blocking. `Interrupted` when it was cancelled.
pub(crate) fn pack(folder: &Path, artifacts: &Path, name: &str, cancel: &CancellationToken) -> io::Result<Packed> {
    // Two builds never share a name; what a crash left is replaced.
    let partial = artifacts.join(format!("{name}.part"));
    let result = write(folder, &partial, cancel).and_then(|packed| {
        let path = crate::artifact_path(artifacts, &packed.digest).ok_or(io::ErrorKind::InvalidData)?;
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

fn write(folder: &Path, partial: &Path, cancel: &CancellationToken) -> io::Result<Packed> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(partial)?;
    let mut encoder = zstd::Encoder::new(Hashing::new(BufWriter::new(file)), LEVEL)?;
    encoder.include_checksum(true)?;
    let mut packer =
        Packer { archive: tar::Builder::new(encoder), root: folder, cancel, files: 0, left_out: Vec::new() };
    packer.folder(Path::new(""))?;
    let Packer { archive, files, left_out, .. } = packer;
    let hashing = archive.into_inner()?.finish()?;
    let (hash, size_bytes) = (hashing.hash, hashing.size_bytes);
    let file = hashing.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    let hex: String = hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Packed { digest: format!("sha256:{hex}"), size_bytes, files, left_out })
}

struct Packer<'a, W: Write> {
    archive: tar::Builder<W>,
    root: &'a Path,
    cancel: &'a CancellationToken,
    files: u64,
    left_out: Vec<String>,
}

impl<W: Write> Packer<'_, W> {
    /// Packs what is in the folder at this relative path, by name.
    fn folder(&mut self, at: &Path) -> io::Result<()> {
        let mut names = fs::read_dir(self.root.join(at))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        for name in names {
            if self.cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            // History is no part of an app; caches differ from build to build.
            let path = at.join(name);
            if path == Path::new(".git") || path.ends_with("node_modules/.cache") {
                continue;
            }
            self.entry(&path)?;
        }
        Ok(())
    }

    fn entry(&mut self, at: &Path) -> io::Result<()> {
        let path = self.root.join(at);
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() {
            self.archive.append_data(&mut header(EntryType::Directory, 0o755, 0), at, io::empty())?;
            return self.folder(at);
        }
        if found.is_symlink() {
            let target = fs::read_link(&path)?;
            if !stays_inside(at, &target) {
                self.left_out.push(format!("{} (a link to {}, outside of the app)", at.display(), target.display()));
                return Ok(());
            }
            return self.archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), at, target);
        }
        if !found.is_file() {
            self.left_out.push(format!("{} (not a file)", at.display()));
            return Ok(());
        }
        let mode = if found.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path)?;
        let size = file.metadata()?.len();
        self.files += 1;
        // A file that shrinks meanwhile makes the archive invalid, so that is an error below; one that grows is cut.
        self.archive.append_data(&mut header(EntryType::Regular, mode, size), at, exactly(file, size))
    }
}

/// The first `size` bytes; an error when there are fewer.
fn exactly(file: File, size: u64) -> impl io::Read {
    struct Exactly {
        file: File,
        left: u64,
    }
    impl io::Read for Exactly {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let count = self.file.read(&mut bytes[..most])?;
            if count == 0 && self.left > 0 && most > 0 {
                return Err(io::Error::other("a file became shorter while it was packed"));
            }
            self.left -= count as u64;
            Ok(count)
        }
    }
    Exactly { file, left: size }
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

/// Whether a link at `at` leads to something inside the folder, by its words alone.
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
struct Hashing<W> {
    inner: W,
    hash: Context,
    size_bytes: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self { inner, hash: Context::new(&SHA256), size_bytes: 0 }
    }
}

impl<W: Write> Write for Hashing<W> {
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

/// The app's folder inside the source, by a path that a user gave.
pub(crate) fn inside(source: &Path, root_folder: &str) -> Option<PathBuf> {
    let relative = Path::new(root_folder);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path = fs::canonicalize(source.join(relative)).ok().filter(|_| plain)?;
    (path.starts_with(fs::canonicalize(source).ok()?) && path.is_dir()).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
        let first = pack(one.path(), artifacts.path(), "a", &cancel).unwrap();
        let second = pack(two.path(), artifacts.path(), "b", &cancel).unwrap();
        assert_eq!(first, second);
        assert_eq!(first.files, 2);
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 1);
        fs::write(two.path().join("a.sh"), "A").unwrap();
        assert_ne!(pack(two.path(), artifacts.path(), "b", &cancel).unwrap().digest, first.digest);
    }

    #[test]
    fn links_that_lead_outside_are_left_out_and_named() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(folder.path());
        symlink("/etc/passwd", folder.path().join("absolute")).unwrap();
        symlink("../../etc/passwd", folder.path().join("src/up")).unwrap();
        let packed = pack(folder.path(), artifacts.path(), "a", &CancellationToken::new()).unwrap();
        assert_eq!(packed.left_out.len(), 2);
        assert!(packed.left_out[0].starts_with("absolute"), "{:?}", packed.left_out);
    }

    #[test]
    fn a_cancelled_pack_leaves_nothing() {
        let (folder, artifacts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(folder.path());
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = pack(folder.path(), artifacts.path(), "a", &cancel).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_root_folder_never_leaves_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        sample(folder.path());
        symlink("/etc", folder.path().join("out")).unwrap();
        assert!(inside(folder.path(), "").is_some());
        assert!(inside(folder.path(), "src/deep").is_some());
        for bad in ["..", "src/../..", "/etc", "out", "a.sh", "absent"] {
            assert!(inside(folder.path(), bad).is_none(), "{bad}");
        }
    }
}
