//! Connection modes of clients.

use serde::{Deserialize, Serialize};

/// Connection mode of the clients in a measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One connection for each client, with one request at a time.
    #[default]
    Keepalive,
    /// One connection for each request, with a full TLS handshake. HTTP/1.1 only.
    Fresh,
    /// One connection for each request, resumed by the previous one's ticket. HTTP/1.1 over TLS only.
    Resumed,
    /// One request, then an idle connection: measures memory, not speed. HTTP/1.1 only.
    Idle,
}
