//! Builds the frame of samples for one second. Owns the frame's clock and its sums; telemetry provides the samples.

use std::collections::{BTreeMap, HashSet};

use fairlead_model::DesiredState;
use fairlead_wire::agent;
use fairlead_wire::local::{ProxyAppStats, ProxyRouteMetrics, ProxyStats};

/// Maximum distance of a frame from its nominal second before the clock resynchronizes.
const DRIFT_MAX_MS: u64 = 700;

/// Gives frames whole seconds, one each: the control plane stores one frame a second.
/// A timer that drifts over a second's edge must make neither a hole nor a twin.
#[derive(Debug, Default)]
pub(crate) struct FrameClock {
    last_ms: Option<u64>,
}

impl FrameClock {
    /// Returns the second, in Unix milliseconds, of a frame finished at `now_ms`.
    pub(crate) fn stamp(&mut self, now_ms: u64) -> u64 {
        let floor = now_ms - now_ms % 1000;
        let stamp = match self.last_ms.map(|last| last + 1000) {
            Some(expected) if now_ms.abs_diff(expected + 500) <= 500 + DRIFT_MAX_MS => expected,
            _ => floor,
        };
        self.last_ms = Some(stamp);
        stamp
    }
}

/// Resource usage of one app in one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AppUse {
    /// 1000 is one core for the whole second.
    pub(crate) cpu_millis: u32,
    /// Memory of all instances of the app.
    pub(crate) memory_bytes: u64,
}

