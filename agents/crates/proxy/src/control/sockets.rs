//! Listening sockets, held by both `run` and the proxy, so that either can die without a refused client.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_wire::local::{Listener, Listeners};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::{ProxyError, ProxyKeys};

/// Accept queue length of each core.
const BACKLOG: i32 = 4096;

/// Maximum number of ports to try if any port will do: the UDP port of a free TCP port may be taken.
const PORT_CHOICES_MAX: usize = 16;
/// Kernel buffer for datagrams, for each core and direction.
const DATAGRAM_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// TCP keepalive of client connections: the kernel probes a silent client after this time and closes its connection
/// after nine probes without an answer (tcp(7)).
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Time after which the kernel hands over a TLS client that has sent nothing, in seconds (`TCP_DEFER_ACCEPT`, tcp(7)).
/// Clients send their first bytes within one round trip; silent ones must soon count towards `connections_per_client`.
const DEFER_ACCEPT_SECONDS: libc::c_int = 1;

/// Protocol of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListenerKind {
    /// TLS, then HTTP/1.1 or HTTP/2.
    Https,
    /// HTTP/1.1; requests are redirected.
    Http,
    /// HTTP/3 over QUIC, on the UDP ports of the `Https` addresses.
    Quic,
}

/// Listening socket of one core.
#[derive(Debug)]
pub struct OwnedListener {
    /// Protocol of the socket.
    pub kind: ListenerKind,
    /// Address to which the socket is bound.
    pub address: SocketAddr,
    descriptor: OwnedFd,
}

impl OwnedListener {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { kind: self.kind, address: self.address, descriptor: self.descriptor.try_clone()? })
    }

    /// True if the socket accepts IPv4 as well as IPv6.
    pub(crate) fn takes_ipv4(&self) -> bool {
        self.address.is_ipv6() && SockRef::from(&self.descriptor).only_v6().is_ok_and(|only| !only)
    }

    pub(crate) fn into_tcp(self) -> io::Result<TcpListener> {
        let listener = TcpListener::from(self.descriptor);
        listener.set_nonblocking(true)?;
        // Applies here and not at the bind, so that sockets of an older proxy have it too.
        if self.kind == ListenerKind::Https
            && let Err(error) = defer_accept(&listener)
        {
            tracing::warn!(address = %self.address, %error, "TLS handshakes take more CPU: TCP_DEFER_ACCEPT can't be set");
        }
        Ok(listener)
    }

    pub(crate) fn into_udp(self) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(self.descriptor);
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}

impl AsFd for OwnedListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// All sockets of a proxy.
#[derive(Debug)]
pub struct ProxySockets {
    /// Listeners of all addresses and cores.
    pub listeners: Vec<OwnedListener>,
    control: UnixListener,
}

impl ProxySockets {
    /// Binds one socket for each address and core, and UDP sockets for QUIC beside those for HTTPS. Also binds the
    /// control socket, in place of that of a dead proxy.
    pub fn bind(
        https: &[SocketAddr],
        http: &[SocketAddr],
        cores: usize,
        control_path: &Path,
    ) -> Result<Self, ProxyError> {
        let mut listeners = Vec::new();
        for (kind, addresses) in [(ListenerKind::Https, https), (ListenerKind::Http, http)] {
            for address in addresses {
                let both = takes_ipv4(*address, https.iter().chain(http));
                let bound = match kind {
                    ListenerKind::Https => bind_https(*address, both, cores, &mut listeners),
                    _ => bind_group(kind, *address, both, cores, &mut listeners),
                };
                bound.map_err(|source| ProxyError::Bind { address: *address, source })?;
            }
        }
        Ok(Self { listeners, control: bind_control(control_path)? })
    }

    /// Builds the set from sockets of a proxy that could not hand them over itself; sockets without a `kind` are
    /// dropped.
    pub(crate) fn recover(
        descriptors: Vec<OwnedFd>,
        kind: impl Fn(SocketAddr) -> Option<ListenerKind>,
        control_path: &Path,
    ) -> Result<Self, ProxyError> {
        let listener = |descriptor: OwnedFd| {
            let address = SockRef::from(&descriptor).local_addr().ok()?.as_socket()?;
            Some(OwnedListener { kind: kind(address)?, address, descriptor })
        };
        let listeners = descriptors.into_iter().filter_map(listener).collect();
        Ok(Self { listeners, control: bind_control(control_path)? })
    }

