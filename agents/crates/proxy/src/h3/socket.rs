//! UDP socket of a core: sends and receives many datagrams for each system call, if the kernel can (GSO, GRO,
//! recvmmsg).

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket as StdUdpSocket};
use std::task::{Context, Poll, ready};

use fairlead_reactor::Source;
use quinn_proto::EcnCodepoint;
use quinn_udp::{RecvMeta, UdpSocketState};

/// Number of buffers filled by one system call.
const BATCH: usize = 16;
/// Size of a buffer: the kernel may coalesce datagrams up to this size.
const BUFFER_BYTES: usize = 64 * 1024;
/// Maximum datagrams for one send: what the kernel can split (64 KiB at 1,452 bytes each).
const SEGMENTS_MAX: usize = 44;

/// Cost of a byte in datagrams, which QUIC seals one by one, as a multiple of that of a byte over TCP.
const DATAGRAM_COST: usize = 4;

/// Received datagram, from a socket, a core or a process.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) remote: SocketAddr,
    /// Local address that it was sent to.
    pub(crate) local: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
    pub(crate) bytes: &'a [u8],
}

/// A bound socket with its buffers.
pub(crate) struct QuicSocket {
    udp: Source<StdUdpSocket>,
    state: UdpSocketState,
    buffers: Box<[u8]>,
    metas: [RecvMeta; BATCH],
}

impl QuicSocket {
    pub(crate) fn new(socket: StdUdpSocket, state: UdpSocketState) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let udp = Source::new(socket)?;
        Ok(Self { udp, state, buffers: vec![0; BATCH * BUFFER_BYTES].into(), metas: [RecvMeta::default(); BATCH] })
    }

    /// True if routers never fragment the datagrams, so that path MTU discovery works.
    pub(crate) fn may_probe_mtu(&self) -> bool {
        !self.state.may_fragment()
    }

    /// Returns the maximum number of datagrams in one `send`.
    pub(crate) fn segments_max(&self) -> usize {
        self.state.max_gso_segments().clamp(1, SEGMENTS_MAX)
    }

    /// Passes on the datagrams of one system call; `false` when there is nothing more for now.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(Datagram<'_>),
    ) -> Poll<io::Result<()>> {
        let Self { udp, state, buffers, metas } = self;
        loop {
            ready!(udp.poll_readable(cx));
            let mut received = 0;
            let result = udp.try_read_by(|udp| {
                let mut slices = buffers.chunks_exact_mut(BUFFER_BYTES).map(IoSliceMut::new);
                let mut slices: [IoSliceMut<'_>; BATCH] =
                    std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
                received = state.recv(udp.into(), &mut slices, metas)?;
                // A call that could have brought more has emptied the socket: no other is needed to learn that.
                if received < BATCH { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            let bytes: usize = metas[..received].iter().map(|meta| meta.len).sum();
            udp.spend(DATAGRAM_COST * bytes);
            for (meta, buffer) in metas.iter().zip(buffers.chunks_exact(BUFFER_BYTES)).take(received) {
                for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    take(Datagram { remote: meta.addr, local: meta.dst_ip, ecn: meta.ecn.and_then(ecn_in), bytes });
                }
            }
            match result {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Err(_) if received > 0 => return Poll::Ready(Ok(())),
                Err(_) => {}
            }
        }
    }

    /// Sends; `false` when the socket takes nothing now. What the network refuses is lost, as datagrams may be.
    pub(crate) fn send(&self, transmit: &quinn_proto::Transmit, bytes: &[u8]) -> bool {
        let transmit = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(ecn_out),
            contents: &bytes[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.udp.spend(DATAGRAM_COST * transmit.contents.len());
        match self.udp.try_write_by(|udp| self.state.try_send(udp.into(), &transmit)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => {
                tracing::debug!(destination = %transmit.destination, %error, "a datagram was not sent");
                true
            }
            Ok(()) => true,
        }
    }

    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.udp.poll_writable(cx)
    }
}

fn ecn_in(ecn: quinn_udp::EcnCodepoint) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn as u8)
}

fn ecn_out(ecn: EcnCodepoint) -> Option<quinn_udp::EcnCodepoint> {
    quinn_udp::EcnCodepoint::from_bits(ecn as u8)
}
