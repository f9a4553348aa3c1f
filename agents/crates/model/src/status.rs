//! Status of a server as the agent reports it: instances, builds, rollouts, benchmarks and the
//! agent itself.

use serde::{Deserialize, Serialize};

use crate::{
    AppKey, ArtifactKind, BenchmarkProgram, BenchmarkRow, DeploymentId, InstanceId, ProcessSpec, ReleaseId, RunId,
};

/// Lifecycle state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstanceState {
    /// Started, not yet healthy.
    Starting,
    /// Passes its health check and gets requests.
    Healthy,
    /// Fails its health check now.
    Unhealthy,
    /// Gets no new requests; in-flight requests continue.
    Draining,
    /// The agent stopped it.
    Stopped,
    /// The process ended by itself.
    Crashed,
    /// Crashed too often: the agent no longer restarts it.
    #[serde(alias = "GivenUp")]
    CrashLooping,
    /// Does not run because the app gets no requests.
    Asleep,
}

/// Current status of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceStatus {
    pub id: InstanceId,
    /// App and environment of the instance.
    pub key: AppKey,
    /// Release that the instance runs.
    pub release: ReleaseId,
    pub state: InstanceState,
    /// Process id; zero without a process.
    pub pid: u32,
    /// Port assigned to the instance.
    pub port: u16,
    /// Number of restarts since the first start.
    pub restarts: u32,
    /// Start of the current process, Unix milliseconds.
    pub started_unix_ms: u64,
    /// Sentence for people; empty without details.
    pub detail: String,
    /// Process of the app; `web` is the one with a port.
    #[serde(default = "web")]
    pub process: String,
    /// CPU use in the last second, 1000 = one core.
    #[serde(default)]
    pub cpu_millis: u32,
    #[serde(default)]
    pub memory_bytes: u64,
}

fn web() -> String {
    "web".into()
}

/// State of a build, rollout, benchmark or upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkState {
    Running,
    Succeeded,
    /// Failed; a `Failure` says why.
    Failed,
    /// Stopped because desired state no longer asks for it.
    Cancelled,
}

/// Deployment steps that a server carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Fetch the repository and pin the commit.
    Clone,
    /// Install dependencies and build.
    Build,
    Pack,
    /// Fetch the artifact from the store.
    Fetch,
    /// Run the release command.
    Release,
    /// Start the new instances.
    Start,
    /// Wait until they are healthy.
    Health,
    /// Measure one of them for the benchmark gate.
    Benchmark,
    /// Send a percentage of the requests to them.
    Canary,
    /// Switch the routes to them.
    Switch,
    /// Drain the old instances, then stop them.
    Drain,
    /// Run the command configured to run after the switch.
    After,
}

impl Step {
    /// Returns the step's name on the wire, in the database and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clone => "clone",
            Self::Build => "build",
            Self::Pack => "pack",
            Self::Fetch => "fetch",
            Self::Release => "release",
            Self::Start => "start",
            Self::Health => "health",
            Self::Benchmark => "benchmark",
            Self::Canary => "canary",
            Self::Switch => "switch",
            Self::Drain => "drain",
            Self::After => "after",
        }
    }
}

/// State of a deployment step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepState {
    Running,
    Done,
    Failed,
    /// The deployment does not need the step.
    Skipped,
}

/// State and times of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    pub step: Step,
    pub state: StepState,
    /// Time at which the step started, Unix milliseconds.
    pub started_unix_ms: u64,
    /// End, Unix milliseconds; zero while the step runs.
    pub finished_unix_ms: u64,
}

/// Failure as shown to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Code from the contract's error table, like `build.clone_failed`.
    pub code: String,
    /// Description: the problem, its cause if known, and the remedy.
    pub message: String,
}

/// Commit that a build is pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full hash of the commit.
    pub hash: String,
    /// First line of the commit message.
    pub subject: String,
    /// Name of the author.
    pub author: String,
    /// Committer time, Unix milliseconds.
    pub committed_unix_ms: u64,
    /// Branch that the ref names; empty for a tag or a commit.
    #[serde(default)]
    pub branch: String,
}

/// Artifact of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// `sha256:<hex>` of the packed file.
    pub digest: String,
    /// Size of the packed file.
    pub size_bytes: u64,
    /// Runtime that the builder detected, like `node`.
    pub runtime: String,
    /// The start command the builder chose.
    pub command: Vec<String>,
    #[serde(default)]
    pub kind: ArtifactKind,
    /// Settings that the builder read from the source.
    #[serde(default)]
    pub manifest: BuildManifest,
}

