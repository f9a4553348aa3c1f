//! Empties the trash in the background, one folder at a time. Invariant: each removal runs in a separate process, so that one
//! that fails, hangs or crashes never harms the agent. A folder that can't be removed is logged and retried later.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use fairlead_base::tree::Removal;
use fairlead_base::{Backoff, Trash};
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout};

use crate::command::RemovalReport;
use crate::metrics::Metrics;

/// Shortest and longest pause before a retry of a folder that could not be removed.
const RETRY_FIRST: Duration = Duration::from_secs(60);
const RETRY_MOST: Duration = Duration::from_secs(6 * 60 * 60);
/// Limit for one removal, which normally ends earlier by itself. The agent abandons one that hangs in the kernel.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Interval at which the trash is read without a notification.
const SCAN_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Removes the folders in the trash.
pub(crate) struct TrashEmptier {
    trash: Trash,
    program: PathBuf,
    metrics: Metrics,
    delayed: HashMap<PathBuf, RetryDelay>,
    warned_unconfined: bool,
}

/// Retry state of a folder that an attempt left.
struct RetryDelay {
    until: Instant,
    backoff: Backoff,
    stuck: bool,
}

impl TrashEmptier {
    pub(crate) fn new(trash: Trash, program: PathBuf, metrics: Metrics) -> Self {
        Self { trash, program, metrics, delayed: HashMap::new(), warned_unconfined: false }
    }

    /// Removes folders as they appear; never returns.
    pub(crate) async fn run(mut self) {
        loop {
            let entries = self.entries().await;
            self.delayed.retain(|path, _| entries.contains(path));
            self.metrics.trash(entries.len(), self.delayed.values().filter(|delay| delay.stuck).count());
            let now = Instant::now();
            // New entries come first, then the one that waits longest.
            let due = |path: &PathBuf| self.delayed.get(path).map(|delay| delay.until);
            let next = entries.into_iter().min_by_key(due);
            match next {
                Some(path) if due(&path).is_none_or(|until| until <= now) => self.remove(path).await,
                next => {
                    let until =
                        next.and_then(|path| due(&path)).unwrap_or(now + SCAN_INTERVAL).min(now + SCAN_INTERVAL);
                    tokio::select! {
                        () = self.trash.wait_for_entries() => {}
                        () = sleep_until(until) => {}
                    }
                }
            }
        }
    }

    async fn entries(&self) -> Vec<PathBuf> {
        let trash = self.trash.clone();
        let entries = tokio::task::spawn_blocking(move || trash.entries()).await;
        entries.unwrap_or_else(|error| Err(io::Error::other(error))).unwrap_or_else(|error| {
            tracing::warn!(%error, "the trash can't be read");
            Vec::new()
        })
    }

    async fn remove(&mut self, path: PathBuf) {
        let outcome = self.empty(&path).await;
        let delay = self.delayed.entry(path.clone()).or_insert_with(|| RetryDelay {
            until: Instant::now(),
            backoff: Backoff::new(RETRY_FIRST, RETRY_MOST),
            stuck: false,
        });
        delay.until = Instant::now();
        let folder = path.display();
        match outcome {
            Ok(removal) if removal.is_complete() => {
                self.delayed.remove(&path);
            }
            // The removal reached its time limit: other folders come first, then the rest of this one.
            Ok(removal) if removal.left_count == 0 && removal.removed > 0 => {
                delay.stuck = false;
                delay.backoff.reset();
            }
            outcome => {
                delay.stuck = true;
                delay.until += delay.backoff.pause();
                let reason = match outcome {
                    Ok(removal) => sentence(&removal),
                    Err(error) => error.to_string(),
                };
                let again_seconds = (delay.until - Instant::now()).as_secs();
                tracing::warn!(%folder, again_seconds, "a folder of the trash can't be removed: {reason}");
            }
        }
    }

