//! Progress of a rollout from its first healthy instances to the switch: all at once, in batches, or as a canary.
//! Decides which new instances receive requests and rolls back on failure; starts and stops nothing itself.

use std::collections::BTreeSet;
use std::time::Duration;

use fairlead_model::{BenchmarkGate, Canary, DeploymentId, Failure, Hook, InstanceId, Step, StepState};
use serde::{Deserialize, Serialize};

use super::canary::{CanaryOutcome, Traffic, compare};
use super::event::{Now, RolloutAction};
use super::group::{Group, InstanceProcess, InstanceSlot};
use super::{AppState, SWITCH_TIMEOUT, messages};

/// Maximum time that failed new instances keep serving while the old release is scaled back up.
const ROLLBACK_LIMIT: Duration = Duration::from_secs(600);

/// Recorded progress of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutProgress {
    pub(super) deployment: DeploymentId,
    /// New instances that receive requests beside the old ones.
    pub(super) admitted: BTreeSet<InstanceId>,
    /// Number of old instances that were stopped for them.
    pub(super) retired: usize,
    /// Number of canary percentages that passed.
    pub(super) tried: usize,
    /// True if the benchmark gate was passed.
    #[serde(default)]
    pub(super) measured: bool,
}

/// Pending group, which starts beside the serving one.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) group: Group,
    /// Health deadline, counted from the first start; `None` before it, and for a release that needs no deployment.
    pub(super) deadline: Option<Duration>,
    pub(super) start_timeout: Duration,
    /// Command to run before any instance starts.
    pub(super) hook: Option<Hook>,
    /// Number of instances replaced at a time; zero for all.
    pub(super) batch: usize,
    pub(super) canary: Option<Canary>,
    /// Benchmark gate; `None` if there is none, or after it was passed.
    pub(super) gate: Option<BenchmarkGate>,
    /// Number of instances that it should have now.
    pub(super) wanted: usize,
    pub(super) admitted: BTreeSet<InstanceId>,
    pub(super) retired: usize,
    pub(super) tried: usize,
    pub(super) stage: RolloutStage,
}

#[derive(Debug, Clone)]
pub(super) enum RolloutStage {
    /// Waits until all its instances are healthy.
    Starting,
    /// Waits for the verdict of the load on one of them.
    Measuring { instance: InstanceId, deadline: Duration },
    /// Waits for the proxy to confirm that they receive requests.
    Admitting { generation: u64, deadline: Duration },
    /// Observes them while they receive a share of the requests.
    Trying(Box<CanaryTrial>),
}

/// Trial of one canary percentage.
#[derive(Debug, Clone)]
pub(super) struct CanaryTrial {
    generation: u64,
    /// Deadline for the proxy to confirm the share.
    deadline: Duration,
    /// Time of the proxy's confirmation.
    since: Option<Duration>,
    old: Traffic,
    new: Traffic,
}

/// Failed group that keeps serving until the old one has as many instances as before.
#[derive(Debug, Clone)]
pub(super) struct Rollback {
    pub(super) group: Group,
    pub(super) until: Duration,
}

impl Pending {
    /// Returns the number of instances to have now, of `total`.
    pub(super) fn wanted(&mut self, total: usize) -> usize {
        if self.hook.is_some() {
            return 0;
        }
        let all = self.batch == 0 || self.batch >= total;
        self.wanted = if all { total } else { self.wanted.clamp(self.batch, total) };
        self.wanted
    }

    fn percent(&self) -> Option<u32> {
        self.canary.as_ref()?.step_percents.get(self.tried).copied()
    }

    pub(super) fn trial_percent(&self) -> Option<u32> {
        matches!(self.stage, RolloutStage::Trying(_)).then(|| self.percent()).flatten()
    }

    /// Returns the time at which the state machine must run again.
    pub(super) fn due(&self) -> Option<Duration> {
        let staged = match &self.stage {
            RolloutStage::Starting => None,
            RolloutStage::Measuring { deadline, .. } | RolloutStage::Admitting { deadline, .. } => Some(*deadline),
            RolloutStage::Trying(trial) => Some(match (trial.since, &self.canary) {
                (Some(since), Some(canary)) => since.saturating_add(canary.step_duration),
                _ => trial.deadline,
            }),
        };
        [self.deadline, staged].into_iter().flatten().min()
    }
}

