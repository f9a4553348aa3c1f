//! A client from accept to end: handshake, then the protocol it chose.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use fairlead_route::Client;
use rustls::ServerConfig;
use tokio::net::TcpStream;

use crate::core::{Alarm, Core};
use crate::exchange::Origin;
use crate::transport::{Received, Transport};
use crate::{h1, h2};

/// Counts a client for as long as its connection is open.
struct OpenConnection(Rc<Core>);

impl OpenConnection {
    fn enter(core: &Rc<Core>) -> Self {
        core.open_connections.set(core.open_connections.get() + 1);
        Self(Rc::clone(core))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open_connections.set(self.0.open_connections.get() - 1);
        self.0.connection_ended.notify_waiters();
    }
}

/// Serves one client; `tls` is `None` on a plain listener.
pub(crate) async fn serve(core: Rc<Core>, socket: TcpStream, peer: SocketAddr, tls: Option<Arc<ServerConfig>>) {
    let _open = OpenConnection::enter(&core);
    let origin = Origin { client: Client::new(peer.ip(), tls.is_some()), secure: tls.is_some() };
    let alarm = core.alarms.alarm();
    let mut input = Vec::new();
    let transport = match tls {
        None => Transport::plain(socket),
        Some(config) => {
            let Ok(mut transport) = Transport::tls(socket, &config) else { return };
            alarm.set(core.limits.handshake_timeout);
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

/// Runs the handshake; `false` when it failed or took too long. Its last bytes leave with the first response.
async fn shake(core: &Rc<Core>, transport: &mut Transport, input: &mut Vec<u8>, alarm: &Alarm) -> bool {
    poll_fn(|cx| {
        while transport.is_handshaking() {
            match transport.poll_read(cx, core, input) {
                Poll::Ready(Ok(Received::Some)) => {}
                Poll::Ready(Ok(Received::End) | Err(_)) => return Poll::Ready(false),
                Poll::Pending => return alarm.poll(cx).map(|()| false),
            }
        }
        Poll::Ready(true)
    })
    .await
}
