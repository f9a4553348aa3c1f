//! What the machine hears and what it asks for. Plain values only.

use std::time::Duration;

use fairlead_model::{AppSpec, DeploymentId, Failure, InstanceId, ReleaseId, ReleaseSpec, Step, UpstreamAddress};
use serde::{Deserialize, Serialize};

use super::canary::Traffic;
use super::scale::Load;
use crate::crash::Crash;
use crate::layer_bound::LayerExcess;

/// The two clocks of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since an origin of the caller's choice. All deadlines are on it.
    pub at: Duration,
    /// For what people read.
    pub unix_ms: u64,
}

/// What a step may use of the world.
pub struct Context<'a> {
    /// The moment of the event.
    pub now: Now,
    /// Makes an id that no other instance has.
    pub new_instance: &'a mut dyn FnMut() -> InstanceId,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An instance of a former run of the agent still runs. Comes before the first `Desired`.
    Adopt(Adopted),
    /// What a former run of the agent left of a rollout's command. Comes before the first `Desired`.
    FoundHook(FoundHook),
    /// What should be.
    Desired(Box<AppSpec>),
    /// The app should not be on this server.
    Removed,
    /// The release's artifact is not here and comes from the store.
    Fetching(ReleaseId),
    /// The release's folder is there.
    Prepared(ReleaseId),
    /// It can't be made.
    PrepareFailed(ReleaseId, Failure),
    /// The process runs; it was given this port, or a socket.
    Started {
        /// Which.
        instance: InstanceId,
        /// The app's process.
        pid: u32,
        /// The port it should listen on; zero: it has a socket.
        port: u16,
        /// When it started.
        started_unix_ms: u64,
    },
    /// The process is gone, asked or not, or never came to be.
    Exited {
        /// Which.
        instance: InstanceId,
        /// How.
        exit: Exit,
    },
    /// One health check: the address that answered, or why none did.
    Probed {
        /// Which.
        instance: InstanceId,
        /// The outcome.
        result: Result<UpstreamAddress, ProbeFailure>,
    },
    /// The proxy serves by the routes of this generation or a newer one.
    RoutesApplied(u64),
    /// The proxy could not use them and keeps what it had.
    RoutesRefused(u64, String),
    /// Exchanges that an instance has in flight, as the proxy counts.
    InFlight {
        /// Which.
        instance: InstanceId,
        /// How many.
        count: u32,
        /// When the report came, by the clock of `Now::at`: it may have waited since.
        at: Duration,
    },
    /// Requests that one side of a canary had since the last report.
    Traffic(String, Traffic),
    /// What the app was asked and used in the last second.
    Load(Load),
    /// A request waits for an app that sleeps.
    Wake,
    /// A deadline passed, or nothing did: always safe.
    Tick,
}

/// An instance that a former run of the agent started and that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Which.
    pub instance: InstanceId,
    /// What it runs.
    pub release: ReleaseId,
    /// The version of the secrets it was given.
    pub secrets: Option<String>,
    /// The deployment it was started for.
    pub deployment: Option<DeploymentId>,
    /// The app's process.
    pub pid: u32,
    /// Where it answers; `None`: it is not known yet.
    pub address: Option<UpstreamAddress>,
    /// When it started.
    pub started_unix_ms: u64,
    /// Restarts so far.
    pub restarts: u32,
    /// Of its release.
    pub drain_timeout: Duration,
    /// Of its release.
    pub stop_grace: Duration,
}

impl Adopted {
    /// Whether this is what it was started with.
    pub(super) fn runs(&self, release: &ReleaseSpec) -> bool {
        let version = release.secrets.as_ref().map(|secrets| &secrets.version);
        self.release == release.id && self.secrets.as_ref() == version
    }
}

/// Which of a rollout's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookKind {
    /// Before the first new instance starts.
    Release,
    /// Once all are live.
    After,
}

impl HookKind {
    /// The step of the deployment that it is.
    pub fn step(self) -> Step {
        match self {
            Self::Release => Step::Release,
            Self::After => Step::After,
        }
    }
}

/// A command that a former run of the agent started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHook {
    /// What ran it.
    pub instance: InstanceId,
    /// What it is of.
    pub release: ReleaseId,
    /// The deployment it ran for.
    pub deployment: DeploymentId,
    /// Which.
    pub kind: HookKind,
    /// Of its release.
    pub stop_grace: Duration,
    /// What became of it.
    pub outcome: HookOutcome,
}

