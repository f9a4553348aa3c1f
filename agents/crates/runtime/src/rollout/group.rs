//! Instances of one release: their starts, health and restarts after crashes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fairlead_model::{DeploymentId, InstanceId, InstanceState, ReleaseId, ReleaseSpec, SealedSecrets, UpstreamAddress};

use super::event::{AdoptedInstance, Exit, HealthCheckFailure, RolloutAction};
use super::{Leaving, LeavingStage, messages};
use crate::restart::{self, STEADY};

/// Number of consecutive failed checks after which a healthy instance counts as unhealthy.
const FAILURES_MAX: u32 = 3;
/// Number of consecutive failed checks after which an app on other ports is not expected on its own any more.
const ELSEWHERE_CHECKS: u32 = 3;
/// Minimum time before that: some apps open a port for metrics first.
const ELSEWHERE_LEAST: Duration = Duration::from_secs(5);
/// Number of consecutive exits with code 0, without listening, that show a program that is no server. The first may
/// prepare something and rely on a restart.
const SILENT_ENDS_MAX: usize = 2;
/// Pauses between restarts during a rollout, when people wait for the outcome.
const ROLLOUT_PAUSES_MS: [u64; 6] = [250, 500, 1_000, 2_000, 3_000, 3_000];

#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) release: ReleaseSpec,
    pub(super) deployment: Option<DeploymentId>,
    pub(super) slots: BTreeMap<InstanceId, InstanceSlot>,
    prepare: Prepare,
}

#[derive(Debug, Clone, PartialEq)]
enum Prepare {
    Needed { at: Duration },
    Asked,
    Done,
}

