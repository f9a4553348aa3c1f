//! gRPC calls through the proxy, as raw frames: trailers are forwarded, and errors of the proxy are sent as trailers.

use std::time::Duration;

use crate::support::app::App;
use crate::support::http2::{self, Http2App, Stream, connect, proxy_before, read, send_all, trailers};
use crate::support::{HOST, Proxy, quick, upstream};
use bytes::Bytes;
use fairlead_model::message::AppTraffic;
use fairlead_proxy::Limits;
use h2::Reason;
use http::{Request, Response};

fn call(path: &str) -> Request<()> {
    let call = Request::builder().method("POST").uri(format!("https://{HOST}{path}"));
    call.header("content-type", "application/grpc+proto").header("te", "trailers").body(()).unwrap()
}

/// A message with its prefix: not compressed, length, bytes.
fn message(text: &str) -> Bytes {
    let mut bytes = vec![0];
    bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
    bytes.extend(text.as_bytes());
    bytes.into()
}

fn grpc_response() -> Response<()> {
    Response::builder().header("content-type", "application/grpc+proto").body(()).unwrap()
}

/// A service with one method of each kind.
async fn service((request, mut respond): Stream) {
    assert_eq!(request.headers()["te"], "trailers");
    assert_eq!(request.headers()["content-type"], "application/grpc+proto");
    let path = request.uri().path().to_owned();
    let mut body = request.into_body();
    match path.as_str() {
        "/hello.Greeter/Unary" => {
            let asked = read(&mut body).await.unwrap();
            let mut send = respond.send_response(grpc_response(), false).unwrap();
            send_all(&mut send, asked.into(), false).await;
            send.send_trailers(trailers("grpc-status", "0")).unwrap();
        }
        // Each message is answered before the next one comes.
        "/hello.Greeter/Chat" => {
            let mut send = respond.send_response(grpc_response(), false).unwrap();
            while let Some(data) = body.data().await {
                let data = data.unwrap();
                body.flow_control().release_capacity(data.len()).unwrap();
                send_all(&mut send, data, false).await;
            }
            send.send_trailers(trailers("grpc-status", "0")).unwrap();
        }
        "/hello.Greeter/Denied" => {
            let mut response = grpc_response();
            response.headers_mut().extend(trailers("grpc-status", "7"));
            response.headers_mut().extend(trailers("grpc-message", "not%20you"));
            respond.send_response(response, true).unwrap();
        }
        "/hello.Greeter/Calm" => respond.send_reset(Reason::ENHANCE_YOUR_CALM),
        "/hello.Greeter/Break" => {
            let mut send = respond.send_response(grpc_response(), false).unwrap();
            send_all(&mut send, message("half"), false).await;
            body.data().await.unwrap().unwrap();
            send.send_reset(Reason::CANCEL);
        }
        _ => {
            // Never answers; ends with the stream.
            std::future::poll_fn(|cx| respond.poll_reset(cx)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_unary_call_has_its_status_in_trailers_and_large_messages_pass() {
    let app = Http2App::new(service).await;
    let proxy = proxy_before(app.address).await;
    let mut send = connect(&proxy).await;
    for size in [0, 10, 1_000_000] {
        let (response, mut upload) = send.send_request(call("/hello.Greeter/Unary"), false).unwrap();
        let asked = message(&"x".repeat(size));
        let sent = asked.clone();
        let sending = tokio::spawn(async move { send_all(&mut upload, sent, true).await });
        let response = response.await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/grpc+proto");
        let mut body = response.into_body();
        assert_eq!(read(&mut body).await.unwrap(), asked);
        assert_eq!(body.trailers().await.unwrap().unwrap()["grpc-status"], "0");
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn a_conversation_goes_message_by_message_and_nobody_is_slow_in_it() {
    let app = Http2App::new(service).await;
    // These timeouts would expire at once if a silent call counted as stalled.
    let limits = Limits {
        body_stall_timeout: Duration::from_millis(30),
        body_rate_interval: Duration::from_millis(30),
        ..quick()
    };
    let mut proxy = Proxy::bare(limits).await;
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_1", app.address)], AppTraffic::default());
    proxy.apply(snapshot).await.unwrap();
    let mut send = connect(&proxy).await;
    let (response, mut upload) = send.send_request(call("/hello.Greeter/Chat"), false).unwrap();
    let mut body = response.await.unwrap().into_body();
    for number in 0..20 {
        let said = message(&format!("message {number}"));
        send_all(&mut upload, said.clone(), false).await;
        let heard = body.data().await.unwrap().unwrap();
        body.flow_control().release_capacity(heard.len()).unwrap();
        assert_eq!(heard, said);
        if number == 10 {
            // Ticks of the proxy's clock pass in silence; its statistics come once a second.
            proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
        }
    }
    upload.send_data(Bytes::new(), true).unwrap();
    assert!(body.data().await.is_none());
    assert_eq!(body.trailers().await.unwrap().unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn a_call_to_an_app_of_http1_holds_its_connection_no_longer_than_another_request() {
    // It takes requests and never answers.
    let app = App::new(|mut peer, _| async move { while peer.fill().await {} }).await;
    let limits = Limits { body_stall_timeout: Duration::from_millis(30), ..quick() };
    let mut proxy = Proxy::with(limits, vec![upstream("ins_1", app.address)]).await;
    let mut send = connect(&proxy).await;
    let (response, upload) = send.send_request(call("/hello.Greeter/Chat"), false).unwrap();
    let response = response.await.unwrap();
    assert_ne!(response.headers()["grpc-status"], "0");
    proxy.stats_until(|stats| stats.instances[0].in_flight == 0).await;
    drop(upload);
}

#[tokio::test]
async fn an_error_without_a_message_stays_a_head_that_ends() {
    let app = Http2App::new(service).await;
    let proxy = proxy_before(app.address).await;
    let mut send = connect(&proxy).await;
    let (response, _) = send.send_request(call("/hello.Greeter/Denied"), true).unwrap();
    let response = response.await.unwrap();
    assert!(response.body().is_end_stream());
    assert_eq!(
        (&response.headers()["grpc-status"], &response.headers()["grpc-message"]),
        (&"7".parse().unwrap(), &"not%20you".parse().unwrap())
    );
    assert!(!response.headers().contains_key("content-length"));
}

#[tokio::test]
async fn a_reset_keeps_its_code_before_and_after_the_head() {
    let app = Http2App::new(service).await;
    let proxy = proxy_before(app.address).await;
    let mut send = connect(&proxy).await;
    let (response, _) = send.send_request(call("/hello.Greeter/Calm"), true).unwrap();
    assert_eq!(response.await.unwrap_err().reason(), Some(Reason::ENHANCE_YOUR_CALM));
    let (response, mut upload) = send.send_request(call("/hello.Greeter/Break"), false).unwrap();
    let mut body = response.await.unwrap().into_body();
    assert_eq!(body.data().await.unwrap().unwrap(), message("half"));
    upload.send_data(message("now"), false).unwrap();
    assert_eq!(body.data().await.unwrap().unwrap_err().reason(), Some(Reason::CANCEL));
}

#[tokio::test]
async fn what_the_proxy_has_to_say_of_a_call_is_a_status_of_grpc() {
    let app = Http2App::new(service).await;
    let mut proxy = Proxy::bare(quick()).await;
    let slow = AppTraffic { response_timeout_ms: 50, ..AppTraffic::default() };
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_1", app.address)], slow);
    proxy.apply(snapshot).await.unwrap();
    let mut send = connect(&proxy).await;
    let mut status_of = async |path: &str, host: &str| {
        let mut ask = call(path);
        *ask.uri_mut() = format!("https://{host}{path}").parse().unwrap();
        let (response, _) = send.send_request(ask, true).unwrap();
        let response = response.await.unwrap();
        assert_eq!((response.status().as_u16(), response.body().is_end_stream()), (200, true));
        assert_eq!(response.headers()["content-type"], "application/grpc");
        response.headers()["grpc-status"].to_str().unwrap().to_owned()
    };
    assert_eq!(status_of("/hello.Greeter/Never", HOST).await, "4");
    assert_eq!(status_of("/hello.Greeter/Unary", "nobody.localhost").await, "12");
    drop(app);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_2", nobody)], AppTraffic::default());
    proxy.apply(snapshot).await.unwrap();
    assert_eq!(status_of("/hello.Greeter/Unary", HOST).await, "14");
}

#[tokio::test]
async fn the_same_is_said_over_http_3() {
    let app = Http2App::new(service).await;
    let mut proxy = Proxy::bare(quick()).await;
    let slow = AppTraffic { response_timeout_ms: 50, ..AppTraffic::default() };
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_1", app.address)], slow);
    proxy.apply(snapshot).await.unwrap();
    let client = crate::quic::connect(&proxy).await;
    let ask = async |path: &str, host: &str| {
        let mut ask = call(path);
        *ask.uri_mut() = format!("https://{host}{path}").parse().unwrap();
        crate::quic::ask(&client.send, ask).await
    };
    for (path, host, status) in [
        ("/hello.Greeter/Never", HOST, "4"),
        ("/hello.Greeter/Unary", "nobody.localhost", "12"),
        ("/hello.Greeter/Denied", HOST, "7"),
    ] {
        let (response, body) = ask(path, host).await.unwrap();
        assert_eq!((response.status().as_u16(), body.len()), (200, 0));
        assert!(!response.headers().contains_key("content-length"));
        assert_eq!(response.headers()["grpc-status"], status, "{path}");
    }
    let reset = ask("/hello.Greeter/Calm", HOST).await.unwrap_err();
    let h3::error::StreamError::RemoteTerminate { code, .. } = reset else { panic!("{reset}") };
    assert_eq!(code, h3::error::Code::H3_EXCESSIVE_LOAD);
    // A whole call, with its status in trailers.
    let mut stream = client.send.clone().send_request(call("/hello.Greeter/Unary")).await.unwrap();
    stream.send_data(message("over QUIC")).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    assert_eq!(crate::quic::read(&mut stream).await.unwrap(), message("over QUIC"));
    assert_eq!(stream.recv_trailers().await.unwrap().unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn a_call_may_take_as_long_as_its_caller_says_it_waits() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let opened = std::sync::Arc::clone(&gate);
    let app = Http2App::new(move |(_, mut respond): Stream| {
        let gate = std::sync::Arc::clone(&opened);
        async move {
            gate.acquire().await.unwrap().forget();
            let mut response = grpc_response();
            response.headers_mut().extend(trailers("grpc-status", "0"));
            // One that was given up is gone.
            drop(respond.send_response(response, true));
        }
    })
    .await;
    let mut proxy = Proxy::bare(quick()).await;
    let slow = AppTraffic { response_timeout_ms: 50, ..AppTraffic::default() };
    let snapshot = http2::snapshot(&proxy, vec![upstream("ins_1", app.address)], slow);
    proxy.apply(snapshot).await.unwrap();
    let mut send = connect(&proxy).await;
    let mut begin = |timeout: &'static str| {
        let mut ask = call("/hello.Greeter/Slow");
        ask.headers_mut().extend(trailers("grpc-timeout", timeout));
        send.send_request(ask, true).unwrap().0
    };
    let (patient, hasty) = (begin("1M"), begin("1m"));
    // When the hasty one is given up by the app's own bound, the patient one would be too.
    assert_eq!(hasty.await.unwrap().headers()["grpc-status"], "4");
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    gate.add_permits(2);
    assert_eq!(patient.await.unwrap().headers()["grpc-status"], "0");
}

#[tokio::test]
async fn a_call_that_its_caller_cancels_is_cancelled_at_the_app() {
    let (told, mut cancelled) = tokio::sync::mpsc::unbounded_channel();
    let app = Http2App::new(move |(_request, mut respond): Stream| {
        let told = told.clone();
        async move {
            let reason = std::future::poll_fn(|cx| respond.poll_reset(cx)).await.unwrap();
            told.send(reason).unwrap();
        }
    })
    .await;
    let mut proxy = proxy_before(app.address).await;
    let mut send = connect(&proxy).await;
    let (response, mut upload) = send.send_request(call("/hello.Greeter/Watch"), false).unwrap();
    proxy.stats_until(|stats| stats.instances[0].in_flight == 1).await;
    upload.send_reset(Reason::CANCEL);
    drop(response);
    assert_eq!(cancelled.recv().await, Some(Reason::CANCEL));
}
