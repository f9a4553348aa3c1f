//! Upstream protocols: HTTP/2, HTTP/1.1 over TLS and over Unix sockets, in both directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::http2::{self, Http2App, echo, proxy_before, read, request, send_all, trailers};
use crate::support::{HOST, Proxy, quick, upstream};
use bytes::Bytes;
use fairlead_model::message::{AppTraffic, UpstreamTls};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::ProxyUpstream;
use h2::Reason;
use http::Response;
use prost::Message;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

#[tokio::test]
async fn a_request_of_http_1_reaches_an_app_of_http_2_as_the_same_request() {
    let app = Http2App::new(echo).await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let ask = format!(
        "POST /a?b HTTP/1.1\r\nHost: {HOST}:1\r\nTransfer-Encoding: chunked\r\nX-Forwarded-For: 6.6.6.6\r\nTE: trailers\r\n\
         Connection: TE, X-Hop\r\nX-Hop: 1\r\nCookie: a=1\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 9\r\n\r\n"
    );
    let response = client.ask(&ask).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
    let text = response.text();
    assert!(text.starts_with(&format!("POST http://{HOST}:1/a?b\n")), "{text}");
    assert!(text.ends_with("\nhello\nx-sum= 9"), "{text}");
    for line in
        ["\ncookie: a=1\n", "\nte: trailers\n", "\nx-forwarded-for: 127.0.0.1\n", "\nx-forwarded-proto: https\n"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    for name in ["\nconnection", "\ntransfer-encoding", "\nx-hop", "\nhost:", "6.6.6.6"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    // And the client's connection is in step.
    for _ in 0..5 {
        assert_eq!(client.ask(&get("/again")).await.status, 200);
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn many_streams_share_few_connections_and_large_bodies_wait_for_slow_readers() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = Http2App::new(move |(request, mut respond)| {
        let gate = Arc::clone(&opened);
        async move {
            if request.uri().path() == "/large" {
                let mut send = respond.send_response(Response::new(()), false).unwrap();
                send_all(&mut send, vec![b'y'; 5_000_000].into(), true).await;
                return;
            }
            gate.add_permits(1);
            gate.acquire_many(50).await.unwrap().forget();
            gate.add_permits(50);
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(Bytes::copy_from_slice(request.uri().path().as_bytes()), true).unwrap();
        }
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let send = http2::connect(&proxy).await;
    let (response, _) = send.clone().send_request(request("GET", "/large"), true).unwrap();
    let mut large = response.await.unwrap().into_body();
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let send = send.clone();
            tokio::spawn(async move { (number, http2::get(&send, &format!("/{number}")).await) })
        })
        .collect();
    for task in tasks {
        let (number, answer) = task.await.unwrap();
        assert_eq!(answer, (200, format!("/{number}")));
    }
    assert_eq!(read(&mut large).await.unwrap().len(), 5_000_000);
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn an_app_that_takes_few_streams_gets_few_at_once() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = (Arc::clone(&now), Arc::clone(&most));
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(2);
    let app = Http2App::with(builder, move |(_request, mut respond)| {
        let (now, most) = seen.clone();
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            respond.send_response(Response::new(()), true).unwrap();
        }
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let send = http2::connect(&proxy).await;
    let tasks: Vec<_> = (0..60)
        .map(|_| {
            let send = send.clone();
            tokio::spawn(async move { http2::get(&send, "/").await.0 })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), 200);
    }
    assert!(most.load(Ordering::SeqCst) <= 2 * app.connections());
    assert!(app.connections() <= 8, "{}", app.connections());
}

#[tokio::test]
async fn a_refused_stream_goes_again_whatever_its_method() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let app = Http2App::new(move |(_request, mut respond)| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        async move {
            if number == 0 {
                respond.send_reset(Reason::REFUSED_STREAM);
            } else {
                respond.send_response(Response::new(()), true).unwrap();
            }
        }
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let ask = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.ask(&ask).await.status, 200);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_that_says_goodbye_ends_its_streams_and_gets_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                let mut left = false;
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    if !std::mem::replace(&mut left, true) {
                        // Each connection serves what has come by then, and no more.
                        connection.graceful_shutdown();
                    }
                    let mut send = respond.send_response(Response::new(()), false).unwrap();
                    send.send_data(Bytes::from(format!("{number}")), true).unwrap();
                }
            });
        }
    });
    let proxy = proxy_before(address).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..10 {
        assert_eq!(client.ask(&get("/")).await.status, 200);
    }
}

