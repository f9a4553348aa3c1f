//! HTTP/1.1 through the proxy over real sockets: heads, bodies, streaming, upgrades and connection reuse.

use std::sync::Arc;
use std::time::Duration;

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::AppTraffic;
use fairlead_proxy::Limits;
use rustls::{ClientConfig, RootCertStore};

#[tokio::test]
async fn a_request_reaches_the_app_with_its_clients_address_and_connections_are_used_again() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let forged = "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Request-ID: from-client\r\n";
    let response = client.ask(&format!("GET /a?b HTTP/1.1\r\nHost: {HOST}:1\r\n{forged}\r\n")).await;
    assert_eq!(response.status, 200);
    for line in [
        "GET /a?b HTTP/1.1\r\n",
        "\r\nx-forwarded-for: 127.0.0.1\r\n",
        "\r\nx-forwarded-proto: https\r\n",
        "\r\nforwarded: for=127.0.0.1;host=\"hello.localhost:1\";proto=https\r\n",
        "\r\nx-request-id: from-client\r\n",
    ] {
        assert!(response.text().contains(line), "{line} in {}", response.text());
    }
    assert!(!response.text().contains("6.6.6.6"));
    for _ in 0..20 {
        assert_eq!(client.ask(&get("/again")).await.status, 200);
    }
    assert_eq!(app.connections(), 1);
}

