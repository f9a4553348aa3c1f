//! What is true now, as the agent reports it.

use serde::{Deserialize, Serialize};

use crate::{AppKey, ArtifactKind, BenchmarkRow, DeploymentId, InstanceId, ProcessSpec, ReleaseId, RunId};

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstanceState {
    /// Started, not yet healthy.
    Starting,
    /// Serving.
    Healthy,
    /// Its check fails now.
    Unhealthy,
    /// Gets nothing new; in-flight exchanges go on.
    Draining,
    /// Ended as asked.
    Stopped,
    /// Ended by itself.
    Crashed,
    /// Crashed too often to be tried again.
    GivenUp,
    /// Not run for lack of requests.
    Asleep,
}

/// One instance as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceStatus {
    /// The instance.
    pub id: InstanceId,
    /// Whose it is.
    pub key: AppKey,
    /// What it runs.
    pub release: ReleaseId,
    /// Where it is in its life.
    pub state: InstanceState,
    /// The app's process; zero when it has none.
    pub pid: u32,
    /// The port it was given.
    pub port: u16,
    /// Restarts since it was first started.
    pub restarts: u32,
    /// Start of the current process, Unix milliseconds.
    pub started_unix_ms: u64,
    /// A sentence for people; empty when there is nothing to say.
    pub detail: String,
    /// Which process of the app; `web` has the port.
    #[serde(default = "web")]
    pub process: String,
    /// CPU time used in the last second, 1000 = one core.
    #[serde(default)]
    pub cpu_millis: u32,
    /// Memory in use.
    #[serde(default)]
    pub memory_bytes: u64,
}

fn web() -> String {
    "web".into()
}

/// Where a piece of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkState {
    /// Under way.
    Running,
    /// Done.
    Succeeded,
    /// Failed; a `Failure` says why.
    Failed,
    /// Stopped because desired state no longer asks for it.
    Cancelled,
}

/// The steps of a deployment that a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Fetch the repository and pin the commit.
    Clone,
    /// Install dependencies and build.
    Build,
    /// Pack the artifact.
    Pack,
    /// Fetch the artifact from the store.
    Fetch,
    /// Run the release command.
    Release,
    /// Start the new instances.
    Start,
    /// Wait until they are healthy.
    Health,
    /// Try them on a share of the requests.
    Canary,
    /// Lead the routes to them.
    Switch,
    /// Let the old instances finish, then stop them.
    Drain,
    /// Run the command that follows.
    After,
}

impl Step {
    /// The step's name on the wire, in the database and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clone => "clone",
            Self::Build => "build",
            Self::Pack => "pack",
            Self::Fetch => "fetch",
            Self::Release => "release",
            Self::Start => "start",
            Self::Health => "health",
            Self::Canary => "canary",
            Self::Switch => "switch",
            Self::Drain => "drain",
            Self::After => "after",
        }
    }
}

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepState {
    /// Under way.
    Running,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Not needed.
    Skipped,
}

/// One step with its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    /// Which.
    pub step: Step,
    /// Where it is.
    pub state: StepState,
    /// Unix milliseconds.
    pub started_unix_ms: u64,
    /// Unix milliseconds; zero while it runs.
    pub finished_unix_ms: u64,
}

/// A failure a person reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A code of the contract's error table, like `build.clone_failed`.
    pub code: String,
    /// What happened, why if known, and what to do.
    pub message: String,
}

/// The commit a build was pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full hash.
    pub hash: String,
    /// First line of its message.
    pub subject: String,
    /// Author's name.
    pub author: String,
    /// Committer time, Unix milliseconds.
    pub committed_unix_ms: u64,
    /// Branch that the ref names; empty for a tag or a commit.
    #[serde(default)]
    pub branch: String,
}

/// What a build made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// `sha256:<hex>` of the packed file.
    pub digest: String,
    /// Size of the packed file.
    pub size_bytes: u64,
    /// What the builder detected, like `node`.
    pub runtime: String,
    /// The start command the builder chose.
    pub command: Vec<String>,
    /// What it is.
    #[serde(default)]
    pub kind: ArtifactKind,
    /// What the source says of itself.
    #[serde(default)]
    pub manifest: Manifest,
}

/// What a build found in the source beside the start command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Processes without a port.
    pub workers: Vec<ProcessSpec>,
    /// Runtimes it needs, like `node@24.4.1`.
    pub toolchains: Vec<String>,
    /// What was detected and decided, a sentence each.
    pub plan: Vec<String>,
    /// Variables that `.env.example` names.
    pub expected_variables: Vec<String>,
    /// Of a committed fairlead.toml; empty: not said.
    pub health_path: String,
    /// Of a committed fairlead.toml; empty: none.
    pub release_command: Vec<String>,
    /// A committed fairlead.toml says that it has a Unix socket instead of a port.
    #[serde(default)]
    pub listens_on_socket: bool,
}

/// A build as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildStatus {
    /// The deployment it is for.
    pub deployment: DeploymentId,
    /// Where it is.
    pub state: WorkState,
    /// Its steps so far.
    pub steps: Vec<StepStatus>,
    /// Set when it failed.
    pub failure: Option<Failure>,
    /// Set once the commit is pinned.
    pub commit: Option<Commit>,
    /// Set once packed.
    pub artifact: Option<Artifact>,
}

/// A rollout as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutStatus {
    /// The deployment it is for.
    pub deployment: DeploymentId,
    /// Where it is.
    pub state: WorkState,
    /// Its steps so far.
    pub steps: Vec<StepStatus>,
    /// Set when it failed.
    pub failure: Option<Failure>,
}

/// A benchmark run as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkStatus {
    /// The run.
    pub run: RunId,
    /// Where it is.
    pub state: WorkState,
    /// Rows measured so far.
    pub rows: Vec<BenchmarkRow>,
    /// Rows the plan has.
    pub rows_total: u32,
    /// Set when it failed.
    pub failure: Option<Failure>,
}

/// The steps of an agent's upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradeStep {
    /// Get the program.
    Fetch,
    /// Let it look at this server.
    Check,
    /// Let builds, roll-outs and benchmarks end.
    Wait,
    /// Run it, until it has proved itself.
    Start,
}

impl UpgradeStep {
    /// The step's name on the wire and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Check => "check",
            Self::Wait => "wait",
            Self::Start => "start",
        }
    }
}

/// What becomes of the agent that desired state names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeStatus {
    /// Which request.
    pub attempt: u32,
    /// Where it is.
    pub state: WorkState,
    /// What is done, or was last.
    pub step: UpgradeStep,
    /// Set when it failed.
    pub failure: Option<Failure>,
}

/// The agent's own program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStatus {
    /// `sha256:<hex>` of it.
    pub digest: String,
    /// None without a request.
    pub upgrade: Option<UpgradeStatus>,
}

/// Who wrote a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStream {
    /// Fairlead itself.
    System,
    /// The program's standard output.
    Stdout,
    /// The program's standard error.
    Stderr,
}

/// One line of a deployment's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When it was read, Unix milliseconds.
    pub unix_ms: u64,
    /// The step it belongs to.
    pub step: Step,
    /// Who wrote it.
    pub stream: LogStream,
    /// Without the line end; at most 4096 bytes, valid UTF-8.
    pub text: String,
}
