//! Changes without failed requests: routes, certificates, instances, and upgrades of the program.

use std::io::{Read, Write};
use std::net::TcpStream as StdTcpStream;
use std::sync::Arc;
use std::time::Duration;

use fairlead_model::message::{RouteLimits, RoutePolicy};
use fairlead_wire::local::{ProxyRoute, ProxyUpstream};
use prost::Message;
use rustls::{ClientConnection, HandshakeKind};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsConnector;

use super::app;
use super::load::{Counts, Load, Mix};
use super::stand::{Scale, Stand, snapshot, until};
use crate::Outcome;
use crate::support::client::{Client, get};
use crate::support::{APP, HOST, client_tls, upstream};

const ALL_KINDS: Mix = Mix { http1: 3, http2: 1, long: 2, sockets: 3, http3: 1 };

fn outcome(counts: &Counts, note: String) -> Outcome {
    Outcome { requests: Counts::read(&counts.requests), failed: Counts::read(&counts.failed), note }
}

/// A hundred tables a second: instances come and go, other routes too, limits change, certificates are renewed.
pub async fn route_swaps(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let other = app::steady().await;
    let load = Load::start(&stand.target(), ALL_KINDS);
    let mut ticks = interval(Duration::from_millis(10));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut certificates = snapshot(&stand.authority, Vec::new()).certificates;
    for swap in 0..scale.swaps {
        ticks.tick().await;
        let (new, old) = if swap % 2 == 0 { (&other, &stand.app) } else { (&stand.app, &other) };
        let draining = ProxyUpstream { draining: true, ..upstream(&format!("ins_{}", swap % 7), old.address) };
        if swap % 50 == 0 {
            certificates = snapshot(&stand.authority, Vec::new()).certificates;
        }
        let route = |host: String| ProxyRoute {
            host,
            path_prefix: "/".to_owned(),
            app_key: APP.to_owned(),
            ..ProxyRoute::default()
        };
        let mut table =
            snapshot(&stand.authority, vec![draining, upstream(&format!("ins_new_{}", swap % 5), new.address)]);
        table.certificates = certificates.clone();
        table.routes.extend((0..swap % 20).map(|number| route(format!("other-{number}.localhost"))));
        let limits = RouteLimits { client_in_flight: 1000 + swap, ..RouteLimits::default() };
        table.routes[0].policy = RoutePolicy { limits: Some(limits), ..RoutePolicy::default() }.encode_to_vec();
        stand.supervisor.apply(table).await.unwrap();
        while stand.stats.try_recv().is_ok() {}
    }
    load.counts.more(&load.counts.requests, 50).await;
    let counts = load.stop().await;
    stand.stop().await;
    let note = format!("{} swaps, {} sockets moved", scale.swaps, Counts::read(&counts.told));
    outcome(&counts, note)
}

/// Changes the certificate during a handshake, which completes with the certificate it started with.
pub async fn certificate_in_handshake(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let load = Load::start(&stand.target(), Mix { http1: 2, http2: 0, long: 0, sockets: 0, http3: 0 });
    let config = client_tls(&stand.authority, &["http/1.1"]);
    let upstreams = vec![upstream("ins_1", stand.app.address)];
    let mut failed = 0;
    for _ in 0..scale.handshakes {
        let mut client = ClientConnection::new(Arc::clone(&config), HOST.try_into().unwrap()).unwrap();
        let address = stand.address();
        let mut socket = tokio::task::spawn_blocking(move || StdTcpStream::connect(address)).await.unwrap().unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        let (first, second) = hello.split_at(hello.len() / 2);
        socket.write_all(first).unwrap();
        stand.supervisor.apply(snapshot(&stand.authority, upstreams.clone())).await.unwrap();
        socket.write_all(second).unwrap();
        // The server's flight is read, and the certificate changes before it is answered.
        let shaken = tokio::task::spawn_blocking(move || {
            while client.is_handshaking() && !client.wants_write() {
                client.read_tls(&mut socket).ok()?;
                client.process_new_packets().ok()?;
            }
            Some((client, socket))
        });
        let shaken = shaken.await.unwrap();
        stand.supervisor.apply(snapshot(&stand.authority, upstreams.clone())).await.unwrap();
        let answered = tokio::task::spawn_blocking(move || {
            let (mut client, mut socket) = shaken?;
            let mut stream = rustls::Stream::new(&mut client, &mut socket);
            stream.write_all(get("/").as_bytes()).ok()?;
            let mut head = [0; 15];
            stream.read_exact(&mut head).ok()?;
            head.starts_with(b"HTTP/1.1 200 OK").then_some(())
        });
        failed += u64::from(answered.await.unwrap().is_none());
        while stand.stats.try_recv().is_ok() {}
    }
    let counts = load.stop().await;
    stand.stop().await;
    let sum = outcome(&counts, format!("{} handshakes, two swaps in each", scale.handshakes));
    Outcome { requests: sum.requests + u64::from(scale.handshakes), failed: sum.failed + failed, ..sum }
}

