//! Runtimes and tools that a server lacks: from their publishers or a mirror, checked by the publisher's own digest, kept by
//! name and version below the data folder, and shared by builds and apps. Owns their folders and what is in them.

mod archive;
mod mirrors;
mod prune;
mod python;
mod registry;
mod rust;
mod unreachable_hosts;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::{CancellationToken, file, tree};
use fairlead_fetch::{FetchClient, FetchError};
use fairlead_model::Failure;
use tokio::sync::Mutex;

use crate::version::{SemVer, VersionRange, nearest};
use fairlead_inspect::{Tool, VersionRequest};
use unreachable_hosts::UnreachableHosts;

pub use mirrors::{Mirrors, is_usable};

/// Programs that serve static sites: the agent itself. An agent that can't serve fallback pages does not know the second.
const SITE: &str = "site@1";
const SITE_WITH_FALLBACK: &str = "site@2";
const SITE_PROGRAM: &str = "fairlead-agent";

/// Why a program isn't there. Every one is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// No source has it.
    #[error("{0}")]
    Unknown(String),
    /// The source can't be used.
    #[error(
        "The server could not get {name}: {source}. Let it reach that host, set a mirror for it, or install the program on the server."
    )]
    Fetch {
        /// Requested tool and version.
        name: String,
        /// Cause of the failed download.
        #[source]
        source: FetchError,
    },
    /// It is not what it should be.
    #[error("The package of {name} can't be used: {why}.")]
    Package {
        /// Requested tool and version.
        name: String,
        /// Defect of the package.
        why: String,
    },
    /// The data folder can't be read or written.
    #[error("The server could not keep {name} ({source}). Free some space on it, then deploy again.")]
    Disk {
        /// Requested tool and version.
        name: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The build was cancelled.
    #[error("It was cancelled.")]
    Cancelled,
}

impl ToolchainError {
    /// Returns the unreachable host if that is the cause; it may have the requested version.
    pub(crate) fn unreachable(&self) -> Option<&str> {
        match self {
            Self::Fetch { source, .. } if source.is_passing() => source.host(),
            _ => None,
        }
    }

    /// As a rollout reports it.
    pub fn failure(&self) -> Failure {
        Failure { code: "rollout.toolchain_missing".to_owned(), message: self.to_string() }
    }
}

/// A toolchain that satisfies a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolchainVersion {
    /// Like `node@24.4.1`.
    pub(crate) name: String,
    /// `None` of a nightly.
    pub(crate) version: Option<SemVer>,
}

impl ToolchainVersion {
    fn new(tool: Tool, version: SemVer) -> Self {
        Self { name: format!("{}@{version}", tool.name()), version: Some(version) }
    }
}

/// The programs that this data folder keeps.
#[derive(Debug, Clone)]
pub struct Toolchains {
    folder: PathBuf,
    client: FetchClient,
    mirrors: Mirrors,
    /// The agent's own program.
    agent: PathBuf,
    /// Two that want the same one wait for each other.
    turn: Arc<Mutex<()>>,
    unreachable_hosts: UnreachableHosts,
}

impl Toolchains {
    /// `agent` is the agent's own program.
    pub fn new(folder: PathBuf, agent: PathBuf, client: FetchClient, mirrors: Mirrors) -> Self {
        Self { folder, client, mirrors, agent, turn: Arc::default(), unreachable_hosts: UnreachableHosts::default() }
    }

