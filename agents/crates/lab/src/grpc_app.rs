//! App of the lab for gRPC: answers unary calls over HTTP/2 without TLS. Methods below `/delay/` and `/bytes/` set the
//! delay or the size of the response.

use std::cell::Cell;
use std::io::{Cursor, Result};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use bytes::buf::Chain;
use bytes::{Buf, Bytes};
use fairlead_model::LabApp;
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

use crate::app::{BODY_BYTES_MAX, DELAY_MAX};

/// A proxy sends all its requests on a few connections.
const STREAMS_MAX: u32 = 10_000;
const WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Compressed flag and length of a message.
const PREFIX_BYTES: usize = 5;
const OK: &str = "0";
/// Status of the calls that fail by the settings.
const UNAVAILABLE: &str = "14";

/// Uncompressed message behind its prefix.
type GrpcMessage = Chain<Cursor<[u8; PREFIX_BYTES]>, Bytes>;

/// Answers of all connections.
struct CallServer {
    settings: LabApp,
    /// Bytes that all messages share: each is a slice of it.
    bytes: Bytes,
    calls: Cell<u64>,
}

/// Serves until the process ends. `listener` is a TCP socket that does not block.
pub(crate) fn serve(listener: OwnedFd, settings: LabApp) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Rc::new(CallServer::new(settings));
    runtime.block_on(LocalSet::new().run_until(server.accept(listener)))
}

impl CallServer {
    fn new(settings: LabApp) -> Self {
        let bytes = vec![b'x'; BODY_BYTES_MAX.max(settings.response_bytes as usize)].into();
        Self { settings, bytes, calls: Cell::new(0) }
    }

    async fn accept(self: Rc<Self>, listener: OwnedFd) -> Result<()> {
        let listener = TcpListener::from_std(listener.into())?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            spawn_local(self.clone().serve_connection(stream));
        }
    }

    /// A closed connection is no error: every measurement ends with one.
    async fn serve_connection(self: Rc<Self>, stream: TcpStream) {
        let mut builder = h2::server::Builder::new();
        builder.max_concurrent_streams(STREAMS_MAX).initial_window_size(WINDOW_BYTES);
        builder.initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let Ok(mut connection) = builder.handshake::<_, GrpcMessage>(stream).await else { return };
        while let Some(Ok((request, respond))) = connection.accept().await {
            let server = self.clone();
            spawn_local(async move {
                if let Err(error) = server.answer(request, respond).await {
                    tracing::debug!(%error, "a call of the lab's app ended early");
                }
            });
        }
    }

    async fn answer(
        &self,
        request: Request<RecvStream>,
        mut respond: SendResponse<GrpcMessage>,
    ) -> std::result::Result<(), h2::Error> {
        let (head, mut body) = request.into_parts();
        while let Some(data) = body.data().await {
            body.flow_control().release_capacity(data?.len())?;
        }
        let (answer, delay) = self.decide(head.uri.path());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let mut response = Response::new(());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        let Some(answer) = answer else {
            response.headers_mut().extend(trailers(UNAVAILABLE));
            respond.send_response(response, true)?;
            return Ok(());
        };
        let mut stream = respond.send_response(response, false)?;
        stream.send_data(answer, false)?;
        stream.send_trailers(trailers(OK))
    }

    /// Returns the message of a response (`None`: the call fails) and its delay.
    fn decide(&self, path: &str) -> (Option<GrpcMessage>, Duration) {
        let count = self.calls.get() + 1;
        self.calls.set(count);
        let every = u64::from(self.settings.error_every);
        let is_error = every > 0 && count.is_multiple_of(every);
        let number = |prefix: &str| path.strip_prefix(prefix).and_then(|number| number.parse::<u64>().ok());
        let default = || self.message(self.settings.response_bytes as usize);
        let (answer, delay) = if let Some(milliseconds) = number("/delay/") {
            (default(), Duration::from_millis(milliseconds).min(DELAY_MAX))
        } else if let Some(bytes) = number("/bytes/") {
            (self.message(usize::try_from(bytes).unwrap_or(usize::MAX).min(BODY_BYTES_MAX)), Duration::ZERO)
        } else {
            (default(), self.settings.response_delay)
        };
        ((!is_error).then_some(answer), delay)
    }

    /// Returns a message of at most as many bytes as are shared.
    fn message(&self, length: usize) -> GrpcMessage {
        let [a, b, c, d] = (length as u32).to_be_bytes();
        Cursor::new([0, a, b, c, d]).chain(self.bytes.slice(..length))
    }
}

fn trailers(status: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    trailers
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use fairlead_base::CancellationToken;
    use fairlead_bench::{MeasurementTurns, Targets, run_plan};
    use fairlead_model::{
        AppId, AppKey, BenchmarkLoad, BenchmarkPlan, BenchmarkProtocol, BenchmarkRow, BenchmarkScenario,
        BenchmarkTarget, EnvironmentId, LabServer, LinkCondition, RunId,
    };

    use super::*;

    #[test]
    fn messages_share_their_bytes() {
        let settings = LabApp {
            response_bytes: 100,
            response_delay: Duration::ZERO,
            error_every: 0,
            serves_probes: false,
            speaks_grpc: true,
        };
        let server = CallServer::new(settings);
        let answer = |path| server.decide(path).0.unwrap();
        for (path, length) in [("/", 100), ("/bytes/7", 7), ("/bytes/999999999", BODY_BYTES_MAX)] {
            let mut message = answer(path);
            assert_eq!(message.last_ref().as_ptr(), server.bytes.as_ptr(), "{path}");
            let bytes = message.copy_to_bytes(message.remaining());
            assert_eq!(bytes[..PREFIX_BYTES], [&[0][..], &(length as u32).to_be_bytes()].concat());
            assert!(bytes.len() == PREFIX_BYTES + length && bytes[PREFIX_BYTES..].iter().all(|byte| *byte == b'x'));
        }
    }

    #[tokio::test]
    async fn calls_succeed_but_for_the_errors_of_its_settings() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let settings = LabApp {
            response_bytes: 100,
            response_delay: Duration::from_millis(1),
            error_every: 5,
            serves_probes: false,
            speaks_grpc: true,
        };
        std::thread::spawn(move || serve(listener.into(), settings));
        let plan = BenchmarkPlan {
            run: RunId::parse("run_1").unwrap(),
            key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
            host: crate::HOST.to_owned(),
            path: "/".to_owned(),
            targets: vec![BenchmarkTarget::Direct],
            protocols: vec![BenchmarkProtocol::Grpc],
            concurrency: vec![20],
            repeats: 1,
            duration: Duration::from_millis(150),
            warmup: Duration::ZERO,
            lab: None,
            scenario: BenchmarkScenario::Matrix,
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
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        let (requests, errors) = (row.requests, row.errors);
        assert!(requests > 0 && errors.abs_diff(requests / 4) <= 20, "{row:?}");
        assert_eq!(row.failures, [("grpc_status".to_owned(), errors)].into());
        // Message and prefix.
        assert_eq!(row.bytes_received, requests * 105);
    }
}
