//! Load balancing over real sockets: concurrency limits, wait queue, sticky sessions, outlier ejection, health checks,
//! and isolation between apps.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::{
    ActiveHealthCheck, AppTraffic, LoadBalancing, OutlierEjection, Priority, RoutePolicy, StickySessions,
    sticky_sessions,
};
use fairlead_proxy::Limits;
use fairlead_wire::local::{ProxyApp, ProxyLoadBalancingStats, ProxyRoute, ProxyStats, ProxyUpstream};
use prost::Message;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn weighing(id: &str, address: SocketAddr, weight: u32) -> ProxyUpstream {
    ProxyUpstream { weight: Some(weight), ..upstream(id, address) }
}

/// An app that answers with its name.
async fn named(name: &'static str) -> App {
    App::new(move |mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len())).await;
        }
    })
    .await
}

/// An app that answers each request when it is let to; tells how many it has.
async fn gated() -> (App, Arc<Semaphore>, Arc<AtomicUsize>) {
    let (gate, requests) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (opened, count) = (Arc::clone(&gate), Arc::clone(&requests));
    let app = App::new(move |mut peer, _| {
        let (gate, count) = (Arc::clone(&opened), Arc::clone(&count));
        async move {
            while peer.request().await.is_some() {
                count.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                peer.write(OK).await;
            }
        }
    })
    .await;
    (app, gate, requests)
}

async fn answers(proxy: &Proxy, count: usize) -> Vec<String> {
    let mut client = client::tls(proxy).await;
    let mut answers = Vec::new();
    for _ in 0..count {
        let response = client.ask(&get("/")).await;
        assert_eq!(response.status, 200);
        answers.push(response.text().to_owned());
    }
    answers
}

fn load_balancing(stats: &ProxyStats) -> ProxyLoadBalancingStats {
    stats.apps.first().and_then(|app| app.load_balancing).unwrap_or_default()
}

fn of(answers: &[String], name: &str) -> usize {
    answers.iter().filter(|answer| *answer == name).count()
}

#[tokio::test]
async fn instances_get_the_shares_of_their_weights_and_none_of_zero() {
    let (stable, canary, closed) = (named("stable").await, named("canary").await, named("closed").await);
    for load_balancing in [LoadBalancing::LeastLoaded, LoadBalancing::RoundRobin] {
        let traffic = AppTraffic { load_balancing: load_balancing.into(), ..AppTraffic::default() };
        let upstreams = vec![
            weighing("ins_1", stable.address, 80),
            weighing("ins_2", canary.address, 20),
            weighing("ins_3", closed.address, 0),
        ];
        let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams).await;
        let served = answers(&proxy, 500).await;
        // 100 expected; chance alone is beyond these bounds once in a hundred million runs.
        assert!((50..=150).contains(&of(&served, "canary")), "{}", of(&served, "canary"));
        assert_eq!(of(&served, "closed"), 0);
        // The canary takes over, at once and whole.
        proxy.route(vec![weighing("ins_1", stable.address, 0), weighing("ins_2", canary.address, 1)]).await;
        assert_eq!(of(&answers(&proxy, 20).await, "canary"), 20);
    }
}

