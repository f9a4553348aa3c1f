//! Events and actions of the rollout state machine. Plain values only.

use std::time::Duration;

use fairlead_model::{
    AppSpec, BenchmarkGate, DeploymentId, Failure, GateProgress, InstanceId, ReleaseId, ReleaseSpec, Step,
    UpstreamAddress,
};
use serde::{Deserialize, Serialize};

use super::canary::Traffic;
use super::scale::Load;
use crate::crash::Crash;
use crate::layer_bound::LayerExcess;

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since an origin that the caller chooses. All deadlines use it.
    pub at: Duration,
    /// Wall-clock time, for people.
    pub unix_ms: u64,
}

/// Inputs of a step: the time and a source of ids.
pub struct RolloutContext<'a> {
    /// Time of the event.
    pub now: Now,
    /// Generates an id that no other instance has.
    pub new_instance: &'a mut dyn FnMut() -> InstanceId,
}

/// Event that the state machine handles.
#[derive(Debug, Clone, PartialEq)]
pub enum RolloutEvent {
    /// Adopts an instance from before an agent restart that still runs. Comes before the first `Desired`.
    Adopt(AdoptedInstance),
    /// Reports a rollout command from before an agent restart. Comes before the first `Desired`.
    AdoptHook(AdoptedHook),
    /// Sets the desired state.
    Desired(Box<AppSpec>),
    /// Removes the app from this server.
    Removed,
    /// Reports that the release's artifact is being fetched from the store.
    Fetching(ReleaseId),
    /// Reports that the release's folder exists.
    Prepared(ReleaseId),
    /// Reports that the release's folder can't be made.
    PrepareFailed(ReleaseId, Failure),
    /// Reports that the process runs, with its port or a socket.
    Started {
        instance: InstanceId,
        /// Process of the app.
        pid: u32,
        /// Port that it should listen on; zero if it has a socket.
        port: u16,
        /// Time of the start.
        started_unix_ms: u64,
    },
    /// Reports that the process is gone, requested or not, or never started.
    Exited { instance: InstanceId, exit: Exit },
    /// Reports one health check: the address that answered, or why none did.
    HealthChecked { instance: InstanceId, result: Result<UpstreamAddress, HealthCheckFailure> },
    /// Reports that the proxy serves by the routes of this generation or a newer one.
    RoutesApplied(u64),
    /// Reports that the proxy could not use the routes of this generation and keeps its previous ones.
    RoutesRefused(u64, String),
    /// Reports the in-flight exchanges of an instance, as the proxy counts them.
    InFlight {
        instance: InstanceId,
        count: u32,
        /// Time at which the report arrived, on the clock of `Now::at`: it may have waited since.
        at: Duration,
    },
    /// Reports a measurement of a deployment's benchmark gate.
    GateProgress(DeploymentId, Box<GateProgress>),
    /// Reports the verdict of a deployment's benchmark gate.
    GateMeasured(DeploymentId, Result<(), Failure>),
    /// Reports the requests of one side of a canary since the last report.
    Traffic(String, Traffic),
    /// Reports requests and CPU use of the app in the last second.
    Load(Load),
    /// Reports a request that waits for a sleeping app.
    Wake,
    /// Asks for the app to sleep now, if its minimum of instances is 0.
    Sleep,
    /// Reports that time has passed. Always safe.
    Tick,
}

/// Instance that was started before an agent restart and still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedInstance {
    pub instance: InstanceId,
    /// Release that it runs.
    pub release: ReleaseId,
    /// Version of the secrets that it received.
    pub secrets: Option<String>,
    /// Deployment that it was started for.
    pub deployment: Option<DeploymentId>,
    /// Process of the app.
    pub pid: u32,
    /// Address at which it answers; `None` if not known yet.
    pub address: Option<UpstreamAddress>,
    /// Time of the start.
    pub started_unix_ms: u64,
    /// Number of restarts so far.
    pub restarts: u32,
    /// Drain timeout of its release.
    pub drain_timeout: Duration,
    /// Grace of its release between SIGTERM and SIGKILL.
    pub stop_timeout: Duration,
}

impl AdoptedInstance {
    /// True if the instance was started with this release and its secrets.
    pub(super) fn runs(&self, release: &ReleaseSpec) -> bool {
        let version = release.secrets.as_ref().map(|secrets| &secrets.version);
        self.release == release.id && self.secrets.as_ref() == version
    }
}

/// Kind of a rollout's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookKind {
    /// Release command: runs before the first new instance starts.
    Release,
    /// Command that runs after all instances are live.
    After,
}

impl HookKind {
    /// Returns the step of the deployment that the command belongs to.
    pub fn step(self) -> Step {
        match self {
            Self::Release => Step::Release,
            Self::After => Step::After,
        }
    }
}

/// Command of a rollout that was started before an agent restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedHook {
    /// Instance that ran the command.
    pub instance: InstanceId,
    /// Release that the command belongs to.
    pub release: ReleaseId,
    /// Deployment that it ran for.
    pub deployment: DeploymentId,
    pub kind: HookKind,
    /// Grace of its release between SIGTERM and SIGKILL.
    pub stop_timeout: Duration,
    pub outcome: HookOutcome,
}

