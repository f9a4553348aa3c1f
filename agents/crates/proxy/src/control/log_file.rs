//! Access log file in `run`: opens it, rotates it when it is full, and reopens it when it was moved. The proxy gets
//! descriptors only. Invariant: a disk that hangs delays lines, never the supervisor.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fairlead_model::{AccessLog, ProxySettings};
use fairlead_wire::local::ProxySnapshot;
use fairlead_wire::traffic_encoding;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Maximum wait for a slow disk before the supervisor continues without it.
const PATIENCE: Duration = Duration::from_millis(200);

/// Path and bounds of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LogSettings {
    path: PathBuf,
    settings: AccessLog,
}

#[derive(Debug)]
struct LogFileState {
    path: PathBuf,
    inode: u64,
    file: Arc<File>,
}

/// Open log file, and the check of it that runs.
#[derive(Debug, Default)]
pub(super) struct LogFile {
    wanted: Option<LogSettings>,
    open: Option<LogFileState>,
    checking: Option<JoinHandle<io::Result<Option<LogFileState>>>>,
    failing: bool,
}

impl LogFile {
    /// Takes over the settings of a table. Ignores settings that can't be read; the proxy refuses them.
    pub(super) fn configure(&mut self, snapshot: &ProxySnapshot) {
        let decoded = traffic_encoding(snapshot).decode::<ProxySettings>(&snapshot.settings);
        let Ok(settings) = decoded else { return };
        let is_on = settings.access_log.enabled && !snapshot.access_log_path.is_empty();
        self.wanted = is_on.then(|| LogSettings {
            path: PathBuf::from(&snapshot.access_log_path),
            settings: settings.access_log.clone(),
        });
        if self.wanted.is_none() {
            self.open = None;
        }
    }

    /// Returns the file that lines go to now.
    pub(super) fn current(&self) -> Option<Arc<File>> {
        self.open.as_ref().map(|open| Arc::clone(&open.file))
    }

    /// Checks the file; returns the one to write to if it has changed.
    pub(super) async fn check(&mut self) -> Option<Arc<File>> {
        let mut checking = match self.checking.take() {
            Some(checking) => checking,
            None => {
                let wanted = self.wanted.clone()?;
                let known = self.open.as_ref().filter(|open| open.path == wanted.path).map(|open| open.inode);
                tokio::task::spawn_blocking(move || check_file(wanted, known))
            }
        };
        let Ok(checked) = timeout(PATIENCE, &mut checking).await else {
            self.checking = Some(checking);
            return None;
        };
        match checked.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(opened) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!("the access log is opened again");
                }
                let file = Arc::clone(&opened.as_ref()?.file);
                self.open = opened;
                Some(file)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(%error, "the access log can't be opened");
                }
                None
            }
        }
    }
}

/// Returns `None` while the file of this inode exists and has room.
fn check_file(LogSettings { path, settings }: LogSettings, known: Option<u64>) -> io::Result<Option<LogFileState>> {
    match std::fs::metadata(&path) {
        Ok(there) if there.len() >= settings.file_bytes_max => rotate(&path, settings.files_max)?,
        Ok(there) if Some(there.ino()) == known => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Clients' addresses and paths are in it, so other users must not read it.
    let file = OpenOptions::new().create(true).append(true).mode(0o640).open(&path)?;
    let inode = file.metadata()?.ino();
    Ok(Some(LogFileState { path, inode, file: Arc::new(file) }))
}

/// Renames `access.log` to `access.log.1`, that one to `.2`, and so on; removes files beyond `files_max`.
fn rotate(path: &Path, files_max: u32) -> io::Result<()> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    ignore_missing(std::fs::remove_file(numbered(files_max)))?;
    for number in (1..files_max).rev() {
        ignore_missing(std::fs::rename(numbered(number), numbered(number + 1)))?;
    }
    ignore_missing(std::fs::rename(path, numbered(1)))
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn wanting(path: &Path, file_bytes_max: u64) -> LogFile {
        let access_log = AccessLog { file_bytes_max, files_max: 2, ..AccessLog::default() };
        let settings = fairlead_model::ProxySettings { access_log, ..Default::default() };
        let mut log = LogFile::default();
        log.configure(&ProxySnapshot {
            settings: serde_json::to_vec(&settings).unwrap(),
            traffic_is_json: true,
            access_log_path: path.to_string_lossy().into_owned(),
            ..ProxySnapshot::default()
        });
        log
    }

    /// The disk may be slow.
    async fn opened(log: &mut LogFile) -> Arc<File> {
        loop {
            if let Some(file) = log.check().await {
                return file;
            }
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn full_files_are_numbered_and_the_oldest_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut log = wanting(&path, 64 * 1024);
        for _ in 0..5 {
            opened(&mut log).await.write_all(&[b'x'; 64 * 1024]).unwrap();
        }
        opened(&mut log).await.write_all(b"last").unwrap();
        assert_eq!(names(folder.path()), ["access.log", "access.log.1", "access.log.2"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"last");
    }

    #[tokio::test]
    async fn a_moved_file_is_created_again_and_an_existing_one_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut first = wanting(&path, 64 * 1024);
        opened(&mut first).await.write_all(b"one").unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        opened(&mut first).await.write_all(b"two").unwrap();
        opened(&mut wanting(&path, 64 * 1024)).await.write_all(b"three").unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("moved"), read("access.log")), ("one".to_owned(), "twothree".to_owned()));
    }

    #[tokio::test]
    async fn a_missing_folder_is_an_error_until_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later").join("access.log");
        let mut log = wanting(&path, 64 * 1024);
        while !log.failing {
            assert!(log.check().await.is_none());
        }
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        opened(&mut log).await;
        assert!(!log.failing && log.current().is_some());
    }
}
