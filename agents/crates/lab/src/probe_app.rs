//! App of the latency probes: JSON, uploads, streamed responses, server-sent events and WebSocket echoes over HTTP/1.1.

use std::convert::Infallible;
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::Bytes;
use fairlead_model::BenchmarkProbe;
use futures_util::stream::unfold;
use futures_util::{SinkExt, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustix::time::{ClockId, clock_gettime};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

const JSON: &[u8] = br#"{"id":7,"name":"probe","tags":["json","small"],"ok":true}"#;
const UPLOAD_BYTES_MAX: usize = 1 << 20;
/// A streamed response: a proxy that buffers it delays its first byte by all pauses.
const CHUNKS: u32 = 4;
const CHUNK_BYTES: usize = 1024;
/// Events of one response.
const EVENTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

type ProbeBody = UnsyncBoxBody<Bytes, Infallible>;

/// Serves until the process ends. `listener` is a TCP socket that does not block.
pub(crate) fn serve(listener: OwnedFd) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener.into())?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve_connection(stream));
        }
    })
}

async fn serve_connection(stream: TcpStream) {
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond));
    // Every measurement ends with a closed connection.
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!(%error, "a connection of the probes' app ended");
    }
}

async fn respond(mut request: Request<Incoming>) -> Result<Response<ProbeBody>> {
    let is = |probe: BenchmarkProbe| request.uri().path() == probe.path();
    // kamal-proxy accepts an app only if a GET of / succeeds.
    if is(BenchmarkProbe::Json) || request.uri().path() == "/" {
        return Ok(response("application/json", Full::from(JSON).boxed_unsync()));
    }
    if is(BenchmarkProbe::Stream) {
        return Ok(paced("application/octet-stream", CHUNKS, |_| Bytes::from_static(&[b'x'; CHUNK_BYTES])));
    }
    if is(BenchmarkProbe::Sse) {
        return Ok(paced("text/event-stream", EVENTS, |_| format!("data: {}\n\n", monotonic().as_nanos()).into()));
    }
    if is(BenchmarkProbe::Upload) {
        let body = Limited::new(request.into_body(), UPLOAD_BYTES_MAX).collect().await.map_err(Error::other)?;
        let length = body.to_bytes().len();
        return Ok(response("text/plain", Full::from(length.to_string()).boxed_unsync()));
    }
    if is(BenchmarkProbe::Websocket) {
        return Ok(upgrade(&mut request));
    }
    Ok(status(StatusCode::NOT_FOUND))
}

fn status(status: StatusCode) -> Response<ProbeBody> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

fn response(content_type: &'static str, body: ProbeBody) -> Response<ProbeBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a response in parts, with a pause before each but the first.
fn paced(content_type: &'static str, parts: u32, part: fn(u32) -> Bytes) -> Response<ProbeBody> {
    let parts = unfold(0, move |number| async move {
        if number == parts {
            return None;
        }
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        Some((Ok::<_, Infallible>(Frame::data(part(number))), number + 1))
    });
    let mut response = response(content_type, StreamBody::new(parts).boxed_unsync());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Turns off nginx's buffering of the response.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Returns the time of the clock by which the generator reads the events: it runs on the same machine.
fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Switches to WebSocket (RFC 6455, section 4.2.2) and echoes every message.
fn upgrade(request: &mut Request<Incoming>) -> Response<ProbeBody> {
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) else { return status(StatusCode::BAD_REQUEST) };
    let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) else {
        return status(StatusCode::BAD_REQUEST);
    };
    let upgraded = hyper::upgrade::on(request);
    tokio::spawn(async move {
        match upgraded.await {
            Ok(upgraded) => {
                let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
                echo(socket).await;
            }
            Err(error) => tracing::debug!(%error, "a connection did not become a WebSocket"),
        }
    });
    let mut response = status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

async fn echo(mut socket: WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>) {
    while let Some(Ok(message)) = socket.next().await {
        if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    use fairlead_base::CancellationToken;
    use fairlead_bench::{MeasurementTurns, Targets, run_plan};
    use fairlead_model::{
        AppId, AppKey, BenchmarkLoad, BenchmarkPlan, BenchmarkProtocol, BenchmarkRow, BenchmarkScenario,
        BenchmarkTarget, EnvironmentId, LabServer, LinkCondition, RunId,
    };

    use super::*;

    fn start_app() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(listener.into()));
        address
    }

    #[test]
    fn health_checks_of_the_root_succeed_and_other_paths_are_not_found() {
        let address = start_app();
        for (path, line) in [("/", "HTTP/1.1 200 OK"), ("/other", "HTTP/1.1 404 Not Found")] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: bench.localhost\r\nConnection: close\r\n\r\n").unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            assert_eq!(response.lines().next(), Some(line), "{path}");
        }
    }

    #[tokio::test]
    async fn every_probe_has_a_row_that_counts_what_its_name_says() {
        let address = start_app();
        let plan = BenchmarkPlan {
            run: RunId::parse("run_1").unwrap(),
            key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
            host: crate::HOST.to_owned(),
            path: "/".to_owned(),
            targets: vec![BenchmarkTarget::Direct],
            protocols: vec![BenchmarkProtocol::Http1],
            concurrency: vec![2],
            repeats: 1,
            duration: Duration::from_millis(150),
            warmup: Duration::ZERO,
            lab: None,
            scenario: BenchmarkScenario::Latency,
            fresh_connections: false,
            rate: None,
            lab_server: LabServer::Own,
            lab_release: None,
            link: LinkCondition::default(),
            part: None,
            load: BenchmarkLoad::default(),
        };
        let targets = Targets::of_app(None, Some(address.into()), Vec::new());
        let (turns, cancel) = (MeasurementTurns::default(), CancellationToken::new());
        let rows = run_plan(&plan, &targets, &turns, cancel, &mut |_: &BenchmarkRow| ()).await.unwrap();
        let probes: Vec<_> = rows.iter().map(|row| row.probe).collect();
        assert_eq!(probes, BenchmarkScenario::Latency.probes());
        for row in &rows {
            assert!(row.requests > 0 && row.errors == 0, "{row:?}");
            let mean = Duration::from_micros(row.latency_sum_us / row.requests);
            let body_bytes = row.bytes_received / row.requests;
            match row.probe.unwrap() {
                // Number of bytes that the app received.
                BenchmarkProbe::Upload => assert_eq!(body_bytes, "65536".len() as u64),
                BenchmarkProbe::StreamFirstByte => assert_eq!(body_bytes, CHUNK_BYTES as u64),
                BenchmarkProbe::Stream => {
                    assert_eq!(body_bytes, u64::from(CHUNKS) * CHUNK_BYTES as u64);
                    assert!(mean >= (CHUNKS - 1) * PAUSE, "{mean:?}");
                }
                BenchmarkProbe::Json => assert_eq!(body_bytes, JSON.len() as u64),
                BenchmarkProbe::Websocket => assert_eq!(body_bytes, 64),
                // Each event counts, not each response.
                BenchmarkProbe::Sse => assert_eq!(body_bytes, 0),
            }
        }
    }
}
