//! Resource exhaustion: broken apps, idle clients, and no free descriptors.

use std::time::Duration;

use fairlead_wire::local::{ProxyApp, ProxyRoute};
use rustix::process::{Resource, getrlimit};
use tokio::net::TcpStream;

use super::app;
use super::load::{Counts, Load, Mix};
use super::stand::{Scale, Stand, cpu, memory_kib, snapshot};
use crate::Outcome;
use crate::support::client::{Client, get};
use crate::support::{HOST, limit_open_files, upstream};

const BROKEN: &str = "app_broken/env_production";

/// Each fault is the right answer to its own client, and nothing to all others; nothing stays in flight.
pub async fn broken_upstreams(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let broken = app::broken().await;
    let mut table = snapshot(&stand.authority, vec![upstream("ins_1", stand.app.address)]);
    table.routes.push(ProxyRoute {
        host: HOST.to_owned(),
        path_prefix: "/broken".to_owned(),
        app_key: BROKEN.to_owned(),
        ..ProxyRoute::default()
    });
    let upstreams = vec![upstream("ins_broken", broken.address)];
    table.apps.push(ProxyApp { app_key: BROKEN.to_owned(), upstreams, measured: true, ..ProxyApp::default() });
    stand.supervisor.apply(table).await.unwrap();
    let target = stand.target();
    let load = Load::start(&target, Mix { http1: 2, http2: 1, long: 1, sockets: 1, http3: 0 });
    let (mut requests, mut failed) = (0, 0);
    for _ in 0..scale.kills {
        for (path, status) in [
            ("reset", Some(502)),
            ("close", Some(502)),
            ("garbage", Some(502)),
            ("half-head", Some(502)),
            ("half-body", None),
            ("half-chunks", None),
        ] {
            let mut client = target.http1().await.expect("a connection");
            client.send(&get(&format!("/broken/{path}"))).await;
            let seen = client.response(false).await.map(|response| response.status);
            requests += 1;
            if seen != status {
                eprintln!("failed: {path} was answered {seen:?}");
                failed += 1;
            }
        }
        // One that waits in vain, and leaves.
        let mut client = target.http1().await.expect("a connection");
        client.send(&get("/broken/stall")).await;
        load.counts.more(&load.counts.requests, 20).await;
        drop(client);
    }
    load.counts.more(&load.counts.long, 1).await;
    let counts = load.stop().await;
    stand
        .stats_until(|stats| {
            let idle = stats.instances.iter().all(|instance| instance.in_flight == 0);
            idle && stats.apps.iter().all(|app| app.in_flight == 0)
        })
        .await;
    stand.stop().await;
    Outcome {
        requests: Counts::read(&counts.requests) + requests,
        failed: Counts::read(&counts.failed) + failed,
        note: format!("{requests} requests to apps that broke; nothing stays in flight"),
    }
}

/// Many clients that ask now and then: memory stays as it was once all had asked.
pub async fn idle_connections(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let target = stand.target();
    let (mut clients, mut requests, mut failed) = (Vec::new(), 0, 0);
    for _ in 0..scale.idle {
        clients.push(target.http1().await.expect("a connection"));
    }
    let pid = stand.supervisor.pid();
    let mut first = None;
    let mut last = 0;
    // The first round is not measured: buffers and tables grow to what is needed.
    for round in 0..=scale.idle_rounds {
        for client in &mut clients {
            client.send(&get("/")).await;
            requests += 1;
            failed += u64::from(client.response(false).await.is_none_or(|response| response.status != 200));
        }
        last = memory_kib(pid);
        if round > 0 {
            first.get_or_insert(last);
        }
        while stand.stats.try_recv().is_ok() {}
        tokio::time::sleep(scale.idle_pause).await;
    }
    let first = first.unwrap_or(last);
    // A page here and there is no growth; a leak of 100 bytes a request would be.
    let grew = last > first + first / 20 + 512;
    drop(clients);
    stand.stats_until(|stats| stats.open_connections == 0).await;
    stand.stop().await;
    Outcome {
        requests,
        failed: failed + u64::from(grew),
        note: format!("{} connections, {first} KiB at first, {last} KiB at last", scale.idle),
    }
}

/// No descriptor is left: those who are connected are served on, the others wait in line, and nothing spins.
pub async fn descriptors_used_up(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let target = stand.target();
    let load = Load::start(&target, Mix { http1: 3, http2: 1, long: 1, sockets: 1, http3: 0 });
    load.counts.more(&load.counts.long, 1).await;
    load.counts.more(&load.counts.echoes, 5).await;
    let hard = getrlimit(Resource::Nofile).maximum.unwrap();
    let pid = stand.supervisor.pid();
    let limit = |soft| limit_open_files(pid, soft);
    // Connected, each by its own connection to the app as soon as it asks: for more of those than wait idle.
    let mut early = Vec::new();
    for _ in 0..6 {
        early.push(target.http1().await.expect("a connection"));
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", stand.supervisor.pid())).unwrap().count() as u64;
    limit(open);
    let mut waiting = Vec::new();
    for _ in 0..40 {
        waiting.push(TcpStream::connect(target.address).await.unwrap());
    }
    let asks = {
        let target = target.clone();
        tokio::spawn(async move {
            let mut client = target.http1().await?;
            client.send(&get("/")).await;
            client.response(false).await.map(|response| response.status)
        })
    };
    let pauses = stand.stats_until(|stats| stats.accept_pauses > 0).await.accept_pauses;
    load.counts.more(&load.counts.requests, 20).await;
    for client in &mut early {
        client.send(&get("/long")).await;
    }
    let mut lost = 0;
    for client in &mut early {
        lost += u64::from(client.response(false).await.is_none_or(|response| response.status != 200));
    }
    let asked = early.len() as u64;
    drop(early);
    let counts = load.stop().await;
    // Without requests, the only work left is a periodic check.
    stand.stats_until(|stats| stats.apps.iter().all(|app| app.requests == 0)).await;
    let before = cpu(stand.supervisor.pid());
    stand.stats_until(|stats| stats.accept_pauses > 0).await;
    stand.stats_until(|stats| stats.accept_pauses > 0).await;
    let spent = cpu(stand.supervisor.pid()) - before;
    limit(hard);
    let served = asks.await.unwrap() == Some(200);
    drop(waiting);
    let after = target.http1().await.expect("a connection");
    let again = Client::new(after.stream).ask(&get("/")).await.status == 200;
    stand.stop().await;
    let spins = spent > Duration::from_millis(500);
    Outcome {
        requests: Counts::read(&counts.requests) + asked + 2,
        failed: Counts::read(&counts.failed) + lost + u64::from(!served) + u64::from(!again) + u64::from(spins),
        note: format!(
            "{pauses} pauses in a second, {} ms of processor time in two, all served after",
            spent.as_millis()
        ),
    }
}
