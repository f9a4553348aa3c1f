//! Configuration file of standalone mode (docs/proxy.md), and its conversion to the proxy's snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fairlead_base::config;
use fairlead_model::{AppTraffic, ProxySettings, Redirect, RoutePolicy, TrafficError, TrafficPart, UpstreamAddress};
use fairlead_tls::{CertificateFileError, read_certificate};
use fairlead_wire::local::{ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot, ProxyUpstream};
use serde::Deserialize;

use super::watch::WatchedFile;

/// Contents of the configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StandaloneConfig {
    pub(super) listen: ListenConfig,
    #[serde(default)]
    settings: ProxySettings,
    #[serde(default)]
    certificates: Vec<CertificateFiles>,
    #[serde(default)]
    apps: BTreeMap<String, AppConfig>,
    #[serde(default)]
    routes: Vec<RouteConfig>,
    /// Path of the file; relative paths in it start at its folder.
    #[serde(skip)]
    path: PathBuf,
    /// State of the file before it was read.
    #[serde(skip)]
    watched: WatchedFile,
}

/// Settings that only take effect at start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenConfig {
    #[serde(default)]
    pub(super) https: Vec<SocketAddr>,
    #[serde(default)]
    pub(super) http: Vec<SocketAddr>,
    /// Address of the Prometheus endpoint.
    pub(super) metrics: Option<SocketAddr>,
    /// Path of the access log.
    access_log: Option<PathBuf>,
    /// Path of the control socket, by which a successor takes over.
    control: Option<PathBuf>,
    /// Zero: all cores of the machine.
    #[serde(default)]
    cores: usize,
}

impl ListenConfig {
    pub(super) fn cores(&self) -> usize {
        match self.cores {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            cores => cores,
        }
    }

