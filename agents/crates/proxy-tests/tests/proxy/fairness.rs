//! Fairness on one core between bulk and small requests: a small request waits for a bounded amount of bulk data.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::RoutePolicy;
use prost::Message;

/// Bulk between a small request and its answer: what a core moves in dozens of turns, and far less than it once moved while one
/// transfer had it alone. Most of it is what a busy machine moves before the client runs again.
const BULK_BYTES_MAX: u64 = 32 << 20;
/// Bulk that moves before the first small request.
const BEGUN_BYTES: u64 = 1 << 20;
const QUESTIONS: usize = 5;
const PIECE_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bulk {
    Download,
    Upload,
    /// Download that the core compresses.
    Compressed,
}

fn head(stream: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// App with endless bulk; counts its bytes.
fn app(moved: &Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, moved) = (listener.local_addr().unwrap(), Arc::clone(moved));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, moved) = (stream.unwrap(), Arc::clone(&moved));
            std::thread::spawn(move || serve(stream, &moved));
        }
    });
    address
}

fn serve(mut stream: TcpStream, moved: &AtomicU64) {
    while let Some(head) = head(&mut stream) {
        let mut piece = b"a line of a page that goes on\n".repeat(PIECE_BYTES / 30);
        if head.starts_with("GET /small ") {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            continue;
        }
        if head.starts_with("GET ") {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000000000\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            // Ends with the client.
            while stream.write_all(&piece).is_ok() {
                moved.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
        }
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            moved.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Client that moves bytes until its connection ends.
fn move_bulk(bulk: Bulk, mut stream: TcpStream) {
    let coding = if bulk == Bulk::Compressed { "Accept-Encoding: br\r\n" } else { "" };
    let (method, length) =
        if bulk == Bulk::Upload { ("POST", "Content-Length: 1000000000000\r\n") } else { ("GET", "") };
    stream.write_all(format!("{method} /bulk HTTP/1.1\r\nHost: {HOST}\r\n{length}{coding}\r\n").as_bytes()).unwrap();
    let mut piece = vec![0; PIECE_BYTES];
    match bulk {
        Bulk::Upload => while stream.write_all(&piece).is_ok() {},
        Bulk::Download | Bulk::Compressed => while let Ok(1..) = stream.read(&mut piece) {},
    }
}

/// Returns the bytes of bulk that pass while a small request is answered.
fn ask(stream: &mut TcpStream, moved: &AtomicU64) -> u64 {
    let before = moved.load(Ordering::Relaxed);
    stream.write_all(format!("GET /small HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes()).unwrap();
    assert!(head(stream).unwrap().starts_with("HTTP/1.1 200 "));
    stream.read_exact(&mut [0; 2]).unwrap();
    moved.load(Ordering::Relaxed) - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_bulk_without_end_a_small_request_waits_for_a_bounded_part_of_it() {
    for (bulk, clients) in [(Bulk::Download, 1), (Bulk::Download, 8), (Bulk::Upload, 8), (Bulk::Compressed, 8)] {
        let moved: Arc<AtomicU64> = Arc::default();
        let mut proxy = Proxy::on_cores(1, quick()).await;
        let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app(&moved))]);
        let policy = RoutePolicy { serve_plain_http: true, compress: true, ..RoutePolicy::default() };
        snapshot.routes[0].policy = policy.encode_to_vec();
        proxy.apply(snapshot).await.unwrap();
        let http = proxy.http;
        for _ in 0..clients {
            std::thread::spawn(move || move_bulk(bulk, TcpStream::connect(http).unwrap()));
        }
        let counted = Arc::clone(&moved);
        let passed = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(http).unwrap();
            while counted.load(Ordering::Relaxed) < BEGUN_BYTES {
                std::thread::yield_now();
            }
            let mut passed: Vec<u64> = (0..QUESTIONS).map(|_| ask(&mut stream, &counted)).collect();
            passed.sort_unstable();
            passed
        })
        .await
        .unwrap();
        // The control: bulk moved all the time.
        let now = moved.load(Ordering::Relaxed);
        while moved.load(Ordering::Relaxed) == now {
            tokio::task::yield_now().await;
        }
        let median = passed[QUESTIONS / 2];
        assert!(median <= BULK_BYTES_MAX, "{clients} of {bulk:?}: {median} bytes passed, {passed:?}");
        proxy.end().await;
    }
}
