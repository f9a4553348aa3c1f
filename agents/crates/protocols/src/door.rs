//! A proxy as its clients see it: where it listens and which root signed its certificate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fairlead_proxy::{KeeperOptions, ProxyKeeper};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::{ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{APP, HOST, Proxy, upstream};

#[derive(Debug, Clone)]
pub struct Door {
    pub https: SocketAddr,
    root_der: Vec<u8>,
}

impl Door {
    pub fn of(proxy: &Proxy) -> Self {
        Self { https: proxy.https, root_der: proxy.authority.root_der().to_vec() }
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
        let stream = TcpStream::connect(self.https).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from(HOST).unwrap();
        TlsConnector::from(Arc::new(self.tls(&[alpn]))).connect(name, stream).await.unwrap()
    }
}

/// A proxy in a process of its own, with the limits it ships with: its memory is nobody else's.
pub struct OwnProcess {
    pub door: Door,
    keeper: ProxyKeeper,
    _folder: TempDir,
}

impl OwnProcess {
    /// One whose route leads to `app`.
    pub async fn before(app: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = KeeperOptions {
            program: std::env::current_exe().unwrap(),
            control_path: folder.path().join("proxy.sock"),
            https: vec![any],
            http: vec![any],
            workers: 2,
            retirement: fairlead_proxy::DrainOrder::default(),
        };
        let (keeper, mut stats) = ProxyKeeper::start(options).await.unwrap();
        tokio::spawn(async move { while stats.recv().await.is_some() {} });
        let authority = LocalAuthority::open_or_create(&folder.path().join("ca")).unwrap();
        let leaf = authority.leaf(HOST).unwrap();
        let snapshot = ProxySnapshot {
            routes: vec![ProxyRoute {
                host: HOST.to_owned(),
                path_prefix: "/".to_owned(),
                app_key: APP.to_owned(),
                ..ProxyRoute::default()
            }],
            certificates: vec![ProxyCertificate {
                hosts: vec![HOST.to_owned()],
                chain_der: leaf.chain_der,
                key_pkcs8_der: leaf.key_pkcs8_der,
            }],
            apps: vec![ProxyApp {
                app_key: APP.to_owned(),
                upstreams: vec![upstream("ins_1", app)],
                measured: true,
                ..ProxyApp::default()
            }],
            ..ProxySnapshot::default()
        };
        keeper.apply(snapshot).await.unwrap();
        let door = Door { https: keeper.https_address().unwrap(), root_der: authority.root_der().to_vec() };
        Self { door, keeper, _folder: folder }
    }

    /// What it has allocated, bytes. Its share of the program's own pages changes with every other process of it.
    pub fn memory_bytes(&self) -> u64 {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.keeper.pid())).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
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
