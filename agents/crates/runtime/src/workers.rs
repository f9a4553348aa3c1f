//! Pure state machine of an app's workers: processes of its live release that have no port and no routes. Never does
//! I/O, never reads a clock.

use std::collections::BTreeMap;
use std::time::Duration;

use fairlead_model::{
    AppKey, DeploymentId, InstanceId, InstanceState, InstanceStatus, ProcessSpec, ReleaseId, ReleaseSpec,
};

use crate::restart;
use crate::rollout::{AdoptedInstance, Exit, ended};

/// Time after its stop timeout at which an unconfirmed stop is sent again.
const STOP_SLACK: Duration = Duration::from_secs(10);

/// Action on a worker; its outcome comes back through `started` or `exited`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WorkerAction {
    Start {
        instance: InstanceId,
        release: Box<ReleaseSpec>,
        process: ProcessSpec,
        deployment: Option<DeploymentId>,
        restarts: u32,
    },
    Stop {
        instance: InstanceId,
        stop_timeout: Duration,
    },
    /// Removes the folder of a worker that has ended for good.
    Forget {
        instance: InstanceId,
    },
}

/// Workers of one app.
///
/// They follow the release that has the routes, so that a failed rollout never touches them. After a switch, the old
/// release's workers stop before the new ones start: no two releases work at once. They sleep and wake with their app,
/// except those that stay awake.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workers {
    slots: BTreeMap<InstanceId, WorkerSlot>,
    /// True if the release's folder exists.
    ready: bool,
}

/// Release with the workers that should run.
pub(crate) struct WorkerTarget<'a> {
    pub(crate) release: &'a ReleaseSpec,
    pub(crate) deployment: Option<&'a DeploymentId>,
    /// True if the app sleeps.
    pub(crate) sleeps: bool,
}

impl WorkerTarget<'_> {
    fn processes(&self) -> impl Iterator<Item = &ProcessSpec> {
        self.release.workers.iter().filter(|worker| worker.stays_awake || !self.sleeps)
    }
}

#[derive(Debug, Clone)]
struct WorkerSlot {
    process: String,
    release: ReleaseId,
    secrets: Option<String>,
    stop_timeout: Duration,
    stage: WorkerStage,
    pid: u32,
    started_unix_ms: u64,
    restarts: u32,
    row: usize,
    crash_looping: bool,
    detail: String,
}

#[derive(Debug, Clone, PartialEq)]
enum WorkerStage {
    Waiting { at: Duration },
    Starting,
    Running { since: Duration },
    Stopping { again_at: Duration },
}

fn secrets(release: &ReleaseSpec) -> Option<&String> {
    release.secrets.as_ref().map(|secrets| &secrets.version)
}

impl Workers {
    /// Adopts a worker that was started before an agent restart and still runs.
    pub(crate) fn adopt(&mut self, process: String, adopted: AdoptedInstance, at: Duration) {
        let slot = WorkerSlot {
            process,
            release: adopted.release,
            secrets: adopted.secrets,
            stop_timeout: adopted.stop_timeout,
            stage: WorkerStage::Running { since: at },
            pid: adopted.pid,
            started_unix_ms: adopted.started_unix_ms,
            restarts: adopted.restarts,
            row: 0,
            crash_looping: false,
            detail: String::new(),
        };
        self.slots.insert(adopted.instance, slot);
    }

    /// Handles the start of a worker's process.
    pub(crate) fn started(&mut self, instance: &InstanceId, pid: u32, started_unix_ms: u64, at: Duration) {
        let Some(slot) = self.slots.get_mut(instance) else { return };
        (slot.pid, slot.started_unix_ms) = (pid, started_unix_ms);
        if slot.stage == WorkerStage::Starting {
            slot.stage = WorkerStage::Running { since: at };
        }
    }

    /// Handles the exit of a worker; it is restarted unless it was asked to end.
    pub(crate) fn exited(&mut self, instance: &InstanceId, exit: &Exit, at: Duration) -> Vec<WorkerAction> {
        let Some(slot) = self.slots.get_mut(instance) else { return Vec::new() };
        if matches!(slot.stage, WorkerStage::Stopping { .. }) {
            self.slots.remove(instance);
            return vec![WorkerAction::Forget { instance: instance.clone() }];
        }
        if matches!(slot.stage, WorkerStage::Running { since } if at.saturating_sub(since) >= restart::STEADY) {
            slot.row = 0;
        }
        let (pause, crash_looping) = restart::pause(slot.row);
        slot.row += 1;
        slot.crash_looping = crash_looping;
        slot.stage = WorkerStage::Waiting { at: at.saturating_add(pause) };
        slot.pid = 0;
        slot.restarts = slot.restarts.saturating_add(1);
        slot.detail = if crash_looping { restart::crash_looping(&ended(exit)) } else { ended(exit) };
        Vec::new()
    }

    /// Moves the running workers towards the target. `ready`: the release's folder exists, so that a process can start
    /// in it.
    pub(crate) fn reconcile(
        &mut self,
        target: Option<WorkerTarget<'_>>,
        ready: bool,
        at: Duration,
        new_instance: &mut dyn FnMut() -> InstanceId,
    ) -> Vec<WorkerAction> {
        self.ready = ready;
        let mut actions = Vec::new();
        self.stop_unwanted(target.as_ref(), at, &mut actions);
        if let Some(target) = target {
            self.add_missing(&target, at, new_instance);
            if ready {
                self.start_due(&target, at, &mut actions);
            }
        }
        actions
    }

