//! Envelopes over the WebSocket, each send with a deadline. Never interprets them.

use std::time::Duration;

use fairlead_wire::agent::{AgentEnvelope, GatewayEnvelope, agent_envelope, gateway_envelope};
use futures_util::{SinkExt, StreamExt};
use prost::Message as _;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::dial::Socket;

/// A peer that takes nothing for so long is gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a connection broke.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The WebSocket failed.
    #[error("the connection failed")]
    Failed(#[source] Box<tungstenite::Error>),
    /// The gateway closed without a word.
    #[error("the control plane closed the connection")]
    Closed,
    /// The gateway sent what is no envelope.
    #[error("the control plane sent what is not a message")]
    Malformed,
    /// The gateway took nothing for too long.
    #[error("the control plane took no data for {} s", SEND_TIMEOUT.as_secs())]
    Stuck,
}

/// Queues one envelope; it is on its way after `flush`.
pub(crate) async fn feed(socket: &mut Socket, body: agent_envelope::Body) -> Result<(), SocketError> {
    let bytes = AgentEnvelope { body: Some(body) }.encode_to_vec();
    let sent = timeout(SEND_TIMEOUT, socket.feed(Message::Binary(bytes.into()))).await;
    sent.map_err(|_| SocketError::Stuck)?.map_err(failed)
}

/// Sends what is queued.
pub(crate) async fn flush(socket: &mut Socket) -> Result<(), SocketError> {
    timeout(SEND_TIMEOUT, socket.flush()).await.map_err(|_| SocketError::Stuck)?.map_err(failed)
}

/// The next envelope's body; those of a newer protocol are passed over. Cancel-safe.
pub(crate) async fn next(socket: &mut Socket) -> Result<gateway_envelope::Body, SocketError> {
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

/// Says goodbye; a peer that does not listen any more is no error.
pub(crate) async fn close(socket: &mut Socket) {
    match timeout(Duration::from_secs(1), socket.close(None)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the connection was not closed in order"),
        Err(_) => tracing::debug!("the control plane did not take the goodbye"),
    }
}

fn failed(error: tungstenite::Error) -> SocketError {
    SocketError::Failed(Box::new(error))
}
