//! WebSocket through the proxy, equivalent to Autobahn's cases (RFC 6455). A tungstenite endpoint behind the proxy
//! shows changed, late or missing frames, and closes connections that violate the protocol.

mod cases;
mod frames;

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message};

pub use cases::trials;

const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(MESSAGE_BYTES_MAX)).max_frame_size(Some(MESSAGE_BYTES_MAX))
}

/// Starts an endpoint that echoes every message.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(stream));
        }
    });
    address
}

/// Echoes until the client closes or violates the protocol: tungstenite then sends its own close frame.
async fn answer(stream: TcpStream) {
    let Ok(mut socket) = tokio_tungstenite::accept_async_with_config(stream, Some(config())).await else { return };
    while let Some(message) = socket.next().await {
        match message {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                if socket.send(message).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(_) => {
                let frame =
                    tokio_tungstenite::tungstenite::protocol::CloseFrame { code: 1002.into(), reason: "".into() };
                socket.close(Some(frame)).await.ok();
                return;
            }
        }
    }
}

fn binary(length: usize) -> Message {
    Message::Binary(Bytes::from((0..length).map(|at| (at * 31 % 251) as u8).collect::<Vec<_>>()))
}

fn text(length: usize) -> Message {
    let piece = "aé→😀";
    let mut text = piece.repeat(length / piece.len());
    text.push_str(&"x".repeat(length - text.len()));
    Message::Text(text.into())
}
