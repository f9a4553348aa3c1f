//! An artifact to a folder: whole and with the right digest, or not at all. Believes nothing that the archive says about
//! paths, owners or modes. Never writes outside of the folder it makes.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_base::root_view::leads_inside;
use fairlead_base::{file, tree};
use fairlead_model::Failure;
use tar::EntryType;

use crate::pack::{ArtifactLimits, stays_inside};
use crate::packed_tree;

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The artifact isn't here.
    #[error("The server no longer holds this release's artifact. Redeploy its commit to build it again.")]
    Missing,
    /// Its bytes are not those that were built.
    #[error("The release's artifact on this server is damaged. Redeploy its commit to build it again.")]
    Damaged,
    /// It holds what no artifact of ours holds.
    #[error("The release's artifact was refused: {0}. Redeploy its commit to build it again.")]
    Refused(String),
    /// The server's disk is full.
    #[error(
        "The server's disk is full, so the release could not be unpacked. Free some space on it, then deploy again."
    )]
    DiskFull,
    /// The server itself could not do it.
    #[error("The release could not be unpacked on this server ({0}).")]
    Server(#[source] io::Error),
}

impl UnpackError {
    /// Describes the fault of a foreign archive.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Missing | Self::Damaged => "it is damaged or not whole".to_owned(),
            Self::Refused(why) => why.clone(),
            Self::DiskFull => "the server's disk is full".to_owned(),
            Self::Server(source) => source.to_string(),
        }
    }

    /// The failure as it is reported.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Missing | Self::Damaged | Self::Refused(_) => "rollout.artifact_missing",
            Self::DiskFull => "build.disk_full",
            Self::Server(_) => "rollout.internal",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}

impl From<io::Error> for UnpackError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            // Decoders return these kinds for bytes that they can't read.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Self::Damaged,
            _ => Self::Server(error),
        }
    }
}

/// Unpacks an artifact into `into`, unless that is there: it only ever appears whole. Blocking.
/// Everything belongs to the agent; nothing is writable by others or has set-user bits. The folder itself is closed to
/// all but the agent; the start of a release gives its app access.
pub fn unpack(artifact: &Path, digest: &str, into: &Path) -> Result<(), UnpackError> {
    if into.is_dir() {
        return Ok(());
    }
    match packed_tree::adopt(artifact, into) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "the folder that was packed can't become the release's; unpacking"),
    }
    let file = match File::open(artifact) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(UnpackError::Missing),
        file => file?,
    };
    let name =
        into.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.to_string_lossy().into_owned();
    let partial = into.with_file_name(format!("{name}.partial"));
    // A crash may have left a part of an earlier attempt.
    tree::remove(&partial)?;
    let result = fill(file, digest, &partial).and_then(|()| {
        // Or a power cut after the rename could leave a whole folder of empty files.
        rustix::fs::syncfs(File::open(&partial)?).map_err(io::Error::from)?;
        fs::rename(&partial, into)?;
        file::sync_folder(into)?;
        Ok(())
    });
    if result.is_err() {
        tree::remove(&partial)?;
    }
    result
}

fn fill(file: File, digest: &str, partial: &Path) -> Result<(), UnpackError> {
    let hashing = HashingReader { inner: BufReader::with_capacity(1 << 17, file), hash: Context::new(&SHA256) };
    let mut decoder = zstd::Decoder::with_buffer(io::BufReader::with_capacity(1 << 17, hashing))?;
    unpack_entries(&mut decoder, partial)?;
    // Bytes after the archive are part of the digest too.
    io::copy(&mut decoder, &mut io::sink())?;
    let mut hashing = decoder.finish().into_inner();
    io::copy(&mut hashing, &mut io::sink())?;
    let hex: String = hashing.hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    if format!("sha256:{hex}") == digest { Ok(()) } else { Err(UnpackError::Damaged) }
}

/// Unpacks an archive of ours into a new folder.
pub(crate) fn unpack_entries(from: impl Read, into: &Path) -> Result<(), UnpackError> {
    make_folder(into, 0o700)?;
    let mut unpacker = Unpacker { root: into, links: HashSet::new(), bytes: 0, entries: 0, foreign: None };
    for entry in tar::Archive::new(from).entries()? {
        unpacker.entry(&mut entry?)?;
    }
    Ok(())
}

