//! Snapshot of the route table, validated as a whole and prepared for lookups. Invariant: immutable; a new one
//! replaces it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use fairlead_model::{
    AppTraffic, ProxySettings, Redirect, RoutePolicy, TrafficEncoding, TrafficError, UpstreamAddress,
};
use fairlead_route::{Guard, RouteTable, TrustedProxies};
use fairlead_tls::{CertificateSet, CertificateSource, ClientAuthSource, TlsPolicySource};
use fairlead_wire::local::{ProxyApp, ProxyRoute, ProxySnapshot};
use fairlead_wire::traffic_encoding;

use crate::acme_responders::AcmeResponders;
use crate::core::{SharedInstance, SharedLimits};
use crate::filters::{RouteSettings, SharedPolicyState};
use crate::policy::Policy;
use crate::upstream::{AppTls, Connector, ConnectorError};

/// Configuration that the cores serve.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) generation: u64,
    /// Index of `routes` by host and path.
    pub(crate) table: RouteTable<u32>,
    pub(crate) routes: Vec<RouteEntry>,
    pub(crate) apps: Vec<AppSnapshot>,
    pub(crate) certificates: Arc<CertificateSet>,
    /// Answers to HTTP-01 challenges.
    pub(crate) challenges: AcmeResponders,
    pub(crate) settings: ProxySettings,
    /// Trusted upstream proxies; `None` if there are none.
    pub(crate) trust: Option<TrustedProxies>,
    /// Empty if the access log is disabled.
    pub(crate) access_log_path: Arc<str>,
}

#[derive(Debug)]
pub(crate) struct RouteEntry {
    /// Host and path prefix with a final slash, which is the key of its metrics.
    pub(crate) key: Arc<str>,
    /// Index of `apps`; `None` for a redirect, which is part of the policy.
    pub(crate) app: Option<u32>,
    /// `None` for a policy with only defaults, as for most routes.
    pub(crate) policy: Option<Arc<Policy>>,
}

/// App with the addresses of its instances.
#[derive(Debug)]
pub(crate) struct AppSnapshot {
    pub(crate) key: Box<str>,
    pub(crate) measured: bool,
    pub(crate) traffic: AppTraffic,
    /// Limits that all cores share.
    pub(crate) limits: Arc<SharedLimits>,
    /// Maximum time that a request waits for a start; `None` if the app never sleeps.
    pub(crate) wake_timeout: Option<Duration>,
    pub(crate) upstreams: Vec<UpstreamSpec>,
}

impl AppSnapshot {
    /// Returns the connectors of the instances that take new requests.
    fn connectors(&self) -> Vec<Arc<Connector>> {
        let serving = self.upstreams.iter().filter(|upstream| !upstream.draining && upstream.weight > 0);
        serving.map(|upstream| Arc::clone(&upstream.connector)).collect()
    }
}

#[derive(Debug)]
pub(crate) struct UpstreamSpec {
    pub(crate) instance: Box<str>,
    /// Address and protocol of the instance.
    pub(crate) connector: Arc<Connector>,
    /// Limits that all cores share.
    pub(crate) shared: Arc<SharedInstance>,
    pub(crate) draining: bool,
    /// Drain timeout of its exchanges.
    pub(crate) drain_timeout: Duration,
    /// Weight of the instance against the others of the app.
    pub(crate) weight: u32,
    /// Side of a canary that its requests count for; empty for none.
    pub(crate) side: Box<str>,
}

/// Default drain timeout of an instance.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Default weight of an instance.
const WEIGHT: u32 = 100;