    /// Binds missing QUIC sockets, which an older proxy did not have or which were lost. If another process holds a
    /// UDP port, only HTTP/3 on that address is lost.
    pub(crate) fn complete_quic(&mut self) {
        let cores = self.cores();
        let quic = self.addresses(ListenerKind::Quic);
        for address in self.addresses(ListenerKind::Https).into_iter().filter(|address| !quic.contains(address)) {
            let both = self.listeners.iter().any(|listener| listener.address == address && listener.takes_ipv4());
            bind_quic_or_warn(address, both, cores, &mut self.listeners);
        }
    }

    /// Binds a new control socket, because the queue of the old one may hold stale connections.
    pub(crate) fn renew_control(&mut self, control_path: &Path) -> Result<(), ProxyError> {
        self.control = bind_control(control_path)?;
        Ok(())
    }

    /// Returns the first address of a kind, with the bound port.
    pub fn address(&self, kind: ListenerKind) -> Option<SocketAddr> {
        self.listeners.iter().find(|listener| listener.kind == kind).map(|listener| listener.address)
    }

    /// Returns the distinct addresses of a kind.
    pub(crate) fn addresses(&self, kind: ListenerKind) -> Vec<SocketAddr> {
        let mut addresses: Vec<_> =
            self.listeners.iter().filter(|listener| listener.kind == kind).map(|listener| listener.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Returns the number of sockets for each address, which is one for each core.
    pub(crate) fn cores(&self) -> usize {
        let mut counts = std::collections::HashMap::new();
        for listener in &self.listeners {
            *counts.entry((listener.kind, listener.address)).or_insert(0usize) += 1;
        }
        counts.into_values().max().unwrap_or(1)
    }

    /// Returns a message with the names of the sockets and the keys, and the descriptors in the same order.
    pub(crate) fn describe(&self, keys: &ProxyKeys) -> (Listeners, Vec<BorrowedFd<'_>>) {
        let mut listeners = Vec::new();
        for listener in &self.listeners {
            let kind = match listener.kind {
                ListenerKind::Https => "https",
                ListenerKind::Http => "http",
                ListenerKind::Quic => "quic",
            };
            listeners.push(Listener { kind: kind.to_owned(), address: listener.address.to_string() });
        }
        listeners.push(Listener { kind: "control".to_owned(), address: String::new() });
        let descriptors = self.listeners.iter().map(|listener| listener.descriptor.as_fd());
        (Listeners { listeners, keys: Some(keys.message()) }, descriptors.chain([self.control.as_fd()]).collect())
    }

    /// Builds the set from a message and the descriptors that came with it.
    pub(crate) fn adopt(message: &Listeners, descriptors: Vec<OwnedFd>) -> Result<Self, ProxyError> {
        if message.listeners.len() != descriptors.len() {
            return Err(ProxyError::Protocol("sockets and their names differ in number"));
        }
        let (mut listeners, mut control) = (Vec::new(), None);
        for (listener, descriptor) in message.listeners.iter().zip(descriptors) {
            let kind = match listener.kind.as_str() {
                "https" => ListenerKind::Https,
                "http" => ListenerKind::Http,
                "quic" => ListenerKind::Quic,
                "control" => {
                    control = Some(UnixListener::from(descriptor));
                    continue;
                }
                _ => return Err(ProxyError::Protocol("a socket is of an unknown kind")),
            };
            let address = listener.address.parse().map_err(|_| ProxyError::Protocol("a socket has no address"))?;
            listeners.push(OwnedListener { kind, address, descriptor });
        }
        let control = control.ok_or(ProxyError::Protocol("the control socket is missing"))?;
        Ok(Self { listeners, control })
    }

    /// Returns the path of the control socket.
    pub(crate) fn control_path(&self) -> io::Result<PathBuf> {
        let address = self.control.local_addr()?;
        address.as_pathname().map(Path::to_owned).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    pub(crate) fn control(&self) -> io::Result<UnixListener> {
        let control = self.control.try_clone()?;
        control.set_nonblocking(true)?;
        Ok(control)
    }
}

fn bind_control(path: &Path) -> Result<UnixListener, ProxyError> {
    let at = |source| ProxyError::Control { path: PathBuf::from(path), source };
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(error)),
        _ => {}
    }
    UnixListener::bind(path).map_err(at)
}

/// True if `address` is `[::]` and accepts IPv4 too: always, unless `0.0.0.0` is configured on the same port.
pub(crate) fn takes_ipv4<'a>(address: SocketAddr, mut all: impl Iterator<Item = &'a SocketAddr>) -> bool {
    let is_its_twin = |other: &SocketAddr| {
        other.is_ipv4() && other.ip().is_unspecified() && other.port() == address.port() && address.port() != 0
    };
    address.is_ipv6() && address.ip().is_unspecified() && !all.any(is_its_twin)
}