impl AppState {
    /// Returns the progress to record for the current rollout.
    pub(super) fn progress(&self) -> Option<RolloutProgress> {
        let pending = self.pending.as_ref()?;
        let deployment = pending.group.deployment.clone()?;
        let measured = pending.gate.is_none() && self.has_gate(&deployment);
        if pending.admitted.is_empty() && pending.tried == 0 && !measured {
            return None;
        }
        Some(RolloutProgress {
            deployment,
            measured,
            admitted: pending.admitted.clone(),
            retired: pending.retired,
            tried: pending.tried,
        })
    }

    /// Resumes at the recorded progress.
    pub(super) fn resume_progress(&self, pending: &mut Pending) {
        let Some(progress) = &self.progressed else { return };
        if pending.group.deployment.as_ref() == Some(&progress.deployment) {
            let present = |id: &&InstanceId| pending.group.slots.contains_key(*id);
            pending.admitted = progress.admitted.iter().filter(present).cloned().collect();
            pending.retired = progress.retired.min(pending.admitted.len());
            pending.tried = progress.tried;
            if progress.measured {
                pending.gate = None;
            }
        }
        pending.wanted = pending.group.slots.len();
    }

    /// Returns the names of the two sides of a canary, for which the proxy counts requests.
    pub(super) fn sides(&self) -> Option<[String; 2]> {
        let pending = self.pending.as_ref().filter(|pending| pending.trial_percent().is_some())?;
        let deployment = pending.group.deployment.as_ref()?;
        Some([format!("{deployment}/old"), format!("{deployment}/new")])
    }

    /// True if it waits for the traffic of this side.
    pub fn watches(&self, side: &str) -> bool {
        self.sides().is_some_and(|sides| sides.iter().any(|known| known == side))
    }

    pub(super) fn count_traffic(&mut self, side: &str, traffic: &Traffic) {
        let Some([old, new]) = self.sides() else { return };
        let Some(Pending { stage: RolloutStage::Trying(trial), .. }) = &mut self.pending else { return };
        if trial.since.is_none() {
            return;
        }
        if side == old {
            trial.old.merge(traffic);
        } else if side == new {
            trial.new.merge(traffic);
        }
    }

    /// Handles the proxy's confirmation of a route table.
    pub(super) fn advance_confirmed(&mut self, generation: u64, now: Now) {
        let Some(pending) = &mut self.pending else { return };
        match &mut pending.stage {
            RolloutStage::Admitting { generation: wanted, .. } if generation >= *wanted => {
                pending.retired = pending.admitted.len();
                (pending.stage, pending.deadline) = (RolloutStage::Starting, None);
            }
            RolloutStage::Trying(trial) if generation >= trial.generation && trial.since.is_none() => {
                trial.since = Some(now.at)
            }
            _ => {}
        }
    }

    /// Handles the proxy's refusal of a route table that the rollout waits for.
    pub(super) fn advance_refused(&mut self, generation: u64, error: &str, now: Now, actions: &mut Vec<RolloutAction>) {
        let waits = self.pending.as_ref().is_some_and(|pending| match &pending.stage {
            RolloutStage::Starting | RolloutStage::Measuring { .. } => false,
            RolloutStage::Admitting { generation: wanted, .. } => generation >= *wanted,
            RolloutStage::Trying(trial) => trial.since.is_none() && generation >= trial.generation,
        });
        if waits {
            self.fail_pending(messages::routes_refused(error), None, now, actions);
        }
    }

    /// Starts the next batch after the instances that the last one replaced are gone.
    pub(super) fn begin_batch(&mut self, total: usize) {
        let leaving = self.leaving.values().any(|leaving| leaving.hook.is_none());
        let old = self.serving.as_ref().map_or(0, |group| group.slots.len());
        let Some(pending) =
            self.pending.as_mut().filter(|pending| matches!(pending.stage, RolloutStage::Starting) && !leaving)
        else {
            return;
        };
        if pending.batch > 0
            && pending.retired > 0
            && pending.retired == pending.group.slots.len()
            && old + pending.retired == total
            && pending.retired < total
        {
            pending.wanted = (pending.retired + pending.batch).min(total);
        }
    }

