//! Packs lines of deployment logs into numbered chunks. Invariant: numbers start at 0 and have no gaps, also across a restart.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::file;
use fairlead_link::PushSender;
use fairlead_model::{DeploymentId, LogLine};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Time for which lines are batched; a person still sees them within a second.
const COLLECT: Duration = Duration::from_millis(150);
/// Maximum size of a chunk; far below the link's frame limit.
const CHUNK_BYTES_MAX: usize = 256 * 1024;

/// Log line and its deployment.
pub(crate) type DeploymentLine = (DeploymentId, LogLine);

/// Batches lines until every sender is dropped.
#[derive(Debug)]
pub(crate) struct LogCollector {
    path: PathBuf,
    /// Next line number by deployment, ordered by the latest line.
    next_line: Vec<(DeploymentId, u64)>,
    pending: Vec<(DeploymentId, Vec<LogLine>, usize)>,
}

/// Maximum number of deployments with a remembered line number; older ones log no more.
const REMEMBERED_MAX: usize = 256;

impl LogCollector {
    /// Reads the saved line numbers.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let next_line = match file::read_if_present(&path)? {
            None => Vec::new(),
            Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::error!(%error, "the log's line numbers are damaged; logs under way start over");
                Vec::new()
            }),
        };
        Ok(Self { path, next_line, pending: Vec::new() })
    }

    /// Runs until all senders of `lines` are dropped.
    pub(crate) async fn run(mut self, mut lines: mpsc::Receiver<DeploymentLine>, pushes: PushSender) {
        while let Some(first) = lines.recv().await {
            self.add(first);
            let until = Instant::now() + COLLECT;
            loop {
                let next = tokio::select! {
                    biased;
                    () = sleep_until(until) => None,
                    line = lines.recv() => line,
                };
                let Some(line) = next else { break };
                self.add(line);
                if self.pending.iter().any(|(_, _, bytes)| *bytes >= CHUNK_BYTES_MAX) {
                    break;
                }
            }
            self.flush(&pushes).await;
        }
    }

    fn add(&mut self, (deployment, line): DeploymentLine) {
        let bytes = line.text.len() + 32;
        match self.pending.iter_mut().find(|(of, _, _)| *of == deployment) {
            Some((_, lines, total)) => {
                lines.push(line);
                *total += bytes;
            }
            None => self.pending.push((deployment, vec![line], bytes)),
        }
    }

    async fn flush(&mut self, pushes: &PushSender) {
        for (deployment, lines, _) in std::mem::take(&mut self.pending) {
            let known = self.next_line.iter().position(|(of, _)| *of == deployment);
            let first = known.map_or(0, |index| self.next_line.remove(index).1);
            self.next_line.push((deployment.clone(), first + lines.len() as u64));
            if !pushes.log(fairlead_wire::log_chunk(&deployment, first, lines)).await {
                tracing::warn!(%deployment, "log lines came after the link had ended");
            }
        }
        let forgotten = self.next_line.len().saturating_sub(REMEMBERED_MAX);
        self.next_line.drain(..forgotten);
        if let Err(error) = self.save() {
            tracing::error!(%error, "the log's line numbers can't be saved");
        }
    }

    /// Saves without fsync: chunks come several times a second, and only a power cut could lose the file.
    fn save(&self) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        std::fs::write(&beside, serde_json::to_vec(&self.next_line)?)?;
        std::fs::rename(beside, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use fairlead_model::{LogStream, Step};
    use fairlead_wire::agent::push;

    use super::*;

    fn line(deployment: &str, text: &str) -> DeploymentLine {
        let line = LogLine { unix_ms: 1, step: Step::Build, stream: LogStream::Stdout, text: text.into() };
        (DeploymentId::parse(deployment).unwrap(), line)
    }

    /// Returns the chunks for these lines as (deployment, first line, texts).
    async fn collected(path: &std::path::Path, lines: &[DeploymentLine]) -> Vec<(String, u64, Vec<String>)> {
        let (sender, receiver) = mpsc::channel(16);
        let (pushes, mut pushed) = PushSender::channel(64);
        for line in lines {
            sender.send(line.clone()).await.unwrap();
        }
        drop(sender);
        LogCollector::open(path.to_path_buf()).unwrap().run(receiver, pushes).await;
        let mut chunks = Vec::new();
        while let Some(push::Body::Log(chunk)) = pushed.recv().await {
            let texts = chunk.lines.into_iter().map(|line| line.text).collect();
            chunks.push((chunk.deployment_id, chunk.first_line, texts));
        }
        chunks
    }

    #[tokio::test(start_paused = true)]
    async fn lines_are_numbered_without_gaps_also_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log-lines.json");
        let lines = [line("dep_1", "a"), line("dep_2", "x"), line("dep_1", "b")];
        let chunks = collected(&path, &lines).await;
        assert_eq!(chunks, [("dep_1".into(), 0, vec!["a".into(), "b".into()]), ("dep_2".into(), 0, vec!["x".into()])]);
        let chunks = collected(&path, &[line("dep_1", "c")]).await;
        assert_eq!(chunks, [("dep_1".into(), 2, vec!["c".into()])]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_cut_into_chunks_that_fit_the_link() {
        let dir = tempfile::tempdir().unwrap();
        let flood: Vec<DeploymentLine> = (0..16).map(|_| line("dep_1", &"x".repeat(64 * 1024))).collect();
        let chunks = collected(&dir.path().join("log-lines.json"), &flood).await;
        let firsts: Vec<u64> = chunks.iter().map(|(_, first, _)| *first).collect();
        assert_eq!(firsts, [0, 4, 8, 12]);
    }
}
