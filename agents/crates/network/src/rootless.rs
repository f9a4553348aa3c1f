//! Network namespaces of apps under a rootless agent: `pasta` (package passt) connects them, and nftables in each
//! namespace refuses what apps may not reach. Invariant: an app has no capability in its user namespace and can't change the rules.

mod capabilities;
mod connector;
mod namespace;
mod rules;
mod server;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use capabilities::drop_all;
pub use connector::connect;
pub use namespace::{RootlessNamespace, join_user_and_network};

use crate::PublicPorts;

/// Folders of programs beside those of `PATH`.
const SYSTEM_PROGRAMS: [&str; 3] = ["/usr/bin", "/usr/sbin", "/sbin"];

/// Factory of networks without root. Exists only on a server that can make them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootlessNetwork {
    pasta: PathBuf,
    nft: PathBuf,
    ports: PublicPorts,
}

/// Connection of a namespace to the server's network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootlessLink {
    /// Program that connects it.
    pub pasta: PathBuf,
    /// Program that installs its rules.
    pub nft: PathBuf,
    /// Reaches private networks too.
    pub private: bool,
    /// Ports of the server that all apps reach.
    pub ports: PublicPorts,
}

impl RootlessNetwork {
    /// Finds the programs, and makes one network by the subcommand `shim` of `program`. The error ends a sentence after "because".
    pub fn open(program: &Path, ports: &PublicPorts) -> Result<Self, String> {
        if rustix::process::geteuid().is_root() {
            return Err("the agent runs as root".to_owned());
        }
        let find = |name, package| {
            find(name).ok_or_else(|| {
                format!("the agent does not run as root, and `{name}` is not installed (package {package})")
            })
        };
        let network = Self { pasta: find("pasta", "passt")?, nft: find("nft", "nftables")?, ports: ports.clone() };
        let order = serde_json::to_string(&network.link(false)).map_err(|error| error.to_string())?;
        // Only a process with one thread can make a user namespace (unshare(2)).
        let tried = Command::new(program).args(["shim", "--try-network", &order]).env_clear().current_dir("/").output();
        let tried = tried.map_err(|error| format!("{} can't be run ({error})", program.display()))?;
        if tried.status.success() {
            return Ok(network);
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        let reason = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        Err(format!("the agent does not run as root, and a network without root can't be made here ({reason})"))
    }

    /// Describes the connection of an app's network.
    pub fn link(&self, private: bool) -> RootlessLink {
        let Self { pasta, nft, ports } = self.clone();
        RootlessLink { pasta, nft, private, ports }
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_PROGRAMS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(OsStr::new(name))).find(|program| program.is_file())
}
