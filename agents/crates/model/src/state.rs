//! Desired state of a server, parsed once at the border and trusted afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    AppId, AppKey, BenchmarkGate, BenchmarkPlan, CertificateSpec, DeploymentId, EncodedTraffic, EnvironmentId,
    ReleaseId, SealedSecrets, ServerId, VolumeTask,
};

/// Version of desired state; ordered by epoch, then number.
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

/// Desired state of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredState {
    pub version: Version,
    /// Server that this state is for.
    pub server: ServerId,
    /// Capabilities that the agent needs to apply this state.
    pub requires: Vec<String>,
    pub apps: BTreeMap<AppKey, AppSpec>,
    /// Routes; no two have the same host and path prefix.
    pub routes: Vec<Route>,
    /// Builds to run once.
    pub builds: BTreeMap<DeploymentId, BuildSpec>,
    /// Benchmark runs to run once.
    pub benchmarks: Vec<BenchmarkPlan>,
    /// Settings of the whole proxy.
    pub proxy: EncodedTraffic,
    /// Artifacts that pruning keeps, besides those of live releases.
    #[serde(default)]
    pub kept_artifacts: BTreeSet<String>,
    /// Volumes to delete now: their deletion delay has passed.
    #[serde(default)]
    pub deleted_volumes: Vec<VolumeKey>,
    /// Agent that should run on this server; `None` keeps the current one.
    #[serde(default)]
    pub agent: Option<AgentRelease>,
    /// Certificates of hosts that this server serves.
    #[serde(default)]
    pub certificates: Vec<CertificateSpec>,
    /// Snapshots and restores of volumes, each to run once.
    #[serde(default)]
    pub volume_tasks: Vec<VolumeTask>,
    /// Set if the agent should remove itself from this server.
    #[serde(default)]
    pub uninstall: Option<Uninstall>,
}

/// Removal of the agent from its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uninstall {
    /// True to delete the volumes of apps too.
    pub with_data: bool,
}

/// Key of a volume: a persistent folder of an app in one environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VolumeKey {
    /// App and environment that the volume belongs to.
    pub key: AppKey,
    /// Lower-case letters, digits and `-`.
    pub name: String,
}

/// Agent program in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRelease {
    /// Version, like `0.3.0`.
    pub version: String,
    /// `sha256:<hex>` of the program.
    pub digest: String,
    pub size_bytes: u64,
    /// Grows with every request: only a greater number retries a program that failed.
    pub attempt: u32,
    /// Signature file of the program, in the format of minisign; empty: unsigned.
    #[serde(default)]
    pub signature: String,
}

/// Desired state of an app on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppSpec {
    pub key: AppKey,
    /// Display name of the app.
    pub name: String,
    /// The last known good release.
    pub live: Option<ReleaseSpec>,
    /// Release to roll out beside the live one.
    pub candidate: Option<Rollout>,
    /// Number of instances, at least one.
    pub instances: u32,
    /// Traffic policy between the proxy and the instances.
    pub traffic: EncodedTraffic,
    /// Autoscaling of `instances`; `None` turns it off.
    #[serde(default)]
    pub autoscaling: Option<Autoscaling>,
    /// Environment of the release, if the spec is a former release behind its deployment URL; the environment of `key` is then
    /// an id of its own.
    #[serde(default)]
    pub release_environment: Option<EnvironmentId>,
}

impl AppSpec {
    /// Returns the key that the secrets of its releases are sealed for.
    pub fn sealed_for(&self) -> AppKey {
        let environment = self.release_environment.as_ref().unwrap_or(&self.key.environment).clone();
        AppKey { app: self.key.app.clone(), environment }
    }
}

/// Bounds and targets of the autoscaler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autoscaling {
    /// Minimum number of instances. With zero, an idle app sleeps and the next request wakes one
    /// instance.
    pub instances_min: u32,
    /// Maximum number of instances, at least one.
    pub instances_max: u32,
    /// Time without requests before the app scales down to the minimum.
    pub idle_timeout: Duration,
    /// Target of in-flight requests for each instance; zero ignores them.
    pub in_flight_target: u32,
    /// Target of CPU use for each instance, 1000 = one core; zero ignores it.
    pub cpu_millis_target: u32,
    /// Longest time that a request waits for a sleeping app to wake.
    #[serde(default = "wake_timeout")]
    pub wake_timeout: Duration,
}

/// Default wake timeout. Browsers and most clients wait longer.
fn wake_timeout() -> Duration {
    Duration::from_secs(30)
}