    pub(super) fn check_pending(&mut self, total: usize, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(pending) = self.pending.as_ref().filter(|pending| pending.hook.is_none()) else { return };
        let deployment = pending.group.deployment.clone();
        let running = pending.group.slots.values().all(|slot| matches!(slot.process, InstanceProcess::Running { .. }));
        if running && self.running_step(deployment.as_ref()) == Some(Step::Start) {
            self.write_log(deployment.clone(), Step::Health, messages::waiting(&pending.group), actions);
            self.finish_step(deployment.as_ref(), Step::Start, StepState::Done, now);
            self.begin_step(deployment.as_ref(), Step::Health, now);
        }
        let Some(pending) = &self.pending else { return };
        let sick = pending
            .admitted
            .iter()
            .find(|id| pending.group.slots.get(*id).is_some_and(InstanceSlot::unhealthy))
            .cloned();
        if let Some(id) = sick {
            let detail = pending.group.slots.get(&id).map(|slot| slot.detail.clone()).unwrap_or_default();
            return self.fail_pending(messages::sick_when_admitted(&detail), Some(&id), now, actions);
        }
        match &pending.stage {
            RolloutStage::Trying(trial) => self.check_trial(&trial.clone(), total, now, actions),
            RolloutStage::Measuring { deadline, .. } => self.check_gate(*deadline, now, actions),
            RolloutStage::Admitting { deadline, .. } if now.at >= *deadline => {
                self.fail_pending(messages::routes_unconfirmed(SWITCH_TIMEOUT), None, now, actions);
            }
            RolloutStage::Admitting { .. } => {}
            RolloutStage::Starting if pending.group.slots.values().all(InstanceSlot::healthy) => {
                self.advance(total, now, actions)
            }
            RolloutStage::Starting if pending.deadline.is_some() && self.elsewhere(now).is_some() => {
                let Some((id, failure)) = self.elsewhere(now) else { return };
                self.fail_pending(failure, Some(&id), now, actions);
            }
            RolloutStage::Starting if pending.deadline.is_some_and(|deadline| now.at >= deadline) => {
                let waiting = pending.group.slots.iter().find(|(_, slot)| !slot.healthy());
                let Some((id, slot)) = waiting else { return };
                let failure = messages::deadline(slot, &pending.group.release, pending.start_timeout);
                let id = id.clone();
                self.fail_pending(failure, Some(&id), now, actions);
            }
            RolloutStage::Starting => {}
        }
    }

    /// Finds a new instance that listens on other ports than its own: waiting would change nothing.
    fn elsewhere(&self, now: Now) -> Option<(InstanceId, Failure)> {
        let slots = &self.pending.as_ref().filter(|pending| pending.group.deployment.is_some())?.group.slots;
        slots.iter().find_map(|(id, slot)| {
            let ports = slot.settled_elsewhere(now.at)?;
            Some((id.clone(), messages::wrong_port(ports, slot.port)))
        })
    }

    /// Advances once all started instances are healthy: to a canary share, the next batch or the switch.
    fn advance(&mut self, total: usize, now: Now, actions: &mut Vec<RolloutAction>) {
        let generation = self.generation + 1;
        let Some(pending) = &mut self.pending else { return };
        pending.deadline = None;
        if self.begin_gate(now, actions) {
            return;
        }
        let Some(pending) = &mut self.pending else { return };
        let deployment = pending.group.deployment.clone();
        let old_serve = self.serving.as_ref().is_some_and(|group| group.slots.values().any(InstanceSlot::routable));
        if let Some(percent) = pending.percent().filter(|_| old_serve) {
            pending.admitted = pending.group.slots.keys().cloned().collect();
            let deadline = now.at + SWITCH_TIMEOUT;
            let (old, new) = (Traffic::default(), Traffic::default());
            pending.stage = RolloutStage::Trying(Box::new(CanaryTrial { generation, deadline, since: None, old, new }));
            let hold = pending.canary.as_ref().map(|canary| canary.step_duration).unwrap_or_default();
            if self.running_step(deployment.as_ref()) != Some(Step::Canary) {
                self.finish_step(deployment.as_ref(), Step::Health, StepState::Done, now);
                self.begin_step(deployment.as_ref(), Step::Canary, now);
            }
            return self.write_log(deployment, Step::Canary, messages::trying(percent, hold), actions);
        }
        if pending.group.slots.len() >= total {
            return self.switch(now, actions);
        }
        if pending.retired == pending.group.slots.len() {
            // The instances that they replaced are leaving.
            return;
        }
        pending.admitted = pending.group.slots.keys().cloned().collect();
        pending.stage = RolloutStage::Admitting { generation, deadline: now.at + SWITCH_TIMEOUT };
        let text = messages::admitting(pending.admitted.len(), total);
        self.begin_switch(deployment.as_ref(), now);
        self.write_log(deployment, Step::Switch, text, actions);
    }

