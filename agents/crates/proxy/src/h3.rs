//! HTTP/3 server: `quinn-proto` and `quinn-udp` implement QUIC, `fairlead-h3` the HTTP/3 frames. Invariant: each
//! request stream is an exchange in its own task, all on one core thread and without locks.

mod connection;
mod cross_core_datagrams;
mod endpoint;
mod process_handover;
mod request_head;
mod routing_id;
mod settings;
mod socket;
mod stream;
mod timers;

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use quinn_udp::UdpSocketState;

use crate::control::{ListenerKind, OwnedListener};
use crate::core::Core;
use cross_core_datagrams::{CrossCoreDatagrams, channels};
use process_handover::{HandoverSockets, ProcessHandover};
use routing_id::{Generation, QuicRoutingId};
use socket::QuicSocket;

pub(crate) use process_handover::remove_stale_sockets;
pub(crate) use settings::QuicSettings;

/// Time from the last GOAWAY to the close of a connection without streams.
const GOAWAY_LINGER: Duration = Duration::from_secs(5);

/// Channels and sockets that carry datagrams to and from the endpoint of one core, for one address. RequestHeadResult before the
/// process is confined.
pub(crate) struct EndpointSockets {
    cross_core: CrossCoreDatagrams,
    handover: HandoverSockets,
    /// Features of the UDP socket. Detecting them needs test sockets that a confined process can't bind.
    state: io::Result<UdpSocketState>,
}

impl EndpointSockets {
    /// Opens the sockets of every core, one for each of its QUIC listeners, in their order. Hand-over sockets are
    /// created beside `base`.
    pub(crate) fn of_cores(listeners: &[Vec<OwnedListener>], generation: Generation, base: &Path) -> Vec<Vec<Self>> {
        let is_quic = |listener: &&OwnedListener| listener.kind == ListenerKind::Quic;
        let addresses = listeners.iter().map(|of_core| of_core.iter().filter(is_quic).count()).max().unwrap_or(0);
        let mut channels: Vec<_> = (0..addresses).map(|_| channels(listeners.len()).into_iter()).collect();
        let ways = |(core, of_core): (usize, &Vec<OwnedListener>)| {
            let routing_id = QuicRoutingId { generation, core: u8::try_from(core % 256).unwrap_or_default() };
            let of_core = of_core.iter().filter(is_quic).zip(&mut channels).enumerate();
            let ways = of_core.filter_map(|(number, (listener, channels))| {
                let handover = HandoverSockets::open(base, routing_id, number);
                Some(Self { cross_core: channels.next()?, handover, state: UdpSocketState::new(listener.into()) })
            });
            ways.collect()
        };
        listeners.iter().enumerate().map(ways).collect()
    }
}

/// Serves HTTP/3 on the socket of a core. Until routes arrive, clients wait in the kernel queue.
pub(crate) async fn serve(core: Rc<Core>, listener: OwnedListener, settings: QuicSettings, ways: EndpointSockets) {
    let EndpointSockets { cross_core, handover, state } = ways;
    let (address, routing_id) = (listener.address, handover.routing_id());
    let socket = match state.and_then(|state| QuicSocket::new(listener.into_udp()?, state)) {
        Ok(socket) => socket,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    core.wait_for_routes().await;
    // This process is ready, so the previous one leaves new connections to it.
    let handover = match ProcessHandover::begin(handover) {
        Ok(handover) => handover,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    endpoint::serve(core, socket, settings, cross_core, handover, routing_id).await;
}