#[tokio::test]
async fn a_request_in_line_goes_to_whichever_instance_is_free_first() {
    let (first, first_gate, at_first) = gated().await;
    let (second, second_gate, at_second) = gated().await;
    let traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
    let upstreams = vec![upstream("ins_1", first.address), upstream("ins_2", second.address)];
    let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams).await;
    let mut clients = Vec::new();
    // One place at each of two instances: the rest waits, on whichever of two cores it is.
    for _ in 0..12 {
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        clients.push(client);
    }
    // All are in, and the apps have read what they were given.
    let at_work = || at_first.load(Ordering::SeqCst) + at_second.load(Ordering::SeqCst);
    let given = |stats: &ProxyStats| stats.instances.iter().map(|instance| instance.in_flight as usize).sum::<usize>();
    let in_line = |stats: &ProxyStats| stats.apps.first().is_some_and(|app| app.in_flight == 12);
    proxy.stats_until(|stats| in_line(stats) && given(stats) == at_work()).await;
    // The first instance never answers: all that it does not have, the second serves.
    let stuck = at_first.load(Ordering::SeqCst);
    second_gate.add_permits(12);
    let at = |stats: &ProxyStats| stats.apps.first().map_or(0, |app| app.requests as usize);
    proxy.stats_until(|stats| at(stats) == 12 - stuck).await;
    assert_eq!((at_first.load(Ordering::SeqCst), at_second.load(Ordering::SeqCst)), (stuck, 12 - stuck));
    first_gate.add_permits(12);
    for client in &mut clients {
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

/// Slow app: it answers only after it has all requests at once, like an app with a thousand open calls to a model.
#[tokio::test]
async fn a_slow_app_gets_all_requests_and_none_is_refused() {
    const REQUESTS: usize = 400;
    let ask_all = async |proxy: &Proxy| {
        let mut responses = JoinSet::new();
        for _ in 0..4 {
            let send = crate::support::http2::connect(proxy).await;
            for _ in 0..REQUESTS / 4 {
                let send = send.clone();
                responses.spawn(async move { crate::support::http2::get(&send, "/").await.0 });
            }
        }
        responses
    };
    let (app, gate, at_app) = gated().await;
    let proxy = Proxy::with(quick(), vec![upstream("ins_1", app.address)]).await;
    let responses = ask_all(&proxy).await;
    while at_app.load(Ordering::SeqCst) < REQUESTS {
        tokio::task::yield_now().await;
    }
    gate.add_permits(REQUESTS);
    assert_eq!(responses.join_all().await, [200; REQUESTS]);

    // The control: a configured limit is 64 for both cores together.
    let (app, gate, at_app) = gated().await;
    let traffic = AppTraffic { connections_per_instance: 64, ..AppTraffic::default() };
    let mut proxy = Proxy::with_traffic(quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    let responses = ask_all(&proxy).await;
    let waiting = |stats: &ProxyStats| load_balancing(stats).queue_length as usize;
    proxy.stats_until(|stats| waiting(stats) + at_app.load(Ordering::SeqCst) == REQUESTS).await;
    assert_eq!(at_app.load(Ordering::SeqCst), 64);
    gate.add_permits(REQUESTS);
    assert_eq!(responses.join_all().await, [200; REQUESTS]);
}

/// Sends 20 × 128 requests of one client to an app that does one at a time, and one request of another
/// client. Returns how many requests the app does before it has done that one, up to `most`.
async fn answers_until_served(from: &str, most: usize) -> usize {
    const CROWD: usize = 20 * 128;
    let (app, gate, at_app) = gated().await;
    let traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
    // Without this, all addresses of this machine are one client.
    let limits = Limits { bounds_loopback: true, ..quick() };
    let mut proxy = Proxy::with_traffic(limits, traffic, vec![upstream("ins_1", app.address)]).await;
    let mut crowd = JoinSet::new();
    for _ in 0..20 {
        let send = crate::support::http2::connect(&proxy).await;
        for _ in 0..128 {
            let send = send.clone();
            crowd.spawn(async move { crate::support::http2::get(&send, "/crowd").await });
        }
    }
    let here = |stats: &ProxyStats| load_balancing(stats).queue_length as usize + at_app.load(Ordering::SeqCst);
    proxy.stats_until(|stats| here(stats) == CROWD).await;
    let mut polite = client::handshake_from(from, &proxy, &proxy.tls(&["http/1.1"]), HOST).await.unwrap();
    polite.send(&get("/polite")).await;
    proxy.stats_until(|stats| here(stats) == CROWD + 1).await;
    let mut answered = tokio::spawn(async move { polite.response(false).await.unwrap().status });
    for done in 1..=most {
        let begun = at_app.load(Ordering::SeqCst);
        gate.add_permits(1);
        // Another request begins when one is done.
        while at_app.load(Ordering::SeqCst) == begun && !answered.is_finished() {
            tokio::task::yield_now().await;
        }
        if answered.is_finished() {
            assert_eq!((&mut answered).await.unwrap(), 200);
            return done;
        }
    }
    most
}

#[tokio::test]
async fn one_client_with_thousands_of_requests_does_not_shut_an_app_for_another() {
    let served = answers_until_served("127.0.0.2", 100).await;
    assert!(served <= 10, "{served}");
    // The control: from the crowd's address it waits behind the crowd.
    assert_eq!(answers_until_served("127.0.0.1", 100).await, 100);
}

#[tokio::test]
async fn an_app_that_stalls_makes_no_request_of_another_wait() {
    let (stalled, gate, _) = gated().await;
    let other = named("other").await;
    let mut proxy = Proxy::bare(quick()).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", stalled.address)]);
    snapshot.apps[0].traffic = AppTraffic { connections_per_instance: 2, ..AppTraffic::default() }.encode_to_vec();
    snapshot.routes.push(ProxyRoute {
        host: HOST.to_owned(),
        path_prefix: "/other".to_owned(),
        app_key: "app_other".to_owned(),
        ..ProxyRoute::default()
    });
    // A request that had to wait would be refused: there is no queue.
    let traffic = AppTraffic { connections_per_instance: 1, queue_length_max: Some(0), ..AppTraffic::default() };
    snapshot.apps.push(ProxyApp {
        app_key: "app_other".to_owned(),
        upstreams: vec![upstream("ins_2", other.address)],
        measured: true,
        traffic: traffic.encode_to_vec(),
        ..ProxyApp::default()
    });
    proxy.apply(snapshot).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..40 {
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        waiting.push(client);
    }
    proxy.stats_until(|stats| stats.apps.iter().any(|app| app.in_flight == 40)).await;
    // Beside them, and on one of their connections' core.
    for _ in 0..4 {
        let mut client = client::tls(&proxy).await;
        for _ in 0..50 {
            assert_eq!(client.ask(&get("/other")).await.text(), "other");
        }
    }
    gate.add_permits(40);
    for client in &mut waiting {
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_client_s_address_keeps_its_instance_over_connections_and_cores() {
    let apps = [named("a").await, named("b").await, named("c").await];
    let traffic = AppTraffic {
        sticky_sessions: Some(StickySessions { by: Some(sticky_sessions::By::ClientAddress(true)) }),
        ..AppTraffic::default()
    };
    let ids = ["ins_1", "ins_2", "ins_3"];
    let upstreams: Vec<_> = ids.iter().zip(&apps).map(|(id, app)| upstream(id, app.address)).collect();
    let proxy = Proxy::with_traffic(quick(), traffic, upstreams).await;
    let first = answers(&proxy, 1).await.remove(0);
    for _ in 0..10 {
        assert_eq!(of(&answers(&proxy, 5).await, &first), 5);
    }
}

#[tokio::test]
async fn a_cookie_keeps_its_instance_until_that_goes() {
    let apps = [named("a").await, named("b").await, named("c").await];
    let by = Some(sticky_sessions::By::Cookie("fl".to_owned()));
    let traffic = AppTraffic { sticky_sessions: Some(StickySessions { by }), ..AppTraffic::default() };
    let ids = ["ins_1", "ins_2", "ins_3"];
    let upstreams: Vec<_> = ids.iter().zip(&apps).map(|(id, app)| upstream(id, app.address)).collect();
    let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams.clone()).await;
    let mut client = client::tls(&proxy).await;
    let first = client.ask(&get("/")).await;
    let cookie = first.header("set-cookie").unwrap().to_owned();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Secure");
    assert!(!pair.contains("ins_"), "{pair}");
    let tied = |pair: &str| format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: theme=dark; {pair}\r\n\r\n");
    for _ in 0..10 {
        // Each connection is a core's of its own choice.
        let mut client = client::tls(&proxy).await;
        let response = client.ask(&tied(pair)).await;
        assert_eq!((response.text(), response.header("set-cookie")), (first.text(), None));
    }
    // Its instance drains: another takes over, and ties the client to itself.
    let mut draining = upstreams.clone();
    let home = ["a", "b", "c"].iter().position(|name| *name == first.text()).unwrap();
    draining[home].draining = true;
    proxy.route(draining).await;
    let second = client.ask(&tied(pair)).await;
    assert_ne!(second.text(), first.text());
    let other = second.header("set-cookie").unwrap().split_once("; ").unwrap().0.to_owned();
    assert_eq!(client.ask(&tied(&other)).await.text(), second.text());
    // A forged cookie selects no instance, and is replaced.
    assert!(client.ask(&tied("fl=000000000000000000000000")).await.header("set-cookie").is_some());
}

#[tokio::test]
async fn a_full_line_sheds_low_priority_for_high() {
    let (app, gate, at_app) = gated().await;
    let mut proxy = Proxy::bare(quick()).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    let traffic = AppTraffic {
        connections_per_instance: 1,
        queue_length_max: Some(1),
        load_shedding: true,
        ..AppTraffic::default()
    };
    snapshot.apps[0].traffic = traffic.encode_to_vec();
    for (path, priority) in [("/low", Priority::Low), ("/high", Priority::High)] {
        snapshot.routes.push(ProxyRoute {
            host: HOST.to_owned(),
            path_prefix: path.to_owned(),
            app_key: snapshot.apps[0].app_key.clone(),
            policy: RoutePolicy { priority: priority.into(), ..RoutePolicy::default() }.encode_to_vec(),
            ..ProxyRoute::default()
        });
    }
    proxy.apply(snapshot).await.unwrap();
    // Streams of one connection, so that all are on one core: one at the app, one in line.
    let connection = client::handshake(&proxy, &proxy.tls(&["h2"]), HOST).await.unwrap();
    let (send, connection) = h2::client::handshake(connection.stream).await.unwrap();
    tokio::spawn(connection);
    let mut send = send.ready().await.unwrap();
    let mut ask = |path: &str| {
        let request = http::Request::get(format!("https://{HOST}{path}")).body(()).unwrap();
        let (response, _) = send.send_request(request, true).unwrap();
        async move { response.await.unwrap().status().as_u16() }
    };
    let first = ask("/");
    while at_app.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let low = ask("/low");
    assert_eq!(ask("/low").await, 503);
    let high = ask("/high");
    assert_eq!(low.await, 503);
    gate.add_permits(2);
    assert_eq!((first.await, high.await), (200, 200));
    let stats = proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.requests == 4)).await;
    let load_balancing = load_balancing(&stats);
    assert_eq!(
        (load_balancing.queued, load_balancing.load_shed, load_balancing.queue_full, load_balancing.queue_length),
        (2, 1, 1, 0)
    );
}

#[tokio::test]
async fn an_instance_that_answers_like_a_broken_gateway_is_passed_over_and_comes_back() {
    let broken = Arc::new(AtomicBool::new(true));
    let (requests, is_broken) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&broken));
    let count = Arc::clone(&requests);
    let failing = App::new(move |mut peer, _| {
        let (broken, count) = (Arc::clone(&is_broken), Arc::clone(&count));
        async move {
            while peer.request().await.is_some() {
                count.fetch_add(1, Ordering::SeqCst);
                let status = if broken.load(Ordering::SeqCst) { "503 Service Unavailable" } else { "200 OK" };
                peer.write(&format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nfirst")).await;
            }
        }
    })
    .await;
    let good = named("good").await;
    // The core clock advances with each tick, so that a whole period passes between two requests only without polling.
    let outlier_ejection = OutlierEjection { consecutive_failures: 2, ejection_time_ms: 300, ejected_percent_max: 50 };
    let traffic = AppTraffic { outlier_ejection: Some(outlier_ejection), ..AppTraffic::default() };
    let upstreams = vec![upstream("ins_1", failing.address), upstream("ins_2", good.address)];
    let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams).await;
    let mut client = client::tls(&proxy).await;
    let (mut failed, mut good_ones) = (0, 0);
    while failed < 2 {
        failed += usize::from(client.ask(&get("/")).await.status == 503);
    }
    for _ in 0..20 {
        good_ones += usize::from(client.ask(&get("/")).await.text() == "good");
    }
    // A slow machine may see a trial fail meanwhile, never two in a row.
    assert!(good_ones >= 15, "{good_ones}");
    let before = requests.load(Ordering::SeqCst);
    broken.store(false, Ordering::SeqCst);
    while requests.load(Ordering::SeqCst) < before + 5 {
        assert_eq!(client.ask(&get("/")).await.status, 200);
    }
    proxy.stats_until(|stats| load_balancing(stats).ejections > 0 && load_balancing(stats).ejected == 0).await;
}

