//! Differences between two desired states.

use crate::{AppKey, DeploymentId, DesiredState, RunId};

/// The parts in which two states differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateChange {
    /// Apps that are new or have a changed spec.
    pub apps_changed: Vec<AppKey>,
    /// Apps that the new state no longer has.
    pub apps_removed: Vec<AppKey>,
    /// True if the route tables differ.
    pub routes_changed: bool,
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
    change.routes_changed = old.is_none_or(|old| old.routes != new.routes || old.proxy != new.proxy);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::{AppId, AppSpec, BuildSpec, EnvironmentId, ServerId, Version};

    fn state(apps: &[(&str, u32)], builds: &[&str]) -> DesiredState {
        let app = |(id, instances): &(&str, u32)| {
            let key = AppKey { app: AppId::parse(id).unwrap(), environment: EnvironmentId::parse("env_1").unwrap() };
            let spec = AppSpec {
                key: key.clone(),
                name: String::new(),
                live: None,
                candidate: None,
                instances: *instances,
                traffic: Default::default(),
                autoscaling: None,
                release_environment: None,
            };
            (key, spec)
        };
        let build = |id: &&str| {
            let deployment = DeploymentId::parse(id).unwrap();
            let spec = BuildSpec {
                deployment: deployment.clone(),
                app: AppId::parse("app_1").unwrap(),
                repository_url: "https://example.com/x".into(),
                git_ref: "main".into(),
                root_folder: String::new(),
                timeout: Duration::from_secs(1),
                environment: None,
                builder: crate::Builder::Detected,
                overrides: crate::BuildOverrides::default(),
                image: String::new(),
                upload_digest: None,
                without_cache: false,
                limits: crate::BuildLimits::default(),
                secrets: None,
                credentials: None,
                variables: Default::default(),
                run_commands: Vec::new(),
            };
            (deployment, spec)
        };
        DesiredState {
            version: Version { epoch: 1, number: 1 },
            server: ServerId::parse("srv_1").unwrap(),
            requires: Vec::new(),
            apps: apps.iter().map(app).collect::<BTreeMap<_, _>>(),
            routes: Vec::new(),
            builds: builds.iter().map(build).collect(),
            benchmarks: Vec::new(),
            proxy: Default::default(),
            kept_artifacts: Default::default(),
            deleted_volumes: Vec::new(),
            agent: None,
            certificates: Vec::new(),
            volume_tasks: Vec::new(),
            uninstall: None,
        }
    }

    #[test]
    fn only_what_differs_is_named() {
        let old = state(&[("app_1", 1), ("app_2", 1), ("app_3", 1)], &["dep_1", "dep_2"]);
        let new = state(&[("app_1", 1), ("app_2", 2), ("app_4", 1)], &["dep_2", "dep_3"]);
        let change = diff(Some(&old), &new);
        let names = |keys: &[AppKey]| keys.iter().map(|key| key.app.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&change.apps_changed), ["app_2", "app_4"]);
        assert_eq!(names(&change.apps_removed), ["app_3"]);
        assert!(!change.routes_changed);
        assert_eq!(change.builds_added, [DeploymentId::parse("dep_3").unwrap()]);
        assert_eq!(change.builds_removed, [DeploymentId::parse("dep_1").unwrap()]);
        assert_eq!(diff(Some(&new), &new), StateChange::default());
    }

    #[test]
    fn everything_is_new_at_first() {
        let change = diff(None, &state(&[("app_1", 1)], &["dep_1"]));
        assert_eq!((change.apps_changed.len(), change.builds_added.len()), (1, 1));
        assert!(change.routes_changed && change.apps_removed.is_empty());
    }
}
