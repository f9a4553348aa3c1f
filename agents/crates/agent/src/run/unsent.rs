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
