//! Client connection from accept to close: PROXY protocol, TLS handshake, then the negotiated HTTP version.

use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fairlead_reactor::Stream;
use fairlead_route::Client;
use fairlead_tls::ServerConfigs;

use crate::core::{Alarm, Core};
use crate::exchange::Origin;
use crate::transport::{Transport, TransportRead};
use crate::{h1, h2, proxy_protocol};

/// Counts a connection for as long as it is open.
pub(crate) struct OpenConnection {
    core: Rc<Core>,
    /// Key that the connection counts by, if its client has a bound.
    client: Option<u64>,
}

impl OpenConnection {
    /// Returns `None` if the client has reached its connection limit.
    pub(crate) fn enter(core: &Rc<Core>, client: IpAddr, user: impl FnOnce() -> Option<u32>) -> Option<Self> {
        let client = admit(core, client, user)?;
        core.opened();
        Some(Self { core: Rc::clone(core), client })
    }

    /// Counts the connection for the client that a proxy forwards for; `false` if that client has reached its limit.
    fn belongs_to(&mut self, client: IpAddr) -> bool {
        if let Some(other) = self.client.take() {
            self.core.clients.leave(other);
        }
        let admitted = admit(&self.core, client, || None);
        self.client = admitted.flatten();
        admitted.is_some()
    }
}

/// Counts a connection of a client and returns its key, if it has a limit; `None` if it has reached the limit. `user`
/// returns the user of a local client.
fn admit(core: &Core, client: IpAddr, user: impl FnOnce() -> Option<u32>) -> Option<Option<u64>> {
    let bound = core.connections_per_client(client, user);
    if bound.is_some_and(|(client, most)| !core.clients.enter(client, most)) {
        core.rejected_connections.set(core.rejected_connections.get() + 1);
        return None;
    }
    Some(bound.map(|(client, _)| client))
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
        core.closed();
    }
}

/// Serves one client; `tls` is `None` on a plain listener.
pub(crate) async fn serve(core: Rc<Core>, socket: Stream, peer: SocketAddr, tls: Option<Arc<ServerConfigs>>) {
    let user = || core.local_user(&socket, peer);
    let Some(mut open) = OpenConnection::enter(&core, peer.ip(), user) else { return };
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
        alarm.clear();
    }
    let client = Client::new(peer.ip(), tls.is_some());
    let mut input = Vec::new();
    let transport = match tls {
        None => Transport::plain(socket),
        Some(configs) => {
            let mut transport = Transport::tls(socket, configs);
            if !shake(&core, &mut transport, &mut input, &alarm).await {
                return;
            }
            if transport.is_acme_challenge() {
                // TLS 1.2 ends with a message of the server, which has not been sent yet.
                let flushed = poll_fn(|cx| h1::or_alarm(transport.poll_flush(cx, &core), &alarm, cx)).await;
                tracing::debug!(
                    sent = matches!(flushed, Some(Ok(()))),
                    "answered a challenge of a certificate authority"
                );
                return;
            }
            transport
        }
    };
    let origin = Origin { client, tls: transport.connection_tls().map(Box::new) };
    if transport.is_http2() {
        // The HTTP/2 state is large and most connections do not use it, so it is boxed to keep tasks small.
        Box::pin(h2::serve(core, transport, origin, input, alarm)).await;
    } else {
        h1::serve(core, transport, origin, input, alarm).await;
    }
}

