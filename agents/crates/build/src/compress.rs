//! Writes compressed files beside the files of a static site, reproducibly and with the rights of the build's user. Follows no link,
//! and replaces no file of the build.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::as_user::as_user;
use crate::pack::{DEPTH_MAX, PackError, PackRequest, open_below, open_folder};

/// Smaller files fit into the packets that go anyway.
const FILE_BYTES_MIN: u64 = 1 << 10;
/// Larger files would hold up the build.
const FILE_BYTES_MAX: u64 = 10 << 20;
/// Bound of all files together; those after it stay as they are.
const SITE_BYTES_MAX: u64 = 512 << 20;
/// Bound of files; those after it stay as they are.
const FILES_MAX: u64 = 100_000;
/// Priority of the work, below all that the server does for visitors.
const NICE: i32 = 19;

/// Endings of files that get smaller.
const ENDINGS: [&str; 20] = [
    "html",
    "htm",
    "css",
    "js",
    "mjs",
    "cjs",
    "json",
    "map",
    "svg",
    "xml",
    "txt",
    "md",
    "csv",
    "wasm",
    "ico",
    "ttf",
    "otf",
    "eot",
    "webmanifest",
    "geojson",
];

/// Endings of compressed files, as the agent's server looks for them.
const CODINGS: [(&str, Encode); 3] = [(".br", brotli), (".zst", zstd), (".gz", gzip)];

type Encode = fn(&[u8], Effort) -> io::Result<Vec<u8>>;

/// Levels of the encoders. A site takes a few seconds at each: a slow level gains a tenth and takes ten times as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Effort {
    brotli: i32,
    zstd: i32,
    gzip: u32,
}

impl Effort {
    fn of(site_bytes: u64) -> Self {
        const SMALL_BYTES_MAX: u64 = 256 << 10;
        const MEDIUM_BYTES_MAX: u64 = 16 << 20;
        if site_bytes <= SMALL_BYTES_MAX {
            Self { brotli: 11, zstd: 19, gzip: 9 }
        } else if site_bytes <= MEDIUM_BYTES_MAX {
            Self { brotli: 9, zstd: 12, gzip: 9 }
        } else {
            Self { brotli: 5, zstd: 6, gzip: 6 }
        }
    }
}

/// Count of files by what became of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Compressed {
    /// Files with compressed files beside them.
    pub(crate) files: u64,
    /// Files that were too many or in folders that the build closed to writing.
    pub(crate) left: u64,
}

/// Compresses the files of a site. Blocking; it takes a thread of its own.
pub(crate) fn compress(order: &PackRequest<'_>) -> Result<Compressed, PackError> {
    std::thread::scope(|scope| {
        let work = || {
            // Linux keeps a priority for each thread.
            rustix::process::setpriority_process(None, NICE).map_err(io::Error::from)?;
            as_user(order.user, || site(order))?
        };
        let thread = std::thread::Builder::new().name("compress".into()).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the compression of the site ended unexpectedly"))?
    })
}

