//! Translates the proxy's statistics into the runtime's input for autoscaling and canary evaluation.

use std::collections::BTreeMap;

use fairlead_model::{AppId, AppKey, DesiredState, EnvironmentId};
use fairlead_runtime::rollout::{Load, Traffic};
use fairlead_telemetry::Histogram;
use fairlead_wire::agent;
use fairlead_wire::local::{ProxyAppStats, ProxyStats};

/// Parses the proxy's app key; `None` for a fixed address.
pub(crate) fn app_key(key: &str) -> Option<AppKey> {
    let (app, environment) = key.split_once('/')?;
    Some(AppKey { app: AppId::parse(app).ok()?, environment: EnvironmentId::parse(environment).ok()? })
}

/// Returns the load of every app that scales, including apps without requests.
pub(crate) fn loads(state: &DesiredState, stats: &ProxyStats, frame: &agent::Frame) -> Vec<(AppKey, Load)> {
    let by_app: BTreeMap<&str, &ProxyAppStats> = stats.apps.iter().map(|app| (app.app_key.as_str(), app)).collect();
    let scaled = state.apps.values().filter(|spec| spec.autoscaling.is_some());
    let load = |key: &AppKey| {
        // An app that is missing in the proxy's table has an unknown load, not a load of zero.
        let app = by_app.get(fairlead_wire::app_key(key).as_str())?;
        let queue_length = app.load_balancing.as_ref().map_or(0, |stats| stats.queue_length);
        let used = frame
            .apps
            .iter()
            .find(|sample| sample.app_id == key.app.as_str() && sample.environment_id == key.environment.as_str());
        let load = Load {
            requests: app.requests,
            // The proxy counts queued requests as in flight.
            in_flight: app.in_flight.saturating_sub(queue_length),
            queue_length,
            cpu_millis: used.map_or(0, |sample| sample.cpu_millis),
        };
        Some((key.clone(), load))
    };
    scaled.filter_map(|spec| load(&spec.key)).collect()
}

/// Returns the traffic of each side of the canaries.
pub(crate) fn canary_traffic(stats: &ProxyStats) -> Vec<(String, Traffic)> {
    let traffic = |side: &fairlead_wire::local::ProxySideStats| {
        let buckets = side.latency_index.iter().copied().zip(side.latency_count.iter().copied());
        let latency = Histogram::from_sparse(buckets, side.latency_sum_us).unwrap_or_else(|error| {
            tracing::warn!(%error, side = side.side, "latencies of the proxy can't be read");
            Histogram::default()
        });
        (side.side.clone(), Traffic { requests: side.requests.into(), errors: side.errors.into(), latency })
    };
    stats.sides.iter().map(traffic).collect()
}

#[cfg(test)]
mod tests {
    use fairlead_model::{AppSpec, Autoscaling};
    use fairlead_wire::local::ProxyLoadBalancingStats;

    use super::*;

    #[test]
    fn only_apps_that_scale_and_that_the_proxy_knows_have_a_load() {
        let mut state = super::super::empty_state();
        let scale = Autoscaling {
            instances_min: 0,
            instances_max: 2,
            idle_timeout: std::time::Duration::from_secs(60),
            in_flight_target: 1,
            cpu_millis_target: 0,
            wake_timeout: std::time::Duration::from_secs(30),
        };
        for (key, scale) in [("app_1/env_1", Some(&scale)), ("app_2/env_1", None), ("app_3/env_1", Some(&scale))] {
            let key = app_key(key).unwrap();
            let spec = AppSpec {
                key: key.clone(),
                name: "a".into(),
                live: None,
                candidate: None,
                instances: 1,
                traffic: Default::default(),
                autoscaling: scale.cloned(),
                release_environment: None,
            };
            state.apps.insert(key, spec);
        }
        let app = |key: &str| ProxyAppStats {
            app_key: key.into(),
            requests: 3,
            in_flight: 5,
            load_balancing: Some(ProxyLoadBalancingStats { queue_length: 2, ..ProxyLoadBalancingStats::default() }),
            ..ProxyAppStats::default()
        };
        let stats = ProxyStats { apps: vec![app("app_1/env_1"), app("app_2/env_1")], ..ProxyStats::default() };
        let sample = agent::AppSample {
            app_id: "app_1".into(),
            environment_id: "env_1".into(),
            cpu_millis: 70,
            ..Default::default()
        };
        let frame = agent::Frame { apps: vec![sample], ..agent::Frame::default() };
        let load = Load { requests: 3, in_flight: 3, queue_length: 2, cpu_millis: 70 };
        assert_eq!(loads(&state, &stats, &frame), [(app_key("app_1/env_1").unwrap(), load)]);
        assert_eq!(app_key("address/127.0.0.1:1"), None);
    }
}
