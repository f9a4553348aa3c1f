//! Relay between a namespace and the server: DNS to the server's own resolvers, whatever their addresses, and connections to the
//! ports of the server that an app may use. Listens inside and connects outside. Never changes what it relays.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::namespace;
use crate::netlink::{LOOPBACK, Netlink};
use crate::resolvers::Resolvers;

/// Address of the resolver inside.
pub const RESOLVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 53)), 53);

/// Time that one resolver has for an answer; stub resolvers ask again after five seconds (resolv.conf(5)).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Queries of one namespace at once; more are dropped, as on a busy network.
const QUERIES_MAX: usize = 256;
/// Queries of one namespace in each such interval; more are dropped. The relay works outside the instance's processor limit.
const QUERIES_PER_INTERVAL: u32 = 100;
const QUERY_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of a DNS message over UDP (RFC 6891 recommends 1,232; resolvers use up to 4,096).
const MESSAGE_BYTES: usize = 4096;
/// DNS connections of one namespace at once, and their longest time.
const DNS_CONNECTIONS_MAX: usize = 32;
const DNS_CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections of one namespace to ports of the server at once.
const CONNECTIONS_MAX: usize = 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Sockets inside a namespace that are to be served from outside.
#[derive(Debug)]
pub struct Relay {
    /// Sockets at `RESOLVER`; `None`: the namespace has another resolver.
    resolver: Option<(std::net::UdpSocket, std::net::TcpListener)>,
    ports: Vec<(SocketAddr, std::net::TcpListener)>,
}

impl Relay {
    /// Listens in the namespace of the calling thread, on `RESOLVER` and on the given addresses of the server. Gives the namespace's
    /// loopback device those of them that are not loopback addresses.
    pub fn bind(server_ports: &[SocketAddr]) -> io::Result<Self> {
        let queries = std::net::UdpSocket::bind(RESOLVER)?;
        queries.set_nonblocking(true)?;
        Ok(Self { resolver: Some((queries, listen(RESOLVER)?)), ..Self::bind_ports(server_ports)? })
    }

    /// Listens as `bind` does, but on the addresses of the server only. The error names the address.
    pub fn bind_ports(server_ports: &[SocketAddr]) -> io::Result<Self> {
        let mut ports = Vec::new();
        for address in server_ports {
            let listener = listen_as_server(*address);
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
            ports.push((*address, listener.map_err(named)?));
        }
        Ok(Self { resolver: None, ports })
    }

    /// Returns the resolver's sockets, and those of the server's ports in the order of `bind`.
    pub(crate) fn into_descriptors(self) -> (Vec<OwnedFd>, Vec<OwnedFd>) {
        let resolver = self.resolver.map(|(queries, listener)| vec![queries.into(), listener.into()]);
        (resolver.unwrap_or_default(), self.ports.into_iter().map(|(_, listener)| listener.into()).collect())
    }

    /// Takes the sockets of `into_descriptors` in another process.
    pub(crate) fn from_descriptors(
        resolver: Vec<OwnedFd>,
        ports: impl Iterator<Item = (SocketAddr, OwnedFd)>,
    ) -> io::Result<Self> {
        let [queries, listener] = <[OwnedFd; 2]>::try_from(resolver).map_err(|_| io::ErrorKind::InvalidData)?;
        let ports = ports.map(|(address, listener)| (address, listener.into())).collect();
        Ok(Self { resolver: Some((queries.into(), listener.into())), ports })
    }

    /// Serves on a thread of its own, in the namespace `outside`, for as long as the process lives.
    pub fn spawn(self, outside: OwnedFd) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("relay".to_owned()).stack_size(256 * 1024).spawn(move || {
            use std::os::fd::AsFd;
            // Inside, it would connect to the app itself.
            if let Err(error) = namespace::join(outside.as_fd()) {
                tracing::error!(%error, "the relay can't leave the app's network");
                return;
            }
            if let Err(error) = runtime.block_on(self.serve()) {
                tracing::error!(%error, "the relay ended");
            }
        })?;
        Ok(())
    }

    /// Serves from the namespace of the calling thread, for ever.
    pub async fn serve(self) -> io::Result<()> {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // Drops with this future and closes all sockets: an open one would keep the namespace.
        let mut listeners = JoinSet::new();
        for (address, listener) in self.ports {
            let listener = TcpListener::from_std(listener)?;
            listeners.spawn(accept(listener, permits.clone(), move |stream| relay(stream, address)));
        }
        let Some((queries, dns)) = self.resolver else { return std::future::pending().await };
        let queries = Arc::new(UdpSocket::from_std(queries)?);
        let resolvers = Arc::new(Resolvers::default());
        let permits = Arc::new(Semaphore::new(DNS_CONNECTIONS_MAX));
        let list = resolvers.clone();
        let answer = move |stream| {
            let list = list.clone();
            async move {
                timeout(DNS_CONNECTION_TIMEOUT, relay_to_any(stream, list.get())).await.ok();
            }
        };
        listeners.spawn(accept(TcpListener::from_std(dns)?, permits, answer));
        answer_queries(&queries, &resolvers).await
    }
}