#[tokio::test]
async fn what_an_app_breaks_is_a_bad_gateway_before_the_head_and_a_cut_after_it() {
    let app = Http2App::new(|(request, mut respond)| async move {
        match request.uri().path() {
            "/reset" => respond.send_reset(Reason::INTERNAL_ERROR),
            "/short" => {
                let response = Response::builder().header("content-length", "10").body(()).unwrap();
                respond.send_response(response, false).unwrap().send_data(Bytes::from_static(b"abc"), true).unwrap();
            }
            _ => {
                let mut send = respond.send_response(Response::new(()), false).unwrap();
                send.send_data(Bytes::from_static(b"abc"), false).unwrap();
                send_all(&mut send, Bytes::from_static(b"d"), false).await;
                send.send_reset(Reason::INTERNAL_ERROR);
            }
        }
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    assert_eq!(client.ask(&get("/reset")).await.status, 502);
    client.send(&get("/cut")).await;
    assert!(client.response(false).await.is_none_or(|response| response.status == 502));
    let mut client = client::tls(&proxy).await;
    client.send(&get("/short")).await;
    assert!(client.response(false).await.is_none_or(|response| response.status == 502));
}

#[tokio::test]
async fn an_app_that_does_not_speak_http_2_is_a_bad_gateway() {
    let app = App::answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let proxy = proxy_before(app.address).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 502);
}

#[tokio::test]
async fn interim_responses_and_bodyless_ones_keep_their_meaning() {
    let app = Http2App::new(|(request, mut respond)| async move {
        let response = |status: u16| Response::builder().status(status);
        match request.uri().path() {
            "/early" => {
                respond.send_informational(response(103).header("link", "x").body(()).unwrap()).unwrap();
                respond.send_response(response(200).body(()).unwrap(), true).unwrap();
            }
            "/continue" => {
                respond.send_informational(response(100).body(()).unwrap()).unwrap();
                let bytes = read(&mut request.into_body()).await.unwrap();
                let mut send = respond.send_response(response(200).body(()).unwrap(), false).unwrap();
                send.send_data(bytes.into(), true).unwrap();
            }
            "/204" => drop(respond.send_response(response(204).body(()).unwrap(), true).unwrap()),
            "/304" => {
                drop(
                    respond
                        .send_response(response(304).header("content-length", "77").body(()).unwrap(), true)
                        .unwrap(),
                );
            }
            _ => drop(
                respond.send_response(response(200).header("content-length", "77").body(()).unwrap(), true).unwrap(),
            ),
        }
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    client.send(&get("/early")).await;
    let (status, head) = client.head().await.unwrap();
    assert!(status == 103 && head.contains("\r\nlink: x\r\n"), "{head}");
    let response = client.response(false).await.unwrap();
    assert_eq!((response.status, response.header("content-length")), (200, Some("0")));
    client
        .send(&format!("PUT /continue HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"))
        .await;
    assert_eq!(client.head().await.unwrap().0, 100);
    client.send("ok").await;
    assert_eq!(client.response(false).await.unwrap().text(), "ok");
    for (ask, status, length) in [
        (get("/204"), 204, None),
        (get("/304"), 304, Some("77")),
        (get("/head").replace("GET", "HEAD"), 200, Some("77")),
        (get("/204"), 204, None),
    ] {
        client.send(&ask).await;
        let (got, head) = client.head().await.unwrap();
        assert_eq!((got, crate::support::app::header(&head, "content-length")), (status, length));
    }
}

#[tokio::test]
async fn trailers_pass_from_end_to_end_of_http_2() {
    let app = Http2App::new(|(request, mut respond)| async move {
        let mut body = request.into_body();
        let bytes = read(&mut body).await.unwrap();
        let sum = body.trailers().await.unwrap().unwrap()["x-sum"].to_str().unwrap().to_owned();
        let mut send = respond.send_response(Response::new(()), false).unwrap();
        send_all(&mut send, bytes.into(), false).await;
        send.send_trailers(trailers("x-back", &sum)).unwrap();
    })
    .await;
    let proxy = proxy_before(app.address).await;
    let mut send = http2::connect(&proxy).await;
    let (response, mut upload) = send.send_request(request("POST", "/"), false).unwrap();
    let sending = tokio::spawn(async move {
        send_all(&mut upload, vec![b'x'; 2_000_000].into(), false).await;
        upload.send_trailers(trailers("x-sum", "7")).unwrap();
    });
    let mut body = response.await.unwrap().into_body();
    assert_eq!(read(&mut body).await.unwrap().len(), 2_000_000);
    assert_eq!(body.trailers().await.unwrap().unwrap()["x-back"], "7");
    sending.await.unwrap();
}

fn server_config(authority: &LocalAuthority, name: &str, alpn: &[u8]) -> Arc<ServerConfig> {
    let leaf = authority.leaf(name).unwrap();
    let chain = leaf.chain_der.into_iter().map(Into::into).collect();
    let key = PrivateKeyDer::Pkcs8(leaf.key_pkcs8_der.into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    Arc::new(config)
}

fn own_tls(proxy: &Proxy, server_name: &str) -> AppTraffic {
    let ca_pem = pem(proxy.authority.root_der());
    AppTraffic { tls: Some(UpstreamTls { server_name: server_name.to_owned(), ca_pem }), ..AppTraffic::default() }
}

fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[tokio::test]
async fn http_2_over_tls_is_chosen_in_the_handshake_and_only_a_right_certificate_is_taken() {
    let mut proxy = Proxy::bare(quick()).await;
    let app = Http2App::tls(server_config(&proxy.authority, "app.localhost", b"h2"), echo).await;
    let upstreams = || vec![upstream("ins_1", app.address)];
    let snapshot = http2::snapshot(&proxy, upstreams(), own_tls(&proxy, "app.localhost"));
    proxy.apply(snapshot).await.unwrap();
    let mut client = client::tls(&proxy).await;
    let response = client.ask(&get("/")).await;
    assert!(response.text().starts_with(&format!("GET https://{HOST}/\n")), "{}", response.text());
    for wrong in [own_tls(&proxy, "other.localhost"), own_tls(&proxy, "")] {
        let snapshot = http2::snapshot(&proxy, upstreams(), wrong);
        proxy.apply(snapshot).await.unwrap();
        assert_eq!(client.ask(&get("/")).await.status, 502);
    }
    // No HTTP/2 in the handshake, no request.
    let http1 = Http2App::tls(server_config(&proxy.authority, "app.localhost", b"http/1.1"), echo).await;
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_2", http1.address)], own_tls(&proxy, "app.localhost"));
    proxy.apply(snapshot).await.unwrap();
    assert_eq!(client.ask(&get("/")).await.status, 502);
}

#[tokio::test]
async fn http_1_over_tls_keeps_its_connection_and_carries_large_bodies() {
    let mut proxy = Proxy::bare(quick()).await;
    let acceptor = TlsAcceptor::from(server_config(&proxy.authority, "app.localhost", b"http/1.1"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut stream = acceptor.accept(stream).await.unwrap();
            tokio::spawn(async move {
                let mut unread = Vec::new();
                while stream.read_buf(&mut unread).await.unwrap() > 0 {
                    let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
                    let head = String::from_utf8(unread.drain(..end + 4).collect()).unwrap();
                    let length =
                        crate::support::app::header(&head, "content-length").map_or(0, |text| text.parse().unwrap());
                    while unread.len() < length {
                        assert!(stream.read_buf(&mut unread).await.unwrap() > 0);
                    }
                    let body: Vec<u8> = unread.drain(..length).collect();
                    stream
                        .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes())
                        .await
                        .unwrap();
                    stream.write_all(&body).await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
        }
    });
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", address)]);
    snapshot.apps[0].traffic = own_tls(&proxy, "app.localhost").encode_to_vec();
    proxy.apply(snapshot).await.unwrap();
    let mut client = client::tls(&proxy).await;
    for length in [0, 1, 3_000_000, 5] {
        let body = vec![b'z'; length];
        client.send(&format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {length}\r\n\r\n")).await;
        client.send_bytes(&body).await;
        assert_eq!(client.response(false).await.unwrap().body, body);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn unix_sockets_serve_both_protocols() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.sock"), folder.path().join("2.sock"));
    let listener = UnixListener::bind(&one).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 4096];
        while stream.read(&mut buffer).await.unwrap() > 0 {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix").await.unwrap();
        }
    });
    Http2App::unix(&two, echo);
    let at = |path: &std::path::Path| {
        let address = format!("unix:{}", path.display());
        vec![ProxyUpstream { instance_id: "ins_1".to_owned(), address, ..ProxyUpstream::default() }]
    };
    let mut proxy = Proxy::bare(quick()).await;
    proxy.route(at(&one)).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..3 {
        assert_eq!(client.ask(&get("/")).await.text(), "unix");
    }
    let snapshot = http2::snapshot(&proxy, at(&two), AppTraffic::default());
    proxy.apply(snapshot).await.unwrap();
    assert!(client.ask(&get("/")).await.text().starts_with("GET http://"));
    let nobody = at(&folder.path().join("3.sock"));
    proxy.route(nobody).await;
    assert_eq!(client.ask(&get("/")).await.status, 502);
}
