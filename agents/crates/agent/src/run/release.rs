//! A release's folder from its artifact. The wire between the runtime, which asks, and the builder, which packs and unpacks.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use fairlead_base::Folders;
use fairlead_model::{Failure, ReleaseSpec};
use fairlead_runtime::PrepareRelease;
use tokio::task::spawn_blocking;

use super::disk;

/// Unpacks artifacts of the data folder.
#[derive(Debug)]
pub(crate) struct ArtifactReleases(pub(crate) Folders);

impl PrepareRelease for ArtifactReleases {
    fn prepare<'a>(
        &'a self,
        release: &'a ReleaseSpec,
        folder: &'a Path,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let (into, digest) = (folder.to_path_buf(), release.artifact_digest.clone());
        let artifact = fairlead_build::artifact_path(&self.0.artifacts(), &digest);
        let folders = self.0.clone();
        let unpack = move || {
            let artifact = artifact.ok_or_else(|| missing(&digest))?;
            if !into.is_dir() {
                disk::room_for(&artifact, &folders)?;
            }
            fairlead_build::unpack(&artifact, &digest, &into).map_err(|error| error.failure())
        };
        Box::pin(async move {
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
