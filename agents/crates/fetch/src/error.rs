//! Errors of file transfers over HTTP.

use std::io;

/// Error of a transfer. Messages name the host, never a token or a query.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address can't be used.
    #[error("`{0}` is no address to fetch from: use https, plain http is for this machine only")]
    Address(String),
    /// The authorities can't be used.
    #[error("the certificate authorities can't be used: {0}")]
    Authorities(String),
    /// The connection to the host could not be established.
    #[error("{host} can't be reached ({reason})")]
    Unreachable {
        /// Host name or address.
        host: String,
        /// Cause, from the system.
        reason: String,
    },
    /// The connection broke, or the host stopped sending.
    #[error("the connection to {host} broke off ({reason})")]
    Connection {
        /// Host name or address.
        host: String,
        /// Cause of the failure.
        reason: String,
    },
    /// The response has an unexpected status.
    #[error("{host} answered {status} for {path}")]
    Status {
        /// Host name or address.
        host: String,
        /// HTTP status code of the response.
        status: u16,
        /// Path of the URL, without the query.
        path: String,
    },
    /// The response is larger than the limit.
    #[error("{host} sends more than the {bytes_max} bytes that are allowed")]
    TooLarge {
        /// Host name or address.
        host: String,
        /// Maximum size in bytes.
        bytes_max: u64,
    },
    /// The file's digest differs from the expected one.
    #[error("what {host} sent is not what was asked for: its digest differs")]
    Digest {
        /// Host name or address.
        host: String,
    },
    /// The local file can't be read or written.
    #[error("the file can't be read or written")]
    File(#[from] io::Error),
    /// The caller cancelled the transfer.
    #[error("it was cancelled")]
    Cancelled,
}

impl FetchError {
    /// Returns the host that caused the error, if there is one.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Unreachable { host, .. }
            | Self::Connection { host, .. }
            | Self::Status { host, .. }
            | Self::TooLarge { host, .. }
            | Self::Digest { host } => Some(host),
            _ => None,
        }
    }

    /// True if a retry may succeed: network failures, 429 and 5xx responses.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Connection { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}
