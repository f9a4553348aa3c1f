//! The route table as it was sent, checked whole and made quick to ask. Immutable: a new one replaces it.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use fairlead_route::RouteTable;
use fairlead_tls::{CertificateSet, CertificateSource};
use fairlead_wire::local::{ProxyApp, ProxySnapshot};

/// What the cores serve by.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) generation: u64,
    /// Host and path to an index of `apps`.
    pub(crate) table: RouteTable<u32>,
    pub(crate) apps: Vec<AppSpec>,
    pub(crate) certificates: Arc<CertificateSet>,
}

/// An app and where its instances listen.
#[derive(Debug)]
pub(crate) struct AppSpec {
    pub(crate) key: Box<str>,
    pub(crate) measured: bool,
    pub(crate) upstreams: Vec<UpstreamSpec>,
}

/// One instance.
#[derive(Debug)]
pub(crate) struct UpstreamSpec {
    pub(crate) instance: Box<str>,
    pub(crate) address: SocketAddr,
    pub(crate) draining: bool,
}

/// Why a snapshot is refused; the one before serves on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    #[error(transparent)]
    Route(#[from] fairlead_model::RouteError),
    #[error(transparent)]
    Certificate(#[from] fairlead_tls::CertificateError),
    #[error("{host}{path_prefix} leads to app `{app_key}`, which is not there")]
    UnknownApp { host: String, path_prefix: String, app_key: String },
    #[error("app `{app_key}` is there twice")]
    DuplicateApp { app_key: String },
    #[error("instance `{instance}` is there twice")]
    DuplicateInstance { instance: String },
    #[error("instance `{instance}` has the address `{address}`, which is not IP:port")]
    Address { instance: String, address: String },
}

impl Snapshot {
    /// Checks everything; nothing of a bad snapshot is used.
    pub(crate) fn read(message: &ProxySnapshot, certificates: &CertificateSet) -> Result<Self, SnapshotError> {
        let mut index = HashMap::new();
        let mut instances = HashSet::new();
        let mut apps = Vec::with_capacity(message.apps.len());
        for (position, app) in (0u32..).zip(&message.apps) {
            if index.insert(app.app_key.as_str(), position).is_some() {
                return Err(SnapshotError::DuplicateApp { app_key: app.app_key.clone() });
            }
            apps.push(read_app(app, &mut instances)?);
        }
        let mut routes = Vec::with_capacity(message.routes.len());
        for route in &message.routes {
            let app = index.get(route.app_key.as_str()).ok_or_else(|| SnapshotError::UnknownApp {
                host: route.host.clone(),
                path_prefix: route.path_prefix.clone(),
                app_key: route.app_key.clone(),
            })?;
            routes.push((route.host.as_str(), route.path_prefix.as_str(), *app));
        }
        let sources = message.certificates.iter().map(|certificate| CertificateSource {
            hosts: &certificate.hosts,
            chain_der: &certificate.chain_der,
            key_pkcs8_der: &certificate.key_pkcs8_der,
        });
        Ok(Self {
            generation: message.generation,
            table: RouteTable::build(routes)?,
            apps,
            certificates: Arc::new(CertificateSet::build(sources, certificates)?),
        })
    }
}

fn read_app<'a>(app: &'a ProxyApp, instances: &mut HashSet<&'a str>) -> Result<AppSpec, SnapshotError> {
    let mut upstreams = Vec::with_capacity(app.upstreams.len());
    for upstream in &app.upstreams {
        let instance = upstream.instance_id.as_str();
        if !instances.insert(instance) {
            return Err(SnapshotError::DuplicateInstance { instance: instance.to_owned() });
        }
        let address = upstream
            .address
            .parse()
            .map_err(|_| SnapshotError::Address { instance: instance.to_owned(), address: upstream.address.clone() })?;
        upstreams.push(UpstreamSpec { instance: instance.into(), address, draining: upstream.draining });
    }
    Ok(AppSpec { key: app.app_key.as_str().into(), measured: app.measured, upstreams })
}

#[cfg(test)]
mod tests {
    use fairlead_wire::local::{ProxyRoute, ProxyUpstream};

    use super::*;

    fn app(key: &str, instance: &str, address: &str) -> ProxyApp {
        let upstream = ProxyUpstream { instance_id: instance.into(), address: address.into(), draining: false };
        ProxyApp { app_key: key.into(), upstreams: vec![upstream], measured: true }
    }

    fn route(host: &str, app_key: &str) -> ProxyRoute {
        ProxyRoute { host: host.into(), path_prefix: "/".into(), app_key: app_key.into() }
    }

    #[test]
    fn a_snapshot_with_any_fault_is_refused_with_its_reason() {
        let good = ProxySnapshot {
            generation: 1,
            routes: vec![route("a.localhost", "a")],
            apps: vec![app("a", "ins_1", "127.0.0.1:1")],
            certificates: Vec::new(),
        };
        let read = |change: fn(&mut ProxySnapshot)| {
            let mut snapshot = good.clone();
            change(&mut snapshot);
            Snapshot::read(&snapshot, &CertificateSet::default()).map_err(|error| error.to_string())
        };
        assert!(read(|_| ()).is_ok());
        type Fault = (&'static str, fn(&mut ProxySnapshot));
        let faults: [Fault; 7] = [
            ("not there", |s| s.apps.clear()),
            ("routed twice", |s| s.routes.push(route("a.localhost", "a"))),
            ("lower case", |s| s.routes.push(route("A.localhost", "a"))),
            ("app `a` is there twice", |s| s.apps.push(app("a", "ins_2", "127.0.0.1:1"))),
            ("instance `ins_1` is there twice", |s| s.apps.push(app("b", "ins_1", "127.0.0.1:1"))),
            ("not IP:port", |s| s.apps.push(app("b", "ins_2", "localhost:1"))),
            ("empty", |s| s.certificates.push(Default::default())),
        ];
        for (reason, change) in faults {
            let error = read(change).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
