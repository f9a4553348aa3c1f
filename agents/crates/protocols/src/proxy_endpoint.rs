//! Client side of a proxy under test: its address, its root certificate, and connections to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairlead_proxy::{Limits, ProxySupervisor, SupervisorOptions};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::{ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{APP, HOST, Proxy, upstream};

/// App below `/other`.
const OTHER_APP: &str = "app_other/env_production";

#[derive(Debug, Clone)]
pub struct ProxyEndpoint {
    pub https: SocketAddr,
    root_der: Vec<u8>,
    /// Source address of connections.
    pub from: IpAddr,
}

impl ProxyEndpoint {
    pub fn of(proxy: &Proxy) -> Self {
        Self { https: proxy.https, root_der: proxy.authority.root_der().to_vec(), from: Ipv4Addr::LOCALHOST.into() }
    }

    /// Returns the endpoint for another client: the proxy distinguishes clients by their addresses.
    pub fn of_client(&self, number: u8) -> Self {
        Self { from: Ipv4Addr::new(127, 0, 0, number).into(), ..self.clone() }
    }

    /// Opens a TCP connection and sends nothing.
    pub async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(self.from, 0))?;
        let stream = socket.connect(self.https).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub fn tls(&self, alpn: &[&str]) -> ClientConfig {
        self.tls_of(alpn, rustls::DEFAULT_VERSIONS)
    }

    pub fn tls_of(&self, alpn: &[&str], versions: &[&'static rustls::SupportedProtocolVersion]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.root_der.clone().into()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }

    /// Opens a TLS connection with one ALPN protocol; panics if it is refused.
    pub async fn open(&self, alpn: &str) -> TlsStream<TcpStream> {
        self.try_open(alpn).await.unwrap()
    }

    pub async fn try_open(&self, alpn: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(HOST).unwrap();
        TlsConnector::from(Arc::new(self.tls(&[alpn]))).connect(name, self.connect().await?).await
    }
}

/// Environment variable with the program of another build to test. A build without a limit shows that its flood works.
const OTHER_PROXY: &str = "FAIRLEAD_FLOODS_PROXY";
/// Descriptor limit of a proxy under test: low, so that a flood that uses many fails.
const DESCRIPTORS: u64 = 4096;

/// Runs the proxy with default limits, but few descriptors, and with clients of this machine distinguished by address.
/// So a flood and a polite client can be two clients.
pub fn serve_few_descriptors() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum: Some(DESCRIPTORS) }).unwrap();
    fairlead_proxy::run("0.0.0-test", Limits { bounds_loopback: true, ..Limits::default() }).unwrap();
}

/// Proxy in its own process, so that its memory and descriptors can be measured.
pub struct ProxyProcess {
    pub endpoint: ProxyEndpoint,
    supervisor: ProxySupervisor,
    _folder: TempDir,
}

impl ProxyProcess {
    /// Starts a proxy that routes to `app`, and to another app below `/other`.
    pub async fn before(app: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = SupervisorOptions {
            program: std::env::var_os(OTHER_PROXY).map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from),
            control_path: folder.path().join("proxy.sock"),
            https: vec![any],
            http: vec![any],
            workers: 2,
            upgrade_drain: fairlead_proxy::DrainOptions::default(),
        };
        let (supervisor, mut stats) = ProxySupervisor::start(options).await.unwrap();
        tokio::spawn(async move { while stats.recv().await.is_some() {} });
        let authority = LocalAuthority::open_or_create(&folder.path().join("ca")).unwrap();
        let leaf = authority.leaf(HOST).unwrap();
        let snapshot = ProxySnapshot {
            routes: [("/", APP), ("/other", OTHER_APP)]
                .map(|(path, app)| ProxyRoute {
                    host: HOST.to_owned(),
                    path_prefix: path.to_owned(),
                    app_key: app.to_owned(),
                    ..ProxyRoute::default()
                })
                .into(),
            certificates: vec![ProxyCertificate {
                hosts: vec![HOST.to_owned()],
                chain_der: leaf.chain_der,
                key_pkcs8_der: leaf.key_pkcs8_der,
            }],
            apps: [(APP, "ins_1"), (OTHER_APP, "ins_2")]
                .map(|(key, instance)| ProxyApp {
                    app_key: key.to_owned(),
                    upstreams: vec![upstream(instance, app)],
                    measured: true,
                    ..ProxyApp::default()
                })
                .into(),
            ..ProxySnapshot::default()
        };
        supervisor.apply(snapshot).await.unwrap();
        let (https, root_der) = (supervisor.https_address().unwrap(), authority.root_der().to_vec());
        let endpoint = ProxyEndpoint { https, root_der, from: Ipv4Addr::LOCALHOST.into() };
        Self { endpoint, supervisor, _folder: folder }
    }

    /// Returns its anonymous memory in bytes. Shared pages don't count: they change with every other process of the
    /// program.
    pub fn memory_bytes(&self) -> u64 {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.supervisor.pid())).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Returns the share of descriptors that are open, in percent.
    pub fn descriptors_percent(&self) -> u64 {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.supervisor.pid())).unwrap().count();
        (open as u64 * 100).div_ceil(DESCRIPTORS)
    }

    pub async fn end(self) {
        self.supervisor.stop(Duration::from_millis(100)).await;
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        // A case that failed before `end` leaves the process running.
        let pid = rustix::process::Pid::from_raw(self.supervisor.pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
}
