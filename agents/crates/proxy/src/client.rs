//! A client from accept to end: handshake, then the protocol it chose.

use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use fairlead_reactor::Stream;
use fairlead_route::Client;
use rustls::ServerConfig;

use crate::core::{Alarm, Core};
use crate::exchange::Origin;
use crate::transport::{Received, Transport};
use crate::{h1, h2, proxy_protocol};

/// Counts a connection for as long as it is open.
pub(crate) struct OpenConnection {
    core: Rc<Core>,
    /// Whose it is, if it counts among those of its client.
    client: Option<IpAddr>,
}

impl OpenConnection {
    /// `None` when its client has as many as one may have.
    pub(crate) fn enter(core: &Rc<Core>, client: IpAddr) -> Option<Self> {
        let client = admit(core, client)?;
        core.open_connections.set(core.open_connections.get() + 1);
        Some(Self { core: Rc::clone(core), client })
    }

    /// Counts it among those of the client that a proxy spoke for; `false` when that one has as many as it may have.
    fn belongs_to(&mut self, client: IpAddr) -> bool {
        if let Some(other) = self.client.take() {
            self.core.clients.leave(other);
        }
        let admitted = admit(&self.core, client);
        self.client = admitted.flatten();
        admitted.is_some()
    }
}

/// Who it counts for, if for anyone; `None` when that one has as many as it may have.
fn admit(core: &Core, client: IpAddr) -> Option<Option<IpAddr>> {
    let most = core.connections_per_client(client);
    if most.is_some_and(|most| !core.clients.enter(client, most)) {
        core.refused_connections.set(core.refused_connections.get() + 1);
        return None;
    }
    Some(most.and(Some(client)))
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let core = &self.core;
        if let Some(client) = self.client {
            core.clients.leave(client);
        }
        if std::thread::panicking() {
            core.panics.set(core.panics.get() + 1);
        }
        core.open_connections.set(core.open_connections.get() - 1);
        core.connection_ended.notify_waiters();
    }
}

/// Serves one client; `tls` is `None` on a plain listener.
pub(crate) async fn serve(core: Rc<Core>, socket: Stream, peer: SocketAddr, tls: Option<Arc<ServerConfig>>) {
    let Some(mut open) = OpenConnection::enter(&core, peer.ip()) else { return };
    let alarm = core.alarms.alarm();
    let mut peer = peer;
    if let Some(trusted) = core.proxy_header_trust(peer.ip().to_canonical()) {
        alarm.set(core.limits.handshake_timeout);
        match if trusted { client_of(&socket, peer, &alarm).await } else { None } {
            Some(client) if client == peer || open.belongs_to(client.ip()) => peer = client,
            Some(_) => return,
            None => {
                core.malformed_requests.set(core.malformed_requests.get() + 1);
                return;
            }
        }
        if tls.is_none() {
            alarm.clear();
        }
    } else if tls.is_some() {
        alarm.set(core.limits.handshake_timeout);
    }
    let origin = Origin { client: Client::new(peer.ip(), tls.is_some()) };
    let mut input = Vec::new();
    let transport = match tls {
        None => Transport::plain(socket),
        Some(config) => {
            let Ok(mut transport) = Transport::tls(socket, &config) else { return };
            if !shake(&core, &mut transport, &mut input, &alarm).await {
                return;
            }
            transport
        }
    };
    if transport.is_http2() {
        // Its state is large, and most connections are not HTTP/2: it must not widen the task of each.
        Box::pin(h2::serve(core, transport, origin, input, alarm)).await;
    } else {
        h1::serve(core, transport, origin, input, alarm).await;
    }
}

/// The client that a trusted proxy's header names, or the proxy itself; `None` without a whole header in time.
async fn client_of(socket: &Stream, peer: SocketAddr, alarm: &Alarm) -> Option<SocketAddr> {
    // Rare, and its state is not to widen every connection's.
    let mut receiving = Box::pin(proxy_protocol::receive(socket));
    let received = poll_fn(|cx| h1::or_alarm(receiving.as_mut().poll(cx), alarm, cx)).await?;
    match received {
        Ok(client) => Some(client.unwrap_or(peer)),
        Err(error) => {
            tracing::debug!(%peer, %error, "a connection without its PROXY protocol header");
            None
        }
    }
}

/// Runs the handshake; `false` when it failed or took too long. Its last bytes leave with the first response.
async fn shake(core: &Rc<Core>, transport: &mut Transport, input: &mut Vec<u8>, alarm: &Alarm) -> bool {
    while transport.is_handshaking() {
        // Bytes that have come wait for their turn in the kernel.
        if !matches!(poll_fn(|cx| h1::or_alarm(transport.poll_arrival(cx, core), alarm, cx)).await, Some(Ok(()))) {
            return false;
        }
        let mut step = pin!(core.handshakes.step());
        if poll_fn(|cx| h1::or_alarm(step.as_mut().poll(cx), alarm, cx)).await.is_none() {
            return false;
        }
        let read = poll_fn(|cx| h1::or_alarm(transport.poll_read(cx, core, input), alarm, cx)).await;
        if !matches!(read, Some(Ok(Received::Some))) {
            return false;
        }
    }
    true
}