/// Listens on an address of the server. Adds the address to the namespace, unless it is a loopback address.
fn listen_as_server(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    if !address.ip().is_loopback() {
        match Netlink::open()?.add_address(LOOPBACK, address.ip()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    listen(address)
}

fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves each connection, up to as many at once as there are permits. The others wait in the kernel's queue.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    permits: Arc<Semaphore>,
    serve: impl Fn(TcpStream) -> F,
) {
    let mut connections = JoinSet::new();
    while let Ok(permit) = permits.clone().acquire_owned().await {
        // Collects the results of ended connections.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = serve(stream);
                connections.spawn(async move {
                    served.await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the relay can't accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Passes bytes on in both directions until both sides are done.
async fn relay(mut inside: TcpStream, address: SocketAddr) {
    match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(mut outside)) => {
            let (inside_nodelay, outside_nodelay) = (inside.set_nodelay(true), outside.set_nodelay(true));
            if let Err(error) = inside_nodelay.and(outside_nodelay) {
                tracing::debug!(%error, "small writes may wait");
            }
            // After an error both sides are closed.
            copy_bidirectional(&mut inside, &mut outside).await.ok();
        }
        Ok(Err(error)) => tracing::debug!(%address, %error, "the server's port refused"),
        Err(_) => tracing::debug!(%address, "the server's port did not answer"),
    }
}

async fn relay_to_any(mut inside: TcpStream, resolvers: Vec<SocketAddr>) {
    for resolver in resolvers {
        if let Ok(Ok(mut outside)) = timeout(ANSWER_TIMEOUT, TcpStream::connect(resolver)).await {
            copy_bidirectional(&mut inside, &mut outside).await.ok();
            return;
        }
    }
}

async fn answer_queries(socket: &Arc<UdpSocket>, resolvers: &Resolvers) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(QUERIES_MAX));
    let mut message = vec![0; MESSAGE_BYTES];
    let mut queries = JoinSet::new();
    let (mut interval, mut count) = (Instant::now(), 0);
    loop {
        while queries.try_join_next().is_some() {}
        let (length, client) = match socket.recv_from(&mut message).await {
            Ok(received) => received,
            Err(error) => {
                // An answer to a client that has gone comes back as an error.
                tracing::trace!(%error, "a client of the resolver has gone");
                continue;
            }
        };
        if interval.elapsed() >= QUERY_INTERVAL {
            (interval, count) = (Instant::now(), 0);
        }
        count += 1;
        if count > QUERIES_PER_INTERVAL {
            continue;
        }
        let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
        let (socket, query, resolvers) = (socket.clone(), message[..length].to_vec(), resolvers.get());
        queries.spawn(async move {
            if let Some(answer) = ask_any(&query, &resolvers).await {
                socket.send_to(&answer, client).await.ok();
            }
            drop(permit);
        });
    }
}

/// Asks one resolver after another, as a stub resolver does.
async fn ask_any(query: &[u8], resolvers: &[SocketAddr]) -> Option<Vec<u8>> {
    for resolver in resolvers {
        match timeout(ANSWER_TIMEOUT, ask(query, *resolver)).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => tracing::debug!(%resolver, %error, "a resolver can't be asked"),
            Err(_) => tracing::debug!(%resolver, "a resolver did not answer"),
        }
    }
    None
}

async fn ask(query: &[u8], resolver: SocketAddr) -> io::Result<Vec<u8>> {
    let any: IpAddr = if resolver.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // A socket for each query: its random port makes answers hard to forge (RFC 5452).
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(resolver).await?;
    socket.send(query).await?;
    let mut answer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut answer).await?;
        // Messages begin with the number of the query (RFC 1035, section 4.1.1).
        if answer[..length].get(..2) == query.get(..2) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}
