//! Tests open loops and failures by kind against raw TCP servers: counts are exact.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, Campaign, CampaignRow, FailureKind, Failures, run_campaign};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Behaviour of the server for every third request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Answer(&'static [u8]),
    /// Part of a response, then a close.
    Part,
    Silence,
}

struct Server {
    address: SocketAddr,
    faults: Arc<AtomicU64>,
}

/// Starts a server that leaves the first `skip` requests alone: the first of each client is not measured.
async fn server(fault: Fault, skip: u64) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (requests, faults) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = faults.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, fault, skip, requests.clone(), counted.clone()));
        }
    });
    Server { address, faults }
}

async fn serve(mut stream: TcpStream, fault: Fault, skip: u64, requests: Arc<AtomicU64>, faults: Arc<AtomicU64>) {
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request).await {
        let number = requests.fetch_add(1, Ordering::Relaxed) + 1;
        let fails = fault != Fault::None && number > skip && number.is_multiple_of(3);
        faults.fetch_add(u64::from(fails), Ordering::Relaxed);
        let answer = match fault {
            Fault::Answer(answer) if fails => answer,
            Fault::Part if fails => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe",
            Fault::Silence if fails => continue,
            _ => OK,
        };
        let ended = stream.write_all(answer).await.is_err();
        if ended || (fails && fault == Fault::Part) {
            return;
        }
    }
}

/// Parses the plan, so that the file format is part of the tests.
fn plan(address: SocketAddr, fields: &str) -> Campaign {
    let contenders = format!(r#"[{{ "name": "server", "url": "http://{address}/" }}]"#);
    let text = format!(r#"{{ "contenders": {contenders}, "concurrency": [4], "duration_ms": 300, {fields} }}"#);
    serde_json::from_str(&text).unwrap()
}

async fn measured(plan: &Campaign) -> Result<CampaignRow, BenchError> {
    Ok(run_campaign(plan, CancellationToken::new(), |_| {}).await?.remove(0))
}

#[tokio::test]
async fn every_scheduled_request_is_counted_once() {
    let server = server(Fault::None, 0).await;
    let row = measured(&plan(server.address, r#""rate": 1000, "warmup_ms": 50"#)).await.unwrap();
    let open = row.open_loop.unwrap();
    // The schedule has a request every millisecond; one lies on each end of the window.
    assert!((299..=301).contains(&open.scheduled), "{open:?}");
    assert_eq!(row.requests + row.errors + open.unsent, open.scheduled);
    assert_eq!((row.errors, row.success_rate, row.failures), (0, Some(1.0), Failures::new()));
    assert_eq!(row.latency.buckets.iter().map(|(_, count)| count).sum::<u64>(), row.requests);
}

#[tokio::test]
async fn a_slow_response_counts_for_the_requests_that_it_delays() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while let Ok(1..) = stream.read(&mut request).await {
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    stream.write_all(OK).await.unwrap();
                }
            });
        }
    });
    // Four connections can carry at most 80 requests per second.
    let row = measured(&plan(address, r#""rate": 400"#)).await.unwrap();
    let open = row.open_loop.unwrap();
    assert_eq!(row.requests + row.errors + open.unsent, open.scheduled);
    assert!(open.unsent > 0 && open.waited_for_connection > 0 && open.all_busy_share > 0.0, "{open:?}");
    // The last requests waited for several others; a closed loop would see about 50 ms.
    assert!(row.max_us.unwrap() > 100_000, "{:?}", row.max_us);
}

#[tokio::test]
async fn failures_are_counted_exactly_by_kind() {
    let cases = [
        (Fault::Answer(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), FailureKind::Redirect),
        (Fault::Answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), FailureKind::ClientStatus),
        (Fault::Answer(b"HTTP/1.1 503 Oh\r\nContent-Length: 0\r\n\r\n"), FailureKind::ServerStatus),
        (Fault::Answer(b"SSH-2.0-OpenSSH\r\n\r\n"), FailureKind::Malformed),
        (Fault::Part, FailureKind::Closed),
        (Fault::Silence, FailureKind::Timeout),
    ];
    for (fault, kind) in cases {
        let server = server(fault, 4).await;
        let row = measured(&plan(server.address, r#""rate": 200, "request_timeout_ms": 1000"#)).await.unwrap();
        let injected = server.faults.load(Ordering::Relaxed);
        assert!(injected > 0, "{kind:?}");
        assert_eq!(row.failures, Failures::from([(kind, injected)]));
        assert_eq!(row.errors, injected);
        let share = row.requests as f64 / (row.requests + row.errors) as f64;
        assert_eq!(row.success_rate, Some(share));
    }
}

#[tokio::test]
async fn refused_connections_fail_their_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        // Serves the first response of each client and two more requests, then is gone.
        let mut served = Vec::new();
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().await.unwrap();
            served.push(tokio::spawn(async move {
                let mut request = [0; 4096];
                for _ in 0..2 {
                    assert!(stream.read(&mut request).await.unwrap() > 0);
                    stream.write_all(OK).await.unwrap();
                }
            }));
        }
        drop(listener);
    });
    let row = measured(&plan(address, r#""rate": 200"#)).await.unwrap();
    assert!(row.failures[&FailureKind::Connect] > 0, "{:?}", row.failures);
    let open = row.open_loop.unwrap();
    assert_eq!(row.requests + row.errors + open.unsent, open.scheduled);
}

#[tokio::test]
async fn an_unusable_rate_is_refused() {
    let address = "127.0.0.1:9".parse().unwrap();
    for fields in [r#""rate": 0"#, r#""rate": -3"#, r#""rate": 5, "mode": "fresh""#] {
        let error = measured(&plan(address, fields)).await.unwrap_err();
        assert!(matches!(error, BenchError::Plan(_)), "{fields}: {error}");
    }
}
