//! What has to change to get from one desired state to the next.

use crate::{AppKey, DeploymentId, DesiredState, RunId};

/// The parts in which two states differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateChange {
    /// Apps that are new or whose spec changed.
    pub apps_changed: Vec<AppKey>,
    /// Apps that are gone.
    pub apps_removed: Vec<AppKey>,
    /// The route table differs.
    pub routes_changed: bool,
    /// Builds to start.
    pub builds_added: Vec<DeploymentId>,
    /// Builds to cancel if they still run.
    pub builds_removed: Vec<DeploymentId>,
    /// Benchmark runs to start.
    pub benchmarks_added: Vec<RunId>,
    /// Benchmark runs to cancel if they still run.
    pub benchmarks_removed: Vec<RunId>,
}

/// Compares two states; `old` is `None` on the first start.
pub fn diff(old: Option<&DesiredState>, new: &DesiredState) -> StateChange {
    let mut change = StateChange::default();
    for (key, spec) in &new.apps {
        if old.and_then(|old| old.apps.get(key)) != Some(spec) {
            change.apps_changed.push(key.clone());
        }
    }
    change.routes_changed = old.is_none_or(|old| old.routes != new.routes);
    let had_build = |id: &DeploymentId| old.is_some_and(|old| old.builds.contains_key(id));
    change.builds_added = new.builds.keys().filter(|id| !had_build(id)).cloned().collect();
    let runs = |state: &DesiredState| state.benchmarks.iter().map(|plan| plan.run.clone()).collect::<Vec<_>>();
    let (old_runs, new_runs) = (old.map(runs).unwrap_or_default(), runs(new));
    change.benchmarks_added = new_runs.iter().filter(|run| !old_runs.contains(run)).cloned().collect();
    change.benchmarks_removed = old_runs.into_iter().filter(|run| !new_runs.contains(run)).collect();
    if let Some(old) = old {
        change.apps_removed = old.apps.keys().filter(|key| !new.apps.contains_key(key)).cloned().collect();
        change.builds_removed = old.builds.keys().filter(|id| !new.builds.contains_key(id)).cloned().collect();
    }
    change
}
