//! HTTP/3 requests through the proxy: streams, bodies, flow control, resets, and translation to HTTP/1.1.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::quic::{Quic, ask, connect, get, read, request};
use crate::support::app::App;
use crate::support::{Proxy, quick, upstream};
use fairlead_model::message::{HeaderAction, HeaderRule, RoutePolicy};
use h3::error::Code;
use http::HeaderMap;
use prost::Message;
use tokio::sync::Semaphore;

#[tokio::test]
async fn a_request_becomes_http_1_1_with_its_cookies_joined() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut asked = request("GET", "/a?b");
    asked.headers_mut().append("cookie", "a=1".parse().unwrap());
    asked.headers_mut().append("cookie", "b=2".parse().unwrap());
    let (response, body) = ask(&client.send, asked).await.unwrap();
    assert_eq!(response.status(), 200);
    let text = String::from_utf8(body).unwrap();
    for line in [
        "GET /a?b HTTP/1.1\r\nhost: hello.localhost\r\n",
        "\r\ncookie: a=1; b=2\r\n",
        "\r\nx-forwarded-for: 127.0.0.1\r\n",
        "\r\nx-forwarded-proto: https\r\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("transfer-encoding"), "{text}");
    assert_eq!(response.headers()["content-length"], text.len().to_string());
}

#[tokio::test]
async fn many_streams_of_one_connection_are_served_at_once() {
    // Answers only after all requests have arrived: sequential handling would deadlock.
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while let Some(request) = peer.request().await {
                gate.add_permits(1);
                gate.acquire_many(50).await.unwrap().forget();
                gate.add_permits(50);
                let path = request.head.split(' ').nth(1).unwrap().to_owned();
                peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len())).await;
            }
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let Quic { send, .. } = connect(&proxy).await;
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let send = send.clone();
            tokio::spawn(async move { (number, get(&send, &format!("/{number}")).await) })
        })
        .collect();
    for task in tasks {
        let (number, answer) = task.await.unwrap();
        assert_eq!(answer, (200, format!("/{number}")));
    }
}

#[tokio::test]
async fn bodies_without_a_length_stream_both_ways_with_their_trailers() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            assert!(request.head.contains("\r\ntransfer-encoding: chunked\r\n"), "{}", request.head);
            let text = format!("{} {}", request.body.len(), request.trailers.trim());
            peer.write(&format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\nX-Sum: 9\r\n\r\n",
                text.len()
            ))
            .await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
    for _ in 0..20 {
        stream.send_data(vec![b'x'; 100_000].into()).await.unwrap();
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("x-t", "1".parse().unwrap());
    stream.send_trailers(trailers).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    assert_eq!(read(&mut stream).await.unwrap(), b"2000000 x-t: 1");
    assert_eq!(stream.recv_trailers().await.unwrap().unwrap()["x-sum"], "9");
}

#[tokio::test]
async fn header_rules_hold_for_trailers_both_ways() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let text = request.trailers.trim().to_owned();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            peer.write(&format!("{head}{:x}\r\n{text}\r\n0\r\nX-Secret: 1\r\nX-Sum: 9\r\n\r\n", text.len())).await;
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    let rule = |name: &str| HeaderRule {
        action: HeaderAction::Set.into(),
        name: name.to_owned(),
        value: "of the route".to_owned(),
    };
    let (request_headers, response_headers) = (vec![rule("x-user")], vec![rule("x-secret")]);
    snapshot.routes[0].policy =
        RoutePolicy { request_headers, response_headers, ..RoutePolicy::default() }.encode_to_vec();
    proxy.apply(snapshot).await.unwrap();
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
    stream.send_data("x".into()).await.unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("x-user", "red".parse().unwrap());
    trailers.insert("x-forwarded-for", "6.6.6.6".parse().unwrap());
    trailers.insert("x-keep", "1".parse().unwrap());
    stream.send_trailers(trailers).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().headers()["x-secret"], "of the route");
    assert_eq!(read(&mut stream).await.unwrap(), b"x-keep: 1");
    let trailers = stream.recv_trailers().await.unwrap().unwrap();
    assert_eq!((trailers.len(), trailers["x-sum"].as_bytes()), (1, &b"9"[..]));
}

#[tokio::test]
async fn a_body_beyond_its_route_s_bound_is_refused() {
    let app = App::echo().await;
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.routes[0].policy = RoutePolicy { request_body_bytes_max: 10, ..RoutePolicy::default() }.encode_to_vec();
    proxy.apply(snapshot).await.unwrap();
    let client = connect(&proxy).await;
    let mut told = request("POST", "/");
    told.headers_mut().insert("content-length", "11".parse().unwrap());
    let mut stream = client.send.clone().send_request(told).await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 413);
    assert_eq!(app.connections(), 0);
    for (bytes, status) in [(10, 200), (11, 413)] {
        let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
        stream.send_data(vec![b'x'; 5].into()).await.unwrap();
        stream.send_data(vec![b'x'; bytes - 5].into()).await.unwrap();
        if status == 200 {
            stream.finish().await.unwrap();
        }
        assert_eq!(stream.recv_response().await.unwrap().status(), status);
    }
    proxy.stats_until(|stats| crate::rejected(stats, "body_too_large") == 2).await;
}

