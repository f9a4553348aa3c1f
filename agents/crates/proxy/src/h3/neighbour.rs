//! Datagrams between processes that serve one port at once, as an upgrade has them for a while: either may read what belongs
//! to a connection of the other, and the old one leaves the socket to the new one. Unix sockets beside the control socket.
//! Invariant: paths are used only before the process is confined. Afterwards it sends on descriptors that it has or receives.

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

use super::cid::{Generation, Place};
use super::socket::Datagram;

/// Taken in at once, before the core looks at its own socket again.
const BATCH: usize = 64;
/// Code points of ECN, the address that was sent to and whether it is known, the sender's address and port.
const HEADER_BYTES: usize = 1 + 1 + 16 + 16 + 2;
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// What a process says when it begins to serve: no datagram is so short.
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
pub(crate) struct NeighbourSockets {
    place: Place,
    /// Socket that others send to, and one connected to it that is passed to them.
    own: Option<(UnixDatagram, Other)>,
    others: Vec<Other>,
}

impl NeighbourSockets {
    /// Binds a socket at `base`, and connects to the sockets of the others. If it can't listen, it only sends.
    pub(crate) fn open(base: &Path, place: Place, address: usize) -> Self {
        let own = Self::bind(&path_of(base, place, address), place).unwrap_or_else(|error| {
            tracing::warn!(%error, "HTTP/3 connections will not survive an upgrade");
            None
        });
        let others = find_others(base, place, address).unwrap_or_else(|error| {
            tracing::warn!(%error, "can't find the sockets of other proxies on this port");
            Vec::new()
        });
        Self { place, own, others }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    fn bind(path: &Path, place: Place) -> io::Result<Option<(UnixDatagram, Other)>> {
        let socket = UnixDatagram::bind(path)?;
        socket.set_nonblocking(true)?;
        Ok(Other::at(path, place.generation)?.map(|way| (socket, way)))
    }
}

/// Removes unused sockets beside `base`: a confined process can't remove its own.
pub(crate) fn forget_neighbours(base: &Path) -> io::Result<()> {
    for (path, generation, _) in sockets_beside(base)? {
        if Other::at(&path, generation)?.is_none() {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns all others of the same core and address; forgets those that have ended.
fn find_others(base: &Path, place: Place, address: usize) -> io::Result<Vec<Other>> {
    let (mut others, wanted) = (Vec::new(), format!("{}.{address}", place.core));
    for (path, generation, slot) in sockets_beside(base)? {
        if generation == place.generation || slot != wanted {
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

fn path_of(base: &Path, place: Place, address: usize) -> PathBuf {
    let [high, low] = place.generation;
    let mut path = base.to_owned().into_os_string();
    path.push(format!(".{high:02x}{low:02x}.{}.{address}", place.core));
    path.into()
}

/// Channel from one core to the same core of the other processes, for one address.
pub(crate) struct Neighbours {
    own: Option<Source<UnixDatagram>>,
    others: Vec<Other>,
    buffer: Vec<u8>,
    /// A later process has begun to serve the same port.
    pub(crate) succeeded: bool,
}

impl Neighbours {
    /// Announces to the others that this process serves from now on, and passes each a socket to it.
    pub(crate) fn begin(sockets: NeighbourSockets) -> io::Result<Self> {
        let NeighbourSockets { place, own, mut others } = sockets;
        let way = [WAY, &place.generation].concat();
        // Processes of former versions know the first message only.
        others.retain(|other| other.send(HELLO, None) && other.send(&way, own.as_ref().map(|(_, own)| &own.way)));
        let own = own.map(|(socket, _)| Source::new(socket)).transpose()?;
        Ok(Self { own, others, buffer: Vec::new(), succeeded: false })
    }

    /// Passes a datagram on; `false` when nobody lives where it belongs. One that finds the other's queue full is lost.
    pub(crate) fn forward(&mut self, there: Place, datagram: &Datagram<'_>) -> bool {
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

    /// Hands over what others have passed on; whether there may be more.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Datagram<'_>)) -> bool {
        let Some(socket) = &self.own else { return false };
        for _ in 0..BATCH {
            if socket.poll_readable(cx).is_pending() {
                return false;
            }
            self.buffer.resize(HEADER_BYTES + DATAGRAM_BYTES_MAX, 0);
            // Nothing there: the next look registers for more.
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

/// Message, and the descriptor that came with it.
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
        let place = |generation| Place { generation, core: 1 };
        let open = |place| Neighbours::begin(NeighbourSockets::open(&base, place, 0)).unwrap();
        let mut old = open(place([1, 1]));
        let mut new = open(place([2, 2]));
        // Another core's, which is nobody's business here.
        let other = open(Place { generation: [3, 3], core: 0 });
        let mut received = Vec::new();
        for remote in ["192.0.2.1:5", "[2001:db8::1]:6", "[::ffff:192.0.2.1]:7"] {
            let remote: SocketAddr = remote.parse().unwrap();
            let datagram = Datagram {
                remote,
                local: Some("127.0.0.1".parse().unwrap()),
                ecn: EcnCodepoint::from_bits(2),
                bytes: b"packet",
            };
            assert!(new.forward(place([1, 1]), &datagram));
            assert!(!new.forward(place([9, 9]), &datagram) && !new.forward(place([2, 2]), &datagram));
            received.push((remote, datagram.local, Some(2), b"packet".to_vec()));
        }
        assert_eq!(taken(&mut old, 3).await, received);
        assert!(old.succeeded && !new.succeeded && !other.succeeded);
        // The old process received its socket to the new one, and needs no path for it.
        std::fs::remove_file(path_of(&base, place([2, 2]), 0)).unwrap();
        let datagram = Datagram { remote: "192.0.2.1:5".parse().unwrap(), local: None, ecn: None, bytes: b"back" };
        assert!(old.forward(place([2, 2]), &datagram));
        assert_eq!(taken(&mut new, 1).await[0].3, b"back");
        drop(new);
        assert!(!old.forward(place([2, 2]), &datagram), "nobody reads it");
        forget_neighbours(&base).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "those that live stay");
        drop((old, other));
        forget_neighbours(&base).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    type Seen = (SocketAddr, Option<IpAddr>, Option<u8>, Vec<u8>);

    async fn taken(neighbours: &mut Neighbours, count: usize) -> Vec<Seen> {
        let mut seen = Vec::new();
        poll_fn(|cx| {
            neighbours.poll_receive(cx, |found| {
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
        // Neither wide nor narrow in disguise.
        assert!(decode(&[1; HEADER_BYTES + 1]).is_none());
    }
}
