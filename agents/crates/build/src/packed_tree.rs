//! Writes the folder of a release while its artifact is packed, so the server that built it need not unpack it. Invariant: the
//! folder equals the unpacked artifact, because both come from the same bytes, read once.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use fairlead_base::{Trash, file, random, tree};

use crate::build_folders::DISK_BYTES_MIN;
use crate::unpack::{UnpackError, unpack_entries};

const ENDING: &str = ".tree";
const PARTIAL: &str = ".tree.part";
/// Bytes that go to the writer at once, and how many times them it may be behind.
const CHUNK_BYTES: usize = 128 << 10;
const CHUNKS_MAX: usize = 32;
/// Room for logs, state and what apps write.
const FREE_BYTES_MIN: u64 = DISK_BYTES_MIN * 4;
/// Bytes between two looks at the free space.
const LOOK_BYTES: usize = 32 << 20;

/// Folder that the artifact of these hex digits was packed from. Another run of the agent has another name for it: a folder
/// that is not on disk yet does not outlast a power cut.
fn path(artifacts: &Path, hex: &str) -> PathBuf {
    static RUN: OnceLock<String> = OnceLock::new();
    artifacts.join(format!("{hex}.{}{ENDING}", RUN.get_or_init(|| random::alphanumeric(12))))
}

/// The same of the path of an artifact.
fn beside(artifact: &Path) -> Option<PathBuf> {
    let hex = artifact.file_name()?.to_str()?.strip_suffix(".tar.zst")?;
    Some(path(artifact.parent()?, hex))
}

/// Reports whether the release of this artifact needs no unpacking.
pub fn has_tree(artifact: &Path) -> bool {
    beside(artifact).is_some_and(|tree| tree.is_dir())
}

/// Takes all such folders out of use. The rename leaves each of them whole to a release that is taking it.
pub fn clear_trees(artifacts: &Path, trash: &Trash) -> io::Result<()> {
    for entry in fs::read_dir(artifacts)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.ends_with(ENDING) || name.ends_with(PARTIAL)) {
            trash.set_aside(&entry.path())?;
        }
    }
    Ok(())
}

/// Makes the folder of the artifact the release's. Returns false when there is none. Blocking.
pub(crate) fn adopt(artifact: &Path, into: &Path) -> io::Result<bool> {
    let Some(tree) = beside(artifact).filter(|tree| tree.is_dir()) else { return Ok(false) };
    // Or a power cut after the rename could leave a whole folder of empty files.
    rustix::fs::syncfs(fs::File::open(&tree)?)?;
    fs::rename(&tree, into)?;
    file::sync_folder(into)?;
    Ok(true)
}

/// Runs `pack` and unpacks a copy of its output into a folder; a failure of the copy never fails `pack`. Once both are done,
/// `name` returns the artifact's hex digits. Blocking.
pub(crate) fn beside_pack<T, E>(
    artifacts: &Path,
    name: &str,
    pack: impl FnOnce(Option<SyncSender<Vec<u8>>>) -> Result<T, E>,
    hex: impl FnOnce(&T) -> String,
) -> Result<T, E> {
    let partial = artifacts.join(format!("{name}{PARTIAL}"));
    let (sender, chunks) = sync_channel(CHUNKS_MAX);
    let (packed, written) = std::thread::scope(|scope| {
        let writer = std::thread::Builder::new().name("packed-tree".into());
        match writer.spawn_scoped(scope, || write(chunks, &partial)) {
            Ok(writer) => {
                let packed = pack(Some(sender));
                let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended").into()));
                (packed, written)
            }
            Err(error) => (pack(None), Err(error.into())),
        }
    });
    let kept = written.and_then(|()| match &packed {
        Ok(packed) => Ok(fs::rename(&partial, path(artifacts, &hex(packed)))?),
        Err(_) => Err(io::Error::other("nothing was packed").into()),
    });
    if let Err(error) = kept {
        if packed.is_ok() {
            tracing::warn!(%error, "the release's folder could not be written while packing; its artifact will be unpacked");
        }
        if let Err(error) = tree::remove(&partial) {
            tracing::warn!(%error, folder = %partial.display(), "what was written of a release's folder stays");
        }
    }
    packed
}

