//! Tests the requests of a plan on real servers of each HTTP version: method, path, header, body and share of each request,
//! think time and stages.
#![cfg(test)]

mod support;
#[path = "support/tls.rs"]
mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, Bytes};
use fairlead_base::CancellationToken;
use fairlead_bench::{MeasurementTurns, ProxyTarget, Targets, run_plan};
use fairlead_model::{
    BenchmarkPhase, BenchmarkPlan, BenchmarkProtocol, BenchmarkRequest, BenchmarkRow, BenchmarkStage, BenchmarkTarget,
};
use fairlead_tls::LocalAuthority;
use http::Response;
use quinn::crypto::rustls::QuicServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use support::{HOST, plan};
use tls::server_config;

/// Larger than the buffers that take a request at once.
const BODY_BYTES: usize = 60_000;
/// Positions of the requests of `mix` in one sequence, by smooth weighted round robin.
const SEQUENCE: [usize; 5] = [0, 1, 0, 2, 0];

/// Requests as a server saw them: method, path, value of x-kind, bytes of the body.
type SeenRequest = (String, String, String, usize);
type Seen = Arc<Mutex<Vec<SeenRequest>>>;

fn mix() -> Vec<BenchmarkRequest> {
    let request = |method: &str, path: &str, body: String, weight| BenchmarkRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("X-Kind".to_owned(), format!("kind of {path}"))],
        body,
        weight,
    };
    vec![
        request("GET", "/list?page=1", String::new(), 30),
        request("POST", "/orders", "x".repeat(BODY_BYTES), 10),
        request("HEAD", "/head", String::new(), 10),
    ]
}

fn expected(number: usize) -> SeenRequest {
    let BenchmarkRequest { method, path, body, .. } = mix().swap_remove(number);
    let kind = format!("kind of {path}");
    (method, path, kind, body.len())
}

fn record(seen: &Seen, request: &http::request::Parts, body: usize) {
    let kind = request.headers.get("x-kind").map_or("", |value| value.to_str().unwrap());
    let path = request.uri.path_and_query().unwrap().to_string();
    seen.lock().unwrap().push((request.method.to_string(), path, kind.to_owned(), body));
}

/// Serves HTTP/1.1 without TLS. `closes`: it ends each connection after a response, and does not say so in it.
async fn http1_server(seen: Seen, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut input = Vec::new();
                loop {
                    let (head, length, request) = loop {
                        let mut headers = [httparse::EMPTY_HEADER; 16];
                        let mut parsed = httparse::Request::new(&mut headers);
                        if let httparse::Status::Complete(head) = parsed.parse(&input).unwrap() {
                            let header = |name: &str| {
                                let found = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
                                found.map(|header| String::from_utf8(header.value.to_vec()).unwrap())
                            };
                            let length = header("content-length").map_or(0, |length| length.parse::<usize>().unwrap());
                            let request = http::Request::builder().method(parsed.method.unwrap());
                            let request = request.uri(parsed.path.unwrap()).header("x-kind", header("x-kind").unwrap());
                            break (head, length, request.body(()).unwrap().into_parts().0);
                        }
                        if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
                            return;
                        }
                    };
                    while input.len() < head + length {
                        if stream.read_buf(&mut input).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    input.drain(..head + length);
                    record(&seen, &request, length);
                    let body = if request.method == "HEAD" { "" } else { "hello" };
                    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
                    if stream.write_all(response.as_bytes()).await.is_err() || closes {
                        return;
                    }
                }
            });
        }
    });
    address
}

async fn http2_server(authority: &LocalAuthority, seen: Seen) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(authority, HOST, b"h2")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, seen) = (acceptor.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let seen = seen.clone();
                    tokio::spawn(async move {
                        let (head, mut body) = request.into_parts();
                        let mut length = 0;
                        while let Some(Ok(data)) = body.data().await {
                            length += data.len();
                            body.flow_control().release_capacity(data.len()).unwrap();
                        }
                        record(&seen, &head, length);
                        respond.send_response(Response::new(()), true).map(drop).unwrap_or_default();
                    });
                }
            });
        }
    });
    address
}

fn http3_server(authority: &LocalAuthority, seen: Seen) -> SocketAddr {
    let config = QuicServerConfig::try_from(server_config(authority, HOST, b"h3")).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(config));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve_http3(incoming, seen.clone()));
        }
    });
    address
}

async fn serve_http3(incoming: quinn::Incoming, seen: Seen) {
    let Ok(quic) = incoming.await else { return };
    let connection = h3_quinn::Connection::new(quic);
    let Ok(mut connection) = h3::server::Connection::<_, Bytes>::new(connection).await else { return };
    while let Ok(Some(request)) = connection.accept().await {
        let Ok((head, mut stream)) = request.resolve_request().await else { continue };
        let mut length = 0;
        while let Ok(Some(data)) = stream.recv_data().await {
            length += data.remaining();
        }
        record(&seen, &head.into_parts().0, length);
        if stream.send_response(Response::new(())).await.is_ok() && stream.finish().await.is_err() {
            continue;
        }
    }
}

