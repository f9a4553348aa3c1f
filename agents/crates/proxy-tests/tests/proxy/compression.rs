//! Compression through the proxy: negotiation, unchanged responses, and streaming without delay.

use std::io::Read;

use crate::support::app::App;
use crate::support::client::{self, Client, Response};
use crate::support::http2::{self, Http2App, connect, request, send_all};
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::RoutePolicy;
use fairlead_wire::local::ProxySnapshot;
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};

fn compressing(mut snapshot: ProxySnapshot) -> ProxySnapshot {
    snapshot.routes[0].policy = RoutePolicy { compress: true, ..RoutePolicy::default() }.encode_to_vec();
    snapshot
}

async fn proxy_before(app: std::net::SocketAddr) -> Proxy {
    let mut proxy = Proxy::bare(quick()).await;
    let snapshot = compressing(proxy.snapshot(vec![upstream("ins_1", app)]));
    proxy.apply(snapshot).await.unwrap();
    proxy
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin>(client: &mut Client<S>, path: &str, accept: &str) -> Response {
    client.ask(&format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Encoding: {accept}\r\n\r\n")).await
}

fn decoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let read = match coding {
        "gzip" => flate2::read::GzDecoder::new(bytes).read_to_end(&mut text),
        "zstd" => zstd::stream::read::Decoder::new(bytes).unwrap().read_to_end(&mut text),
        "br" => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut text),
        _ => panic!("{coding}"),
    };
    read.unwrap();
    text
}

fn page() -> String {
    (0..20_000).map(|line| format!("line {} of the page\n", line % 300)).collect()
}

/// Answers with the page; the path says what is special about it.
async fn app() -> App {
    App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let (page, html) = (page(), "Content-Type: text/html\r\n");
            let path = request.head.split(' ').nth(1).unwrap();
            let special = match path {
                "/strong" => "ETag: \"abc\"\r\nAccept-Ranges: bytes\r\nVary: Origin\r\n",
                "/weak" => "ETag: W/\"abc\"\r\nVary: Accept-Encoding\r\n",
                "/encoded" => "Content-Encoding: br\r\n",
                "/fixed" => "Cache-Control: no-transform\r\n",
                _ => "",
            };
            match path {
                "/image" => peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n{page}", page.len())).await,
                "/short" => peer.write(&format!("HTTP/1.1 200 OK\r\n{html}Content-Length: 5\r\n\r\nshort")).await,
                "/part" => peer.write(&format!("HTTP/1.1 206 Partial Content\r\n{html}Content-Range: bytes 0-{}/99999999\r\nContent-Length: {}\r\n\r\n{page}", page.len() - 1, page.len())).await,
                "/head" => peer.write(&format!("HTTP/1.1 200 OK\r\n{html}Content-Length: 9999\r\n\r\n")).await,
                "/trailers" => peer.write(&format!("HTTP/1.1 200 OK\r\n{html}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{page}\r\n0\r\nX-Sum: 9\r\n\r\n", page.len())).await,
                _ => peer.write(&format!("HTTP/1.1 200 OK\r\n{html}{special}Content-Length: {}\r\n\r\n{page}", page.len())).await,
            }
        }
    })
    .await
}

#[tokio::test]
async fn each_coding_arrives_whole_and_smaller_and_the_connection_stays_in_step() {
    let app = app().await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for (accept, coding) in
        [("gzip, deflate, br, zstd", "zstd"), ("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0.1, gzip", "gzip")]
    {
        let response = ask(&mut client, "/", accept).await;
        assert_eq!(response.header("content-encoding"), Some(coding));
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        assert_eq!(response.header("content-length"), None);
        assert!(response.body.len() < page().len() / 10, "{coding} {}", response.body.len());
        assert!(decoded(coding, &response.body) == page().as_bytes(), "{coding}");
    }
    let response = ask(&mut client, "/trailers", "gzip").await;
    assert!(decoded("gzip", &response.body) == page().as_bytes());
    assert!(response.trailers.contains("9"), "{}", response.trailers);
}

#[tokio::test]
async fn fields_that_stand_for_the_bytes_are_changed_with_them() {
    let app = app().await;
    let proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    let response = ask(&mut client, "/strong", "gzip").await;
    assert_eq!((response.header("etag"), response.header("accept-ranges")), (Some("W/\"abc\""), None));
    assert!(
        response.head.contains("\r\nVary: Origin\r\nvary: accept-encoding\r\n")
            || response.head.contains("vary: accept-encoding"),
        "{}",
        response.head
    );
    let response = ask(&mut client, "/weak", "gzip").await;
    assert_eq!(response.header("etag"), Some("W/\"abc\""));
    assert_eq!(response.head.to_lowercase().matches("vary:").count(), 1);
    // To a client that takes none the bytes are the app's, and caches are told that it depends.
    let response = ask(&mut client, "/strong", "identity").await;
    assert_eq!((response.header("etag"), response.header("accept-ranges")), (Some("\"abc\""), Some("bytes")));
    assert_eq!(response.header("content-length"), Some(page().len().to_string().as_str()));
    assert!(response.head.contains("\r\nvary: accept-encoding\r\n"), "{}", response.head);
}