/// An instance leaves: its requests end, its sockets are told and go to the next one, and then it has nothing in flight.
pub async fn instance_drain(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let next = app::steady().await;
    let load = Load::start(&stand.target(), ALL_KINDS);
    load.counts.more(&load.counts.echoes, 10).await;
    load.counts.more(&load.counts.long, 1).await;
    let old = ProxyUpstream { draining: true, drain_timeout_ms: 2000, ..upstream("ins_1", stand.app.address) };
    let table = snapshot(&stand.authority, vec![old, upstream("ins_2", next.address)]);
    let generation = stand.supervisor.apply(table).await.unwrap();
    let idle = |stats: &fairlead_wire::local::ProxyStats| {
        stats.generation >= generation && stats.instances.iter().any(|i| i.instance_id == "ins_1" && i.in_flight == 0)
    };
    stand.stats_until(idle).await;
    let told = Counts::read(&load.counts.told);
    load.counts.more(&load.counts.echoes, 10).await;
    let counts = load.stop().await;
    stand.stop().await;
    let sum = outcome(&counts, format!("{told} sockets told, then nothing in flight"));
    // Each was on the instance that left.
    Outcome { failed: sum.failed + u64::from(told < ALL_KINDS.sockets as u64), ..sum }
}

/// Another binary on the same sockets, again and again; several old ones drain at a time.
pub async fn upgrades(scale: &Scale) -> Outcome {
    let mut stand = Stand::start(scale).await;
    let load = Load::start(&stand.target(), ALL_KINDS);
    let mut old = Vec::new();
    for _ in 0..scale.upgrades {
        load.counts.more(&load.counts.requests, scale.between).await;
        old.push(stand.supervisor.pid());
        stand.supervisor.upgrade().await.unwrap();
        while stand.stats.try_recv().is_ok() {}
    }
    load.counts.more(&load.counts.requests, scale.between).await;
    // They end by themselves, because nothing is left on them, and sooner than they would be cut.
    until(|| old.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())).await;
    let told = Counts::read(&load.counts.told);
    load.counts.more(&load.counts.requests, scale.between).await;
    let counts = load.stop().await;
    // The metrics of all processes add up to the requests of all clients.
    stand.stats_until(|stats| stats.apps.iter().all(|app| app.in_flight == 0)).await;
    stand.stop().await;
    let long = Counts::read(&counts.long);
    let (quic, downloads) = (Counts::read(&counts.http3), Counts::read(&counts.downloads));
    let moved = Counts::read(&counts.http3_connections);
    let note = format!(
        "{} upgrades, {told} sockets told, {long} long responses, {quic} requests and {downloads} downloads over {moved} QUIC \
         connections",
        scale.upgrades
    );
    let sum = outcome(&counts, note);
    // Each kind of client went over to a successor.
    let stayed = u64::from(told < ALL_KINDS.sockets as u64) + u64::from(moved < 2 || quic == 0 || downloads == 0);
    Outcome { failed: sum.failed + stayed, ..sum }
}

/// A session begun with one proxy goes on with the next.
pub async fn resumption_over_upgrade(scale: &Scale) -> Outcome {
    let stand = Stand::start(scale).await;
    let config = client_tls(&stand.authority, &["http/1.1"]);
    let ask = async || {
        let (stream, name) = (TcpStream::connect(stand.address()).await.unwrap(), HOST.try_into().unwrap());
        let stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.unwrap();
        let kind = stream.get_ref().1.handshake_kind();
        let served = Client::new(stream).ask(&get("/")).await.status == 200;
        (kind, served)
    };
    let (mut requests, mut failed) = (1, u64::from(ask().await != (Some(HandshakeKind::Full), true)));
    for upgrade in [false, true, false, true, false] {
        if upgrade {
            stand.supervisor.upgrade().await.unwrap();
        }
        requests += 1;
        failed += u64::from(ask().await != (Some(HandshakeKind::Resumed), true));
    }
    stand.stop().await;
    Outcome { requests, failed, note: "every session resumed, over two upgrades".to_owned() }
}
