//! TCP sockets of this network namespace and their users, from the kernel's socket diagnostics (sock_diag(7)). TCP has no peer
//! credentials, and an address shows nothing: every local process may use all of 127.0.0.0/8.
//! Reads only: needs no rights and changes nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, getsockname, netlink, recv, send, socket_with,
};

/// Constants of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: u32 = 72;
/// Bytes of `struct inet_diag_msg`, which attributes follow.
const MESSAGE_BYTES: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_SKV6ONLY: u16 = 11;
const IPPROTO_TCP: u8 = 6;
/// Index of the loopback interface in every network namespace.
const LOOPBACK: u32 = 1;
/// Room for a part of a dump; the kernel sends at most 32 KiB at once.
const DUMP_BYTES: usize = 32 * 1024;

/// States of `net/tcp_states.h`.
const ESTABLISHED: u8 = 1;
const SYN_RECEIVED: u8 = 3;
const LISTEN: u8 = 10;

/// Socket for queries to the kernel. Its namespace is that of the thread that opened it.
#[derive(Debug)]
pub struct SocketDiagnostics {
    socket: OwnedFd,
    /// Number of the last query, which its answer repeats.
    sequence: AtomicU32,
}

/// TCP socket in the kernel's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// State, as in `net/tcp_states.h`.
    state: u8,
    /// Local address of the socket.
    pub local: SocketAddr,
    /// User of its process.
    pub user: u32,
    /// Number that `/proc/PID/fd` shows; zero if no process has it open.
    pub inode: u32,
    v6_only: bool,
}

impl TcpSocket {
    /// True if a listener accepts connections to `address`.
    pub fn covers(&self, address: IpAddr) -> bool {
        match (self.local.ip().to_canonical(), address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(address)) => own.is_unspecified() || own == address,
            (IpAddr::V6(own), IpAddr::V6(address)) => own.is_unspecified() || own == address,
            (IpAddr::V6(own), IpAddr::V4(_)) => own.is_unspecified() && !self.v6_only,
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }

    /// Reports whether `user` serves the connection that this socket is the server's end of; `None` if the kernel names no user
    /// yet. Before Linux 6.17 a connection has one only once a process has accepted it.
    fn is_served_by(&self, user: u32) -> Option<bool> {
        if self.inode != 0 || self.user != 0 {
            return Some(self.user == user);
        }
        match self.state {
            ESTABLISHED | SYN_RECEIVED => None,
            // A process accepted and closed it. The kernel no longer names its user.
            _ => Some(false),
        }
    }
}

impl SocketDiagnostics {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        Ok(Self { socket, sequence: AtomicU32::new(0) })
    }

    /// True if the kernel supports these queries; some are built without them.
    pub fn is_available() -> bool {
        let found = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            Self::open()?.listener(listener.local_addr()?)
        };
        found().is_ok_and(|listener| listener.is_some())
    }

    /// Returns the TCP socket with the address `local` and the peer `remote`.
    pub fn socket(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<TcpSocket>> {
        let mut found = None;
        self.ask(local, remote, None, |socket| found = Some(socket))?;
        Ok(found)
    }

    /// Returns the listener that the kernel gives connections to `address`.
    pub fn listener(&self, address: SocketAddr) -> io::Result<Option<TcpSocket>> {
        let none = match address.ip().to_canonical() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Ok(self.socket(address, SocketAddr::new(none, 0))?.filter(|socket| socket.state == LISTEN))
    }

    /// Returns all listeners that cover `address`. There are several if they share it (`SO_REUSEPORT`).
    pub fn listeners(&self, address: SocketAddr) -> io::Result<Vec<TcpSocket>> {
        let mut found = Vec::new();
        for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
            let (local, remote) = (SocketAddr::new(any, address.port()), SocketAddr::new(any, 0));
            self.ask(local, remote, Some(1 << LISTEN), |socket| found.push(socket))?;
        }
        found.retain(|socket| socket.covers(address.ip()));
        Ok(found)
    }

    /// Counts the established connections of the server at `address`. A listener for both families takes those over IPv4 with
    /// sockets of IPv6.
    pub fn connections(&self, address: SocketAddr) -> io::Result<u32> {
        let mut count = 0;
        for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
            let (local, remote) = (SocketAddr::new(any, address.port()), SocketAddr::new(any, 0));
            let is_own = |socket: TcpSocket| {
                socket.local.port() == address.port() && socket.local.ip().to_canonical() == address.ip().to_canonical()
            };
            self.ask(local, remote, Some(1 << ESTABLISHED), |socket| count += u32::from(is_own(socket)))?;
        }
        Ok(count)
    }

    /// Reports whether `user` serves a connection within this machine. `client` is this process's end, `address` the server's.
    ///
    /// The server's end of this very connection counts: a listener says nothing about connections that an earlier one took.
    pub fn is_served_by(&self, client: impl AsFd, address: SocketAddr, user: u32) -> io::Result<bool> {
        let own = SocketAddr::try_from(getsockname(client)?)?;
        let server = || self.socket(address, own);
        let Some(first) = server()? else { return Ok(false) };
        if let Some(known) = first.is_served_by(user) {
            return Ok(known);
        }
        // A connection that is accepted neither before nor after the query waits at a listener that was open meanwhile. The
        // kernel lets no other user listen beside it.
        let listener = self.listener(address)?;
        let Some(last) = server()? else { return Ok(false) };
        Ok(last.is_served_by(user).unwrap_or_else(|| listener.is_some_and(|listener| listener.user == user)))
    }

    /// Queries one socket, or all sockets on the port of `local` in the states of the mask `dump`.
    fn ask(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        dump: Option<u32>,
        mut each: impl FnMut(TcpSocket),
    ) -> io::Result<()> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        send(&self.socket, &request(local, remote, sequence, dump), SendFlags::empty())?;
        let (mut small, mut large) = ([0; 512], Vec::new());
        if dump.is_some() {
            large.resize(DUMP_BYTES, 0);
        }
        let bytes: &mut [u8] = if dump.is_some() { &mut large } else { &mut small };
        loop {
            // The kernel's answer is there as soon as the query is sent.
            let (count, _) = recv(&self.socket, &mut *bytes, RecvFlags::empty())?;
            let mut rest = bytes.get(..count).unwrap_or_default();
            while let Some((kind, number, message, next)) = message(rest) {
                rest = next;
                // Skips the rest of an earlier answer that was not read completely.
                if number != sequence {
                    continue;
                }
                match kind {
                    SOCK_DIAG_BY_FAMILY => {
                        if let Some(socket) = read(message) {
                            each(socket);
                        }
                        if dump.is_none() {
                            return Ok(());
                        }
                    }
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => return outcome(message),
                    _ => {}
                }
            }
        }
    }
}

