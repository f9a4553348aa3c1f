//! What can go wrong around a proxy's life.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use fairlead_wire::ChannelError;

/// Why a proxy can't be started, reached or served.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// An address to listen on is not free or not ours.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The control socket can't be made.
    #[error("cannot make the socket {path}: {source}")]
    Control {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The proxy's program can't be started.
    #[error("cannot start {program} as proxy: {source}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The other side of the channel is gone or broken.
    #[error("the local channel failed: {0}")]
    Channel(#[from] ChannelError),
    /// The other side did not do what the protocol asks for.
    #[error("the local channel failed: {0}")]
    Protocol(&'static str),
    /// The other side speaks a version that this one does not.
    #[error("the proxy speaks version {version} of the local protocol, which this agent does not")]
    Version {
        /// Its version.
        version: u32,
    },
    /// A new proxy refuses what the old one serves by.
    #[error("the new proxy refuses the routes: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
    /// The proxy did not answer in time.
    #[error("the proxy did not answer in time")]
    Silent,
    /// The proxy was started by hand.
    #[error("the proxy gets its sockets on standard input: it is started by `fairlead-agent run`")]
    NotStartedByRun,
    /// TLS can't be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// A core ended, which it never should.
    #[error("a core of the proxy ended")]
    CoreEnded,
    /// Anything else of the system.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ProxyError {
    /// For `map_err`.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
