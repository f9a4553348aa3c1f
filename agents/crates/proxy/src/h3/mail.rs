//! Datagrams that arrived on one core and belong to another: a client whose address changed keeps its connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn_proto::EcnCodepoint;
use tokio::sync::mpsc;

use super::cid::Place;
use super::socket::Datagram;

/// Datagrams that may wait for one core; more are dropped, as a full socket would.
const WAITING_MAX: usize = 1024;
/// Taken in at once, before the core looks at its own socket again.
const BATCH: usize = 64;

#[derive(Debug)]
struct Forwarded {
    remote: SocketAddr,
    local: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
    bytes: Box<[u8]>,
}

/// One core's letter box for one address, and the way to those of the others.
#[derive(Debug)]
pub(crate) struct Mail {
    received: mpsc::Receiver<Forwarded>,
    cores: Arc<[mpsc::Sender<Forwarded>]>,
}

/// Letter boxes for all cores, for one address.
pub(crate) fn boxes(cores: usize) -> Vec<Mail> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..cores).map(|_| mpsc::channel(WAITING_MAX)).unzip();
    let cores: Arc<[_]> = senders.into();
    receivers.into_iter().map(|received| Mail { received, cores: Arc::clone(&cores) }).collect()
}

impl Mail {
    /// Hands over what others have sent; whether there may be more.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Datagram<'_>)) -> bool {
        for _ in 0..BATCH {
            let Poll::Ready(Some(sent)) = self.received.poll_recv(cx) else { return false };
            take(Datagram { remote: sent.remote, local: sent.local, ecn: sent.ecn, bytes: &sent.bytes });
        }
        true
    }

    /// Sends a datagram to where it belongs; `false` when that is nowhere but here.
    pub(crate) fn forward(&self, here: Place, there: Place, datagram: &Datagram<'_>) -> bool {
        if there.generation != here.generation {
            return false;
        }
        let Some(core) = self.cores.get(usize::from(there.core)) else { return false };
        let (remote, local, ecn) = (datagram.remote, datagram.local, datagram.ecn);
        let sent = core.try_send(Forwarded { remote, local, ecn, bytes: datagram.bytes.into() });
        if sent.is_err() {
            tracing::debug!("a datagram for another core was dropped");
        }
        true
    }
}
