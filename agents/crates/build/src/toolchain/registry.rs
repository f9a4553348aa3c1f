//! Package registries: versions of a program, where its package lies and what its digest is. Owns their addresses and forms;
//! believes no version that could leave a folder.

use std::collections::BTreeMap;

use fairlead_fetch::{Digest, FetchError, Receive, resolve};
use serde::Deserialize;

use super::{ToolchainError, Toolchains, fetch, label};
use crate::version::{SemVer, VersionRange};
use fairlead_inspect::Tool;

/// Metadata of npm is large where there are many versions.
const METADATA_BYTES_MAX: u64 = 64 << 20;
/// Form of a package index in JSON (PEP 691).
const SIMPLE: &str = "application/vnd.pypi.simple.v1+json";

/// A toolchain to fetch.
#[derive(Debug)]
pub(super) struct ToolchainPackage {
    pub(super) pieces: Vec<Piece>,
}

/// One archive of it.
#[derive(Debug)]
pub(super) struct Piece {
    /// Download URLs, in order of preference.
    pub(super) urls: Vec<String>,
    pub(super) proof: Proof,
}

/// Checksum that verifies a download.
#[derive(Debug)]
pub(super) enum Proof {
    /// Digest of the downloaded file.
    Digest(Digest),
    /// `h1:…` of its contents, of Go's checksum database.
    GoSum(String),
}

#[derive(Debug, Deserialize)]
struct NpmPackage {
    versions: BTreeMap<String, NpmVersion>,
}

#[derive(Debug, Deserialize)]
struct NpmVersion {
    dist: NpmDist,
    #[serde(default)]
    bin: serde_json::Value,
    #[serde(default)]
    engines: serde_json::Value,
    #[serde(default)]
    deprecated: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct NpmDist {
    tarball: String,
    #[serde(default)]
    integrity: String,
}

#[derive(Debug, Deserialize)]
struct Index {
    files: Vec<IndexFile>,
}

#[derive(Debug, Deserialize)]
struct IndexFile {
    filename: String,
    url: String,
    hashes: BTreeMap<String, String>,
    /// A reason, or whether.
    #[serde(default)]
    yanked: serde_json::Value,
}

impl IndexFile {
    /// Version of a wheel or a source distribution of uv.
    fn version(&self) -> Option<SemVer> {
        let rest = self.filename.strip_prefix("uv-")?;
        SemVer::parse(rest.strip_suffix(".tar.gz").or_else(|| rest.split('-').next())?)
    }

    fn is_yanked(&self) -> bool {
        !matches!(self.yanked, serde_json::Value::Null | serde_json::Value::Bool(false))
    }

    fn piece(&self, index: &str) -> Option<Piece> {
        let digest = Digest::sha256(self.hashes.get("sha256")?)?;
        // A mirror may name its files from where its answer lies.
        Some(Piece { urls: vec![resolve(index, &self.url)], proof: Proof::Digest(digest) })
    }
}

/// The machine's name in Rust to that of npm, of wheels and of Go.
fn architecture() -> Option<(&'static str, &'static str, &'static str)> {
    match std::env::consts::ARCH {
        "x86_64" => Some(("x64", "x86_64", "amd64")),
        "aarch64" => Some(("arm64", "aarch64", "arm64")),
        _ => None,
    }
}

/// First major version of pnpm with a wrapper as its npm package and the program in a package for each machine.
const PNPM_NATIVE: u64 = 12;
/// The first yarn that is not in the npm package `yarn`.
const YARN_BERRY: u64 = 2;

impl Toolchains {
    /// Every version that can be had. With `node`: those that run on it.
    pub(super) async fn versions(&self, tool: Tool, node: Option<SemVer>) -> Result<Vec<SemVer>, ToolchainError> {
        match tool {
            Tool::Go => {
                let suffix = format!(".linux-{}", architecture().ok_or_else(|| foreign(tool))?.2);
                let list = self.text(tool, &format!("{}/golang.org/toolchain/@v/list", self.mirrors.go)).await?;
                let version = |line: &str| SemVer::parse(line.strip_prefix("v0.0.1-go")?.strip_suffix(&suffix)?);
                Ok(list.lines().filter_map(version).collect())
            }
            Tool::Uv => {
                let (_, files) = self.index(tool).await?;
                let usable = files.iter().filter(|file| !file.is_yanked() && is_wheel(file));
                Ok(usable.filter_map(IndexFile::version).collect())
            }
            Tool::Python => self.python_versions().await,
            _ => {
                let mut found = Vec::new();
                for name in names(tool)? {
                    let package = self.npm(tool, &name).await?;
                    let usable = |(text, version): (String, NpmVersion)| {
                        let engine = version.engines.get("node").and_then(|range| VersionRange::parse(range.as_str()?));
                        let runs = engine.zip(node).is_none_or(|(engine, node)| engine.has(node));
                        // Early packages of Node unpack the program when they are installed.
                        let whole =
                            tool != Tool::Node || version.bin.get("node").is_some_and(|path| path == "bin/node");
                        (runs && whole && version.deprecated.is_null()).then(|| SemVer::parse(&text)).flatten()
                    };
                    let of_name = |version: &SemVer| package_name(tool, *version).is_ok_and(|known| known == name);
                    found.extend(package.versions.into_iter().filter_map(usable).filter(of_name));
                }
                Ok(found)
            }
        }
    }