/// Returns `0.0.0.0` in place of `[::]` if the error shows that IPv6 is disabled on this machine.
fn without_ipv6(address: SocketAddr, both: bool, error: &io::Error) -> Option<SocketAddr> {
    let off = matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL));
    (both && off).then(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
}

/// Binds TCP sockets and UDP sockets on the same port. A port that the system chooses is free for both.
fn bind_https(address: SocketAddr, both: bool, cores: usize, listeners: &mut Vec<OwnedListener>) -> io::Result<()> {
    let before = listeners.len();
    for _ in 0..PORT_CHOICES_MAX {
        bind_group(ListenerKind::Https, address, both, cores, listeners)?;
        let Some(bound) = listeners.last().map(|listener| listener.address) else { return Ok(()) };
        if address.port() != 0 {
            bind_quic_or_warn(bound, both && bound.is_ipv6(), cores, listeners);
            return Ok(());
        }
        match bind_quic(bound, both && bound.is_ipv6(), cores, listeners) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => listeners.truncate(before),
            bound => return bound,
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

fn bind_quic_or_warn(address: SocketAddr, both: bool, cores: usize, listeners: &mut Vec<OwnedListener>) {
    if let Err(error) = bind_quic(address, both, cores, listeners) {
        tracing::warn!(%address, %error, "HTTP/3 is not served: its UDP port can't be had");
    }
}

/// Binds one UDP socket for each core. The descriptors keep the port, and the datagrams that arrive while a proxy is
/// replaced.
fn bind_quic(address: SocketAddr, both: bool, cores: usize, listeners: &mut Vec<OwnedListener>) -> io::Result<()> {
    let socket = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(!both)?;
        }
        io::Result::Ok(socket)
    };
    // As for TCP: a first bind without SO_REUSEPORT shows whether the port is free.
    socket()?.bind(&address.into())?;
    for _ in 0..cores.max(1) {
        let socket = socket()?;
        socket.set_reuse_port(true)?;
        // The kernel may grant less; a burst of clients must not be lost while a core is busy.
        socket.set_recv_buffer_size(DATAGRAM_BUFFER_BYTES)?;
        socket.set_send_buffer_size(DATAGRAM_BUFFER_BYTES)?;
        socket.bind(&address.into())?;
        listeners.push(OwnedListener { kind: ListenerKind::Quic, address, descriptor: socket.into() });
    }
    Ok(())
}

fn bind_group(
    kind: ListenerKind,
    address: SocketAddr,
    both: bool,
    cores: usize,
    listeners: &mut Vec<OwnedListener>,
) -> io::Result<()> {
    let mut address = match check_port_is_free(address, both) {
        Ok(address) => address,
        Err(error) => match without_ipv6(address, both, &error) {
            Some(instead) => {
                tracing::warn!(%address, %instead, %error, "IPv6 is off on this machine: listening on IPv4 only");
                check_port_is_free(instead, false)?
            }
            None => return Err(error),
        },
    };
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL);
    for _ in 0..cores.max(1) {
        let socket = socket(address, both)?;
        socket.set_reuse_port(true)?;
        // Accepted sockets inherit both options, which saves system calls for each client.
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_keepalive(&keepalive)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        address = bound(&socket)?;
        listeners.push(OwnedListener { kind, address, descriptor: socket.into() });
    }
    Ok(())
}