/// Rollout of a release by one deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// Deployment that requested the rollout.
    pub deployment: DeploymentId,
    pub release: ReleaseSpec,
    /// Maximum time from an instance's start until it is healthy.
    pub start_timeout: Duration,
    /// Number of instances to replace at a time; zero starts all beside the old ones.
    #[serde(default)]
    pub batch_size: u32,
    /// Canary steps before the switch.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// Command that must finish before the first new instance starts.
    #[serde(default)]
    pub release_command: Option<Hook>,
    /// Command that runs once all new instances are live.
    #[serde(default)]
    pub post_release_command: Option<Hook>,
    /// Load test of a new instance before it gets requests.
    #[serde(default)]
    pub benchmark_gate: Option<BenchmarkGate>,
}

/// Canary rollout: sends a percentage of the requests to the new release first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Percentages of the requests, ascending, 1 to 99.
    pub step_percents: Vec<u32>,
    /// Duration of each step.
    pub step_duration: Duration,
    /// Maximum of additional failed requests out of 1000, compared with the old release. Exceeding
    /// it ends the rollout.
    pub error_increase_permille_max: u32,
    /// Maximum p99 latency in permille of the old release's p99. Exceeding it ends the rollout;
    /// zero ignores latency.
    pub p99_ratio_permille_max: u32,
    /// Minimum number of requests for a decision.
    pub requests_min: u32,
}

/// Command of the release that runs once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Program and its arguments.
    pub command: Vec<String>,
    /// Timeout of the run.
    pub timeout: Duration,
}

/// Release of an app and the settings to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSpec {
    pub id: ReleaseId,
    /// Sequence number of the release in its app.
    pub number: u64,
    /// `sha256:<hex>` of the artifact.
    pub artifact_digest: String,
    /// Program and its arguments; the program is looked up in the app's PATH.
    pub command: Vec<String>,
    /// Environment variables besides those that the agent sets (`PORT`, `HOME`, `PATH`).
    #[serde(alias = "environment")]
    pub variables: BTreeMap<String, String>,
    /// Check that an instance must pass before it gets requests.
    #[serde(alias = "health")]
    pub readiness_check: HealthCheck,
    /// Maximum time that in-flight requests may take after the switch.
    pub drain_timeout: Duration,
    /// Time between SIGTERM and SIGKILL.
    #[serde(alias = "stop_grace")]
    pub stop_timeout: Duration,
    /// Memory limit in bytes; zero for no limit.
    pub memory_bytes_max: u64,
    /// Sealed secrets, delivered besides `variables`.
    #[serde(default)]
    pub secrets: Option<SealedSecrets>,
    #[serde(default)]
    pub artifact_kind: ArtifactKind,
    /// Processes without a port, besides `command`, which is the process `web`.
    #[serde(default)]
    pub workers: Vec<ProcessSpec>,
    /// Health check that repeats while an instance runs.
    #[serde(default)]
    #[serde(alias = "liveness")]
    pub liveness_check: Option<HealthCheck>,
    /// CPU limit, 1000 = one core; zero for no limit.
    #[serde(default)]
    pub cpu_millis_max: u32,
    /// Maximum number of processes; zero for the agent's default.
    #[serde(default)]
    pub processes_max: u32,
    /// Runtimes that the release needs, like `node@24.4.1`.
    #[serde(default)]
    pub toolchains: Vec<String>,
    #[serde(default)]
    pub volumes: Vec<VolumeMount>,
    /// True if the app listens on a Unix socket instead of a port; never for an image.
    #[serde(default)]
    pub listens_on_socket: bool,
    /// True if the app may connect to private addresses (RFC 1918, RFC 6598, RFC 4193).
    #[serde(default)]
    pub private_network: bool,
    /// Ports of the server that the app may connect to at the same address; at most 16, without
    /// duplicates.
    #[serde(default)]
    pub server_ports: Vec<SocketAddr>,
}

/// Format of an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactKind {
    /// Archive of a folder.
    #[default]
    Archive,
    /// Image of the container engine.
    Image,
}

/// Process of an app without a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// Name: lower-case letters, digits and `-`; never `web`.
    pub name: String,
    /// Program and its arguments.
    pub command: Vec<String>,
    pub instances: u32,
    /// Memory limit in bytes; zero for no limit.
    pub memory_bytes_max: u64,
    /// CPU limit, 1000 = one core; zero for no limit.
    pub cpu_millis_max: u32,
    /// True if the process keeps running while its app sleeps.
    #[serde(default)]
    pub stays_awake: bool,
}

/// Mount point of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeMount {
    /// Name of a volume of the same app and environment.
    pub name: String,
    /// Absolute path inside a container.
    pub path: String,
}

