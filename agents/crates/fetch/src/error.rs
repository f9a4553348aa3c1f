//! Why a file did not come or go.

use std::io;

/// Every one names the host, never a token or a query.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address can't be used.
    #[error("`{0}` is no address to fetch from: use https, plain http is for this machine only")]
    Address(String),
    /// The authorities can't be used.
    #[error("the certificate authorities can't be used: {0}")]
    Authorities(String),
    /// No connection.
    #[error("{host} can't be reached ({reason})")]
    Unreachable {
        /// Host name or address.
        host: String,
        /// Cause, from the system.
        reason: String,
    },
    /// A connection that broke.
    #[error("the connection to {host} broke off ({reason})")]
    Connection {
        /// Who.
        host: String,
        /// What happened.
        reason: String,
    },
    /// It answered with something else than was asked for.
    #[error("{host} answered {status} for {path}")]
    Status {
        /// Who.
        host: String,
        /// Its status.
        status: u16,
        /// Of what.
        path: String,
    },
    /// More than may be.
    #[error("{host} sends more than the {bytes_max} bytes that are allowed")]
    TooLarge {
        /// Who.
        host: String,
        /// The bound.
        bytes_max: u64,
    },
    /// Not what was asked for.
    #[error("what {host} sent is not what was asked for: its digest differs")]
    Digest {
        /// Who.
        host: String,
    },
    /// The file here.
    #[error("the file can't be read or written")]
    File(#[from] io::Error),
    /// Asked to stop.
    #[error("it was cancelled")]
    Cancelled,
}

impl FetchError {
    /// Host that did not give what was asked for.
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

    /// Whether another attempt may do better: the network's own moods, not refusals.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Connection { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}
