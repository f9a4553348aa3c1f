//! Pure state machine of one app on one server: starts and stops instances, and moves routes. Invariant: a rollout goes
//! live completely or changes nothing. Never does I/O, reads a clock or generates an id.

mod advance;
mod canary;
mod event;
mod gate;
mod group;
mod hook;
mod leaving;
mod messages;
mod scale;
mod status;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairlead_model::{
    AppKey, AppSpec, DeploymentId, Failure, InstanceId, ReleaseId, ReleaseSpec, Rollout, RolloutStatus, Step,
    StepState, WorkState,
};
use serde::{Deserialize, Serialize};

pub use crate::crash::{Crash, CrashReason};
use advance::{Pending, Rollback, RolloutProgress, RolloutStage};
pub use canary::Traffic;
pub use event::{
    AdoptedHook, AdoptedInstance, Exit, HealthCheckFailure, HookKind, HookOutcome, Now, RolloutAction, RolloutContext,
    RolloutEvent, UpstreamEndpoint,
};
use group::{Group, InstanceSlot};
pub use hook::HookRecord;
use hook::HookRun;
use leaving::{Leaving, LeavingStage};
pub(crate) use messages::ended;
use scale::Autoscaler;
pub use scale::Load;

/// Maximum wait for the proxy to confirm a switch, before the old instances get the routes back.
const SWITCH_TIMEOUT: Duration = Duration::from_secs(15);
/// A report of in-flight exchanges sooner than this after the switch may be older than the switch.
const REPORT_SETTLE: Duration = Duration::from_millis(100);
/// Pause before a live release's artifact that couldn't be unpacked is retried.
const PREPARE_PAUSE: Duration = Duration::from_secs(30);
/// Time after its stop timeout at which an unconfirmed stop is sent again.
const STOP_SLACK: Duration = Duration::from_secs(10);
/// Number of crashes within `CRASH_WINDOW` that fail a rollout.
const CRASHES_MAX: usize = 6;
const CRASH_WINDOW: Duration = Duration::from_secs(60);

/// State that survives a restart of the agent. It is saved before the actions of the same step run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppRecord {
    /// Release that has the routes, and the deployment that brought it.
    pub serving: Option<(ReleaseSpec, Option<DeploymentId>)>,
    /// Rollouts in progress or finished, until desired state forgets them.
    pub rollouts: Vec<RolloutStatus>,
    /// Commands of rollouts that have started, so that none runs twice.
    #[serde(default)]
    pub hooks: Vec<HookRecord>,
    /// Progress of the current rollout.
    #[serde(default)]
    pub progress: Option<RolloutProgress>,
    /// Instance count of the autoscaler; zero means that the app sleeps.
    #[serde(default)]
    pub scaled: Option<u32>,
}

/// State of one app on this server.
///
/// A *group* holds the instances of one release with one version of its secrets. `serving` has the routes; `pending`
/// starts beside it. After the proxy has confirmed the switch, the old instances drain and stop in `leaving`.
#[derive(Debug, Clone)]
pub struct AppState {
    key: AppKey,
    desired: Option<AppSpec>,
    /// Instances found running at start, until the first desired state assigns them.
    adopted: BTreeMap<InstanceId, AdoptedInstance>,
    restored: Option<(ReleaseSpec, Option<DeploymentId>)>,
    serving: Option<Group>,
    pending: Option<Pending>,
    switching: Option<Switching>,
    leaving: BTreeMap<InstanceId, Leaving>,
    rollback: Option<Rollback>,
    hook: Option<HookRun>,
    hooks: Vec<HookRecord>,
    /// Deployment under load for its benchmark gate.
    measured: Option<DeploymentId>,
    /// Commands found at start, until their rollout claims them.
    adopted_hooks: Vec<AdoptedHook>,
    /// Progress of the current rollout, as recorded before the restart.
    progressed: Option<RolloutProgress>,
    autoscaler: Autoscaler,
    /// Time since which a request waits for the app to wake, and the generation of routes that ends the wait.
    waking: Option<(Duration, Option<u64>)>,
    rollouts: BTreeMap<DeploymentId, RolloutStatus>,
    upstreams: Vec<UpstreamEndpoint>,
    generation: u64,
}