#[tokio::test]
async fn a_body_is_compressed_for_those_who_take_it() {
    let text = "a line of the page\n".repeat(5000);
    let page = text.clone();
    let app = App::new(move |mut peer, _| {
        let page = page.clone();
        async move {
            while peer.request().await.is_some() {
                let head = format!("Content-Type: text/html\r\nETag: \"a\"\r\nContent-Length: {}\r\n", page.len());
                peer.write(&format!("HTTP/1.1 200 OK\r\n{head}\r\n{page}")).await;
            }
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.routes[0].policy = RoutePolicy { compress: true, ..RoutePolicy::default() }.encode_to_vec();
    proxy.apply(snapshot).await.unwrap();
    let client = connect(&proxy).await;
    let mut asked = request("GET", "/");
    asked.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    let (response, body) = ask(&client.send, asked).await.unwrap();
    let field = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!((field("content-encoding"), field("vary")), (Some("gzip"), Some("accept-encoding")));
    assert_eq!((field("content-length"), field("etag")), (None, Some("W/\"a\"")));
    let mut decoded = String::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut decoded).unwrap();
    assert!(decoded == text);
}

#[tokio::test]
async fn a_body_of_known_length_is_sent_on_with_it() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut asked = request("POST", "/");
    asked.headers_mut().insert("content-length", "300000".parse().unwrap());
    let mut stream = client.send.clone().send_request(asked).await.unwrap();
    for _ in 0..3 {
        stream.send_data(vec![b'z'; 100_000].into()).await.unwrap();
    }
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    let text = String::from_utf8(read(&mut stream).await.unwrap()).unwrap();
    assert!(text.contains("\r\ncontent-length: 300000\r\n") && text.ends_with(&"z".repeat(300_000)));
}

#[tokio::test]
async fn a_large_response_waits_for_a_slow_reader_and_harms_no_other_stream() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let size = if request.head.contains("/large") { 10_000_000 } else { 3 };
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")).await;
            peer.write_bytes(&vec![b'y'; size]).await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let config = crate::quic::config(&proxy, |transport| {
        transport.stream_receive_window(65_536u32.into()).receive_window(1_000_000u32.into());
    });
    let client = crate::quic::connect_with(&proxy, config).await;
    let mut large = client.send.clone().send_request(request("GET", "/large")).await.unwrap();
    large.finish().await.unwrap();
    // The window of the large stream is full and unread.
    assert_eq!(large.recv_response().await.unwrap().headers()["content-length"], "10000000");
    assert_eq!(get(&client.send, "/small").await, (200, "yyy".to_owned()));
    assert_eq!(read(&mut large).await.unwrap().len(), 10_000_000);
}

#[tokio::test]
async fn an_upload_to_an_app_that_does_not_read_stops_at_the_windows() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            peer.head().await;
            gate.acquire().await.unwrap().forget();
            // To the very end: an app that answers before has the proxy tell the client to send no more.
            while !peer.unread.ends_with(b"\r\n0\r\n\r\n") && peer.fill().await {}
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let upload = tokio::spawn(async move {
        for _ in 0..200 {
            stream.send_data(vec![b'x'; 100_000].into()).await.unwrap();
            count.fetch_add(100_000, Ordering::SeqCst);
        }
        stream.finish().await.unwrap();
        stream.recv_response().await.unwrap().status().as_u16()
    });
    // It comes to rest: the kernel's buffers, the proxy's and the window are full, and nothing more is taken.
    let mut last = 0;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let now = sent.load(Ordering::SeqCst);
        if now == last && now > 0 {
            break;
        }
        last = now;
    }
    assert!(last < 15_000_000, "{last} bytes were taken for an app that reads nothing");
    gate.add_permits(1);
    assert_eq!(upload.await.unwrap(), 200);
}

#[tokio::test]
async fn a_cancelled_stream_frees_its_place_at_the_app_and_the_connection_serves_on() {
    let app = App::new(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        if request.head.contains("/wait") {
            // Ends when the proxy gives the connection up.
            assert!(!peer.fill().await);
            return;
        }
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    })
    .await;
    let mut proxy = Proxy::with(quick(), vec![upstream("ins_1", app.address)]).await;
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("GET", "/wait")).await.unwrap();
    stream.finish().await.unwrap();
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    proxy.stats_until(|stats| stats.instances[0].in_flight == 0).await;
    assert_eq!(get(&client.send, "/").await, (200, "ok".to_owned()));
    // A reset in the middle of a body does the same.
    let mut stream = client.send.clone().send_request(request("POST", "/wait")).await.unwrap();
    stream.send_data("some".into()).await.unwrap();
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    stream.stop_stream(Code::H3_REQUEST_CANCELLED);
    proxy.stats_until(|stats| stats.instances[0].in_flight == 0).await;
}

