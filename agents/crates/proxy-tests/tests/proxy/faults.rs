//! Misbehaving apps and clients: the other side gets the right error, and other requests are unaffected.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::AppTraffic;
use fairlead_proxy::Limits;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

/// Each core has one request at each instance.
fn one_at_a_time() -> AppTraffic {
    AppTraffic { connections_per_instance: 1, ..AppTraffic::default() }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn an_app_that_answers_nothing_or_garbage_is_a_bad_gateway() {
    for answer in [
        "",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        "HTTP/1.1 200 OK\r\nX: folded\r\n y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
    ] {
        let app = App::new(move |mut peer, _| async move {
            peer.request().await;
            peer.write(answer).await;
        })
        .await;
        let proxy = Proxy::before(app.address).await;
        let mut client = client::tls(&proxy).await;
        let response = client.ask(&get("/")).await;
        assert_eq!(response.status, 502, "{answer:?}");
        assert!(response.text().len() < 120 && response.text().starts_with("502 Bad Gateway: "), "{}", response.text());
        // The fault is the app's: the client's connection serves on.
        assert_eq!(client.ask(&get("/").replace(HOST, "other.localhost")).await.status, 404);
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_is_seen_to_be_cut() {
    for head in [
        "Content-Length: 10\r\n\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nXX",
    ] {
        let app = App::new(move |mut peer, _| async move {
            peer.request().await;
            peer.write(&format!("HTTP/1.1 200 OK\r\n{head}")).await;
        })
        .await;
        let mut proxy = Proxy::before(app.address).await;
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        assert!(client.response(false).await.is_none(), "{head:?}");
        let stats = proxy.stats_until(|stats| stats.apps[0].requests == 1).await;
        assert_eq!((stats.apps[0].errors, stats.apps[0].in_flight), (1, 0));
    }
}

#[tokio::test]
async fn an_app_that_resets_or_is_not_there_is_a_bad_gateway() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.reset();
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 502);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::before(free).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 502);
}

#[tokio::test]
async fn an_instance_that_is_not_there_costs_nothing_when_another_is() {
    let app = App::echo().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::with(quick(), vec![upstream("ins_gone", free), upstream("ins_there", app.address)]).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..30 {
        client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n\r\nhi")).await;
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

/// Answers the first request of each connection and drops the second unread: a pooled connection dying at its reuse.
async fn app_that_dies_at_reuse() -> (App, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let app = App::new(move |mut peer, _| {
        let count = Arc::clone(&count);
        async move {
            peer.request().await;
            count.fetch_add(1, Ordering::SeqCst);
            peer.write(OK).await;
            peer.head().await;
        }
    })
    .await;
    (app, requests)
}

#[tokio::test]
async fn a_pooled_connection_that_dies_costs_a_safe_request_nothing_and_no_other_runs_twice() {
    let (app, requests) = app_that_dies_at_reuse().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..10 {
        assert_eq!(client.ask(&get("/")).await.status, 200);
    }
    assert_eq!(requests.load(Ordering::SeqCst), 10);
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n\r\nhi")).await;
    assert_eq!(client.response(false).await.unwrap().status, 502);
    assert_eq!(requests.load(Ordering::SeqCst), 10);
}

#[tokio::test]
async fn an_app_that_closes_idle_connections_loses_no_request() {
    // Says so, as Node does, or just closes: neither may cost a POST.
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.write(OK).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for count in 1..=20 {
        client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n\r\nhi")).await;
        let status = client.response(false).await.unwrap().status;
        // The end of the app's connection may reach the proxy after the next request: then, and only then, it is a 502.
        assert!(status == 200 || status == 502, "{status} at {count}");
    }
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await;
        peer.fill().await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..20 {
        client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n\r\nhi")).await;
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn surplus_bytes_of_an_app_never_become_another_clients_response() {
    let app = App::new(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write(&format!("{OK}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray")).await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..10 {
        assert_eq!(client.ask(&get("/")).await.text(), "ok");
    }
    assert_eq!(app.connections(), 10);
}

#[tokio::test]
async fn an_answer_before_the_end_of_an_upload_reaches_the_client() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig").await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 50000000\r\n\r\n")).await;
    client.send_bytes(&[0; 100_000]).await;
    let response = client.response(false).await.unwrap();
    assert_eq!((response.status, response.text()), (413, "big"));
}

#[tokio::test]
async fn too_many_requests_wait_in_line_and_beyond_that_are_told_to_come_back() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write(OK).await;
            }
        }
    })
    .await;
    // Two cores, so at most two at the app and two in line.
    let traffic = AppTraffic { queue_length_max: Some(1), ..one_at_a_time() };
    let mut proxy = Proxy::with_traffic(quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    let mut clients = Vec::new();
    for _ in 0..12 {
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        clients.push(client);
    }
    proxy
        .stats_until(|stats| stats.apps[0].requests + stats.apps[0].in_flight == 12 && stats.apps[0].requests >= 8)
        .await;
    gate.add_permits(12);
    let mut statuses = Vec::new();
    for client in &mut clients {
        let response = client.response(false).await.unwrap();
        assert_eq!(response.header("retry-after").is_some(), response.status == 503);
        statuses.push(response.status);
    }
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert!((2..=4).contains(&served), "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(app.connections() <= 2);
}

#[tokio::test]
async fn a_place_in_line_has_its_deadline() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        // Never answers.
        peer.fill().await;
    })
    .await;
    let traffic = AppTraffic { queue_timeout_ms: 50, ..one_at_a_time() };
    let proxy = Proxy::with_traffic(quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    let (first_done, mut clients) = (Arc::new(Semaphore::new(0)), Vec::new());
    for _ in 0..6 {
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        let done = Arc::clone(&first_done);
        clients.push(tokio::spawn(async move {
            let response = client.response(false).await.unwrap();
            done.add_permits(1);
            (response.status, response.header("retry-after").map(str::to_owned))
        }));
    }
    // All but the one at the app on each core.
    first_done.acquire_many(4).await.unwrap().forget();
    for client in clients.into_iter().filter(|client| client.is_finished()) {
        assert_eq!(client.await.unwrap(), (503, Some("1".to_owned())));
    }
}