/// Splits off the first message: its kind, the number of its query, its content, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let content = bytes.get(HEADER_BYTES..length)?;
    let next = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((u16_at(bytes, 4)?, u32_at(bytes, 8)?, content, next))
}

/// A socket that does not exist is no error.
fn outcome(message: &[u8]) -> io::Result<()> {
    let code = u32_at(message, 0).unwrap_or_default().cast_signed().saturating_neg();
    match code {
        0 | libc::ENOENT => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Reads `struct inet_diag_msg` and the attributes behind it.
fn read(message: &[u8]) -> Option<TcpSocket> {
    let family = u16::from(*message.first()?);
    let port = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    let ip: IpAddr = if family == AddressFamily::INET6.as_raw() {
        <[u8; 16]>::try_from(message.get(8..24)?).ok()?.into()
    } else {
        <[u8; 4]>::try_from(message.get(8..12)?).ok()?.into()
    };
    let mut attributes = message.get(MESSAGE_BYTES..).unwrap_or_default();
    let mut v6_only = false;
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length).max(4);
        if kind == INET_DIAG_SKV6ONLY {
            v6_only = attributes.get(4).is_some_and(|byte| *byte != 0);
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(TcpSocket {
        state: *message.get(1)?,
        local: SocketAddr::new(ip, port),
        user: u32_at(message, 64)?,
        inode: u32_at(message, 68)?,
        v6_only,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// Queries the one TCP socket with the address `local` and the peer `remote`, or all on the port of `local` in the states of
/// the mask `dump`.
fn request(local: SocketAddr, remote: SocketAddr, sequence: u32, dump: Option<u32>) -> Vec<u8> {
    let (local_ip, remote_ip) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let family = if local_ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let (flags, states) = dump.map_or((NLM_F_REQUEST, u32::MAX), |states| (NLM_F_REQUEST | NLM_F_DUMP, states));
    // Listeners that are bound to the loopback interface take connections too.
    let interface = if local_ip.is_loopback() { LOOPBACK } else { 0 };
    let mut bytes = Vec::new();
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([u8::try_from(family.as_raw()).unwrap_or_default(), IPPROTO_TCP, 0, 0]);
    bytes.extend(states.to_ne_bytes());
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    bytes.extend(address(local_ip));
    bytes.extend(address(remote_ip));
    bytes.extend(interface.to_ne_bytes());
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
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;

    use super::*;

    fn own_user() -> u32 {
        rustix::process::getuid().as_raw()
    }

    fn inode(socket: &impl AsRawFd) -> u32 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap().strip_prefix("socket:[").unwrap().strip_suffix(']').unwrap();
        text.parse().unwrap()
    }

    #[test]
    fn the_user_of_a_local_connection_is_known_whatever_address_it_came_from() {
        let diagnostics = SocketDiagnostics::open().unwrap();
        for address in ["127.0.0.1:0", "[::]:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let mut to = listener.local_addr().unwrap();
            if to.ip().is_unspecified() {
                to.set_ip("127.0.0.3".parse().unwrap());
            }
            let _client = TcpStream::connect(to).unwrap();
            let (socket, peer) = listener.accept().unwrap();
            let found = diagnostics.socket(peer, socket.local_addr().unwrap()).unwrap().unwrap();
            assert_eq!(found.user, own_user(), "{address}");
        }
    }

    #[test]
    fn a_connection_is_served_by_its_user_before_and_after_it_is_accepted() {
        let diagnostics = SocketDiagnostics::open().unwrap();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let to = listener.local_addr().unwrap();
            let client = TcpStream::connect(to).unwrap();
            let served = |user| diagnostics.is_served_by(&client, to, user).unwrap();
            assert_eq!((served(own_user()), served(own_user() + 1)), (true, false), "{address}: it waits");
            let accepted = listener.accept().unwrap();
            assert_eq!((served(own_user()), served(own_user() + 1)), (true, false), "{address}: it is accepted");
            drop((accepted, listener));
        }
    }

    #[test]
    fn a_user_is_told_by_accepted_sockets_and_otherwise_by_newer_kernels_only() {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let socket = |state, user, inode| TcpSocket { state, local, user, inode, v6_only: false };
        assert_eq!(socket(ESTABLISHED, 7, 9).is_served_by(7), Some(true));
        assert_eq!(socket(ESTABLISHED, 0, 9).is_served_by(7), Some(false), "root has accepted it");
        assert_eq!(socket(ESTABLISHED, 7, 0).is_served_by(7), Some(true));
        assert_eq!(socket(ESTABLISHED, 8, 0).is_served_by(7), Some(false));
        for waits in [ESTABLISHED, SYN_RECEIVED] {
            assert_eq!(socket(waits, 0, 0).is_served_by(7), None);
            assert_eq!(socket(waits, 0, 0).is_served_by(0), None, "no user is not root");
        }
        let closing = 4;
        assert_eq!(socket(closing, 0, 0).is_served_by(7), Some(false));
    }

    #[test]
    fn the_listeners_of_an_address_are_those_that_take_its_connections() {
        let diagnostics = SocketDiagnostics::open().unwrap();
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = four.local_addr().unwrap();
        let six_of_same_port = TcpListener::bind((Ipv6Addr::LOCALHOST, to.port()));
        let found = diagnostics.listeners(to).unwrap();
        assert_eq!(found.iter().map(|found| found.inode).collect::<Vec<_>>(), [inode(&four)]);
        assert_eq!(diagnostics.listener(to).unwrap().map(|found| found.inode), Some(inode(&four)));
        let closed = inode(&four);
        drop((four, six_of_same_port));
        // Another test may listen on the port by now.
        assert!(diagnostics.listeners(to).unwrap().iter().all(|found| found.inode != closed));
        assert!(diagnostics.listener(to).unwrap().is_none_or(|found| found.inode != closed));

        let both = TcpListener::bind("[::]:0").unwrap();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, both.local_addr().unwrap().port()));
        assert_eq!(diagnostics.listeners(to).unwrap()[0].inode, inode(&both), "dual-stack");
        assert_eq!(diagnostics.listener(to).unwrap().unwrap().inode, inode(&both));
    }

    #[test]
    fn listeners_that_share_an_address_are_all_found_and_those_of_ipv6_only_cover_no_ipv4() {
        use rustix::net::{bind, listen, sockopt};
        let open = |address: SocketAddr, v6_only: bool| {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
            sockopt::set_socket_reuseport(&socket, true).unwrap();
            if !address.is_ipv4() {
                sockopt::set_ipv6_v6only(&socket, v6_only).unwrap();
            }
            bind(&socket, &address).unwrap();
            listen(&socket, 1).unwrap();
            socket
        };
        let first = open(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), false);
        let to = SocketAddr::try_from(getsockname(&first).unwrap()).unwrap();
        let same = open(to, false);
        let all = open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, to.port())), false);
        let six = open(SocketAddr::from((Ipv6Addr::UNSPECIFIED, to.port())), true);
        let mut found: Vec<u32> =
            SocketDiagnostics::open().unwrap().listeners(to).unwrap().iter().map(|l| l.inode).collect();
        let mut expected = [&first, &same, &all].map(inode);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        drop(six);
    }

    #[test]
    fn only_the_established_connections_of_a_server_are_counted() {
        let diagnostics = SocketDiagnostics::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        assert_eq!(diagnostics.connections(to).unwrap(), 0);
        let clients = [(); 3].map(|()| TcpStream::connect(to).unwrap());
        assert_eq!(diagnostics.connections(to).unwrap(), 3);
        drop(clients);
        assert_eq!(diagnostics.connections(to).unwrap(), 0);
        let both = TcpListener::bind("[::]:0").unwrap();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, both.local_addr().unwrap().port()));
        let _client = TcpStream::connect(to).unwrap();
        assert_eq!(diagnostics.connections(to).unwrap(), 1);
    }

    #[test]
    fn a_connection_that_is_not_there_has_no_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (local, remote) = ("127.0.0.1:1".parse().unwrap(), listener.local_addr().unwrap());
        assert_eq!(SocketDiagnostics::open().unwrap().socket(local, remote).unwrap(), None);
        assert!(SocketDiagnostics::is_available());
    }
}
