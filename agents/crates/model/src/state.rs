//! Desired state as one value: parsed once at the border, then trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    AppId, AppKey, AppTraffic, BenchmarkPlan, DeploymentId, EnvironmentId, ProxySettings, Redirect, ReleaseId,
    RoutePolicy, SealedSecrets, ServerId,
};

/// A version of desired state; ordered by epoch, then number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Version {
    /// Grows when an operator restores the control plane from a backup.
    pub epoch: u32,
    /// Grows with every change.
    pub number: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}

/// Everything one server should do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredState {
    /// This state's version.
    pub version: Version,
    /// The server it is for.
    pub server: ServerId,
    /// Capabilities the agent must have to apply it.
    pub requires: Vec<String>,
    /// Apps by key.
    pub apps: BTreeMap<AppKey, AppSpec>,
    /// Routes; no two have the same host and path prefix.
    pub routes: Vec<Route>,
    /// Builds to do once.
    pub builds: BTreeMap<DeploymentId, BuildSpec>,
    /// Benchmark runs to do once.
    pub benchmarks: Vec<BenchmarkPlan>,
    /// What holds for the whole proxy.
    pub proxy: ProxySettings,
    /// Artifacts that pruning leaves, beside those of live releases.
    #[serde(default)]
    pub kept_artifacts: BTreeSet<String>,
    /// Volumes to delete: their delay has passed.
    #[serde(default)]
    pub deleted_volumes: Vec<VolumeKey>,
    /// The agent that should run here; none: the one that does.
    #[serde(default)]
    pub agent: Option<AgentRelease>,
}

/// A persistent folder of an app in one environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VolumeKey {
    /// Whose it is.
    pub key: AppKey,
    /// Lower-case letters, digits and `-`.
    pub name: String,
}

/// An agent's program in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRelease {
    /// Like `0.3.0`.
    pub version: String,
    /// `sha256:<hex>` of the program.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// Grows with every request: a program that failed is tried again only by a newer one.
    pub attempt: u32,
}

/// An app as it should live on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppSpec {
    /// App and environment.
    pub key: AppKey,
    /// The app's name, for people.
    pub name: String,
    /// The last known good release.
    pub live: Option<ReleaseSpec>,
    /// The release to roll out beside it.
    pub candidate: Option<Rollout>,
    /// Copies to run, at least one.
    pub instances: u32,
    /// How requests reach them.
    pub traffic: AppTraffic,
    /// How `instances` follows the load; none: it does not.
    #[serde(default)]
    pub scale: Option<Scale>,
}

/// Bounds and aims of automatic scaling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Zero: all may sleep; the first request wakes one.
    pub instances_min: u32,
    /// At least one.
    pub instances_max: u32,
    /// Without requests for so long, down to the minimum.
    pub idle_timeout: Duration,
    /// Exchanges in flight an instance should have; zero: not looked at.
    pub in_flight_target: u32,
    /// CPU an instance should use, 1000 = one core; zero: not looked at.
    pub cpu_millis_target: u32,
    /// How long a request waits for an app that sleeps.
    #[serde(default = "wake_timeout")]
    pub wake_timeout: Duration,
}

/// Of which nothing is said. Browsers and most clients wait longer.
fn wake_timeout() -> Duration {
    Duration::from_secs(30)
}

/// A release to be made live by one deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// The deployment that asked.
    pub deployment: DeploymentId,
    /// What to run.
    pub release: ReleaseSpec,
    /// Time from start to healthy.
    pub health_timeout: Duration,
    /// Instances replaced at a time; zero: all at once beside the old ones.
    #[serde(default)]
    pub batch: u32,
    /// A share of the requests tries the new instances first.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// Run to its end before the first new instance starts.
    #[serde(default)]
    pub release_command: Option<Hook>,
    /// Run to its end once all are live.
    #[serde(default)]
    pub after_command: Option<Hook>,
}