#[tokio::test]
async fn probes_keep_requests_from_an_unhealthy_instance_until_it_is_well() {
    let well = Arc::new(AtomicBool::new(false));
    let is_well = Arc::clone(&well);
    let probed = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&probed);
    let sick = App::new(move |mut peer, _| {
        let (well, told) = (Arc::clone(&is_well), Arc::clone(&told));
        async move {
            while let Some(request) = peer.request().await {
                let healthy = well.load(Ordering::SeqCst);
                if request.head.starts_with("GET /healthz ") {
                    told.add_permits(1);
                    let status = if healthy { 204 } else { 500 };
                    peer.write(&format!("HTTP/1.1 {status} x\r\n\r\n")).await;
                    return;
                }
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsick").await;
            }
        }
    })
    .await;
    let good = named("good").await;
    let health_check = ActiveHealthCheck {
        path: "/healthz".to_owned(),
        interval_ms: 20,
        timeout_ms: 10_000,
        healthy_threshold: 1,
        unhealthy_threshold: 2,
    };
    let traffic = AppTraffic { health_check: Some(health_check), ..AppTraffic::default() };
    let upstreams = || vec![upstream("ins_1", sick.address), upstream("ins_2", good.address)];
    let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams()).await;
    // The verdict is given after the second answer, and taken before the fourth question.
    probed.acquire_many(4).await.unwrap().forget();
    while of(&answers(&proxy, 20).await, "good") < 20 {}
    proxy.stats_until(|stats| load_balancing(stats).unhealthy == 1).await;
    // A snapshot that changes nothing for it changes nothing for its health.
    proxy.route(upstreams()).await;
    assert_eq!(of(&answers(&proxy, 20).await, "good"), 20);
    // It alone is left: unhealthy or not, it is tried.
    proxy.route(vec![upstream("ins_1", sick.address)]).await;
    assert_eq!(of(&answers(&proxy, 5).await, "sick"), 5);
    proxy.route(upstreams()).await;
    well.store(true, Ordering::SeqCst);
    while of(&answers(&proxy, 20).await, "sick") == 0 {}
}

#[tokio::test]
async fn without_a_budget_nothing_is_tried_twice_and_with_one_not_for_ever() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let good = named("good").await;
    for (percent, tried) in [(0, false), (100, true)] {
        let outlier_ejection =
            OutlierEjection { consecutive_failures: 1_000, ejection_time_ms: 1_000, ejected_percent_max: 0 };
        let traffic = AppTraffic {
            retry_budget_percent: Some(percent),
            outlier_ejection: Some(outlier_ejection),
            ..AppTraffic::default()
        };
        let upstreams = vec![upstream("ins_1", gone), upstream("ins_2", good.address)];
        let mut proxy = Proxy::with_traffic(quick(), traffic, upstreams).await;
        let mut client = client::tls(&proxy).await;
        let mut refused = 0;
        for _ in 0..60 {
            refused += usize::from(client.ask(&get("/")).await.status == 502);
        }
        assert_eq!(refused == 0, tried, "{percent}: {refused}");
        let stats = proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.requests == 60)).await;
        assert_eq!(load_balancing(&stats).retries > 0, tried);
    }
}