    /// Returns the path of the control socket. Default: beside the configuration.
    pub(super) fn control_path(&self, config: &Path) -> PathBuf {
        match &self.control {
            Some(path) => beside(config, path),
            None => config.with_extension("sock"),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    /// Default: the names in the certificate.
    #[serde(default)]
    hosts: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AppConfig {
    instances: Vec<InstanceConfig>,
    #[serde(default)]
    traffic: AppTraffic,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected an address, or a table of address and weight")]
enum InstanceConfig {
    Address(UpstreamAddress),
    Weighted(WeightedInstanceConfig),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedInstanceConfig {
    address: UpstreamAddress,
    weight: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteConfig {
    host: String,
    #[serde(default = "all_paths")]
    path: String,
    app: Option<String>,
    redirect: Option<Redirect>,
    #[serde(default)]
    policy: RoutePolicy,
}

fn all_paths() -> String {
    "/".to_owned()
}

/// Snapshot for the proxy and the files that it was built from.
#[derive(Debug)]
pub(super) struct LoadedConfig {
    pub(super) snapshot: ProxySnapshot,
    /// All files that were read, as they were before the read.
    pub(super) files: Vec<WatchedFile>,
}

/// Reason why a file can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("{path}: listen: neither `https` nor `http` names an address")]
    NoAddress { path: PathBuf },
    #[error("{path}: {at}.{error}")]
    Traffic { path: PathBuf, at: String, error: TrafficError },
    #[error("{path}: routes[{index}] ({host}) has neither or both of `app` and `redirect`")]
    Target { path: PathBuf, index: usize, host: String },
    #[error("{path}: routes[{index}] ({host}) leads to app `{app}`, of which there is no [apps.{app}]")]
    UnknownApp { path: PathBuf, index: usize, host: String, app: String },
    #[error(transparent)]
    Certificate(#[from] CertificateFileError),
}

impl StandaloneConfig {
    /// Reads the file; an error names the line.
    pub(super) fn read(path: &Path) -> Result<Self, config::ConfigError> {
        let watched = WatchedFile::at(path.to_owned());
        let config: Self = config::read(path)?;
        Ok(Self { path: path.to_owned(), watched, ..config })
    }

    /// Checks everything and reads the certificates.
    pub(super) fn load(&self) -> Result<LoadedConfig, LoadError> {
        if self.listen.https.is_empty() && self.listen.http.is_empty() {
            return Err(LoadError::NoAddress { path: self.path.clone() });
        }
        let mut files = vec![self.watched.clone()];
        let mut certificates = Vec::new();
        for source in &self.certificates {
            let (chain, key) = (beside(&self.path, &source.chain), beside(&self.path, &source.key));
            files.extend([&chain, &key].map(|path| WatchedFile::at(path.clone())));
            let read = read_certificate(&chain, &key)?;
            let hosts = if source.hosts.is_empty() { read.hosts } else { source.hosts.clone() };
            certificates.push(ProxyCertificate { hosts, chain_der: read.chain_der, key_pkcs8_der: read.key_pkcs8_der });
        }
        let routes = self.routes.iter().enumerate().map(|(index, route)| self.route(index, route));
        let snapshot = ProxySnapshot {
            acme_responders: Vec::new(),
            generation: 0,
            routes: routes.collect::<Result<_, _>>()?,
            certificates,
            apps: self.apps.iter().map(|(name, app)| self.app(name, app)).collect::<Result<_, _>>()?,
            settings: self.encode("settings", &self.settings)?,
            access_log_path: self.access_log_path(),
            traffic_is_json: true,
        };
        Ok(LoadedConfig { snapshot, files })
    }

    fn access_log_path(&self) -> String {
        let path = self.listen.access_log.as_ref();
        path.map(|path| beside(&self.path, path).to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Checks a part of traffic policy, and encodes it for the proxy.
    fn encode(&self, at: &str, part: &impl TrafficPart) -> Result<Vec<u8>, LoadError> {
        part.check().map_err(|error| self.wrong(at, error))?;
        serde_json::to_vec(part).map_err(|error| self.wrong(at, TrafficError::new("encoding", error.to_string())))
    }

    fn wrong(&self, at: impl Into<String>, error: TrafficError) -> LoadError {
        LoadError::Traffic { path: self.path.clone(), at: at.into(), error }
    }

    fn app(&self, name: &str, app: &AppConfig) -> Result<ProxyApp, LoadError> {
        let at = format!("apps.{name}");
        let traffic = self.encode(&format!("{at}.traffic"), &app.traffic)?;
        let mut taken = BTreeSet::new();
        let mut upstreams = Vec::new();
        for instance in &app.instances {
            let (address, weight) = match instance {
                InstanceConfig::Address(address) => (address, None),
                InstanceConfig::Weighted(weighted) => (&weighted.address, Some(weighted.weight)),
            };
            let instance_id = format!("{name}/{address}");
            if !taken.insert(instance_id.clone()) {
                let error = TrafficError::new("instances", format!("{address} is there twice"));
                return Err(self.wrong(at, error));
            }
            let address = address.to_string();
            upstreams.push(ProxyUpstream { instance_id, address, weight, ..ProxyUpstream::default() });
        }
        Ok(ProxyApp { app_key: name.to_owned(), upstreams, measured: true, traffic, ..ProxyApp::default() })
    }

    fn route(&self, index: usize, route: &RouteConfig) -> Result<ProxyRoute, LoadError> {
        let at = || format!("routes[{index}]");
        let path = || self.path.clone();
        let policy = self.encode(&format!("{}.policy", at()), &route.policy)?;
        let (app_key, redirect) = match (&route.app, &route.redirect) {
            (Some(app), None) if self.apps.contains_key(app) => (app.clone(), Vec::new()),
            (Some(app), None) => {
                let (host, app) = (route.host.clone(), app.clone());
                return Err(LoadError::UnknownApp { path: path(), index, host, app });
            }
            (None, Some(to)) => (String::new(), self.encode(&format!("{}.redirect", at()), to)?),
            _ => return Err(LoadError::Target { path: path(), index, host: route.host.clone() }),
        };
        let (host, path_prefix) = (route.host.clone(), route.path.clone());
        Ok(ProxyRoute { host, path_prefix, app_key, redirect, policy, ..ProxyRoute::default() })
    }
}

fn beside(config: &Path, path: &Path) -> PathBuf {
    config.parent().unwrap_or(Path::new("")).join(path)
}

#[cfg(test)]
mod tests {
    use fairlead_model::TrafficEncoding;

    use super::*;

    fn load(text: &str) -> Result<LoadedConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("routes.toml");
        std::fs::write(&path, text).unwrap();
        StandaloneConfig::read(&path).map_err(|error| error.to_string())?.load().map_err(|error| error.to_string())
    }

    const GOOD: &str = r#"
        [listen]
        http = ["127.0.0.1:0"]

        [apps.web]
        instances = ["127.0.0.1:3000", { address = "unix:/run/web.sock", weight = 10 }]

        [apps.web.traffic]
        load_balancing = "round_robin"

        [[routes]]
        host = "example.com"
        app = "web"

        [routes.policy]
        strip_prefix = true
        request_headers = [{ action = "set", name = "x-from", value = "fairlead" }]

        [[routes]]
        host = "www.example.com"
        redirect = { to = "https://example.com" }
    "#;

    #[test]
    fn a_file_becomes_the_proxys_table() {
        let loaded = load(GOOD).unwrap();
        fairlead_proxy::check(&loaded.snapshot).unwrap();
        let app = &loaded.snapshot.apps[0];
        assert_eq!((app.upstreams[1].address.as_str(), app.upstreams[1].weight), ("unix:/run/web.sock", Some(10)));
        assert!(!app.traffic.is_empty() && !loaded.snapshot.routes[0].policy.is_empty());
        let redirect = TrafficEncoding::Json.decode::<Redirect>(&loaded.snapshot.routes[1].redirect).unwrap();
        assert_eq!(redirect.status, 308);
    }

    #[test]
    fn every_error_names_its_position() {
        for (from, to, told) in [
            ("http = [\"127.0.0.1:0\"]", "", "neither `https` nor `http`"),
            ("app = \"web\"", "app = \"wbe\"", "routes[0] (example.com) leads to app `wbe`"),
            ("app = \"web\"", "", "neither or both"),
            (
                "load_balancing = \"round_robin\"",
                "retry_budget_percent = 101",
                "apps.web.traffic.retry_budget_percent: is 101",
            ),
            ("load_balancing = \"round_robin\"", "load_blancing = 1", "load_blancing"),
            ("name = \"x-from\"", "name = \"Host\"", "routes[0].policy.request_headers[0].name"),
            ("to = \"https://example.com\"", "to = \"ftp://x\"", "routes[1].redirect.to"),
            ("\"127.0.0.1:3000\"", "\"127.0.0.1\"", "instances"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = load(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(told), "{told}: {error}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_there_is_named() {
        let text = format!("{GOOD}\n[[certificates]]\nchain = \"missing.pem\"\nkey = \"key.pem\"\n");
        assert!(load(&text).unwrap_err().contains("missing.pem"));
    }
}