    /// Returns the package of one version.
    pub(super) async fn package(&self, tool: Tool, version: SemVer) -> Result<ToolchainPackage, ToolchainError> {
        let missing = || {
            ToolchainError::Unknown(format!(
                "There is no {} {version} for this server. Choose a version that is published.",
                label(tool)
            ))
        };
        match tool {
            Tool::Python => self.python_package(version).await,
            Tool::Go => {
                let name = format!("v0.0.1-go{version}.linux-{}", architecture().ok_or_else(|| foreign(tool))?.2);
                let looked_up = format!("{}/lookup/golang.org/toolchain@{name}", self.mirrors.go_sums);
                let text = self.text_if_present(tool, &looked_up).await?.ok_or_else(missing)?;
                let prefix = format!("golang.org/toolchain {name} ");
                let sum = text.lines().find_map(|line| line.strip_prefix(&prefix)).ok_or_else(missing)?;
                let url = format!("{}/golang.org/toolchain/@v/{name}.zip", self.mirrors.go);
                Ok(ToolchainPackage { pieces: vec![Piece { urls: vec![url], proof: Proof::GoSum(sum.to_owned()) }] })
            }
            Tool::Uv => {
                let (index, files) = self.index(tool).await?;
                let file = files.iter().find(|file| is_wheel(file) && file.version() == Some(version));
                let piece = file.and_then(|file| file.piece(&index)).ok_or_else(missing)?;
                Ok(ToolchainPackage { pieces: vec![piece] })
            }
            _ => {
                let mut pieces = vec![self.npm_piece(tool, &package_name(tool, version)?, version).await?];
                if tool == Tool::Pnpm && version.0 >= PNPM_NATIVE {
                    let machine = architecture().ok_or_else(|| foreign(tool))?.0;
                    pieces.push(self.npm_piece(tool, &format!("@pnpm%2fexe.linux-{machine}"), version).await?);
                }
                Ok(ToolchainPackage { pieces })
            }
        }
    }

    /// Newest version of uv's source distribution, and where it lies.
    pub(super) async fn uv_source(&self) -> Result<(SemVer, Piece), ToolchainError> {
        let (index, files) = self.index(Tool::Python).await?;
        let sources = files.iter().filter(|file| file.filename.ends_with(".tar.gz") && !file.is_yanked());
        let newest = sources.filter_map(|file| Some((file.version()?, file))).max_by_key(|(version, _)| *version);
        newest.and_then(|(version, file)| Some((version, file.piece(&index)?))).ok_or_else(|| ToolchainError::Package {
            name: "python".to_owned(),
            why: "the package index has no source distribution of uv".to_owned(),
        })
    }

