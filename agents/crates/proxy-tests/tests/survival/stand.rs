//! Test bed of a fault: a supervisor with a real proxy process, the load app behind it, and a trusted authority.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use fairlead_proxy::{DrainOptions, ProxySupervisor, SupervisorOptions};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::{ProxyApp, ProxyRoute, ProxySnapshot, ProxyStats, ProxyUpstream};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::app;
use super::load::Target;
use crate::support::app::App;
use crate::support::{APP, HOST, certificate, upstream};

/// Number of repetitions in each fault.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub swaps: u32,
    pub handshakes: u32,
    pub upgrades: u32,
    pub kills: u32,
    pub idle: usize,
    pub idle_rounds: u32,
    pub idle_pause: Duration,
    /// Requests between two events.
    pub between: u64,
    /// For what a proxy has when it is upgraded.
    pub drain_timeout: Duration,
}

impl Scale {
    /// Scale of `npm test`.
    pub const SHORT: Self = Self {
        swaps: 150,
        handshakes: 12,
        upgrades: 3,
        kills: 2,
        idle: 300,
        idle_rounds: 3,
        idle_pause: Duration::ZERO,
        between: 60,
        drain_timeout: Duration::from_secs(6),
    };
    /// As it is promised.
    pub const LONG: Self = Self {
        swaps: 3000,
        handshakes: 400,
        upgrades: 20,
        kills: 10,
        idle: 5000,
        idle_rounds: 14,
        // Sooner than an idle connection is closed; ten minutes in all.
        idle_pause: Duration::from_secs(45),
        between: 400,
        drain_timeout: Duration::from_secs(20),
    };
}

/// Proxy supervisor, with what it serves.
pub struct Stand {
    pub supervisor: ProxySupervisor,
    pub stats: mpsc::Receiver<ProxyStats>,
    pub app: App,
    pub authority: LocalAuthority,
    /// Goes with the stand.
    _folder: TempDir,
}

pub fn options(folder: &Path, drain_timeout: Duration) -> SupervisorOptions {
    SupervisorOptions {
        // An ordinary user may start it too, from any folder.
        program: "/proc/self/exe".into(),
        control_path: folder.join("proxy.sock"),
        https: vec!["127.0.0.1:0".parse().unwrap()],
        http: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 2,
        upgrade_drain: DrainOptions { timeout: drain_timeout, idle_window: drain_timeout / 3 },
    }
}

pub fn authority(folder: &Path) -> LocalAuthority {
    LocalAuthority::open_or_create(&folder.join("ca")).unwrap()
}

/// One route to these instances.
pub fn snapshot(authority: &LocalAuthority, upstreams: Vec<ProxyUpstream>) -> ProxySnapshot {
    ProxySnapshot {
        routes: vec![ProxyRoute {
            host: HOST.to_owned(),
            path_prefix: "/".to_owned(),
            app_key: APP.to_owned(),
            ..ProxyRoute::default()
        }],
        certificates: vec![certificate(authority)],
        apps: vec![ProxyApp { app_key: APP.to_owned(), upstreams, measured: true, ..ProxyApp::default() }],
        ..ProxySnapshot::default()
    }
}

impl Stand {
    pub async fn start(scale: &Scale) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = app::steady().await;
        let authority = authority(folder.path());
        let (supervisor, stats) = ProxySupervisor::start(options(folder.path(), scale.drain_timeout)).await.unwrap();
        supervisor.apply(snapshot(&authority, vec![upstream("ins_1", app.address)])).await.unwrap();
        Self { supervisor, stats, app, authority, _folder: folder }
    }

    pub fn target(&self) -> Target {
        Target::new(self.address(), &self.authority)
    }

    pub fn address(&self) -> SocketAddr {
        self.supervisor.https_address().unwrap()
    }

    /// Reads statistics until one is as it should be.
    pub async fn stats_until(&mut self, enough: impl Fn(&ProxyStats) -> bool) -> ProxyStats {
        loop {
            let stats = self.stats.recv().await.expect("the supervisor runs");
            if enough(&stats) {
                return stats;
            }
        }
    }

    pub async fn stop(self) {
        drop(self.stats);
        self.supervisor.stop(Duration::from_secs(5)).await;
    }
}

pub fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// Asks again and again; what it waits for is certain to come.
pub async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The process's share of memory, in KiB.
pub fn memory_kib(pid: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Processor time that the process has used.
pub fn cpu(pid: u32) -> Duration {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let schedstat = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        sum += schedstat.split(' ').next().unwrap().parse::<u64>().unwrap();
    }
    Duration::from_nanos(sum)
}