    async fn empty(&mut self, path: &Path) -> io::Result<Removal> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            // The owner may have replaced it with a link or a file before it was set aside.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) => {
                fs::remove_file(path)?;
                return Ok(Removal::default());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Removal::default()),
            folder => folder?,
        };
        let emptied = self.run_child(folder).await?;
        if let Some(reason) = emptied.unconfined.filter(|_| !std::mem::replace(&mut self.warned_unconfined, true)) {
            tracing::warn!("removals are confined by file descriptors alone, because {reason}");
        }
        if emptied.removal.is_complete() {
            fs::remove_dir(path)?;
        }
        Ok(emptied.removal)
    }

    async fn run_child(&self, folder: File) -> io::Result<RemovalReport> {
        let mut command = Command::new(&self.program);
        command.arg("empty").env_clear().kill_on_drop(true);
        command.stdin(Stdio::from(folder)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = timeout(REMOVAL_TIMEOUT, command.spawn()?.wait_with_output());
        let Output { status, stdout, stderr } =
            output.await.map_err(|_| io::Error::other("its removal hangs, and the agent stopped waiting for it"))??;
        if status.success() {
            return Ok(serde_json::from_slice(&stdout)?);
        }
        let stderr = String::from_utf8_lossy(&stderr);
        let last = stderr.lines().last().unwrap_or_default();
        Err(io::Error::other(match status.signal() {
            Some(signal) => format!("its removal was ended by signal {signal}"),
            None => format!("its removal failed: {last}"),
        }))
    }
}

fn sentence(removal: &Removal) -> String {
    if removal.left_count == 0 {
        return "its removal took too long".to_owned();
    }
    let named: Vec<String> = removal.left.iter().map(|left| format!("{} ({})", left.path, left.reason)).collect();
    let more = removal.left_count - removal.left.len() as u64;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}. Remove it yourself, or remove what blocks it; the agent keeps trying", named.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use fairlead_base::Folders;

    use super::*;

    #[tokio::test]
    async fn a_removal_that_crashes_or_fails_or_does_not_start_is_tried_again_and_never_the_agents_failure() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(&dir.path().join("data")).unwrap();
        folders.create().unwrap();
        let trash = Trash::new(&folders);
        std::fs::create_dir(folders.builds().join("dep_1")).unwrap();
        trash.set_aside(&folders.builds().join("dep_1")).unwrap();
        let entry = trash.entries().unwrap().remove(0);
        let program = dir.path().join("program");
        // Another process writes the program: a test that forks meanwhile would hold our handle, and nobody could run it.
        let put = |text: &str| {
            let source = dir.path().join("source");
            fs::write(&source, text).unwrap();
            let installed =
                std::process::Command::new("install").args(["-m", "755"]).args([&source, &program]).status();
            assert!(installed.unwrap().success());
        };
        let mut emptier = TrashEmptier::new(trash.clone(), program.clone(), Metrics::default());
        for (text, reason) in [
            ("#!/bin/sh\nkill -ABRT $$\n", "ended by signal 6"),
            ("#!/bin/sh\necho no >&2\nexit 1\n", "failed: no"),
            ("#!/bin/sh\necho '{'\n", "EOF"),
        ] {
            put(text);
            let error = emptier.empty(&entry).await.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        fs::remove_file(&program).unwrap();
        for _ in 0..2 {
            emptier.remove(entry.clone()).await;
            let delay = &emptier.delayed[&entry];
            assert!(delay.stuck && delay.until > Instant::now());
        }
        assert!(entry.exists());
        // A symbolic link that replaces a folder is never followed.
        let link = folders.trash().join("link");
        symlink(folders.state(), &link).unwrap();
        emptier.remove(link.clone()).await;
        assert!(fs::symlink_metadata(&link).is_err() && folders.state().exists());
    }

    #[test]
    fn leftover_entries_are_named_with_reason_and_remedy() {
        let left = fairlead_base::tree::Leftover { path: "a/b".into(), reason: "it is a mount point".into() };
        let removal = Removal { left: vec![left], left_count: 3, ..Removal::default() };
        assert!(sentence(&removal).starts_with("a/b (it is a mount point) and 2 more. Remove it"));
    }
}
