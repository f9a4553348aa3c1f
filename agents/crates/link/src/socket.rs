//! Envelopes over the WebSocket, each send with a deadline. Never interprets them.

use std::time::Duration;

use fairlead_wire::agent::{AgentEnvelope, GatewayEnvelope, agent_envelope, gateway_envelope};
use futures_util::{SinkExt, StreamExt};
use prost::Message as _;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::dial::LinkSocket;

/// Time after which a peer that reads nothing counts as gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Reason for a failed connection.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Error of the WebSocket.
    #[error("the connection failed")]
    Failed(#[source] Box<tungstenite::Error>),
    /// The gateway closed without an error message.
    #[error("the control plane closed the connection")]
    Closed,
    /// The gateway sent bytes that are no envelope.
    #[error("the control plane sent what is not a message")]
    Malformed,
    /// The gateway read nothing for too long.
    #[error("the control plane took no data for {} s", SEND_TIMEOUT.as_secs())]
    Stuck,
}

/// Queues one envelope; `flush` sends it.
pub(crate) async fn feed(socket: &mut LinkSocket, body: agent_envelope::Body) -> Result<(), SocketError> {
    let bytes = AgentEnvelope { body: Some(body) }.encode_to_vec();
    let sent = timeout(SEND_TIMEOUT, socket.feed(Message::Binary(bytes.into()))).await;
    sent.map_err(|_| SocketError::Stuck)?.map_err(failed)
}

/// Sends all envelopes queued by `feed`.
pub(crate) async fn flush(socket: &mut LinkSocket) -> Result<(), SocketError> {
    timeout(SEND_TIMEOUT, socket.flush()).await.map_err(|_| SocketError::Stuck)?.map_err(failed)
}

/// Returns the next envelope's body and skips those of a newer protocol. Cancel-safe.
pub(crate) async fn next(socket: &mut LinkSocket) -> Result<gateway_envelope::Body, SocketError> {
    loop {
        match socket.next().await {
            None | Some(Ok(Message::Close(_))) => return Err(SocketError::Closed),
            Some(Err(error)) => return Err(failed(error)),
            Some(Ok(Message::Binary(bytes))) => {
                let envelope = GatewayEnvelope::decode(bytes).map_err(|_| SocketError::Malformed)?;
                if let Some(body) = envelope.body {
                    return Ok(body);
                }
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Text(_) | Message::Frame(_))) => return Err(SocketError::Malformed),
        }
    }
}

/// Closes the connection; ignores errors of the peer.
pub(crate) async fn close(socket: &mut LinkSocket) {
    match timeout(Duration::from_secs(1), socket.close(None)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the connection was not closed in order"),
        Err(_) => tracing::debug!("the control plane did not take the goodbye"),
    }
}

fn failed(error: tungstenite::Error) -> SocketError {
    SocketError::Failed(Box::new(error))
}
