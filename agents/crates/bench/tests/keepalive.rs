//! Tests the closed loop on keep-alive connections against raw TCP servers: every kind of failure, large bodies, and a reconnect.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairlead_base::CancellationToken;
use fairlead_bench::{Campaign, CampaignRow, FailureKind, run_campaign};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CLIENTS: u64 = 4;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Behaviour of the server for every third request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Answer(&'static [u8]),
    /// A response in two parts, then a close.
    Closing,
    /// Part of a response, then a close.
    Part,
    Silence,
}

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    faults: AtomicU64,
    connections: AtomicU64,
}

/// Starts a server that leaves the first request of each client alone.
async fn server(fault: Fault) -> (SocketAddr, Arc<Counts>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, counts) = (listener.local_addr().unwrap(), Arc::new(Counts::default()));
    let shared = counts.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            shared.connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(stream, fault, shared.clone()));
        }
    });
    (address, counts)
}

async fn serve(mut stream: TcpStream, fault: Fault, counts: Arc<Counts>) {
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request).await {
        let number = counts.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if number <= CLIENTS || !number.is_multiple_of(3) {
            if stream.write_all(OK).await.is_err() {
                return;
            }
            continue;
        }
        counts.faults.fetch_add(1, Ordering::Relaxed);
        let parts: [&[u8]; 2] = match fault {
            Fault::Answer(answer) => [answer, b""],
            Fault::Closing => [b"HTTP/1.1 200 OK\r\nConnection: cl", b"ose\r\nContent-Length: 5\r\n\r\nhello"],
            Fault::Part => [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", b""],
            Fault::Silence => continue,
        };
        for part in parts {
            if stream.write_all(part).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if matches!(fault, Fault::Closing | Fault::Part) {
            return;
        }
    }
}

/// Parses the plan, so that the file format is part of the tests.
async fn measured(address: SocketAddr, fields: &str) -> CampaignRow {
    let contenders = format!(r#"[{{ "name": "server", "url": "http://{address}/" }}]"#);
    let text = format!(r#"{{ "contenders": {contenders}, "concurrency": [{CLIENTS}], {fields} }}"#);
    let plan: Campaign = serde_json::from_str(&text).unwrap();
    run_campaign(&plan, CancellationToken::new(), |_| {}).await.unwrap().remove(0)
}

#[tokio::test]
async fn failures_have_their_kind_and_the_other_clients_go_on() {
    let cases = [
        (Fault::Answer(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), FailureKind::Redirect),
        (Fault::Answer(b"HTTP/1.1 503 Oh\r\nContent-Length: 0\r\n\r\n"), FailureKind::ServerStatus),
        (Fault::Answer(b"SSH-2.0-OpenSSH\r\n\r\n"), FailureKind::Malformed),
        (Fault::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello"), FailureKind::Malformed),
        (Fault::Part, FailureKind::Closed),
        (Fault::Silence, FailureKind::Timeout),
    ];
    for (fault, kind) in cases {
        let (address, counts) = server(fault).await;
        let timeout_ms = if fault == Fault::Silence { 60 } else { 30_000 };
        let row = measured(address, &format!(r#""duration_ms": 300, "request_timeout_ms": {timeout_ms}"#)).await;
        let injected = counts.faults.load(Ordering::Relaxed);
        assert_eq!(row.failures.keys().collect::<Vec<_>>(), [&kind], "{fault:?}");
        // Only the last request of each client may end after the measured time.
        assert!(row.errors > 0 && row.errors <= injected && injected <= row.errors + CLIENTS, "{fault:?}: {row:?}");
        assert!(row.requests > 0, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_announces_a_close_gets_a_new_connection_and_no_request_fails() {
    let (address, counts) = server(Fault::Closing).await;
    let row = measured(address, r#""duration_ms": 200"#).await;
    assert_eq!(row.errors, 0, "{:?}", row.failures);
    let closed = counts.faults.load(Ordering::Relaxed);
    let connections = counts.connections.load(Ordering::Relaxed);
    assert!(closed > 0 && (closed..=closed + CLIENTS).contains(&connections), "{counts:?}");
}

#[tokio::test]
async fn a_body_larger_than_every_buffer_is_counted_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    const BODY_BYTES: usize = 300_000;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n493e0\r\n".to_vec();
                answer.resize(answer.len() + BODY_BYTES, b'x');
                answer.extend_from_slice(b"\r\n0\r\n\r\n");
                let mut request = [0; 4096];
                while let Ok(1..) = stream.read(&mut request).await {
                    if stream.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let row = measured(address, r#""duration_ms": 200"#).await;
    assert!(row.requests > 0);
    assert_eq!((row.errors, row.latency.buckets.iter().map(|(_, count)| count).sum()), (0, row.requests));
}
