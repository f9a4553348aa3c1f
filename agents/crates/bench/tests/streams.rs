//! Tests open loops, timeouts and failures by kind over HTTP/2 and HTTP/3, against independent servers. Counts are exact.
#![cfg(test)]

#[path = "support/tls.rs"]
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fairlead_base::CancellationToken;
use fairlead_bench::{Campaign, CampaignRow, FailureKind, Failures, run_campaign};
use fairlead_tls::LocalAuthority;
use http::{Response, StatusCode};
use quinn::crypto::rustls::QuicServerConfig;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use tls::server_config;

const HOST: &str = "bench.localhost";
const CLIENTS: u64 = 20;

/// Behaviour of a server for every third request, after the first of each client.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Status,
    Reset,
    Silence,
    /// The end of the whole connection.
    Close,
}

#[derive(Debug)]
struct Faults {
    fault: Fault,
    skip: u64,
    requests: AtomicU64,
    injected: AtomicU64,
}

impl Faults {
    /// Returns the fault for the next request.
    fn next(&self) -> Fault {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.fault == Fault::None || number <= self.skip || !number.is_multiple_of(3) {
            return Fault::None;
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        self.fault
    }
}

async fn http2_server(authority: &LocalAuthority, faults: Arc<Faults>) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(authority, HOST, b"h2")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, faults) = (acceptor.clone(), faults.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                let mut silent = Vec::new();
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    let mut answer = Response::new(());
                    match faults.next() {
                        Fault::None => {}
                        Fault::Status => *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
                        Fault::Reset => {
                            respond.send_reset(h2::Reason::INTERNAL_ERROR);
                            continue;
                        }
                        Fault::Silence => {
                            silent.push(respond);
                            continue;
                        }
                        Fault::Close => return,
                    }
                    let Ok(mut body) = respond.send_response(answer, false) else { continue };
                    if body.send_data(Bytes::from_static(b"hello"), true).is_err() {
                        continue;
                    }
                }
            });
        }
    });
    address
}

fn http3_server(authority: &LocalAuthority, faults: Arc<Faults>) -> SocketAddr {
    let config = QuicServerConfig::try_from(server_config(authority, HOST, b"h3")).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(config));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve_http3(incoming, faults.clone()));
        }
    });
    address
}

async fn serve_http3(incoming: quinn::Incoming, faults: Arc<Faults>) {
    let Ok(quic) = incoming.await else { return };
    let connection = h3_quinn::Connection::new(quic.clone());
    let Ok(mut connection) = h3::server::Connection::<_, Bytes>::new(connection).await else { return };
    let mut silent = Vec::new();
    while let Ok(Some(request)) = connection.accept().await {
        let Ok((_, mut stream)) = request.resolve_request().await else { continue };
        let mut answer = Response::new(());
        match faults.next() {
            Fault::None => {}
            Fault::Status => *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
            Fault::Reset => {
                stream.stop_stream(h3::error::Code::H3_INTERNAL_ERROR);
                continue;
            }
            Fault::Silence => {
                silent.push(stream);
                continue;
            }
            Fault::Close => return quic.close(quinn::VarInt::from_u32(0x102), b""),
        }
        let answered = async {
            stream.send_response(answer).await?;
            stream.send_data(Bytes::from_static(b"hello")).await?;
            stream.finish().await
        };
        if answered.await.is_err() {
            continue;
        }
    }
}

/// Measures a server with a fault; returns the row and the number of injected faults.
async fn measured(protocol: &str, fault: Fault, clients: u64, fields: &str) -> (CampaignRow, u64) {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let faults =
        Arc::new(Faults { fault, skip: clients, requests: AtomicU64::default(), injected: AtomicU64::default() });
    let address = match protocol {
        "http2" => http2_server(&authority, faults.clone()).await,
        _ => http3_server(&authority, faults.clone()),
    };
    let contender = serde_json::json!({
        "name": "server",
        "url": format!("https://{HOST}/"),
        "connect": address.to_string(),
        "ca_file": authority.root_path(),
        "protocol": protocol,
    });
    let text = format!(r#"{{ "contenders": [{contender}], "concurrency": [{clients}], {fields} }}"#);
    let plan: Campaign = serde_json::from_str(&text).unwrap();
    let row = run_campaign(&plan, CancellationToken::new(), |_| {}).await.unwrap().remove(0);
    (row, faults.injected.load(Ordering::Relaxed))
}

#[tokio::test]
async fn an_open_loop_counts_every_scheduled_request_once() {
    for protocol in ["http2", "http3"] {
        let fields = r#""rate": 500, "duration_ms": 300, "warmup_ms": 20"#;
        let (row, _) = measured(protocol, Fault::None, CLIENTS, fields).await;
        let open = row.open_loop.unwrap();
        assert!((149..=151).contains(&open.scheduled), "{protocol}: {open:?}");
        assert_eq!(row.requests + row.errors + open.unsent, open.scheduled, "{protocol}");
        assert_eq!((row.errors, row.clients), (0, 20), "{protocol}: {:?}", row.failures);
    }
}

#[tokio::test]
async fn an_open_loop_counts_failures_exactly_by_kind() {
    let cases = [
        (Fault::Status, FailureKind::ServerStatus, CLIENTS),
        (Fault::Reset, FailureKind::Closed, CLIENTS),
        (Fault::Silence, FailureKind::Timeout, CLIENTS),
        // With one client no other request is in flight.
        (Fault::Close, FailureKind::Closed, 1),
    ];
    for protocol in ["http2", "http3"] {
        for (fault, kind, clients) in cases {
            let fields = r#""rate": 200, "duration_ms": 300, "request_timeout_ms": 1000"#;
            let (row, injected) = measured(protocol, fault, clients, fields).await;
            assert!(injected > 0, "{protocol} {fault:?}");
            assert_eq!(row.failures, Failures::from([(kind, injected)]), "{protocol} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_failed_stream_does_not_end_the_other_streams_of_a_closed_loop() {
    for protocol in ["http2", "http3"] {
        let cases = [(Fault::Reset, FailureKind::Closed, 30_000), (Fault::Silence, FailureKind::Timeout, 60)];
        for (fault, kind, timeout_ms) in cases {
            let fields = format!(r#""duration_ms": 300, "request_timeout_ms": {timeout_ms}"#);
            let (row, injected) = measured(protocol, fault, CLIENTS, &fields).await;
            assert_eq!(row.failures.keys().collect::<Vec<_>>(), [&kind], "{protocol} {fault:?}");
            // The loop begins before the measured time.
            assert!(row.errors <= injected && row.requests > 0, "{protocol} {fault:?}: {row:?}");
        }
    }
}