/// Returns the client in the header of a trusted proxy, or the proxy itself; `None` without a complete header in time.
async fn client_of(socket: &Stream, peer: SocketAddr, alarm: &Alarm) -> Option<SocketAddr> {
    // The future is rare, so it is boxed to keep tasks small.
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

/// Runs the TLS handshake; `false` if it failed or the client took too long. Its last bytes are sent with the first
/// response.
async fn shake(core: &Rc<Core>, transport: &mut Transport, input: &mut Vec<u8>, alarm: &Alarm) -> bool {
    let mut left = core.limits.handshake_timeout;
    while transport.is_handshaking() {
        // Bytes that arrive wait in the kernel until the next step.
        let since_ms = core.alarms.now_ms();
        alarm.set(left);
        let silence = core.handshakes.wait_for_client(alarm, core.limits.silent_handshakes_max);
        let arrived = poll_fn(|cx| h1::or_alarm(transport.poll_arrival(cx, core), alarm, cx)).await;
        drop(silence);
        if !matches!(arrived, Some(Ok(()))) {
            return false;
        }
        left = left.saturating_sub(Duration::from_millis(core.alarms.now_ms() - since_ms));
        // The core causes this wait: a flood of other handshakes must not reset a client.
        core.handshakes.step().await;
        alarm.set(left);
        let read = poll_fn(|cx| h1::or_alarm(transport.poll_read(cx, core, input), alarm, cx)).await;
        if !matches!(read, Some(Ok(TransportRead::Some))) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::pin::pin;
    use std::task::{Context, Waker};

    use fairlead_reactor::{Listener, block_on, spawn, yield_now};
    use fairlead_tls::{CertificateStore, Tickets};
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use tokio::sync::oneshot;

    use super::*;
    use crate::access_log::AccessLogger;
    use crate::control::ProxyKeys;
    use crate::core::AnnouncedPorts;
    use crate::limits::Limits;

    fn core(limits: Limits) -> Rc<Core> {
        Core::new(
            limits,
            AnnouncedPorts { https: None, quic: None },
            AccessLogger::new(std::sync::mpsc::sync_channel(1).0),
            Arc::default(),
            crate::core::Siblings::default(),
        )
    }

    fn tls() -> Arc<ServerConfigs> {
        let tickets = Tickets::new(&ProxyKeys::generate().unwrap().tickets).unwrap();
        ServerConfigs::new(Arc::new(CertificateStore::default()), tickets).unwrap()
    }

    fn client_hello() -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let mut client = ClientConnection::new(Arc::new(config), "a.localhost".try_into().unwrap()).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        hello
    }

    /// Runs a client of `core` that sends `bytes`; returns what it receives until the connection ends.
    async fn receive(core: &Rc<Core>, bytes: &[u8]) -> oneshot::Receiver<Vec<u8>> {
        receive_by(core, bytes, Some(tls())).await
    }

    async fn receive_by(core: &Rc<Core>, bytes: &[u8], tls: Option<Arc<ServerConfigs>>) -> oneshot::Receiver<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        socket.write_all(bytes).unwrap();
        let (stream, peer) = Listener::new(listener).unwrap().accept().await.unwrap();
        spawn(serve(Rc::clone(core), stream, peer, tls));
        let (send, received) = oneshot::channel();
        std::thread::spawn(move || {
            let mut all = Vec::new();
            // A reset ends it as well, and the test may have ended before.
            drop(socket.read_to_end(&mut all));
            drop(send.send(all));
        });
        received
    }

    /// Advances the core's clock by `delay`.
    async fn pass(core: &Core, delay: Duration) {
        let until_ms = core.alarms.exact_ms() + u64::try_from(delay.as_millis()).unwrap();
        while core.alarms.now_ms() < until_ms {
            core.tick();
            yield_now().await;
        }
    }

    #[test]
    fn only_the_client_s_own_time_counts_against_a_handshake() {
        let timeout = Duration::from_millis(50);
        let (answer, nothing) = block_on(async {
            let core = core(Limits { handshake_timeout: timeout, ..Limits::default() });
            // Other handshakes have used all steps of this round.
            let mut cx = Context::from_waker(Waker::noop());
            while pin!(core.handshakes.step()).as_mut().poll(&mut cx).is_ready() {}
            let answer = receive(&core, &client_hello()).await;
            pass(&core, 10 * timeout).await;
            let rounds = Rc::clone(&core);
            spawn(async move { rounds.handshakes.count_rounds(std::time::Instant::now).await });
            let answer = answer.await.unwrap();
            // The control: a client that keeps the core waiting for that long is reset.
            let nothing = receive(&core, &client_hello()[..10]).await;
            pass(&core, 10 * timeout).await;
            (answer, nothing.await.unwrap())
        })
        .unwrap();
        assert!(!answer.is_empty(), "the handshake went on");
        assert!(nothing.is_empty());
    }

    #[test]
    fn beyond_a_bound_the_handshake_that_has_waited_longest_ends() {
        block_on(async {
            let core = core(Limits { silent_handshakes_max: 2, ..Limits::default() });
            let mut ends = Vec::new();
            for _ in 0..3 {
                ends.push(receive(&core, &[]).await);
                yield_now().await;
            }
            assert!(ends.remove(0).await.unwrap().is_empty());
            assert_eq!(core.open_connections(), 2);
        })
        .unwrap();
    }

    /// Creates two idle clients and `silent` silent handshakes; returns whether an idle client, or a silent one, is
    /// closed to make room.
    async fn make_room_beside(silent: usize) -> (bool, bool) {
        let core = core(Limits { connections_max: 8, ..Limits::default() });
        let mut idle = Vec::new();
        for _ in 0..2 {
            idle.push(receive_by(&core, &[], None).await);
        }
        let mut others = Vec::new();
        for _ in 0..silent {
            others.push(receive(&core, &[]).await);
        }
        pass(&core, Duration::from_millis(1_100)).await;
        assert!(core.make_room());
        let has_ended = |ends: &mut Vec<oneshot::Receiver<Vec<u8>>>| ends.iter_mut().any(|end| end.try_recv().is_ok());
        loop {
            let ended = (has_ended(&mut idle), has_ended(&mut others));
            if ended != (false, false) {
                return ended;
            }
            yield_now().await;
        }
    }

    #[test]
    fn where_most_places_are_silent_handshakes_they_make_room_and_idle_clients_stay() {
        block_on(async {
            // The control: where few are silent, clients that idle make room.
            assert_eq!(make_room_beside(2).await, (true, false));
            assert_eq!(make_room_beside(6).await, (false, true));
        })
        .unwrap();
    }
}