/// What became of a command while no agent ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookOutcome {
    /// It still runs.
    Running {
        /// Since when.
        started_unix_ms: u64,
    },
    /// It has ended.
    Ended(Exit),
    /// It may have begun, and nobody saw its end.
    Lost,
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it never ran: a sentence.
    pub start_error: Option<String>,
    /// The kernel ended it for using more than its memory limit.
    pub out_of_memory: bool,
    /// It never ran because its secrets can't be opened.
    pub unopenable: bool,
    /// It was ended because its liveness check failed for too long.
    pub unresponsive: bool,
    /// It was ended because it wrote too many temporary files.
    pub layer: Option<Box<LayerExcess>>,
    /// It never ran because too little of the disk is free.
    pub disk_full: bool,
    /// It ended after the sandbox had refused it a port that is not its own.
    pub port_refused: bool,
    /// Reason in its last lines; after exit code 0 only a known one.
    pub crash: Option<Crash>,
}

/// Why a health check did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeFailure {
    /// Nothing accepts on its port; the ports it does listen on, ascending.
    Refused {
        /// Ports that the instance's processes listen on.
        listening: Vec<u16>,
    },
    /// Nothing accepts on its port, but it listens on others that it chose itself, ascending.
    Elsewhere {
        /// Ports that it listens on, without those that the kernel picked.
        ports: Vec<u16>,
    },
    /// Another program listens on its port.
    Foreign,
    /// It accepted, but did not answer in time.
    TimedOut,
    /// It answered with another status than 2xx or 3xx.
    Status(u16),
    /// It closed the connection or answered something that isn't HTTP.
    Broken,
    /// Its health command did not end with 0: the end of a sentence that begins with the command.
    Command(String),
}

/// Something to be done. None of them fails here: their outcome comes back as an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make the release's folder; answered by `Prepared` or `PrepareFailed`.
    Prepare(Box<ReleaseSpec>),
    /// Start a process; answered by `Started` or `Exited`.
    Start {
        /// Which.
        instance: InstanceId,
        /// What it runs.
        release: Box<ReleaseSpec>,
        /// The deployment it is started for.
        deployment: Option<DeploymentId>,
        /// How often it was restarted before.
        restarts: u32,
    },
    /// Run a command of the release to its end, as an instance without a port; answered by `Started` and `Exited`.
    Run {
        /// What it runs as.
        instance: InstanceId,
        /// Of which release.
        release: Box<ReleaseSpec>,
        /// For which deployment.
        deployment: DeploymentId,
        /// Which.
        kind: HookKind,
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Put what a command has written since into the deployment's log.
    Output {
        /// Whose log.
        deployment: DeploymentId,
        /// Under which step.
        step: Step,
        /// Whose output.
        instance: InstanceId,
    },
    /// An app that slept serves again.
    Woken {
        /// From the first request to a route that leads to a healthy instance.
        took: Duration,
    },
    /// End it: SIGTERM, SIGKILL after the grace; answered by `Exited`.
    Stop {
        /// Which.
        instance: InstanceId,
        /// SIGTERM to SIGKILL.
        grace: Duration,
    },
    /// Nothing of it runs and nothing will: its folder may go.
    Forget {
        /// Which.
        instance: InstanceId,
    },
    /// Put the last lines of its output into the deployment's log.
    Tail {
        /// Whose log.
        deployment: DeploymentId,
        /// Under which step.
        step: Step,
        /// Whose output.
        instance: InstanceId,
    },
    /// A line of Fairlead's own in the deployment's log.
    Log {
        /// Whose log.
        deployment: DeploymentId,
        /// Under which step.
        step: Step,
        /// The line.
        text: String,
    },
}

/// An address that the app's routes lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The instance behind it.
    pub instance: InstanceId,
    /// Where it answered its health check.
    pub address: UpstreamAddress,
    /// Gets nothing new.
    pub draining: bool,
    /// How long its exchanges may go on then; zero when it does not drain, or is being stopped.
    pub drain_timeout: Duration,
    /// Share of new exchanges against the app's other instances; 100 where nothing is said.
    pub weight: u32,
    /// The side of a canary whose requests are counted apart; empty for none.
    pub side: String,
}