fn site(order: &PackRequest<'_>) -> Result<Compressed, PackError> {
    let root = open_below(order.trusted, order.below)?;
    let mut site_bytes: u64 = 0;
    walk(order, root.as_fd(), 0, &mut |_, _, size| {
        site_bytes = site_bytes.saturating_add(size);
        Ok(())
    })?;
    let effort = Effort::of(site_bytes);
    let (mut compressed, mut files, mut bytes) = (Compressed::default(), 0, 0);
    walk(order, root.as_fd(), 0, &mut |folder, name, size| {
        files += 1;
        bytes += size;
        if files > FILES_MAX || bytes > SITE_BYTES_MAX {
            compressed.left += 1;
            return Ok(());
        }
        match file(order, folder, name, effort) {
            Ok(made) => compressed.files += u64::from(made),
            Err(PackError::Server(error)) if is_closed(&error) => compressed.left += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    Ok(compressed)
}

/// True if the build, not the server, is why a file can't be read or written.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotFound, PermissionDenied};
    matches!(error.kind(), PermissionDenied | NotFound | InvalidFilename)
}

/// Visits the files that may get smaller, in the order of their names.
fn walk(
    order: &PackRequest<'_>,
    folder: BorrowedFd<'_>,
    depth: usize,
    visit: &mut dyn FnMut(BorrowedFd<'_>, &OsStr, u64) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).map_err(io::Error::from)? {
        names.push(CString::from(entry.map_err(io::Error::from)?.file_name()));
    }
    names.sort();
    for name in &names {
        order.goes_on()?;
        let name = OsStr::from_bytes(name.as_bytes());
        // Hidden files are not served, and packages of Node are no part of a site.
        let is_hidden = name.as_bytes().starts_with(b".") && name != ".well-known";
        if is_hidden || name == "node_modules" {
            continue;
        }
        let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => found.map_err(io::Error::from)?,
        };
        let size = u64::try_from(found.st_size).unwrap_or_default();
        match FileType::from_raw_mode(found.st_mode) {
            // Packing refuses folders that are nested deeper.
            FileType::Directory if depth < DEPTH_MAX => match open_folder(folder, name) {
                Ok(inner) => walk(order, inner.as_fd(), depth + 1, visit)?,
                Err(error) if is_closed(&error) => {}
                Err(error) => return Err(error.into()),
            },
            FileType::RegularFile if is_compressible(name, size) => visit(folder, name, size)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_compressible(name: &OsStr, size: u64) -> bool {
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    (FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&size) && ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// Writes the compressed files of one file; false if there are none.
fn file(order: &PackRequest<'_>, folder: BorrowedFd<'_>, name: &OsStr, effort: Effort) -> Result<bool, PackError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(openat(folder, name, flags, Mode::empty()).map_err(io::Error::from)?);
    if FileType::from_raw_mode(fstat(&opened).map_err(io::Error::from)?.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    let mut content = Vec::new();
    opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Ok(false);
    }
    let mut made = false;
    for (ending, encode) in CODINGS {
        order.goes_on()?;
        let mut beside = OsString::from(name);
        beside.push(ending);
        if statat(folder, &beside, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            continue;
        }
        let encoded = encode(&content, effort)?;
        // Less is not worth a file.
        if encoded.len() > content.len() / 10 * 9 {
            continue;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = openat(folder, &beside, flags, Mode::from_raw_mode(0o644)).map_err(io::Error::from)?;
        File::from(written).write_all(&encoded)?;
        made = true;
    }
    Ok(made)
}

fn brotli(content: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
    let parameters =
        BrotliEncoderParams { quality: effort.brotli, size_hint: content.len(), ..BrotliEncoderParams::default() };
    let mut encoded = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut encoded, &parameters)?;
    Ok(encoded)
}

/// Levels up to 19 have windows that browsers decode.
fn zstd(content: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(content, effort.zstd)
}

fn gzip(content: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(effort.gzip));
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::time::{Duration, Instant};

    use fairlead_base::CancellationToken;

    use super::*;
    use crate::pack::{ArtifactLimits, NO_EXCLUSIONS};

    fn run(folder: &Path, user: Option<u32>, cancel: &CancellationToken) -> Result<Compressed, PackError> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let bounds = ArtifactLimits::ARTIFACT;
        compress(&PackRequest {
            trusted: folder,
            below: Path::new(""),
            excluded: &NO_EXCLUSIONS,
            user,
            cancel,
            deadline,
            bounds,
        })
    }

    fn names(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        files.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
    }

    /// Text that gets smaller.
    fn text(bytes: usize) -> String {
        (0..).map(|number: u32| format!("line {number}\n")).take(bytes / 7).collect()
    }

    #[test]
    fn files_that_get_smaller_get_three_compressed_files_that_are_the_same_every_time() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [one.path(), two.path()] {
            fs::create_dir_all(folder.join(".well-known")).unwrap();
            for hidden in [".git", "node_modules"] {
                fs::create_dir(folder.join(hidden)).unwrap();
                fs::write(folder.join(hidden).join("a.js"), text(4_000)).unwrap();
            }
            fs::write(folder.join(".well-known/a.json"), text(4_000)).unwrap();
            fs::write(folder.join("a.js"), text(4_000)).unwrap();
            fs::write(folder.join("B.HTML"), text(4_000)).unwrap();
            fs::write(folder.join("small.js"), text(700)).unwrap();
            fs::write(folder.join("a.png"), text(4_000)).unwrap();
            symlink("a.js", folder.join("link.js")).unwrap();
        }
        let done = run(one.path(), None, &CancellationToken::new()).unwrap();
        assert_eq!(done, Compressed { files: 3, left: 0 });
        assert_eq!(run(two.path(), None, &CancellationToken::new()).unwrap(), done);
        assert_eq!(names(one.path()), names(two.path()));
        let found = names(one.path());
        let made: Vec<&str> = found.keys().map(String::as_str).filter(|name| name.matches('.').count() > 1).collect();
        assert_eq!(made, ["B.HTML.br", "B.HTML.gz", "B.HTML.zst", "a.js.br", "a.js.gz", "a.js.zst"]);
        assert_eq!(fs::read_dir(one.path().join(".well-known")).unwrap().count(), 4);
        assert_eq!(fs::read_dir(one.path().join("node_modules")).unwrap().count(), 1);
        let (plain, mut decoded) = (found["a.js"].clone(), Vec::new());
        brotli::BrotliDecompress(&mut found["a.js.br"].as_slice(), &mut decoded).unwrap();
        assert_eq!(decoded, plain);
        assert_eq!(zstd::stream::decode_all(found["a.js.zst"].as_slice()).unwrap(), plain);
        decoded.clear();
        flate2::read::GzDecoder::new(found["a.js.gz"].as_slice()).read_to_end(&mut decoded).unwrap();
        assert_eq!(decoded, plain);
    }

    #[test]
    fn what_the_build_made_stays_and_what_does_not_get_smaller_stays_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.js"), text(4_000)).unwrap();
        fs::write(dir.path().join("a.js.br"), "its own").unwrap();
        symlink("/etc/hostname", dir.path().join("a.js.gz")).unwrap();
        let mut noise = Vec::new();
        for number in 0..200u32 {
            noise.extend_from_slice(
                aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &number.to_be_bytes()).as_ref(),
            );
        }
        fs::write(dir.path().join("noise.wasm"), noise).unwrap();
        let done = run(dir.path(), None, &CancellationToken::new()).unwrap();
        assert_eq!(done, Compressed { files: 1, left: 0 });
        let found = names(dir.path());
        assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), ["a.js", "a.js.br", "a.js.zst", "noise.wasm"]);
        assert_eq!(found["a.js.br"], b"its own");
    }

    #[test]
    fn the_more_there_is_the_faster_it_goes_and_a_cancelled_one_ends() {
        assert!(Effort::of(1 << 10).brotli > Effort::of(1 << 20).brotli);
        assert!(Effort::of(1 << 20).brotli > Effort::of(1 << 30).brotli);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.js"), text(4_000)).unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(matches!(run(dir.path(), None, &cancel).unwrap_err(), PackError::Cancelled));
        assert_eq!(names(dir.path()).len(), 1);
    }

    #[test]
    fn only_what_the_builds_user_may_read_and_write_is_compressed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for (name, mode) in [("mine.js", 0o600), ("theirs.js", 0o600)] {
            fs::write(dir.path().join(name), text(4_000)).unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        chown(dir.path().join("mine.js"), Some(71_234), Some(71_234)).unwrap();
        fs::create_dir(dir.path().join("closed")).unwrap();
        fs::write(dir.path().join("closed/a.js"), text(4_000)).unwrap();
        let done = run(dir.path(), Some(71_234), &CancellationToken::new()).unwrap();
        assert_eq!(done, Compressed { files: 1, left: 2 });
        assert!(dir.path().join("mine.js.br").exists());
    }
}
