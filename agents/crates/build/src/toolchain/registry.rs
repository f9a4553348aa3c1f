//! What registries say of a program: which versions there are, where the package lies and what its digest is.
//! Owns their addresses and forms; believes no version that could leave a folder.

use std::collections::BTreeMap;

use fairlead_fetch::{Digest, Receive, resolve};
use serde::Deserialize;

use super::{ToolchainError, Toolchains, fetch};
use crate::plan::Tool;
use crate::version::{Range, Version};

pub(super) const NPM: &str = "https://registry.npmjs.org";
/// What PyPI says of uv.
const UV: &str = "https://pypi.org/pypi/uv/json";
const GO: &str = "https://proxy.golang.org";
/// Metadata of npm is large where there are many versions.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// A package to fetch.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) url: String,
    pub(super) digest: Proof,
}

/// What proves that it is whole.
#[derive(Debug)]
pub(super) enum Proof {
    /// Of the file.
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
struct PypiProject {
    releases: BTreeMap<String, Vec<PypiFile>>,
}

#[derive(Debug, Deserialize)]
struct PypiFile {
    filename: String,
    url: String,
    digests: BTreeMap<String, String>,
}

/// The machine's name in Rust to that of npm, of wheels and of Go.
fn architecture() -> Option<(&'static str, &'static str, &'static str)> {
    match std::env::consts::ARCH {
        "x86_64" => Some(("x64", "x86_64", "amd64")),
        "aarch64" => Some(("arm64", "aarch64", "arm64")),
        _ => None,
    }
}

impl Toolchains {
    /// The newest version that will do. For Node only lines with long support, which have even numbers, unless none will do.
    pub(super) async fn newest(
        &self,
        tool: Tool,
        range: &Range,
        node: Option<Version>,
    ) -> Result<Option<Version>, ToolchainError> {
        let versions: Vec<Version> = match tool {
            Tool::Go => {
                let suffix = format!(".linux-{}", architecture().ok_or_else(|| foreign(tool))?.2);
                let list = self.text(tool, &format!("{GO}/golang.org/toolchain/@v/list")).await?;
                let version = |line: &str| Version::parse(line.strip_prefix("v0.0.1-go")?.strip_suffix(&suffix)?);
                list.lines().filter_map(version).collect()
            }
            Tool::Uv => self.pypi(tool).await?.releases.keys().filter_map(|name| Version::parse(name)).collect(),
            _ => {
                let package = self.npm(tool).await?;
                let usable = |(name, version): (String, NpmVersion)| {
                    let engine = version.engines.get("node").and_then(|range| Range::parse(range.as_str()?));
                    let runs = engine.zip(node).is_none_or(|(engine, node)| engine.has(node));
                    (runs && version.deprecated.is_null()).then(|| Version::parse(&name)).flatten()
                };
                package.versions.into_iter().filter_map(usable).collect()
            }
        };
        let mut fitting: Vec<Version> = versions.into_iter().filter(|version| range.has(*version)).collect();
        fitting.sort_unstable();
        let supported = fitting.iter().rev().find(|version| tool != Tool::Node || version.0 % 2 == 0);
        Ok(supported.or(fitting.last()).copied())
    }

    /// Where one version lies.
    pub(super) async fn package(&self, tool: Tool, version: Version) -> Result<Package, ToolchainError> {
        let missing = || {
            ToolchainError::Unknown(format!(
                "There is no {} {version} for this server. Choose a version that is published.",
                tool.name()
            ))
        };
        match tool {
            Tool::Go => {
                let name = format!("v0.0.1-go{version}.linux-{}", architecture().ok_or_else(|| foreign(tool))?.2);
                let looked_up = format!("{GO}/sumdb/sum.golang.org/lookup/golang.org/toolchain@{name}");
                let text = self.text(tool, &looked_up).await?;
                let prefix = format!("golang.org/toolchain {name} ");
                let sum = text.lines().find_map(|line| line.strip_prefix(&prefix)).ok_or_else(missing)?;
                let url = format!("{GO}/golang.org/toolchain/@v/{name}.zip");
                Ok(Package { url, digest: Proof::GoSum(sum.to_owned()) })
            }
            Tool::Uv => {
                let machine = architecture().ok_or_else(|| foreign(tool))?.1;
                let wheel = |file: &PypiFile| {
                    file.filename.ends_with(".whl")
                        && file.filename.contains("manylinux")
                        && file.filename.contains(machine)
                };
                let mut project = self.pypi(tool).await?;
                let release = project.releases.remove(&version.to_string()).ok_or_else(missing)?;
                let file = release.into_iter().find(wheel).ok_or_else(missing)?;
                let digest = file.digests.get("sha256").and_then(|hex| Digest::sha256(hex)).ok_or_else(missing)?;
                // A mirror may name its files from where its answer lies.
                Ok(Package { url: resolve(UV, &file.url), digest: Proof::Digest(digest) })
            }
            _ => {
                let mut package = self.npm(tool).await?;
                let dist = package.versions.remove(&version.to_string()).ok_or_else(missing)?.dist;
                // Without a strong digest nothing says that it is whole.
                let digest = Digest::integrity(&dist.integrity).ok_or_else(missing)?;
                Ok(Package { url: dist.tarball, digest: Proof::Digest(digest) })
            }
        }
    }

    async fn npm(&self, tool: Tool) -> Result<NpmPackage, ToolchainError> {
        let machine = architecture().ok_or_else(|| foreign(tool))?.0;
        let name = match tool {
            Tool::Node => format!("node-linux-{machine}"),
            Tool::Bun => format!("@oven%2fbun-linux-{}", if machine == "arm64" { "aarch64" } else { machine }),
            Tool::Deno => format!("@deno%2flinux-{machine}-glibc"),
            _ => tool.name().to_owned(),
        };
        let url = format!("{}/{name}", self.npm_registry);
        let what = Receive { url: &url, token: "", bytes_max: METADATA_BYTES_MAX };
        // The short form, which has all that installers need.
        let bytes = self.client.bytes(what, "application/vnd.npm.install-v1+json").await.map_err(fetch(tool.name()))?;
        read(tool, &bytes)
    }

    async fn pypi(&self, tool: Tool) -> Result<PypiProject, ToolchainError> {
        let what = Receive { url: UV, token: "", bytes_max: METADATA_BYTES_MAX };
        let bytes = self.client.bytes(what, "application/json").await.map_err(fetch(tool.name()))?;
        read(tool, &bytes)
    }

    async fn text(&self, tool: Tool, url: &str) -> Result<String, ToolchainError> {
        let what = Receive { url, token: "", bytes_max: METADATA_BYTES_MAX };
        let bytes = self.client.bytes(what, "*/*").await.map_err(fetch(tool.name()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn read<T: serde::de::DeserializeOwned>(tool: Tool, bytes: &[u8]) -> Result<T, ToolchainError> {
    serde_json::from_slice(bytes).map_err(|error| ToolchainError::Package {
        name: tool.name().to_owned(),
        why: format!("the registry's answer is not of its form ({error})"),
    })
}

fn foreign(tool: Tool) -> ToolchainError {
    ToolchainError::Unknown(format!(
        "No registry has {} for this server's kind of processor ({}). Install it on the server.",
        tool.name(),
        std::env::consts::ARCH
    ))
}