/// A client may say that it is done together with its request, and leave the ending of the connection to us.
#[tokio::test]
async fn a_close_notify_that_comes_with_a_request_ends_the_connection_after_its_response() {
    let app = App::echo().await;
    // Idle connections never time out here.
    let day = Duration::from_secs(24 * 3600);
    let limits = Limits { idle_timeout: day, half_closed_timeout: day, ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let mut roots = RootCertStore::empty();
        roots.add(proxy.authority.root_der().to_vec().into()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        let mut client = client::handshake(&proxy, &config, HOST).await.unwrap();
        let (socket, tls) = client.stream.get_mut();
        let mut bytes = Vec::new();
        std::io::Write::write_all(&mut tls.writer(), get("/last").as_bytes()).unwrap();
        tls.send_close_notify();
        while tls.wants_write() {
            tls.write_tls(&mut bytes).unwrap();
        }
        tokio::io::AsyncWriteExt::write_all(socket, &bytes).await.unwrap();
        assert!(client.response(false).await.unwrap().text().starts_with("GET /last "));
        assert!(client.at_end().await);
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&(get("/1") + &get("/2") + &get("/3"))).await;
    for path in ["GET /1 ", "GET /2 ", "GET /3 "] {
        assert!(client.response(false).await.unwrap().text().starts_with(path));
    }
}

#[tokio::test]
async fn responses_without_a_body_leave_the_connection_in_step() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let response = match request.head.split(' ').nth(1).unwrap() {
                "/204" => "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n",
                "/304" => "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n",
                "/early" => "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n",
            };
            peer.write(response).await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let head = client.ask(&get("/head").replace("GET", "HEAD")).await;
    assert_eq!(head.header("content-length"), Some("1234"));
    assert_eq!(client.ask(&get("/204")).await.header("content-length"), None);
    assert_eq!(client.ask(&get("/304")).await.header("content-length"), Some("77"));
    client.send(&get("/early")).await;
    assert_eq!(client.response(false).await.unwrap().status, 103);
    assert_eq!(client.response(false).await.unwrap().body, b"x");
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn bodies_of_known_and_unknown_length_arrive_whole_with_their_trailers() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let sizes = format!("{} {}", request.body.len(), request.trailers.trim());
            peer.write(&format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{sizes}\r\n0\r\nX-Sum: 7\r\nContent-Length: 9\r\n\r\n",
                sizes.len()
            ))
            .await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let body = vec![b'a'; 3_000_000];
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n", body.len())).await;
    client.send_bytes(&body).await;
    let response = client.response(false).await.unwrap();
    assert_eq!((response.text(), response.trailers.as_str()), ("3000000 ", "X-Sum: 7"));
    client
        .send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n"))
        .await;
    client.send("5\r\nhello\r\n3;ext=1\r\n wo\r\n0\r\nX-T: 1\r\nHost: evil\r\n\r\n").await;
    assert_eq!(client.response(false).await.unwrap().text(), "8 X-T: 1");
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn large_bodies_pass_whole_to_a_client_that_reads_slowly() {
    let app = App::new(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n").await;
            let bytes: Vec<u8> = (0..20_000_000u32).map(|n| (n % 251) as u8).collect();
            peer.write_bytes(&bytes).await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..2 {
        let response = client.ask(&get("/")).await;
        assert_eq!(response.body.len(), 20_000_000);
        assert!((0u32..).zip(&response.body).all(|(n, byte)| *byte == (n % 251) as u8));
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn both_directions_stream_at_once() {
    // Answers each chunk at once: neither side may wait for the end of the other body.
    let app = App::new(|mut peer, _| async move {
        peer.head().await.unwrap();
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        loop {
            let size = usize::from_str_radix(&peer.line().await, 16).unwrap();
            let data = peer.exactly(size + 2).await;
            peer.write(&format!("{size:x}\r\n{}", String::from_utf8(data).unwrap())).await;
            if size == 0 {
                return;
            }
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n")).await;
    assert_eq!(client.head().await.unwrap().0, 200);
    for word in ["one", "two", "three"] {
        client.send(&format!("{:x}\r\n{word}\r\n", word.len())).await;
        assert_eq!(client.chunk().await.unwrap(), word.as_bytes());
    }
    client.send("0\r\n\r\n").await;
    assert!(client.chunk().await.unwrap().is_empty());
}

#[tokio::test]
async fn events_reach_the_client_one_by_one_and_hold_no_place_of_others() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            if !request.head.contains("/events") {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                continue;
            }
            // Half of them don't say that they are events.
            let kind = if request.head.contains("/events/1") { "text/event-stream" } else { "text/plain" };
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\ndata: 1\n\n")).await;
            // Stays open, silent, until the proxy goes.
            assert!(!peer.fill().await);
        }
    })
    .await;
    let permit_timeout = std::time::Duration::from_millis(20);
    let limits = fairlead_proxy::Limits { permit_timeout, ..crate::support::quick() };
    let traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
    let proxy = Proxy::with_traffic(limits, traffic, vec![upstream("ins_1", app.address)]).await;
    let mut streams = Vec::new();
    for number in 0..6 {
        let mut client = client::tls(&proxy).await;
        client.send(&get(&format!("/events/{}", number % 2))).await;
        assert_eq!(client.head().await.unwrap().0, 200);
        assert_eq!(client.chunk().await.unwrap(), b"data: 1\n\n");
        streams.push(client);
    }
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_waits_for_100_gets_the_apps_own() {
    let app = App::new(|mut peer, _| async move {
        while let Some(head) = peer.head().await {
            if !head.contains("/yes") {
                peer.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
                return;
            }
            assert!(head.contains("\r\nexpect: 100-continue\r\n"));
            peer.write("HTTP/1.1 100 Continue\r\n\r\n").await;
            let body = peer.exactly(4).await;
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{}", String::from_utf8(body).unwrap()))
                .await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let ask = |path: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
    };
    let mut client = client::tls(&proxy).await;
    client.send(&ask("/yes")).await;
    assert_eq!(client.response(false).await.unwrap().status, 100);
    client.send("ping").await;
    assert_eq!(client.response(false).await.unwrap().text(), "ping");
    client.send(&ask("/no")).await;
    assert_eq!(client.response(false).await.unwrap().status, 417);
    // The body was never sent, so what follows can't be told from it.
    assert!(client.at_end().await);
}

#[tokio::test]
async fn a_websocket_is_a_pipe_both_ways_and_ends_as_either_side_ends_it() {
    let app = App::new(|mut peer, number| async move {
        let head = peer.head().await.unwrap();
        assert!(head.contains("\r\nconnection: upgrade\r\nupgrade: websocket\r\n"), "{head}");
        peer.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhi").await;
        while peer.fill().await {
            let bytes = std::mem::take(&mut peer.unread);
            peer.write_bytes(&bytes).await;
            if number == 1 {
                return;
            }
        }
        // The client has closed its side: a last word still gets through.
        peer.write("bye").await;
    })
    .await;
    let traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
    let mut proxy = Proxy::with_traffic(crate::support::quick(), traffic, vec![upstream("ins_1", app.address)]).await;
    let ask = format!("GET /ws HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
    let mut first = client::tls(&proxy).await;
    first.send(&ask).await;
    let (status, head) = first.head().await.unwrap();
    assert_eq!(status, 101);
    assert!(head.contains("connection: upgrade\r\n") && head.contains("upgrade: websocket\r\n"), "{head}");
    assert_eq!(first.exactly(7).await.unwrap(), b"hifirst");
    // Bytes sent with the request are the app's, and more than one buffer of them.
    let large = vec![7; 300_000];
    let (mut reader, mut writer) = tokio::io::split(first.stream);
    let sent = large.clone();
    let writing = tokio::spawn(async move {
        tokio::io::AsyncWriteExt::write_all(&mut writer, &sent).await.unwrap();
        tokio::io::AsyncWriteExt::flush(&mut writer).await.unwrap();
        writer
    });
    let mut echoed = vec![0; large.len()];
    tokio::io::AsyncReadExt::read_exact(&mut reader, &mut echoed).await.unwrap();
    assert_eq!(echoed, large);
    let mut writer = writing.await.unwrap();
    // A second one passes though each instance has one place: tunnels hold none, but are in flight.
    let mut second = client::tls(&proxy).await;
    second.send(&ask).await;
    assert_eq!(second.head().await.unwrap().0, 101);
    assert_eq!(second.exactly(7).await.unwrap(), b"hifirst");
    assert!(second.at_end().await);
    proxy.stats_until(|stats| stats.instances.iter().any(|instance| instance.in_flight == 1)).await;
    tokio::io::AsyncWriteExt::shutdown(&mut writer).await.unwrap();
    let mut last = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut last).await.unwrap();
    assert_eq!(last, b"bye");
    proxy.stats_until(|stats| stats.instances.iter().all(|instance| instance.in_flight == 0)).await;
}

#[tokio::test]
async fn a_protocol_change_that_nobody_asked_for_is_a_bad_gateway() {
    let app = App::answering("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").await;
    let proxy = Proxy::before(app.address).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 502);
}

#[tokio::test]
async fn http_1_0_clients_are_served_without_what_they_do_not_know() {
    let app = App::answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let response = client.ask(&format!("GET / HTTP/1.0\r\nHost: {HOST}\r\nConnection: keep-alive\r\n\r\n")).await;
    assert_eq!((response.header("transfer-encoding"), response.text()), (None, "hi"));
}

#[tokio::test]
async fn plain_http_is_redirected_but_for_certificate_challenges() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::plain(&proxy).await;
    let response = client.ask(&get("/a?b")).await;
    assert_eq!(response.status, 308);
    assert_eq!(response.header("location"), Some(format!("https://{HOST}:{}/a?b", proxy.https.port()).as_str()));
    let challenge = client.ask(&get("/.well-known/acme-challenge/token")).await;
    assert!(challenge.text().contains("x-forwarded-proto: http\r\n"));
    assert_eq!(client.ask(&get("/").replace(HOST, "other.test")).await.status, 404);
}

#[tokio::test]
async fn a_name_without_a_certificate_ends_the_handshake_and_harms_no_other() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    assert!(client::handshake(&proxy, &proxy.tls(&["http/1.1"]), "other.localhost").await.is_err());
    let mut client = client::tls(&proxy).await;
    let other_host = client.ask(&get("/").replace(HOST, "other.localhost")).await;
    assert_eq!(other_host.status, 404);
    assert_eq!(client.ask(&get("/")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_offers_only_http_1_0_by_name_is_served() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::handshake(&proxy, &proxy.tls(&["http/1.0"]), HOST).await.unwrap();
    assert_eq!(client.stream.get_ref().1.alpn_protocol(), Some(&b"http/1.0"[..]));
    let answer = client.ask(&format!("GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n")).await;
    assert_eq!(answer.status, 200);
    // The control: the proxy refuses an unknown name.
    assert!(client::handshake(&proxy, &proxy.tls(&["http/0.1"]), HOST).await.is_err());
}