async fn measure(
    protocol: BenchmarkProtocol,
    closes: bool,
    plan: &BenchmarkPlan,
) -> (Vec<BenchmarkRow>, Vec<SeenRequest>) {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let seen = Seen::default();
    let proxy = |address| Some(ProxyTarget { address, roots: vec![authority.root_der().to_vec()], pid: None });
    let targets = match protocol {
        BenchmarkProtocol::Http2 => {
            Targets::of_app(proxy(http2_server(&authority, seen.clone()).await), None, Vec::new())
        }
        BenchmarkProtocol::Http3 => Targets::of_app(proxy(http3_server(&authority, seen.clone())), None, Vec::new()),
        _ => Targets::of_app(None, Some(http1_server(seen.clone(), closes).await.into()), Vec::new()),
    };
    let turns = MeasurementTurns::default();
    let rows = run_plan(plan, &targets, &turns, CancellationToken::new(), &mut |_: &BenchmarkRow| {}).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    (rows, seen)
}

fn mixed_plan(protocol: BenchmarkProtocol, concurrency: u32) -> BenchmarkPlan {
    let target = if protocol == BenchmarkProtocol::Http1 { BenchmarkTarget::Direct } else { BenchmarkTarget::Proxy };
    let mut plan = plan(target, protocol, concurrency);
    plan.load.requests = mix();
    plan.repeats = 1;
    plan
}

const PROTOCOLS: [BenchmarkProtocol; 3] =
    [BenchmarkProtocol::Http1, BenchmarkProtocol::Http2, BenchmarkProtocol::Http3];

#[tokio::test]
async fn a_closed_loop_sends_every_request_whole_and_in_the_same_order() {
    for (protocol, fresh) in PROTOCOLS.map(|protocol| (protocol, false)).into_iter().chain([(PROTOCOLS[0], true)]) {
        let mut plan = mixed_plan(protocol, 1);
        plan.fresh_connections = fresh;
        let (rows, seen) = measure(protocol, false, &plan).await;
        assert!(rows[0].requests > 0 && rows[0].errors == 0, "{protocol:?}: {rows:?}");
        let order = SEQUENCE.into_iter().cycle().map(expected).take(seen.len()).collect::<Vec<_>>();
        assert_eq!(seen, order, "{protocol:?}");
    }
}

#[tokio::test]
async fn an_open_loop_keeps_the_shares_of_many_clients() {
    for protocol in PROTOCOLS {
        let mut plan = mixed_plan(protocol, 10);
        (plan.rate, plan.warmup) = (Some(500.0), Duration::from_millis(100));
        (plan.duration, plan.concurrency) = (Duration::from_millis(300), vec![10]);
        let (rows, seen) = measure(protocol, false, &plan).await;
        assert_eq!(rows[0].errors, 0, "{protocol:?}: {:?}", rows[0].failures);
        // 10 clients open with two sequences, and 400 ms have 40 sequences.
        for (number, count) in [(0, 126_u64), (1, 42), (2, 42)] {
            let found = seen.iter().filter(|each| **each == expected(number)).count() as u64;
            // A request at the very end may be unsent, or be in flight twice over.
            assert!(
                found <= count + 1 && found + rows[0].unsent + 1 >= count,
                "{protocol:?} {number}: {found} of {count}"
            );
        }
        assert_eq!(seen.iter().filter(|each| (0..3).all(|number| **each != expected(number))).count(), 0);
    }
}

#[tokio::test]
async fn a_client_thinks_before_its_next_request() {
    for protocol in PROTOCOLS {
        let mut plan = mixed_plan(protocol, 4);
        plan.load.think_time = Duration::from_millis(50);
        plan.duration = Duration::from_millis(300);
        let (rows, _) = measure(protocol, false, &plan).await;
        // 300 ms have room for at most 7 requests of a client.
        assert!((1..=28).contains(&rows[0].requests), "{protocol:?}: {}", rows[0].requests);
        assert_eq!(rows[0].errors, 0, "{protocol:?}: {:?}", rows[0].failures);
    }
}

#[tokio::test]
async fn a_connection_that_closes_during_the_think_time_is_no_failure() {
    let mut plan = mixed_plan(BenchmarkProtocol::Http1, 4);
    plan.load.think_time = Duration::from_millis(150);
    plan.duration = Duration::from_millis(600);
    let (rows, _) = measure(BenchmarkProtocol::Http1, true, &plan).await;
    assert!(rows[0].requests > 4, "{}", rows[0].requests);
    assert_eq!(rows[0].errors, 0, "{:?}", rows[0].failures);
}

#[tokio::test]
async fn each_stage_is_a_row_with_the_requests_of_its_ramp() {
    for protocol in PROTOCOLS {
        let mut plan = mixed_plan(protocol, 10);
        plan.rate = Some(100.0);
        let stage = |rate| BenchmarkStage { duration: Duration::from_millis(200), rate };
        plan.load.stages = vec![stage(300.0), stage(300.0), stage(50.0)];
        let (rows, _) = measure(protocol, false, &plan).await;
        let phases: Vec<_> = rows.iter().map(|row| row.phase).collect();
        assert_eq!(phases, [1, 2, 3].map(|number| Some(BenchmarkPhase::Stage(number))), "{protocol:?}");
        for (row, scheduled) in rows.iter().zip([40, 60, 35]) {
            let total = row.requests + row.errors + row.unsent;
            assert!((scheduled - 1..=scheduled + 1).contains(&total), "{protocol:?} {:?}: {total}", row.phase);
            assert_eq!(row.duration, Duration::from_millis(200));
        }
    }
}
