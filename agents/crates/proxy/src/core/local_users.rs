//! User at the other end of a connection within this machine, from the kernel's socket diagnostics. TCP has no peer credentials,
//! and the address shows nothing: every local process may use all of 127.0.0.0/8.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, getsockname, netlink, recv, send, socket_with,
};

/// Constants of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: u32 = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const UID_AT: usize = HEADER_BYTES + 4 + 48 + 3 * 4;
const IPPROTO_TCP: u8 = 6;

/// Socket of a core for such queries.
#[derive(Debug)]
pub(crate) struct LocalUsers(Option<OwnedFd>);

impl LocalUsers {
    pub(super) fn new() -> Self {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG));
        if let Err(error) = &socket {
            tracing::info!(%error, "can't tell users of local connections apart; all count as one");
        }
        Self(socket.ok())
    }

    /// Returns the user at the other end of `socket`, whose address is `peer`; `None` if the kernel does not tell.
    pub(crate) fn user_of(&self, socket: impl AsFd, peer: SocketAddr) -> Option<u32> {
        let own = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
        match self.ask(&request(peer, own)) {
            Ok(user) => user,
            Err(error) => {
                tracing::debug!(%error, "the user of a local connection is unknown");
                None
            }
        }
    }

    fn ask(&self, request: &[u8]) -> io::Result<Option<u32>> {
        let Some(diagnostics) = &self.0 else { return Ok(None) };
        send(diagnostics, request, SendFlags::empty())?;
        let mut answer = [0; 512];
        // The kernel's answer is there as soon as the query is sent.
        let (count, _) = recv(diagnostics, &mut answer, RecvFlags::empty())?;
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        let user = answer[..count].get(UID_AT..UID_AT + 4).and_then(|bytes| bytes.try_into().ok());
        Ok(user.filter(|_| kind == SOCK_DIAG_BY_FAMILY).map(u32::from_ne_bytes))
    }
}

/// Queries the one TCP socket with the address `local` and the peer `remote`.
fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let (local_ip, remote_ip) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let family = if local_ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = Vec::new();
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([u8::try_from(family.as_raw()).unwrap_or_default(), IPPROTO_TCP, 0, 0]);
    // Any state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    bytes.extend(address(local_ip));
    bytes.extend(address(remote_ip));
    bytes.extend([0; 4]);
    // No cookie: any socket matches.
    bytes.extend([0xff; 8]);
    bytes
}

fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        }
        IpAddr::V6(address) => address.octets(),
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