fn write(chunks: Receiver<Vec<u8>>, partial: &Path) -> Result<(), UnpackError> {
    // A crash may have left it.
    tree::remove(partial)?;
    let mut chunks = Chunks { chunks, chunk: Vec::new(), at: 0, unlooked: LOOK_BYTES, folder: partial };
    unpack_entries(&mut chunks, partial)?;
    io::copy(&mut chunks, &mut io::sink())?;
    Ok(())
}

/// Reads what the packer sends, as long as the disk has room.
struct Chunks<'a> {
    chunks: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
    unlooked: usize,
    folder: &'a Path,
}

impl Read for Chunks<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            // The packer has ended.
            let Ok(chunk) = self.chunks.recv() else { return Ok(0) };
            (self.chunk, self.at) = (chunk, 0);
            self.unlooked += self.chunk.len();
            if self.unlooked >= LOOK_BYTES {
                self.unlooked = 0;
                let disk = rustix::fs::statvfs(self.folder)?;
                if disk.f_bavail.saturating_mul(disk.f_frsize) < FREE_BYTES_MIN {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
        }
        let count = bytes.len().min(self.chunk.len() - self.at);
        bytes[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Writes to both; what happens to the copy is no matter of the writer.
pub(crate) struct Tee<W> {
    inner: W,
    copy: Option<SyncSender<Vec<u8>>>,
    chunk: Vec<u8>,
}

impl<W: Write> Tee<W> {
    pub(crate) fn new(inner: W, copy: Option<SyncSender<Vec<u8>>>) -> Self {
        Self { inner, copy, chunk: Vec::new() }
    }

    pub(crate) fn finish(mut self) -> W {
        self.send();
        self.inner
    }

    fn send(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        // A receiver that is gone has failed.
        self.copy = self.copy.take().filter(|copy| copy.send(chunk).is_ok());
    }
}

impl<W: Write> Write for Tee<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        if self.copy.is_some() {
            self.chunk.extend_from_slice(&bytes[..count]);
            if self.chunk.len() >= CHUNK_BYTES {
                self.send();
            }
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::time::{Duration, Instant};

    use fairlead_base::{CancellationToken, Folders};

    use super::*;
    use crate::pack::{ArtifactLimits, NO_EXCLUSIONS, PackRequest, Packed, pack};

    fn packed(source: &Path, artifacts: &Path) -> (Packed, PathBuf) {
        let (cancel, deadline) = (CancellationToken::new(), Instant::now() + Duration::from_secs(60));
        let below = Path::new("");
        let order = PackRequest {
            trusted: source,
            below,
            excluded: &NO_EXCLUSIONS,
            user: None,
            cancel: &cancel,
            deadline,
            bounds: ArtifactLimits::ARTIFACT,
        };
        let packed = pack(&order, artifacts, "dep_1").unwrap();
        let artifact = crate::artifact_path(artifacts, &packed.digest).unwrap();
        (packed, artifact)
    }

    /// All that a release's user could tell of a folder: names, kinds, modes, owners, numbers of names, bytes and targets.
    fn seen(folder: &Path) -> Vec<(PathBuf, u32, u32, u64, Vec<u8>)> {
        let mut seen = Vec::new();
        let mut ways = vec![folder.to_owned()];
        while let Some(path) = ways.pop() {
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if found.is_dir() {
                ways.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            let names = if found.is_dir() { 0 } else { found.nlink() };
            seen.push((path.strip_prefix(folder).unwrap().to_owned(), found.mode(), found.uid(), names, bytes));
        }
        seen.sort();
        seen
    }

    /// Leftovers of builds, well-meant or not.
    fn sample(source: &Path) {
        fs::create_dir_all(source.join("bin/empty")).unwrap();
        fs::create_dir_all(source.join("l".repeat(90)).join("n".repeat(90))).unwrap();
        fs::write(source.join("l".repeat(90)).join("n".repeat(90)).join("file"), "deep").unwrap();
        fs::write(source.join("bin/run"), "go").unwrap();
        fs::set_permissions(source.join("bin/run"), PermissionsExt::from_mode(0o6777)).unwrap();
        fs::set_permissions(source.join("bin/empty"), PermissionsExt::from_mode(0o1777)).unwrap();
        fs::write(source.join("closed"), "x").unwrap();
        fs::set_permissions(source.join("closed"), PermissionsExt::from_mode(0o400)).unwrap();
        fs::write(source.join("large"), (0..1_000_003_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()).unwrap();
        fs::hard_link(source.join("bin/run"), source.join("again")).unwrap();
        fs::File::create(source.join("sparse")).unwrap().set_len(1 << 20).unwrap();
        fs::write(source.join("nothing"), "").unwrap();
        symlink("bin/run", source.join("link")).unwrap();
        symlink("/etc/passwd", source.join("outside")).unwrap();
        symlink("/usr/bin/env", source.join("program")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            source.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    }

    #[test]
    fn a_release_where_it_was_built_is_the_one_that_other_servers_unpack() {
        let dir = tempfile::tempdir().unwrap();
        let (source, artifacts) = (dir.path().join("source"), dir.path().join("artifacts"));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&artifacts).unwrap();
        sample(&source);
        let (packed, artifact) = packed(&source, &artifacts);
        assert!(has_tree(&artifact));
        let (here, elsewhere) = (dir.path().join("here"), dir.path().join("elsewhere"));
        // Only the folder that was written while packing can make this release.
        fs::rename(&artifact, dir.path().join("sent")).unwrap();
        crate::unpack(&artifact, &packed.digest, &here).unwrap();
        assert!(!has_tree(&artifact));
        crate::unpack(&dir.path().join("sent"), &packed.digest, &elsewhere).unwrap();
        assert_eq!(seen(&here), seen(&elsewhere));
        assert_eq!(seen(&here).len(), 14, "the link that leads outside and the pipe are left out");
        let missing = crate::unpack(&artifact, &packed.digest, &dir.path().join("third")).unwrap_err();
        assert!(matches!(missing, UnpackError::Missing), "it is taken once: {missing:?}");
    }

    #[test]
    fn what_a_build_still_holds_does_not_change_its_release() {
        let dir = tempfile::tempdir().unwrap();
        let (source, artifacts) = (dir.path().join("source"), dir.path().join("artifacts"));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&artifacts).unwrap();
        fs::write(source.join("app.js"), "good").unwrap();
        fs::hard_link(source.join("app.js"), dir.path().join("second-name")).unwrap();
        let mut open = OpenOptions::new().write(true).open(source.join("app.js")).unwrap();
        let mapped = OpenOptions::new().append(true).open(source.join("app.js")).unwrap();
        let (packed, artifact) = packed(&source, &artifacts);
        open.write_all(b"evil").unwrap();
        (&mapped).write_all(b"more").unwrap();
        fs::write(dir.path().join("second-name"), "evil").unwrap();
        fs::write(source.join("planted"), "evil").unwrap();
        let release = dir.path().join("release");
        crate::unpack(&artifact, &packed.digest, &release).unwrap();
        assert_eq!(fs::read_to_string(release.join("app.js")).unwrap(), "good");
        assert_eq!(fs::read_dir(&release).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_can_not_be_written_or_is_cleared_leaves_the_artifact() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let source = dir.path().join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("app.js"), "x").unwrap();
        let (packed_once, artifact) = packed(&source, &folders.artifacts());
        fs::create_dir(folders.artifacts().join("dep_2.tree.part")).unwrap();
        clear_trees(&folders.artifacts(), &Trash::new(&folders)).unwrap();
        assert!(!has_tree(&artifact));
        assert_eq!(fs::read_dir(folders.artifacts()).unwrap().count(), 1);
        crate::unpack(&artifact, &packed_once.digest, &dir.path().join("release")).unwrap();

        let mut copied = Tee::new(Vec::new(), Some(sync_channel(1).0));
        copied.write_all(&vec![7; CHUNK_BYTES * 3]).unwrap();
        assert_eq!(copied.finish().len(), CHUNK_BYTES * 3, "a copy that nobody takes holds nothing up");
        let failed: Result<Packed, io::Error> =
            beside_pack(&folders.artifacts(), "dep_3", |_| Err(io::ErrorKind::Other.into()), |_| String::new());
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folders.artifacts()).unwrap().count(), 1);
    }
}