/// Outcome of a command while no agent ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookOutcome {
    /// The command still runs.
    Running {
        /// Time of its start.
        started_unix_ms: u64,
    },
    /// The command has ended.
    Ended(Exit),
    /// The command may have started, but its end was not observed.
    Lost,
}

/// Exit of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// Exit code, if it ended by itself.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Reason why it never ran: a sentence.
    pub start_error: Option<String>,
    /// True if the kernel ended it because it exceeded its memory limit.
    pub out_of_memory: bool,
    /// True if it never ran because its secrets can't be opened.
    pub unopenable: bool,
    /// True if it was ended because its liveness check failed for too long.
    pub unresponsive: bool,
    /// Excess of temporary files for which it was ended.
    pub layer: Option<Box<LayerExcess>>,
    /// True if it never ran because too little of the disk is free.
    pub disk_full: bool,
    /// True if the sandbox had refused it a port that is not its own.
    pub port_refused: bool,
    /// Crash reason in its last lines; after exit code 0 only a known one.
    pub crash: Option<Crash>,
}

/// Reason why a health check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthCheckFailure {
    /// Nothing accepts on its port.
    Refused {
        /// Ports that the instance's processes listen on, ascending.
        listening: Vec<u16>,
    },
    /// Nothing accepts on its port, but it listens on others that it chose itself.
    Elsewhere {
        /// Ports that it listens on, ascending, without those that the kernel picked.
        ports: Vec<u16>,
    },
    /// Another program listens on its port.
    Foreign,
    /// It accepted, but did not respond before the timeout.
    TimedOut,
    /// It responded with another status than 2xx or 3xx.
    Status(u16),
    /// It closed the connection or sent something other than HTTP.
    Broken,
    /// Its health command did not exit with 0; the text ends a sentence that begins with the command.
    Command(String),
}

/// Action that the driver runs. An action never fails here: its outcome comes back as an event.
#[derive(Debug, Clone, PartialEq)]
pub enum RolloutAction {
    /// Makes the release's folder; answered by `Prepared` or `PrepareFailed`.
    Prepare(Box<ReleaseSpec>),
    /// Starts a process; answered by `Started` or `Exited`.
    Start {
        instance: InstanceId,
        release: Box<ReleaseSpec>,
        /// Deployment that it is started for.
        deployment: Option<DeploymentId>,
        /// Number of restarts before.
        restarts: u32,
    },
    /// Runs a command of the release to its end, as an instance without a port; answered by `Started` and `Exited`.
    Run {
        /// Instance that runs the command.
        instance: InstanceId,
        /// Release that the command belongs to.
        release: Box<ReleaseSpec>,
        /// Deployment that it runs for.
        deployment: DeploymentId,
        kind: HookKind,
        command: Vec<String>,
    },
    /// Appends the new output of a command to the deployment's log.
    Output {
        /// Deployment that the log belongs to.
        deployment: DeploymentId,
        /// Step in the log.
        step: Step,
        /// Instance that wrote the output.
        instance: InstanceId,
    },
    /// Puts load on a new instance; answered by `GateProgress` for each measurement, then `GateMeasured`.
    Measure {
        /// Deployment that waits for the verdict.
        deployment: DeploymentId,
        /// Address of the instance.
        address: UpstreamAddress,
        /// Address of an instance of the live release, if the gate compares with it.
        live: Option<UpstreamAddress>,
        gate: Box<BenchmarkGate>,
    },
    /// Ends the load of a deployment at once; nothing answers.
    EndMeasurement { deployment: DeploymentId },
    /// Reports that a sleeping app serves again.
    Woken {
        /// Time from the first request to a route that leads to a healthy instance.
        took: Duration,
    },
    /// Ends an instance: SIGTERM, then SIGKILL after the stop timeout; answered by `Exited`.
    Stop {
        instance: InstanceId,
        /// Time between SIGTERM and SIGKILL.
        stop_timeout: Duration,
    },
    /// Removes the folder of an instance that has ended for good.
    Forget { instance: InstanceId },
    /// Appends the last lines of its output to the deployment's log.
    Tail {
        /// Deployment that the log belongs to.
        deployment: DeploymentId,
        /// Step in the log.
        step: Step,
        /// Instance that wrote the output.
        instance: InstanceId,
    },
    /// Appends a line of Fairlead's own to the deployment's log.
    Log {
        /// Deployment that the log belongs to.
        deployment: DeploymentId,
        /// Step in the log.
        step: Step,
        text: String,
    },
}

/// Upstream address of the app's routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamEndpoint {
    /// Instance behind the address.
    pub instance: InstanceId,
    /// Address that passed its health check.
    pub address: UpstreamAddress,
    /// True if it receives no new requests.
    pub draining: bool,
    /// Maximum time that its exchanges may continue while it drains; zero if it does not drain, or is being stopped.
    pub drain_timeout: Duration,
    /// Weight of new exchanges relative to the app's other instances; the default is 100.
    pub weight: u32,
    /// Side of a canary, for separate request counts; empty for none.
    pub side: String,
}