/// Returns the app samples of a frame: the proxy's counts and the processes' usage, by app key.
pub(crate) fn app_samples(stats: &ProxyStats, uses: &BTreeMap<String, AppUse>) -> Vec<agent::AppSample> {
    let idle = ProxyAppStats::default();
    let by_app: BTreeMap<&str, &ProxyAppStats> = stats.apps.iter().map(|app| (app.app_key.as_str(), app)).collect();
    let mut keys: Vec<&str> = by_app.keys().copied().chain(uses.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    keys.dedup();
    let sample = |key: &str| {
        let (app_id, environment_id) = key.split_once('/').filter(|(id, _)| *id != "address")?;
        let (app, used) = (by_app.get(key).copied().unwrap_or(&idle), uses.get(key).copied().unwrap_or_default());
        let latency = agent::Histogram {
            index: app.latency_index.clone(),
            count: app.latency_count.clone(),
            sum_us: app.latency_sum_us,
        };
        Some(agent::AppSample {
            app_id: app_id.into(),
            environment_id: environment_id.into(),
            requests: app.requests,
            errors: app.errors,
            client_errors: app.client_errors,
            latency: Some(latency),
            bytes_received: app.bytes_received,
            bytes_sent: app.bytes_sent,
            cpu_millis: used.cpu_millis,
            memory_bytes: used.memory_bytes,
            in_flight: app.in_flight,
        })
    };
    keys.into_iter().filter_map(sample).collect()
}

/// Returns the route samples of a frame. Routes to fixed addresses belong to no app and are left out.
pub(crate) fn route_samples(stats: &ProxyStats) -> Vec<agent::RouteSample> {
    let sample = |route: &ProxyRouteMetrics| {
        let (app_id, environment_id) = route.app_key.split_once('/').filter(|(app, _)| *app != "address")?;
        let (host, path) = route.route.split_at(route.route.find('/').unwrap_or(route.route.len()));
        let latency = agent::Histogram {
            index: route.latency_index.clone(),
            count: route.latency_count.clone(),
            sum_us: route.latency_sum_us,
        };
        Some(agent::RouteSample {
            app_id: app_id.into(),
            environment_id: environment_id.into(),
            host: host.into(),
            // The proxy writes the prefix "/api" as "/api/".
            path_prefix: if path.len() > 1 { path.trim_end_matches('/') } else { path }.into(),
            requests: route.requests,
            errors: route.errors,
            client_errors: route.client_errors,
            latency: Some(latency),
        })
    };
    stats.route_metrics.iter().filter_map(sample).collect()
}

/// Leaves out former releases behind deployment URLs: they count for no app.
pub(crate) fn leave_out_former_releases(frame: &mut agent::Frame, state: &DesiredState) {
    let former = state.apps.values().filter(|spec| spec.release_environment.is_some());
    let former: HashSet<&str> = former.map(|spec| spec.key.environment.as_str()).collect();
    frame.apps.retain(|sample| !former.contains(sample.environment_id.as_str()));
    frame.routes.retain(|sample| !former.contains(sample.environment_id.as_str()));
}

#[cfg(test)]
mod tests {
    use fairlead_model::{AppId, AppKey, AppSpec, EnvironmentId};

    use super::*;

    #[test]
    fn timer_drift_makes_neither_gaps_nor_duplicate_frames() {
        let mut clock = FrameClock::default();
        let stamps: Vec<u64> =
            [10_999, 11_998, 13_001, 13_999, 15_003].into_iter().map(|now| clock.stamp(now)).collect();
        assert_eq!(stamps, [10_000, 11_000, 12_000, 13_000, 14_000]);
        assert_eq!(clock.stamp(60_250), 60_000);
        assert_eq!(clock.stamp(20_250), 20_000);
    }

    #[test]
    fn routes_are_sampled_by_host_and_prefix_except_those_of_fixed_addresses() {
        let route_metrics = |app_key: &str, route: &str| ProxyRouteMetrics {
            app_key: app_key.into(),
            route: route.into(),
            requests: 3,
            latency_index: vec![7],
            latency_count: vec![3],
            ..ProxyRouteMetrics::default()
        };
        let route_metrics = vec![
            route_metrics("app_1/env_1", "a.test/"),
            route_metrics("app_1/env_1", "*.a.test/api/v1/"),
            route_metrics("app_1/env_1", ""),
            route_metrics("address/127.0.0.1:4400", "b.test/"),
        ];
        let samples = route_samples(&ProxyStats { route_metrics, ..ProxyStats::default() });
        let places: Vec<_> = samples.iter().map(|route| (route.host.as_str(), route.path_prefix.as_str())).collect();
        assert_eq!(places, [("a.test", "/"), ("*.a.test", "/api/v1"), ("", "")]);
        assert_eq!((samples[0].app_id.as_str(), samples[0].environment_id.as_str()), ("app_1", "env_1"));
        assert_eq!(samples[0].latency.as_ref().unwrap().count, [3]);
    }

    #[test]
    fn a_former_release_is_in_no_sample() {
        let mut state = super::super::empty_state();
        for (environment, release_environment) in [("env_1", None), ("env_former", EnvironmentId::parse("env_1").ok())]
        {
            let environment = EnvironmentId::parse(environment).unwrap();
            let key = AppKey { app: AppId::parse("app_1").unwrap(), environment };
            let spec = AppSpec {
                key: key.clone(),
                name: String::new(),
                live: None,
                candidate: None,
                instances: 1,
                traffic: Default::default(),
                autoscaling: None,
                release_environment,
            };
            state.apps.insert(key, spec);
        }
        let environments = ["env_1", "env_former"].map(str::to_owned);
        let apps = environments.clone().map(|environment_id| agent::AppSample { environment_id, ..Default::default() });
        let routes = environments.map(|environment_id| agent::RouteSample { environment_id, ..Default::default() });
        let mut frame = agent::Frame { apps: apps.into(), routes: routes.into(), ..Default::default() };
        leave_out_former_releases(&mut frame, &state);
        assert_eq!((frame.apps.len(), frame.routes.len()), (1, 1));
        assert_eq!(
            (frame.apps[0].environment_id.as_str(), frame.routes[0].environment_id.as_str()),
            ("env_1", "env_1")
        );
    }

    #[test]
    fn apps_that_only_serve_or_only_run_are_both_in_and_fixed_addresses_are_not() {
        let app = |key: &str| ProxyAppStats { app_key: key.into(), requests: 7, ..ProxyAppStats::default() };
        let stats =
            ProxyStats { apps: vec![app("app_1/env_1"), app("address/127.0.0.1:4400")], ..ProxyStats::default() };
        let uses = BTreeMap::from([("app_2/env_1".to_owned(), AppUse { cpu_millis: 3, memory_bytes: 9 })]);
        let samples = app_samples(&stats, &uses);
        assert_eq!(samples.len(), 2);
        assert_eq!((samples[0].app_id.as_str(), samples[0].requests), ("app_1", 7));
        assert_eq!((samples[1].app_id.as_str(), samples[1].memory_bytes), ("app_2", 9));
    }
}
