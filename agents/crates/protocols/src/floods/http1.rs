//! Floods over HTTP/1.1 and TLS.

use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{FloodContext, flood};
use crate::case::count;
use crate::frames::STALL;
use crate::support::HOST;
use crate::support::client::{Client, get};

pub fn trials() -> Vec<Trial> {
    vec![
        flood("pipeline-nobody-reads", 4, unread_pipeline),
        flood("responses-nobody-reads", 40, unread_responses),
        flood("slowloris", stalled_mib(), slowloris),
        flood("head-without-end", 4, head_without_end),
        flood("fields-without-end", 4, fields_without_end),
        flood("chunks-of-one-byte", 4, chunks_of_one_byte),
        flood("extensions-without-end", 4, extensions_without_end),
        flood("trailers-without-end", 4, trailers_without_end),
        flood("handshakes-that-stall", stalled_mib(), handshakes_that_stall),
        flood("records-of-one-byte", 4, records_of_one_byte),
        flood("refused-requests", 4, refused_requests),
    ]
}

/// Returns the number of stalled connections.
fn stalled() -> usize {
    count(300, 3)
}

/// Returns the memory that they may take, in MiB: each has the beginning of a head or a handshake, plus what all share.
fn stalled_mib() -> u64 {
    4 + (stalled() as u64 * 12).div_ceil(1024)
}

async fn unread_pipeline(context: FloodContext) {
    let mut stream = context.endpoint.open("http/1.1").await;
    let requests = get("/large").repeat(2000);
    for _ in 0..count(100, 20) {
        if !matches!(timeout(STALL, stream.write_all(requests.as_bytes())).await, Ok(Ok(()))) {
            return;
        }
    }
    panic!("nothing held the flood back");
}

async fn unread_responses(context: FloodContext) {
    let mut clients = Vec::new();
    for _ in 0..count(60, 5) {
        let mut client = Client::new(context.endpoint.open("http/1.1").await);
        client.send(&get("/large")).await;
        clients.push(client);
    }
    for client in &mut clients {
        assert_eq!(client.head().await.unwrap().0, 200);
    }
}

async fn slowloris(context: FloodContext) {
    let mut clients = Vec::new();
    for _ in 0..stalled() {
        let mut stream = context.endpoint.open("http/1.1").await;
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n").as_bytes()).await.unwrap();
        clients.push(stream);
    }
    for number in 0..10 {
        for stream in &mut clients {
            stream.write_all(format!("X-{number}: y\r\n").as_bytes()).await.unwrap();
        }
    }
}

/// Sends `piece` after `start` until the proxy responds and closes the connection; returns the status.
async fn until_refused(context: &FloodContext, start: &str, piece: &[u8], most: usize) -> u16 {
    let mut client = Client::new(context.endpoint.open("http/1.1").await);
    client.send(start).await;
    let (reader, mut writer) = tokio::io::split(client.stream);
    let piece = piece.to_vec();
    let sending = tokio::spawn(async move {
        for _ in 0..most {
            if writer.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
    let mut client = Client::new(tokio::io::join(reader, tokio::io::sink()));
    let status = client.head().await.expect("ended without a word").0;
    while client.fill().await {}
    sending.await.unwrap();
    status
}

async fn head_without_end(context: FloodContext) {
    for _ in 0..count(10, 10) {
        let start = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX: ");
        assert_eq!(until_refused(&context, &start, &[b'a'; 16_384], 1000).await, 431);
    }
}

async fn fields_without_end(context: FloodContext) {
    for _ in 0..count(10, 10) {
        let start = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n");
        assert_eq!(until_refused(&context, &start, &b"a:b\r\n".repeat(1000), 1000).await, 431);
    }
}

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: hello.localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

async fn chunks_of_one_byte(context: FloodContext) {
    let mut client = Client::new(context.endpoint.open("http/1.1").await);
    client.send(&CHUNKED.replace(" / ", " /held ")).await;
    let chunks = b"1\r\nx\r\n".repeat(2000);
    for _ in 0..count(100, 20) {
        if !matches!(timeout(STALL, client.stream.write_all(&chunks)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn extensions_without_end(context: FloodContext) {
    let start = format!("{}1;", CHUNKED.replace(" / ", " /held "));
    assert_eq!(until_refused(&context, &start, &[b'a'; 16_384], 1000).await, 400);
    // Small extensions add up.
    let start = CHUNKED.replace(" / ", " /held ");
    assert_eq!(until_refused(&context, &start, &b"1;abcdefgh\r\nx\r\n".repeat(1000), 1000).await, 400);
}

async fn trailers_without_end(context: FloodContext) {
    let start = format!("{}0\r\n", CHUNKED.replace(" / ", " /held "));
    assert_eq!(until_refused(&context, &start, &b"a: b\r\n".repeat(1000), 1000).await, 400);
}

async fn handshakes_that_stall(context: FloodContext) {
    let mut streams = Vec::new();
    for number in 0..stalled() {
        let mut stream = context.endpoint.connect().await.unwrap();
        // Sends nothing, or the beginning of a ClientHello of 16 KiB.
        if number % 2 == 0 {
            stream.write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3]).await.unwrap();
            stream.write_all(&[7; 8000]).await.unwrap();
        }
        streams.push(stream);
    }
}

async fn records_of_one_byte(context: FloodContext) {
    let mut client = Client::new(context.endpoint.open("http/1.1").await);
    let request = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1000000\r\n\r\n");
    client.send(&request.replace(" / ", " /held ")).await;
    for _ in 0..count(20_000, 10) {
        if client.stream.write_all(b"x").await.is_err() || client.stream.flush().await.is_err() {
            return;
        }
    }
}

async fn refused_requests(context: FloodContext) {
    for _ in 0..count(200, 20) {
        let mut stream = context.endpoint.open("http/1.1").await;
        stream.write_all(b"GET / HTTP/1.1\nHost: x\n\n").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 400 "));
    }
}
