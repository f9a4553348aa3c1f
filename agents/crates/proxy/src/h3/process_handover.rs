//! Forwards datagrams between two processes on one port during an upgrade, over Unix sockets beside the control
//! socket. Invariant: paths are opened only before the process is confined; later it sends on descriptors only.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::task::Context;

use fairlead_reactor::Source;
use quinn_proto::EcnCodepoint;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use super::routing_id::{Generation, QuicRoutingId};
use super::socket::Datagram;

/// Maximum number of datagrams received before the core reads its own socket again.
const BATCH: usize = 64;
/// Layout: ECN code point, flag for a known local address, local address, remote address and port.
const HEADER_BYTES: usize = 1 + 1 + 16 + 16 + 2;
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// Message of a process that starts to serve. No forwarded datagram is as short.
const HELLO: &[u8] = b"here";
/// Prefix of the message with the new process's generation and a descriptor to send to it. No datagram is so short.
const WAY: &[u8] = b"way:";
/// Maximum number of known processes; a further one replaces the one that has been known longest.
const OTHERS_MAX: usize = 16;

/// Process on the same port, and a socket that is connected to it.
struct Other {
    generation: Generation,
    way: UnixDatagram,
}

impl Other {
    /// Returns `None` if no process listens at `path`.
    fn at(path: &Path, generation: Generation) -> io::Result<Option<Self>> {
        let way = UnixDatagram::unbound()?;
        way.set_nonblocking(true)?;
        match way.connect(path) {
            Ok(()) => Ok(Some(Self { generation, way })),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a datagram; returns `false` if the process has ended. A datagram that finds a full queue is lost.
    fn send(&self, message: &[u8], passed: Option<&UnixDatagram>) -> bool {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let passed = passed.map(|socket| [socket.as_fd()]);
        if let Some(passed) = &passed {
            control.push(SendAncillaryMessage::ScmRights(passed));
        }
        match sendmsg(&self.way, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL) {
            Err(error) => !matches!(
                io::Error::from(error).kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected
            ),
            Ok(_) => true,
        }
    }
}

/// Sockets from one core to the same core of the other processes, for one address.
pub(crate) struct HandoverSockets {
    routing_id: QuicRoutingId,
    /// Socket that others send to, and one connected to it that is passed to them.
    own: Option<(UnixDatagram, Other)>,
    others: Vec<Other>,
}

impl HandoverSockets {
    /// Binds a socket at `base`, and connects to the sockets of the others. If it can't listen, it only sends.
    pub(crate) fn open(base: &Path, routing_id: QuicRoutingId, address: usize) -> Self {
        let own = Self::bind(&path_of(base, routing_id, address), routing_id).unwrap_or_else(|error| {
            tracing::warn!(%error, "HTTP/3 connections will not survive an upgrade");
            None
        });
        let others = find_others(base, routing_id, address).unwrap_or_else(|error| {
            tracing::warn!(%error, "can't find the sockets of other proxies on this port");
            Vec::new()
        });
        Self { routing_id, own, others }
    }

    pub(crate) fn routing_id(&self) -> QuicRoutingId {
        self.routing_id
    }

    fn bind(path: &Path, routing_id: QuicRoutingId) -> io::Result<Option<(UnixDatagram, Other)>> {
        let socket = UnixDatagram::bind(path)?;
        socket.set_nonblocking(true)?;
        Ok(Other::at(path, routing_id.generation)?.map(|way| (socket, way)))
    }
}

/// Removes unused sockets beside `base`: a confined process can't remove its own.
pub(crate) fn remove_stale_sockets(base: &Path) -> io::Result<()> {
    for (path, generation, _) in sockets_beside(base)? {
        if Other::at(&path, generation)?.is_none() {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns all others of the same core and address; forgets those that have ended.
fn find_others(base: &Path, routing_id: QuicRoutingId, address: usize) -> io::Result<Vec<Other>> {
    let (mut others, wanted) = (Vec::new(), format!("{}.{address}", routing_id.core));
    for (path, generation, slot) in sockets_beside(base)? {
        if generation == routing_id.generation || slot != wanted {
            continue;
        }
        match Other::at(&path, generation)? {
            Some(other) => others.push(other),
            None => std::fs::remove_file(&path)?,
        }
    }
    Ok(others)
}

/// Lists paths, generations, and cores with addresses, of the sockets beside `base`.
fn sockets_beside(base: &Path) -> io::Result<Vec<(PathBuf, Generation, String)>> {
    let (Some(folder), Some(name)) = (base.parent(), base.file_name()) else { return Ok(Vec::new()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}.", name.to_string_lossy());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((generation, slot)) = name.strip_prefix(&prefix).and_then(read_name) else { continue };
        if entry.file_type()?.is_socket() {
            found.push((entry.path(), generation, slot.to_owned()));
        }
    }
    Ok(found)
}

/// Parses a generation, and a core with an address.
fn read_name(name: &str) -> Option<(Generation, &str)> {
    let (generation, slot) = name.split_once('.')?;
    let (core, address) = slot.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = generation.len() == 4 && is_number(core) && is_number(address);
    let generation = u16::from_str_radix(generation, 16).ok().filter(|_| is_whole)?;
    Some((generation.to_be_bytes(), slot))
}

fn path_of(base: &Path, routing_id: QuicRoutingId, address: usize) -> PathBuf {
    let [high, low] = routing_id.generation;
    let mut path = base.to_owned().into_os_string();
    path.push(format!(".{high:02x}{low:02x}.{}.{address}", routing_id.core));
    path.into()
}

/// Channel from one core to the same core of the other processes, for one address.
pub(crate) struct ProcessHandover {
    own: Option<Source<UnixDatagram>>,
    others: Vec<Other>,
    buffer: Vec<u8>,
    /// True after a later process has started to serve the same port.
    pub(crate) succeeded: bool,
}

impl ProcessHandover {
    /// Announces to the others that this process serves from now on, and passes each a socket to it.
    pub(crate) fn begin(sockets: HandoverSockets) -> io::Result<Self> {
        let HandoverSockets { routing_id, own, mut others } = sockets;
        let way = [WAY, &routing_id.generation].concat();
        // Processes of former versions know the first message only.
        others.retain(|other| other.send(HELLO, None) && other.send(&way, own.as_ref().map(|(_, own)| &own.way)));
        let own = own.map(|(socket, _)| Source::new(socket)).transpose()?;
        Ok(Self { own, others, buffer: Vec::new(), succeeded: false })
    }

    /// Forwards a datagram; returns `false` if its process is unknown or has ended. A datagram that finds a full queue
    /// is lost.
    pub(crate) fn forward(&mut self, there: QuicRoutingId, datagram: &Datagram<'_>) -> bool {
        let Some(index) = self.others.iter().position(|other| other.generation == there.generation) else {
            return false;
        };
        let mut message = Vec::with_capacity(HEADER_BYTES + datagram.bytes.len());
        encode(datagram, &mut message);
        let lives = self.others[index].send(&message, None);
        if !lives {
            self.others.remove(index);
        }
        lives
    }

    /// Passes on datagrams from other processes; returns true if there may be more.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Datagram<'_>)) -> bool {
        let Some(socket) = &self.own else { return false };
        for _ in 0..BATCH {
            if socket.poll_readable(cx).is_pending() {
                return false;
            }
            self.buffer.resize(HEADER_BYTES + DATAGRAM_BYTES_MAX, 0);
            // Empty: the next poll registers for more.
            let Ok((length, passed)) = socket.try_read_by(|socket| receive(socket, &mut self.buffer)) else { continue };
            match &self.buffer[..length] {
                HELLO => self.succeeded = true,
                [way @ .., high, low] if way == WAY => {
                    if let Some(way) = passed.map(UnixDatagram::from) {
                        self.others.truncate(OTHERS_MAX - 1);
                        self.others.insert(0, Other { generation: [*high, *low], way });
                    }
                }
                message => {
                    if let Some(datagram) = decode(message) {
                        take(datagram);
                    }
                }
            }
        }
        true
    }
}

/// Receives a message and the descriptor that came with it.
fn receive(socket: &UnixDatagram, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut passed = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            passed = descriptors.last();
        }
    }
    Ok((received.bytes, passed))
}

fn encode(datagram: &Datagram<'_>, out: &mut Vec<u8>) {
    out.push(datagram.ecn.map_or(0, |ecn| ecn as u8));
    out.push(datagram.local.is_some().into());
    for address in [datagram.local.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), datagram.remote.ip()] {
        let wide = match address {
            IpAddr::V4(narrow) => narrow.to_ipv6_mapped(),
            IpAddr::V6(wide) => wide,
        };
        out.extend_from_slice(&wide.octets());
    }
    out.extend_from_slice(&datagram.remote.port().to_be_bytes());
    out.push(u8::from(datagram.remote.is_ipv6()) << 1 | u8::from(datagram.local.is_some_and(|local| local.is_ipv6())));
    out.extend_from_slice(datagram.bytes);
}

fn decode(message: &[u8]) -> Option<Datagram<'_>> {
    let (header, rest) = message.split_first_chunk::<HEADER_BYTES>()?;
    let (wide, bytes) = rest.split_first()?;
    let address = |octets: &[u8], is_wide: bool| {
        let address = Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?);
        if is_wide { Some(address.into()) } else { address.to_ipv4_mapped().map(IpAddr::from) }
    };
    let local = if header[1] == 1 { Some(address(&header[2..18], wide & 1 != 0)?) } else { None };
    let remote =
        SocketAddr::new(address(&header[18..34], wide & 2 != 0)?, u16::from_be_bytes([header[34], header[35]]));
    Some(Datagram { remote, local, ecn: EcnCodepoint::from_bits(header[0]), bytes })
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[test]
    fn two_processes_pass_datagrams_on_and_the_older_one_knows_of_the_newer() {
        fairlead_reactor::block_on(datagrams_pass()).unwrap();
    }

    async fn datagrams_pass() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("proxy.sock");
        let routing_id = |generation| QuicRoutingId { generation, core: 1 };
        let open = |routing_id| ProcessHandover::begin(HandoverSockets::open(&base, routing_id, 0)).unwrap();
        let mut old = open(routing_id([1, 1]));
        let mut new = open(routing_id([2, 2]));
        // Belongs to another core, so it receives nothing here.
        let other = open(QuicRoutingId { generation: [3, 3], core: 0 });
        let mut received = Vec::new();
        for remote in ["192.0.2.1:5", "[2001:db8::1]:6", "[::ffff:192.0.2.1]:7"] {
            let remote: SocketAddr = remote.parse().unwrap();
            let datagram = Datagram {
                remote,
                local: Some("127.0.0.1".parse().unwrap()),
                ecn: EcnCodepoint::from_bits(2),
                bytes: b"packet",
            };
            assert!(new.forward(routing_id([1, 1]), &datagram));
            assert!(!new.forward(routing_id([9, 9]), &datagram) && !new.forward(routing_id([2, 2]), &datagram));
            received.push((remote, datagram.local, Some(2), b"packet".to_vec()));
        }
        assert_eq!(taken(&mut old, 3).await, received);
        assert!(old.succeeded && !new.succeeded && !other.succeeded);
        // The old process received its socket to the new one, and needs no path for it.
        std::fs::remove_file(path_of(&base, routing_id([2, 2]), 0)).unwrap();
        let datagram = Datagram { remote: "192.0.2.1:5".parse().unwrap(), local: None, ecn: None, bytes: b"back" };
        assert!(old.forward(routing_id([2, 2]), &datagram));
        assert_eq!(taken(&mut new, 1).await[0].3, b"back");
        drop(new);
        assert!(!old.forward(routing_id([2, 2]), &datagram), "nobody reads it");
        remove_stale_sockets(&base).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "those that live stay");
        drop((old, other));
        remove_stale_sockets(&base).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    type ReceivedDatagram = (SocketAddr, Option<IpAddr>, Option<u8>, Vec<u8>);

    async fn taken(handover: &mut ProcessHandover, count: usize) -> Vec<ReceivedDatagram> {
        let mut seen = Vec::new();
        poll_fn(|cx| {
            handover.poll_receive(cx, |found| {
                seen.push((found.remote, found.local, found.ecn.map(|ecn| ecn as u8), found.bytes.to_vec()));
            });
            if seen.len() == count { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        seen
    }

    #[test]
    fn what_is_no_message_is_dropped() {
        assert!(decode(b"").is_none() && decode(&[0; HEADER_BYTES]).is_none());
        // Neither IPv6 nor IPv4-mapped.
        assert!(decode(&[1; HEADER_BYTES + 1]).is_none());
    }
}