    /// Begins the switch step once: a rollout in batches switches more than once.
    pub(super) fn begin_switch(&mut self, deployment: Option<&DeploymentId>, now: Now) {
        if self.running_step(deployment) != Some(Step::Switch) {
            self.finish_step(deployment, Step::Health, StepState::Done, now);
            self.begin_step(deployment, Step::Switch, now);
        }
    }

    fn check_trial(&mut self, trial: &CanaryTrial, total: usize, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(Pending { group, canary: Some(canary), tried, .. }) = &self.pending else { return };
        let (deployment, percent) =
            (group.deployment.clone(), canary.step_percents.get(*tried).copied().unwrap_or_default());
        let Some(since) = trial.since else {
            if now.at >= trial.deadline {
                self.fail_pending(messages::routes_unconfirmed(SWITCH_TIMEOUT), None, now, actions);
            }
            return;
        };
        let outcome = compare(canary, &trial.old, &trial.new);
        if let CanaryOutcome::Bad(figures) = outcome {
            return self.fail_pending(messages::canary_bad(percent, &figures), None, now, actions);
        }
        if now.at < since.saturating_add(canary.step_duration) {
            return;
        }
        let decided = outcome == CanaryOutcome::Well;
        let text = messages::canary_passed(percent, trial.new.requests, trial.new.errors, decided);
        self.write_log(deployment.clone(), Step::Canary, text, actions);
        if let Some(pending) = &mut self.pending {
            pending.tried += 1;
            pending.stage = RolloutStage::Starting;
            if pending.percent().is_none() {
                self.finish_step(deployment.as_ref(), Step::Canary, StepState::Done, now);
            }
        }
        self.advance(total, now, actions);
    }

    /// Withdraws a group that may receive requests. If old instances are already gone, it keeps serving until they are
    /// back.
    pub(super) fn withdraw(
        &mut self,
        mut group: Group,
        admitted: &BTreeSet<InstanceId>,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        let total = self.total();
        let slots = std::mem::take(&mut group.slots);
        let (with, without) = slots.into_iter().partition(|(id, _)| admitted.contains(id));
        let mut idle = group.without_slots();
        (group.slots, idle.slots) = (with, without);
        self.stop_group(idle, now, actions);
        let short = self.serving.as_ref().is_some_and(|serving| serving.slots.len() < total);
        if short && group.slots.values().any(InstanceSlot::healthy) {
            if let Some(former) = self.rollback.replace(Rollback { group, until: now.at + ROLLBACK_LIMIT }) {
                self.leave(former.group, false, now);
            }
        } else {
            self.leave(group, false, now);
        }
    }

    /// Ends a rollback once the old release has its full number of instances.
    pub(super) fn check_rollback(&mut self, total: usize, now: Now) {
        let back = self
            .serving
            .as_ref()
            .is_some_and(|serving| serving.slots.len() >= total && serving.slots.values().all(InstanceSlot::healthy));
        if let Some(rollback) = self.rollback.take_if(|rollback| back || now.at >= rollback.until) {
            self.leave(rollback.group, false, now);
        }
    }

    /// Handles the exit of an instance that already receives requests.
    pub(super) fn crashed_when_admitted(
        &mut self,
        id: &InstanceId,
        failure: Failure,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) -> bool {
        let admitted = self.pending.as_ref().is_some_and(|pending| pending.admitted.contains(id));
        if admitted {
            self.fail_pending(failure, Some(id), now, actions);
        }
        admitted
    }
}