#[tokio::test]
async fn a_client_that_goes_takes_its_requests_with_it() {
    let app = App::new(|mut peer, _| async move {
        peer.request().await.unwrap();
        assert!(!peer.fill().await);
    })
    .await;
    let mut proxy = Proxy::with(quick(), vec![upstream("ins_1", app.address)]).await;
    let client = connect(&proxy).await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = client.send.clone().send_request(request("GET", "/")).await.unwrap();
        stream.finish().await.unwrap();
        streams.push(stream);
    }
    proxy.stats_until(|stats| stats.instances[0].in_flight == 5 && stats.open_connections == 1).await;
    client.connection.close(0u32.into(), b"bye");
    proxy.stats_until(|stats| stats.instances[0].in_flight == 0 && stats.open_connections == 0).await;
}

#[tokio::test]
async fn an_answer_before_the_end_of_an_upload_reaches_the_client_whole() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig").await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("POST", "/")).await.unwrap();
    stream.send_data(vec![b'x'; 10_000].into()).await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 413);
    assert_eq!(read(&mut stream).await.unwrap(), b"big");
    // And the rest of the upload is refused without blame.
    let refused = loop {
        if let Err(error) = stream.send_data(vec![b'x'; 10_000].into()).await {
            break error;
        }
    };
    assert!(refused.to_string().contains("H3_NO_ERROR") || refused.is_h3_no_error(), "{refused}");
}

#[tokio::test]
async fn a_cut_response_resets_its_stream_only() {
    let app = App::new(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        let answer = if request.head.contains("/cut") { "10\r\n\r\nhalf" } else { "4\r\n\r\nfull" };
        peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {answer}")).await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let error = ask(&client.send, request("GET", "/cut")).await.unwrap_err();
    assert!(error.to_string().contains("H3_INTERNAL_ERROR"), "{error}");
    assert_eq!(get(&client.send, "/").await, (200, "full".to_owned()));
}

#[tokio::test]
async fn what_is_not_routed_or_not_valid_has_its_status() {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let status = async |asked| ask(&client.send, asked).await.unwrap().0.status().as_u16();
    let elsewhere = http::Request::builder().uri("https://other.localhost/").body(()).unwrap();
    assert_eq!(status(elsewhere).await, 404);
    assert_eq!(status(request("GET", &format!("/{}", "a".repeat(17_000)))).await, 414);
    let mut many = request("GET", "/");
    for number in 0..120 {
        many.headers_mut().insert(http::HeaderName::try_from(format!("x-{number}")).unwrap(), "1".parse().unwrap());
    }
    assert_eq!(status(many).await, 431);
    // A HEAD response has Content-Length and no body.
    let (response, body) = ask(&client.send, request("HEAD", "/")).await.unwrap();
    assert_eq!((response.headers()["content-length"].as_bytes(), body.len()), (&b"5"[..], 0));
}

#[tokio::test]
async fn interim_responses_reach_the_client() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await.unwrap();
        peer.write("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n").await;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let client = connect(&proxy).await;
    let mut stream = client.send.clone().send_request(request("GET", "/")).await.unwrap();
    stream.finish().await.unwrap();
    let interim = stream.recv_response().await.unwrap();
    assert_eq!((interim.status().as_u16(), &interim.headers()["link"]), (103, &"</a.css>".parse().unwrap()));
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
}

/// Answers each request with its own body.
async fn mirror() -> App {
    App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len())).await;
            peer.write_bytes(&request.body).await;
        }
    })
    .await
}

#[tokio::test]
async fn bodies_arrive_whole_both_ways_whatever_the_windows() {
    const STREAMS: usize = 2;
    let app = mirror().await;
    let proxy = Proxy::before(app.address).await;
    let sent: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
    // Windows of one stream and of all; the connection's window ends writes in the middle of a chunk.
    for (stream, connection) in [(1 << 20, 20_000), (7_000, 1 << 20), (3_000, 3_000), (8 << 20, 8 << 20)] {
        let windows = crate::quic::config(&proxy, |transport| {
            transport.stream_receive_window(u32::into(stream)).receive_window(u32::into(connection));
        });
        let client = crate::quic::connect_with(&proxy, windows).await;
        let asked = (0..STREAMS).map(|_| {
            let (send, sent) = (client.send.clone(), bytes::Bytes::from(sent.clone()));
            tokio::spawn(async move {
                let mut asked = request("POST", "/");
                asked.headers_mut().insert("content-length", sent.len().into());
                let mut stream = send.clone().send_request(asked).await.unwrap();
                stream.send_data(sent).await.unwrap();
                stream.finish().await.unwrap();
                assert_eq!(stream.recv_response().await.unwrap().status(), 200);
                read(&mut stream).await.unwrap()
            })
        });
        for asked in asked.collect::<Vec<_>>() {
            assert!(asked.await.unwrap() == sent, "windows of {stream} and {connection} bytes");
        }
    }
}
