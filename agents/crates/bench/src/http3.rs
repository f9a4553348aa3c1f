//! HTTP/3 connections of the load generator, on `quinn` and `h3`. Each connection has its own socket, since servers distribute
//! connections among cores by the client's port.

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use fairlead_model::UpstreamAddress;
use h3::client::SendRequest;
use h3::error::StreamError;
use h3_quinn::OpenStreams;
use http::Version;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig, VarInt};

use crate::client::Shared;
use crate::connect::CONNECT_TIMEOUT;
use crate::failure::{FailureKind, RequestError};
use crate::multiplexed::{Driver, Multiplexed, MultiplexedRequest};
use crate::response::Response;

const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// Transport errors from this code are TLS alerts (RFC 9000, section 20.1).
const CRYPTO_ERROR_MIN: u64 = 0x100;

type BoxError = Box<dyn Error>;

pub(crate) struct Http3;

#[derive(Clone)]
pub(crate) struct Sender {
    requests: SendRequest<OpenStreams, Bytes>,
    connection: quinn::Connection,
}

impl Multiplexed for Http3 {
    const VERSION: Version = Version::HTTP_3;
    type Sender = Sender;

    async fn connect(shared: &Shared) -> Result<(Self::Sender, Driver), RequestError> {
        let limit = CONNECT_TIMEOUT.min(shared.request_timeout);
        let late = || RequestError::late_connection(limit);
        let (endpoint, connection) =
            tokio::time::timeout(limit, connect(shared)).await.map_err(|_| late())?.map_err(connect_failure)?;
        let mut builder = h3::client::builder();
        // Disables reserved frames, which would add load.
        builder.send_grease(false);
        let built = builder.build(h3_quinn::Connection::new(connection.clone())).await;
        let (mut http3, requests) = built.map_err(|error| RequestError::new(FailureKind::Connect, error))?;
        let driver = async move {
            let ended = std::future::poll_fn(|cx| http3.poll_close(cx)).await;
            tracing::debug!(%ended, "an HTTP/3 connection of the load generator ended");
            endpoint.close(VarInt::from_u32(0), &[]);
        };
        Ok((Sender { requests, connection }, Box::pin(driver)))
    }

    async fn ready(sender: &mut Self::Sender) -> Result<(), RequestError> {
        match sender.connection.close_reason() {
            Some(reason) => Err(RequestError::new(FailureKind::Closed, reason)),
            None => Ok(()),
        }
    }

    async fn send(sender: &mut Self::Sender, request: &MultiplexedRequest) -> Result<Response, RequestError> {
        let connection = sender.connection.clone();
        exchange(&mut sender.requests, request).await.map_err(|error| failure(error, &connection))
    }
}

async fn exchange(
    requests: &mut SendRequest<OpenStreams, Bytes>,
    MultiplexedRequest { head, body }: &MultiplexedRequest,
) -> Result<Response, StreamError> {
    let mut stream = requests.send_request(head.clone()).await?;
    if !body.is_empty() {
        stream.send_data(body.clone()).await?;
    }
    stream.finish().await?;
    let status = stream.recv_response().await?.status().as_u16();
    let mut body_bytes = 0;
    while let Some(data) = stream.recv_data().await? {
        body_bytes += data.remaining() as u64;
    }
    Ok(Response::new(status, body_bytes))
}

async fn connect(shared: &Shared) -> Result<(Endpoint, quinn::Connection), BoxError> {
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

fn connect_failure(error: BoxError) -> RequestError {
    let kind = match error.downcast_ref::<quinn::ConnectionError>() {
        Some(quinn::ConnectionError::TransportError(error)) if u64::from(error.code) >= CRYPTO_ERROR_MIN => {
            FailureKind::Tls
        }
        _ => FailureKind::Connect,
    };
    RequestError::new(kind, error)
}

/// Gives an error its kind. Bytes that are not valid fail the stream, or make this side close the connection.
fn failure(error: StreamError, connection: &quinn::Connection) -> RequestError {
    let is_invalid = match error {
        StreamError::StreamError { .. } | StreamError::HeaderTooBig { .. } => true,
        StreamError::RemoteTerminate { .. } => false,
        _ => matches!(
            connection.close_reason(),
            Some(quinn::ConnectionError::LocallyClosed | quinn::ConnectionError::TransportError(_))
        ),
    };
    RequestError::new(if is_invalid { FailureKind::Malformed } else { FailureKind::Closed }, error)
}
