//! The artifact store of the control plane: what was built goes there, what is missing comes from there. Owns the address
//! of an artifact; the token is of the session that is open now.

use std::path::Path;
use std::sync::Arc;

use fairlead_base::CancellationToken;
use fairlead_fetch::{Client, Digest, FetchError, Receive, Send};
use fairlead_model::Failure;
use tokio::sync::watch;

/// No artifact is larger packed.
const BYTES_MAX: u64 = 16 << 30;

/// Why an artifact did not come or go.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is no link, so no token.
    #[error("the server is not linked to the control plane")]
    Unlinked,
    /// It isn't `sha256:<hex>`.
    #[error("it has no digest")]
    Digest,
    /// Asked to stop.
    #[error("it was cancelled")]
    Cancelled,
    /// Anything else.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl TransferError {
    /// As a roll-out reports it.
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
    client: Client,
    /// Like `https://control.example/agent/artifacts`.
    base: Arc<str>,
    token: watch::Receiver<String>,
}

impl Store {
    /// `control_url` as enrolment wrote it; `token` changes with each session and is empty without one.
    pub fn new(client: Client, control_url: &str, token: watch::Receiver<String>) -> Self {
        let url = control_url.trim_end_matches('/');
        // The link's own words for the same two.
        let url = url.replacen("wss://", "https://", 1).replacen("ws://", "http://", 1);
        Self { client, base: format!("{url}/agent/artifacts").into(), token }
    }

    /// Fetches an artifact to `to`, going on where an earlier attempt ended.
    pub async fn fetch(&self, digest: &str, to: &Path, cancel: &CancellationToken) -> Result<(), TransferError> {
        let (url, token) = self.ask(digest)?;
        let proof = Digest::sha256(digest).ok_or(TransferError::Digest)?;
        let what = Receive { url: &url, token: &token, bytes_max: BYTES_MAX };
        self.client.file(what, Some(&proof), to, cancel).await.map_err(ended)
    }

    /// Sends an artifact, unless the store has it.
    pub async fn send(&self, digest: &str, file: &Path, cancel: &CancellationToken) -> Result<(), TransferError> {
        let (url, token) = self.ask(digest)?;
        self.client.send(Send { url: &url, token: &token, file }, cancel).await.map_err(ended)
    }

    fn ask(&self, digest: &str) -> Result<(String, String), TransferError> {
        let hex = digest.strip_prefix("sha256:").ok_or(TransferError::Digest)?;
        let token = self.token.borrow().clone();
        if token.is_empty() { Err(TransferError::Unlinked) } else { Ok((format!("{}/{hex}", self.base), token)) }
    }
}

fn ended(error: FetchError) -> TransferError {
    match error {
        FetchError::Cancelled => TransferError::Cancelled,
        error => TransferError::Fetch(error),
    }
}
