//! Derived state of an app: routes, reported status, recorded state and the next deadline.

use std::time::Duration;

use fairlead_model::{
    AppKey, DeploymentId, Failure, InstanceId, InstanceState, InstanceStatus, ReleaseId, ReleaseSpec, RolloutStatus,
    Step, StepState, StepStatus, WorkState,
};

use super::advance::Pending;
use super::canary::weights;
use super::event::{Now, RolloutAction, UpstreamEndpoint};
use super::group::{InstanceProcess, InstanceSlot};
use super::{AppRecord, AppState, LeavingStage};

/// Default weight of an instance.
const WEIGHT: u32 = 100;

impl AppState {
    /// Returns the addresses of the app's routes, by instance.
    pub fn upstreams(&self) -> &[UpstreamEndpoint] {
        &self.upstreams
    }

    /// Returns the generation, which grows whenever `upstreams` changes; `RolloutEvent::RoutesApplied` answers with it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the state to save. Until the proxy has confirmed a switch, a restart returns to the previous group.
    pub fn record(&self) -> AppRecord {
        let serving = match &self.switching {
            Some(switching) => switching.previous.as_ref(),
            None => self.serving.as_ref(),
        };
        let restored = || self.restored.clone();
        AppRecord {
            serving: serving.map(|group| (group.release.clone(), group.deployment.clone())).or_else(restored),
            rollouts: self.rollouts.values().cloned().collect(),
            hooks: self.hooks.clone(),
            progress: self.progress().or_else(|| self.progressed.clone().filter(|_| self.desired.is_none())),
            scaled: self.autoscaler.count,
        }
    }

    /// True if nothing of the app is left, so that it may be dropped.
    pub fn is_gone(&self) -> bool {
        let idle = self.serving.is_none() && self.pending.is_none() && self.switching.is_none() && self.hook.is_none();
        self.desired.is_none() && idle && self.leaving.is_empty() && self.adopted.is_empty()
    }

    /// Returns the latest time of the next `RolloutEvent::Tick`.
    pub fn next_deadline(&self) -> Option<Duration> {
        let groups = self.serving.iter().chain(self.pending.iter().map(|pending| &pending.group));
        let leaving = self.leaving.values().map(|leaving| leaving.stage.due());
        groups
            .filter_map(|group| group.due())
            .chain(self.pending.iter().filter_map(Pending::due))
            .chain(self.hook.iter().map(|hook| hook.deadline))
            .chain(self.rollback.iter().map(|rollback| rollback.until))
            .chain(self.switch_due())
            .chain(leaving)
            .min()
    }

    /// Lists the releases that are in use.
    pub fn releases(&self) -> impl Iterator<Item = &ReleaseId> {
        let previous = self.switching.iter().filter_map(|switching| switching.previous.as_ref());
        let rollback = self.rollback.iter().map(|rollback| &rollback.group);
        let groups = self
            .serving
            .iter()
            .chain(self.pending.iter().map(|pending| &pending.group))
            .chain(previous)
            .chain(rollback);
        groups
            .map(|group| &group.release.id)
            .chain(self.leaving.values().map(|leaving| &leaving.release))
            .chain(self.adopted.values().map(|adopted| &adopted.release))
    }

    /// Lists the status of every instance.
    pub fn instances(&self) -> Vec<InstanceStatus> {
        let previous = self.switching.iter().filter_map(|switching| switching.previous.as_ref());
        let rollback = self.rollback.iter().map(|rollback| &rollback.group);
        let groups = self
            .serving
            .iter()
            .chain(self.pending.iter().map(|pending| &pending.group))
            .chain(previous)
            .chain(rollback);
        let current = groups.flat_map(|group| {
            group.slots.iter().map(|(id, slot)| status(&self.key, id, slot, &group.release.id, slot.state()))
        });
        let leaving = self.leaving.iter().filter(|(_, leaving)| leaving.hook.is_none()).map(|(id, leaving)| {
            let state = match leaving.stage {
                LeavingStage::Draining { .. } | LeavingStage::Stopping { .. } => InstanceState::Draining,
            };
            status(&self.key, id, &leaving.slot, &leaving.release, state)
        });
        current.chain(leaving).collect()
    }

    /// Lists the status of every rollout.
    pub fn rollouts(&self) -> impl Iterator<Item = &RolloutStatus> {
        self.rollouts.values()
    }

