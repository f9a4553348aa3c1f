//! HTTP/3 clients on `quinn` and `h3`: a connection carries a fixed number of streams, each a separate closed loop. Each
//! connection has its own socket, since servers distribute connections among cores by the client's port.

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, Bytes};
use fairlead_model::UpstreamAddress;
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use http::{Method, Request, Version};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig, VarInt};

use crate::client::{SharedRef, pause_after_failure};
use crate::connect::CONNECT_TIMEOUT;
use crate::failure::{FailureKind, RequestError};

const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;

type BoxError = Box<dyn Error>;

/// Runs `streams` loops on one connection until the worker ends.
pub(crate) async fn run(shared: SharedRef, streams: u32) {
    let mut ready = vec![false; streams as usize];
    loop {
        if let Err(error) = connection(&shared, &mut ready).await {
            shared.failed(&error);
        }
        pause_after_failure().await;
    }
}

async fn connection(shared: &SharedRef, ready: &mut [bool]) -> Result<(), RequestError> {
    let unopened = |error: BoxError| RequestError::new(FailureKind::Connect, error);
    let late = || unopened("no connection within 10 s".into());
    let (endpoint, quic) =
        tokio::time::timeout(CONNECT_TIMEOUT, connect(shared)).await.map_err(|_| late())?.map_err(unopened)?;
    let mut builder = h3::client::builder();
    // Disables reserved frames, which would add load.
    builder.send_grease(false);
    let (mut connection, sender) =
        builder.build(h3_quinn::Connection::new(quic)).await.map_err(|error| unopened(error.into()))?;
    let destination = &shared.destination;
    let request = Request::builder()
        .method(Method::GET)
        .version(Version::HTTP_3)
        .uri(format!("https://{}{}", destination.authority, destination.path))
        .header("user-agent", "fairlead-bench")
        .body(())
        .map_err(|error| RequestError::new(FailureKind::Malformed, error))?;
    let mut loops = tokio::task::JoinSet::new();
    for said in ready.iter() {
        loops.spawn_local(request_loop(sender.clone(), request.clone(), shared.clone(), *said));
    }
    drop(sender);
    let ended: BoxError = tokio::select! {
        ended = std::future::poll_fn(|cx| connection.poll_close(cx)) => ended.into(),
        failed = loops.join_next() => match failed {
            Some(Ok(Err(error))) => error.into(),
            Some(Err(error)) => error.into(),
            Some(Ok(Ok(never))) => match never {},
            None => io::Error::from(io::ErrorKind::ConnectionReset).into(),
        },
    };
    endpoint.close(VarInt::from_u32(0), &[]);
    // An ended stream closes its connection. All its clients count as ready, since the others would never become ready.
    ready.fill(true);
    Err(RequestError::new(FailureKind::Closed, ended))
}

async fn connect(shared: &SharedRef) -> Result<(Endpoint, quinn::Connection), BoxError> {
    let destination = &shared.destination;
    let (tls, name) = destination.tls.clone().ok_or_else(|| io::Error::other("HTTP/3 is spoken over TLS only"))?;
    let UpstreamAddress::Tcp { address, .. } = destination.address else {
        return Err(io::Error::other("HTTP/3 is spoken to addresses of this network only").into());
    };
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let endpoint = Endpoint::client(any)?;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(STREAM_WINDOW_BYTES.into()).receive_window((STREAM_WINDOW_BYTES * 4).into());
    config.transport_config(Arc::new(transport));
    let connection = endpoint.connect_with(config, address, &name.to_str())?.await?;
    Ok((endpoint, connection))
}

async fn request_loop(
    mut sender: SendRequest<OpenStreams, Bytes>,
    request: Request<()>,
    shared: SharedRef,
    mut ready: bool,
) -> Result<std::convert::Infallible, h3::error::StreamError> {
    loop {
        let started = Instant::now();
        let mut stream = sender.send_request(request.clone()).await?;
        stream.finish().await?;
        let status = stream.recv_response().await?.status().as_u16();
        let mut body_bytes = 0;
        while let Some(data) = stream.recv_data().await? {
            body_bytes += data.remaining() as u64;
        }
        shared.answered(started, status, body_bytes);
        shared.ready(&mut ready);
    }
}
