//! The request-smuggling corpus over real sockets: each is refused with its status, the connection ends, the app sees nothing.
#![cfg(test)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::app::App;
use support::client::{self, get};
use support::{HOST, Proxy};

/// (status, what is sent; `@` stands for the usual host).
const CORPUS: &[(u16, &str)] = &[
    // Two lengths.
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5, 5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: +5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: -5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 0x5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5 5\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length:\r\n\r\nhello"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 99999999999999999999\r\n\r\nhello"),
    // Codings that another parser may take for chunked, or not.
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.0\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    // Lines that end, fold or break where another parser does not think so.
    (400, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\r\nHost: @\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.1\nHost: @\nContent-Length: 0\n\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\nX: a\0b\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\n\0: a\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\nX(y): a\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\nno colon\r\n\r\n"),
    // Hosts.
    (400, "GET / HTTP/1.1\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\nHost: @\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @\r\nHost: other.localhost\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: @, other\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: x/@\r\n\r\n"),
    (400, "GET http://other.localhost/ HTTP/1.1\r\nHost: @\r\n\r\n"),
    (400, "GET http://@:80/ HTTP/1.1\r\nHost: @\r\n\r\n"),
    // Targets and versions.
    (400, "GET  / HTTP/1.1\r\nHost: @\r\n\r\n"),
    (400, "GET /a b HTTP/1.1\r\nHost: @\r\n\r\n"),
    (400, "GET /a#b HTTP/1.1\r\nHost: @\r\n\r\n"),
    (400, "GET a HTTP/1.1\r\nHost: @\r\n\r\n"),
    (400, "GET * HTTP/1.1\r\nHost: @\r\n\r\n"),
    (405, "CONNECT @:443 HTTP/1.1\r\nHost: @:443\r\n\r\n"),
    (505, "GET / HTTP/2.0\r\nHost: @\r\n\r\n"),
    (505, "GET / HTTP/1.7\r\nHost: @\r\n\r\n"),
    (417, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\nExpect: something\r\n\r\nx"),
    // Chunks. The head is good, so the app may see it, but never the end of the request.
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloGET / HTTP/1.1\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello\r\n"),
    (400, "POST /chunks HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n"),
];

#[tokio::test]
async fn what_parsers_may_read_differently_is_refused_and_ends_its_connection() {
    let whole_requests = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&whole_requests);
    let app = App::new(move |mut peer, _| {
        let seen = Arc::clone(&seen);
        async move {
            // Counts requests that end; `request` panics this task on a cut body, which is what a broken one should be.
            while peer.request().await.is_some() {
                seen.fetch_add(1, Ordering::SeqCst);
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    for (status, request) in CORPUS {
        let mut client = client::tls(&proxy).await;
        // A second request behind it must never be answered: that would be the smuggled one.
        client.send(&(request.replace('@', HOST) + &get("/smuggled"))).await;
        let response = client.response(false).await.unwrap_or_else(|| panic!("no answer to {request:?}"));
        assert_eq!(response.status, *status, "{request:?}: {}", response.text());
        assert_eq!(response.header("connection"), Some("close"), "{request:?}");
        assert!(client.at_end().await, "{request:?}");
    }
    assert_eq!(whole_requests.load(Ordering::SeqCst), 0);
    let heads = CORPUS.iter().filter(|(_, request)| !request.contains("/chunks")).count() as u64;
    proxy.stats_until(|stats| stats.malformed_requests == heads).await;
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 200);
}

#[tokio::test]
async fn heads_beyond_their_bounds_have_their_own_status() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let long = "a".repeat(20_000);
    for (status, request) in [
        (414, format!("GET /{long} HTTP/1.1\r\nHost: {HOST}\r\n\r\n")),
        (431, format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX: {}\r\n\r\n", long.repeat(4))),
        (431, format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{}\r\n", "X: y\r\n".repeat(100))),
    ] {
        let mut client = client::tls(&proxy).await;
        client.send(&request).await;
        assert_eq!(client.response(false).await.unwrap().status, status);
        assert!(client.at_end().await);
    }
    assert_eq!(app.connections(), 0);
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_whole_all_the_same() {
    let app = App::echo().await;
    let proxy = Proxy::before(app.address).await;
    let mut client = client::tls(&proxy).await;
    for byte in get("/slow").as_bytes() {
        client.send_bytes(&[*byte]).await;
    }
    assert!(client.response(false).await.unwrap().text().starts_with("GET /slow "));
}
