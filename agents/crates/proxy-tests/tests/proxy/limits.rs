//! Limits of an app over all cores of a proxy: in flight, per instance and queue length.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fairlead_model::message::AppTraffic;
use fairlead_proxy::Limits;
use fairlead_wire::local::ProxyStats;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, http2, quick, upstream};

const CORES: usize = 4;
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Numbers of requests that an app works on.
#[derive(Debug, Default)]
struct Work {
    now: AtomicUsize,
    most: AtomicUsize,
    begun: AtomicUsize,
}

/// An app that answers one request for each permit of the gate.
async fn gated() -> (App, Arc<Semaphore>, Arc<Work>) {
    let (gate, work) = (Arc::new(Semaphore::new(0)), Arc::<Work>::default());
    let shared = (Arc::clone(&gate), Arc::clone(&work));
    let app = App::new(move |mut peer, _| {
        let (gate, work) = shared.clone();
        async move {
            while peer.request().await.is_some() {
                work.begun.fetch_add(1, Ordering::SeqCst);
                work.most.fetch_max(work.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                work.now.fetch_sub(1, Ordering::SeqCst);
                peer.write(OK).await;
            }
        }
    })
    .await;
    (app, gate, work)
}

async fn proxy(limits: Limits, traffic: AppTraffic, app: &App) -> Proxy {
    let mut proxy = Proxy::on_cores(CORES, limits).await;
    proxy.traffic = Some(traffic);
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    proxy
}

/// Lets `count` clients, each with a connection of its own, send a request; returns their statuses to come.
async fn ask(proxy: &Proxy, count: usize) -> JoinSet<u16> {
    let mut responses = JoinSet::new();
    for _ in 0..count {
        let mut client = client::tls(proxy).await;
        responses.spawn(async move { client.ask(&get("/")).await.status });
    }
    responses
}

fn in_flight(stats: &ProxyStats) -> u32 {
    stats.apps.first().map_or(0, |app| app.in_flight)
}

fn queue_length(stats: &ProxyStats) -> u32 {
    stats.apps.first().and_then(|app| app.load_balancing.as_ref()).map_or(0, |stats| stats.queue_length)
}

#[tokio::test]
async fn a_limit_of_one_lets_one_request_in_at_a_time_on_all_cores() {
    const CLIENTS: usize = 24;
    const REQUESTS: usize = 20;
    let one = AppTraffic::default();
    let each = [
        AppTraffic { in_flight_per_app: 1, ..one.clone() },
        AppTraffic { in_flight_per_instance: 1, ..one.clone() },
        AppTraffic { connections_per_instance: 1, ..one },
    ];
    for traffic in each {
        let (app, gate, work) = gated().await;
        let mut proxy = proxy(quick(), traffic, &app).await;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let mut client = client::tls(&proxy).await;
            clients.spawn(async move {
                for _ in 0..REQUESTS {
                    assert_eq!(client.ask(&get("/")).await.status, 200);
                }
            });
        }
        // All wait for the first one, which the app does not answer yet.
        proxy
            .stats_until(|stats| in_flight(stats) == CLIENTS as u32 && queue_length(stats) == CLIENTS as u32 - 1)
            .await;
        while work.begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(CLIENTS * REQUESTS);
        clients.join_all().await;
        assert_eq!((work.begun.load(Ordering::SeqCst), work.most.load(Ordering::SeqCst)), (CLIENTS * REQUESTS, 1));
    }
}

