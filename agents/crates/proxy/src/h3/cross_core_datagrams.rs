//! Channels for datagrams that arrived on one core and belong to another, so that a client keeps its connection when
//! its address changes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn_proto::EcnCodepoint;
use tokio::sync::mpsc;

use super::routing_id::QuicRoutingId;
use super::socket::Datagram;

/// Maximum number of queued datagrams for one core; further ones are dropped, as by a full socket.
const WAITING_MAX: usize = 1024;
/// Maximum number of datagrams received before the core reads its own socket again.
const BATCH: usize = 64;

#[derive(Debug)]
struct ForwardedDatagram {
    remote: SocketAddr,
    local: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
    bytes: Box<[u8]>,
}

/// Receiver of one core for one address, and the senders to all cores.
#[derive(Debug)]
pub(crate) struct CrossCoreDatagrams {
    received: mpsc::Receiver<ForwardedDatagram>,
    cores: Arc<[mpsc::Sender<ForwardedDatagram>]>,
}

/// Creates the channels of all cores for one address.
pub(crate) fn channels(cores: usize) -> Vec<CrossCoreDatagrams> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..cores).map(|_| mpsc::channel(WAITING_MAX)).unzip();
    let cores: Arc<[_]> = senders.into();
    receivers.into_iter().map(|received| CrossCoreDatagrams { received, cores: Arc::clone(&cores) }).collect()
}

impl CrossCoreDatagrams {
    /// Passes on datagrams from other cores; returns true if there may be more.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Datagram<'_>)) -> bool {
        for _ in 0..BATCH {
            let Poll::Ready(Some(sent)) = self.received.poll_recv(cx) else { return false };
            take(Datagram { remote: sent.remote, local: sent.local, ecn: sent.ecn, bytes: &sent.bytes });
        }
        true
    }

    /// Forwards a datagram to its core; returns `false` if it belongs to another process or to no core.
    pub(crate) fn forward(&self, here: QuicRoutingId, there: QuicRoutingId, datagram: &Datagram<'_>) -> bool {
        if there.generation != here.generation {
            return false;
        }
        let Some(core) = self.cores.get(usize::from(there.core)) else { return false };
        let (remote, local, ecn) = (datagram.remote, datagram.local, datagram.ecn);
        let sent = core.try_send(ForwardedDatagram { remote, local, ecn, bytes: datagram.bytes.into() });
        if sent.is_err() {
            tracing::debug!("a datagram for another core was dropped");
        }
        true
    }
}
