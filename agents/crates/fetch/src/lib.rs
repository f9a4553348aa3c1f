//! File transfers over HTTP: resumable downloads with a size limit and a digest, and resumable uploads in parts.
//! Invariants: plain http only reaches this machine, and a bearer token never follows a redirect.

#![warn(missing_docs)]

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
pub use send::{Send, SendReason};

/// Default number of attempts to download a file.
const ATTEMPTS: u32 = 5;

/// HTTP client. Opens one connection per request.
#[derive(Clone)]
pub struct FetchClient {
    tls: Arc<ClientConfig>,
    /// Maximum attempts to download a file.
    attempts: u32,
}

impl FetchClient {
    /// Returns a client that trusts the system's certificate authorities and those of a PEM file.
    pub fn new(ca_file: Option<&Path>) -> Result<Self, FetchError> {
        connection::client_config(ca_file).map(|tls| Self { tls: Arc::new(tls), attempts: ATTEMPTS })
    }

    /// Returns a client with another TLS configuration.
    #[must_use]
    pub fn with_tls(tls: Arc<ClientConfig>) -> Self {
        Self { tls, attempts: ATTEMPTS }
    }

    /// Returns a client that downloads without retries.
    #[must_use]
    pub fn without_retries(&self) -> Self {
        Self { attempts: 1, ..self.clone() }
    }
}

impl std::fmt::Debug for FetchClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FetchClient(..)")
    }
}