/// Reason why a snapshot is refused; the previous one stays in use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    #[error(transparent)]
    Route(#[from] fairlead_model::RouteError),
    #[error(transparent)]
    Certificate(#[from] fairlead_tls::CertificateError),
    #[error("{host}{path_prefix} leads to app `{app_key}`, which is not there")]
    UnknownApp { host: String, path_prefix: String, app_key: String },
    #[error("{host}{path_prefix}: {error}")]
    Policy { host: String, path_prefix: String, error: TrafficError },
    #[error("app `{app_key}`: {error}")]
    Traffic { app_key: String, error: TrafficError },
    #[error("settings: {0}")]
    Settings(TrafficError),
    #[error(transparent)]
    Challenge(#[from] fairlead_tls::TlsAlpnError),
    #[error("app `{app_key}` is there twice")]
    DuplicateApp { app_key: String },
    #[error("instance `{instance}` is there twice")]
    DuplicateInstance { instance: String },
    #[error("instance `{instance}` has the address `{address}`, which is neither IP:port nor unix:/path")]
    Address { instance: String, address: String },
    #[error("app `{app_key}`: {error}")]
    Connector { app_key: String, error: ConnectorError },
}

/// Returns the warnings about this table, or the reason why a proxy would refuse it.
pub fn check(message: &ProxySnapshot) -> Result<Vec<&'static str>, String> {
    let shared = SharedPolicyState::new().map_err(|error| error.to_string())?;
    let snapshot = Snapshot::read(message, &CertificateSet::default(), &shared).map_err(|error| error.to_string())?;
    Ok(snapshot.settings.warnings())
}

impl Snapshot {
    /// Validates a snapshot as a whole and builds it.
    pub(crate) fn read(
        message: &ProxySnapshot,
        certificates: &CertificateSet,
        shared: &Arc<SharedPolicyState>,
    ) -> Result<Self, SnapshotError> {
        let encoding = traffic_encoding(message);
        let mut index = HashMap::new();
        let mut instances = HashSet::new();
        let mut apps = Vec::with_capacity(message.apps.len());
        for (position, app) in (0u32..).zip(&message.apps) {
            if index.insert(app.app_key.as_str(), position).is_some() {
                return Err(SnapshotError::DuplicateApp { app_key: app.app_key.clone() });
            }
            apps.push(read_app(app, encoding, &mut instances, shared)?);
        }
        let sources = message.certificates.iter().map(|certificate| CertificateSource {
            hosts: &certificate.hosts,
            chain_der: &certificate.chain_der,
            key_pkcs8_der: &certificate.key_pkcs8_der,
        });
        let policies =
            message.routes.iter().map(|route| read_policy(route, encoding)).collect::<Result<Vec<_>, _>>()?;
        let tls = message.routes.iter().zip(&policies).filter_map(tls_source);
        let challenges = message.acme_responders.iter().filter(|responder| !responder.tls_alpn_digest.is_empty());
        let challenges = challenges.map(|responder| (responder.host.as_str(), responder.tls_alpn_digest.as_slice()));
        let hosts = message.routes.iter().map(|route| route.host.as_str());
        let certificates =
            CertificateSet::with_policies(sources, tls, hosts, certificates)?.with_challenges(challenges)?;
        let certificates = Arc::new(certificates);
        let mut routes = Vec::with_capacity(message.routes.len());
        let mut keys = Vec::with_capacity(message.routes.len());
        for ((position, route), policy) in (0u32..).zip(&message.routes).zip(&policies) {
            let (entry, guard) = read_route((route, policy), encoding, &index, &apps, &certificates, shared)?;
            routes.push(entry);
            keys.push((route.host.as_str(), route.path_prefix.as_str(), position, guard));
        }
        let settings = encoding.decode::<ProxySettings>(&message.settings).map_err(SnapshotError::Settings)?;
        Ok(Self {
            generation: message.generation,
            table: RouteTable::with_guards(keys)?,
            routes,
            apps,
            certificates,
            challenges: AcmeResponders::new(&message.acme_responders),
            trust: TrustedProxies::new(&settings),
            access_log_path: message.access_log_path.as_str().into(),
            settings,
        })
    }
}

fn drain_timeout(ms: u32) -> Duration {
    if ms == 0 { DRAIN_TIMEOUT } else { Duration::from_millis(u64::from(ms)) }
}

fn policy_error(route: &ProxyRoute) -> impl Fn(TrafficError) -> SnapshotError {
    |error| SnapshotError::Policy { host: route.host.clone(), path_prefix: route.path_prefix.clone(), error }
}

fn read_policy(route: &ProxyRoute, encoding: TrafficEncoding) -> Result<RoutePolicy, SnapshotError> {
    encoding.decode(&route.policy).map_err(policy_error(route))
}

fn tls_source<'a>((route, policy): (&'a ProxyRoute, &'a RoutePolicy)) -> Option<TlsPolicySource<'a>> {
    let tls = policy.tls.as_ref()?;
    let client_auth = tls.client_auth.as_ref();
    Some(TlsPolicySource {
        host: &route.host,
        tls13_only: tls.tls13_only,
        client_auth: client_auth.map(|auth| ClientAuthSource { required: auth.required, ca_pem: &auth.ca_pem }),
    })
}

fn read_route(
    (route, policy): (&ProxyRoute, &RoutePolicy),
    encoding: TrafficEncoding,
    index: &HashMap<&str, u32>,
    apps: &[AppSnapshot],
    certificates: &CertificateSet,
    shared: &Arc<SharedPolicyState>,
) -> Result<(RouteEntry, Guard), SnapshotError> {
    let redirect = match route.redirect.as_slice() {
        [] => None,
        bytes => Some(encoding.decode::<Redirect>(bytes).map_err(policy_error(route))?),
    };
    let app = match &redirect {
        Some(_) => None,
        None => match index.get(route.app_key.as_str()) {
            Some(app) => Some(*app),
            None => {
                return Err(SnapshotError::UnknownApp {
                    host: route.host.clone(),
                    path_prefix: route.path_prefix.clone(),
                    app_key: route.app_key.clone(),
                });
            }
        },
    };
    let connectors = |name: &str| {
        let app = index.get(beside(route, name).as_str()).and_then(|app| apps.get(*app as usize));
        app.map(AppSnapshot::connectors).unwrap_or_default()
    };
    let guard = Guard { rules: guard_rules(policy, shared), app: app.filter(|_| policy.prefix_for_app().is_none()) };
    let prefix = route.path_prefix.strip_suffix('/').unwrap_or(&route.path_prefix);
    let key = format!("{}{prefix}/", route.host);
    let settings = RouteSettings {
        key: &key,
        prefix_bytes: prefix.len(),
        policy,
        redirect: redirect.as_ref(),
        has_certificate: certificates.has(&route.host),
        tls: certificates.policy(&route.host),
        shared,
        connectors: &connectors,
    };
    let policy = Policy::compile(&settings).map_err(policy_error(route))?;
    Ok((RouteEntry { key: key.into(), app, policy: policy.map(Arc::new) }, guard))
}

/// Returns the key of an app that a route's policy names. A standalone proxy has no environments: a key is a name.
fn beside(route: &ProxyRoute, name: &str) -> String {
    match (route.policy_environment_id.as_str(), route.app_key.split_once('/')) {
        ("", None) => name.to_owned(),
        ("", Some((_, environment))) | (environment, _) => format!("{name}/{environment}"),
    }
}

/// Identifies the rules of a route that keep requests from its app or change what it trusts; zero for none.
fn guard_rules(policy: &RoutePolicy, shared: &SharedPolicyState) -> u64 {
    let open = RoutePolicy::default();
    let rules = RoutePolicy {
        serve_plain_http: open.serve_plain_http,
        strip_prefix: open.strip_prefix,
        rewrite_prefix: open.rewrite_prefix.clone(),
        response_headers: open.response_headers.clone(),
        error_pages: open.error_pages.clone(),
        priority: open.priority,
        compress: open.compress,
        hsts: open.hsts,
        ..policy.clone()
    };
    // Debug leaves passwords out, so two routes with different passwords would look the same.
    let users =
        rules.basic_auth.iter().flat_map(|auth| &auth.users).map(|user| &user.password_hash).collect::<Vec<_>>();
    if rules == open { 0 } else { shared.hash(&(format!("{rules:?}"), users)) | 1 }
}

fn read_app<'a>(
    app: &'a ProxyApp,
    encoding: TrafficEncoding,
    instances: &mut HashSet<&'a str>,
    shared: &SharedPolicyState,
) -> Result<AppSnapshot, SnapshotError> {
    let mut upstreams = Vec::with_capacity(app.upstreams.len());
    let traffic: AppTraffic = encoding
        .decode(&app.traffic)
        .map_err(|error| SnapshotError::Traffic { app_key: app.app_key.clone(), error })?;
    let unreachable = |error| SnapshotError::Connector { app_key: app.app_key.clone(), error };
    let tls = AppTls::read(&traffic).map_err(unreachable)?;
    for upstream in &app.upstreams {
        let instance = upstream.instance_id.as_str();
        if !instances.insert(instance) {
            return Err(SnapshotError::DuplicateInstance { instance: instance.to_owned() });
        }
        let address: UpstreamAddress = upstream
            .address
            .parse()
            .map_err(|_| SnapshotError::Address { instance: instance.to_owned(), address: upstream.address.clone() })?;
        upstreams.push(UpstreamSpec {
            instance: instance.into(),
            connector: Arc::new(
                Connector::new(&address, traffic.upstream_protocol, tls.as_ref()).map_err(unreachable)?,
            ),
            shared: shared.app_limits.of_instance(instance, &upstream.address),
            draining: upstream.draining,
            drain_timeout: drain_timeout(upstream.drain_timeout_ms),
            weight: upstream.weight.unwrap_or(WEIGHT),
            side: upstream.side.as_str().into(),
        });
    }
    let wake_timeout = (app.wake_timeout_ms > 0).then(|| Duration::from_millis(u64::from(app.wake_timeout_ms)));
    let limits = shared.app_limits.of_app(&app.app_key);
    let key = app.app_key.as_str().into();
    Ok(AppSnapshot { key, measured: app.measured, traffic, limits, wake_timeout, upstreams })
}

