//! Control socket of the proxy: snapshots, drains, metrics, and reconnects of `run`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::ProxySettings;
use fairlead_proxy::Limits;
use fairlead_wire::local::{ProxySnapshot, ProxyUpstream};
use prost::Message;
use rustix::process::Uid;
use rustix::thread::set_thread_uid;
use socket2::{Domain, Socket, Type};
use tokio::sync::Semaphore;

/// An app that answers with its name.
async fn named(name: &'static str) -> App {
    App::new(move |mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len())).await;
        }
    })
    .await
}

#[tokio::test]
async fn clients_wait_for_the_first_snapshot_instead_of_failing() {
    let app = named("a").await;
    let mut proxy = Proxy::bare(quick()).await;
    let config = proxy.tls(&["http/1.1"]);
    let address = proxy.https;
    let asking = tokio::spawn(async move {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let name = rustls::pki_types::ServerName::try_from(HOST).unwrap();
        let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.unwrap();
        client::Client::new(stream).ask(&get("/")).await.status
    });
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    assert_eq!(asking.await.unwrap(), 200);
}

#[tokio::test]
async fn a_bad_snapshot_is_refused_whole_and_the_one_before_serves_on() {
    let app = named("a").await;
    let mut proxy = Proxy::before(app.address).await;
    let mut bad = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    bad.routes[0].host = "other.localhost".to_owned();
    bad.certificates[0].key_pkcs8_der[20] ^= 0xff;
    assert!(proxy.apply(bad).await.unwrap_err().contains("can't be used"));
    let mut bad = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    bad.routes[0].app_key = "nobody".to_owned();
    assert!(proxy.apply(bad).await.unwrap_err().contains("`nobody`, which is not there"));
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.text(), "a");
}

#[tokio::test]
async fn swapping_snapshots_under_load_fails_no_request() {
    let apps = [named("a").await, named("b").await];
    let mut proxy = Proxy::before(apps[0].address).await;
    let (stop, failed, served) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut client = client::tls(&proxy).await;
        let (stop, failed, served) = (Arc::clone(&stop), Arc::clone(&failed), Arc::clone(&served));
        clients.push(tokio::spawn(async move {
            let mut body = 0;
            while !stop.load(Ordering::Relaxed) {
                body += 1;
                let text = "x".repeat(body % 50);
                client
                    .send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n{text}", text.len()))
                    .await;
                match client.response(false).await {
                    Some(response) if response.status == 200 => served.fetch_add(1, Ordering::Relaxed),
                    _ => failed.fetch_add(1, Ordering::Relaxed),
                };
            }
        }));
    }
    for round in 0..200usize {
        // New instances come, old ones drain, then go; an instance may also come back.
        let (new, old) = (round % 2, (round + 1) % 2);
        let draining =
            ProxyUpstream { draining: true, ..upstream(&format!("ins_{}", round / 2 + 1000 * old), apps[old].address) };
        proxy.route(vec![upstream(&format!("ins_{}", round / 2 + 1000 * new), apps[new].address), draining]).await;
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(failed.load(Ordering::Relaxed), 0, "of {}", served.load(Ordering::Relaxed));
    assert!(served.load(Ordering::Relaxed) > 100);
}

#[tokio::test]
async fn a_draining_instance_ends_what_it_has_and_gets_nothing_new() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let old = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold").await;
            }
        }
    })
    .await;
    let new = named("new").await;
    let mut proxy = Proxy::with(quick(), vec![upstream("ins_old", old.address)]).await;
    let mut slow = client::tls(&proxy).await;
    slow.send(&get("/")).await;
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    let draining = ProxyUpstream { draining: true, ..upstream("ins_old", old.address) };
    proxy.route(vec![draining.clone(), upstream("ins_new", new.address)]).await;
    for _ in 0..10 {
        assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.text(), "new");
    }
    // An instance that left the snapshot completes its requests, and is reported until then.
    proxy.route(vec![upstream("ins_new", new.address)]).await;
    proxy.stats_until(|stats| stats.instances.iter().any(|i| i.instance_id == "ins_old" && i.in_flight == 1)).await;
    gate.add_permits(1);
    assert_eq!(slow.response(false).await.unwrap().text(), "old");
    proxy.stats_until(|stats| stats.instances.iter().all(|instance| instance.instance_id != "ins_old")).await;
}

#[tokio::test]
async fn an_app_without_instances_is_unavailable() {
    let proxy = Proxy::with(quick(), Vec::new()).await;
    let response = client::tls(&proxy).await.ask(&get("/")).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn numbers_go_on_while_run_is_away_and_none_is_lost() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let status = request.head.split(['/', ' ']).nth(2).unwrap().to_owned();
            peer.write(&format!("HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\nbody")).await;
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    proxy.reconnect().await;
    let mut client = client::tls(&proxy).await;
    for path in ["/200", "/201", "/404", "/500", "/503"] {
        client.send(&format!("POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 3\r\n\r\nabc")).await;
        assert_eq!(client.response(false).await.unwrap().text(), "body");
    }
    let stats = proxy.stats_until(|stats| stats.apps[0].requests == 5).await;
    let app = &stats.apps[0];
    assert_eq!((app.errors, app.client_errors, app.bytes_received, app.bytes_sent), (2, 1, 15, 20));
    assert_eq!(app.latency_count.iter().sum::<u64>(), 5);
    assert_eq!(stats.open_connections, 1);
}

