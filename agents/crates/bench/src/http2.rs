//! HTTP/2 connections of the load generator, on `h2`.

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use http::Version;

use crate::client::Shared;
use crate::failure::{FailureKind, RequestError};
use crate::multiplexed::{Driver, Multiplexed, MultiplexedRequest};
use crate::response::Response;

const WINDOW_BYTES: u32 = 1024 * 1024;

pub(crate) struct Http2;

impl Multiplexed for Http2 {
    const VERSION: Version = Version::HTTP_2;
    type Sender = SendRequest<Bytes>;

    async fn connect(shared: &Shared) -> Result<(Self::Sender, Driver), RequestError> {
        let stream = shared.connect(&shared.destination).await?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES * 4).enable_push(false);
        let (sender, connection) = builder.handshake::<_, Bytes>(stream).await.map_err(failure)?;
        let driver = async {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTP/2 connection of the load generator ended");
            }
        };
        Ok((sender, Box::pin(driver)))
    }

    async fn ready(sender: &mut Self::Sender) -> Result<(), RequestError> {
        std::future::poll_fn(|cx| sender.poll_ready(cx)).await.map_err(failure)
    }

    async fn send(sender: &mut Self::Sender, request: &MultiplexedRequest) -> Result<Response, RequestError> {
        let (head, mut body) = Self::begin(sender, request).await?.into_parts();
        let mut body_bytes = 0;
        while let Some(data) = body.data().await {
            let length = data.map_err(failure)?.len();
            body_bytes += length as u64;
            body.flow_control().release_capacity(length).map_err(failure)?;
        }
        Ok(Response::new(head.status.as_u16(), body_bytes))
    }
}

impl Http2 {
    /// Sends a request and reads the head of its response.
    pub(crate) async fn begin(
        sender: &mut SendRequest<Bytes>,
        MultiplexedRequest { head, body }: &MultiplexedRequest,
    ) -> Result<http::Response<RecvStream>, RequestError> {
        let (response, mut stream) = sender.send_request(head.clone(), body.is_empty()).map_err(failure)?;
        if !body.is_empty() {
            // Waits in the stream for the window of the server.
            stream.send_data(body.clone(), true).map_err(failure)?;
        }
        response.await.map_err(failure)
    }
}

/// Gives an error its kind: h2 itself raises protocol errors, for bytes that are not valid.
pub(crate) fn failure(error: h2::Error) -> RequestError {
    let invalid = error.is_library() && !error.is_io();
    RequestError::new(if invalid { FailureKind::Malformed } else { FailureKind::Closed }, error)
}