#[cfg(test)]
mod tests {
    use fairlead_model::message;
    use fairlead_wire::local::ProxyUpstream;
    use prost::Message;

    use super::*;

    fn app(key: &str, instance: &str, address: &str) -> ProxyApp {
        let upstream = ProxyUpstream { instance_id: instance.into(), address: address.into(), ..Default::default() };
        ProxyApp { app_key: key.into(), upstreams: vec![upstream], measured: true, ..Default::default() }
    }

    fn route(host: &str, app_key: &str) -> ProxyRoute {
        ProxyRoute { host: host.into(), path_prefix: "/".into(), app_key: app_key.into(), ..Default::default() }
    }

    #[test]
    fn a_policy_names_apps_in_the_environment_of_the_route_or_in_one_of_its_own() {
        let own = route("a.localhost", "app_1/env_1");
        let former = ProxyRoute { policy_environment_id: "env_2".into(), ..own.clone() };
        let names = [&own, &former, &route("a.localhost", "shop")].map(|route| beside(route, "app_2"));
        assert_eq!(names, ["app_2/env_1", "app_2/env_2", "app_2"]);
    }

    #[test]
    fn a_snapshot_with_any_fault_is_refused_with_its_reason() {
        let good = ProxySnapshot {
            generation: 1,
            routes: vec![route("a.localhost", "a")],
            apps: vec![app("a", "ins_1", "127.0.0.1:1")],
            certificates: Vec::new(),
            ..ProxySnapshot::default()
        };
        let read = |change: fn(&mut ProxySnapshot)| {
            let mut snapshot = good.clone();
            change(&mut snapshot);
            Snapshot::read(&snapshot, &CertificateSet::default(), &SharedPolicyState::new().unwrap())
                .map_err(|error| error.to_string())
        };
        assert!(read(|_| ()).is_ok());
        type Fault = (&'static str, fn(&mut ProxySnapshot));
        let faults: [Fault; 10] = [
            ("a.localhost/: allow: `x`", |s| {
                let allow = vec!["x".to_owned()];
                s.routes[0].policy = message::RoutePolicy { allow, ..Default::default() }.encode_to_vec();
            }),
            ("app `a`: retry_budget_percent", |s| {
                let retry_budget_percent = Some(101);
                s.apps[0].traffic = message::AppTraffic { retry_budget_percent, ..Default::default() }.encode_to_vec();
            }),
            ("settings: trusted_proxies", |s| {
                let trusted_proxies = vec!["x".to_owned()];
                s.settings = message::ProxySettings { trusted_proxies, ..Default::default() }.encode_to_vec();
            }),
            ("not there", |s| s.apps.clear()),
            ("routed twice", |s| s.routes.push(route("a.localhost", "a"))),
            ("lower case", |s| s.routes.push(route("A.localhost", "a"))),
            ("app `a` is there twice", |s| s.apps.push(app("a", "ins_2", "127.0.0.1:1"))),
            ("instance `ins_1` is there twice", |s| s.apps.push(app("b", "ins_1", "127.0.0.1:1"))),
            ("neither IP:port nor", |s| s.apps.push(app("b", "ins_2", "localhost:1"))),
            ("empty", |s| s.certificates.push(Default::default())),
        ];
        for (reason, change) in faults {
            let error = read(change).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
