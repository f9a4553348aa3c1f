//! Connections to the measured app or proxy. An app with its own network is reached as the proxy does it: with sockets that the
//! instance's shim hands over.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use fairlead_base::handover::{self, HandoverRequest, SOCKETS_MAX};
use fairlead_model::UpstreamAddress;
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::sync::{Mutex, MutexGuard};

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection without TLS.
#[derive(Debug)]
pub(crate) enum PlainConnection {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Unconnected sockets of an instance's network namespace, which the clients of one worker share.
#[derive(Debug, Default)]
pub(crate) struct ClientSockets(Mutex<Vec<OwnedFd>>);

impl ClientSockets {
    /// Connects to `address`.
    pub(crate) async fn connect(&self, address: &UpstreamAddress) -> io::Result<PlainConnection> {
        let stream = match address {
            UpstreamAddress::Tcp { address, .. } => TcpStream::connect(address).await?,
            UpstreamAddress::Namespace { handover, address: Some(address) } => {
                let socket = TcpSocket::from_std_stream(self.take(handover, *address).await?.into());
                socket.connect(*address).await?
            }
            UpstreamAddress::Namespace { handover, address: None } => {
                let socket =
                    request(handover, HandoverRequest::Unix).await?.pop().ok_or(io::ErrorKind::ConnectionRefused)?;
                return Ok(PlainConnection::Unix(UnixStream::from_std(socket.into())?));
            }
            UpstreamAddress::Unix { path, owner } => {
                let stream = UnixStream::connect(path).await?;
                // The app owns the folder: a link in it could lead the agent, with its higher rights, to another program's
                // socket.
                if let Some(owner) = owner
                    && stream.peer_cred()?.uid() != *owner
                {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                return Ok(PlainConnection::Unix(stream));
            }
        };
        stream.set_nodelay(true)?;
        Ok(PlainConnection::Tcp(stream))
    }

    /// Requests a batch of sockets if none is left.
    pub(crate) async fn fill(&self, address: &UpstreamAddress) -> io::Result<()> {
        if let UpstreamAddress::Namespace { handover, address: Some(address) } = address {
            drop(self.filled(handover, *address).await?);
        }
        Ok(())
    }

    async fn take(&self, handover: &Path, address: SocketAddr) -> io::Result<OwnedFd> {
        self.filled(handover, address).await?.pop().ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }

    /// Holds the lock during the request: the other clients get their sockets from the same batch.
    async fn filled(&self, handover: &Path, address: SocketAddr) -> io::Result<MutexGuard<'_, Vec<OwnedFd>>> {
        let mut sockets = self.0.lock().await;
        if sockets.is_empty() {
            *sockets = request(handover, HandoverRequest::sockets_for(address, SOCKETS_MAX)).await?;
        }
        Ok(sockets)
    }
}

/// Returns whether an address belongs to another machine. A bind succeeds for the addresses of this one only.
pub(crate) fn is_elsewhere(address: &UpstreamAddress) -> bool {
    let UpstreamAddress::Tcp { address, .. } = address else { return false };
    let mut own = *address;
    own.set_port(0);
    UdpSocket::bind(own).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

/// Requests sockets from the shim that listens at `path`.
async fn request(path: &Path, request: HandoverRequest) -> io::Result<Vec<OwnedFd>> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no socket was handed over within 10 s");
    tokio::time::timeout(CONNECT_TIMEOUT, handover::ask(path, request)).await.unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_here_and_an_address_of_documentation_is_elsewhere() {
        for here in ["127.0.0.1:80", "127.3.2.1:443"] {
            assert!(!is_elsewhere(&here.parse::<SocketAddr>().unwrap().into()), "{here}");
        }
        // RFC 5737 reserves it.
        assert!(is_elsewhere(&"192.0.2.1:80".parse::<SocketAddr>().unwrap().into()));
        assert!(!is_elsewhere(&UpstreamAddress::Unix { path: "/run/app".into(), owner: None }));
    }
}