/// Options for unpacking an archive from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Number of leading path components to strip.
    pub(crate) strip: usize,
    /// Maximum unpacked size; more is refused.
    pub(crate) bytes_max: u64,
    /// Reports whether an entry is wanted, by its path without the leading names.
    pub(crate) wanted: fn(&Path) -> bool,
    /// True if a hard link becomes a copy of the file that it names; else it is refused.
    pub(crate) hard_links: bool,
}

impl Form {
    /// Everything, without `strip` leading names.
    pub(crate) fn new(strip: usize, bytes_max: u64) -> Self {
        Self { strip, bytes_max, wanted: |_| true, hard_links: false }
    }
}

/// Unpacks an archive of others into `into`, which is made unless it is there and has no links then. What ours never have is
/// taken too: folders that are not named, or named twice. Blocking.
pub(crate) fn unpack_tar(from: impl Read, into: &Path, form: Form) -> Result<(), UnpackError> {
    unpack_tars([from], into, form)
}

/// Unpacks archives of others over each other: what one of them has is never written through a link of another.
pub(crate) fn unpack_tars<R: Read>(
    archives: impl IntoIterator<Item = R>,
    into: &Path,
    form: Form,
) -> Result<(), UnpackError> {
    if !into.is_dir() {
        make_folder(into, 0o755)?;
    }
    let mut unpacker = Unpacker { root: into, links: HashSet::new(), bytes: 0, entries: 0, foreign: Some(form) };
    for archive in archives {
        for entry in tar::Archive::new(archive).entries()? {
            unpacker.entry(&mut entry?)?;
        }
    }
    Ok(())
}

fn stripped(at: &Path, form: Form) -> PathBuf {
    at.components().filter(|part| *part != Component::CurDir).skip(form.strip).collect()
}

struct Unpacker<'a> {
    root: &'a Path,
    /// Links made so far: nothing is ever written through one.
    links: HashSet<PathBuf>,
    bytes: u64,
    entries: u64,
    /// Set when it isn't an archive of ours.
    foreign: Option<Form>,
}

impl Unpacker<'_> {
    fn entry<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Result<(), UnpackError> {
        let refused = |why: &str, at: &Path| UnpackError::Refused(format!("{} {why}", at.display()));
        let mut at = entry.path()?.into_owned();
        if let Some(form) = self.foreign {
            // Global headers of `git archive` and `tar` are no files.
            if matches!(entry.header().entry_type(), EntryType::XGlobalHeader) {
                return Ok(());
            }
            at = stripped(&at, form);
            if at.as_os_str().is_empty() || !(form.wanted)(&at) {
                return Ok(());
            }
        }
        let bytes_max = self.foreign.map_or(ArtifactLimits::ARTIFACT.bytes_max, |form| form.bytes_max);
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(entry.header().entry_size()?);
        // An archive that unpacks to more is a mistake or an attack.
        if self.entries > ArtifactLimits::ARTIFACT.entries_max || self.bytes > bytes_max {
            return Err(UnpackError::Refused("it is too large".to_owned()));
        }
        if at.as_os_str().is_empty() || !at.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(refused("leads outside of the app", &at));
        }
        if at.ancestors().skip(1).any(|parent| self.links.contains(parent)) {
            return Err(refused("lies behind a link", &at));
        }
        let path = self.root.join(&at);
        if let Some(parent) = path.parent().filter(|_| self.foreign.is_some()) {
            // No part of it is a link of the archive's, and the folder is ours alone.
            DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        }
        match entry.header().entry_type() {
            EntryType::Directory if self.foreign.is_some() && path.is_dir() => {}
            EntryType::Directory => make_folder(&path, 0o755)?,
            EntryType::Regular => {
                let executable = entry.header().mode()? & 0o111 != 0;
                let mode = if executable { 0o755 } else { 0o644 };
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .custom_flags(libc::O_NOFOLLOW)
                    .open(&path)?;
                io::copy(entry, &mut file)?;
                set_mode(&file, mode)?;
            }
            EntryType::Symlink => {
                let target = entry.link_name()?.ok_or_else(|| refused("is a link to nothing", &at))?.into_owned();
                // Code that follows one of these links as root must not trust the target.
                let leads_inside = self.foreign.is_none() && leads_inside(&target);
                // Root may follow a foreign link and the links in its target: none of them may lead up again.
                let is_plain = self.foreign.is_none() || leads_up_first(&target);
                if !is_plain || (!stays_inside(&at, &target) && !leads_inside) {
                    return Err(refused("is a link that leads outside of the app", &at));
                }
                symlink(&target, &path)?;
                self.links.insert(at);
            }
            EntryType::Link if self.foreign.is_some_and(|form| form.hard_links) => {
                let target = entry.link_name()?.ok_or_else(|| refused("is a link to nothing", &at))?;
                let target = self.foreign.map(|form| stripped(&target, form)).unwrap_or_default();
                let behind_link = target.ancestors().any(|part| self.links.contains(part));
                let plain = target.components().all(|part| matches!(part, Component::Normal(_)));
                if behind_link || !plain || target.as_os_str().is_empty() {
                    return Err(refused("is a link that leads outside of the app", &at));
                }
                let from = self.root.join(&target);
                self.bytes = self.bytes.saturating_add(fs::symlink_metadata(&from)?.len());
                if self.bytes > bytes_max {
                    return Err(UnpackError::Refused("it is too large".to_owned()));
                }
                // `path` is new: nothing is written through a link.
                if path.symlink_metadata().is_ok() {
                    return Err(refused("is there twice", &at));
                }
                fs::copy(from, &path)?;
            }
            _ => return Err(refused("is neither file, folder nor link", &at)),
        }
        Ok(())
    }
}