    /// Returns the path at which builds and apps see a path of the store.
    pub(crate) fn visible(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// Folder that holds them all.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes sure that one is there, by a name like `node@24.4.1`; the folder of its programs.
    pub async fn ensure(&self, name: &str, cancel: &CancellationToken) -> Result<PathBuf, ToolchainError> {
        let unknown = || {
            ToolchainError::Unknown(format!(
                "The runtime `{name}` is not known to this agent. Upgrade the agent, then deploy again."
            ))
        };
        let folder = self.folder.join(name);
        let _turn = self.turn.lock().await;
        if is_site(name) {
            return self.site(&folder).map_err(disk(name));
        }
        let (tool, of_tool) = name.split_once('@').ok_or_else(unknown)?;
        let tool = Tool::ALL.into_iter().find(|known| known.name() == tool).ok_or_else(unknown)?;
        // Names come over the wire and become paths.
        let version = SemVer::parse(of_tool).filter(|parsed| parsed.to_string() == of_tool);
        if version.is_none() && !(tool == Tool::Rust && rust::is_nightly(of_tool)) {
            return Err(unknown());
        }
        let programs = folder.join("bin");
        if programs.join(tool.program()).exists() {
            prune::touch(&folder).map_err(disk(name))?;
            return Ok(programs);
        }
        let package = match version {
            Some(version) if tool != Tool::Rust => self.package(tool, version).await?,
            _ => self.rust_package(of_tool).await?,
        };
        let partial = self.folder.join(format!("{name}.partial"));
        tree::remove(&partial).and_then(|()| fs::create_dir(&partial)).map_err(disk(name))?;
        let made = self.make(tool, package, name, &partial, cancel).await;
        tree::remove(&partial).map_err(disk(name))?;
        made.map(|()| programs)
    }

    /// Fetches and unpacks below `partial`; the folder of the toolchain only ever appears whole.
    async fn make(
        &self,
        tool: Tool,
        package: registry::ToolchainPackage,
        name: &str,
        partial: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), ToolchainError> {
        let mut archives = Vec::new();
        for (index, piece) in package.pieces.iter().enumerate() {
            let archive = partial.join(format!("archive-{index}"));
            self.fetch_piece(name, piece, archive::BYTES_MAX, &archive, cancel).await?;
            archives.push(archive);
        }
        let (into, folder, name) = (partial.join("tree"), self.folder.join(name), name.to_owned());
        let home = self.visible(&folder);
        let unpacked = tokio::task::spawn_blocking(move || {
            archive::unpack(tool, &package, &archives, &into, &home)
                .map_err(|why| ToolchainError::Package { name: name.clone(), why })?;
            (|| {
                rustix::fs::syncfs(fs::File::open(&into)?)?;
                tree::remove(&folder)?;
                fs::rename(&into, &folder)?;
                file::sync_folder(&folder)
            })()
            .map_err(disk(&name))
        });
        unpacked.await.unwrap_or_else(|error| Err(disk("it")(io::Error::other(error))))
    }

    /// Fetches from the first of its addresses that can be reached.
    async fn fetch_piece(
        &self,
        name: &str,
        piece: &registry::Piece,
        bytes_max: u64,
        to: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), ToolchainError> {
        let digest = match &piece.proof {
            registry::Proof::Digest(digest) => Some(digest),
            // The sum covers the contents: unpacking proves it.
            registry::Proof::GoSum(_) => None,
        };
        let mut urls = piece.urls.iter().peekable();
        while let Some(url) = urls.next() {
            let what = fairlead_fetch::Receive { url, token: "", bytes_max };
            let host = url.split('/').nth(2).unwrap_or(url);
            let client =
                if self.unreachable_hosts.contains(host) { &self.client.without_retries() } else { &self.client };
            let done = client.file(what, digest, to, cancel).await;
            self.unreachable_hosts.record(host, matches!(done, Err(FetchError::Unreachable { .. })));
            match done {
                Err(error) if error.is_passing() && urls.peek().is_some() => {
                    tracing::info!(name, %error, "the next address is tried");
                }
                done => return done.map_err(fetch(name)),
            }
        }
        Err(ToolchainError::Unknown(format!("There is no address to fetch {name} from. Set a mirror for it.")))
    }

    /// Chooses a version for a request: one of its source, or one of the store if the source can't be reached.
    pub(crate) async fn choose(
        &self,
        tool: Tool,
        wanted: Option<&VersionRequest>,
        node: Option<SemVer>,
    ) -> Result<ToolchainVersion, ToolchainError> {
        let (text, said) = match wanted {
            None => ("*", String::new()),
            Some(VersionRequest { range, source, .. }) => (range.as_str(), format!(" {range} of {source}")),
        };
        if tool == Tool::Rust {
            return match self.rust_release(text, &said).await {
                Ok(of_tool) => {
                    Ok(ToolchainVersion { name: format!("rust@{of_tool}"), version: SemVer::parse(&of_tool) })
                }
                Err(error) => self.newest_installed(tool, wanted, error),
            };
        }
        let range = VersionRange::parse(text).ok_or_else(|| {
            let example = if tool == Tool::Python { "3.13 or 3.13.5" } else { "22 or 22.11.0" };
            ToolchainError::Unknown(format!("The version{said} is not valid. Write it as numbers, such as {example}."))
        })?;
        if let Some(version) = range.only()
            && self.has(tool, &version.to_string())
        {
            return Ok(ToolchainVersion::new(tool, version));
        }
        // A list of Python builds is made in the store.
        let turn = self.turn.lock().await;
        let versions = self.versions(tool, node).await;
        drop(turn);
        let versions = match versions {
            Err(error) => return self.newest_installed(tool, wanted, error),
            Ok(versions) => versions,
        };
        let fitting = versions.iter().copied().filter(|version| range.has(*version));
        let usual = is_usual(tool, &versions);
        let supported = fitting.clone().filter(|version| usual(*version)).max();
        let version = supported.or_else(|| fitting.max()).ok_or_else(|| {
            let source = wanted.map_or("its version", |wanted| wanted.source.as_str());
            let near: Vec<String> =
                nearest(&versions, range.lowest(), line(tool)).iter().map(SemVer::to_string).collect();
            ToolchainError::Unknown(format!(
                "There is no {}{said} for this server. Available versions are, for example, {}: change {source}.",
                label(tool),
                near.join(", ")
            ))
        })?;
        Ok(ToolchainVersion::new(tool, version))
    }

    /// Returns the newest installed version that satisfies the request, if its source can't be reached; else the error.
    pub(crate) fn newest_installed(
        &self,
        tool: Tool,
        wanted: Option<&VersionRequest>,
        error: ToolchainError,
    ) -> Result<ToolchainVersion, ToolchainError> {
        let ToolchainError::Fetch { source, .. } = &error else { return Err(error) };
        let range = range(tool, wanted.map_or("*", |wanted| wanted.range.as_str()));
        match range.and_then(|range| self.newest_here(tool, &range)) {
            Some(version) => {
                tracing::warn!(tool = tool.name(), %source, "a source can't be reached; what is here is used");
                Ok(ToolchainVersion::new(tool, version))
            }
            None => Err(error),
        }
    }

    fn has(&self, tool: Tool, of_tool: &str) -> bool {
        self.folder.join(format!("{}@{of_tool}", tool.name())).join("bin").join(tool.program()).exists()
    }

    fn newest_here(&self, tool: Tool, range: &VersionRange) -> Option<SemVer> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let versions = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let of_tool = name.strip_prefix(tool.name())?.strip_prefix('@')?;
            SemVer::parse(of_tool).filter(|_| self.has(tool, of_tool))
        });
        versions.filter(|version| range.has(*version)).max()
    }

    /// A copy of this agent by a name that stays while agents come and go.
    fn site(&self, folder: &Path) -> io::Result<PathBuf> {
        let programs = folder.join("bin");
        let program = programs.join(SITE_PROGRAM);
        let (own, there) = (fs::metadata(&self.agent)?, fs::metadata(&program));
        if there.is_ok_and(|there| there.len() == own.len() && there.modified().ok() >= own.modified().ok()) {
            return Ok(programs);
        }
        fs::create_dir_all(&programs)?;
        for path in [folder, &programs] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755))?;
        }
        let beside = programs.join(format!("{SITE_PROGRAM}.new"));
        fs::copy(&self.agent, &beside)?;
        fs::set_permissions(&beside, PermissionsExt::from_mode(0o755))?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(&beside, &program)?;
        file::sync_folder(&program)?;
        Ok(programs)
    }
}

