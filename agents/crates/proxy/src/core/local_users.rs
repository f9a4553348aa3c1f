//! Finds the user at the other end of a local connection.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use fairlead_base::sock_diag::SocketDiagnostics;
use rustix::net::getsockname;

/// Netlink socket of a core for queries about users of connections.
#[derive(Debug)]
pub(crate) struct LocalUsers(Option<SocketDiagnostics>);

impl LocalUsers {
    pub(super) fn new() -> Self {
        let diagnostics = SocketDiagnostics::open();
        if let Err(error) = &diagnostics {
            tracing::info!(%error, "can't tell users of local connections apart; all count as one");
        }
        Self(diagnostics.ok())
    }

    /// Returns the user at the other end of `socket` with the remote address `peer`; `None` if the kernel does not
    /// report it.
    pub(crate) fn user_of(&self, socket: impl AsFd, peer: SocketAddr) -> Option<u32> {
        let own = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
        match self.0.as_ref()?.socket(peer, own) {
            Ok(found) => found.map(|found| found.user),
            Err(error) => {
                tracing::debug!(%error, "the user of a local connection is unknown");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_user_of_a_local_connection_is_known_whatever_address_it_came_from() {
        let users = LocalUsers::new();
        for address in ["127.0.0.1:0", "[::]:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let mut to = listener.local_addr().unwrap();
            if to.ip().is_unspecified() {
                to.set_ip("127.0.0.3".parse().unwrap());
            }
            let _client = TcpStream::connect(to).unwrap();
            let (socket, peer) = listener.accept().unwrap();
            assert_eq!(users.user_of(&socket, peer), Some(rustix::process::getuid().as_raw()), "{address}");
        }
    }

    #[test]
    fn a_connection_that_is_not_there_has_no_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(LocalUsers::new().user_of(&listener, "127.0.0.1:1".parse().unwrap()), None);
    }
}
