//! Client of the control plane's artifact store: uploads built artifacts and downloads missing ones, with the token of the
//! current session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::{Backoff, CancellationToken};
use fairlead_fetch::{Digest, FetchClient, FetchError, Receive, Send, SendReason};
use fairlead_model::{DeploymentId, Failure, VolumeTaskId};
use tokio::sync::watch;
use tokio::time::Instant;

/// No artifact is larger packed.
const BYTES_MAX: u64 = 16 << 30;
/// Maximum time to retry while the network is down; shorter than a rollout's time to fetch.
const PATIENCE: Duration = Duration::from_secs(150);

/// Error of a transfer from or to the artifact store.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is no link, so no token.
    #[error("the server is not linked to the control plane")]
    Unlinked,
    /// It isn't `sha256:<hex>`.
    #[error("it has no digest")]
    Digest,
    /// The caller cancelled the transfer.
    #[error("it was cancelled")]
    Cancelled,
    /// The HTTP transfer failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl TransferError {
    /// True if a retry may succeed: the link or the network is down, or the session ended in between.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unlinked | Self::Fetch(FetchError::Status { status: 401, .. }) => true,
            Self::Fetch(error) => error.is_passing(),
            Self::Digest | Self::Cancelled => false,
        }
    }

    /// As a rollout reports it.
    pub fn failure(&self) -> Failure {
        let missing = matches!(self, Self::Fetch(FetchError::Status { status: 404, .. }));
        let (code, message) = if missing {
            ("rollout.artifact_missing", "Neither this server nor the control plane holds this release's artifact any more. Redeploy its commit to build it again.".to_owned())
        } else {
            (
                "rollout.fetch_failed",
                format!(
                    "The release's artifact could not be fetched: {self}. It will work once the server reaches the control plane; then deploy again."
                ),
            )
        };
        Failure { code: code.to_owned(), message }
    }
}

/// The store, by whatever token is good now.
#[derive(Debug, Clone)]
pub struct Store {
    client: FetchClient,
    /// Like `https://control.example/agent/artifacts`.
    base: Arc<str>,
    token: watch::Receiver<String>,
}

impl Store {
    /// `control_url` as enrolment wrote it; `token` changes with each session and is empty without one.
    pub fn new(client: FetchClient, control_url: &str, token: watch::Receiver<String>) -> Self {
        let url = control_url.trim_end_matches('/');
        // The link's own words for the same two.
        let url = url.replacen("wss://", "https://", 1).replacen("ws://", "http://", 1);
        Self { client, base: format!("{url}/agent/artifacts").into(), token }
    }

    /// Fetches an artifact to `to`, going on where an earlier attempt ended. Waits for a link that is down.
    pub async fn fetch(&self, digest: &str, to: &Path, cancel: &CancellationToken) -> Result<(), TransferError> {
        self.fetch_within(digest, BYTES_MAX, to, cancel).await
    }

    /// The same of what has a known size.
    pub async fn fetch_within(
        &self,
        digest: &str,
        bytes_max: u64,
        to: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        let mut patience = Patience::new(self.token.clone());
        loop {
            match self.fetch_once(digest, bytes_max, to, cancel).await {
                Ok(()) => return Ok(()),
                Err(error) => patience.after(error, cancel).await?,
            }
        }
    }

    /// Sends what a build made, unless the store has it. Waits for a link that broke meanwhile, but for none that never was.
    pub async fn send(
        &self,
        digest: &str,
        file: &Path,
        deployment: &DeploymentId,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        self.send_for(SendReason::Deployment(deployment.as_str()), digest, file, cancel).await
    }

    /// Sends the packed files of a volume, unless the store has them.
    pub async fn send_snapshot(
        &self,
        digest: &str,
        file: &Path,
        task: &VolumeTaskId,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        self.send_for(SendReason::VolumeTask(task.as_str()), digest, file, cancel).await
    }

    async fn send_for(
        &self,
        reason: SendReason<'_>,
        digest: &str,
        file: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        if self.token.borrow().is_empty() {
            return Err(TransferError::Unlinked);
        }
        let mut patience = Patience::new(self.token.clone());
        loop {
            match self.send_once(reason, digest, file, cancel).await {
                Ok(()) => return Ok(()),
                Err(error) => patience.after(error, cancel).await?,
            }
        }
    }

    /// Resolves when a session has opened or ended since `seen` was looked at; never, once the link is gone for good.
    pub async fn wait_for_session(seen: &mut watch::Receiver<String>) {
        if seen.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The tokens of sessions as they come and go.
    pub fn tokens(&self) -> watch::Receiver<String> {
        self.token.clone()
    }

    async fn fetch_once(
        &self,
        digest: &str,
        bytes_max: u64,
        to: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        let (url, token) = self.ask(digest)?;
        let proof = Digest::sha256(digest).ok_or(TransferError::Digest)?;
        let what = Receive { url: &url, token: &token, bytes_max };
        self.client.file(what, Some(&proof), to, cancel).await.map_err(ended)
    }

    async fn send_once(
        &self,
        reason: SendReason<'_>,
        digest: &str,
        file: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), TransferError> {
        let (url, token) = self.ask(digest)?;
        let what = Send { url: &url, token: &token, file, reason };
        self.client.send(what, cancel).await.map_err(ended)
    }

    fn ask(&self, digest: &str) -> Result<(String, String), TransferError> {
        let hex = digest.strip_prefix("sha256:").ok_or(TransferError::Digest)?;
        let token = self.token.borrow().clone();
        if token.is_empty() { Err(TransferError::Unlinked) } else { Ok((format!("{}/{hex}", self.base), token)) }
    }
}

/// Pauses between attempts, until it has been long enough.
struct Patience {
    until: Instant,
    backoff: Backoff,
    token: watch::Receiver<String>,
}

impl Patience {
    fn new(mut token: watch::Receiver<String>) -> Self {
        token.mark_unchanged();
        let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        Self { until: Instant::now() + PATIENCE, backoff, token }
    }

    /// Comes back when it is time for another attempt; a new session is a good moment.
    async fn after(&mut self, error: TransferError, cancel: &CancellationToken) -> Result<(), TransferError> {
        let pause = self.backoff.pause();
        if !error.is_passing() || Instant::now() + pause >= self.until {
            return Err(error);
        }
        tracing::info!(%error, "an artifact's transfer is tried again");
        tokio::select! {
            () = cancel.cancelled() => Err(TransferError::Cancelled),
            () = Store::wait_for_session(&mut self.token) => Ok(()),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }
}

fn ended(error: FetchError) -> TransferError {
    match error {
        FetchError::Cancelled => TransferError::Cancelled,
        error => TransferError::Fetch(error),
    }
}
