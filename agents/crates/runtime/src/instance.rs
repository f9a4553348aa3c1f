//! An instance's folder: `spec.json` says what to run and where what it says is kept, `exit.json` how it ended.
//! Owns these formats, which a newer agent must still read. Never starts anything.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::file;
use fairlead_model::{AppKey, DeploymentId, HealthCheck, InstanceId, ReleaseId, UpstreamAddress};
use fairlead_network::{Link, RootlessLink};
use serde::{Deserialize, Serialize};

use crate::layer::LayerKind;
use crate::rollout::{Exit, HookKind};
use fairlead_base::cgroup::Cgroup;

/// What a shim needs to run one instance, and what a restarted agent needs to know it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSpec {
    /// The instance.
    pub instance: InstanceId,
    /// Whose it is.
    pub key: AppKey,
    /// Which process of it; only `web` has a port.
    #[serde(default = "web")]
    pub process: String,
    /// What it runs.
    pub release: ReleaseId,
    /// The deployment it was started for.
    pub deployment: Option<DeploymentId>,
    /// Program and arguments; a program without a slash is looked up in `PATH` of `environment`.
    pub command: Vec<String>,
    /// The app's whole environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub folder: PathBuf,
    /// Its own root file system; `None`: it sees the server's, and `folder` is its release.
    #[serde(default)]
    pub view: Option<ViewSpec>,
    /// The port it should listen on.
    pub port: u16,
    /// Its own network; `None`: it shares the server's.
    #[serde(default)]
    pub network: Option<NetworkSpec>,
    /// Instead of a port: the Unix socket it should listen on.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// User and group it runs as; `None`: those of the agent.
    pub user: Option<u32>,
    /// The group that may read its app's releases.
    #[serde(default)]
    pub group: Option<u32>,
    /// The folder it sees as /tmp; `None`: the server's.
    pub private_tmp: Option<PathBuf>,
    /// What its user could do and it can't.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// What it is given beside its environment; `None` for nothing.
    #[serde(default)]
    pub secrets: Option<SecretsSpec>,
    /// Where its segments go; `None`: into its own folder, as with an agent of an older version.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Its limits; `None` where the kernel gives none, and for a container, whose engine sets them.
    pub cgroup: Option<Cgroup>,
    /// It is a container, not a process of this server's own.
    #[serde(default)]
    pub container: Option<ContainerSpec>,
    /// How often it was restarted before this start.
    pub restarts: u32,
    /// It is a command of a rollout, run once; `None` for an instance.
    #[serde(default)]
    pub hook: Option<HookKind>,
    /// Of its release.
    pub health: HealthCheck,
    /// Of its release.
    #[serde(default)]
    pub liveness: Option<HealthCheck>,
    /// Of its release.
    pub drain_timeout: Duration,
    /// Of its release.
    pub stop_grace: Duration,
}

impl InstanceSpec {
    /// Its socket, if it has one, as the proxy asks it: of its own user alone.
    pub(crate) fn socket_address(&self) -> Option<UpstreamAddress> {
        let path = self.socket.clone()?;
        Some(match &self.network {
            Some(network) => UpstreamAddress::Namespace { handover: network.handover.clone(), address: None },
            None => UpstreamAddress::Unix { path, owner: self.user },
        })
    }

    /// Returns its address until a health check finds another one. A container passes its own port. If it shares the server's
    /// network, `owner` must listen there.
    pub(crate) fn assumed_address(&self, port: u16, owner: Option<u32>) -> UpstreamAddress {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        self.socket_address().unwrap_or_else(|| match &self.network {
            Some(network) => UpstreamAddress::Namespace { handover: network.handover.clone(), address: Some(address) },
            None => UpstreamAddress::Tcp { address, owner },
        })
    }
}

/// Root file system of an instance's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSpec {
    /// Folder of its release, which it sees at `/app` below its layer.
    pub release: PathBuf,
    /// Text that it writes there.
    pub layer: LayerKind,
    /// The instance's folder.
    pub folder: PathBuf,
    /// Fetched runtimes, which it sees at `/runtimes`.
    pub runtimes: PathBuf,
}

/// A network namespace of an instance's own. Its shim makes that of a process, the engine that of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// Way out of it.
    pub link: NetworkLink,
    /// Ports of the server that it may use.
    pub server_ports: Vec<SocketAddr>,
    /// Unix socket at which its shim hands sockets over.
    pub handover: PathBuf,
    /// Folders of the agent that it sees empty: as the agent's own user it could ask shims for sockets of other networks.
    #[serde(default)]
    pub hidden: Vec<PathBuf>,
    /// File that it sees as /etc/resolv.conf; `None` for a container, whose engine makes one.
    pub resolv_conf: Option<PathBuf>,
}

/// Way out of a network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NetworkLink {
    /// Devices of the server, which only root can make.
    Devices(Link),
    /// `pasta`, without root.
    Rootless(RootlessLink),
}

/// The process that has the port and the routes.
pub(crate) const WEB: &str = "web";

fn web() -> String {
    WEB.to_owned()
}

/// Limits on files and system calls; the default has none, as with an agent of an older version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Where its own /dev is made; `None`: it sees the server's.
    pub devices: Option<PathBuf>,
    /// Its own /proc shows it no processes of others.
    #[serde(default)]
    pub own_processes: bool,
    /// Only what is below `readable` and `writable` can be opened.
    pub files: bool,
    /// Files and folders it may read and run.
    pub readable: Vec<PathBuf>,
    /// Those it may also change.
    pub writable: Vec<PathBuf>,
    /// System calls that apps have no use for are refused.
    pub system_calls: bool,
    /// TCP ports that it may bind, beside those that the kernel picks; `None`: any.
    #[serde(default)]
    pub tcp_ports: Option<Vec<u16>>,
}

