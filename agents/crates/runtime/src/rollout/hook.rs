//! Commands of a rollout that run once: before its first instance starts, and after it is live. Invariant: neither runs
//! twice. A command is recorded before it starts, and counts as failed if its outcome is unknown.

use std::time::Duration;

use fairlead_model::{DeploymentId, Hook, InstanceId, ReleaseSpec, Step, StepState, WorkState};
use serde::{Deserialize, Serialize};

use super::event::{AdoptedHook, Exit, HookKind, HookOutcome, Now, RolloutAction, RolloutContext};
use super::group::{Health, InstanceProcess, InstanceSlot};
use super::{AppState, Leaving, LeavingStage, messages};

/// Record of a command that has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRecord {
    pub(super) deployment: DeploymentId,
    pub(super) kind: HookKind,
    pub(super) instance: InstanceId,
    /// True if its outcome is known.
    pub(super) ended: bool,
}

/// Command of a rollout that runs now.
#[derive(Debug, Clone)]
pub(super) struct HookRun {
    pub(super) kind: HookKind,
    pub(super) deployment: DeploymentId,
    pub(super) instance: InstanceId,
    pub(super) slot: InstanceSlot,
    /// Time at which it is stopped.
    pub(super) deadline: Duration,
    limit: Duration,
    release: ReleaseSpec,
}