    async fn npm_piece(&self, tool: Tool, name: &str, version: SemVer) -> Result<Piece, ToolchainError> {
        let dist = self.npm(tool, name).await?.versions.remove(&version.to_string()).map(|version| version.dist);
        // Without a strong digest nothing says that it is whole.
        let found = dist.and_then(|dist| Some((Digest::integrity(&dist.integrity)?, dist.tarball)));
        let (digest, url) = found.ok_or_else(|| {
            ToolchainError::Unknown(format!(
                "There is no {} {version} for this server. Choose a version that is published.",
                label(tool)
            ))
        })?;
        Ok(Piece { urls: vec![url], proof: Proof::Digest(digest) })
    }

    async fn npm(&self, tool: Tool, name: &str) -> Result<NpmPackage, ToolchainError> {
        let url = format!("{}/{name}", self.mirrors.npm);
        let what = Receive { url: &url, token: "", bytes_max: METADATA_BYTES_MAX };
        // The short form, which has all that installers need.
        let bytes = self.client.bytes(what, "application/vnd.npm.install-v1+json").await.map_err(fetch(tool.name()))?;
        read(tool, &bytes)
    }

    /// Files of uv, and the address that theirs are relative to.
    async fn index(&self, tool: Tool) -> Result<(String, Vec<IndexFile>), ToolchainError> {
        let url = format!("{}/uv/", self.mirrors.pypi);
        let what = Receive { url: &url, token: "", bytes_max: METADATA_BYTES_MAX };
        let bytes = self.client.bytes(what, SIMPLE).await.map_err(fetch(tool.name()))?;
        let index: Index = read(tool, &bytes)?;
        Ok((url, index.files))
    }

    async fn text(&self, tool: Tool, url: &str) -> Result<String, ToolchainError> {
        let what = Receive { url, token: "", bytes_max: METADATA_BYTES_MAX };
        let bytes = self.client.bytes(what, "*/*").await.map_err(fetch(tool.name()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// `None`: the source says that there is no such thing.
    pub(super) async fn text_if_present(&self, tool: Tool, url: &str) -> Result<Option<String>, ToolchainError> {
        match self.text(tool, url).await {
            Err(ToolchainError::Fetch { source: FetchError::Status { status: 404 | 410, .. }, .. }) => Ok(None),
            text => text.map(Some),
        }
    }
}

fn is_wheel(file: &IndexFile) -> bool {
    let machine = architecture().map_or("", |(_, machine, _)| machine);
    !machine.is_empty()
        && file.filename.ends_with(".whl")
        && file.filename.contains("manylinux")
        && file.filename.contains(machine)
}

/// Packages of npm that together have every version.
fn names(tool: Tool) -> Result<Vec<String>, ToolchainError> {
    let mut names = vec![package_name(tool, SemVer(0, 0, 0))?, package_name(tool, SemVer(u64::MAX, 0, 0))?];
    names.dedup();
    Ok(names)
}

fn package_name(tool: Tool, version: SemVer) -> Result<String, ToolchainError> {
    let machine = architecture().ok_or_else(|| foreign(tool))?.0;
    Ok(match tool {
        Tool::Node => format!("node-linux-{machine}"),
        Tool::Bun => format!("@oven%2fbun-linux-{}", if machine == "arm64" { "aarch64" } else { machine }),
        Tool::Deno => format!("@deno%2flinux-{machine}-glibc"),
        Tool::Yarn if version.0 >= YARN_BERRY => "@yarnpkg%2fcli-dist".to_owned(),
        _ => tool.name().to_owned(),
    })
}

fn read<T: serde::de::DeserializeOwned>(tool: Tool, bytes: &[u8]) -> Result<T, ToolchainError> {
    serde_json::from_slice(bytes).map_err(|error| ToolchainError::Package {
        name: tool.name().to_owned(),
        why: format!("the registry's answer is not of its form ({error})"),
    })
}

pub(super) fn foreign(tool: Tool) -> ToolchainError {
    ToolchainError::Unknown(format!(
        "No registry has {} for this server's kind of processor ({}). Install it on the server.",
        label(tool),
        std::env::consts::ARCH
    ))
}