    /// Recomputes the routes; a change makes a new generation.
    pub(super) fn publish(&mut self) {
        let mut upstreams = Vec::new();
        if let Some(group) = &self.serving {
            let healthy = group.slots.values().any(InstanceSlot::healthy);
            let usable = group.slots.iter().filter(|(_, slot)| if healthy { slot.healthy() } else { slot.routable() });
            upstreams.extend(usable.filter_map(|(id, slot)| upstream(id, slot, None)));
        }
        let rollback =
            self.rollback.iter().flat_map(|rollback| &rollback.group.slots).filter(|(_, slot)| slot.healthy());
        upstreams.extend(rollback.filter_map(|(id, slot)| upstream(id, slot, None)));
        self.publish_admitted(&mut upstreams);
        let previous = self.switching.iter().filter_map(|switching| switching.previous.as_ref());
        upstreams.extend(previous.flat_map(|group| {
            group.slots.iter().filter_map(|(id, slot)| upstream(id, slot, Some(group.release.drain_timeout)))
        }));
        let leaving = self.leaving.iter().filter(|(_, leaving)| leaving.slot.routable());
        upstreams.extend(leaving.filter_map(|(id, leaving)| upstream(id, &leaving.slot, Some(leaving.stage.limit()))));
        if upstreams != self.upstreams || (self.generation == 0 && self.desired.is_some()) {
            self.upstreams = upstreams;
            self.generation += 1;
        }
        if let Some((_, served @ None)) = &mut self.waking
            && self.upstreams.iter().any(|upstream| !upstream.draining)
        {
            *served = Some(self.generation);
        }
    }

    /// Adds new instances that receive requests beside the old ones, with the share of a canary.
    fn publish_admitted(&self, upstreams: &mut Vec<UpstreamEndpoint>) {
        let Some(pending) = self.pending.as_ref().filter(|pending| !pending.admitted.is_empty()) else { return };
        let slots = pending.group.slots.iter().filter(|(id, slot)| pending.admitted.contains(*id) && slot.routable());
        let mut new: Vec<UpstreamEndpoint> = slots.filter_map(|(id, slot)| upstream(id, slot, None)).collect();
        let weights = pending.trial_percent().and_then(|percent| weights(percent, upstreams.len(), new.len()));
        if let (Some((of_old, of_new)), Some([old_side, new_side])) = (weights, self.sides()) {
            for upstream in &mut *upstreams {
                (upstream.weight, upstream.side) = (of_old, old_side.clone());
            }
            for upstream in &mut new {
                (upstream.weight, upstream.side) = (of_new, new_side.clone());
            }
        }
        upstreams.append(&mut new);
    }

    pub(super) fn write_log(
        &self,
        deployment: Option<DeploymentId>,
        step: Step,
        text: String,
        actions: &mut Vec<RolloutAction>,
    ) {
        if let Some(deployment) = deployment {
            actions.push(RolloutAction::Log { deployment, step, text });
        }
    }

    pub(super) fn begin_rollout(
        &mut self,
        deployment: Option<&DeploymentId>,
        release: &ReleaseSpec,
        hook: bool,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        let Some(deployment) = deployment else { return };
        // The command may have ended already, before an agent restart.
        let former = self.rollouts.remove(deployment);
        let passed_gate = self.passed_gate(deployment);
        let measured = former.as_ref().filter(|_| passed_gate);
        let (benchmark_rows, live_benchmark_rows) = measured
            .map(|status| (status.benchmark_rows.clone(), status.live_benchmark_rows.clone()))
            .unwrap_or_default();
        let is_past = |step: &StepStatus| match step.step {
            Step::Release => true,
            Step::Benchmark => passed_gate && step.state == StepState::Done,
            _ => false,
        };
        let former = former.map(|status| status.steps).unwrap_or_default();
        let mut steps: Vec<StepStatus> = former.into_iter().filter(is_past).collect();
        if !hook {
            steps.push(begun(Step::Start, now));
        } else if steps.is_empty() {
            steps.push(begun(Step::Release, now));
        }
        let step = if hook { Step::Release } else { Step::Start };
        let (deployment, state) = (deployment.clone(), WorkState::Running);
        let status = RolloutStatus {
            deployment: deployment.clone(),
            state,
            steps,
            failure: None,
            benchmark_rows,
            live_benchmark_rows,
        };
        self.rollouts.insert(deployment.clone(), status);
        let text = format!("Starting release {}.", release.number);
        self.write_log(Some(deployment), step, text, actions);
    }

    pub(super) fn running_step(&self, deployment: Option<&DeploymentId>) -> Option<Step> {
        let status = deployment.and_then(|deployment| self.rollouts.get(deployment))?;
        let running = status.steps.last().filter(|step| step.state == StepState::Running);
        running.filter(|_| status.state == WorkState::Running).map(|step| step.step)
    }

    pub(super) fn begin_step(&mut self, deployment: Option<&DeploymentId>, step: Step, now: Now) {
        if let Some(status) = deployment.and_then(|deployment| self.rollouts.get_mut(deployment)) {
            status.steps.push(begun(step, now));
        }
    }

