//! Instances that drain and stop: they receive no new requests, finish in-flight ones within a limit, and are stopped.
//! Decides when; other modules decide which instances leave.

use std::time::Duration;

use fairlead_model::{DeploymentId, InstanceId, ReleaseId, Step, StepState, WorkState};

use super::event::{HookKind, Now, RolloutAction, RolloutContext};
use super::group::{Group, InstanceSlot};
use super::{AppState, REPORT_SETTLE, STOP_SLACK, SWITCH_TIMEOUT, messages};

/// Instance that drains or stops.
#[derive(Debug, Clone)]
pub(super) struct Leaving {
    pub(super) release: ReleaseId,
    pub(super) deployment: Option<DeploymentId>,
    pub(super) slot: InstanceSlot,
    pub(super) stop_timeout: Duration,
    pub(super) stage: LeavingStage,
    /// Kind of the command, if it is a command of a rollout and not an instance.
    pub(super) hook: Option<HookKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeavingStage {
    /// Waits for in-flight exchanges; `confirmed` is set once the proxy knows that it drains.
    Draining { begun: Duration, confirmed: Option<Duration>, generation: u64, limit: Duration },
    /// Stop was requested; it is requested again at `again_at`.
    Stopping { again_at: Duration, limit: Duration },
}

impl AppState {
    pub(super) fn in_flight(
        &mut self,
        id: &InstanceId,
        count: u32,
        at: Duration,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        if let Some(leaving) = self.leaving.get_mut(id)
            && let LeavingStage::Draining { confirmed: Some(confirmed), .. } = leaving.stage
            && count == 0
            && at >= confirmed + REPORT_SETTLE
        {
            leaving.stop(id, now, actions);
        }
    }

    /// Drains instances that no group owns: their rollout had failed before the agent's restart.
    pub(super) fn drain_strays(&mut self, now: Now) {
        if self.pending.is_some() || self.switching.is_some() {
            return;
        }
        for (id, stray) in std::mem::take(&mut self.adopted) {
            let (release, deployment) = (stray.release.clone(), stray.deployment.clone());
            let stage = LeavingStage::draining(now, self.generation + 1, stray.drain_timeout);
            let slot = InstanceSlot::adopted(&stray, now.at);
            self.leaving
                .insert(id, Leaving { release, deployment, slot, stop_timeout: stray.stop_timeout, stage, hook: None });
        }
    }

    pub(super) fn check_leaving(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        let mut gone = Vec::new();
        for (id, leaving) in &mut self.leaving {
            let due = match leaving.stage {
                _ if leaving.slot.has_no_process() => {
                    gone.push(id.clone());
                    false
                }
                stage => now.at >= stage.due(),
            };
            if due {
                leaving.stop(id, now, actions);
            }
        }
        for id in gone {
            self.leaving.remove(&id);
            actions.push(RolloutAction::Forget { instance: id });
        }
    }

    /// Completes a rollout after all replaced instances are gone and the command that follows has ended.
    pub(super) fn check_drained(&mut self, context: &mut RolloutContext<'_>, actions: &mut Vec<RolloutAction>) {
        let now = context.now;
        let deployment = self.serving.as_ref().and_then(|group| group.deployment.clone());
        let step = self.running_step(deployment.as_ref());
        let rollout = self.desired.as_ref().and_then(|spec| spec.candidate.clone());
        let hook = rollout.filter(|rollout| Some(&rollout.deployment) == deployment.as_ref());
        let hook = hook.and_then(|rollout| Some((rollout.deployment, rollout.post_release_command?, rollout.release)));
        if step == Some(Step::After) && self.hook.is_none() {
            // It was started before an agent restart.
            match hook {
                Some((deployment, hook, release)) => {
                    self.run_hook(HookKind::After, deployment, &hook, release, context, actions);
                }
                None => self.finish(deployment.as_ref(), WorkState::Succeeded, None, now),
            }
            return;
        }
        if self.switching.is_some() || step != Some(Step::Drain) {
            return;
        }
        if self.leaving.values().any(|leaving| leaving.deployment != deployment) {
            return;
        }
        self.finish_step(deployment.as_ref(), Step::Drain, StepState::Done, now);
        self.write_log(deployment.clone(), Step::Drain, messages::LIVE.into(), actions);
        match hook {
            Some((id, hook, release)) => {
                self.begin_step(Some(&id), Step::After, now);
                self.run_hook(HookKind::After, id, &hook, release, context, actions);
            }
            None => self.finish(deployment.as_ref(), WorkState::Succeeded, None, now),
        }
    }

    /// Drains a group that had the routes. `confirmed`: the proxy already knows that it drains.
    pub(super) fn leave(&mut self, mut group: Group, confirmed: bool, now: Now) {
        for (id, slot) in std::mem::take(&mut group.slots) {
            let mut stage = LeavingStage::draining(now, self.generation + 1, group.release.drain_timeout);
            if confirmed && let LeavingStage::Draining { confirmed, .. } = &mut stage {
                *confirmed = Some(now.at);
            }
            self.leave_slot((id, group.leaving(slot, stage)), now);
        }
    }

    pub(super) fn leave_slot(&mut self, (id, mut leaving): (InstanceId, Leaving), now: Now) {
        if !leaving.slot.routable() {
            leaving.stage = LeavingStage::Stopping { again_at: now.at, limit: leaving.stage.limit() };
        }
        self.leaving.insert(id, leaving);
    }

    /// Stops a group that never had the routes.
    pub(super) fn stop_group(&mut self, mut group: Group, now: Now, actions: &mut Vec<RolloutAction>) {
        for (id, slot) in std::mem::take(&mut group.slots) {
            let leaving = group.leaving(slot, LeavingStage::Stopping { again_at: now.at, limit: Duration::ZERO });
            self.leaving.insert(id, leaving);
        }
        self.check_leaving(now, actions);
    }
}

impl LeavingStage {
    pub(super) fn draining(now: Now, generation: u64, limit: Duration) -> Self {
        Self::Draining { begun: now.at, confirmed: None, generation, limit }
    }

    /// Returns the maximum time that its exchanges may continue.
    pub(super) fn limit(self) -> Duration {
        match self {
            Self::Draining { limit, .. } | Self::Stopping { limit, .. } => limit,
        }
    }

    /// Returns the latest time of its stop. A proxy that never confirms doesn't keep it alive.
    pub(super) fn due(self) -> Duration {
        match self {
            Self::Draining { begun, confirmed, limit, .. } => {
                confirmed.unwrap_or(begun + SWITCH_TIMEOUT).saturating_add(limit)
            }
            Self::Stopping { again_at, .. } => again_at,
        }
    }
}

impl Leaving {
    pub(super) fn stop(&mut self, id: &InstanceId, now: Now, actions: &mut Vec<RolloutAction>) {
        let again_at = now.at.saturating_add(self.stop_timeout).saturating_add(STOP_SLACK);
        self.stage = LeavingStage::Stopping { again_at, limit: self.stage.limit() };
        actions.push(RolloutAction::Stop { instance: id.clone(), stop_timeout: self.stop_timeout });
    }
}
