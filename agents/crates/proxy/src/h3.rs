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

use std::rc::Rc;
use std::time::Duration;

use crate::control::OwnedListener;
use crate::core::Core;
use neighbour::Neighbours;
use socket::Socket;

pub(crate) use cid::Place;
pub(crate) use mail::{Mail, boxes};
pub(crate) use neighbour::{NeighbourSockets, forget_neighbours};
pub(crate) use settings::QuicSettings;

/// From the last GOAWAY to the end of a connection that has no streams.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves HTTP/3 on a core's socket. Before there is something to serve, clients wait in the kernel's queue.
pub(crate) async fn serve(
    core: Rc<Core>,
    listener: OwnedListener,
    settings: QuicSettings,
    mail: Mail,
    neighbours: NeighbourSockets,
) {
    let (address, place) = (listener.address, neighbours.place());
    let socket = match listener.into_udp().and_then(Socket::new) {
        Ok(socket) => socket,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    core.wait_for_routes().await;
    // Now that it serves: the process that served before leaves what is new to it.
    let neighbours = match Neighbours::begin(neighbours) {
        Ok(neighbours) => neighbours,
        Err(error) => return tracing::error!(%address, %error, "can't serve HTTP/3"),
    };
    endpoint::serve(core, socket, settings, mail, neighbours, place).await;
}
