//! Abrupt process deaths: a dead `run` fails no request, a dead proxy only its requests in flight.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use fairlead_proxy::ProxySupervisor;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::app;
use super::load::{Counts, Load, Mix, Target};
use super::stand::{Scale, Stand, authority, kill, options, snapshot, until};
use crate::Outcome;
use crate::support::upstream;

const MIX: Mix = Mix { http1: 4, http2: 1, long: 2, sockets: 2, http3: 0 };
/// Maximum number of requests in flight: four streams for each connection.
const IN_FLIGHT_MAX: u64 = 4 + 4 + 2 + 2;

/// Acts as `run` for the proxy: supervises it, sends its snapshot, and prints its address.
pub async fn be_run(folder: &Path, app: SocketAddr) {
    let (supervisor, mut stats) = ProxySupervisor::start(options(folder, Duration::from_secs(6))).await.unwrap();
    supervisor.apply(snapshot(&authority(folder), vec![upstream("ins_1", app)])).await.unwrap();
    println!("{} {}", supervisor.https_address().unwrap(), supervisor.pid());
    while stats.recv().await.is_some() {}
}

async fn start_run(folder: &Path, app: SocketAddr) -> (Child, SocketAddr, u32) {
    let mut child = Command::new("/proc/self/exe")
        .arg("run")
        .arg(folder)
        .arg(app.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next_line().await.unwrap().expect("it serves");
    let (address, pid) = line.split_once(' ').unwrap();
    (child, address.parse().unwrap(), pid.parse().unwrap())
}

pub async fn run_killed(scale: &Scale) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let app = app::steady().await;
    let authority = authority(folder.path());
    let (mut run, address, proxy) = start_run(folder.path(), app.address).await;
    let load = Load::start(&Target::new(address, &authority), MIX);
    let mut followed = 0;
    for _ in 0..scale.kills {
        load.counts.more(&load.counts.requests, scale.between).await;
        run.kill().await.unwrap();
        load.counts.more(&load.counts.requests, scale.between).await;
        let (next, found, same) = start_run(folder.path(), app.address).await;
        followed += u64::from((found, same) != (address, proxy));
        run = next;
    }
    load.counts.more(&load.counts.requests, scale.between).await;
    let counts = load.stop().await;
    run.kill().await.unwrap();
    let (supervisor, stats) = ProxySupervisor::start(options(folder.path(), scale.drain_timeout)).await.unwrap();
    drop(stats);
    supervisor.stop(Duration::from_secs(5)).await;
    Outcome {
        requests: Counts::read(&counts.requests),
        // The proxy must be the same one all the time.
        failed: Counts::read(&counts.failed) + followed,
        note: format!("{} kills of run, one proxy throughout", scale.kills),
    }
}

pub async fn proxy_killed(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let load = Load::start(&stand.target(), MIX);
    for _ in 0..scale.kills {
        load.counts.more(&load.counts.requests, scale.between).await;
        let pid = stand.supervisor.pid();
        kill(pid);
        until(|| stand.supervisor.pid() != pid).await;
        while stand.stats.try_recv().is_ok() {}
    }
    load.counts.more(&load.counts.requests, scale.between).await;
    let counts = load.stop().await;
    stand.stop().await;
    let (cut, refused) = (Counts::read(&counts.failed), Counts::read(&counts.refused));
    let due = cut.saturating_sub(refused).min(u64::from(scale.kills) * IN_FLIGHT_MAX);
    Outcome {
        requests: Counts::read(&counts.requests),
        failed: cut - due,
        note: format!("{} kills, {due} in flight then were cut, {refused} connections refused", scale.kills),
    }
}
