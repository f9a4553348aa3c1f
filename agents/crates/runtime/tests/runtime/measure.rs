//! Cost of networks of their own: starts, new connections, memory. `npm run perf:network` and `npm run check:network-scale` repeat
//! these tests at length and read the lines that begin with `network:`.

use std::collections::BTreeSet;
use std::net::TcpStream as Connection;
use std::os::fd::OwnedFd;
use std::time::Instant;

use fairlead_base::handover::{self, HandoverRequest, SOCKETS_MAX};
use fairlead_model::UpstreamAddress;
use fairlead_telemetry::{cpu_time_of, pss_bytes_of};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::time::{ClockId, clock_gettime};

use super::network::{app, ask, devices, is_root, isolated, upstream};
use super::*;

/// Rounds of starts and of connections.
const ROUNDS: &str = "FAIRLEAD_NETWORK_ROUNDS";
/// Instances beside each other.
const NETWORKS: &str = "FAIRLEAD_NETWORKS";
/// Connections of one kind in a round.
const CONNECTIONS: u32 = 320;
/// Shortest interval of health checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Apps that start at once.
const PORTION: usize = 25;

fn number(name: &str, fallback: usize) -> usize {
    std::env::var(name).map_or(fallback, |value| value.parse().unwrap())
}

/// Kinds of new connections to an app.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A socket of the server's network.
    Plain,
    /// A socket of the app's network, asked for when it is needed.
    Single,
    /// A socket of the app's network, of a batch as the proxy asks for them.
    Batch,
}

/// An instance that is connected to.
struct Target {
    address: SocketAddr,
    handover: Option<PathBuf>,
    /// Its process and its shim.
    pids: [u32; 2],
}

impl Target {
    fn of(server: &Server, status: &InstanceStatus) -> Self {
        let (address, handover) = match upstream(server, "app_a") {
            UpstreamAddress::Tcp { address, .. } => (address, None),
            UpstreamAddress::Namespace { handover, address: Some(address) } => (address, Some(handover)),
            other => panic!("{other}"),
        };
        Self { address, handover, pids: [status.pid, parent(status.pid)] }
    }

    /// Opens a block of connections, one after another. Returns the time of each, and the CPU time of all: here, in the app and in
    /// its shim.
    fn connections(&self, kind: Kind) -> (Vec<Duration>, Duration) {
        let cpu = || -> Duration {
            let own = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
            own + self.pids.iter().map(|pid| cpu_time_of(*pid).unwrap()).sum::<Duration>()
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let before = cpu();
        let mut spares: Vec<OwnedFd> = Vec::new();
        let times = (0..CONNECTIONS).map(|_| {
            let started = Instant::now();
            let socket = match (kind, &self.handover) {
                (Kind::Plain, _) => socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap(),
                (Kind::Single, Some(path)) => {
                    handover::ask_blocking(path, HandoverRequest::sockets_for(self.address, 1)).unwrap().remove(0)
                }
                (Kind::Batch, Some(path)) => {
                    if spares.is_empty() {
                        spares = handover::ask_blocking(path, HandoverRequest::sockets_for(self.address, SOCKETS_MAX))
                            .unwrap();
                    }
                    spares.pop().unwrap()
                }
                (_, None) => panic!("its network is the server's"),
            };
            match connect(&socket, &self.address) {
                Ok(()) => {}
                Err(Errno::INPROGRESS) => {
                    poll(&mut [PollFd::new(&socket, PollFlags::OUT)], None).unwrap();
                }
                Err(error) => panic!("{error}"),
            }
            assert!(Connection::from(socket).peer_addr().is_ok());
            started.elapsed()
        });
        let times = times.collect();
        (times, cpu().saturating_sub(before))
    }
}

fn parent(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the time from a desired app to its healthy instance.
async fn start_of_app(server: &mut Server) -> (Duration, InstanceStatus) {
    let started = Instant::now();
    server.desire([app("app_a", release(1, &["serve"]))]);
    let status = server.healthy(1).await.remove(0);
    (started.elapsed(), status)
}

async fn stop_of_app(server: &mut Server) {
    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
}

#[tokio::test]
async fn starts_and_new_connections_work_alike_in_either_network() {
    if !is_root() {
        return;
    }
    let (mut shared, mut own) = (Server::new().await, isolated(&[]).await);
    for round in 0..number(ROUNDS, 2) {
        let (in_shared, in_own);
        if round % 2 == 0 {
            in_shared = start_of_app(&mut shared).await;
            in_own = start_of_app(&mut own).await;
        } else {
            in_own = start_of_app(&mut own).await;
            in_shared = start_of_app(&mut shared).await;
        }
        println!("network: start {round} shared {:.0} own {:.0}", micros(in_shared.0), micros(in_own.0));
        let plain = Target::of(&shared, &in_shared.1);
        let handed = Target::of(&own, &in_own.1);
        let mut blocks = [(Kind::Plain, &plain), (Kind::Single, &handed), (Kind::Batch, &handed)];
        let kinds = blocks.len();
        blocks.rotate_left(round % kinds);
        for (kind, target) in blocks {
            let (times, cpu) = target.connections(kind);
            let (latency, cpu) = (micros(middle(times)), micros(cpu) / f64::from(CONNECTIONS));
            println!("network: connect {round} {kind:?} latency {latency:.2} cpu {cpu:.2}");
        }
        stop_of_app(&mut shared).await;
        stop_of_app(&mut own).await;
    }
    own.network.as_ref().unwrap().firewall().remove().unwrap();
    shared.end().await;
    own.end().await;
}

/// Network namespaces that processes of this machine are in.
fn namespaces() -> BTreeSet<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| std::fs::read_link(process.path().join("ns/net")).ok()).collect()
}

