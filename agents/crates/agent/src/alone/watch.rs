//! Notices that a file was replaced or written, by looking at it every second: works on every file system, costs next to nothing.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a file was like when last seen; `None` when it was not there.
type Seen = Option<(SystemTime, u64)>;

/// Files and how they were.
#[derive(Debug)]
pub(super) struct Watch {
    files: Vec<(PathBuf, Seen)>,
}

impl Watch {
    pub(super) fn new(files: Vec<PathBuf>) -> Self {
        let seen = |path: PathBuf| {
            let look = look(&path);
            (path, look)
        };
        Self { files: files.into_iter().map(seen).collect() }
    }

    /// Ready when a file differs from when it was last seen, and has not changed for a second: editors write in steps.
    pub(super) async fn changed(&self) {
        let mut before: Option<Vec<Seen>> = None;
        loop {
            sleep(LOOK_EVERY).await;
            let now: Vec<Seen> = self.files.iter().map(|(path, _)| look(path)).collect();
            let differs = now.iter().zip(&self.files).any(|(now, (_, seen))| now != seen);
            if differs && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }

    /// The files are as they are: what is wrong with them was said once.
    pub(super) fn saw(&mut self) {
        for (path, seen) in &mut self.files {
            *seen = look(path);
        }
    }
}

fn look(path: &PathBuf) -> Seen {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
