//! Retries uploads of artifacts that failed when they were built. Notes each in a file beside the artifact, so that retries
//! survive a restart. Never deletes an artifact.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::{CancellationToken, file};
use fairlead_build::{Store, TransferError};
use fairlead_model::DeploymentId;

/// Suffix of the note beside an artifact, which holds the deployment that built it.
const NOTE_SUFFIX: &str = "unsent";
/// Retry interval during a session; a new session retries at once.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Notes an artifact for a later upload.
pub(super) fn note(artifacts: &Path, digest: &str, deployment: &DeploymentId) -> io::Result<()> {
    let hex = digest.strip_prefix("sha256:").ok_or_else(|| io::Error::other("it has no digest"))?;
    file::replace(&artifacts.join(format!("{hex}.{NOTE_SUFFIX}")), deployment.as_str().as_bytes(), 0o600)
}

/// Uploads noted artifacts at each new session and at intervals. Never returns.
pub(super) async fn run(artifacts: PathBuf, store: Store) {
    let mut sessions = store.tokens();
    loop {
        let linked = !sessions.borrow_and_update().is_empty();
        if linked && let Err(error) = send_noted_artifacts(&artifacts, &store).await {
            tracing::warn!(%error, "the notes of artifacts to be sent can't be read");
        }
        tokio::select! {
            () = Store::wait_for_session(&mut sessions) => {}
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
        }
    }
}

async fn send_noted_artifacts(artifacts: &Path, store: &Store) -> io::Result<()> {
    for entry in fs::read_dir(artifacts)? {
        let note = entry?.path();
        if note.extension().is_none_or(|ending| ending != NOTE_SUFFIX) {
            continue;
        }
        let deployment = fs::read_to_string(&note)?;
        let hex = note.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let digest = format!("sha256:{hex}");
        let artifact = fairlead_build::artifact_path(artifacts, &digest).filter(|path| path.exists());
        let (Some(artifact), Ok(deployment)) = (artifact, DeploymentId::parse(&deployment)) else {
            fs::remove_file(&note)?;
            continue;
        };
        match store.send(&digest, &artifact, &deployment, &CancellationToken::new()).await {
            Err(error) if error.is_passing() => tracing::info!(%error, digest, "an artifact is still to be sent"),
            outcome => {
                log_outcome(&outcome, &digest);
                fs::remove_file(&note)?;
            }
        }
    }
    Ok(())
}

fn log_outcome(outcome: &Result<(), TransferError>, digest: &str) {
    match outcome {
        Ok(()) => tracing::info!(digest, "sent an artifact that could not be sent before"),
        // The build led to no release.
        Err(error) => tracing::info!(%error, digest, "the control plane does not want an artifact any more"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::mpsc;

    use tokio::sync::watch;

    use super::*;

    /// Starts an empty store that answers a PUT with `answer`. Returns its address and the requests, with the build of each.
    fn store(answer: &'static str) -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, questions) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                let (mut method, mut deployment, mut length) = (String::new(), String::new(), 0);
                loop {
                    let mut line = String::new();
                    lines.read_line(&mut line).unwrap();
                    let line = line.trim_end();
                    if line.is_empty() {
                        break;
                    }
                    match line.split_once(": ") {
                        None => method = line.split(' ').next().unwrap().to_owned(),
                        Some(("fairlead-deployment", value)) => deployment = value.to_owned(),
                        Some(("content-length", value)) => length = value.parse().unwrap(),
                        Some(_) => {}
                    }
                }
                lines.read_exact(&mut vec![0; length]).unwrap();
                let status = if method == "PUT" { answer } else { "404 Not Found" };
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
                asked.send(format!("{method} {deployment}")).ok();
            }
        });
        (address, questions)
    }

    async fn sent(answer: &'static str) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let hex = "a".repeat(64);
        std::fs::write(dir.path().join(format!("{hex}.tar.zst")), "packed").unwrap();
        note(dir.path(), &format!("sha256:{hex}"), &DeploymentId::parse("dep_1").unwrap()).unwrap();
        let (address, questions) = store(answer);
        let (sessions, token) = watch::channel(String::new());
        let client = fairlead_fetch::FetchClient::new(None).unwrap();
        let sending = tokio::spawn(run(dir.path().to_owned(), Store::new(client, &format!("ws://{address}"), token)));
        let note = dir.path().join(format!("{hex}.unsent"));
        tokio::task::yield_now().await;
        assert!(note.exists(), "there is no session yet");
        sessions.send_replace("a-token".to_owned());
        while note.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sending.abort();
        let left = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        (questions.try_iter().collect(), left.collect())
    }

    #[tokio::test]
    async fn a_noted_artifact_is_sent_once_there_is_a_session() {
        let (asked, left) = sent("201 Created").await;
        assert_eq!(asked, ["HEAD dep_1", "PUT dep_1"]);
        assert_eq!(left, [format!("{}.tar.zst", "a".repeat(64))], "the artifact stays, its note goes");
    }

    #[tokio::test]
    async fn a_rejected_artifact_loses_its_note() {
        let (asked, left) = sent("404 Not Found").await;
        assert_eq!(asked, ["HEAD dep_1", "PUT dep_1"]);
        assert_eq!(left.len(), 1);
    }
}
