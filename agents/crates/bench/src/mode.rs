//! What clients do with their connections. Owns the choice, not the doing.

use serde::{Deserialize, Serialize};

/// What the clients of a cell do with their connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One connection a client, one request after the other on it.
    #[default]
    Keepalive,
    /// A connection a request, with a full handshake where it is TLS. HTTP/1.1 only.
    Fresh,
    /// A connection a request, resumed by a ticket of the one before. HTTP/1.1 over TLS only.
    Resumed,
    /// One request, then the connection stays open without a word: memory is measured, not speed. HTTP/1.1 only.
    Idle,
}