/// Switch that the proxy has not confirmed yet: the routes lead to the new group.
#[derive(Debug, Clone)]
struct Switching {
    generation: u64,
    deadline: Duration,
    previous: Option<Group>,
}

/// Applies one event to the app. The caller saves `record()` if it changed, then runs the actions in order.
pub fn step(
    mut state: AppState,
    event: RolloutEvent,
    context: &mut RolloutContext<'_>,
) -> (AppState, Vec<RolloutAction>) {
    let mut actions = Vec::new();
    state.take(event, context.now, &mut actions);
    if state.desired_known() {
        state.reconcile(context, &mut actions);
    }
    state.publish();
    (state, actions)
}

impl AppState {
    /// Creates the state of an app from its recorded state.
    pub fn new(key: AppKey, record: AppRecord) -> Self {
        Self {
            key,
            desired: None,
            adopted: BTreeMap::new(),
            restored: record.serving,
            serving: None,
            pending: None,
            switching: None,
            leaving: BTreeMap::new(),
            rollback: None,
            hook: None,
            hooks: record.hooks,
            measured: None,
            adopted_hooks: Vec::new(),
            progressed: record.progress,
            autoscaler: Autoscaler::restored(record.scaled),
            waking: None,
            rollouts: record.rollouts.into_iter().map(|status| (status.deployment.clone(), status)).collect(),
            upstreams: Vec::new(),
            generation: 0,
        }
    }

    /// True if decisions may be made: adopted instances wait for the first desired state.
    fn desired_known(&self) -> bool {
        self.adopted.is_empty() || self.desired.is_some()
    }

    fn take(&mut self, event: RolloutEvent, now: Now, actions: &mut Vec<RolloutAction>) {
        match event {
            RolloutEvent::Adopt(adopted) => {
                self.adopted.insert(adopted.instance.clone(), adopted);
            }
            RolloutEvent::AdoptHook(found) => self.adopted_hooks.push(found),
            RolloutEvent::Desired(mut spec) => {
                self.first_desired(&spec, now);
                for release in spec.live.iter_mut().chain(spec.candidate.iter_mut().map(|rollout| &mut rollout.release))
                {
                    // Secrets that can't be sealed now were sealed before: the same version has the same content.
                    self.each_group(|group| group.lend_secrets(release));
                    self.each_group(|group| group.reseal(release));
                }
                if spec.release_environment.is_some() {
                    self.autoscaler.start_asleep();
                }
                self.desired = Some(*spec);
            }
            RolloutEvent::Removed => {
                self.desired = None;
                self.restored = None;
                self.remove_all(now, actions);
            }
            RolloutEvent::Fetching(release) => self.fetching(&release, now, actions),
            RolloutEvent::Prepared(release) => {
                if let Some(deployment) = self.pending_deployment(&release) {
                    self.finish_step_before(&deployment, Step::Fetch, now);
                }
                self.each_group(|group| group.prepared(&release));
            }
            RolloutEvent::PrepareFailed(release, failure) => self.prepare_failed(&release, failure, now, actions),
            RolloutEvent::Started { instance, pid, port, started_unix_ms } => {
                if let Some(slot) = self.slot(&instance) {
                    slot.started(pid, port, started_unix_ms, now.at);
                }
            }
            RolloutEvent::Exited { instance, exit } => self.exited(&instance, exit, now, actions),
            RolloutEvent::HealthChecked { instance, result } => {
                if let Some(slot) = self.slot(&instance) {
                    slot.probed(result, now.at);
                }
            }
            RolloutEvent::RoutesApplied(generation) => self.routes_applied(generation, now, actions),
            RolloutEvent::RoutesRefused(generation, error) => {
                if self.switching.as_ref().is_some_and(|switching| generation >= switching.generation) {
                    self.revert_switch(messages::routes_refused(&error), now, actions);
                }
                self.advance_refused(generation, &error, now, actions);
            }
            RolloutEvent::InFlight { instance, count, at } => self.in_flight(&instance, count, at, now, actions),
            RolloutEvent::GateProgress(deployment, progress) => self.gate_progress(&deployment, *progress, actions),
            RolloutEvent::GateMeasured(deployment, verdict) => self.gate_measured(&deployment, verdict, now, actions),
            RolloutEvent::Traffic(side, traffic) => self.count_traffic(&side, &traffic),
            RolloutEvent::Load(load) => {
                if let Some(spec) = &self.desired
                    && let Some(scale) = &spec.autoscaling
                {
                    // A former release may never become healthy again; then it sleeps as if it had no requests.
                    let is_late = |(since, _)| now.at.saturating_sub(since) >= scale.idle_timeout;
                    if spec.release_environment.is_some() && self.waking.is_some_and(is_late) {
                        self.waking = None;
                    }
                    if self.pending.is_some() || self.switching.is_some() || self.waking.is_some() {
                        self.autoscaler.busy(now.at);
                    }
                    self.autoscaler.take(scale, spec.instances, &load, now.at);
                }
            }
            RolloutEvent::Wake => {
                if let Some(spec) = &self.desired
                    && let Some(scale) = &spec.autoscaling
                    && self.autoscaler.wake(scale, spec.instances, now.at)
                {
                    self.waking = Some((now.at, None));
                }
            }
            RolloutEvent::Sleep => {
                let is_settled = self.pending.is_none() && self.switching.is_none() && self.waking.is_none();
                if is_settled && self.may_sleep() {
                    self.autoscaler.sleep();
                }
            }
            RolloutEvent::Tick => {}
        }
    }

