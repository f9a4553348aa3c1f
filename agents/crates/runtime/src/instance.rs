//! Files of an instance: `spec.json` describes what to run, `exit.json` how it ended. Invariant: a newer agent must
//! still read these formats. Never starts anything.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::file;
use fairlead_model::{AppKey, DeploymentId, HealthCheck, InstanceId, ReleaseId, UpstreamAddress};
use fairlead_network::{DeviceLink, RootlessLink};
use serde::{Deserialize, Serialize};

use crate::layer::LayerKind;
use crate::rollout::{Exit, HookKind};
use fairlead_base::cgroup::Cgroup;

/// Specification of an instance: the shim needs it to run the instance, and a restarted agent to recognize it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSpec {
    pub instance: InstanceId,
    /// App and environment that the instance belongs to.
    pub key: AppKey,
    /// Process of the app; only `web` has a port.
    #[serde(default = "web")]
    pub process: String,
    /// Release that the instance runs.
    pub release: ReleaseId,
    /// Deployment that it was started for.
    pub deployment: Option<DeploymentId>,
    /// Program and arguments; a program without a slash is searched in `PATH` of `environment`.
    pub command: Vec<String>,
    /// Complete environment of the app.
    pub environment: BTreeMap<String, String>,
    /// Working directory of its command.
    pub folder: PathBuf,
    /// Own root file system; `None`: it sees the server's, and `folder` is its release.
    #[serde(default)]
    pub view: Option<ViewSpec>,
    /// Port that it should listen on.
    pub port: u16,
    /// Own network; `None` if it shares the server's.
    #[serde(default)]
    pub network: Option<NetworkSpec>,
    /// Unix socket that it should listen on, instead of a port.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// User and group that it runs as; `None`: those of the agent.
    pub user: Option<u32>,
    /// Group that may read its app's releases.
    #[serde(default)]
    pub group: Option<u32>,
    /// Folder that it sees as /tmp; `None`: the server's.
    pub private_tmp: Option<PathBuf>,
    /// Restrictions on files and system calls.
    #[serde(default)]
    pub sandbox: SandboxSpec,
    /// Secrets that it receives beside its environment; `None` if it has none.
    #[serde(default)]
    pub secrets: Option<SecretsSpec>,
    /// Folder of its log segments; `None`: its own folder, as with an agent of an older version.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Control group with its limits; `None` if the kernel supports none, and for a container, which the engine limits.
    pub cgroup: Option<Cgroup>,
    /// Container to run; `None` for a process of this server.
    #[serde(default)]
    pub container: Option<ContainerSpec>,
    /// True if it ends with the agent that started it: a copy of a release, which is no instance of the app.
    #[serde(default)]
    pub ends_with_agent: bool,
    /// Number of restarts before this start.
    pub restarts: u32,
    /// Kind of the rollout command, which runs once; `None` for an instance.
    #[serde(default)]
    pub hook: Option<HookKind>,
    /// Health check of its release.
    #[serde(alias = "health")]
    pub readiness_check: HealthCheck,
    /// Liveness check of its release.
    #[serde(default)]
    #[serde(alias = "liveness")]
    pub liveness_check: Option<HealthCheck>,
    /// Drain timeout of its release.
    pub drain_timeout: Duration,
    /// Grace of its release between SIGTERM and SIGKILL.
    #[serde(alias = "stop_grace")]
    pub stop_timeout: Duration,
}

impl InstanceSpec {
    /// Returns the upstream address of its socket, if it has one. The socket must belong to the instance's user.
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

/// Own root file system of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSpec {
    /// Folder of its release, shown at `/app` below its layer.
    pub release: PathBuf,
    /// Kind of the layer that it writes to.
    pub layer: LayerKind,
    pub folder: PathBuf,
    /// Folder of fetched runtimes, shown at `/runtimes`.
    pub runtimes: PathBuf,
}

/// Own network namespace of an instance. The shim makes that of a process, the engine that of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// Link to the outside.
    pub link: NetworkLink,
    /// Ports of the server that it may reach.
    pub server_ports: Vec<SocketAddr>,
    /// Unix socket at which its shim hands sockets over.
    pub handover: PathBuf,
    /// Folders of the agent that the instance sees empty. As the agent's own user, it could otherwise request sockets
    /// of other networks from shims.
    #[serde(default)]
    pub hidden: Vec<PathBuf>,
    /// File shown as /etc/resolv.conf; `None` for a container, which gets one from its engine.
    pub resolv_conf: Option<PathBuf>,
}

/// Link of a network namespace to the outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NetworkLink {
    /// Devices of the server, which only root can make.
    Devices(DeviceLink),
    /// `pasta`, without root.
    Rootless(RootlessLink),
}

/// Name of the process that has the port and the routes.
pub(crate) const WEB: &str = "web";

fn web() -> String {
    WEB.to_owned()
}

/// Limits on files and system calls; the default has none, as with an agent of an older version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Folder of its own /dev; `None` if it sees the server's.
    pub devices: Option<PathBuf>,
    /// True if its own /proc hides processes of others.
    #[serde(default)]
    pub own_processes: bool,
    /// True if it can open only what is below `readable` and `writable`.
    pub files: bool,
    /// Files and folders that it may read and run.
    pub readable: Vec<PathBuf>,
    /// Files and folders that it may also change.
    pub writable: Vec<PathBuf>,
    /// True if system calls that apps have no use for are refused.
    pub system_calls: bool,
    /// TCP ports that it may bind, beside those that the kernel picks; `None` means any.
    #[serde(default)]
    pub tcp_ports: Option<Vec<u16>>,
}

