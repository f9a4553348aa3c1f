//! Pulls, tags, lists and removes images, saves them to a file and loads them from one.

use bollard::auth::DockerCredentials;
use bollard::query_parameters::{
    CreateImageOptionsBuilder, ImportImageOptions, ListImagesOptions, RemoveImageOptions, TagImageOptionsBuilder,
};
use bytes::Bytes;
use fairlead_base::CancellationToken;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::container::found_or_none;
use crate::{Engine, EngineError};

/// Credentials for a registry.
#[derive(Clone, Default)]
pub struct Login {
    /// User name; empty for an anonymous pull.
    pub username: String,
    /// Password or access token.
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

/// One name of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedImage {
    /// Name as `repository:tag`, without the registry that Podman adds.
    pub name: String,
    /// Size on disk; shared layers count in each image.
    pub size_bytes: u64,
    /// Time at which the image was built, in Unix seconds.
    pub made_unix_s: u64,
}

impl Engine {
    /// Pulls an image; returns its digest in the registry, `sha256:<hex>`.
    pub async fn pull(
        &self,
        reference: &str,
        login: Option<&Login>,
        line: &mut (dyn FnMut(String) + Send),
        cancel: &CancellationToken,
    ) -> Result<String, EngineError> {
        let docker = self.api().await?;
        let options = CreateImageOptionsBuilder::new().from_image(reference).build();
        let credentials = login.map(|login| DockerCredentials {
            username: Some(login.username.clone()),
            password: Some(login.password.clone()),
            ..DockerCredentials::default()
        });
        let mut words = std::pin::pin!(docker.create_image(Some(options), None, credentials));
        while let Some(said) = next(&mut words, cancel).await? {
            if let Some(detail) = said.error_detail {
                return Err(EngineError::Refused(detail.message.unwrap_or_default()));
            }
            // One line per layer, not one per percent.
            if let Some(status) =
                said.status.filter(|_| said.progress_detail.is_none_or(|detail| detail.current.is_none()))
            {
                line(status);
            }
        }
        let digests = docker.inspect_image(reference).await?.repo_digests.unwrap_or_default();
        let digest = digests.iter().find_map(|known| known.split_once('@').map(|(_, digest)| digest.to_owned()));
        digest.ok_or_else(|| EngineError::Refused(format!("the registry gave no digest of {reference}")))
    }

    /// Writes an image as an archive, as `docker save` does.
    pub async fn save(
        &self,
        name: &str,
        to: &mut (dyn AsyncWrite + Send + Unpin),
        cancel: &CancellationToken,
    ) -> Result<(), EngineError> {
        let docker = self.api().await?;
        let mut pieces = std::pin::pin!(docker.export_image(name));
        while let Some(piece) = next(&mut pieces, cancel).await? {
            to.write_all(&piece).await?;
        }
        Ok(to.flush().await?)
    }

    /// Loads an uncompressed archive of `save`; returns the name of the image.
    pub async fn load(
        &self,
        from: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        cancel: &CancellationToken,
    ) -> Result<String, EngineError> {
        let docker = self.api().await?;
        let body = bollard::body_try_stream(pieces(from));
        let mut words = std::pin::pin!(docker.import_image(ImportImageOptions::default(), body, None));
        let mut name = None;
        while let Some(said) = next(&mut words, cancel).await? {
            if let Some(detail) = said.error_detail {
                return Err(EngineError::Refused(detail.message.unwrap_or_default()));
            }
            for text in said.stream.unwrap_or_default().lines() {
                let loaded = text.strip_prefix("Loaded image: ").or_else(|| text.strip_prefix("Loaded image ID: "));
                name = loaded.map(|loaded| loaded.trim().to_owned()).or(name);
            }
        }
        name.ok_or_else(|| EngineError::Refused("the archive holds no image".to_owned()))
    }

    /// Adds a name to an image.
    pub async fn tag(&self, image: &str, repository: &str, tag: &str) -> Result<(), EngineError> {
        let options = TagImageOptionsBuilder::new().repo(repository).tag(tag).build();
        Ok(self.api().await?.tag_image(image, Some(options)).await?)
    }

    /// Lists images with a name `repository:tag` that begins with `prefix`.
    pub async fn images_below(&self, prefix: &str) -> Result<Vec<NamedImage>, EngineError> {
        let found = self.api().await?.list_images(None::<ListImagesOptions>).await?;
        let named = found.into_iter().flat_map(|image| {
            let number = |number| u64::try_from(number).unwrap_or_default();
            let (size_bytes, made_unix_s) = (number(image.size), number(image.created));
            image.repo_tags.into_iter().map(move |name| NamedImage { name, size_bytes, made_unix_s })
        });
        Ok(named.filter(|image| plain(&image.name).starts_with(prefix)).collect())
    }

    /// Removes a name of an image, and the image with its last name.
    pub async fn remove(&self, name: &str) -> Result<(), EngineError> {
        found_or_none(self.api().await?.remove_image(name, None::<RemoveImageOptions>, None).await)?;
        Ok(())
    }
}

/// Strips the registry that Podman adds to a name without one: Docker's default, or `localhost`.
fn plain(name: &str) -> &str {
    ["docker.io/", "localhost/"].iter().find_map(|registry| name.strip_prefix(registry)).unwrap_or(name)
}

/// Returns the next message of the engine. Cancelling closes the connection, which ends a build.
async fn next<T>(
    words: &mut (impl Stream<Item = Result<T, bollard::errors::Error>> + Unpin),
    cancel: &CancellationToken,
) -> Result<Option<T>, EngineError> {
    tokio::select! {
        () = cancel.cancelled() => Err(EngineError::Cancelled),
        said = words.next() => Ok(said.transpose()?),
    }
}

fn pieces(
    from: impl tokio::io::AsyncRead + Send + Unpin + 'static,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    futures_util::stream::unfold(from, |mut from| async move {
        let mut piece = vec![0; 1 << 16];
        match from.read(&mut piece).await {
            Ok(0) => None,
            Ok(count) => {
                piece.truncate(count);
                Some((Ok(Bytes::from(piece)), from))
            }
            Err(error) => Some((Err(error), from)),
        }
    })
}
