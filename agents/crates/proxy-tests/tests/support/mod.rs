//! In-process proxy on free ports, with test apps behind it and raw test clients.
// Each test program uses its own part; those with their own `main` are not `cfg(test)` to the lints.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

pub mod app;
pub mod client;
pub mod http2;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_model::message::AppTraffic;
use fairlead_proxy::{Limits, ListenerKind, ProxyError, ProxySockets};
use fairlead_tls::LocalAuthority;
use fairlead_wire::LocalChannel;
use fairlead_wire::local::{
    AccessLogFile, ProxyApp, ProxyCertificate, ProxyCommand, ProxyDrain, ProxyEvent, ProxyHello,
    ProxyLoadBalancingStats, ProxyRoute, ProxySnapshot, ProxyStats, ProxyUpstream, proxy_command, proxy_event,
};
use prost::Message;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

pub const HOST: &str = "hello.localhost";
pub const APP: &str = "app_hello/env_production";

type Channel = LocalChannel<ProxyCommand, ProxyEvent>;

/// Deadlines short enough to wait for and long enough for a busy machine.
pub fn quick() -> Limits {
    Limits { tick: Duration::from_millis(10), ..Limits::default() }
}

/// A running proxy and `run`'s end of its channel.
pub struct Proxy {
    pub https: SocketAddr,
    pub http: SocketAddr,
    pub authority: LocalAuthority,
    pub served: JoinHandle<Result<(), ProxyError>>,
    certificates: Vec<ProxyCertificate>,
    channel: Channel,
    generation: u64,
    /// Statistics that arrived while `apply` waited for its answer; the next `stats_until` adds them up.
    unread: ProxyStats,
    /// Traffic settings of the default app in each snapshot.
    pub traffic: Option<AppTraffic>,
    control_path: PathBuf,
    shutdown: CancellationToken,
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// An instance of the usual app.
pub fn upstream(id: &str, address: SocketAddr) -> ProxyUpstream {
    ProxyUpstream {
        instance_id: id.to_owned(),
        address: address.to_string(),
        draining: false,
        ..ProxyUpstream::default()
    }
}

impl Proxy {
    /// Starts a proxy with one route from `HOST` to one instance at `app`.
    pub async fn before(app: SocketAddr) -> Self {
        Self::with(quick(), vec![upstream("ins_1", app)]).await
    }

    pub async fn with(limits: Limits, upstreams: Vec<ProxyUpstream>) -> Self {
        let mut proxy = Self::bare(limits).await;
        proxy.route(upstreams).await;
        proxy
    }

    /// Starts a proxy with these traffic settings of the app.
    pub async fn with_traffic(limits: Limits, traffic: AppTraffic, upstreams: Vec<ProxyUpstream>) -> Self {
        let mut proxy = Self::bare(limits).await;
        proxy.traffic = Some(traffic);
        proxy.route(upstreams).await;
        proxy
    }

    /// A proxy that has no snapshot yet.
    pub async fn bare(limits: Limits) -> Self {
        Self::on_cores(2, limits).await
    }

    /// Starts the same with this number of cores.
    pub async fn on_cores(cores: usize, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control_path = folder.path().join("proxy.sock");
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[any], cores, &control_path).unwrap();
        let (https, http) =
            (sockets.address(ListenerKind::Https).unwrap(), sockets.address(ListenerKind::Http).unwrap());
        let shutdown = CancellationToken::new();
        let token = shutdown.clone();
        let served = tokio::spawn(async move { fairlead_proxy::serve("0.0.0-test", limits, sockets, &token).await });
        let authority = LocalAuthority::open_or_create(&folder.path().join("ca")).unwrap();
        let certificates = vec![certificate(&authority)];
        let channel = connect(&control_path).await;
        Self {
            https,
            http,
            authority,
            served,
            certificates,
            channel,
            generation: 0,
            unread: ProxyStats::default(),
            traffic: None,
            control_path,
            shutdown,
            _folder: folder,
        }
    }

    /// Sends a snapshot; the error is the proxy's reason for refusing it.
    pub async fn apply(&mut self, mut snapshot: ProxySnapshot) -> Result<(), String> {
        self.generation += 1;
        snapshot.generation = self.generation;
        self.command(proxy_command::Body::Snapshot(snapshot)).await;
        loop {
            match self.event().await {
                proxy_event::Body::Applied(applied) => {
                    assert_eq!(applied.generation, self.generation);
                    return if applied.error.is_empty() { Ok(()) } else { Err(applied.error) };
                }
                proxy_event::Body::Stats(stats) => add(&mut self.unread, stats),
                _ => {}
            }
        }
    }

    pub fn snapshot(&self, upstreams: Vec<ProxyUpstream>) -> ProxySnapshot {
        ProxySnapshot {
            generation: 0,
            routes: vec![ProxyRoute {
                host: HOST.to_owned(),
                path_prefix: "/".to_owned(),
                app_key: APP.to_owned(),
                ..ProxyRoute::default()
            }],
            certificates: self.certificates.clone(),
            apps: vec![ProxyApp {
                app_key: APP.to_owned(),
                upstreams,
                measured: true,
                traffic: self.traffic.as_ref().map(AppTraffic::encode_to_vec).unwrap_or_default(),
                ..ProxyApp::default()
            }],
            ..ProxySnapshot::default()
        }
    }