/// Lets the kernel hand over a connection with its first bytes, so that a core needn't wait for the ClientHello.
#[allow(unsafe_code)]
fn defer_accept(listener: &TcpListener) -> io::Result<()> {
    let seconds = DEFER_ACCEPT_SECONDS;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel only reads `length` bytes of an integer of that size.
    let done = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast::<libc::c_void>(),
            length,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Checks that a port is free: SO_REUSEPORT would silently share it with another proxy of this user, and a bind
/// without it fails.
fn check_port_is_free(address: SocketAddr, both: bool) -> io::Result<SocketAddr> {
    let check_port_is_free = socket(address, both)?;
    check_port_is_free.bind(&address.into())?;
    bound(&check_port_is_free)
}

fn socket(address: SocketAddr, both: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!both)?;
    }
    Ok(socket)
}

fn bound(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_port_of_another_proxy_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let first = ProxySockets::bind(&[any], &[any], 2, &folder.path().join("a.sock")).unwrap();
        let taken = first.address(ListenerKind::Https).unwrap();
        let refused = ProxySockets::bind(&[taken], &[], 2, &folder.path().join("b.sock"));
        assert!(matches!(refused, Err(ProxyError::Bind { address, .. }) if address == taken));
        assert_eq!((first.cores(), first.listeners.len()), (2, 6));
        assert_eq!(first.addresses(ListenerKind::Quic), [taken]);
    }

    #[test]
    fn a_listener_on_all_addresses_is_reached_over_ipv4_too() {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "[::]:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[], 2, &folder.path().join("a.sock")).unwrap();
        let port = sockets.address(ListenerKind::Https).unwrap().port();
        std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        std::net::TcpStream::connect((std::net::Ipv6Addr::LOCALHOST, port)).unwrap();
        // With both addresses configured, each has its own sockets.
        let (six, four) = (SocketAddr::new(any.ip(), port), SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
        drop(sockets);
        let both = ProxySockets::bind(&[six, four], &[], 1, &folder.path().join("b.sock")).unwrap();
        assert_eq!(both.addresses(ListenerKind::Https), [four, six]);
    }

    #[test]
    fn without_ipv6_all_addresses_are_those_of_ipv4() {
        let off = io::Error::from_raw_os_error(libc::EAFNOSUPPORT);
        let any: SocketAddr = "[::]:443".parse().unwrap();
        assert_eq!(without_ipv6(any, true, &off), Some("0.0.0.0:443".parse().unwrap()));
        assert_eq!(without_ipv6(any, true, &io::ErrorKind::AddrInUse.into()), None);
        assert_eq!(without_ipv6("[::1]:443".parse().unwrap(), false, &off), None);
    }

    /// Connects a silent client, then one that sends a byte; returns whether the listener accepts the silent one first.
    fn accepts_silent_first(kind: ListenerKind) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[any], 1, &folder.path().join("a.sock")).unwrap();
        let listener = sockets.listeners.into_iter().find(|listener| listener.kind == kind).unwrap();
        let address = listener.address;
        let listener = listener.into_tcp().unwrap();
        listener.set_nonblocking(false).unwrap();
        let silent = std::net::TcpStream::connect(address).unwrap();
        let mut sender = std::net::TcpStream::connect(address).unwrap();
        sender.write_all(&[0x16]).unwrap();
        let (_, peer) = listener.accept().unwrap();
        peer == silent.local_addr().unwrap()
    }

    #[test]
    fn a_tls_client_is_accepted_with_its_first_bytes() {
        assert!(!accepts_silent_first(ListenerKind::Https));
        assert!(accepts_silent_first(ListenerKind::Http));
    }

    #[test]
    fn a_silent_tls_client_is_accepted_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[], 1, &folder.path().join("a.sock")).unwrap();
        let listener = sockets.listeners.into_iter().next().unwrap();
        let address = listener.address;
        let listener = listener.into_tcp().unwrap();
        listener.set_nonblocking(false).unwrap();
        let silent = std::net::TcpStream::connect(address).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer, silent.local_addr().unwrap());
    }

    #[test]
    fn client_connections_have_tcp_keepalive() {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[], 1, &folder.path().join("a.sock")).unwrap();
        let _client = std::net::TcpStream::connect(sockets.address(ListenerKind::Https).unwrap()).unwrap();
        let listener = TcpListener::from(sockets.listeners.into_iter().next().unwrap().descriptor);
        let (accepted, _) = listener.accept().unwrap();
        let accepted = SockRef::from(&accepted);
        assert!(accepted.keepalive().unwrap() && accepted.tcp_nodelay().unwrap());
        assert_eq!(accepted.tcp_keepalive_time().unwrap(), KEEPALIVE_IDLE);
    }
}
