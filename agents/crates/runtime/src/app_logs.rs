//! Log storage for what apps wrote: one folder per app and environment, then per process, then per instance. Compresses
//! and removes old segments; the shims write them, and nothing here is sent by itself.

mod filter;
mod line;
mod search;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::Folders;
use fairlead_model::{AppKey, InstanceId, ReleaseId};

pub use filter::{LogFilter, LogFilterError};
pub use line::{AppLogLine, LogLevel};
pub use search::LogFollower;

use crate::shim::log::segments;

/// Maximum bytes of the segments of one process of an app, compressed and not.
const PROCESS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum age of a line; older ones are removed.
const AGE_MAX: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Number of newest segments that stay unpacked while an instance may still write.
const OPEN_SEGMENTS: usize = 2;
/// Compression level: fast, and small enough, because text packs well at any level.
const ZSTD_LEVEL: i32 = 3;

/// Returns the folder for an instance's segments.
pub(crate) fn folder_for(
    folders: &Folders,
    key: &AppKey,
    process: &str,
    instance: &InstanceId,
    release: &ReleaseId,
) -> PathBuf {
    app_folder(folders, key).join(process).join(format!("{instance}.{release}"))
}

fn app_folder(folders: &Folders, key: &AppKey) -> PathBuf {
    folders.app_logs().join(format!("{}-{}", key.app, key.environment))
}

/// One segment, plain or packed.
#[derive(Debug, Clone)]
struct LogSegment {
    path: PathBuf,
    number: u64,
    bytes: u64,
    /// Times of its first and last line; the last is unknown while the segment is still written.
    first_unix_ms: u64,
    last_unix_ms: u64,
    packed: bool,
}

/// Segments of an instance, oldest first.
#[derive(Debug, Clone)]
struct Writer {
    folder: PathBuf,
    process: String,
    instance: String,
    release: String,
    segments: Vec<LogSegment>,
}

/// Lists the instances of one process, in no order.
fn writers(process: &Path) -> io::Result<Vec<Writer>> {
    let name = process.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for folder in list(process)? {
        let of = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('.'));
        let Some((instance, release)) = of else { continue };
        found.push(Writer {
            process: name.clone(),
            instance: instance.to_owned(),
            release: release.to_owned(),
            segments: segments_of(&folder)?,
            folder,
        });
    }
    Ok(found)
}

fn segments_of(folder: &Path) -> io::Result<Vec<LogSegment>> {
    let mut found: Vec<LogSegment> = list(folder)?.into_iter().filter_map(segment).collect();
    // A segment that is packed but not yet removed: the packed one is complete.
    let packed: HashSet<u64> = found.iter().filter(|one| one.packed).map(|one| one.number).collect();
    found.retain(|one| one.packed || !packed.contains(&one.number));
    found.sort_by_key(|one| one.number);
    Ok(found)
}

fn segment(path: PathBuf) -> Option<LogSegment> {
    let bytes = fs::metadata(&path).ok()?.len();
    let name = path.file_name()?.to_str()?;
    if let Some(packed) = name.strip_suffix(".log.zst") {
        let mut fields = packed.split('-').map(str::parse::<u64>);
        let (number, first_unix_ms, last_unix_ms) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
        return Some(LogSegment { path, number, bytes, first_unix_ms, last_unix_ms, packed: true });
    }
    let number = name.strip_suffix(".log")?.parse().ok()?;
    Some(LogSegment { path, number, bytes, first_unix_ms: 0, last_unix_ms: u64::MAX, packed: false })
}

/// Lists the entries of a folder; empty if the folder is gone.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Packs closed segments and removes those that are too old or exceed the size limit. Run it periodically, and never
/// twice at once.
pub fn tidy_app_logs(folders: &Folders, now_unix_ms: u64) -> io::Result<()> {
    for app in list(&folders.app_logs())? {
        for process in list(&app)? {
            tidy(folders, &process, now_unix_ms)?;
            remove_if_empty(&process)?;
        }
        remove_if_empty(&app)?;
    }
    Ok(())
}

fn tidy(folders: &Folders, process: &Path, now_unix_ms: u64) -> io::Result<()> {
    let mut packed: Vec<LogSegment> = Vec::new();
    let mut bytes = 0;
    for writer in writers(process)? {
        let lives = folders.instances().join(&writer.instance).exists();
        pack(&writer.folder, if lives { OPEN_SEGMENTS } else { 0 })?;
        let segments = segments_of(&writer.folder)?;
        bytes += segments.iter().map(|one| one.bytes).sum::<u64>();
        packed.extend(segments.into_iter().filter(|one| one.packed));
    }
    packed.sort_by_key(|one| one.last_unix_ms);
    let oldest = now_unix_ms.saturating_sub(u64::try_from(AGE_MAX.as_millis()).unwrap_or(u64::MAX));
    for segment in packed {
        if segment.last_unix_ms >= oldest && bytes <= PROCESS_BYTES_MAX {
            break;
        }
        fs::remove_file(&segment.path)?;
        bytes = bytes.saturating_sub(segment.bytes);
    }
    for writer in writers(process)? {
        if !folders.instances().join(&writer.instance).exists() {
            remove_if_empty(&writer.folder)?;
        }
    }
    Ok(())
}

/// Packs all but the newest `keep` segments.
fn pack(folder: &Path, keep: usize) -> io::Result<()> {
    let known: HashSet<u64> = segments_of(folder)?.iter().filter(|one| one.packed).map(|one| one.number).collect();
    let open = segments(folder)?;
    for (number, path) in open.iter().take(open.len().saturating_sub(keep)) {
        // A crash can come between the two steps below.
        if !known.contains(number) {
            let text = fs::read(path)?;
            let mut times = text.split(|byte| *byte == b'\n').filter_map(line::unix_ms).filter(|at| *at > 0);
            if let Some(first) = times.next() {
                let last = times.next_back().unwrap_or(first);
                write_packed(&folder.join(format!("{number:010}-{first}-{last}.log.zst")), &text)?;
            }
        }
        fs::remove_file(path)?;
    }
    Ok(())
}

fn write_packed(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(&zstd::encode_all(text, ZSTD_LEVEL)?)?;
    fs::rename(beside, path)
}

fn remove_if_empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir(folder) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "app_logs/tests.rs"]
mod tests;