/// Which secrets an instance is given. They themselves are never written here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretsSpec {
    /// What is inside.
    pub version: String,
    /// The folder that it sees them in, if some are files.
    pub folder: Option<PathBuf>,
}

/// A container to run as an instance: what differs from a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSpec {
    /// Where its engine listens.
    pub socket: PathBuf,
    /// Whose containers it is one of: this data folder's.
    pub owner: String,
    /// The image, by its id.
    pub image: String,
    /// Without swap; zero for none.
    pub memory_bytes: u64,
    /// 1000 = one core; zero for none.
    pub cpu_millis: u32,
    /// Zero for the engine's default.
    pub processes: u32,
    /// Volumes: the folder here and the folders where it sees it.
    pub volumes: Vec<(PathBuf, Vec<String>)>,
    /// Where, in memory, those of its secrets that are files lie.
    pub secrets: Option<PathBuf>,
}

/// A container that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contained {
    /// Its first process, as this server counts.
    pub(crate) pid: u32,
    /// Address by which this server reaches it; none if it had ended before the query, listens nowhere, or is reached through its
    /// shim.
    #[serde(default)]
    pub(crate) host: Option<IpAddr>,
    /// Where it should listen; zero for what has no port.
    pub(crate) port: u16,
}

/// How an instance ended, written by its shim when nothing of it is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it never ran.
    pub start_error: Option<String>,
    /// Ended for using more than its memory limit.
    pub out_of_memory: bool,
    /// When.
    pub finished_unix_ms: u64,
}

impl From<ExitRecord> for Exit {
    fn from(record: ExitRecord) -> Self {
        Self {
            code: record.code,
            signal: record.signal,
            start_error: record.start_error,
            out_of_memory: record.out_of_memory,
            unopenable: false,
            unresponsive: false,
            layer: None,
            disk_full: false,
            port_refused: false,
            crash: None,
        }
    }
}

/// The files of one instance.
#[derive(Debug, Clone)]
pub struct InstanceFolder(PathBuf);

impl InstanceFolder {
    /// Names the folder; makes nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Segments of what the app wrote.
    pub fn log(&self, spec: &InstanceSpec) -> PathBuf {
        spec.log.clone().unwrap_or_else(|| self.0.join("log"))
    }

    /// What the app sees as /tmp.
    pub fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// Layer for the files that it writes beside its code; the agent's alone.
    pub fn layer(&self) -> PathBuf {
        self.0.join("layer")
    }

    /// Folder in which its root file system is put together.
    pub fn staging(&self) -> PathBuf {
        self.0.join("root")
    }

    /// Where it makes its socket: its own, and nobody else's but the proxy's.
    pub fn socket(&self) -> PathBuf {
        self.0.join("run/web")
    }

    /// Unix socket at which its shim hands sockets over, in a folder that the proxy may enter.
    pub fn handover(&self) -> PathBuf {
        self.0.join("net/s")
    }

    /// File that it sees as /etc/resolv.conf.
    pub fn resolv_conf(&self) -> PathBuf {
        self.0.join("resolv.conf")
    }

    /// Where its /dev is made.
    pub fn devices(&self) -> PathBuf {
        self.0.join("dev")
    }

    /// Where it sees those of its secrets that are files; empty for everybody else.
    pub fn secrets(&self) -> PathBuf {
        self.0.join("secrets")
    }

    /// There when a container ended for using more memory than it may.
    pub fn out_of_memory(&self) -> PathBuf {
        self.0.join("out-of-memory")
    }

    /// Where the launcher says why the program could not be started.
    pub fn start_error(&self) -> PathBuf {
        self.0.join("start-error")
    }

    /// What the shim itself has to say; empty unless something is wrong.
    pub fn shim_log(&self) -> PathBuf {
        self.0.join("shim.log")
    }

    /// Writes the spec and clears what an earlier process of the instance left.
    pub fn prepare(&self, spec: &InstanceSpec) -> io::Result<()> {
        remove_if_present(&self.exit_path())?;
        remove_if_present(&self.start_error())?;
        remove_if_present(&self.out_of_memory())?;
        remove_if_present(&self.contained_path())?;
        file::replace(&self.spec_path(), &serde_json::to_vec_pretty(spec)?, 0o600)
    }

    /// Reads the spec; `None` when there is none.
    pub fn spec(&self) -> io::Result<Option<InstanceSpec>> {
        Ok(match file::read_if_present(&self.spec_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    /// Records the end. The spec stays, so that the folder is known to be an instance's.
    pub fn write_exit(&self, record: &ExitRecord) -> io::Result<()> {
        file::replace(&self.exit_path(), &serde_json::to_vec(record)?, 0o600)
    }

    /// How it ended; `None` while it runs, or when its shim was killed.
    pub fn exit(&self) -> io::Result<Option<ExitRecord>> {
        Ok(match file::read_if_present(&self.exit_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    /// Records that the container runs.
    pub(crate) fn write_contained(&self, contained: &Contained) -> io::Result<()> {
        file::replace(&self.contained_path(), &serde_json::to_vec(contained)?, 0o600)
    }

    /// The container that runs; `None` before it does, and for a process.
    pub(crate) fn contained(&self) -> io::Result<Option<Contained>> {
        Ok(match file::read_if_present(&self.contained_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    fn contained_path(&self) -> PathBuf {
        self.0.join("container.json")
    }

    fn spec_path(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    fn exit_path(&self) -> PathBuf {
        self.0.join("exit.json")
    }
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
