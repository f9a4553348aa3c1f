//! Prepares a release's folder from its artifact: connects the runtime to the builder, which packs and unpacks.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use fairlead_base::{CancellationToken, Folders};
use fairlead_build::{Store, Toolchains};
use fairlead_engine::Engine;
use fairlead_model::{ArtifactKind, Failure, ReleaseSpec};
use fairlead_runtime::PrepareRelease;
use tokio::task::spawn_blocking;

use super::{disk, images};

/// Unpacks artifacts of the data folder, and fetches a release's other dependencies.
#[derive(Debug)]
pub(crate) struct ArtifactReleases {
    pub(crate) folders: Folders,
    pub(crate) toolchains: Toolchains,
    /// Source of artifacts that another server built.
    pub(crate) store: Store,
    /// Container engine for releases that are images.
    pub(crate) engine: Engine,
}

impl PrepareRelease for ArtifactReleases {
    fn prepare<'a>(
        &'a self,
        release: &'a ReleaseSpec,
        folder: &'a Path,
        fetching: &'a (dyn Fn() + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            let cancel = CancellationToken::new();
            for name in &release.toolchains {
                self.toolchains.ensure(name, &cancel).await.map_err(|error| error.failure())?;
            }
            if let Err(error) = self.toolchains.note_needs(&release.artifact_digest, &release.toolchains) {
                tracing::warn!(%error, "what a release runs with can't be noted; a rollback to it may fetch it again");
            }
            let (into, digest) = (folder.to_path_buf(), release.artifact_digest.clone());
            let artifact =
                fairlead_build::artifact_path(&self.folders.artifacts(), &digest).ok_or_else(|| missing(&digest))?;
            // An unpacked release no longer needs its artifact.
            let unpacked = match release.artifact_kind {
                ArtifactKind::Archive => into.is_dir(),
                ArtifactKind::Image => images::is_here(&self.engine, &into).await,
            };
            if unpacked && release.artifact_kind == ArtifactKind::Image {
                return Ok(());
            }
            if !unpacked && !artifact.exists() {
                fetching();
                self.store.fetch(&digest, &artifact, &cancel).await.map_err(|error| error.failure())?;
            }
            if release.artifact_kind == ArtifactKind::Image {
                return images::prepare(&self.engine, &self.folders, release, &artifact, &into, &cancel).await;
            }
            let folders = self.folders.clone();
            let unpack = move || {
                if !into.is_dir() && !fairlead_build::has_tree(&artifact) {
                    disk::room_for(&artifact, &folders)?;
                }
                fairlead_build::unpack(&artifact, &digest, &into).map_err(|error| error.failure())
            };
            spawn_blocking(unpack).await.unwrap_or_else(|error| {
                Err(Failure {
                    code: "rollout.internal".into(),
                    message: format!("Unpacking the artifact ended unexpectedly: {error}. Redeploy to try again."),
                })
            })
        })
    }
}

fn missing(digest: &str) -> Failure {
    Failure {
        code: "rollout.artifact_missing".into(),
        message: format!("This server no longer holds the artifact {digest}. Redeploy its commit to build it again."),
    }
}
