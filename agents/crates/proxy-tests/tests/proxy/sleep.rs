//! Sleeping apps behind a real proxy: requests wait in the queue and wake the app. Also metrics of canary sides.

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{APP, Proxy, quick, upstream};
use fairlead_model::message::AppTraffic;
use fairlead_wire::local::{ProxySnapshot, ProxyStats, ProxyUpstream, proxy_event};
use prost::Message;

/// Returns the default snapshot with these instances and an app that may sleep.
fn sleepy(proxy: &Proxy, upstreams: Vec<ProxyUpstream>, wake_timeout_ms: u32) -> ProxySnapshot {
    let mut snapshot = proxy.snapshot(upstreams);
    snapshot.apps[0].wake_timeout_ms = wake_timeout_ms;
    snapshot
}

async fn called(proxy: &mut Proxy) {
    loop {
        if let proxy_event::Body::Wake(wake) = proxy.event().await {
            assert_eq!(wake.app_key, APP);
            return;
        }
    }
}

#[tokio::test]
async fn requests_for_an_app_that_sleeps_wait_call_for_it_and_go_through_once_it_is_there() {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let mut proxy = Proxy::bare(quick()).await;
    proxy.apply(sleepy(&proxy, vec![upstream("ins_1", app.address)], 60_000)).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = client::tls(&proxy).await;
        assert_eq!(client.ask(&get("/")).await.status, 200);
        clients.push(client);
    }
    proxy.apply(sleepy(&proxy, Vec::new(), 60_000)).await.unwrap();
    for client in &mut clients {
        client.send(&get("/")).await;
    }
    called(&mut proxy).await;
    // Nobody heard it: it is called again for as long as requests wait, also by a `run` that has just come.
    proxy.reconnect().await;
    called(&mut proxy).await;
    proxy.apply(sleepy(&proxy, vec![upstream("ins_2", app.address)], 60_000)).await.unwrap();
    for client in &mut clients {
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn who_waits_too_long_or_finds_the_line_full_is_told_to_come_back() {
    let mut proxy = Proxy::bare(quick()).await;
    proxy.traffic = Some(AppTraffic { queue_timeout_ms: 50, ..AppTraffic::default() });
    proxy.apply(sleepy(&proxy, Vec::new(), 400)).await.unwrap();
    // `run` is there and starts nothing.
    let began = std::time::Instant::now();
    let response = client::tls(&proxy).await.ask(&get("/")).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
    assert!(began.elapsed().as_millis() >= 400, "it waits for the app, not for the queue");
    proxy.traffic = Some(AppTraffic { queue_length_max: Some(0), ..AppTraffic::default() });
    proxy.apply(sleepy(&proxy, Vec::new(), 60_000)).await.unwrap();
    let response = client::tls(&proxy).await.ask(&get("/")).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
    // One that may not sleep is refused at once, as ever.
    proxy.traffic = None;
    proxy.route(Vec::new()).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 503);
}

#[tokio::test]
async fn requests_are_counted_by_the_side_of_the_instance_that_answered() {
    let old = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let new = App::answering("HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno").await;
    let mut proxy = Proxy::bare(quick()).await;
    let of = |id: &str, app: &App, weight, side: &str| ProxyUpstream {
        weight: Some(weight),
        side: side.to_owned(),
        ..upstream(id, app.address)
    };
    let both = || vec![of("ins_1", &old, 75, "dep/old"), of("ins_2", &new, 25, "dep/new")];
    proxy.route(both()).await;
    let mut client = client::tls(&proxy).await;
    let mut failed = 0;
    for _ in 0..400 {
        failed += u32::from(client.ask(&get("/")).await.status == 500);
    }
    // 100 expected; chance alone is beyond these bounds once in a hundred million runs.
    assert!((50..=150).contains(&failed), "{failed}");
    let mut told: Vec<(String, u32, u32, u64)> = Vec::new();
    while told.iter().map(|(_, requests, ..)| requests).sum::<u32>() < 400 {
        let stats: ProxyStats = proxy.stats_until(|_| true).await;
        let counted = |side: &fairlead_wire::local::ProxySideStats| {
            (side.side.clone(), side.requests, side.errors, side.latency_count.iter().sum::<u64>())
        };
        for (name, requests, errors, measured) in stats.sides.iter().map(counted) {
            match told.iter_mut().find(|(known, ..)| *known == name) {
                Some(known) => (known.1, known.2, known.3) = (known.1 + requests, known.2 + errors, known.3 + measured),
                None => told.push((name, requests, errors, measured)),
            }
        }
    }
    told.sort();
    let old_requests = 400 - failed;
    let expected = [
        ("dep/new".to_owned(), failed, failed, u64::from(failed)),
        ("dep/old".to_owned(), old_requests, 0, u64::from(old_requests)),
    ];
    assert_eq!(told, expected);
    proxy.route(vec![upstream("ins_1", old.address)]).await;
    assert_eq!(client.ask(&get("/")).await.status, 200);
    let after = proxy.stats_until(|stats| stats.apps.iter().any(|app| app.requests > 0)).await;
    assert!(after.sides.is_empty(), "nothing is counted apart any more");
}

#[tokio::test]
async fn a_path_that_an_app_may_read_as_a_guarded_one_is_refused() {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let mut proxy = Proxy::bare(quick()).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    let mut admin = snapshot.routes[0].clone();
    admin.path_prefix = "/admin".to_owned();
    admin.policy = fairlead_model::message::RoutePolicy { deny: vec!["127.0.0.0/8".to_owned()], ..Default::default() }
        .encode_to_vec();
    snapshot.routes.push(admin);
    proxy.apply(snapshot).await.unwrap();
    let mut client = client::tls(&proxy).await;
    for (path, status) in [
        ("/", 200),
        ("/admin", 403),
        ("/admin/x", 403),
        ("/%61dmin", 400),
        ("//admin", 400),
        ("/x/../admin", 400),
        ("/x/%2e%2e/admin?q", 400),
        ("/administrator", 200),
        ("/x%20y//z?p=/../admin", 200),
    ] {
        assert_eq!(client.ask(&get(path)).await.status, status, "{path}");
    }
}