/// How a roll-out is tried on a share of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Of the requests, ascending, 1 to 99.
    pub percents: Vec<u32>,
    /// How long each is watched.
    pub hold: Duration,
    /// So many failed of 1000 more than with the old release end the roll-out.
    pub errors_permille_max: u32,
    /// A p99 beyond so many permille of the old release's ends the roll-out; zero: not looked at.
    pub p99_permille_max: u32,
    /// Fewer requests decide nothing.
    pub requests_min: u32,
}

/// A program of the release, run once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Limit of its run.
    pub timeout: Duration,
}

/// How to run one release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSpec {
    /// The release.
    pub id: ReleaseId,
    /// Its number in its app.
    pub number: u64,
    /// `sha256:<hex>` of the artifact.
    pub artifact_digest: String,
    /// Program and arguments; the program is looked up in the app's PATH.
    pub command: Vec<String>,
    /// Variables beside those the agent sets (`PORT`, `HOME`, `PATH`).
    pub environment: BTreeMap<String, String>,
    /// When it counts as healthy.
    pub health: HealthCheck,
    /// How long exchanges in flight may take after the switch.
    pub drain_timeout: Duration,
    /// SIGTERM to SIGKILL.
    pub stop_grace: Duration,
    /// Memory limit in bytes; zero for none.
    pub memory_bytes_max: u64,
    /// Beside its environment, what nobody may read; sealed.
    #[serde(default)]
    pub secrets: Option<SealedSecrets>,
    /// What the artifact is.
    #[serde(default)]
    pub artifact_kind: ArtifactKind,
    /// Beside `command`, which is the process `web`: processes without a port.
    #[serde(default)]
    pub workers: Vec<ProcessSpec>,
    /// Asked for as long as an instance runs.
    #[serde(default)]
    pub liveness: Option<HealthCheck>,
    /// 1000 = one core; zero for none.
    #[serde(default)]
    pub cpu_millis_max: u32,
    /// Zero for the agent's own limit.
    #[serde(default)]
    pub processes_max: u32,
    /// What it needs of runtimes, like `node@24.4.1`.
    #[serde(default)]
    pub toolchains: Vec<String>,
    /// Persistent folders.
    #[serde(default)]
    pub volumes: Vec<VolumeMount>,
    /// It has a Unix socket instead of a port; never an image.
    #[serde(default)]
    pub listens_on_socket: bool,
    /// Lets the app connect to private addresses (RFC 1918, RFC 6598, RFC 4193).
    #[serde(default)]
    pub private_network: bool,
    /// Ports of the server that the app reaches at the same address; at most 16, without duplicates.
    #[serde(default)]
    pub server_ports: Vec<SocketAddr>,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactKind {
    /// An archive of a folder.
    #[default]
    Archive,
    /// An image of the container engine.
    Image,
}

/// A process of an app that gets no port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// Lower-case letters, digits and `-`; never `web`.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Copies to run.
    pub instances: u32,
    /// Memory limit in bytes; zero for none.
    pub memory_bytes_max: u64,
    /// 1000 = one core; zero for none.
    pub cpu_millis_max: u32,
    /// Runs on while its app sleeps.
    #[serde(default)]
    pub stays_awake: bool,
}

/// Where an app finds a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeMount {
    /// The volume, of the app in its environment.
    pub name: String,
    /// Absolute; where a container sees it.
    pub path: String,
}

/// When an instance counts as healthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// HTTP path that must answer 2xx or 3xx; empty: a TCP connect is enough.
    pub path: String,
    /// Pause between attempts.
    pub interval: Duration,
    /// Limit of one attempt.
    pub timeout: Duration,
    /// Instead of a path: a program of the release that must end with 0; empty: none.
    #[serde(default)]
    pub command: Vec<String>,
}