#[tokio::test]
async fn the_queue_length_counts_the_requests_of_all_cores() {
    let (app, gate, work) = gated().await;
    let traffic = AppTraffic { in_flight_per_app: 1, queue_length_max: Some(5), ..AppTraffic::default() };
    let mut proxy = proxy(quick(), traffic, &app).await;
    let mut responses = ask(&proxy, 24).await;
    for _ in 0..18 {
        assert_eq!(responses.join_next().await.unwrap().unwrap(), 503);
    }
    proxy.stats_until(|stats| in_flight(stats) == 6 && queue_length(stats) == 5).await;
    gate.add_permits(6);
    assert_eq!(responses.join_all().await, [200; 6]);
    assert_eq!(work.begun.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn a_changed_limit_counts_requests_that_are_in_flight() {
    let (app, gate, work) = gated().await;
    let mut proxy = proxy(quick(), AppTraffic::default(), &app).await;
    let mut responses = ask(&proxy, 8).await;
    while work.now.load(Ordering::SeqCst) < 8 {
        tokio::task::yield_now().await;
    }
    proxy.traffic = Some(AppTraffic { in_flight_per_app: 3, ..AppTraffic::default() });
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    let mut later = ask(&proxy, 8).await;
    proxy.stats_until(|stats| queue_length(stats) == 8).await;
    gate.add_permits(5);
    for _ in 0..5 {
        responses.join_next().await.unwrap().unwrap();
    }
    // Three are left of those that began without a limit: as many as are allowed.
    proxy.stats_until(|stats| in_flight(stats) == 11).await;
    assert_eq!((work.now.load(Ordering::SeqCst), work.begun.load(Ordering::SeqCst)), (3, 8));
    proxy.traffic = Some(AppTraffic { in_flight_per_app: 5, ..AppTraffic::default() });
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    while work.begun.load(Ordering::SeqCst) < 10 {
        tokio::task::yield_now().await;
    }
    proxy.stats_until(|stats| queue_length(stats) == 6).await;
    assert_eq!(work.now.load(Ordering::SeqCst), 5);
    gate.add_permits(11);
    assert_eq!(responses.join_all().await, [200; 3]);
    while let Some(status) = later.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_client_that_fills_the_queue_of_all_cores_shuts_out_no_other() {
    const CROWD: usize = 800;
    const QUEUE: usize = 200;
    const POLITE: usize = 6;
    let (app, gate, work) = gated().await;
    let traffic = AppTraffic { in_flight_per_app: 1, queue_length_max: Some(QUEUE as u32), ..AppTraffic::default() };
    // Without this, all addresses of this machine are one client.
    let limits = Limits { bounds_loopback: true, ..quick() };
    let proxy = proxy(limits, traffic, &app).await;
    let mut crowd = JoinSet::new();
    for _ in 0..8 {
        let send = http2::connect(&proxy).await;
        for _ in 0..CROWD / 8 {
            let send = send.clone();
            crowd.spawn(async move { http2::get(&send, "/crowd").await.0 });
        }
    }
    for _ in 0..CROWD - QUEUE - 1 {
        assert_eq!(crowd.join_next().await.unwrap().unwrap(), 503);
    }
    // Its connections are on any of the cores, also on those where the crowd has no requests.
    let mut polite = JoinSet::new();
    for _ in 0..POLITE {
        let mut client = client::handshake_from("127.0.0.2", &proxy, &proxy.tls(&["http/1.1"]), HOST).await.unwrap();
        polite.spawn(async move { client.ask(&get("/polite")).await.status });
    }
    // Each takes the place of a request of the crowd.
    for _ in 0..POLITE {
        assert_eq!(crowd.join_next().await.unwrap().unwrap(), 503);
    }
    let mut turns = 0;
    while !polite.is_empty() {
        if let Some(status) = polite.try_join_next() {
            assert_eq!(status.unwrap(), 200);
            continue;
        }
        let begun = work.begun.load(Ordering::SeqCst);
        gate.add_permits(1);
        turns += 1;
        // Another request begins when one is done.
        while work.begun.load(Ordering::SeqCst) == begun {
            tokio::task::yield_now().await;
        }
    }
    assert!(turns < QUEUE / 2, "{turns}");
    gate.add_permits(QUEUE + 1);
    assert_eq!(crowd.join_all().await, [200; QUEUE + 1 - POLITE]);
}

/// An app that serves one connection at a time would never answer a second one beside an idle one.
#[tokio::test]
async fn idle_connections_of_other_cores_make_room_for_a_new_one() {
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    let app = App::new(move |mut peer, _| {
        let turn = Arc::clone(&turn);
        async move {
            let _turn = turn.lock().await;
            while peer.request().await.is_some() {
                peer.write(OK).await;
            }
        }
    })
    .await;
    let traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
    let limits = Limits { upstream_idle_timeout: Duration::from_secs(3600), ..quick() };
    let proxy = proxy(limits, traffic, &app).await;
    // Each client is on any of the cores, which reuse their own connections only.
    for _ in 0..24 {
        assert_eq!(ask(&proxy, 1).await.join_all().await, [200]);
    }
}
