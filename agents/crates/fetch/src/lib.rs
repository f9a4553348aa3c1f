//! Files over HTTP: fetched with resume, bounds and a digest that must match, and sent in parts that may be resumed.
//! Owns the client and its deadlines. Plain http is for this machine only, and a bearer token never follows a redirect.

mod connection;
mod digest;
mod error;
mod receive;
mod reference;
mod send;

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;

pub use digest::Digest;
pub use error::FetchError;
pub use receive::Receive;
pub use reference::resolve;
pub use send::Send;

/// Default number of attempts to download a file.
const ATTEMPTS: u32 = 5;

/// Makes requests, each on a connection of its own.
#[derive(Clone)]
pub struct Client {
    tls: Arc<ClientConfig>,
    /// Maximum attempts to download a file.
    attempts: u32,
}

impl Client {
    /// Trusts the system's authorities and those of a file (PEM).
    pub fn new(ca_file: Option<&Path>) -> Result<Self, FetchError> {
        connection::client_config(ca_file).map(|tls| Self { tls: Arc::new(tls), attempts: ATTEMPTS })
    }

    /// The same client, which tries a file once.
    #[must_use]
    pub fn without_retries(&self) -> Self {
        Self { attempts: 1, ..self.clone() }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client(..)")
    }
}