    pub async fn route(&mut self, upstreams: Vec<ProxyUpstream>) {
        let snapshot = self.snapshot(upstreams);
        self.apply(snapshot).await.unwrap();
    }

    /// Ends it at once, and waits until nothing of it is left.
    pub async fn end(mut self) {
        self.shutdown.cancel();
        (&mut self.served).await.unwrap().unwrap();
    }

    pub async fn command(&self, body: proxy_command::Body) {
        self.channel.send(&ProxyCommand { body: Some(body) }, &[]).await.unwrap();
    }

    /// Passes the access log's file, as `run` does.
    pub async fn pass_log(&self, file: &std::fs::File) {
        let body = proxy_command::Body::AccessLog(AccessLogFile {});
        self.channel.send(&ProxyCommand { body: Some(body) }, &[file.as_fd()]).await.unwrap();
    }

    pub async fn drain(&self, timeout_ms: u32) {
        self.command(proxy_command::Body::Drain(ProxyDrain { timeout_ms, spread_ms: 0 })).await;
    }

    pub async fn event(&mut self) -> proxy_event::Body {
        self.channel.receive().await.unwrap().unwrap().body.unwrap()
    }

    /// Sums up statistics until `enough`, from the previous call on.
    pub async fn stats_until(&mut self, enough: impl Fn(&ProxyStats) -> bool) -> ProxyStats {
        let mut sum = std::mem::take(&mut self.unread);
        loop {
            if let proxy_event::Body::Stats(stats) = self.event().await {
                add(&mut sum, stats);
                if enough(&sum) {
                    return sum;
                }
            }
        }
    }

    /// `run` goes away, and another comes.
    pub async fn reconnect(&mut self) {
        self.channel = connect(&self.control_path).await;
    }

    pub fn tls(&self, alpn: &[&str]) -> Arc<ClientConfig> {
        client_tls(&self.authority, alpn)
    }
}

/// A client that trusts `authority` alone.
pub fn client_tls(authority: &LocalAuthority, alpn: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.root_der().to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A certificate of `authority` for `HOST`, as a snapshot has it.
pub fn certificate(authority: &LocalAuthority) -> ProxyCertificate {
    let leaf = authority.leaf(HOST).unwrap();
    ProxyCertificate { hosts: vec![HOST.to_owned()], chain_der: leaf.chain_der, key_pkcs8_der: leaf.key_pkcs8_der }
}

fn add(sum: &mut ProxyStats, stats: ProxyStats) {
    for app in stats.apps {
        match sum.apps.iter_mut().find(|known| known.app_key == app.app_key) {
            Some(known) => {
                known.requests += app.requests;
                known.errors += app.errors;
                known.client_errors += app.client_errors;
                known.bytes_received += app.bytes_received;
                known.bytes_sent += app.bytes_sent;
                known.latency_count.extend(app.latency_count);
                known.in_flight = app.in_flight;
                known.load_balancing = Some(load_balancing(
                    known.load_balancing.unwrap_or_default(),
                    app.load_balancing.unwrap_or_default(),
                ));
            }
            None => sum.apps.push(app),
        }
    }
    sum.route_responses.extend(stats.route_responses);
    sum.route_metrics.extend(stats.route_metrics);
    sum.sides.extend(stats.sides);
    sum.instances = stats.instances;
    sum.open_connections = stats.open_connections;
    sum.malformed_requests += stats.malformed_requests;
    sum.accept_pauses += stats.accept_pauses;
    sum.rejected_connections += stats.rejected_connections;
}

/// Counts are summed, and how things stand is the newest.
fn load_balancing(sum: ProxyLoadBalancingStats, new: ProxyLoadBalancingStats) -> ProxyLoadBalancingStats {
    ProxyLoadBalancingStats {
        queued: sum.queued + new.queued,
        queue_timeouts: sum.queue_timeouts + new.queue_timeouts,
        queue_full: sum.queue_full + new.queue_full,
        load_shed: sum.load_shed + new.load_shed,
        retries: sum.retries + new.retries,
        ejections: sum.ejections + new.ejections,
        ..new
    }
}

/// Bounds the open files of a proxy's process; the hard limit stays. Containers lack CAP_SYS_RESOURCE, which root needs for
/// another user's process, so a process of the proxy's own user does it.
pub fn limit_open_files(pid: u32, soft: u64) {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg(format!("--pid={pid}")).arg(format!("--nofile={soft}:"));
    if rustix::process::geteuid().is_root() {
        let user = fairlead_base::accounts::proxy_user().unwrap();
        prlimit.uid(user.uid).gid(user.gid);
    }
    assert!(prlimit.status().unwrap().success());
}

async fn connect(path: &std::path::Path) -> Channel {
    let mut channel = Channel::new(UnixStream::connect(path).await.unwrap());
    let hello = ProxyHello { protocol_version: 1, agent_version: "0.0.0-test".to_owned(), pid: std::process::id() };
    channel.send(&ProxyCommand { body: Some(proxy_command::Body::Hello(hello)) }, &[]).await.unwrap();
    let event = channel.receive().await.unwrap().unwrap();
    assert!(matches!(event.body, Some(proxy_event::Body::Hello(_))));
    channel
}
