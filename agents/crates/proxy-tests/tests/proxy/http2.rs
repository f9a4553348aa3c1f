//! HTTP/2 clients through the proxy: streams, bodies, flow control, resets, and translation to HTTP/1.1.

use std::sync::Arc;
use std::time::Duration;

use crate::support::app::App;
use crate::support::client;
use crate::support::{HOST, Proxy, quick, upstream};
use bytes::Bytes;
use fairlead_proxy::Limits;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

async fn connect(proxy: &Proxy) -> SendRequest<Bytes> {
    let client = client::handshake(proxy, &proxy.tls(&["h2"]), HOST).await.unwrap();
    assert_eq!(client.stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    // The connection window is larger than a stream window, so that one unread stream can't block the others.
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(65_535).initial_connection_window_size(1_000_000);
    let (send, connection) = builder.handshake(client.stream).await.unwrap();
    tokio::spawn(async move {
        // Ends with the test.
        drop(connection.await);
    });
    send.ready().await.unwrap()
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("https://{HOST}{path}")).body(()).unwrap()
}

async fn read(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

async fn get(send: &SendRequest<Bytes>, path: &str) -> (u16, String) {
    let (response, _) = send.clone().send_request(request("GET", path), true).unwrap();
    let (head, mut body) = response.await.unwrap().into_parts();
    (head.status.as_u16(), String::from_utf8(read(&mut body).await.unwrap()).unwrap())
}

#[tokio::test]
async fn a_request_becomes_http_1_1_with_its_cookies_joined() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut send = connect(&proxy).await;
    let mut ask = request("GET", "/a?b");
    ask.headers_mut().append("cookie", "a=1".parse().unwrap());
    ask.headers_mut().append("cookie", "b=2".parse().unwrap());
    let (response, _) = send.send_request(ask, true).unwrap();
    let (head, mut body) = response.await.unwrap().into_parts();
    assert_eq!(head.status, 200);
    let text = String::from_utf8(read(&mut body).await.unwrap()).unwrap();
    for line in [
        "GET /a?b HTTP/1.1\r\nhost: hello.localhost\r\n",
        "\r\ncookie: a=1; b=2\r\n",
        "\r\nx-forwarded-proto: https\r\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(head.headers["content-length"], text.len().to_string());
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
    let send = connect(&proxy).await;
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
    let mut send = connect(&proxy).await;
    let (response, mut upload) = send.send_request(request("POST", "/"), false).unwrap();
    let mut left = 2_000_000;
    while left > 0 {
        upload.reserve_capacity(left);
        let capacity = std::future::poll_fn(|cx| upload.poll_capacity(cx)).await.unwrap().unwrap().min(left);
        upload.send_data(vec![b'x'; capacity].into(), false).unwrap();
        left -= capacity;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("x-t", "1".parse().unwrap());
    upload.send_trailers(trailers).unwrap();
    let mut body = response.await.unwrap().into_body();
    assert_eq!(read(&mut body).await.unwrap(), b"2000000 x-t: 1");
    assert_eq!(body.trailers().await.unwrap().unwrap()["x-sum"], "9");
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
    let send = connect(&proxy).await;
    let (response, _) = send.clone().send_request(request("GET", "/large"), true).unwrap();
    let mut large = response.await.unwrap().into_body();
    // The window of the large stream is full and unread.
    let first = large.data().await.unwrap().unwrap();
    large.flow_control().release_capacity(first.len()).unwrap();
    assert_eq!(get(&send, "/small").await, (200, "yyy".to_owned()));
    assert_eq!(first.len() + read(&mut large).await.unwrap().len(), 10_000_000);
}

#[tokio::test]
async fn streams_that_a_client_reads_nothing_of_end_though_its_windows_are_open() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            peer.head().await;
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            gate.acquire().await.unwrap().forget();
            let chunk = [b"10000\r\n", &[b'x'; 0x10000][..], b"\r\n"].concat();
            while peer.stream.write_all(&chunk).await.is_ok() {}
        }
    })
    .await;
    // The connection as a whole has a minute; its streams are measured.
    let limits = Limits { response_rate_interval: Duration::from_millis(200), ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let client = client::handshake(&proxy, &proxy.tls(&["h2"]), HOST).await.unwrap();
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(1 << 30).initial_connection_window_size(1 << 30);
    let (send, connection) = builder.handshake::<_, Bytes>(client.stream).await.unwrap();
    let (pause, paused) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            _ = &mut connection => {}
            // Reads no more, and stays.
            _ = paused => std::future::pending().await,
        }
    });
    let mut send = send.ready().await.unwrap();
    let asked: Vec<_> = (0..64).map(|_| send.send_request(request("GET", "/"), true).unwrap().0).collect();
    let mut bodies = Vec::new();
    for response in asked {
        bodies.push(response.await.unwrap().into_body());
    }
    pause.send(()).unwrap();
    gate.add_permits(64);
    let ended = proxy.stats_until(|stats| stats.instances[0].in_flight == 0);
    tokio::time::timeout(Duration::from_secs(30), ended).await.expect("they may go on for ever");
}