/// Reference to an instance's secrets. The secrets themselves are never written here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretsSpec {
    /// Version of the secrets.
    pub version: String,
    /// Folder with those of its secrets that are files, as the instance sees it.
    pub folder: Option<PathBuf>,
}

/// Container to run as an instance: what differs from a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSpec {
    /// Unix socket of its engine.
    pub socket: PathBuf,
    /// Owner label of this data folder's containers.
    pub owner: String,
    /// Id of the image.
    pub image: String,
    /// Memory limit without swap; zero means unlimited.
    pub memory_bytes: u64,
    /// CPU limit, 1000 = one core; zero means unlimited.
    pub cpu_millis: u32,
    /// Limit of processes; zero means the engine's default.
    pub processes: u32,
    /// Volumes: the folder on the server and the folders where the container sees it.
    pub volumes: Vec<(PathBuf, Vec<String>)>,
    /// Folder in memory for those of its secrets that are files.
    pub secrets: Option<PathBuf>,
}

/// State of a running container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerRecord {
    /// First process, by its number on this server.
    pub(crate) pid: u32,
    /// Address by which this server reaches it; none if it had ended before the query, listens nowhere, or is reached
    /// through its shim.
    #[serde(default)]
    pub(crate) host: Option<IpAddr>,
    /// Port that it should listen on; zero if it has none.
    pub(crate) port: u16,
}

/// Exit of an instance. Its shim writes it when no process of the instance is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// Exit code, if it ended by itself.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Reason why it never ran.
    pub start_error: Option<String>,
    /// True if it exceeded its memory limit.
    pub out_of_memory: bool,
    /// Time of the exit.
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

/// Paths and files of one instance.
#[derive(Debug, Clone)]
pub struct InstanceFolder(PathBuf);

impl InstanceFolder {
    /// Refers to the folder; creates nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of the app's log segments.
    pub fn log(&self, spec: &InstanceSpec) -> PathBuf {
        spec.log.clone().unwrap_or_else(|| self.0.join("log"))
    }

    /// Returns the folder that the app sees as /tmp.
    pub fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// Returns the layer for the files that it writes beside its code. Only the agent may open it.
    pub fn layer(&self) -> PathBuf {
        self.0.join("layer")
    }

    /// Returns the folder in which its root file system is put together.
    pub fn staging(&self) -> PathBuf {
        self.0.join("root")
    }

    /// Returns the path of its socket, which only the instance and the proxy may open.
    pub fn socket(&self) -> PathBuf {
        self.0.join("run/web")
    }

    /// Returns the Unix socket at which its shim hands sockets over, in a folder that the proxy may enter.
    pub fn handover(&self) -> PathBuf {
        self.0.join("net/s")
    }

    /// Returns the file that it sees as /etc/resolv.conf.
    pub fn resolv_conf(&self) -> PathBuf {
        self.0.join("resolv.conf")
    }

    /// Returns the folder for its own /dev.
    pub fn devices(&self) -> PathBuf {
        self.0.join("dev")
    }

    /// Returns the folder where it sees those of its secrets that are files; all others see it empty.
    pub fn secrets(&self) -> PathBuf {
        self.0.join("secrets")
    }

    /// Returns the marker file of a container that exceeded its memory limit.
    pub fn out_of_memory(&self) -> PathBuf {
        self.0.join("out-of-memory")
    }

    /// Returns the file in which the launcher reports why the program could not be started.
    pub fn start_error(&self) -> PathBuf {
        self.0.join("start-error")
    }

    /// Returns the log of the shim itself; empty unless something is wrong.
    pub fn shim_log(&self) -> PathBuf {
        self.0.join("shim.log")
    }

    /// Writes the spec and removes what an earlier process of the instance left.
    pub fn prepare(&self, spec: &InstanceSpec) -> io::Result<()> {
        remove_if_present(&self.exit_path())?;
        remove_if_present(&self.start_error())?;
        remove_if_present(&self.out_of_memory())?;
        remove_if_present(&self.container_record_path())?;
        file::replace(&self.spec_path(), &serde_json::to_vec_pretty(spec)?, 0o600)
    }

    /// Reads the spec; `None` if there is none.
    pub fn spec(&self) -> io::Result<Option<InstanceSpec>> {
        Ok(match file::read_if_present(&self.spec_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    /// Records the exit. The spec stays, so that the folder can be recognized as an instance's.
    pub fn write_exit(&self, record: &ExitRecord) -> io::Result<()> {
        file::replace(&self.exit_path(), &serde_json::to_vec(record)?, 0o600)
    }

    /// Reads the exit; `None` while the instance runs, or if its shim was killed.
    pub fn exit(&self) -> io::Result<Option<ExitRecord>> {
        Ok(match file::read_if_present(&self.exit_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    /// Records the running container.
    pub(crate) fn write_container_record(&self, container_record: &ContainerRecord) -> io::Result<()> {
        file::replace(&self.container_record_path(), &serde_json::to_vec(container_record)?, 0o600)
    }

    /// Reads the running container; `None` before it runs, and for a process.
    pub(crate) fn container_record(&self) -> io::Result<Option<ContainerRecord>> {
        Ok(match file::read_if_present(&self.container_record_path())? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        })
    }

    fn container_record_path(&self) -> PathBuf {
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