/// Slot for one instance; its process may start and end repeatedly.
#[derive(Debug, Clone)]
pub(super) struct InstanceSlot {
    pub(super) process: InstanceProcess,
    pub(super) pid: u32,
    pub(super) port: u16,
    /// Value of the `PORT` variable.
    pub(super) assigned_port: u16,
    pub(super) address: Option<UpstreamAddress>,
    pub(super) started_unix_ms: u64,
    pub(super) restarts: u32,
    pub(super) detail: String,
    pub(super) last_failure: Option<HealthCheckFailure>,
    pub(super) last_exit: Option<Exit>,
    /// Number of consecutive checks that found it on other ports only, and the time of the first.
    elsewhere: (u32, Duration),
    crashes: VecDeque<Duration>,
    /// Number of consecutive exits with code 0 of a process that was never seen to listen.
    silent_ends: usize,
    row: usize,
    crash_looping: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum InstanceProcess {
    /// Starts only when a request arrives.
    Asleep,
    /// Starts at this time.
    Waiting {
        at: Duration,
    },
    /// Start was requested; the process is not reported yet.
    Starting,
    Running {
        since: Duration,
        health: Health,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Health {
    Unknown,
    Healthy { failures: u32 },
    Unhealthy,
}

impl Group {
    pub(super) fn new(release: ReleaseSpec, deployment: Option<DeploymentId>) -> Self {
        Self { release, deployment, slots: BTreeMap::new(), prepare: Prepare::Needed { at: Duration::ZERO } }
    }

    /// Returns the same group without instances.
    pub(super) fn without_slots(&self) -> Self {
        Self {
            release: self.release.clone(),
            deployment: self.deployment.clone(),
            slots: BTreeMap::new(),
            prepare: self.prepare.clone(),
        }
    }

    /// Takes the adopted instances of this release (and deployment, if it has one). A candidate of the same release
    /// keeps its own.
    pub(super) fn adopt(
        &mut self,
        adopted: &mut BTreeMap<InstanceId, AdoptedInstance>,
        candidate: Option<&DeploymentId>,
        at: Duration,
    ) {
        let (release, deployment) = (&self.release, &self.deployment);
        let (ours, others) = std::mem::take(adopted).into_iter().partition(|(_, adopted)| {
            let theirs = match deployment {
                Some(_) => adopted.deployment == *deployment,
                None => candidate.is_none() || adopted.deployment.as_ref() != candidate,
            };
            adopted.runs(release) && theirs
        });
        *adopted = others;
        let ours: BTreeMap<InstanceId, AdoptedInstance> = ours;
        self.slots.extend(ours.into_iter().map(|(id, adopted)| (id, InstanceSlot::adopted(&adopted, at))));
    }

    /// Copies its secrets to a release of the same secrets that are held back, so that a crashed instance can restart.
    pub(super) fn lend_secrets(&self, newest: &mut ReleaseSpec) {
        if newest.secrets.as_ref().is_some_and(SealedSecrets::is_held_back) && self.release.secrets == newest.secrets {
            newest.secrets.clone_from(&self.release.secrets);
        }
    }

    /// Takes the newest sealing of the same secrets: an agent that lost its key can open no older one.
    pub(super) fn reseal(&mut self, newest: &ReleaseSpec) {
        if self.release.id == newest.id && self.release.secrets == newest.secrets {
            self.release.secrets.clone_from(&newest.secrets);
        }
    }

    pub(super) fn leaving(&self, slot: InstanceSlot, stage: LeavingStage) -> Leaving {
        let (release, deployment) = (self.release.id.clone(), self.deployment.clone());
        Leaving { release, deployment, slot, stop_timeout: self.release.stop_timeout, stage, hook: None }
    }

    /// Returns the number of slots that should have an instance.
    pub(super) fn running_places(&self) -> usize {
        self.slots.values().filter(|slot| slot.process != InstanceProcess::Asleep).count()
    }

    /// Schedules the start of sleeping instances, unless the app keeps sleeping.
    pub(super) fn wake(&mut self, at: Duration, sleeps: bool) {
        for slot in self.slots.values_mut().filter(|slot| !sleeps && slot.process == InstanceProcess::Asleep) {
            (slot.process, slot.detail) = (InstanceProcess::Waiting { at }, String::new());
        }
    }

    /// Takes an unhealthy instance, or else the youngest: the oldest is warm, and serves the longest requests.
    pub(super) fn take_weakest(&mut self) -> Option<(InstanceId, InstanceSlot)> {
        let id = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.process != InstanceProcess::Asleep)
            .min_by_key(|(_, slot)| (slot.healthy(), Reverse(slot.started_unix_ms)))
            .map(|(id, _)| id.clone())?;
        self.slots.remove_entry(&id)
    }

    pub(super) fn prepared(&mut self, release: &ReleaseId) {
        if self.release.id == *release {
            self.prepare = Prepare::Done;
        }
    }

    pub(super) fn prepare_failed(&mut self, release: &ReleaseId, message: &str, retry_at: Duration) {
        if self.release.id != *release {
            return;
        }
        self.prepare = Prepare::Needed { at: retry_at };
        for slot in self.slots.values_mut().filter(|slot| matches!(slot.process, InstanceProcess::Waiting { .. })) {
            slot.detail = message.to_owned();
        }
    }

    /// True if the release's folder exists; otherwise requests it.
    pub(super) fn ready(&mut self, at: Duration, actions: &mut Vec<RolloutAction>) -> bool {
        if matches!(self.prepare, Prepare::Needed { at: due } if at >= due) {
            self.prepare = Prepare::Asked;
            actions.push(RolloutAction::Prepare(Box::new(self.release.clone())));
        }
        self.prepare == Prepare::Done
    }

    /// Starts instances that are due; true if any was started.
    pub(super) fn start_due(&mut self, at: Duration, actions: &mut Vec<RolloutAction>) -> bool {
        let due = |slot: &InstanceSlot| matches!(slot.process, InstanceProcess::Waiting { at: due } if at >= due);
        if !self.slots.values().any(due) || !self.ready(at, actions) {
            return false;
        }
        for (id, slot) in self.slots.iter_mut().filter(|(_, slot)| due(slot)) {
            slot.process = InstanceProcess::Starting;
            actions.push(RolloutAction::Start {
                instance: id.clone(),
                release: Box::new(self.release.clone()),
                deployment: self.deployment.clone(),
                restarts: slot.restarts,
            });
        }
        true
    }

    /// Returns the time of its next action.
    pub(super) fn due(&self) -> Option<Duration> {
        let waiting = self.slots.values().filter_map(|slot| match slot.process {
            InstanceProcess::Waiting { at } => Some(at),
            _ => None,
        });
        let earliest = waiting.min()?;
        match self.prepare {
            Prepare::Needed { at } => Some(at.max(earliest)),
            Prepare::Asked => None,
            Prepare::Done => Some(earliest),
        }
    }
}

impl InstanceSlot {
    pub(super) fn waiting(at: Duration) -> Self {
        Self {
            process: InstanceProcess::Waiting { at },
            pid: 0,
            port: 0,
            assigned_port: 0,
            address: None,
            started_unix_ms: 0,
            restarts: 0,
            detail: String::new(),
            last_failure: None,
            last_exit: None,
            elsewhere: (0, Duration::ZERO),
            crashes: VecDeque::new(),
            silent_ends: 0,
            row: 0,
            crash_looping: false,
        }
    }

    /// Creates a slot that starts when a request arrives.
    pub(super) fn asleep(at: Duration, idle: Duration) -> Self {
        Self { process: InstanceProcess::Asleep, detail: messages::asleep(idle), ..Self::waiting(at) }
    }

    /// True if it has no process, and none is being started.
    pub(super) fn has_no_process(&self) -> bool {
        matches!(self.process, InstanceProcess::Waiting { .. } | InstanceProcess::Asleep)
    }

    pub(super) fn unhealthy(&self) -> bool {
        matches!(self.process, InstanceProcess::Running { health: Health::Unhealthy, .. })
    }

    /// Creates the slot of an adopted instance. It served before the agent's restart, so it keeps serving until a check
    /// fails.
    pub(super) fn adopted(adopted: &AdoptedInstance, at: Duration) -> Self {
        Self {
            process: InstanceProcess::Running { since: at, health: Health::Unknown },
            pid: adopted.pid,
            assigned_port: adopted.address.as_ref().and_then(port_of).unwrap_or_default(),
            port: adopted.address.as_ref().and_then(port_of).unwrap_or_default(),
            address: adopted.address.clone(),
            started_unix_ms: adopted.started_unix_ms,
            restarts: adopted.restarts,
            ..Self::waiting(at)
        }
    }

    pub(super) fn started(&mut self, pid: u32, port: u16, started_unix_ms: u64, at: Duration) {
        self.process = InstanceProcess::Running { since: at, health: Health::Unknown };
        (self.pid, self.port, self.started_unix_ms) = (pid, port, started_unix_ms);
        self.assigned_port = port;
        (self.address, self.last_failure, self.elsewhere) = (None, None, (0, at));
    }

    /// Returns the ports that it has settled on instead of its own.
    pub(super) fn settled_elsewhere(&self, at: Duration) -> Option<&[u16]> {
        let (count, since) = self.elsewhere;
        let is_settled = count >= ELSEWHERE_CHECKS && at.saturating_sub(since) >= ELSEWHERE_LEAST;
        match &self.last_failure {
            Some(HealthCheckFailure::Elsewhere { ports }) if is_settled => Some(ports),
            _ => None,
        }
    }

    pub(super) fn probed(&mut self, result: Result<UpstreamAddress, HealthCheckFailure>, at: Duration) {
        let InstanceProcess::Running { health, .. } = &mut self.process else { return };
        self.elsewhere = match (&result, self.elsewhere) {
            (Err(HealthCheckFailure::Elsewhere { .. }), (0, _)) => (1, at),
            (Err(HealthCheckFailure::Elsewhere { .. }), (count, since)) => (count.saturating_add(1), since),
            _ => (0, at),
        };
        match result {
            Ok(address) => {
                *health = Health::Healthy { failures: 0 };
                // An app in its own network may choose another port.
                self.port = port_of(&address).unwrap_or(self.port);
                (self.address, self.last_failure) = (Some(address), None);
                self.detail.clear();
            }
            Err(failure) => {
                *health = match *health {
                    Health::Healthy { failures } if failures + 1 < FAILURES_MAX => {
                        Health::Healthy { failures: failures + 1 }
                    }
                    Health::Healthy { .. } | Health::Unhealthy => Health::Unhealthy,
                    Health::Unknown => Health::Unknown,
                };
                if *health == Health::Unhealthy {
                    self.detail = messages::check_failure(&failure, self.port);
                }
                self.last_failure = Some(failure);
            }
        }
    }

    pub(super) fn exited(&mut self, exit: &Exit, rollout: bool, at: Duration) {
        let ran = match self.process {
            InstanceProcess::Running { since, .. } => at.saturating_sub(since),
            _ => Duration::ZERO,
        };
        if ran >= STEADY {
            self.row = 0;
        }
        let is_stopped = exit.unresponsive || exit.layer.is_some();
        let is_silent = exit.code == Some(0) && !is_stopped && self.has_never_listened();
        self.silent_ends = if is_silent { self.silent_ends + 1 } else { 0 };
        let (pause, crash_looping) = if rollout {
            let pause = ROLLOUT_PAUSES_MS.get(self.row).or(ROLLOUT_PAUSES_MS.last()).copied().unwrap_or_default();
            (Duration::from_millis(pause), false)
        } else {
            restart::pause(self.row)
        };
        (self.row, self.crash_looping) = (self.row + 1, crash_looping);
        self.crashes.push_back(at);
        if self.crashes.len() > 16 {
            self.crashes.pop_front();
        }
        self.process = InstanceProcess::Waiting { at: at.saturating_add(pause) };
        (self.pid, self.address) = (0, None);
        self.restarts = self.restarts.saturating_add(1);
        self.detail =
            if crash_looping { restart::crash_looping(&messages::ended(exit)) } else { messages::ended(exit) };
        self.last_exit = Some(exit.clone());
    }

    /// True if it exited with code 0 each time, so that another start changes nothing.
    pub(super) fn is_no_server(&self) -> bool {
        self.silent_ends >= SILENT_ENDS_MAX
    }

    /// True if its last process exited with code 0 and was never seen to listen.
    pub(super) fn has_ended_silently(&self) -> bool {
        self.silent_ends > 0
    }

    /// True if its current process was never seen to listen, on any port.
    fn has_never_listened(&self) -> bool {
        let is_silent = match &self.last_failure {
            None => true,
            Some(HealthCheckFailure::Refused { listening }) => listening.is_empty(),
            Some(_) => false,
        };
        is_silent && matches!(self.process, InstanceProcess::Running { health: Health::Unknown, .. })
    }

    pub(super) fn crashes_since(&self, from: Duration) -> usize {
        self.crashes.iter().filter(|at| **at >= from).count()
    }

    pub(super) fn healthy(&self) -> bool {
        matches!(self.process, InstanceProcess::Running { health: Health::Healthy { .. }, .. })
    }

    /// True if it runs and has answered before: such an instance is routed to when none is healthy.
    pub(super) fn routable(&self) -> bool {
        matches!(self.process, InstanceProcess::Running { .. }) && self.address.is_some()
    }

    pub(super) fn state(&self) -> InstanceState {
        match &self.process {
            InstanceProcess::Waiting { .. } if self.crash_looping => InstanceState::CrashLooping,
            InstanceProcess::Asleep => InstanceState::Asleep,
            InstanceProcess::Waiting { .. } if self.last_exit.is_some() => InstanceState::Crashed,
            InstanceProcess::Waiting { .. } | InstanceProcess::Starting => InstanceState::Starting,
            InstanceProcess::Running { health, .. } => match health {
                Health::Unknown => InstanceState::Starting,
                Health::Healthy { .. } => InstanceState::Healthy,
                Health::Unhealthy => InstanceState::Unhealthy,
            },
        }
    }
}

fn port_of(address: &UpstreamAddress) -> Option<u16> {
    match address {
        UpstreamAddress::Tcp { address, .. } | UpstreamAddress::Namespace { address: Some(address), .. } => {
            Some(address.port())
        }
        UpstreamAddress::Unix { .. } | UpstreamAddress::Namespace { address: None, .. } => None,
    }
}
