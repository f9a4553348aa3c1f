//! Benchmark gate of a rollout: load on one healthy new instance before any of them gets requests. Invariant: the rollout goes
//! on only with the verdict of its own load, so a restarted agent measures again.

use std::time::Duration;

use fairlead_model::{DeploymentId, Failure, GateProgress, InstanceId, Step, StepState};

use super::advance::RolloutStage;
use super::event::{Exit, Now, RolloutAction};
use super::{AppState, messages};

/// Maximum time beyond the load itself: for other measurements of the server, which go first, and for connections.
const WAIT_MAX: Duration = Duration::from_secs(600);

impl AppState {
    /// Starts the load on a new instance; false if the rollout has no gate, or has passed it.
    pub(super) fn begin_gate(&mut self, now: Now, actions: &mut Vec<RolloutAction>) -> bool {
        let mut serving = self.serving.iter().flat_map(|group| group.slots.values()).filter(|slot| slot.healthy());
        let live = serving.find_map(|slot| slot.address.clone());
        let Some(pending) = &mut self.pending else { return false };
        let (Some(gate), Some(deployment)) = (pending.gate.clone(), pending.group.deployment.clone()) else {
            return false;
        };
        let mut healthy = pending.group.slots.iter().filter(|(_, slot)| slot.healthy());
        let Some((instance, address)) =
            healthy.find_map(|(id, slot)| slot.address.clone().map(|address| (id.clone(), address)))
        else {
            return false;
        };
        let deadline = now.at + gate.load_time() + WAIT_MAX;
        pending.stage = RolloutStage::Measuring { instance: instance.clone(), deadline };
        self.measured = Some(deployment.clone());
        if let Some(status) = self.rollouts.get_mut(&deployment) {
            status.benchmark_rows.clear();
            status.live_benchmark_rows.clear();
        }
        self.finish_step(Some(&deployment), Step::Health, StepState::Done, now);
        self.begin_step(Some(&deployment), Step::Benchmark, now);
        self.write_log(Some(deployment.clone()), Step::Benchmark, messages::measuring(&gate), actions);
        let live = live.filter(|_| gate.compares());
        actions.push(RolloutAction::Measure { deployment, address, live, gate: Box::new(gate) });
        true
    }

    /// Adds a measurement to the status.
    pub(super) fn gate_progress(
        &mut self,
        deployment: &DeploymentId,
        progress: GateProgress,
        actions: &mut Vec<RolloutAction>,
    ) {
        if !self.measures(deployment) {
            return;
        }
        self.write_log(Some(deployment.clone()), Step::Benchmark, messages::gate_progress(&progress), actions);
        let Some(status) = self.rollouts.get_mut(deployment) else { return };
        match progress {
            GateProgress::New(row) => status.benchmark_rows.push(row),
            GateProgress::Live(row) => status.live_benchmark_rows.push(row),
            GateProgress::NotComparable(_) => status.live_benchmark_rows.clear(),
        }
    }

    /// Applies the verdict.
    pub(super) fn gate_measured(
        &mut self,
        deployment: &DeploymentId,
        verdict: Result<(), Failure>,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) {
        if !self.measures(deployment) {
            return;
        }
        self.measured = None;
        if let Err(failure) = verdict {
            return self.fail_pending(failure, None, now, actions);
        }
        let Some(pending) = &mut self.pending else { return };
        (pending.gate, pending.stage) = (None, RolloutStage::Starting);
        // An instance that suffered from the load gets time to recover, but not forever.
        pending.deadline = Some(now.at.saturating_add(pending.start_timeout));
        self.write_log(Some(deployment.clone()), Step::Benchmark, messages::GATE_PASSED.to_owned(), actions);
        self.finish_step(Some(deployment), Step::Benchmark, StepState::Done, now);
    }

    /// Fails the rollout if the load has no verdict in time.
    pub(super) fn check_gate(&mut self, deadline: Duration, now: Now, actions: &mut Vec<RolloutAction>) {
        if now.at >= deadline {
            self.fail_pending(messages::gate_late(WAIT_MAX), None, now, actions);
        }
    }

    /// Fails the rollout if the measured instance ended; true if it did.
    pub(super) fn crashed_when_measured(
        &mut self,
        id: &InstanceId,
        exit: &Exit,
        now: Now,
        actions: &mut Vec<RolloutAction>,
    ) -> bool {
        let stage = self.pending.as_ref().map(|pending| &pending.stage);
        let measured = matches!(stage, Some(RolloutStage::Measuring { instance, .. }) if instance == id);
        if measured {
            self.fail_pending(messages::crashed_when_measured(exit), Some(id), now, actions);
        }
        measured
    }

    /// Ends a load that no rollout waits for any more.
    pub(super) fn drop_gate(&mut self, actions: &mut Vec<RolloutAction>) {
        if let Some(deployment) = self.measured.clone().filter(|deployment| !self.measures(deployment)) {
            self.measured = None;
            actions.push(RolloutAction::EndMeasurement { deployment });
        }
    }

    /// True if the gate of this deployment was passed before an agent restart.
    pub(super) fn passed_gate(&self, deployment: &DeploymentId) -> bool {
        self.progressed.as_ref().is_some_and(|progress| progress.deployment == *deployment && progress.measured)
    }

    /// True if the desired rollout of this deployment has a gate.
    pub(super) fn has_gate(&self, deployment: &DeploymentId) -> bool {
        let candidate = self.desired.as_ref().and_then(|spec| spec.candidate.as_ref());
        candidate.is_some_and(|rollout| rollout.deployment == *deployment && rollout.benchmark_gate.is_some())
    }

    fn measures(&self, deployment: &DeploymentId) -> bool {
        self.pending.as_ref().is_some_and(|pending| {
            matches!(pending.stage, RolloutStage::Measuring { .. })
                && pending.group.deployment.as_ref() == Some(deployment)
        })
    }
}
