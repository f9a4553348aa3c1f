//! HTTP/3 clients, on `quinn-proto` and `quinn-udp`, which own QUIC, and on `fairlead-h3`, which owns HTTP/3's bytes. Each
//! request stream is an exchange in a task of its own; one task a core and address moves the datagrams of all connections.
//! Like everything else of a core it all runs on the core's thread, without locks.

mod cid;
mod connection;
mod endpoint;
mod mail;
mod neighbour;
mod opening;
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
use cid::{Generation, Place};
use mail::{Mail, boxes};
use neighbour::{NeighbourSockets, Neighbours};
use socket::Socket;

pub(crate) use neighbour::forget_neighbours;
pub(crate) use settings::QuicSettings;

/// From the last GOAWAY to the end of a connection that has no streams.
const FAREWELL: Duration = Duration::from_secs(5);

/// Sockets for datagrams into a core's endpoint and out of it, for one address. Opened before the process is confined.
pub(crate) struct Ways {
    mail: Mail,
    neighbours: NeighbourSockets,
    /// Features of the socket. Probes find them with sockets that a confined process can't bind.
    state: io::Result<UdpSocketState>,
}

impl Ways {
    /// Opens the sockets of every core, one for each of its QUIC listeners, in their order. Sockets for neighbours lie beside
    /// `base`.
    pub(crate) fn of_cores(listeners: &[Vec<OwnedListener>], generation: Generation, base: &Path) -> Vec<Vec<Self>> {
        let is_quic = |listener: &&OwnedListener| listener.kind == ListenerKind::Quic;
        let addresses = listeners.iter().map(|of_core| of_core.iter().filter(is_quic).count()).max().unwrap_or(0);
        let mut boxes: Vec<_> = (0..addresses).map(|_| boxes(listeners.len()).into_iter()).collect();
        let ways = |(core, of_core): (usize, &Vec<OwnedListener>)| {
            let place = Place { generation, core: u8::try_from(core % 256).unwrap_or_default() };
            let of_core = of_core.iter().filter(is_quic).zip(&mut boxes).enumerate();
            let ways = of_core.filter_map(|(number, (listener, boxes))| {
                let neighbours = NeighbourSockets::open(base, place, number);
                Some(Self { mail: boxes.next()?, neighbours, state: UdpSocketState::new(listener.into()) })
            });
            ways.collect()
        };
        listeners.iter().enumerate().map(ways).collect()
    }
}

/// Serves HTTP/3 on a core's socket. Before there is something to serve, clients wait in the kernel's queue.
pub(crate) async fn serve(core: Rc<Core>, listener: OwnedListener, settings: QuicSettings, ways: Ways) {
    let Ways { mail, neighbours, state } = ways;
    let (address, place) = (listener.address, neighbours.place());
    let socket = match state.and_then(|state| Socket::new(listener.into_udp()?, state)) {
        Ok(socket) => socket,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    core.wait_for_routes().await;
    // This process serves now, so the one that served before leaves new connections to it.
    let neighbours = match Neighbours::begin(neighbours) {
        Ok(neighbours) => neighbours,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    endpoint::serve(core, socket, settings, mail, neighbours, place).await;
}