/// Settings that a build found in the source, besides the start command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildManifest {
    /// Processes without a port.
    pub workers: Vec<ProcessSpec>,
    /// Runtimes that the app needs, like `node@24.4.1`.
    pub toolchains: Vec<String>,
    /// Detected facts and decisions, one sentence each.
    #[serde(alias = "plan")]
    pub sentences: Vec<String>,
    /// Variables that `.env.example` names.
    pub expected_variables: Vec<String>,
    /// Health check path from a committed fairlead.toml; empty if it has none.
    pub health_path: String,
    /// Release command from a committed fairlead.toml; empty if it has none.
    pub release_command: Vec<String>,
    /// True if a committed fairlead.toml sets a Unix socket instead of a port.
    #[serde(default)]
    pub listens_on_socket: bool,
    /// Content of a committed fairlead.bench.json; empty: none. `None`: unreadable.
    #[serde(default)]
    pub benchmark_plan: Option<String>,
}

/// Current status of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildStatus {
    /// Deployment that the build is for.
    pub deployment: DeploymentId,
    pub state: WorkState,
    /// Steps up to now.
    pub steps: Vec<StepStatus>,
    /// Reason; set if it failed.
    pub failure: Option<Failure>,
    /// Set once the commit is pinned.
    pub commit: Option<Commit>,
    /// Artifact; set once it is packed.
    pub artifact: Option<Artifact>,
}

/// Current status of a rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolloutStatus {
    /// Deployment that the rollout is for.
    pub deployment: DeploymentId,
    pub state: WorkState,
    /// Steps up to now.
    pub steps: Vec<StepStatus>,
    /// Reason; set if it failed.
    pub failure: Option<Failure>,
    /// Measured rounds of its benchmark gate.
    #[serde(default)]
    pub benchmark_rows: Vec<BenchmarkRow>,
    /// Measured rounds of the live release beside them.
    #[serde(default)]
    pub live_benchmark_rows: Vec<BenchmarkRow>,
}

/// Current status of a benchmark run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkStatus {
    pub run: RunId,
    pub state: WorkState,
    /// Rows measured up to now.
    pub rows: Vec<BenchmarkRow>,
    /// Number of rows in the plan, without those of targets that can't be measured.
    pub rows_total: u32,
    /// Reason; set if it failed.
    pub failure: Option<Failure>,
    /// Programs of a lab's run.
    #[serde(default)]
    pub programs: Vec<BenchmarkProgram>,
    /// Number of second phases that began, if the control plane owes their event.
    #[serde(default)]
    pub events_due: u32,
    /// Number of rows for which this server was ready, for a part in a distributed run.
    #[serde(default)]
    pub rows_ready: u32,
    /// Port of this server's HTTPS listener, for the same; zero: it has none.
    #[serde(default)]
    pub https_port: u16,
}

/// Steps of an agent upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradeStep {
    Fetch,
    /// Run the new program's check of this server.
    Check,
    /// Wait until builds, rollouts and benchmarks end.
    Wait,
    /// Run the new program until it proves that it works.
    Start,
}

impl UpgradeStep {
    /// Returns the step's name on the wire and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Check => "check",
            Self::Wait => "wait",
            Self::Start => "start",
        }
    }
}

/// Status of an upgrade to the agent that desired state names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeStatus {
    /// Number of the upgrade request.
    pub attempt: u32,
    pub state: WorkState,
    /// Current step, or the last one.
    pub step: UpgradeStep,
    /// Reason; set if it failed.
    pub failure: Option<Failure>,
}

/// Status of the agent's own program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStatus {
    /// `sha256:<hex>` of the program.
    pub digest: String,
    /// Upgrade; `None` without a request.
    pub upgrade: Option<UpgradeStatus>,
}

/// Source of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStream {
    System,
    /// The program's standard output.
    Stdout,
    /// The program's standard error.
    Stderr,
}

/// One line of a deployment's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Time of reading, Unix milliseconds.
    pub unix_ms: u64,
    /// The step it belongs to.
    pub step: Step,
    pub stream: LogStream,
    /// Text without the line end; at most 4096 bytes, valid UTF-8.
    pub text: String,
}
