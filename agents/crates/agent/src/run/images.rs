//! Images of releases in the container engine: loads them from artifacts, names them by data folder and release, and removes them
//! by that name. Of other images it removes only leftovers of this agent's own builds that are a day old.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use fairlead_base::{CancellationToken, Folders, clock, file};
use fairlead_engine::{Engine, EngineError, LOCAL_REGISTRY};
use fairlead_fetch::Digest;
use fairlead_model::{DeploymentId, DesiredState, Failure, ReleaseSpec};
use fairlead_runtime::{IMAGE_FILE, owner};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::spawn_blocking;

use super::disk;

/// Prefix of image names that older agents used.
const FORMER_REPOSITORY: &str = "fairlead-release/";
/// Buffer size between reading an archive and sending it.
const PIECE_BYTES: usize = 1 << 17;

/// True if the engine has the image that the release's folder names by its id.
pub(super) async fn is_here(engine: &Engine, folder: &Path) -> bool {
    let Ok(id) = std::fs::read_to_string(folder.join(IMAGE_FILE)) else { return false };
    matches!(engine.image(id.trim()).await, Ok(Some(_)))
}

/// Loads a release's image from its artifact, names it, and notes its id in the release's folder.
pub(super) async fn prepare(
    engine: &Engine,
    folders: &Folders,
    release: &ReleaseSpec,
    artifact: &Path,
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    if !engine.answers().await {
        return Err(failure(
            "rollout.no_engine",
            "This server has no container engine that answers, and the release is an image. Install or start Docker on it, then deploy again.".to_owned(),
        ));
    }
    disk::room_for(artifact, folders)?;
    if !is_whole(artifact, &release.artifact_digest).await {
        return Err(failure(
            "rollout.artifact_missing",
            "The image on this server is not what its digest says. Deploy again without the cache to build it anew."
                .to_owned(),
        ));
    }
    let loaded = load(engine, artifact, cancel).await.map_err(|error| {
        failure("rollout.image_unusable", format!("The image could not be brought to the container engine: {error}."))
    })?;
    let (repository, tag) = name(folders, release.id.as_str());
    let named = async {
        engine.tag(&loaded, &repository, &tag).await?;
        engine.image(&format!("{repository}:{tag}")).await
    };
    let refused = |error: EngineError| {
        failure("rollout.image_unusable", format!("The container engine could not name the image: {error}."))
    };
    let image = named.await.map_err(refused)?.ok_or_else(|| refused(EngineError::Refused("it has gone".to_owned())))?;
    // The name inside the archive is no longer needed, and a name of another server would hide the owner.
    if loaded.contains('/')
        && let Err(error) = engine.remove(&loaded).await
    {
        tracing::debug!(image = loaded, %error, "keeps the name it was packed with");
    }
    note(folder, &image.id).map_err(|error| {
        failure("rollout.internal", format!("The release could not be noted on this server: {error}. Deploy again."))
    })
}

/// Removes the image names of unneeded releases; the engine deletes an image with its last name. Returns the disk usage of the
/// remaining images. Without a desired state it removes nothing, since no release is known to be unneeded.
pub(super) async fn prune(
    engine: &Engine,
    folders: &Folders,
    state: Option<&DesiredState>,
) -> Result<u64, EngineError> {
    let needed = state.map(|state| {
        let releases = state.apps.values().flat_map(|app| {
            app.live.iter().chain(app.candidate.iter().map(|rollout| &rollout.release)).map(|release| &release.id)
        });
        releases.map(|id| id.as_str()).collect::<BTreeSet<_>>()
    });
    let (mine, _) = name(folders, "");
    let mut bytes = 0;
    let mut images = engine.images_below(&format!("{mine}:")).await?;
    images.extend(engine.images_below(&format!("{FORMER_REPOSITORY}{}:", owner(folders))).await?);
    for image in images {
        let tag = image.name.rsplit(':').next().unwrap_or_default();
        if needed.as_ref().is_some_and(|needed| !needed.contains(tag)) {
            tracing::info!(image = image.name, "removed: no release needs it");
            // The image of a running container stays until the container is gone; its archive can restore it.
            engine
                .remove(&image.name)
                .await
                .unwrap_or_else(|error| tracing::debug!(image = image.name, %error, "stays"));
        } else {
            bytes += image.size_bytes;
        }
    }
    if let Some(state) = state {
        let building: Vec<DeploymentId> = state.builds.keys().cloned().collect();
        fairlead_build::prune_images(engine, &owner(folders), &building, clock::unix_ms() / 1000).await?;
    }
    Ok(bytes)
}

/// Removes the names of all images of this data folder.
pub(crate) async fn remove_all(engine: &Engine, folders: &Folders) -> Result<(), EngineError> {
    let (mine, _) = name(folders, "");
    let mut images = engine.images_below(&format!("{mine}:")).await?;
    images.extend(engine.images_below(&format!("{FORMER_REPOSITORY}{}:", owner(folders))).await?);
    for image in images {
        engine.remove(&image.name).await?;
    }
    fairlead_build::remove_images(engine, &owner(folders)).await
}

/// Returns repository and tag of a release's image in lower case, as engines require.
fn name(folders: &Folders, release: &str) -> (String, String) {
    (format!("{LOCAL_REGISTRY}/release/{}", owner(folders)), release.to_owned())
}

async fn is_whole(artifact: &Path, digest: &str) -> bool {
    let (path, digest) = (artifact.to_path_buf(), Digest::sha256(digest));
    let checked = spawn_blocking(move || digest.is_some_and(|digest| digest.is_of(&path).unwrap_or_default()));
    checked.await.unwrap_or_default()
}

async fn load(engine: &Engine, artifact: &Path, cancel: &CancellationToken) -> Result<String, EngineError> {
    let (mut writer, reader) = tokio::io::duplex(PIECE_BYTES * 2);
    let archive = std::fs::File::open(artifact)?;
    let unpacked = async move {
        let done = send(archive, &mut writer).await;
        drop(writer);
        done
    };
    let (unpacked, loaded) = tokio::join!(unpacked, engine.load(reader, cancel));
    // An error of the engine also stops the reader, so the engine's error is the cause.
    let loaded = loaded?;
    unpacked?;
    Ok(loaded)
}

async fn send(archive: std::fs::File, to: &mut DuplexStream) -> io::Result<()> {
    let mut decoder = zstd::Decoder::new(archive)?;
    loop {
        let read = spawn_blocking(move || {
            let mut piece = vec![0; PIECE_BYTES];
            decoder.read(&mut piece).map(|count| {
                piece.truncate(count);
                (decoder, piece)
            })
        });
        let (next, piece) = read.await.map_err(io::Error::other)??;
        decoder = next;
        if piece.is_empty() {
            return Ok(());
        }
        to.write_all(&piece).await?;
    }
}

/// Creates the release's folder with the image id in it, atomically.
fn note(folder: &Path, id: &str) -> io::Result<()> {
    if folder.is_dir() {
        return file::replace(&folder.join(IMAGE_FILE), id.as_bytes(), 0o644);
    }
    let partial = folder.with_extension("partial");
    std::fs::create_dir_all(&partial)?;
    file::replace(&partial.join(IMAGE_FILE), id.as_bytes(), 0o644)?;
    std::fs::rename(&partial, folder)
}

fn failure(code: &'static str, message: String) -> Failure {
    Failure { code: code.into(), message }
}