    /// Begins a step that the last one waits for. It takes over the time of that one so far, so that no time counts in
    /// two steps.
    pub(super) fn begin_step_before(&mut self, deployment: &DeploymentId, step: Step, now: Now) {
        if let Some(status) = self.rollouts.get_mut(deployment)
            && !status.steps.iter().any(|known| known.step == step)
        {
            let started_unix_ms = status.steps.last().map_or(now.unix_ms, |waiting| waiting.started_unix_ms);
            let begun = StepStatus { started_unix_ms, ..begun(step, now) };
            status.steps.insert(status.steps.len().saturating_sub(1), begun);
        }
    }

    /// Ends such a step; the one that waited begins.
    pub(super) fn finish_step_before(&mut self, deployment: &DeploymentId, step: Step, now: Now) {
        self.finish_step(Some(deployment), step, StepState::Done, now);
        if let Some([.., before, waiting]) = self.rollouts.get_mut(deployment).map(|status| status.steps.as_mut_slice())
            && before.step == step
            && waiting.state == StepState::Running
        {
            waiting.started_unix_ms = now.unix_ms;
        }
    }

    pub(super) fn finish_step(&mut self, deployment: Option<&DeploymentId>, step: Step, outcome: StepState, now: Now) {
        let Some(status) = deployment.and_then(|deployment| self.rollouts.get_mut(deployment)) else { return };
        let running = status.steps.iter_mut().filter(|s| s.step == step && s.state == StepState::Running);
        for step in running {
            (step.state, step.finished_unix_ms) = (outcome, now.unix_ms);
        }
    }

    /// Ends a rollout once; its first outcome stays.
    pub(super) fn finish(
        &mut self,
        deployment: Option<&DeploymentId>,
        outcome: WorkState,
        failure: Option<Failure>,
        now: Now,
    ) {
        let Some(status) = deployment.and_then(|deployment| self.rollouts.get_mut(deployment)) else { return };
        if status.state != WorkState::Running {
            return;
        }
        (status.state, status.failure) = (outcome, failure);
        for step in status.steps.iter_mut().filter(|step| step.state == StepState::Running) {
            step.state = if outcome == WorkState::Succeeded { StepState::Done } else { StepState::Failed };
            step.finished_unix_ms = now.unix_ms;
        }
    }

    /// Drops outcomes that a newer candidate has made obsolete, and ends rollouts that an agent restart interrupted.
    pub(super) fn forget_rollouts(&mut self, candidate: Option<&DeploymentId>, now: Now) {
        let serving = self.serving.as_ref().and_then(|group| group.deployment.clone());
        let stale: Vec<DeploymentId> = self
            .rollouts
            .keys()
            .filter(|id| Some(*id) != candidate && Some(*id) != serving.as_ref())
            .cloned()
            .collect();
        for id in &stale {
            self.finish(Some(id), WorkState::Cancelled, Some(super::messages::cancelled()), now);
        }
        if candidate.is_some_and(|candidate| !self.rollouts.contains_key(candidate)) {
            self.rollouts.retain(|id, status| !stale.contains(id) && status.state == WorkState::Running);
        }
        let rollouts = &self.rollouts;
        self.hooks.retain(|hook| rollouts.contains_key(&hook.deployment));
    }
}

fn begun(step: Step, now: Now) -> StepStatus {
    StepStatus { step, state: StepState::Running, started_unix_ms: now.unix_ms, finished_unix_ms: 0 }
}

/// Builds the upstream of an instance; `drains` is its drain timeout, if it receives no new requests.
fn upstream(id: &InstanceId, slot: &InstanceSlot, drains: Option<Duration>) -> Option<UpstreamEndpoint> {
    if !matches!(slot.process, InstanceProcess::Running { .. }) {
        return None;
    }
    let (draining, drain_timeout) = (drains.is_some(), drains.unwrap_or_default());
    slot.address.clone().map(|address| UpstreamEndpoint {
        instance: id.clone(),
        address,
        draining,
        drain_timeout,
        weight: WEIGHT,
        side: String::new(),
    })
}

fn status(
    key: &AppKey,
    id: &InstanceId,
    slot: &InstanceSlot,
    release: &ReleaseId,
    state: InstanceState,
) -> InstanceStatus {
    InstanceStatus {
        id: id.clone(),
        key: key.clone(),
        release: release.clone(),
        state,
        pid: slot.pid,
        port: slot.port,
        restarts: slot.restarts,
        started_unix_ms: slot.started_unix_ms,
        detail: slot.detail.clone(),
        process: "web".into(),
        cpu_millis: 0,
        memory_bytes: 0,
    }
}