/// IPv4 routes of the server to devices of one data folder.
fn routes(server: &Server) -> usize {
    let prefix = server.network.as_ref().unwrap().firewall().device_prefix().to_owned();
    let table = std::fs::read_to_string("/proc/net/route").unwrap();
    table.lines().filter(|line| line.starts_with(&prefix)).count()
}

#[tokio::test]
async fn many_instances_have_networks_of_their_own_and_leave_nothing() {
    if !is_root() {
        return;
    }
    let count = number(NETWORKS, 4);
    let mut server = isolated(&[]).await;
    let mut desired = Vec::new();
    while desired.len() < count {
        let portion = PORTION.min(count - desired.len());
        for _ in 0..portion {
            // One release per app: the folder of a release belongs to the user of its app.
            let mut release = release(desired.len() as u64 + 1, &["serve", "network"]);
            // Thousands of checks a second would distort the measurement.
            release.readiness_check.interval =
                (Duration::from_millis(2) * u32::try_from(count).unwrap()).max(CHECK_INTERVAL);
            desired.push(app(&format!("app_{}", desired.len()), release));
        }
        let started = Instant::now();
        server.desire(desired.clone());
        server.healthy(desired.len()).await;
        let each = micros(started.elapsed()) / portion as f64;
        println!("network: started {} each {each:.0}", desired.len());
    }
    let instances = server.healthy(count).await;
    let inside: BTreeSet<PathBuf> =
        instances.iter().map(|status| std::fs::read_link(format!("/proc/{}/ns/net", status.pid)).unwrap()).collect();
    assert_eq!(inside.len(), count, "each has its own");
    assert_eq!((devices(&server), routes(&server)), (count, count));
    for spec in &desired {
        assert_eq!(ask(&upstream(&server, spec.key.app.as_str()), "/").await, "network");
    }
    let mut pss: Vec<u64> = instances.iter().map(|status| pss_bytes_of(parent(status.pid)).unwrap()).collect();
    let mut rss: Vec<u64> = instances.iter().map(|status| resident_bytes(parent(status.pid))).collect();
    pss.sort_unstable();
    rss.sort_unstable();
    println!("network: shims {count} rss {} pss {}", rss[count / 2], pss[count / 2]);

    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    // The kernel removes a namespace some time after its last process.
    let emptied = timeout(PATIENCE, async {
        while devices(&server) + routes(&server) > 0 || !namespaces().is_disjoint(&inside) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let left = emptied.await.is_err();
    assert!(!left, "{} devices, {} routes", devices(&server), routes(&server));
    let firewall = server.network.as_ref().unwrap().firewall().clone();
    firewall.remove().unwrap();
    assert!(firewall.list().is_err(), "its table is gone");
    println!("network: left 0");
    server.end().await;
}

fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
