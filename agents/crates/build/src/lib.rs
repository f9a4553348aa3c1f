//! Builds an artifact from a source (clone, detect, install, build, pack), and unpacks artifacts.
//! Invariants: no command runs through a shell or as root, and paths from a repository or an archive are untrusted.

mod as_user;
mod build;
mod build_folders;
mod command;
mod command_paths;
mod compress;
mod confine;
mod container;
mod context;
mod diagnose;
mod dockerfile;
mod error;
mod git;
mod inspection;
mod leftover_processes;
mod line_splitter;
mod native;
mod pack;
mod packed_tree;
mod plan_reader;
mod secrets;
mod size;
mod source_keys;
mod store;
mod toolchain;
mod unpack;
mod upload;
mod version;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::Trash;
use fairlead_base::cgroup::Cgroups;
use fairlead_engine::Engine;
use fairlead_model::{Artifact, BuildLimits, Commit, LogLine, StepStatus};
use fairlead_network::OwnNetwork;
use fairlead_secret::{Redactor, SealingKey};

pub use as_user::as_user;
pub use build::{build, clear_abandoned};
pub use build_folders::{cache_name, repository_name};
pub use container::{prune_images, remove_images};
pub use error::BuildError;
pub use inspection::{Inspection, inspect_source};
pub use packed_tree::{clear_trees, has_tree};
pub use plan_reader::ReadingError;
pub use store::{Store, TransferError};
pub use toolchain::{Mirrors, ToolchainError, Toolchains, is_usable};
pub use unpack::{UnpackError, unpack};

/// Folders, user, limits and services of builds.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Working folders, one a deployment; gone when the build ends.
    pub builds: PathBuf,
    /// Packed artifacts by digest.
    pub artifacts: PathBuf,
    /// Caches for the next build, one folder per app and environment.
    pub caches: PathBuf,
    /// Takes the folders that nothing uses any more.
    pub trash: Trash,
    /// User and group of everything that runs; `None`: those of the agent.
    pub user: Option<u32>,
    /// The agent's own binary; its `inspect` subcommand reads repositories.
    pub program: PathBuf,
    /// `PATH` of everything that runs.
    pub path: OsString,
    /// Variables from the agent's environment, see `inherited_environment`.
    pub environment: BTreeMap<String, String>,
    /// Default limits of a build; zero memory or CPU for none.
    pub limits: BuildLimits,
    /// Parent of the control groups of builds.
    pub cgroups: Cgroups,
    /// Network of each build's commands, and whether it reaches private networks; `None`: they share the server's. Sources are cloned
    /// in the server's network: git runs no program of a repository.
    pub network: Option<(OwnNetwork, bool)>,
    /// Store that downloads missing programs; `None`: builds use only the server's own.
    pub toolchains: Option<Toolchains>,
    /// For Dockerfiles and images.
    pub engine: Option<Engine>,
    /// Owner in the names of images that builds create; unique among the agents of this machine.
    pub image_owner: String,
    /// Artifact store that uploaded sources come from.
    pub store: Option<Store>,
    /// Key that decrypts secrets.
    pub sealing: Option<Arc<SealingKey>>,
    /// Redacts secrets from the log, before its lines are cut.
    pub redactor: Option<Redactor>,
}

/// Artifact of a build and the commit that it was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildOutcome {
    /// The commit it was pinned to; none of an upload or an image.
    pub commit: Option<Commit>,
    pub artifact: Artifact,
}

/// Hears of a build while it runs. Must not block.
pub trait BuildSink: Send + Sync {
    /// A line of the log.
    fn line(&mut self, line: LogLine);
    /// A step that began or ended.
    fn step(&mut self, step: StepStatus);
    /// The commit was pinned.
    fn commit(&mut self, commit: &Commit);
}

/// Returns the path of the artifact with a digest; `None` unless the digest is `sha256:<64 hex digits>`.
pub fn artifact_path(artifacts: &Path, digest: &str) -> Option<PathBuf> {
    let hex = digest.strip_prefix("sha256:")?;
    let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    valid.then(|| artifacts.join(format!("{hex}.tar.zst")))
}

/// Returns the agent's own variables that builds need for network access: proxies, authorities and registries.
pub fn inherited_environment() -> BTreeMap<String, String> {
    const NAMES: [&str; 18] = [
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO",
        "GOPROXY",
        "PIP_INDEX_URL",
        "UV_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "GOSUMDB",
        "RUSTUP_HOME",
        "NPM_CONFIG_REGISTRY",
        "npm_config_registry",
    ];
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// Bounds of builds that name none: what lets the server's apps live beside them.
pub fn usual_limits(server_memory_bytes: u64) -> BuildLimits {
    let memory_bytes = (server_memory_bytes / 4 * 3).max(512 << 20);
    BuildLimits { memory_bytes_max: memory_bytes, cpu_millis_max: 0, disk_bytes_max: 20 << 30 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_that_could_leave_the_folder_of_artifacts_has_no_path() {
        let folder = Path::new("/a");
        let hex = "0".repeat(64);
        assert_eq!(artifact_path(folder, &format!("sha256:{hex}")), Some(folder.join(format!("{hex}.tar.zst"))));
        for bad in ["", "sha256:", "sha256:../x", &format!("md5:{hex}"), &format!("sha256:{}", "G".repeat(64))] {
            assert_eq!(artifact_path(folder, bad), None, "{bad}");
        }
    }
}
