//! Datagrams between processes that serve one port at once, as an upgrade has them for a while: either may read what belongs
//! to a connection of the other, and the old one leaves the socket to the new one. Unix sockets beside the control socket.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::task::Context;

use fairlead_reactor::Source;
use quinn_proto::EcnCodepoint;

use super::cid::Place;
use super::socket::Datagram;

/// Taken in at once, before the core looks at its own socket again.
const BATCH: usize = 64;
/// Code points of ECN, the address that was sent to and whether it is known, the sender's address and port.
const HEADER_BYTES: usize = 1 + 1 + 16 + 16 + 2;
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// What a process says when it begins to serve: no datagram is so short.
const HELLO: &[u8] = b"here";

/// One core's way to the same core of the other process, for one address.
pub(crate) struct Neighbours {
    /// Beside what the sockets lie.
    base: PathBuf,
    own: Option<Own>,
    place: Place,
    /// Which of the addresses.
    address: usize,
    buffer: Vec<u8>,
    /// A later process has begun to serve the same port.
    pub(crate) succeeded: bool,
}

/// The socket that others send to.
struct Own {
    socket: Source<UnixDatagram>,
    path: PathBuf,
}

impl Own {
    fn bind(path: PathBuf) -> io::Result<Self> {
        let socket = UnixDatagram::bind(&path)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Source::new(socket)?, path })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        if let Some(own) = &self.own
            && let Err(error) = std::fs::remove_file(&own.path)
        {
            tracing::debug!(%error, "a socket between proxies stays behind");
        }
    }
}

impl Neighbours {
    /// Listens, and tells those who serve already. Without a way to listen it only sends.
    pub(crate) fn open(base: &Path, place: Place, address: usize) -> Self {
        let mut opened =
            Self { base: base.to_owned(), own: None, place, address, buffer: Vec::new(), succeeded: false };
        match Own::bind(opened.path(place)) {
            Ok(own) => opened.own = Some(own),
            Err(error) => tracing::warn!(%error, "connections of HTTP/3 will not outlive an upgrade"),
        }
        if let Err(error) = opened.greet() {
            tracing::warn!(%error, "other proxies on this port can't be told");
        }
        opened
    }

    fn path(&self, place: Place) -> PathBuf {
        let [high, low] = place.generation;
        let mut path = self.base.clone().into_os_string();
        path.push(format!(".{high:02x}{low:02x}.{}.{}", place.core, self.address));
        path.into()
    }

    /// Tells all others of the same core and address; forgets those that are gone.
    fn greet(&self) -> io::Result<()> {
        let (Some(folder), Some(name)) = (self.base.parent(), self.base.file_name()) else { return Ok(()) };
        let (prefix, suffix) =
            (format!("{}.", name.to_string_lossy()), format!(".{}.{}", self.place.core, self.address));
        let own = self.path(self.place);
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_other = name.starts_with(&prefix) && name.ends_with(&suffix) && path != own;
            if is_other && !self.send(&path, HELLO) {
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// `false` when nobody listens there.
    fn send(&self, path: &Path, message: &[u8]) -> bool {
        let Some(own) = &self.own else { return false };
        match own.socket.get_ref().send_to(message, path) {
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused),
            Ok(_) => true,
        }
    }

    /// Passes a datagram on; `false` when nobody lives where it belongs. One that finds the other's queue full is lost.
    pub(crate) fn forward(&self, there: Place, datagram: &Datagram<'_>) -> bool {
        if there.generation == self.place.generation {
            return false;
        }
        let mut message = Vec::with_capacity(HEADER_BYTES + datagram.bytes.len());
        encode(datagram, &mut message);
        self.send(&self.path(there), &message)
    }

    /// Hands over what others have passed on; whether there may be more.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Datagram<'_>)) -> bool {
        let Some(Own { socket, .. }) = &self.own else { return false };
        for _ in 0..BATCH {
            if socket.poll_readable(cx).is_pending() {
                return false;
            }
            self.buffer.resize(HEADER_BYTES + DATAGRAM_BYTES_MAX, 0);
            // Nothing there: the next look registers for more.
            let Ok(length) = socket.try_read_by(|socket| socket.recv(&mut self.buffer)) else { continue };
            match &self.buffer[..length] {
                HELLO => self.succeeded = true,
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
        let mut old = Neighbours::open(&base, place([1, 1]), 0);
        let new = Neighbours::open(&base, place([2, 2]), 0);
        // Another core's, which is nobody's business here.
        let other = Neighbours::open(&base, Place { generation: [3, 3], core: 0 }, 0);
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
        let mut seen = Vec::new();
        poll_fn(|cx| {
            old.poll_receive(cx, |found| {
                seen.push((found.remote, found.local, found.ecn.map(|ecn| ecn as u8), found.bytes.to_vec()));
            });
            if seen.len() == 3 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        assert_eq!(seen, received);
        assert!(old.succeeded && !new.succeeded && !other.succeeded);
        drop((old, new, other));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_message_is_dropped() {
        assert!(decode(b"").is_none() && decode(&[0; HEADER_BYTES]).is_none());
        // Neither wide nor narrow in disguise.
        assert!(decode(&[1; HEADER_BYTES + 1]).is_none());
    }
}
