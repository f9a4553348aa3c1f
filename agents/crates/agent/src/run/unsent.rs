//! Artifacts that could not be sent to the control plane when they were built: noted beside them, and sent when the link is
//! back, also after a restart. Owns the notes; must never delete an artifact.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::{CancellationToken, file};
use fairlead_build::{Store, TransferError};
use fairlead_model::DeploymentId;

/// Beside the artifact, with the deployment that built it.
const ENDING: &str = "unsent";
/// Beyond each new session.
const AGAIN: Duration = Duration::from_secs(60);

/// Notes that an artifact is to be sent later.
pub(super) fn keep(artifacts: &Path, digest: &str, deployment: &DeploymentId) -> io::Result<()> {
    let hex = digest.strip_prefix("sha256:").ok_or_else(|| io::Error::other("it has no digest"))?;
    file::replace(&artifacts.join(format!("{hex}.{ENDING}")), deployment.as_str().as_bytes(), 0o600)
}

/// Sends what is noted, whenever there is hope. Never ends.
pub(super) async fn send_all(artifacts: PathBuf, store: Store) {
    let mut sessions = store.tokens();
    loop {
        let linked = !sessions.borrow_and_update().is_empty();
        if linked && let Err(error) = send_noted(&artifacts, &store).await {
            tracing::warn!(%error, "the notes of artifacts to be sent can't be read");
        }
        tokio::select! {
            () = Store::linked(&mut sessions) => {}
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

async fn send_noted(artifacts: &Path, store: &Store) -> io::Result<()> {
    for entry in fs::read_dir(artifacts)? {
        let note = entry?.path();
        if note.extension().is_none_or(|ending| ending != ENDING) {
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
                said(&outcome, &digest);
                fs::remove_file(&note)?;
            }
        }
    }
    Ok(())
}

fn said(outcome: &Result<(), TransferError>, digest: &str) {
    match outcome {
        Ok(()) => tracing::info!(digest, "sent an artifact that could not be sent before"),
        // No release came of it.
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

    /// A store that has nothing and answers a PUT with this; what it was asked, with the build it was asked for.
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
        keep(dir.path(), &format!("sha256:{hex}"), &DeploymentId::parse("dep_1").unwrap()).unwrap();
        let (address, questions) = store(answer);
        let (sessions, token) = watch::channel(String::new());
        let client = fairlead_fetch::Client::new(None).unwrap();
        let sending =
            tokio::spawn(send_all(dir.path().to_owned(), Store::new(client, &format!("ws://{address}"), token)));
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
    async fn one_that_nobody_wants_any_more_is_noted_no_longer() {
        let (asked, left) = sent("404 Not Found").await;
        assert_eq!(asked, ["HEAD dep_1", "PUT dep_1"]);
        assert_eq!(left.len(), 1);
    }
}
