//! Lifetime of HTTP/3 connections: address validation and migration, drains, idle timeouts.

use std::sync::Arc;

use crate::quic::{Quic, ask, connect, get, read, request};
use crate::support::app::App;
use crate::support::client;
use crate::support::{Proxy, quick, upstream};
use fairlead_proxy::Limits;
use h3::error::Code;
use tokio::sync::Semaphore;

#[tokio::test]
async fn a_client_keeps_its_connection_when_its_port_changes() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    assert_eq!(get(&client.send, "/0").await.0, 200);
    // New ports hash to both cores in turn, so that some datagrams have to be passed on.
    for number in 1..12 {
        client.endpoint.rebind(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        assert_eq!(get(&client.send, &format!("/{number}")).await.0, 200);
    }
    assert_eq!(app.connections(), 1, "another core has served it");
}

#[tokio::test]
async fn an_address_that_no_handshake_has_proved_is_not_the_client() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    assert!(get(&client.send, "/").await.1.contains("x-forwarded-for: 127.0.0.1\r\n"));
    let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
    // From now on the client's datagrams come from another address, as a forged one would.
    client.endpoint.rebind(std::net::UdpSocket::bind("127.0.0.2:0").unwrap()).unwrap();
    stream.send_data("later".into()).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    let body = String::from_utf8(read(&mut stream).await.unwrap()).unwrap();
    assert!(body.contains("x-forwarded-for: 127.0.0.1\r\n") && body.ends_with("later"), "{body}");
    // Until the GOAWAY arrives, requests are still those of the proved address; then the connection takes no more.
    while let Ok((_, body)) = ask(&client.send, request("GET", "/")).await {
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("x-forwarded-for: 127.0.0.1\r\n"), "{body}");
    }
    assert_eq!(get(&connect(&proxy).await.send, "/").await.0, 200);
}

#[tokio::test]
async fn under_load_a_client_proves_its_address_first() {
    let app = App::echo().await;
    let limits = Limits { half_open_max: 1, handshake_timeout: std::time::Duration::from_secs(60), ..quick() };
    let proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let mut half_open = Vec::new();
    for _ in 0..4 {
        half_open.push(crate::quic::first_flight(&proxy).await);
    }
    // Every core has half-open handshakes, and yet the client connects.
    let client = connect(&proxy).await;
    assert_eq!(get(&client.send, "/").await.0, 200);
    assert!(half_open.contains(&crate::quic::RETRY), "{half_open:?}");
}

#[tokio::test]
async fn a_full_core_closes_no_idle_connection_for_an_address_that_is_not_proved() {
    let app = App::echo().await;
    let limits = Limits { connections_max: 4, ..quick() };
    let mut proxy = Proxy::on_cores(1, limits).await;
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        let mut client = client::plain(&proxy).await;
        client.ask(&client::get("/.well-known/acme-challenge/a")).await;
        idle.push(client);
    }
    // Statistics come once a second: by then they have idled for long enough to make room.
    for _ in 0..3 {
        proxy.stats_until(|_| true).await;
    }
    for _ in 0..8 {
        assert_eq!(crate::quic::first_flight(&proxy).await, crate::quic::RETRY);
    }
    for client in &mut idle {
        assert_eq!(client.ask(&client::get("/.well-known/acme-challenge/a")).await.status, 200);
    }
    for _ in 0..3 {
        proxy.stats_until(|_| true).await;
    }
    // The control: one that proves its address gets the place of one of them.
    let client = connect(&proxy).await;
    assert_eq!(get(&client.send, "/").await.0, 200);
    let mut ended = 0;
    for mut client in idle {
        client.send(&client::get("/.well-known/acme-challenge/a")).await;
        ended += usize::from(client.response(false).await.is_none());
    }
    assert_eq!(ended, 1);
}

#[tokio::test]
async fn a_drain_lets_requests_end_and_takes_no_new_ones() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    })
    .await;
    let mut proxy = Proxy::with(quick(), vec![upstream("ins_1", app.address)]).await;
    let Quic { send, connection, .. } = connect(&proxy).await;
    let waiting = tokio::spawn({
        let send = send.clone();
        async move { get(&send, "/").await }
    });
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    proxy.drain(60_000).await;
    // The GOAWAY arrives: nothing more can be asked here.
    while let Ok(mut stream) = send.clone().send_request(request("GET", "/")).await {
        stream.stop_sending(Code::H3_REQUEST_CANCELLED);
        stream.stop_stream(Code::H3_REQUEST_CANCELLED);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    gate.add_permits(100);
    assert_eq!(waiting.await.unwrap(), (200, "ok".to_owned()));
    // In order, and only then.
    assert!(matches!(connection.closed().await, quinn::ConnectionError::ApplicationClosed(_)));
    assert!((&mut proxy.served).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_connection_that_idles_ends_and_one_with_a_request_does_not() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    })
    .await;
    let limits = Limits { idle_timeout: std::time::Duration::from_millis(1500), ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let client = connect(&proxy).await;
    let send = client.send.clone();
    let waiting = tokio::spawn(async move { get(&send, "/").await });
    let frames = std::cell::Cell::new(0);
    proxy
        .stats_until(|_| {
            frames.set(frames.get() + 1);
            frames.get() > 3
        })
        .await;
    gate.add_permits(1);
    assert_eq!(waiting.await.unwrap(), (200, "ok".to_owned()));
    proxy.stats_until(|stats| stats.open_connections == 0).await;
}

#[tokio::test]
async fn a_drain_while_the_connection_s_window_is_used_up_cuts_no_response() {
    const BODY_BYTES: usize = 200_000;
    let app = App::new(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n")).await;
            peer.write_bytes(&[b'x'; BODY_BYTES]).await;
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let windows = crate::quic::config(&proxy, |transport| {
        transport.receive_window(20_000_u32.into());
    });
    let client = crate::quic::connect_with(&proxy, windows).await;
    let mut stream = client.send.clone().send_request(request("GET", "/")).await.unwrap();
    stream.finish().await.unwrap();
    // The proxy reports that the window is used up.
    while client.connection.stats().frame_rx.data_blocked == 0 {
        tokio::task::yield_now().await;
    }
    proxy.drain(60_000).await;
    // The proxy refuses others by now, so it sent this one a GOAWAY, as far as there was room.
    loop {
        let connecting = crate::quic::endpoint()
            .connect_with(crate::quic::config(&proxy, |_| ()), proxy.https, crate::support::HOST)
            .unwrap();
        if connecting.await.is_err() {
            break;
        }
    }
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    assert_eq!(read(&mut stream).await.unwrap().len(), BODY_BYTES);
    assert!(matches!(client.connection.closed().await, quinn::ConnectionError::ApplicationClosed(_)));
    assert!((&mut proxy.served).await.unwrap().is_ok());
}