#[tokio::test]
async fn an_app_that_never_answers_and_clients_that_stall_meet_their_deadlines() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.fill().await;
    })
    .await;
    let short = Duration::from_millis(60);
    let limits = |change: fn(&mut Limits, Duration)| {
        let mut limits = quick();
        change(&mut limits, short);
        limits
    };
    let before = async |limits| Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let traffic = AppTraffic { response_timeout_ms: 60, ..AppTraffic::default() };
    let proxy = Proxy::with_traffic(quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 504);
    let proxy = before(limits(|limits, short| limits.head_timeout = short)).await;
    let mut half_head = client::tls(&proxy).await;
    half_head.send("GET / HTTP/1.1\r\nHo").await;
    assert_eq!(half_head.response(false).await.unwrap().status, 408);
    assert!(half_head.at_end().await);
    let proxy = before(limits(|limits, short| limits.body_stall_timeout = short)).await;
    let mut half_body = client::tls(&proxy).await;
    half_body.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n\r\nhalf")).await;
    assert_eq!(half_body.response(false).await.unwrap().status, 408);
    assert!(half_body.at_end().await);
    let proxy = before(limits(|limits, short| limits.idle_timeout = short)).await;
    assert!(client::tls(&proxy).await.at_end().await);
    let proxy = before(limits(|limits, short| limits.handshake_timeout = short)).await;
    let silent = tokio::net::TcpStream::connect(proxy.https).await.unwrap();
    assert!(crate::support::client::Client::new(silent).at_end().await);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place_at_the_app() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.fill().await;
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&get("/")).await;
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    let (socket, _) = client.stream.into_inner();
    socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
    drop(socket);
    let stats = proxy.stats_until(|stats| stats.instances[0].in_flight == 0).await;
    assert_eq!((stats.apps[0].requests, stats.apps[0].errors, stats.open_connections), (1, 0, 0));
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_no_error_of_the_app() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n").await;
        peer.fill().await;
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&get("/")).await;
    proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.bytes_sent > 0 || app.in_flight == 1)).await;
    drop(client);
    let stats = proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.requests == 1)).await;
    assert_eq!((stats.apps[0].errors, stats.apps[0].in_flight), (0, 0));
}

#[tokio::test]
async fn slow_uploads_leave_the_places_at_the_app_to_others() {
    let app = App::answering(OK).await;
    let limits = Limits { permit_timeout: Duration::from_millis(30), ..quick() };
    let proxy = Proxy::with_traffic(limits, one_at_a_time(), vec![upstream("ins_1", app.address)]).await;
    let mut uploads = Vec::new();
    for _ in 0..8 {
        let mut client = client::tls(&proxy).await;
        client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 4\r\n\r\nha")).await;
        uploads.push(client);
    }
    for _ in 0..8 {
        assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 200);
    }
    for client in &mut uploads {
        client.send("lf").await;
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn an_upload_slower_than_the_least_rate_is_ended_though_bytes_keep_coming() {
    let app = App::answering(OK).await;
    let limits = Limits { body_rate_interval: Duration::from_millis(100), ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let mut client = client::tls(&proxy).await;
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 100000\r\n\r\n")).await;
    let (reader, mut writer) = tokio::io::split(client.stream);
    let trickle = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while writer.write_all(b"x").await.is_ok() && writer.flush().await.is_ok() {
            ticks.tick().await;
        }
    });
    let mut client = crate::support::client::Client::new(tokio::io::join(reader, tokio::io::sink()));
    let answered = tokio::time::timeout(Duration::from_secs(10), client.response(false)).await;
    assert_eq!(answered.expect("it may go on for ever").unwrap().status, 408);
    trickle.abort();
}

