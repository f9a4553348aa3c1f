//! Detects replaced and written files by polling every second, which works on every file system at low cost.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Modification time and size of a file; `None` if it does not exist.
type FileStamp = Option<(SystemTime, u64)>;

/// File and its last stamp.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedFile {
    path: PathBuf,
    stamp: FileStamp,
}

impl WatchedFile {
    /// Takes the stamp before the file is read, so that every later write differs.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { stamp: read_stamp(&path), path }
    }
}

/// Polls files for changes.
#[derive(Debug, Clone)]
pub(super) struct FileWatcher(Vec<WatchedFile>);

impl FileWatcher {
    pub(super) fn new(files: Vec<WatchedFile>) -> Self {
        Self(files)
    }

    /// Watches the same files from their present state, so that an invalid file is reported only once.
    pub(super) fn current(&self) -> Self {
        Self(self.0.iter().map(|file| WatchedFile::at(file.path.clone())).collect())
    }

    /// Completes when a file differs from its stamp and was stable for a second, since editors write in steps.
    pub(super) async fn changed(&self) {
        let mut before: Option<Vec<FileStamp>> = None;
        loop {
            sleep(POLL_INTERVAL).await;
            let now: Vec<FileStamp> = self.0.iter().map(|file| read_stamp(&file.path)).collect();
            let differs = now.iter().zip(&self.0).any(|(now, file)| *now != file.stamp);
            if differs && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }
}

fn read_stamp(path: &Path) -> FileStamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_during_a_read_counts_as_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("routes.toml");
        std::fs::write(&path, "before").unwrap();
        let watched = WatchedFile::at(path.clone());
        std::fs::write(&path, "after it was looked at").unwrap();
        let watch = FileWatcher::new(vec![watched]);
        watch.changed().await;

        let current = watch.current();
        std::fs::write(&path, "and once more, longer").unwrap();
        current.changed().await;
    }
}
