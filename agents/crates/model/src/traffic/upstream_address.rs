//! Address of an instance.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TrafficError;

/// Maximum length of a Unix socket's path: the kernel adds a NUL and stops at 108 (unix(7)).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Address of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UpstreamAddress {
    /// TCP address: `127.0.0.1:3000`, or `71234@127.0.0.1:3000`.
    Tcp {
        /// Address that the instance listens on.
        address: SocketAddr,
        /// User that must own the listener on this machine; `None` for any. Any program can bind a
        /// free port first.
        owner: Option<u32>,
    },
    /// Unix socket: `unix:/run/app.sock`, or `unix:2001@/run/app.sock`.
    Unix {
        /// Absolute path, short enough for the kernel.
        path: PathBuf,
        /// User that must own the listener; `None` for any. Another user may own the folder and
        /// replace the socket.
        owner: Option<u32>,
    },
    /// Address inside a network namespace: `ns:127.0.0.1:3000@/path`, or `ns:unix@/path`. A
    /// hand-over at the path passes the sockets.
    Namespace {
        /// Unix socket of the hand-over (`fairlead_base::handover`); absolute, short enough for the kernel.
        handover: PathBuf,
        /// Address inside the namespace; `None`: the app's Unix socket, which the other side of the
        /// hand-over connects to.
        address: Option<SocketAddr>,
    },
}

impl FromStr for UpstreamAddress {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let wrong = || TrafficError::new("address", format!("`{text}` is neither IP:port nor unix:/path"));
        if let Some(inside) = text.strip_prefix("ns:") {
            let (address, handover) = inside.split_once('@').ok_or_else(wrong)?;
            let address = if address == "unix" { None } else { Some(address.parse().map_err(|_| wrong())?) };
            return match fits(handover) {
                true => Ok(Self::Namespace { handover: handover.into(), address }),
                false => Err(wrong()),
            };
        }
        let Some(socket) = text.strip_prefix("unix:") else {
            let (owner, address) = match text.split_once('@') {
                Some((owner, address)) => (Some(owner.parse().map_err(|_| wrong())?), address),
                None => (None, text),
            };
            return address.parse().map(|address| Self::Tcp { address, owner }).map_err(|_| wrong());
        };
        let (owner, path) = match socket.split_once('@') {
            Some((owner, path)) if !owner.contains('/') => (Some(owner.parse().map_err(|_| wrong())?), path),
            _ => (None, socket),
        };
        if fits(path) { Ok(Self::Unix { path: path.into(), owner }) } else { Err(wrong()) }
    }
}

fn fits(socket_path: &str) -> bool {
    socket_path.starts_with('/') && socket_path.len() <= SOCKET_PATH_BYTES_MAX
}

impl TryFrom<String> for UpstreamAddress {
    type Error = TrafficError;

    fn try_from(text: String) -> Result<Self, TrafficError> {
        text.parse()
    }
}

impl From<UpstreamAddress> for String {
    fn from(address: UpstreamAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { address, owner: None } => address.fmt(f),
            Self::Tcp { address, owner: Some(owner) } => write!(f, "{owner}@{address}"),
            Self::Unix { path, owner: None } => write!(f, "unix:{}", path.display()),
            Self::Unix { path, owner: Some(owner) } => write!(f, "unix:{owner}@{}", path.display()),
            Self::Namespace { handover, address: None } => write!(f, "ns:unix@{}", handover.display()),
            Self::Namespace { handover, address: Some(address) } => write!(f, "ns:{address}@{}", handover.display()),
        }
    }
}

impl From<SocketAddr> for UpstreamAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp { address, owner: None }
    }
}