#[tokio::test]
async fn a_response_that_is_taken_slower_than_the_least_rate_is_ended() {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let end = Arc::new(std::sync::Mutex::new(Some(end)));
    let app = App::new(move |mut peer, _| {
        let end = Arc::clone(&end);
        async move {
            while let Some(head) = peer.head().await {
                if head.starts_with("GET /polite ") {
                    peer.write(OK).await;
                    continue;
                }
                peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
                let chunk = [b"10000\r\n", &[b'x'; 0x10000][..], b"\r\n"].concat();
                while peer.stream.write_all(&chunk).await.is_ok() {}
                drop(end.lock().unwrap().take());
            }
        }
    })
    .await;
    // A client that takes nothing at all has a minute; this test measures that one.
    let limits = Limits { response_rate_interval: Duration::from_millis(200), ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let mut client = client::tls(&proxy).await;
    client.send(&get("/slow")).await;
    let trickle = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while tokio::io::AsyncReadExt::read(&mut client.stream, &mut [0]).await.is_ok_and(|count| count > 0) {
            ticks.tick().await;
        }
    });
    let cut = tokio::time::timeout(Duration::from_secs(30), ended).await;
    assert!(cut.expect("it may go on for ever").is_err());
    assert_eq!(client::tls(&proxy).await.ask(&get("/polite")).await.status, 200);
    trickle.abort();
}

#[tokio::test]
async fn a_request_whose_client_leaves_the_line_never_reaches_the_app() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let app = App::new(move |mut peer, _| {
        let saw = Arc::clone(&saw);
        async move {
            while let Some(request) = peer.request().await {
                saw.lock().unwrap().push(request.head.as_bytes()[5] - b'0');
                // Never answers.
                peer.fill().await;
            }
        }
    })
    .await;
    let traffic = AppTraffic { queue_timeout_ms: 1_000_000, ..one_at_a_time() };
    let mut proxy = Proxy::with_traffic(quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    let mut clients = Vec::new();
    for number in 0..8u8 {
        let mut client = client::tls(&proxy).await;
        client.send(&get(&format!("/{number}"))).await;
        clients.push((number, client));
    }
    proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.in_flight == 8)).await;
    // And a second later those that got a place have long been read by the app.
    proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.in_flight == 8)).await;
    let at_app = seen.lock().unwrap().clone();
    let (stay, leave): (Vec<_>, Vec<_>) = clients.into_iter().partition(|(number, _)| at_app.contains(number));
    for (_, client) in leave {
        let (socket, _) = client.stream.into_inner();
        socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
    }
    let left = proxy.stats_until(|stats| stats.apps.first().is_some_and(|app| app.in_flight as usize == stay.len()));
    tokio::time::timeout(Duration::from_secs(10), left).await.expect("they kept their places in the queue");
    assert_eq!(*seen.lock().unwrap(), at_app);
}

#[tokio::test]
async fn a_request_whose_empty_body_was_read_is_not_sent_again_without_it() {
    let (app, requests) = app_that_dies_at_reuse().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let chunked = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(client.ask(&chunked).await.status, 200);
    let answered = tokio::time::timeout(Duration::from_secs(10), client.ask(&chunked)).await;
    assert_eq!(answered.expect("waited for a body that it has").status, 502);
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn interim_responses_without_end_are_a_bad_gateway() {
    for (interims, status) in [(16, 200), (17, 502)] {
        let app = App::new(move |mut peer, _| async move {
            peer.request().await;
            peer.write(&"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".repeat(interims)).await;
            peer.write(OK).await;
            peer.fill().await;
        })
        .await;
        let proxy = Proxy::before(app.address).await;
        let mut client = client::tls(&proxy).await;
        client.send(&get("/")).await;
        let mut found = 103;
        while found == 103 {
            found = client.head().await.unwrap().0;
        }
        assert_eq!(found, status);
    }
}
