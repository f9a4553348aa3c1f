//! Sends one health check request over the protocol and transport of ordinary requests. Invariant: stateless; every
//! check opens its own connection.

use std::io;
use std::time::Duration;

use fairlead_model::{ActiveHealthCheck, UpstreamProtocol};
use fairlead_reactor::timeout;
use fairlead_route::is_healthy_status;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::h1::{header_slots, parse_response};
use crate::limits::{INTERIMS_MAX, Limits};
use crate::upstream::{Connector, UpstreamSocket};

/// Reason why a health check failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HealthCheckError {
    #[error("no connection: {0}")]
    Connect(#[source] io::Error),
    #[error("no proper answer: {0}")]
    Answer(#[source] io::Error),
    #[error("no answer in time")]
    TimedOut,
    #[error("status {0}")]
    Status(u16),
}

/// Sends one health check; `Ok` means healthy. Ends within the timeout of the check.
pub(super) async fn send(connector: &Connector, settings: &ActiveHealthCheck) -> Result<(), HealthCheckError> {
    let limit = Duration::from_millis(u64::from(settings.timeout_ms));
    timeout(limit, exchange(connector, &settings.path, limit)).await.unwrap_or(Err(HealthCheckError::TimedOut))
}

async fn exchange(connector: &Connector, path: &str, limit: Duration) -> Result<(), HealthCheckError> {
    let socket = connector.connect(limit).await.map_err(HealthCheckError::Connect)?;
    if path.is_empty() {
        return Ok(());
    }
    let status = match connector.protocol() {
        UpstreamProtocol::Http1 => over_http1(socket, path).await,
        UpstreamProtocol::Http2 => over_http2(socket, path, connector.is_secure()).await,
    };
    match status.map_err(HealthCheckError::Answer)? {
        status if is_healthy_status(status) => Ok(()),
        status => Err(HealthCheckError::Status(status)),
    }
}

async fn over_http1(mut socket: UpstreamSocket, path: &str) -> io::Result<u16> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: fairlead-health\r\naccept: */*\r\nconnection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await?;
    socket.flush().await?;
    let (limits, mut input, mut bytes) = (Limits::default(), Vec::new(), [0; 1024]);
    let mut interims = 0;
    loop {
        let mut slots = header_slots();
        let head = parse_response(&input, &mut slots, &limits).map_err(io::Error::other)?;
        let head = head.map(|head| (head.status, head.length));
        match head {
            Some((100..200, length)) if interims < INTERIMS_MAX => {
                interims += 1;
                input.drain(..length);
                continue;
            }
            Some((status, _)) => return Ok(status),
            None => {}
        }
        match socket.read(&mut bytes).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => input.extend_from_slice(&bytes[..count]),
        }
    }
}

async fn over_http2(socket: UpstreamSocket, path: &str, secure: bool) -> io::Result<u16> {
    let (sender, connection) = h2::client::handshake(socket).await.map_err(io::Error::other)?;
    let asked = async move {
        let scheme = if secure { "https" } else { "http" };
        let request = http::Request::get(format!("{scheme}://localhost{path}"))
            .header("user-agent", "fairlead-health")
            .body(())
            .map_err(io::Error::other)?;
        let mut sender = sender.ready().await.map_err(io::Error::other)?;
        let (response, _) = sender.send_request(request, true).map_err(io::Error::other)?;
        Ok(response.await.map_err(io::Error::other)?.status().as_u16())
    };
    tokio::select! {
        status = asked => status,
        ended = connection => Err(ended.err().map_or_else(|| io::ErrorKind::UnexpectedEof.into(), io::Error::other)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use fairlead_model::UpstreamAddress;
    use fairlead_reactor::{Listener, block_on, spawn};
    use tokio::sync::oneshot;

    use super::*;

    fn listener(protocol: UpstreamProtocol) -> (Listener, Connector) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = UpstreamAddress::from(listener.local_addr().unwrap());
        (Listener::new(listener).unwrap(), Connector::new(&address, protocol, None).unwrap())
    }

    fn of(path: &str, timeout_ms: u32) -> ActiveHealthCheck {
        ActiveHealthCheck { path: path.to_owned(), timeout_ms, ..ActiveHealthCheck::default() }
    }

    /// Runs `app` in another task; the receiver completes once it has ended.
    fn beside(app: impl Future<Output = ()> + 'static) -> oneshot::Receiver<()> {
        let (ended, has_ended) = oneshot::channel();
        spawn(async move {
            app.await;
            ended.send(()).unwrap();
        });
        has_ended
    }

    /// Checks an app that answers with these bytes and closes.
    async fn against(answer: &'static [u8]) -> Result<(), HealthCheckError> {
        let (listener, connector) = listener(UpstreamProtocol::Http1);
        let app = beside(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let count = stream.read(&mut request).await.unwrap();
            assert!(request[..count].starts_with(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"));
            stream.write_all(answer).await.unwrap();
        });
        let answered = send(&connector, &of("/healthz", 60_000)).await;
        app.await.unwrap();
        answered
    }

    #[test]
    fn only_statuses_from_200_to_399_are_healthy() {
        block_on(async {
            assert!(against(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_ok());
            assert!(against(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 302 Found\r\n\r\n").await.is_ok());
            assert!(matches!(against(b"HTTP/1.1 503 x\r\n\r\n").await, Err(HealthCheckError::Status(503))));
            for broken in [&b"garbage\r\n\r\n"[..], b"HTTP/1.1 200 O", b""] {
                assert!(matches!(against(broken).await, Err(HealthCheckError::Answer(_))), "{broken:?}");
            }
        })
        .unwrap();
    }

    #[test]
    fn refused_connections_and_timeouts_are_bad_and_an_empty_path_needs_a_connection_only() {
        block_on(async {
            let (listener, connector) = listener(UpstreamProtocol::Http1);
            // The kernel accepts the connection, but no app answers.
            assert!(send(&connector, &of("", 60_000)).await.is_ok());
            assert!(matches!(send(&connector, &of("/", 20)).await, Err(HealthCheckError::TimedOut)));
            drop(listener);
            assert!(matches!(send(&connector, &of("", 60_000)).await, Err(HealthCheckError::Connect(_))));
        })
        .unwrap();
    }

    #[test]
    fn http2_apps_are_checked_over_http2() {
        block_on(async {
            for (status, good) in [(200, true), (500, false)] {
                let (listener, connector) = listener(UpstreamProtocol::Http2);
                let app = beside(async move {
                    let (stream, _) = listener.accept().await.unwrap();
                    let mut connection = h2::server::handshake(stream).await.unwrap();
                    while let Some(Ok((request, mut respond))) = connection.accept().await {
                        assert_eq!(request.uri().path(), "/healthz");
                        let response = http::Response::builder().status(status).body(()).unwrap();
                        respond.send_response(response, true).unwrap();
                    }
                });
                assert_eq!(send(&connector, &of("/healthz", 60_000)).await.is_ok(), good);
                app.await.unwrap();
            }
        })
        .unwrap();
    }
}