/// Reports whether a path goes up only at its beginning. Then it means the same by its words as in the file system.
fn leads_up_first(target: &Path) -> bool {
    let below = target.components().skip_while(|part| matches!(part, Component::ParentDir | Component::CurDir));
    below.into_iter().all(|part| part != Component::ParentDir)
}

fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    set_mode(&File::open(path)?, mode)
}

/// Gives back the bits that the umask took away. Where it took none, the file system is spared a change for each file.
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.mode() & 0o7777 == mode {
        return Ok(());
    }
    file.set_permissions(PermissionsExt::from_mode(mode))
}

/// Hashes what is read.
struct HashingReader<R> {
    inner: R,
    hash: Context,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use fairlead_base::CancellationToken;
    use tar::Header;

    use super::*;

    /// An archive as an attacker would write it, and its digest.
    fn artifact(folder: &Path, entries: &[(&str, EntryType, &str)]) -> (PathBuf, String) {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, kind, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o6777);
            // `set_path` would refuse what this is about.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            let body = if *kind == EntryType::Regular { text.as_bytes() } else { b"" };
            if *kind != EntryType::Regular && !text.is_empty() {
                header.set_link_name(text).unwrap();
            }
            header.set_size(body.len() as u64);
            header.set_cksum();
            archive.append(&header, body).unwrap();
        }
        let bytes = zstd::encode_all(archive.into_inner().unwrap().as_slice(), 1).unwrap();
        let path = folder.join("artifact");
        fs::write(&path, &bytes).unwrap();
        let hash = aws_lc_rs::digest::digest(&SHA256, &bytes);
        let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        (path, format!("sha256:{hex}"))
    }

    #[test]
    fn what_was_packed_comes_back_without_rights_it_should_not_have() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        fs::create_dir_all(source.join("bin")).unwrap();
        fs::write(source.join("bin/run"), "go").unwrap();
        fs::set_permissions(source.join("bin/run"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::write(source.join("data"), "x".repeat(100_000)).unwrap();
        symlink("bin/run", source.join("link")).unwrap();
        let cancel = CancellationToken::new();
        let order = crate::pack::PackRequest {
            trusted: &source,
            below: Path::new(""),
            excluded: &crate::pack::NO_EXCLUSIONS,
            user: None,
            cancel: &cancel,
            deadline: std::time::Instant::now() + std::time::Duration::from_secs(60),
            bounds: ArtifactLimits::ARTIFACT,
        };
        let packed = crate::pack::pack(&order, dir.path(), "a").unwrap();
        let artifact = crate::artifact_path(dir.path(), &packed.digest).unwrap();
        let into = dir.path().join("rel_1");
        unpack(&artifact, &packed.digest, &into).unwrap();
        unpack(&artifact, &packed.digest, &into).unwrap();
        assert_eq!(fs::read_to_string(into.join("link")).unwrap(), "go");
        let mode = |name: &str| fs::metadata(into.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(""), mode("bin"), mode("bin/run"), mode("data")), (0o700, 0o755, 0o755, 0o644));
        assert!(!dir.path().join("rel_1.partial").exists());
    }

    #[test]
    fn an_archive_that_reaches_outside_is_refused_and_leaves_nothing() {
        use EntryType::{Block, Link, Regular, Symlink};
        let cases: [&[(&str, EntryType, &str)]; 8] = [
            &[("../evil", Regular, "x")],
            &[("/tmp/evil", Regular, "x")],
            &[("a/../../evil", Regular, "x")],
            &[("link", Symlink, "/etc/passwd")],
            &[("link", Symlink, "../evil")],
            &[("link", Symlink, "."), ("link/evil", Regular, "x")],
            &[("hard", Link, "/etc/passwd")],
            &[("device", Block, "")],
        ];
        for entries in cases {
            let dir = tempfile::tempdir().unwrap();
            let (path, digest) = artifact(dir.path(), entries);
            let error = unpack(&path, &digest, &dir.path().join("in/rel_1")).unwrap_err();
            assert!(matches!(error, UnpackError::Server(_)), "its folder must exist: {error:?}");
            fs::create_dir(dir.path().join("in")).unwrap();
            let error = unpack(&path, &digest, &dir.path().join("in/rel_1")).unwrap_err();
            assert!(matches!(error, UnpackError::Refused(_)), "{entries:?}: {error:?}");
            assert_eq!(fs::read_dir(dir.path().join("in")).unwrap().count(), 0);
            assert!(!dir.path().join("evil").exists());
        }
    }

    #[test]
    fn an_archive_of_others_is_taken_with_its_habits_but_never_leaves_its_folder() {
        use EntryType::{Directory, Link, Regular, Symlink};
        let tar = |entries: &[(&str, EntryType, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            zstd::decode_all(File::open(artifact(dir.path(), entries).0).unwrap()).unwrap()
        };
        let form = Form::new(1, 1000);
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("source");
        let usual =
            [("./a/", Directory, ""), ("./a/", Directory, ""), ("./a/b/c", Regular, "text"), ("a/l", Symlink, "b/c")];
        unpack_tar(tar(&usual).as_slice(), &into, form).unwrap();
        assert_eq!(fs::read_to_string(into.join("l")).unwrap(), "text");
        let bad: [&[(&str, EntryType, &str)]; 7] = [
            &[("a/../../evil", Regular, "x")],
            &[("a/link", Symlink, ".."), ("a/link/evil", Regular, "x")],
            &[("a/d", Symlink, "e"), ("a/d/evil", Regular, "x")],
            &[("a/hard", Link, "/etc/passwd")],
            &[("a/up", Symlink, "../evil")],
            &[("a/big", Regular, &"x".repeat(1001))],
            // Its words stay in the folder; behind the first link it leads above it.
            &[("a/b/c/d/up", Symlink, "../../.."), ("a/out", Symlink, "b/c/d/up/../..")],
        ];
        for (index, entries) in bad.into_iter().enumerate() {
            let into = dir.path().join(format!("bad{index}"));
            let error = unpack_tar(tar(entries).as_slice(), &into, form).unwrap_err();
            assert!(matches!(error, UnpackError::Refused(_)), "{entries:?}: {error:?}");
            assert!(!dir.path().join("evil").exists());
        }
        // A second archive writes through no link of the first.
        let (first, second) = ([("a/l", Symlink, "b"), ("a/b/c", Regular, "")], [("a/l/evil", Regular, "x")]);
        let archives = [tar(&first), tar(&second)];
        let error = unpack_tars(archives.iter().map(Vec::as_slice), &dir.path().join("both"), form).unwrap_err();
        assert!(matches!(error, UnpackError::Refused(_)), "{error:?}");
        assert!(!dir.path().join("both/b/evil").exists());
    }

    #[test]
    fn a_missing_a_damaged_and_a_foreign_artifact_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let (path, digest) = artifact(dir.path(), &[("a", EntryType::Regular, "hello")]);
        let into = dir.path().join("rel_1");
        let missing = unpack(&dir.path().join("absent"), &digest, &into).unwrap_err();
        assert_eq!(missing.failure().code, "rollout.artifact_missing");
        let foreign = format!("sha256:{}", "0".repeat(64));
        assert!(matches!(unpack(&path, &foreign, &into).unwrap_err(), UnpackError::Damaged));
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(&path, bytes).unwrap();
        let cut = unpack(&path, &digest, &into).unwrap_err();
        assert!(matches!(cut, UnpackError::Damaged | UnpackError::Server(_)), "{cut:?}");
        assert!(!into.exists());
    }
}