#[tokio::test]
async fn a_drained_proxy_ends_what_is_in_flight_then_itself() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend").await;
            }
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let (mut idle, mut busy) = (client::tls(&proxy).await, client::tls(&proxy).await);
    busy.send(&get("/")).await;
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    proxy.drain(60_000).await;
    assert!(idle.at_end().await);
    gate.add_permits(1);
    let last = busy.response(false).await.unwrap();
    assert_eq!((last.text(), last.header("connection")), ("end", Some("close")));
    (&mut proxy.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn one_client_has_so_many_connections_and_no_more() {
    let app = named("a").await;
    let limits = Limits { bounds_loopback: true, ..quick() };
    let mut proxy = Proxy::bare(limits).await;
    let settings = ProxySettings { connections_per_client: Some(2), ..ProxySettings::default() };
    let snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    proxy.apply(ProxySnapshot { settings: settings.encode_to_vec(), ..snapshot }).await.unwrap();
    let (config, mut served, mut refused) = (proxy.tls(&["http/1.1"]), Vec::new(), 0);
    // Two on each of two cores.
    while served.len() < 4 {
        match client::handshake(&proxy, &config, HOST).await {
            Ok(mut client) => {
                assert_eq!(client.ask(&get("/")).await.text(), "a");
                served.push(client);
            }
            Err(_) => refused += 1,
        }
    }
    for _ in 0..3 {
        assert!(client::handshake(&proxy, &config, HOST).await.is_err());
        refused += 1;
    }
    let stats = proxy.stats_until(|stats| stats.rejected_connections >= refused).await;
    assert_eq!((stats.rejected_connections, stats.open_connections), (refused, 4));
    // Those who have one are served on, and one that leaves makes room.
    assert_eq!(served[0].ask(&get("/")).await.text(), "a");
    served.clear();
    proxy.stats_until(|stats| stats.open_connections == 0).await;
    assert_eq!(client::handshake(&proxy, &config, HOST).await.unwrap().ask(&get("/")).await.text(), "a");
}

#[tokio::test]
async fn clients_beyond_the_limit_wait_until_one_leaves() {
    let app = named("a").await;
    let limits = Limits { connections_max: 1, ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let config = proxy.tls(&["http/1.1"]);
    // More than one for each of the two cores; each leaves once it is served, and so lets the next one in.
    let mut asking = Vec::new();
    for _ in 0..20 {
        let (config, address) = (Arc::clone(&config), proxy.https);
        asking.push(tokio::spawn(async move {
            let stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let name = rustls::pki_types::ServerName::try_from(HOST).unwrap();
            let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.unwrap();
            client::Client::new(stream).ask(&get("/")).await.status
        }));
    }
    for client in asking {
        assert_eq!(client.await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_client_finds_room_where_another_has_idled_longest() {
    let app = named("a").await;
    let limits = Limits { connections_max: 2, ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let config = proxy.tls(&["http/1.1"]);
    let mut idle = Vec::new();
    // Two on each of two cores, whichever core the kernel chose.
    for _ in 0..4 {
        let mut client = client::handshake(&proxy, &config, HOST).await.unwrap();
        assert_eq!(client.ask(&get("/")).await.text(), "a");
        idle.push(client);
    }
    let mut late = client::handshake(&proxy, &config, HOST).await.unwrap();
    assert_eq!(late.ask(&get("/")).await.text(), "a");
    let mut ended = 0;
    for mut client in idle {
        client.send(&get("/")).await;
        ended += usize::from(client.response(false).await.is_none());
    }
    assert!(ended > 0, "nobody made room");
}

#[tokio::test]
async fn a_core_that_is_full_hands_clients_to_one_that_has_room() {
    const CLIENTS: u32 = 24;
    let app = named("a").await;
    let limits = Limits { connections_max: CLIENTS / 2, ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let config = proxy.tls(&["http/1.1"]);
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = client::handshake(&proxy, &config, HOST).await.unwrap();
        assert_eq!(client.ask(&get("/")).await.text(), "a");
        clients.push(client);
    }
    // Both cores are full to the last place, whichever core the kernel chose for each client, and no client had to make room.
    let stats = proxy.stats_until(|stats| stats.open_connections == CLIENTS).await;
    assert_eq!(stats.accept_pauses, 0);
    for client in &mut clients {
        assert_eq!(client.ask(&get("/")).await.text(), "a");
    }
}

/// Connections of a user from many loopback addresses. A process that is not root's makes them as itself.
fn connections_of(user: u32, count: u32, to: SocketAddr) -> Vec<Socket> {
    let connect = move || {
        if rustix::process::geteuid().is_root() {
            // The kernel notes the user of the thread that makes a socket.
            set_thread_uid(Uid::from_raw(user)).unwrap();
        }
        let connect = |number| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            let from = Ipv4Addr::new(127, 0, 1, (number % 250) as u8);
            socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
            socket.connect(&to.into()).unwrap();
            socket
        };
        (0..count).map(connect).collect()
    };
    std::thread::spawn(connect).join().unwrap()
}

#[tokio::test]
async fn a_user_of_this_machine_leaves_room_for_others_whatever_address_it_comes_from() {
    let app = named("a").await;
    let limits = Limits { connections_max: 400, ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let to = proxy.http;
    let _clients = tokio::task::spawn_blocking(move || connections_of(54_321, 600, to)).await.unwrap();
    // A quarter of the connection limit, and the few connections without a user lookup, on each of two cores.
    let most = 2 * (400 / 4 + 64);
    let stats = proxy.stats_until(|stats| stats.rejected_connections >= 600 - most).await;
    assert_eq!((stats.rejected_connections, stats.open_connections), (600 - most, most));
}

#[tokio::test]
async fn root_may_have_all_places() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let app = named("a").await;
    let limits = Limits { connections_max: 400, ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let to = proxy.http;
    let _clients = tokio::task::spawn_blocking(move || connections_of(0, 600, to)).await.unwrap();
    let stats = proxy.stats_until(|stats| stats.open_connections == 600).await;
    assert_eq!(stats.rejected_connections, 0);
}