    fn stop_unwanted(&mut self, target: Option<&WorkerTarget<'_>>, at: Duration, actions: &mut Vec<WorkerAction>) {
        let mut room: BTreeMap<&str, u32> = BTreeMap::new();
        for worker in target.into_iter().flat_map(WorkerTarget::processes) {
            room.insert(&worker.name, worker.instances);
        }
        // Running workers stay before waiting ones.
        let mut order: Vec<(bool, InstanceId)> = self
            .slots
            .iter()
            .map(|(id, slot)| (!matches!(slot.stage, WorkerStage::Running { .. }), id.clone()))
            .collect();
        order.sort();
        for (_, id) in order {
            let Some(slot) = self.slots.get_mut(&id) else { continue };
            let theirs = target.is_some_and(|target| {
                slot.release == target.release.id && slot.secrets.as_ref() == secrets(target.release)
            });
            if let WorkerStage::Stopping { again_at } = slot.stage {
                if at >= again_at {
                    slot.stop(&id, at, actions);
                }
                continue;
            }
            let place = room.get_mut(slot.process.as_str()).filter(|left| theirs && **left > 0);
            if let Some(left) = place {
                *left -= 1;
            } else if matches!(slot.stage, WorkerStage::Waiting { .. }) {
                self.slots.remove(&id);
                actions.push(WorkerAction::Forget { instance: id });
            } else {
                slot.stop(&id, at, actions);
            }
        }
    }

    fn add_missing(&mut self, target: &WorkerTarget<'_>, at: Duration, new_instance: &mut dyn FnMut() -> InstanceId) {
        for worker in target.processes() {
            let of_it = self.slots.values().filter(|slot| slot.process == worker.name);
            // Stopping workers must have ended first: see `Workers`.
            if of_it.clone().any(|slot| matches!(slot.stage, WorkerStage::Stopping { .. })) {
                continue;
            }
            for _ in of_it.count()..usize::try_from(worker.instances).unwrap_or_default() {
                let slot = WorkerSlot {
                    process: worker.name.clone(),
                    release: target.release.id.clone(),
                    secrets: secrets(target.release).cloned(),
                    stop_timeout: target.release.stop_timeout,
                    stage: WorkerStage::Waiting { at },
                    pid: 0,
                    started_unix_ms: 0,
                    restarts: 0,
                    row: 0,
                    crash_looping: false,
                    detail: String::new(),
                };
                self.slots.insert(new_instance(), slot);
            }
        }
    }

    fn start_due(&mut self, target: &WorkerTarget<'_>, at: Duration, actions: &mut Vec<WorkerAction>) {
        for (id, slot) in &mut self.slots {
            let spec = target.release.workers.iter().find(|worker| worker.name == slot.process);
            let (WorkerStage::Waiting { at: due }, Some(process)) = (&slot.stage, spec) else { continue };
            if at < *due {
                continue;
            }
            slot.stage = WorkerStage::Starting;
            slot.crash_looping = false;
            actions.push(WorkerAction::Start {
                instance: id.clone(),
                release: Box::new(target.release.clone()),
                process: process.clone(),
                deployment: target.deployment.cloned(),
                restarts: slot.restarts,
            });
        }
    }

    /// Returns the latest time of the next `reconcile`.
    pub(crate) fn due(&self) -> Option<Duration> {
        let due = |slot: &WorkerSlot| match slot.stage {
            WorkerStage::Waiting { at } if self.ready => Some(at),
            WorkerStage::Stopping { again_at } => Some(again_at),
            _ => None,
        };
        self.slots.values().filter_map(due).min()
    }

    /// True if no worker is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Lists the releases that workers run.
    pub(crate) fn releases(&self) -> impl Iterator<Item = &ReleaseId> {
        self.slots.values().map(|slot| &slot.release)
    }

    /// Lists the status of every worker.
    pub(crate) fn statuses(&self, key: &AppKey) -> Vec<InstanceStatus> {
        let status = |(id, slot): (&InstanceId, &WorkerSlot)| InstanceStatus {
            id: id.clone(),
            key: key.clone(),
            release: slot.release.clone(),
            state: match slot.stage {
                WorkerStage::Waiting { .. } if slot.crash_looping => InstanceState::CrashLooping,
                WorkerStage::Waiting { .. } if slot.restarts > 0 => InstanceState::Crashed,
                WorkerStage::Waiting { .. } | WorkerStage::Starting => InstanceState::Starting,
                // A worker has no checks: a running process counts as healthy.
                WorkerStage::Running { .. } => InstanceState::Healthy,
                WorkerStage::Stopping { .. } => InstanceState::Draining,
            },
            pid: slot.pid,
            port: 0,
            restarts: slot.restarts,
            started_unix_ms: slot.started_unix_ms,
            detail: if matches!(slot.stage, WorkerStage::Running { .. }) { String::new() } else { slot.detail.clone() },
            process: slot.process.clone(),
            cpu_millis: 0,
            memory_bytes: 0,
        };
        self.slots.iter().map(status).collect()
    }
}

impl WorkerSlot {
    fn stop(&mut self, id: &InstanceId, at: Duration, actions: &mut Vec<WorkerAction>) {
        self.stage =
            WorkerStage::Stopping { again_at: at.saturating_add(self.stop_timeout).saturating_add(STOP_SLACK) };
        actions.push(WorkerAction::Stop { instance: id.clone(), stop_timeout: self.stop_timeout });
    }
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;