/// Host and path prefix to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Lower-case host name, without port; with a first label `*` all names below it.
    pub host: String,
    /// Starts with `/`.
    pub path_prefix: String,
    /// Where it leads.
    pub target: RouteTarget,
    /// What happens to its requests.
    pub policy: RoutePolicy,
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteTarget {
    /// An app on this server.
    App(AppKey),
    /// The control plane on this server, by the name of its Unix socket: `web` or `gateway`.
    ControlSocket(String),
    /// Somewhere else.
    Redirect(Redirect),
}

/// A build to do once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSpec {
    /// The deployment it is for.
    pub deployment: DeploymentId,
    /// The app.
    pub app: AppId,
    /// `https://` or `http://`, without credentials.
    pub repository_url: String,
    /// Branch, tag or full commit hash; empty for the repository's default branch.
    pub git_ref: String,
    /// Relative folder inside the repository; empty for the top.
    pub root_folder: String,
    /// Limit of the whole build.
    pub timeout: Duration,
    /// For what environment; none with a control plane before 0.3.
    #[serde(default)]
    pub environment: Option<EnvironmentId>,
    /// How it is made.
    #[serde(default)]
    pub builder: Builder,
    /// What a person set instead of what is detected.
    #[serde(default)]
    pub overrides: BuildOverrides,
    /// With `Builder::Image`: a reference with a tag or a digest.
    #[serde(default)]
    pub image: String,
    /// An uploaded folder instead of a repository: `sha256:<hex>` of a tar.gz in the artifact store.
    #[serde(default)]
    pub upload_digest: Option<String>,
    /// Whether to begin with an empty cache.
    #[serde(default)]
    pub without_cache: bool,
    /// Bounds; zero each: the agent's own.
    #[serde(default)]
    pub limits: BuildLimits,
    /// For build commands.
    #[serde(default)]
    pub secrets: Option<SealedSecrets>,
    /// What opens the source; build commands never see them.
    #[serde(default)]
    pub credentials: Option<SealedSecrets>,
    /// For build commands, and for a Dockerfile that declares them with `ARG`.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Commands that the app's settings add to those of the plan, a line each. A build keeps the packages that they name.
    #[serde(default)]
    pub run_commands: Vec<String>,
}

/// How a source becomes an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Builder {
    /// By what the source holds.
    #[default]
    Detected,
    /// By the runtime's own tools.
    Native,
    /// By a Dockerfile.
    Dockerfile,
    /// By nothing: an image that exists.
    Image,
}

/// What replaces what a builder detects; empty: detected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildOverrides {
    /// Installs dependencies.
    pub install: Vec<String>,
    /// Builds.
    pub build: Vec<String>,
    /// Starts the app.
    pub start: Vec<String>,
    /// Of a static site, the folder to serve, relative.
    pub output_folder: String,
    /// Relative to the root folder.
    pub dockerfile: String,
}

/// What a build may use at most; zero: the agent's own bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildLimits {
    /// Of all its processes.
    pub memory_bytes: u64,
    /// 1000 = one core.
    pub cpu_millis: u32,
    /// Of its folder.
    pub disk_bytes: u64,
}

/// Why a desired state can't be used. The agent refuses the whole and keeps what it has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A field is missing or not of its form.
    #[error("{field}: {reason}")]
    Field {
        /// Path of the field, like `apps[2].live.command`.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It asks for what this agent can't do.
    #[error("this agent lacks `{capability}`: upgrade the agent")]
    Capability {
        /// The capability it lacks.
        capability: String,
    },
    /// It is for another server.
    #[error("the state is for server {found}, this one is {expected}")]
    Server {
        /// Whose it is.
        found: String,
        /// Who this is.
        expected: ServerId,
    },
    /// It is not newer than what was accepted before.
    #[error("version {found} is older than {current}, which this agent has")]
    Older {
        /// The version offered.
        found: Version,
        /// The version held.
        current: Version,
    },
    /// Its signature is not by a pinned key.
    #[error("the signature by key `{key_id}` is not valid")]
    Signature {
        /// The key it names.
        key_id: String,
    },
}
