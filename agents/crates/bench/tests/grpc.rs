//! Tests unary gRPC calls with TLS and without it: every outcome is counted as what it is.
#![cfg(test)]

mod support;
#[path = "support/tls.rs"]
mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, MeasurementTurns, ProxyTarget, Targets, run_plan};
use fairlead_model::{BenchmarkPlan, BenchmarkProtocol, BenchmarkRequest, BenchmarkRow, BenchmarkTarget};
use fairlead_tls::LocalAuthority;
use h2::server::SendResponse;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use support::{HOST, plan};

/// `hello` as a message of gRPC.
const MESSAGE: &[u8] = b"\0\0\0\0\x05hello";

/// Head and body of each call that a server received.
type Calls = Arc<Mutex<Vec<(Request<()>, Vec<u8>)>>>;

/// Answers each call as its path says. With an authority, it speaks TLS.
async fn server(authority: Option<&LocalAuthority>, calls: Calls) -> SocketAddr {
    let acceptor = authority.map(|authority| TlsAcceptor::from(Arc::new(tls::server_config(authority, HOST, b"h2"))));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, calls) = (acceptor.clone(), calls.clone());
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => serve(acceptor.accept(stream).await.unwrap(), calls).await,
                    None => serve(stream, calls).await,
                }
            });
        }
    });
    address
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, calls: Calls) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let calls = calls.clone();
        tokio::spawn(async move {
            let (head, mut body) = request.into_parts();
            let mut received = Vec::new();
            while let Some(Ok(data)) = body.data().await {
                received.extend_from_slice(&data);
            }
            answer(head.uri.path(), respond);
            calls.lock().unwrap().push((Request::from_parts(head, ()), received));
        });
    }
}

/// The client may end the connection at any time.
fn answer(path: &str, mut respond: SendResponse<Bytes>) {
    let head = || Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let with_body = |respond: &mut SendResponse<Bytes>, body: &'static [u8], trailers: Option<HeaderMap>| {
        let Ok(mut stream) = respond.send_response(head(), false) else { return };
        drop(stream.send_data(Bytes::from_static(body), trailers.is_none()));
        if let Some(trailers) = trailers {
            drop(stream.send_trailers(trailers));
        }
    };
    let status = |code: &'static str| HeaderMap::from_iter([("grpc-status".parse().unwrap(), code.parse().unwrap())]);
    match path {
        "/test.Echo/Ok" => with_body(&mut respond, MESSAGE, Some(status("0"))),
        "/test.Echo/Failed" => with_body(&mut respond, b"", Some(status("14"))),
        "/test.Echo/Denied" => {
            let mut response = head();
            response.headers_mut().extend(status("7"));
            drop(respond.send_response(response, true));
        }
        "/test.Echo/Untold" => with_body(&mut respond, MESSAGE, None),
        "/test.Echo/Half" => with_body(&mut respond, &MESSAGE[..7], Some(status("0"))),
        "/test.Echo/Gateway" => {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            drop(respond.send_response(response, true));
        }
        other => panic!("{other}"),
    }
}

fn call(method: &str, message: &str, weight: u32) -> BenchmarkRequest {
    BenchmarkRequest {
        method: "POST".to_owned(),
        path: format!("/test.Echo/{method}"),
        headers: vec![("x-kind".to_owned(), "own".to_owned())],
        body: message.to_owned(),
        weight,
    }
}

/// Open loop of 100 calls in each round.
fn plan_of(target: BenchmarkTarget, requests: Vec<BenchmarkRequest>) -> BenchmarkPlan {
    let mut plan = plan(target, BenchmarkProtocol::Grpc, 4);
    plan.load.requests = requests;
    (plan.rate, plan.duration, plan.warmup) = (Some(200.0), Duration::from_millis(500), Duration::ZERO);
    plan
}

async fn measure(plan: &BenchmarkPlan, targets: &Targets) -> Result<Vec<BenchmarkRow>, BenchError> {
    let (turns, cancel) = (MeasurementTurns::default(), CancellationToken::new());
    run_plan(plan, targets, &turns, cancel, &mut |_: &BenchmarkRow| {}).await
}

#[tokio::test]
async fn every_outcome_is_counted_by_its_kind() {
    let calls = Calls::default();
    let address = server(None, calls.clone()).await;
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let requests = vec![
        call("Ok", "aGVsbG8=", 5),
        call("Failed", "", 1),
        call("Denied", "", 1),
        call("Untold", "", 1),
        call("Half", "", 1),
        call("Gateway", "", 1),
    ];
    for row in measure(&plan_of(BenchmarkTarget::Direct, requests), &targets).await.unwrap() {
        assert_eq!((row.requests, row.errors, row.unsent), (50, 50, 0), "{row:?}");
        let kinds = [("grpc_status", 30), ("malformed", 10), ("5xx", 10)];
        assert_eq!(row.failures, kinds.map(|(kind, count)| (kind.to_owned(), count)).into());
        assert_eq!(row.bytes_received, 50 * MESSAGE.len() as u64);
    }
    for (head, body) in calls.lock().unwrap().iter() {
        let header = |name: &str| head.headers()[name].to_str().unwrap();
        assert_eq!((head.method(), head.uri().scheme_str()), (&Method::POST, Some("http")));
        assert_eq!((header("content-type"), header("te"), header("x-kind")), ("application/grpc", "trailers", "own"));
        let sent = if head.uri().path().ends_with("Ok") { MESSAGE } else { &[0; 5] };
        assert_eq!(body, sent, "{head:?}");
    }
}

#[tokio::test]
async fn calls_without_a_message_are_sent_to_the_path_with_tls() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let calls = Calls::default();
    let address = server(Some(&authority), calls.clone()).await;
    let roots = vec![authority.root_der().to_vec()];
    let targets = Targets::of_app(Some(ProxyTarget { address, roots, pid: None }), None, Vec::new());
    // More clients than streams of a connection.
    let mut plan = plan(BenchmarkTarget::Proxy, BenchmarkProtocol::Grpc, 20);
    plan.path = "/test.Echo/Ok".to_owned();
    let rows = measure(&plan, &targets).await.unwrap();
    assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0 && row.clients == 20), "{rows:?}");
    for (head, body) in calls.lock().unwrap().iter() {
        assert_eq!((head.uri().scheme_str(), head.uri().path()), (Some("https"), "/test.Echo/Ok"));
        assert_eq!(body, &[0; 5]);
    }
}

#[tokio::test]
async fn a_target_without_a_successful_call_is_unreachable_with_its_status() {
    let address = server(None, Calls::default()).await;
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    for (method, reason) in
        [("Denied", "it answered with gRPC status 7"), ("Untold", "it answered without a gRPC status")]
    {
        let error = measure(&plan_of(BenchmarkTarget::Direct, vec![call(method, "", 1)]), &targets).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