#[tokio::test]
async fn a_reset_stream_frees_its_place_at_the_app_and_the_connection_serves_on() {
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
    let send = connect(&proxy).await;
    let (response, mut stream) = send.clone().send_request(request("GET", "/wait"), true).unwrap();
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    stream.send_reset(Reason::CANCEL);
    drop((response, stream));
    proxy.stats_until(|stats| stats.instances[0].in_flight == 0).await;
    assert_eq!(get(&send, "/").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn an_answer_before_the_end_of_an_upload_reaches_the_client_whole() {
    let app = App::new(|mut peer, _| async move {
        peer.head().await;
        peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig").await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut send = connect(&proxy).await;
    let (response, mut upload) = send.send_request(request("POST", "/"), false).unwrap();
    upload.send_data(vec![b'x'; 10_000].into(), false).unwrap();
    let mut response = response.await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(read(response.body_mut()).await.unwrap(), b"big");
    // And the rest of the upload is refused without blame.
    let reason = std::future::poll_fn(|cx| upload.poll_reset(cx)).await.unwrap();
    assert_eq!(reason, Reason::NO_ERROR);
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
    let send = connect(&proxy).await;
    let (response, _) = send.clone().send_request(request("GET", "/cut"), true).unwrap();
    // The reset may overtake the head.
    let error = match response.await {
        Ok(response) => read(&mut response.into_body()).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
    assert_eq!(get(&send, "/").await, (200, "full".to_owned()));
}

#[tokio::test]
async fn what_is_not_routed_or_not_valid_has_its_status() {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await;
    let proxy = Proxy::before(app.address).await;
    let send = connect(&proxy).await;
    let ask = async |request: Request<()>| {
        send.clone().send_request(request, true).unwrap().0.await.unwrap().status().as_u16()
    };
    let elsewhere = Request::builder().uri("https://other.localhost/").body(()).unwrap();
    assert_eq!(ask(elsewhere).await, 404);
    let mut two_hosts = request("GET", "/");
    two_hosts.headers_mut().insert("host", "other.localhost".parse().unwrap());
    assert_eq!(ask(two_hosts).await, 400);
    assert_eq!(ask(request("GET", &format!("/{}", "a".repeat(17_000)))).await, 414);
    // A HEAD response has Content-Length and no body.
    let (response, _) = send.clone().send_request(request("HEAD", "/"), true).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.headers()["content-length"], "5");
    assert!(response.body().is_end_stream());
}

#[tokio::test]
async fn a_connection_lives_as_long_as_a_stream_of_it_and_ends_when_it_idles() {
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
    // Long past every deadline of the connection, the stream still waits for its answer.
    let short = std::time::Duration::from_millis(100);
    let limits = fairlead_proxy::Limits { idle_timeout: short, handshake_timeout: 20 * short, ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let send = connect(&proxy).await;
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
async fn interim_responses_reach_the_client() {
    let app = App::new(|mut peer, _| async move {
        let head = peer.head().await.unwrap();
        assert!(head.contains("\r\nexpect: 100-continue\r\n"));
        peer.write("HTTP/1.1 100 Continue\r\n\r\n").await;
        peer.exactly(2).await;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let proxy = Proxy::before(app.address).await;
    let mut send = connect(&proxy).await;
    let mut ask = request("POST", "/");
    ask.headers_mut().insert("expect", "100-continue".parse().unwrap());
    ask.headers_mut().insert("content-length", "2".parse().unwrap());
    let (mut response, mut upload) = send.send_request(ask, false).unwrap();
    let interim = std::future::poll_fn(|cx| response.poll_informational(cx)).await.unwrap().unwrap();
    assert_eq!(interim.status(), 100);
    upload.send_data("hi".into(), true).unwrap();
    assert_eq!(response.await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_head_beyond_the_bound_is_answered_and_its_connection_serves_on() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut send = connect(&proxy).await;
    let with_fields = |count: usize, bytes: usize| {
        let mut ask = request("GET", "/");
        for number in 0..count {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            ask.headers_mut().append(name, "x".repeat(bytes).parse().unwrap());
        }
        ask
    };
    for (count, bytes) in [(11, 10_000), (1, 110_000), (90, 1200)] {
        let (response, _) = send.send_request(with_fields(count, bytes), true).unwrap();
        let (head, mut body) = response.await.unwrap().into_parts();
        assert_eq!(head.status, 431, "{count} fields of {bytes} bytes");
        // The body is whole, not cut by a reset.
        assert!(read(&mut body).await.is_ok());
    }
    assert_eq!(get(&send, "/").await.0, 200);
    // The proxy does not read without end: it ends the connection of a client that sends too much, by the code for it. The client
    // may hear of the end first, because it still writes.
    let (response, _) = send.send_request(with_fields(60, 40_000), true).unwrap();
    let error = response.await.unwrap_err();
    assert!(error.is_io() || error.reason() == Some(Reason::ENHANCE_YOUR_CALM), "{error:?}");
    // Others are served as before.
    assert_eq!(get(&connect(&proxy).await, "/").await.0, 200);
}