/// Health check of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// HTTP path that must respond with 2xx or 3xx; empty: a TCP connection is enough.
    pub path: String,
    pub interval: Duration,
    /// Timeout of one attempt.
    pub timeout: Duration,
    /// Command to run instead of an HTTP request; it must exit with 0. Empty for none.
    #[serde(default)]
    pub command: Vec<String>,
}

/// Route from a host and path prefix to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Lower-case host name without a port; a first label `*` matches all names below.
    pub host: String,
    /// Path prefix; starts with `/`.
    pub path_prefix: String,
    pub target: RouteTarget,
    /// Policy for the requests of this route.
    pub policy: EncodedTraffic,
}

/// Target of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteTarget {
    /// An app on this server.
    App(AppKey),
    /// Control plane on this server, by the name of its Unix socket: `web` or `gateway`.
    ControlSocket(String),
    Redirect(EncodedTraffic),
}

/// Build to run once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSpec {
    /// Deployment that the build is for.
    pub deployment: DeploymentId,
    pub app: AppId,
    /// Repository URL: `https://` or `http://`, without credentials.
    pub repository_url: String,
    /// Branch, tag or full commit hash; empty for the repository's default branch.
    pub git_ref: String,
    /// Relative folder inside the repository; empty for the top.
    pub root_folder: String,
    /// Timeout of the whole build.
    pub timeout: Duration,
    /// Environment that the build is for; `None` from a control plane before 0.3.
    #[serde(default)]
    pub environment: Option<EnvironmentId>,
    #[serde(default)]
    pub builder: Builder,
    /// Settings that override the builder's detection.
    #[serde(default)]
    pub overrides: BuildOverrides,
    /// Image reference with a tag or a digest; only with `Builder::Image`.
    #[serde(default)]
    pub image: String,
    /// Uploaded folder to build instead of a repository: `sha256:<hex>` of a tar.gz in the artifact
    /// store.
    #[serde(default)]
    pub upload_digest: Option<String>,
    /// True if the build starts with an empty cache.
    #[serde(default)]
    pub without_cache: bool,
    /// Resource limits; zero means the agent's default.
    #[serde(default)]
    pub limits: BuildLimits,
    /// Secrets for build commands.
    #[serde(default)]
    pub secrets: Option<SealedSecrets>,
    /// Credentials for the source; build commands never get them.
    #[serde(default)]
    pub credentials: Option<SealedSecrets>,
    /// Variables for build commands, and for a Dockerfile that declares them with `ARG`.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Commands that the app's settings add to those of the plan, one per line. A build keeps the
    /// packages that they name.
    #[serde(default)]
    pub run_commands: Vec<String>,
}

/// Builder that turns a source into an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Builder {
    /// Builder that the files in the source ask for.
    #[default]
    Detected,
    /// The runtime's own tools.
    Native,
    /// Dockerfile in the source.
    Dockerfile,
    /// No build: the image already exists.
    Image,
}

/// Overrides of the builder's detection; an empty field keeps the detected value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildOverrides {
    /// Command that installs dependencies.
    pub install_command: Vec<String>,
    /// Command that builds the app.
    pub build_command: Vec<String>,
    /// Command that starts the app.
    pub start_command: Vec<String>,
    /// Relative path of the folder to serve; only for a static site.
    pub output_folder: String,
    /// Path of the Dockerfile, relative to the root folder.
    pub dockerfile: String,
}

/// Resource limits of a build; zero means the agent's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildLimits {
    /// Maximum memory of all its processes together.
    pub memory_bytes_max: u64,
    /// CPU limit, 1000 = one core.
    pub cpu_millis_max: u32,
    /// Maximum size of its folder.
    pub disk_bytes_max: u64,
}

/// Reason why the agent rejects a desired state. It rejects the whole state and keeps the current
/// one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A field is missing or malformed.
    #[error("{field}: {reason}")]
    Field {
        /// Path of the field, like `apps[2].live.command`.
        field: String,
        /// Description of the problem.
        reason: String,
    },
    /// The state needs a capability that this agent lacks.
    #[error("this agent lacks `{capability}`: upgrade the agent")]
    Capability { capability: String },
    /// The state is for another server.
    #[error("the state is for server {found}, this one is {expected}")]
    Server {
        /// Server that the state is for.
        found: String,
        /// Id of this server.
        expected: ServerId,
    },
    /// The state is not newer than the accepted one.
    #[error("version {found} is older than {current}, which this agent has")]
    Older {
        /// Version of the rejected state.
        found: Version,
        /// Version of the accepted state.
        current: Version,
    },
    /// No pinned key verifies the signature.
    #[error("the signature by key `{key_id}` is not valid")]
    Signature {
        /// Id of the key that the signature names.
        key_id: String,
    },
}
