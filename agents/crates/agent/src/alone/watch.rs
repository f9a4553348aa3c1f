//! Notices that a file was replaced or written, by looking at it every second: works on every file system, costs next to nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a file was like when last seen; `None` when it was not there.
type Seen = Option<(SystemTime, u64)>;

/// A file and how it was.
#[derive(Debug, Clone, Default)]
pub(super) struct Looked {
    path: PathBuf,
    seen: Seen,
}

impl Looked {
    /// Before it is read, so that whatever is written from here on differs.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { seen: look(&path), path }
    }
}

/// Files and how they were.
#[derive(Debug, Clone)]
pub(super) struct Watch(Vec<Looked>);

impl Watch {
    pub(super) fn new(files: Vec<Looked>) -> Self {
        Self(files)
    }

    /// The same files as they are now: what is wrong with them is said once.
    pub(super) fn again(&self) -> Self {
        Self(self.0.iter().map(|file| Looked::at(file.path.clone())).collect())
    }

    /// Ready when a file differs from when it was last seen, and has not changed for a second: editors write in steps.
    pub(super) async fn changed(&self) {
        let mut before: Option<Vec<Seen>> = None;
        loop {
            sleep(LOOK_EVERY).await;
            let now: Vec<Seen> = self.0.iter().map(|file| look(&file.path)).collect();
            let differs = now.iter().zip(&self.0).any(|(now, file)| *now != file.seen);
            if differs && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }
}

fn look(path: &Path) -> Seen {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_written_while_a_file_is_read_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("routes.toml");
        std::fs::write(&path, "before").unwrap();
        let looked = Looked::at(path.clone());
        std::fs::write(&path, "after it was looked at").unwrap();
        let watch = Watch::new(vec![looked]);
        watch.changed().await;

        let again = watch.again();
        std::fs::write(&path, "and once more, longer").unwrap();
        again.changed().await;
    }
}
