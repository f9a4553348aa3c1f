//! Converts desired routes and running instances to the proxy's snapshot. Pure functions; a snapshot holds the whole table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fairlead_model::{AppKey, DesiredState, Route, RouteTarget, UpstreamAddress};
use fairlead_runtime::rollout::UpstreamEndpoint;
use fairlead_wire::local::{AcmeResponder, ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot, ProxyUpstream};

/// Returns the hosts that need a certificate of this server's own authorities: names that mean only this machine (RFC 6761,
/// section 6.3), and hosts of a control plane on this server.
pub(crate) fn own_hosts(state: &DesiredState) -> BTreeSet<&str> {
    let is_own = |route: &&Route| is_local(&route.host) || matches!(route.target, RouteTarget::ControlSocket(_));
    state.routes.iter().filter(is_own).map(|route| route.host.as_str()).collect()
}

/// True for a name that means only this machine.
pub(crate) fn is_local(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Returns the whole table. An app without an instance keeps its routes: the proxy answers that it is not running.
pub(crate) fn snapshot(
    state: &DesiredState,
    upstreams: &BTreeMap<AppKey, Vec<UpstreamEndpoint>>,
    certificates: Vec<ProxyCertificate>,
    control_sockets: &Path,
) -> ProxySnapshot {
    let mut apps: BTreeMap<String, ProxyApp> = BTreeMap::new();
    let mut routes = Vec::with_capacity(state.routes.len());
    for route in &state.routes {
        let spec = match &route.target {
            RouteTarget::App(key) => state.apps.get(key),
            RouteTarget::ControlSocket(_) | RouteTarget::Redirect(_) => None,
        };
        let policy_environment = spec.and_then(|spec| spec.release_environment.as_ref());
        let app = match &route.target {
            RouteTarget::App(key) => {
                let traffic = spec.map(|spec| spec.traffic.bytes().to_vec()).unwrap_or_default();
                let scale = spec.and_then(|spec| spec.autoscaling.as_ref());
                let sleepy = scale.filter(|scale| scale.instances_min == 0);
                let wake_timeout_ms = sleepy.map_or(0, |scale| milliseconds(scale.wake_timeout));
                Some(ProxyApp { traffic, wake_timeout_ms, ..app(key, upstreams.get(key).map_or(&[], Vec::as_slice)) })
            }
            RouteTarget::ControlSocket(name) => Some(control(name, control_sockets)),
            RouteTarget::Redirect(_) => None,
        };
        let redirect = match &route.target {
            RouteTarget::Redirect(redirect) => redirect.bytes().to_vec(),
            RouteTarget::App(_) | RouteTarget::ControlSocket(_) => Vec::new(),
        };
        routes.push(ProxyRoute {
            host: route.host.clone(),
            path_prefix: route.path_prefix.clone(),
            app_key: app.as_ref().map(|app| app.app_key.clone()).unwrap_or_default(),
            redirect,
            policy: route.policy.bytes().to_vec(),
            policy_environment_id: policy_environment.map(ToString::to_string).unwrap_or_default(),
        });
        if let Some(app) = app {
            apps.entry(app.app_key.clone()).or_insert(app);
        }
    }
    let responders = state.certificates.iter().filter_map(|spec| Some((spec, spec.challenge_thumbprint.as_ref()?)));
    let acme_responders = responders.flat_map(|(spec, thumbprint)| {
        spec.hosts.iter().map(|host| AcmeResponder {
            host: host.clone(),
            thumbprint: thumbprint.clone(),
            ..AcmeResponder::default()
        })
    });
    let proofs = state.certificates.iter().flat_map(|spec| &spec.tls_alpn_proofs);
    let tls_alpn = proofs.filter_map(|proof| {
        // Parsed state has valid digests only.
        let tls_alpn_digest = URL_SAFE_NO_PAD.decode(&proof.value).ok()?;
        Some(AcmeResponder { host: proof.host.clone(), tls_alpn_digest, ..AcmeResponder::default() })
    });
    let acme_responders = acme_responders.chain(tls_alpn).collect();
    let settings = state.proxy.bytes().to_vec();
    let apps = apps.into_values().collect();
    ProxySnapshot { routes, certificates, apps, settings, acme_responders, ..ProxySnapshot::default() }
}

fn app(key: &AppKey, upstreams: &[UpstreamEndpoint]) -> ProxyApp {
    let upstream = |upstream: &UpstreamEndpoint| ProxyUpstream {
        instance_id: upstream.instance.to_string(),
        address: upstream.address.to_string(),
        draining: upstream.draining,
        drain_timeout_ms: milliseconds(upstream.drain_timeout),
        weight: Some(upstream.weight),
        side: upstream.side.clone(),
    };
    ProxyApp {
        app_key: fairlead_wire::app_key(key),
        upstreams: upstreams.iter().map(upstream).collect(),
        measured: true,
        ..ProxyApp::default()
    }
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// Returns the upstream of a control plane service: a Unix socket in a folder that only root and the proxy's user can enter.
fn control(name: &str, sockets: &Path) -> ProxyApp {
    let app_key = fairlead_wire::control_key(name);
    let address = UpstreamAddress::Unix { path: sockets.join(format!("{name}.sock")), owner: None };
    let upstream = ProxyUpstream {
        instance_id: app_key.clone(),
        address: address.to_string(),
        draining: false,
        ..ProxyUpstream::default()
    };
    ProxyApp { app_key, upstreams: vec![upstream], measured: false, ..ProxyApp::default() }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use fairlead_model::{AppId, EnvironmentId, InstanceId};

    use super::*;

    #[test]
    fn an_app_without_instances_keeps_its_routes_and_one_app_is_listed_once() {
        let key = AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() };
        let route = |host: &str, target| Route {
            host: host.into(),
            path_prefix: "/".into(),
            target,
            policy: Default::default(),
        };
        let sockets = Path::new("/data/control");
        let mut state = super::super::empty_state();
        state.routes = vec![
            route("a.localhost", RouteTarget::App(key.clone())),
            route("a.example.com", RouteTarget::App(key.clone())),
            route("fairlead.localhost", RouteTarget::ControlSocket("web".into())),
            route("203.0.113.5", RouteTarget::ControlSocket("web".into())),
        ];
        let made = snapshot(&state, &BTreeMap::new(), Vec::new(), sockets);
        assert_eq!((made.routes.len(), made.apps.len()), (4, 2));
        assert!(made.apps.iter().any(|app| app.upstreams.is_empty() && app.measured));
        let control: Vec<&str> =
            made.apps.iter().flat_map(|app| &app.upstreams).map(|one| one.address.as_str()).collect();
        assert_eq!(control, ["unix:/data/control/web.sock"]);
        let instance = InstanceId::parse("ins_1").unwrap();
        let address: SocketAddr = "127.0.0.1:4400".parse().unwrap();
        let upstreams = BTreeMap::from([(
            key.clone(),
            vec![UpstreamEndpoint {
                instance,
                address: address.into(),
                draining: true,
                drain_timeout: Duration::from_secs(30),
                weight: 7,
                side: "dep_1/new".into(),
            }],
        )]);
        let made = snapshot(&state, &upstreams, Vec::new(), sockets);
        let upstreams: Vec<&ProxyUpstream> = made.apps.iter().flat_map(|app| &app.upstreams).collect();
        assert!(upstreams.iter().any(|one| one.draining && one.weight == Some(7) && one.side == "dep_1/new"));
        assert!(made.apps.iter().all(|app| app.wake_timeout_ms == 0));
        for (instances_min, waits) in [(0, 7_000), (1, 0)] {
            let scale = fairlead_model::Autoscaling {
                instances_min,
                instances_max: 1,
                idle_timeout: Duration::from_secs(60),
                in_flight_target: 0,
                cpu_millis_target: 0,
                wake_timeout: Duration::from_secs(7),
            };
            let spec = fairlead_model::AppSpec {
                key: key.clone(),
                name: "a".into(),
                live: None,
                candidate: None,
                instances: 1,
                traffic: Default::default(),
                autoscaling: Some(scale),
                release_environment: None,
            };
            state.apps.insert(key.clone(), spec);
            let made = snapshot(&state, &BTreeMap::new(), Vec::new(), sockets);
            assert!(made.apps.iter().any(|app| app.measured && app.wake_timeout_ms == waits));
        }
        assert!(snapshot(&state, &BTreeMap::new(), Vec::new(), sockets).routes[0].policy_environment_id.is_empty());
        state.apps.values_mut().for_each(|spec| spec.release_environment = EnvironmentId::parse("env_2").ok());
        assert_eq!(snapshot(&state, &BTreeMap::new(), Vec::new(), sockets).routes[0].policy_environment_id, "env_2");
        let own = own_hosts(&state).into_iter().collect::<Vec<_>>();
        assert_eq!(own, ["203.0.113.5", "a.localhost", "fairlead.localhost"]);
    }
}
