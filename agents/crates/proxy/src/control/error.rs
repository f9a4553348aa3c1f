//! Errors of starting, reaching and running a proxy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use fairlead_wire::ChannelError;

/// Reason why a proxy can't be started, reached or run.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A listen address is in use or does not belong to this machine.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// The control socket can't be made.
    #[error("cannot make the socket {path}: {source}")]
    Control {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The proxy's program can't be started.
    #[error("cannot start {program} as proxy: {source}")]
    Spawn {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The channel to the peer is closed or broken.
    #[error("the local channel failed: {0}")]
    Channel(#[from] ChannelError),
    /// The peer violated the protocol.
    #[error("the local channel failed: {0}")]
    Protocol(&'static str),
    /// The peer speaks an unsupported version of the local protocol.
    #[error("the proxy speaks version {version} of the local protocol, which this agent does not")]
    Version {
        /// Protocol version of the proxy.
        version: u32,
    },
    /// A new proxy refuses the snapshot that the old one serves.
    #[error("the new proxy refuses the routes: {reason}")]
    Refused {
        /// Reason that the new proxy gave.
        reason: String,
    },
    /// The proxy did not answer in time.
    #[error("the proxy did not answer in time")]
    Silent,
    /// The proxy was not started by `run`, so it received no sockets.
    #[error("the proxy gets its sockets on standard input: it is started by `fairlead-agent run`")]
    NotStartedByRun,
    /// TLS can't be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// A worker thread ended, which is a bug.
    #[error("a core of the proxy ended")]
    CoreEnded,
    /// Any other error of the operating system.
    #[error("{what}: {source}")]
    System {
        /// Description of the failed operation.
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

impl ProxyError {
    /// Returns a closure for `map_err` that wraps an I/O error.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