impl AppState {
    /// Starts and ends commands as the rollout progresses.
    pub(super) fn check_hooks(&mut self, context: &mut RolloutContext<'_>, actions: &mut Vec<RolloutAction>) {
        let now = context.now;
        self.drop_hook(now, actions);
        if let Some(hook) = self.hook.as_ref().filter(|hook| now.at >= hook.deadline) {
            let (kind, deployment) = (hook.kind, hook.deployment.clone());
            let failure = messages::hook_late(kind, hook.limit);
            self.end_hook_record(kind, &deployment);
            self.stop_hook(now, actions);
            self.hook_failed(kind, &deployment, failure, now, actions);
        }
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.hook.is_some() && self.hook.is_none())
        else {
            return;
        };
        let (Some(deployment), Some(hook)) = (pending.group.deployment.clone(), pending.hook.clone()) else { return };
        if pending.group.ready(now.at, actions) {
            let release = pending.group.release.clone();
            self.run_hook(HookKind::Release, deployment, &hook, release, context, actions);
        }
    }

    /// Ends a command after its rollout has ended.
    pub(super) fn drop_hook(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        if self.hook.as_ref().is_some_and(|hook| !self.hook_is_wanted(hook)) {
            self.stop_hook(now, actions);
        }
    }

    /// True if a command has started and ended already.
    pub(super) fn hook_has_ended(&self, kind: HookKind, deployment: Option<&DeploymentId>) -> bool {
        self.hooks.iter().any(|hook| hook.kind == kind && Some(&hook.deployment) == deployment && hook.ended)
    }

    fn hook_is_wanted(&self, hook: &HookRun) -> bool {
        let group = match hook.kind {
            HookKind::Release => self.pending.as_ref().map(|pending| &pending.group),
            HookKind::After => self.serving.as_ref(),
        };
        group.is_some_and(|group| group.deployment.as_ref() == Some(&hook.deployment))
    }

    /// Runs a command, or continues with its recorded outcome from before an agent restart.
    pub(super) fn run_hook(
        &mut self,
        kind: HookKind,
        deployment: DeploymentId,
        hook: &Hook,
        release: ReleaseSpec,
        context: &mut RolloutContext<'_>,
        actions: &mut Vec<RolloutAction>,
    ) {
        let now = context.now;
        let known = self.hooks.iter().find(|record| record.kind == kind && record.deployment == deployment).cloned();
        if known.as_ref().is_some_and(|record| record.ended) {
            return self.hook_done(kind, &deployment, now);
        }
        let instance = known.as_ref().map_or_else(&mut *context.new_instance, |record| record.instance.clone());
        let found = self.adopted_hooks.iter().position(|found| found.instance == instance);
        let found = found.map(|at| self.adopted_hooks.remove(at));
        let mut run = HookRun {
            kind,
            deployment: deployment.clone(),
            instance: instance.clone(),
            slot: InstanceSlot::waiting(now.at),
            deadline: now.at.saturating_add(hook.timeout),
            limit: hook.timeout,
            release: release.clone(),
        };
        match found.map(|found| found.outcome) {
            None => {
                if known.is_none() {
                    self.hooks.push(HookRecord {
                        deployment: deployment.clone(),
                        kind,
                        instance: instance.clone(),
                        ended: false,
                    });
                }
                run.slot.process = InstanceProcess::Starting;
                self.hook = Some(run);
                self.write_log(Some(deployment.clone()), kind.step(), messages::hook_begins(kind, hook), actions);
                let command = hook.command.clone();
                actions.push(RolloutAction::Run { instance, release: Box::new(release), deployment, kind, command });
            }
            Some(HookOutcome::Running { started_unix_ms }) => {
                let ran = Duration::from_millis(now.unix_ms.saturating_sub(started_unix_ms));
                run.deadline = now.at.saturating_add(hook.timeout.saturating_sub(ran));
                run.slot.process = InstanceProcess::Running { since: now.at, health: Health::Unknown };
                self.hook = Some(run);
            }
            Some(HookOutcome::Ended(exit)) => {
                self.hook = Some(run);
                self.hook_exited(&exit, now, actions);
            }
            Some(HookOutcome::Lost) => {
                self.end_hook_record(kind, &deployment);
                actions.push(RolloutAction::Output {
                    deployment: deployment.clone(),
                    step: kind.step(),
                    instance: instance.clone(),
                });
                actions.push(RolloutAction::Forget { instance });
                self.hook_failed(kind, &deployment, messages::hook_lost(kind), now, actions);
            }
        }
    }

    /// Handles the exit of a command.
    pub(super) fn hook_exited(&mut self, exit: &Exit, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(HookRun { kind, deployment, instance, .. }) = self.hook.take() else { return };
        self.end_hook_record(kind, &deployment);
        let step = kind.step();
        actions.push(RolloutAction::Output { deployment: deployment.clone(), step, instance: instance.clone() });
        actions.push(RolloutAction::Forget { instance });
        if exit.code == Some(0) && exit.start_error.is_none() {
            self.write_log(Some(deployment.clone()), step, messages::hook_done(kind), actions);
            self.hook_done(kind, &deployment, now);
        } else {
            self.hook_failed(kind, &deployment, messages::hook_failed(kind, exit), now, actions);
        }
    }

    fn hook_done(&mut self, kind: HookKind, deployment: &DeploymentId, now: Now) {
        self.finish_step(Some(deployment), kind.step(), StepState::Done, now);
        match kind {
            HookKind::Release => {
                self.begin_step(Some(deployment), Step::Start, now);
                if let Some(pending) = &mut self.pending {
                    pending.hook = None;
                }
            }
            HookKind::After => self.finish(Some(deployment), WorkState::Succeeded, None, now),
        }
    }

    /// Fails the rollout if the release is not live yet; nothing has changed then. After that, a failure is only
    /// logged.
    fn hook_failed(
        &mut self,
        kind: HookKind,
        deployment: &DeploymentId,
        failure: fairlead_model::Failure,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        match kind {
            HookKind::Release => self.fail_pending(failure, None, now, actions),
            HookKind::After => {
                self.write_log(Some(deployment.clone()), Step::After, failure.message, actions);
                self.finish_step(Some(deployment), Step::After, StepState::Failed, now);
                self.finish(Some(deployment), WorkState::Succeeded, None, now);
            }
        }
    }

    fn end_hook_record(&mut self, kind: HookKind, deployment: &DeploymentId) {
        let theirs = |record: &&mut HookRecord| record.kind == kind && record.deployment == *deployment;
        self.hooks.iter_mut().filter(theirs).for_each(|record| record.ended = true);
    }

    /// Stops a command that the rollout no longer waits for.
    pub(super) fn stop_hook(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(hook) = self.hook.take() else { return };
        self.end_hook_record(hook.kind, &hook.deployment);
        let mut leaving = Leaving {
            release: hook.release.id.clone(),
            deployment: Some(hook.deployment),
            slot: hook.slot,
            stop_timeout: hook.release.stop_timeout,
            stage: LeavingStage::Stopping { again_at: now.at, limit: Duration::ZERO },
            hook: Some(hook.kind),
        };
        leaving.stop(&hook.instance, now, actions);
        self.leaving.insert(hook.instance, leaving);
    }

    /// Ends commands from before an agent restart that belong to finished rollouts.
    pub(super) fn clear_adopted_hooks(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        let (hooks, rollouts) = (&self.hooks, &self.rollouts);
        let open = |found: &AdoptedHook| {
            let runs = rollouts.get(&found.deployment).is_some_and(|status| status.state == WorkState::Running);
            runs && hooks.iter().any(|record| record.instance == found.instance && !record.ended)
        };
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.adopted_hooks).into_iter().partition(open);
        self.adopted_hooks = kept;
        for AdoptedHook { instance, release, deployment, kind, stop_timeout, outcome } in gone {
            let HookOutcome::Running { .. } = outcome else {
                actions.push(RolloutAction::Forget { instance });
                continue;
            };
            let mut slot = InstanceSlot::waiting(now.at);
            slot.process = InstanceProcess::Running { since: now.at, health: Health::Unknown };
            let stage = LeavingStage::Stopping { again_at: now.at, limit: Duration::ZERO };
            let mut leaving =
                Leaving { release, deployment: Some(deployment), slot, stop_timeout, stage, hook: Some(kind) };
            leaving.stop(&instance, now, actions);
            self.leaving.insert(instance, leaving);
        }
    }
}
