//! Fetches an uploaded folder from the artifact store and unpacks it as the source of a build.

use std::fs::File;
use std::io;

use fairlead_model::Step;

use crate::as_user::as_user;
use crate::command::Workshop;
use crate::unpack::{Form, UnpackError, unpack_tar};
use crate::{BuildError, TransferError, artifact_path};

/// Maximum unpacked size of an upload.
const BYTES_MAX: u64 = 4 << 30;

/// Fetches the upload unless it is here, and unpacks it into the source.
pub(crate) async fn fetch(workshop: &mut Workshop<'_>, digest: &str) -> Result<(), BuildError> {
    let unusable = |why: &str| BuildError::Upload(format!("The upload can't be used: {why}. Upload it again."));
    let path = artifact_path(&workshop.options.artifacts, digest).ok_or_else(|| unusable("it has no digest"))?;
    let fetched = !path.exists();
    if fetched {
        let store =
            workshop.options.store.clone().ok_or_else(|| unusable("this server has no store to fetch it from"))?;
        workshop.say(Step::Clone, format!("Fetching the upload {}.", &digest[..19]));
        let got = tokio::time::timeout_at(workshop.deadline, store.fetch(digest, &path, &workshop.cancel)).await;
        let got =
            got.map_err(|_| BuildError::Timeout { limit: workshop.limit, doing: "fetched the upload".to_owned() })?;
        got.map_err(|error| match error {
            TransferError::Cancelled => BuildError::Cancelled,
            error => unusable(&error.to_string()),
        })?;
    }
    let (from, into, user) = (path.clone(), workshop.build_folders.source.clone(), workshop.options.user);
    let unpacked = tokio::task::spawn_blocking(move || {
        let packed = File::open(&from)?;
        // An upload is of one build alone.
        if fetched {
            std::fs::remove_file(&from)?;
        }
        as_user(user, || unpack_tar(flate2::read::GzDecoder::new(packed), &into, Form::new(0, BYTES_MAX)))
            .map_err(UnpackError::Server)?
    });
    let unpacked = unpacked.await.unwrap_or_else(|error| Err(UnpackError::Server(io::Error::other(error))));
    unpacked.map_err(|error| match error {
        UnpackError::DiskFull => BuildError::DiskFull,
        UnpackError::Server(source) => BuildError::server("unpacking the upload")(source),
        UnpackError::Refused(why) => unusable(&why),
        UnpackError::Missing | UnpackError::Damaged => unusable("it is damaged"),
    })?;
    workshop.say(Step::Clone, "Unpacked the upload.");
    Ok(())
}