/// Versions that a request allows; `None`: no released version, or it is not understood.
pub(crate) fn range(tool: Tool, text: &str) -> Option<VersionRange> {
    if tool == Tool::Rust { rust::range(text) } else { VersionRange::parse(text) }
}

/// Reports whether a version is of a line that is taken unless another is asked for: of Node one with long support, which has an
/// even number; of Python not the newest minor version, for which packages often have no builds yet.
fn is_usual(tool: Tool, versions: &[SemVer]) -> impl Fn(SemVer) -> bool + use<> {
    let newest = versions.iter().max().copied();
    move |version| match tool {
        Tool::Node => version.0 % 2 == 0,
        Tool::Python => newest.is_none_or(|newest| (version.0, version.1) < (newest.0, newest.1)),
        _ => true,
    }
}

/// Versions of one line get fixes only.
fn line(tool: Tool) -> fn(SemVer) -> (u64, u64) {
    match tool {
        Tool::Python | Tool::Go | Tool::Rust => |version| (version.0, version.1),
        _ => |version| (version.0, 0),
    }
}

/// Returns the name of a tool that users see.
pub(crate) fn label(tool: Tool) -> &'static str {
    match tool {
        Tool::Node => "Node",
        Tool::Bun => "Bun",
        Tool::Deno => "Deno",
        Tool::Python => "Python",
        Tool::Go => "Go",
        Tool::Rust => "Rust",
        other => other.name(),
    }
}

/// Toolchain that serves a static site.
pub(crate) fn site_toolchain(has_fallback: bool) -> String {
    if has_fallback { SITE_WITH_FALLBACK.to_owned() } else { SITE.to_owned() }
}

fn is_site(name: &str) -> bool {
    [SITE, SITE_WITH_FALLBACK].contains(&name)
}

fn disk(name: &str) -> impl Fn(io::Error) -> ToolchainError {
    move |source| ToolchainError::Disk { name: name.to_owned(), source }
}

fn fetch(name: &str) -> impl Fn(FetchError) -> ToolchainError {
    move |source| match source {
        FetchError::Cancelled => ToolchainError::Cancelled,
        FetchError::File(source) => ToolchainError::Disk { name: name.to_owned(), source },
        source => ToolchainError::Fetch { name: name.to_owned(), source },
    }
}

#[cfg(test)]
mod tests;