    /// Returns the number of instances that the app should have.
    fn count(&self, spec: &AppSpec) -> usize {
        let count = match &spec.autoscaling {
            Some(scale) => self.autoscaler.count(scale, spec.instances),
            None => spec.instances.max(1),
        };
        usize::try_from(count).unwrap_or(1)
    }

    /// True if the app's minimum of instances is 0.
    pub(crate) fn may_sleep(&self) -> bool {
        let scale = self.desired.as_ref().and_then(|spec| spec.autoscaling.as_ref());
        scale.is_some_and(|scale| scale.instances_min == 0)
    }

    /// True if the app is idle and sleeps: only processes that stay awake run.
    pub fn sleeps(&self) -> bool {
        self.desired.as_ref().is_some_and(|spec| self.count(spec) == 0)
    }

    /// Number of instances that a release needs before it may take over: at least one, even if the app sleeps.
    fn total(&self) -> usize {
        self.desired.as_ref().map_or(1, |spec| self.count(spec).max(1))
    }

    /// Returns the adopted instances to their groups; those without a group are drained.
    fn first_desired(&mut self, spec: &AppSpec, now: Now) {
        if let Some((release, deployment)) = self.restored.take() {
            let mut group = Group::new(release, deployment);
            let candidate = spec.candidate.as_ref().map(|rollout| &rollout.deployment);
            group.adopt(&mut self.adopted, candidate, now.at);
            self.serving = Some(group);
        }
        if self.adopted.is_empty() {
            return;
        }
        // `reconcile` finds a candidate's instances again when it makes its group; others have no owner.
        let candidate = spec.candidate.as_ref();
        let live = spec.live.as_ref().filter(|_| self.serving.is_none());
        let (kept, orphans): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.adopted).into_iter().partition(|(_, adopted)| {
                let theirs = |rollout: &Rollout| Some(&rollout.deployment) == adopted.deployment.as_ref();
                candidate.is_some_and(|rollout| theirs(rollout) && adopted.runs(&rollout.release))
                    || live.is_some_and(|release| adopted.runs(release))
            });
        self.adopted = kept;
        for (id, orphan) in orphans {
            let (release, deployment) = (orphan.release.clone(), orphan.deployment.clone());
            let stage = LeavingStage::draining(now, self.generation + 1, orphan.drain_timeout);
            let slot = InstanceSlot::adopted(&orphan, now.at);
            self.leaving.insert(
                id,
                Leaving { release, deployment, slot, stop_timeout: orphan.stop_timeout, stage, hook: None },
            );
        }
    }

    /// Returns the deployment of a release that is rolling out.
    fn pending_deployment(&self, release: &ReleaseId) -> Option<DeploymentId> {
        let group = self.pending.as_ref().map(|pending| &pending.group).filter(|group| group.release.id == *release)?;
        group.deployment.clone()
    }

    /// Begins the fetch step before the step that waits for it, which stays the last one.
    fn fetching(&mut self, release: &ReleaseId, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(deployment) = self.pending_deployment(release) else { return };
        self.write_log(Some(deployment.clone()), Step::Fetch, messages::FETCHING.into(), actions);
        self.begin_step_before(&deployment, Step::Fetch, now);
    }

    fn prepare_failed(&mut self, release: &ReleaseId, failure: Failure, now: Now, actions: &mut Vec<RolloutAction>) {
        if self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.group.release.id == *release && pending.group.deployment.is_some())
        {
            self.fail_pending(failure.clone(), None, now, actions);
        }
        let retry_at = now.at + PREPARE_PAUSE;
        self.each_group(|group| group.prepare_failed(release, &failure.message, retry_at));
    }

    fn exited(&mut self, id: &InstanceId, exit: Exit, now: Now, actions: &mut Vec<RolloutAction>) {
        if let Some(left) = self.leaving.remove(id) {
            if let (Some(kind), Some(deployment)) = (left.hook, left.deployment) {
                actions.push(RolloutAction::Output { deployment, step: kind.step(), instance: id.clone() });
            }
            actions.push(RolloutAction::Forget { instance: id.clone() });
            return;
        }
        if self.hook.as_ref().is_some_and(|hook| hook.instance == *id) {
            return self.hook_exited(&exit, now, actions);
        }
        // Its rollout has not claimed it yet, and gets this outcome when it does.
        if let Some(found) = self.adopted_hooks.iter_mut().find(|found| found.instance == *id) {
            found.outcome = HookOutcome::Ended(exit);
            return;
        }
        let rollout = self.pending.as_ref().is_some_and(|pending| {
            pending.group.deployment.is_some() && pending.deadline.is_some() && pending.group.slots.contains_key(id)
        });
        let Some(slot) = self.slot(id) else { return };
        slot.exited(&exit, rollout, now.at);
        let (crashes, port) = (slot.crashes_since(now.at.saturating_sub(CRASH_WINDOW)), slot.port);
        let is_no_server = slot.is_no_server();
        if self.crashed_when_admitted(id, messages::crashed_in_switch(&exit), now, actions) {
            return;
        }
        if self.crashed_when_measured(id, &exit, now, actions) {
            return;
        }
        if !rollout {
            self.crashed_in_switch(id, &exit, now, actions);
            return;
        }
        if let Some(error) = &exit.start_error {
            self.fail_pending(messages::start_failed(&exit, error), Some(id), now, actions);
        } else if exit.port_refused {
            self.fail_pending(messages::port_refused(port), Some(id), now, actions);
        } else if let Some(pending) = self.pending.as_ref().filter(|_| is_no_server) {
            self.fail_pending(messages::no_server(&exit, &pending.group.release), Some(id), now, actions);
        } else if let Some(pending) = self.pending.as_ref().filter(|_| crashes >= CRASHES_MAX) {
            self.fail_pending(messages::crash_loop(crashes, &exit, &pending.group.release), Some(id), now, actions);
        } else if let Some(pending) = &self.pending {
            self.write_log(pending.group.deployment.clone(), Step::Health, messages::ended(&exit), actions);
        }
    }

    /// Reverts the switch after a crash of the new group before the proxy's confirmation: the previous group still
    /// runs, and gets the routes back.
    fn crashed_in_switch(&mut self, id: &InstanceId, exit: &Exit, now: Now, actions: &mut Vec<RolloutAction>) {
        let theirs = self.serving.as_ref().filter(|group| group.slots.contains_key(id));
        let deployment = theirs.and_then(|group| group.deployment.clone());
        let previous = self.switching.as_ref().and_then(|switching| switching.previous.as_ref());
        if theirs.is_some() && previous.is_some_and(|group| group.slots.values().any(InstanceSlot::routable)) {
            if let Some(deployment) = deployment {
                actions.push(RolloutAction::Tail { deployment, step: Step::Switch, instance: id.clone() });
            }
            self.revert_switch(messages::crashed_in_switch(exit), now, actions);
        }
    }

    fn routes_applied(&mut self, generation: u64, now: Now, actions: &mut Vec<RolloutAction>) {
        if let Some((since, Some(wanted))) = self.waking
            && generation >= wanted
        {
            self.waking = None;
            let took = now.at.saturating_sub(since);
            let healthy =
                self.serving.iter_mut().flat_map(|group| group.slots.values_mut()).filter(|slot| slot.healthy());
            healthy.for_each(|slot| slot.detail = messages::woken(took));
            actions.push(RolloutAction::Woken { took });
        }
        self.advance_confirmed(generation, now);
        if let Some(switching) = self.switching.take_if(|switching| generation >= switching.generation) {
            let deployment = self.serving.as_ref().and_then(|group| group.deployment.clone());
            self.finish_step(deployment.as_ref(), Step::Switch, StepState::Done, now);
            self.begin_step(deployment.as_ref(), Step::Drain, now);
            if let Some(previous) = switching.previous {
                self.leave(previous, true, now);
            }
        }
        for leaving in self.leaving.values_mut() {
            if let LeavingStage::Draining { confirmed: confirmed @ None, generation: wanted, .. } = &mut leaving.stage
                && generation >= *wanted
            {
                *confirmed = Some(now.at);
            }
        }
    }

    /// Fails the current rollout: its instances stop, and the serving ones are unaffected.
    fn fail_pending(
        &mut self,
        failure: Failure,
        culprit: Option<&InstanceId>,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        let Some(pending) = self.pending.take() else { return };
        let step = self.running_step(pending.group.deployment.as_ref()).unwrap_or(Step::Health);
        if let (Some(deployment), Some(instance)) = (&pending.group.deployment, culprit) {
            actions.push(RolloutAction::Tail { deployment: deployment.clone(), step, instance: instance.clone() });
        }
        self.write_log(pending.group.deployment.clone(), step, failure.message.clone(), actions);
        self.finish(pending.group.deployment.as_ref(), WorkState::Failed, Some(failure), now);
        self.withdraw(pending.group, &pending.admitted, now, actions);
    }

    /// Gives the routes back to the previous instances, and drains those that had taken over.
    fn revert_switch(&mut self, failure: Failure, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(switching) = self.switching.take() else { return };
        let Some(refused) = std::mem::replace(&mut self.serving, switching.previous) else { return };
        self.write_log(refused.deployment.clone(), Step::Switch, failure.message.clone(), actions);
        self.finish(refused.deployment.as_ref(), WorkState::Failed, Some(failure), now);
        let all: BTreeSet<InstanceId> = refused.slots.keys().cloned().collect();
        self.withdraw(refused, &all, now, actions);
    }

    fn remove_all(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        self.stop_hook(now, actions);
        self.hooks.clear();
        self.clear_adopted_hooks(now, actions);
        let pending = self.pending.take().map(|pending| pending.group);
        let previous = self.switching.take().and_then(|switching| switching.previous);
        let rollback = self.rollback.take().map(|rollback| rollback.group);
        for group in [pending, previous, rollback, self.serving.take()].into_iter().flatten() {
            self.finish(group.deployment.as_ref(), WorkState::Cancelled, None, now);
            self.leave(group, false, now);
        }
        for (id, adopted) in std::mem::take(&mut self.adopted) {
            let mut leaving = Leaving {
                release: adopted.release.clone(),
                deployment: adopted.deployment.clone(),
                slot: InstanceSlot::adopted(&adopted, now.at),
                stop_timeout: adopted.stop_timeout,
                stage: LeavingStage::Stopping { again_at: now.at, limit: Duration::ZERO },
                hook: None,
            };
            leaving.stop(&id, now, actions);
            self.leaving.insert(id, leaving);
        }
    }

    /// Moves the actual state towards the desired state. Idempotent: it acts on differences only.
    fn reconcile(&mut self, context: &mut RolloutContext<'_>, actions: &mut Vec<RolloutAction>) {
        let now = context.now;
        if let Some(spec) = self.desired.clone() {
            self.select_target(&spec, now, actions);
            self.drain_strays(now);
            self.check_hooks(context, actions);
            self.clear_adopted_hooks(now, actions);
            let idle = spec.autoscaling.as_ref().map(|scale| scale.idle_timeout).unwrap_or_default();
            // The second round makes up for failures in the first one.
            for _ in 0..2 {
                let (count, total) = (self.count(&spec), self.total());
                self.begin_batch(total);
                for surplus in self.scale(count, idle, context) {
                    self.leave_slot(surplus, now);
                }
                self.start_due(now, actions);
                self.check_pending(total, now, actions);
            }
            self.check_rollback(self.total(), now);
        }
        if self.switch_due().is_some_and(|deadline| now.at >= deadline) {
            self.revert_switch(messages::routes_unconfirmed(SWITCH_TIMEOUT), now, actions);
        }
        self.check_leaving(now, actions);
        self.check_drained(context, actions);
        self.drop_hook(now, actions);
        self.drop_gate(actions);
    }

    /// Selects the group that should serve and creates it, or drops one that is no longer wanted.
    fn select_target(&mut self, spec: &AppSpec, now: Now, actions: &mut Vec<RolloutAction>) {
        let candidate = spec.candidate.as_ref();
        let outcome = candidate.and_then(|c| self.rollouts.get(&c.deployment)).map(|status| status.state);
        let want = match (candidate, outcome) {
            (Some(c), None | Some(WorkState::Running)) => {
                Some((&c.release, Some(&c.deployment), Some(c.start_timeout)))
            }
            (Some(c), Some(WorkState::Succeeded)) => Some((&c.release, Some(&c.deployment), None)),
            _ => spec.live.as_ref().map(|release| (release, None, None)),
        };
        let matches = |group: &Group| {
            want.is_some_and(|(release, deployment, _)| {
                let same = group.release.id == release.id && group.release.secrets == release.secrets;
                same && (deployment.is_none() || group.deployment.as_ref() == deployment)
            })
        };
        // A restart of the same release: the serving group is wanted, unless the new deployment itself is.
        let restart =
            want.is_some_and(|(_, deployment, _)| deployment.is_none()) && self.serving.as_ref().is_some_and(&matches);
        let unwanted = |group: &Group| !matches(group) || (restart && group.deployment.is_some());
        if let Some(pending) = self.pending.take_if(|pending| unwanted(&pending.group)) {
            let deployment = pending.group.deployment.clone();
            let step = self.running_step(deployment.as_ref()).unwrap_or(Step::Health);
            self.write_log(deployment.clone(), step, messages::CANCELLED.into(), actions);
            self.finish(deployment.as_ref(), WorkState::Cancelled, Some(messages::cancelled()), now);
            self.withdraw(pending.group, &pending.admitted, now, actions);
        }
        let cancelled = self.switching.as_ref().is_some_and(|switching| {
            switching.previous.as_ref().is_some_and(&matches) && !self.serving.as_ref().is_some_and(&matches)
        });
        if cancelled {
            let deployment = self.serving.as_ref().and_then(|group| group.deployment.clone());
            self.finish(deployment.as_ref(), WorkState::Cancelled, Some(messages::cancelled()), now);
            self.revert_switch(messages::cancelled(), now, actions);
        }
        if want.is_none()
            && self.switching.is_none()
            && let Some(group) = self.serving.take()
        {
            self.finish(group.deployment.as_ref(), WorkState::Cancelled, Some(messages::cancelled()), now);
            self.leave(group, false, now);
        }
        let settled = self.serving.as_ref().is_some_and(&matches) || self.pending.is_some() || self.switching.is_some();
        self.forget_rollouts(candidate.map(|c| &c.deployment), now);
        let Some((release, deployment, start_timeout)) = want.filter(|_| !settled) else { return };
        let mut group = Group::new(release.clone(), deployment.cloned());
        group.adopt(&mut self.adopted, candidate.map(|c| &c.deployment), now.at);
        if deployment.is_none() && self.serving.is_none() {
            self.serving = Some(group);
            return;
        }
        let asked = candidate.filter(|_| deployment.is_some());
        let hook = asked.and_then(|rollout| rollout.release_command.clone());
        let hook = hook.filter(|_| !self.hook_has_ended(HookKind::Release, deployment));
        self.begin_rollout(deployment, release, hook.is_some(), now, actions);
        // Instances from before an agent restart have started already: their timeout runs from now.
        let deadline = start_timeout.filter(|_| !group.slots.is_empty()).map(|limit| now.at + limit);
        let mut pending = Pending {
            group,
            deadline,
            start_timeout: start_timeout.unwrap_or(Duration::MAX),
            hook,
            batch: asked.map_or(0, |rollout| usize::try_from(rollout.batch_size).unwrap_or(0)),
            canary: asked.and_then(|rollout| rollout.canary.clone()),
            gate: asked.and_then(|rollout| rollout.benchmark_gate.clone()),
            wanted: 0,
            admitted: BTreeSet::new(),
            retired: 0,
            tried: 0,
            stage: RolloutStage::Starting,
        };
        self.resume_progress(&mut pending);
        self.pending = Some(pending);
    }

    /// Adds missing instances and returns surplus ones. An app without instances keeps a slot for the one that wakes.
    fn scale(&mut self, count: usize, idle: Duration, context: &mut RolloutContext<'_>) -> Vec<(InstanceId, Leaving)> {
        let at = context.now.at;
        let generation = self.generation + 1;
        let mut surplus = Vec::new();
        let retired = self.pending.as_ref().map_or(0, |pending| pending.retired);
        let serving = self.serving.as_mut().map(|group| (group, count.saturating_sub(retired), count == 0));
        let pending = self.pending.as_mut().map(|pending| (pending.wanted(count.max(1)), &mut pending.group));
        for (group, count, sleeps) in serving.into_iter().chain(pending.map(|(wanted, group)| (group, wanted, false))) {
            group.wake(at, sleeps);
            while group.slots.len() < count {
                group.slots.insert((context.new_instance)(), InstanceSlot::waiting(at));
            }
            while group.running_places() > count {
                let Some((id, slot)) = group.take_weakest() else { break };
                let stage = LeavingStage::draining(context.now, generation, group.release.drain_timeout);
                surplus.push((id, group.leaving(slot, stage)));
            }
            if sleeps && group.slots.is_empty() {
                group.slots.insert((context.new_instance)(), InstanceSlot::asleep(at, idle));
            }
        }
        surplus
    }

    fn start_due(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        if let Some(group) = &mut self.serving {
            group.start_due(now.at, actions);
        }
        let Some(pending) = &mut self.pending else { return };
        if pending.group.start_due(now.at, actions) && pending.deadline.is_none() && pending.group.deployment.is_some()
        {
            pending.deadline = Some(now.at.saturating_add(pending.start_timeout));
        }
    }

    /// Returns the time at which an unconfirmed switch is reverted. A switch without a deployment waits for the proxy.
    fn switch_due(&self) -> Option<Duration> {
        let asked = self.serving.as_ref().is_some_and(|group| group.deployment.is_some());
        self.switching.as_ref().filter(|_| asked).map(|switching| switching.deadline)
    }

    fn switch(&mut self, now: Now, actions: &mut Vec<RolloutAction>) {
        let Some(pending) = self.pending.take() else { return };
        let deployment = pending.group.deployment.clone();
        self.begin_switch(deployment.as_ref(), now);
        self.write_log(deployment, Step::Switch, messages::healthy(&pending.group), actions);
        if let Some(spec) = &self.desired
            && let Some(scale) = &spec.autoscaling
        {
            // People look at what they have just deployed: the app stays awake for a while, even without requests.
            self.autoscaler.wake(scale, spec.instances, now.at);
        }
        let previous = self.serving.replace(pending.group);
        let (generation, deadline) = (self.generation + 1, now.at + SWITCH_TIMEOUT);
        self.switching = Some(Switching { generation, deadline, previous });
    }

    fn each_group(&mut self, mut change: impl FnMut(&mut Group)) {
        let pending = self.pending.iter_mut().map(|pending| &mut pending.group);
        let previous = self.switching.iter_mut().filter_map(|switching| switching.previous.as_mut());
        let rollback = self.rollback.iter_mut().map(|rollback| &mut rollback.group);
        self.serving.iter_mut().chain(pending).chain(previous).chain(rollback).for_each(&mut change);
    }

    fn slot(&mut self, id: &InstanceId) -> Option<&mut InstanceSlot> {
        let pending = self.pending.iter_mut().map(|pending| &mut pending.group);
        let previous = self.switching.iter_mut().filter_map(|switching| switching.previous.as_mut());
        let rollback = self.rollback.iter_mut().map(|rollback| &mut rollback.group);
        let mut groups = self.serving.iter_mut().chain(pending).chain(previous).chain(rollback);
        let found = groups.find_map(|group| group.slots.get_mut(id));
        let found = found.or_else(|| self.hook.as_mut().filter(|hook| hook.instance == *id).map(|hook| &mut hook.slot));
        found.or_else(|| self.leaving.get_mut(id).map(|leaving| &mut leaving.slot))
    }
}
