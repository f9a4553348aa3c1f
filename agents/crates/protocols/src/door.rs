//! A proxy as its clients see it: where it listens and which root signed its certificate.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairlead_proxy::{SupervisorOptions, Limits, ProxySupervisor};
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
pub struct Door {
    pub https: SocketAddr,
    root_der: Vec<u8>,
    /// Source address of connections.
    pub from: IpAddr,
}

impl Door {
    pub fn of(proxy: &Proxy) -> Self {
        Self { https: proxy.https, root_der: proxy.authority.root_der().to_vec(), from: Ipv4Addr::LOCALHOST.into() }
    }

    /// Returns the same door for another client: the proxy tells clients apart by their addresses.
    pub fn of_client(&self, number: u8) -> Self {
        Self { from: Ipv4Addr::new(127, 0, 0, number).into(), ..self.clone() }
    }

    /// Opens a connection and sends nothing.
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

    /// A connection of one protocol; panics when it is refused.
    pub async fn open(&self, alpn: &str) -> TlsStream<TcpStream> {
        self.try_open(alpn).await.unwrap()
    }

    pub async fn try_open(&self, alpn: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(HOST).unwrap();
        TlsConnector::from(Arc::new(self.tls(&[alpn]))).connect(name, self.connect().await?).await
    }
}

/// Names another build's program, whose `proxy` is flooded instead. A build without a bound shows that its flood works.
const OTHER_PROXY: &str = "FAIRLEAD_FLOODS_PROXY";
/// Descriptors of a proxy under test: few, so that a flood that uses many fails.
const DESCRIPTORS: u64 = 4096;

/// Program of the proxy with its default limits, but with few descriptors and clients of this machine told apart by address. So a
/// flood and a polite client can be two clients.
pub fn serve_few_descriptors() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum: Some(DESCRIPTORS) }).unwrap();
    fairlead_proxy::run("0.0.0-test", Limits { bounds_loopback: true, ..Limits::default() }).unwrap();
}

/// Proxy in a process of its own, so that its memory and descriptors can be measured.
pub struct OwnProcess {
    pub door: Door,
    keeper: ProxySupervisor,
    _folder: TempDir,
}

impl OwnProcess {
    /// Starts a proxy whose routes lead to `app`, and to another app below `/other`.
    pub async fn before(app: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = SupervisorOptions {
            program: std::env::var_os(OTHER_PROXY).map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from),
            control_path: folder.path().join("proxy.sock"),
            https: vec![any],
            http: vec![any],
            workers: 2,
            retirement: fairlead_proxy::DrainOptions::default(),
        };
        let (keeper, mut stats) = ProxySupervisor::start(options).await.unwrap();
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
        keeper.apply(snapshot).await.unwrap();
        let (https, root_der) = (keeper.https_address().unwrap(), authority.root_der().to_vec());
        let door = Door { https, root_der, from: Ipv4Addr::LOCALHOST.into() };
        Self { door, keeper, _folder: folder }
    }

    /// What it has allocated, bytes. Its share of the program's own pages changes with every other process of it.
    pub fn memory_bytes(&self) -> u64 {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.keeper.pid())).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Returns the share of descriptors that are open, in percent.
    pub fn descriptors_percent(&self) -> u64 {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.keeper.pid())).unwrap().count();
        (open as u64 * 100).div_ceil(DESCRIPTORS)
    }

    pub async fn end(self) {
        self.keeper.stop(Duration::from_millis(100)).await;
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        // A case that failed before `end` leaves it running.
        let pid = rustix::process::Pid::from_raw(self.keeper.pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
}