#[tokio::test]
async fn what_compression_does_not_help_is_left_alone() {
    let app = app().await;
    let mut proxy = proxy_before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for path in ["/image", "/short", "/part", "/fixed"] {
        let response = ask(&mut client, path, "gzip, br, zstd").await;
        assert_eq!((response.header("content-encoding"), response.header("vary")), (None, None), "{path}");
        assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()), "{path}");
    }
    assert_eq!(ask(&mut client, "/encoded", "gzip").await.header("content-encoding"), Some("br"));
    let head = format!("HEAD /head HTTP/1.1\r\nHost: {HOST}\r\nAccept-Encoding: gzip\r\n\r\n");
    let response = client.ask(&head).await;
    assert_eq!((response.header("content-encoding"), response.header("content-length")), (None, Some("9999")));
    // And nothing is where the route does not say so.
    proxy.route(vec![upstream("ins_1", app.address)]).await;
    assert_eq!(ask(&mut client, "/", "gzip").await.header("content-encoding"), None);
}

/// Decodes `bytes` as far as possible.
fn so_far(bytes: &[u8]) -> Vec<u8> {
    let (mut decoder, mut text) = (flate2::write::GzDecoder::new(Vec::new()), Vec::new());
    std::io::Write::write_all(&mut decoder, bytes).unwrap();
    std::io::Write::flush(&mut decoder).unwrap();
    text.append(decoder.get_mut());
    text
}

#[tokio::test]
async fn events_come_one_by_one_whatever_carries_them_and_also_compressed() {
    for is_http2_app in [false, true] {
        let (next, events) = tokio::sync::watch::channel(0);
        let text = |number: usize| format!("data: event {number}\n\n");
        let address = if is_http2_app {
            let events = events.clone();
            let app = Http2App::new(move |(_, mut respond)| {
                let mut events = events.clone();
                async move {
                    let head = http::Response::builder().header("content-type", "text/event-stream");
                    let mut send = respond.send_response(head.body(()).unwrap(), false).unwrap();
                    for number in 1..=3 {
                        events.wait_for(|next| *next >= number).await.unwrap();
                        send_all(&mut send, text(number).into(), number == 3).await;
                    }
                }
            });
            app.await.address
        } else {
            let events = events.clone();
            let app = App::new(move |mut peer, _| {
                let mut events = events.clone();
                async move {
                    peer.request().await;
                    peer.write(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
                    )
                    .await;
                    for number in 1..=3 {
                        events.wait_for(|next| *next >= number).await.unwrap();
                        peer.write(&format!("{:x}\r\n{}\r\n", text(number).len(), text(number))).await;
                    }
                    peer.write("0\r\n\r\n").await;
                    peer.request().await;
                }
            });
            app.await.address
        };
        let mut proxy = Proxy::bare(quick()).await;
        let upstreams = vec![upstream("ins_1", address)];
        let snapshot = if is_http2_app {
            http2::snapshot(&proxy, upstreams, Default::default())
        } else {
            proxy.snapshot(upstreams)
        };
        proxy.apply(compressing(snapshot)).await.unwrap();
        for accept in ["identity", "gzip"] {
            next.send_replace(0);
            let mut send = connect(&proxy).await;
            let mut ask = request("GET", "/events");
            ask.headers_mut().insert("accept-encoding", accept.parse().unwrap());
            let (response, _) = send.send_request(ask, true).unwrap();
            let response = response.await.unwrap();
            assert_eq!(response.headers().get("content-encoding").is_some(), accept == "gzip");
            let (mut body, mut bytes, mut expected) = (response.into_body(), Vec::new(), String::new());
            for number in 1..=3 {
                // The next event exists only after this one has arrived.
                next.send_replace(number);
                expected.push_str(&text(number));
                let decode = |bytes: &[u8]| if accept == "gzip" { so_far(bytes) } else { bytes.to_vec() };
                while decode(&bytes) != expected.as_bytes() {
                    let data = body.data().await.unwrap().unwrap();
                    body.flow_control().release_capacity(data.len()).unwrap();
                    bytes.extend_from_slice(&data);
                }
            }
        }
    }
}
