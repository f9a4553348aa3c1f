//! Pythons that python-build-standalone publishes, as uv lists them. The list and its digests come with uv's source
//! distribution, which the package index proves, so a mirror of the builds is never trusted.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use fairlead_base::{CancellationToken, file, tree};
use fairlead_fetch::Digest;
use fairlead_inspect::Tool;
use serde::{Deserialize, Serialize};

use super::registry::{Piece, Proof, ToolchainPackage, foreign};
use super::{ToolchainError, Toolchains, disk, prune};
use crate::version::SemVer;

/// Name of the list in uv's source distribution; its folder has moved between versions of uv.
const LIST: &str = "download-metadata.json";
const LIST_BYTES_MAX: u64 = 64 << 20;
const SOURCE_BYTES_MAX: u64 = 128 << 20;
/// Kept lists are folders of this name and uv's version.
const KEPT: &str = "python-builds";
const BELOW: &str = "/releases/download/";

/// A build as uv lists it.
#[derive(Debug, Deserialize)]
struct UvRelease {
    name: String,
    arch: Architecture,
    os: String,
    libc: String,
    major: u64,
    minor: u64,
    patch: u64,
    #[serde(default)]
    prerelease: String,
    url: String,
    sha256: Option<String>,
    #[serde(default)]
    variant: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Architecture {
    family: String,
    #[serde(default)]
    variant: Option<String>,
}

/// A build for this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Build {
    version: [u64; 3],
    /// Below the folder of releases, like `20250712/cpython-….tar.gz`.
    path: String,
    sha256: String,
}

impl Toolchains {
    pub(super) async fn python_versions(&self) -> Result<Vec<SemVer>, ToolchainError> {
        Ok(self.builds().await?.iter().map(Build::version).collect())
    }

    pub(super) async fn python_package(&self, version: SemVer) -> Result<ToolchainPackage, ToolchainError> {
        let found = self.builds().await?.into_iter().find(|build| build.version() == version);
        let found = found.and_then(|build| Some((Digest::sha256(&build.sha256)?, build.path)));
        let (digest, path) = found.ok_or_else(|| {
            ToolchainError::Unknown(format!(
                "There is no Python {version} for this server. Choose a version that is published."
            ))
        })?;
        let urls = self.mirrors.python.iter().map(|mirror| format!("{mirror}/{path}")).collect();
        Ok(ToolchainPackage { pieces: vec![Piece { urls, proof: Proof::Digest(digest) }] })
    }

    /// The builds that the newest uv lists, or the newest list that is here when the index can't be reached.
    async fn builds(&self) -> Result<Vec<Build>, ToolchainError> {
        if !matches!(std::env::consts::ARCH, "x86_64" | "aarch64") {
            return Err(foreign(Tool::Python));
        }
        let newest = self.newest_builds().await;
        let kept = match (&newest, self.kept_builds()) {
            (Err(ToolchainError::Fetch { source, .. }), Some(kept)) => {
                tracing::warn!(%source, "the list of Python builds can't be renewed; the one that is here is used");
                kept
            }
            _ => newest?,
        };
        prune::touch(&kept).map_err(disk("python"))?;
        let bytes = fs::read(kept.join(LIST)).map_err(disk("python"))?;
        serde_json::from_slice(&bytes).map_err(|error| disk("python")(error.into()))
    }

    /// Folder of the newest list, fetched unless it is here.
    async fn newest_builds(&self) -> Result<PathBuf, ToolchainError> {
        let (version, piece) = self.uv_source().await?;
        let folder = self.folder.join(format!("{KEPT}@{version}"));
        if folder.join(LIST).exists() {
            return Ok(folder);
        }
        let partial = self.folder.join(format!("{KEPT}@{version}.partial"));
        tree::remove(&partial).and_then(|()| fs::create_dir(&partial)).map_err(disk("python"))?;
        let made = self.make_list(&piece, &partial, &folder).await;
        tree::remove(&partial).map_err(disk("python"))?;
        made.map(|()| folder)
    }

    async fn make_list(&self, piece: &Piece, partial: &Path, folder: &Path) -> Result<(), ToolchainError> {
        let archive = partial.join("uv.tar.gz");
        self.fetch_piece("python", piece, SOURCE_BYTES_MAX, &archive, &CancellationToken::new()).await?;
        let (made, folder) = (partial.join("list"), folder.to_owned());
        let unpacked = tokio::task::spawn_blocking(move || {
            let list = listed(&archive).map_err(|why| ToolchainError::Package { name: "python".to_owned(), why })?;
            let write = || {
                fs::create_dir(&made)?;
                file::replace(&made.join(LIST), &serde_json::to_vec(&list)?, 0o644)?;
                tree::remove(&folder)?;
                fs::rename(&made, &folder)?;
                file::sync_folder(&folder)
            };
            write().map_err(disk("python"))
        });
        unpacked.await.unwrap_or_else(|error| Err(disk("python")(std::io::Error::other(error))))
    }

    fn kept_builds(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let versions = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = SemVer::parse(name.strip_prefix(KEPT)?.strip_prefix('@')?)?;
            entry.path().join(LIST).exists().then(|| (version, entry.path()))
        });
        versions.max().map(|(_, path)| path)
    }
}

impl Build {
    fn version(&self) -> SemVer {
        SemVer(self.version[0], self.version[1], self.version[2])
    }
}

/// Builds for this machine in uv's source distribution; the error is what is wrong with it.
fn listed(archive: &Path) -> Result<Vec<Build>, String> {
    let said = |error: std::io::Error| error.to_string();
    let packed = flate2::read::GzDecoder::new(File::open(archive).map_err(said)?);
    let mut bytes = None;
    for entry in tar::Archive::new(packed).entries().map_err(said)? {
        let entry = entry.map_err(said)?;
        if entry.path().map_err(said)?.file_name().is_some_and(|name| name == LIST) {
            let mut text = Vec::new();
            entry.take(LIST_BYTES_MAX).read_to_end(&mut text).map_err(said)?;
            bytes = Some(text);
            break;
        }
    }
    let bytes = bytes.ok_or_else(|| format!("uv's source distribution holds no {LIST}"))?;
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    // Entries of other implementations and machines may have another form.
    let all = all.into_values().filter_map(|value| serde_json::from_value::<UvRelease>(value).ok());
    let builds: Vec<Build> = all.filter_map(build).collect();
    if builds.is_empty() { Err(format!("{LIST} has no Python for this server")) } else { Ok(builds) }
}

fn build(listed: UvRelease) -> Option<Build> {
    let plain = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
    let fits = listed.name == "cpython"
        && listed.os == "linux"
        && listed.libc == "gnu"
        && listed.arch.family == std::env::consts::ARCH
        && plain(&listed.arch.variant)
        && plain(&listed.variant)
        && listed.prerelease.is_empty()
        && listed.url.contains("install_only")
        && listed.url.ends_with(".tar.gz");
    let (_, path) = listed.url.split_once(BELOW).filter(|_| fits)?;
    let version = [listed.major, listed.minor, listed.patch];
    Some(Build { version, path: path.to_owned(), sha256: listed.sha256? })
}
