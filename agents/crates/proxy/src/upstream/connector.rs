//! Connector of an instance: address, protocol and TLS. Created once for each snapshot and shared by all cores;
//! independent of any core.

use std::cell::OnceCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::handover::HandoverRequest;
use fairlead_base::sock_diag::SocketDiagnostics;
use fairlead_model::{AppTraffic, UpstreamAddress, UpstreamProtocol, UpstreamTls};
use fairlead_reactor::{Stream, timeout};
use fairlead_tls::{ClientConfigError, client_config};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio_rustls::TlsConnector;

use super::UpstreamSocket;
use super::socket_pool::{self, SocketPool};

/// TCP keepalive: detects that the machine of an app is gone.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// Error in the connection settings of an app.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectorError {
    #[error(transparent)]
    Config(#[from] ClientConfigError),
    #[error("`{0}` is no server name")]
    ServerName(String),
    #[error("TLS over a Unix socket needs a server name")]
    NoServerName,
}

/// TLS configuration of one app. Its instances share it, except for a server name that is their address.
#[derive(Debug, Clone)]
pub(crate) struct AppTls {
    settings: UpstreamTls,
    config: Arc<ClientConfig>,
}

impl AppTls {
    /// Reads the TLS settings of `traffic`; returns `None` if TLS is off.
    pub(crate) fn read(traffic: &AppTraffic) -> Result<Option<Self>, ConnectorError> {
        let Some(settings) = &traffic.tls else { return Ok(None) };
        let config = client_config(&settings.ca_pem, alpn(traffic.upstream_protocol))?;
        Ok(Some(Self { settings: settings.clone(), config }))
    }
}

fn alpn(protocol: UpstreamProtocol) -> &'static [u8] {
    match protocol {
        UpstreamProtocol::Http1 => b"http/1.1",
        UpstreamProtocol::Http2 => b"h2",
    }
}

#[derive(Debug)]
struct Tls {
    app: AppTls,
    name: ServerName<'static>,
}

/// Connector of one instance.
#[derive(Debug)]
pub(crate) struct Connector {
    address: UpstreamAddress,
    protocol: UpstreamProtocol,
    tls: Option<Tls>,
    /// Unconnected sockets in the network namespace of the instance.
    sockets: SocketPool,
}

impl PartialEq for Connector {
    /// Compares address, protocol and TLS settings: equal connectors can share connections.
    fn eq(&self, other: &Self) -> bool {
        let settings = |connector: &Self| connector.tls.as_ref().map(|tls| tls.app.settings.clone());
        self.address == other.address && self.protocol == other.protocol && settings(self) == settings(other)
    }
}

impl Connector {
    pub(crate) fn new(
        address: &UpstreamAddress,
        protocol: UpstreamProtocol,
        tls: Option<&AppTls>,
    ) -> Result<Self, ConnectorError> {
        let tls = tls.map(|app| Ok::<_, ConnectorError>(Tls { app: app.clone(), name: server_name(app, address)? }));
        Ok(Self { address: address.clone(), protocol, tls: tls.transpose()?, sockets: SocketPool::default() })
    }

    pub(crate) fn protocol(&self) -> UpstreamProtocol {
        self.protocol
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Closes pooled sockets that no connection has needed.
    pub(crate) fn sweep(&self) {
        self.sockets.sweep();
    }

    /// Connects, with the TLS handshake if TLS is on. Never takes longer than `limit`.
    pub(crate) async fn connect(&self, limit: Duration) -> io::Result<UpstreamSocket> {
        // Once a connection; its state is large, and must not widen the task of every exchange.
        match timeout(limit, Box::pin(self.connected())).await {
            Ok(connected) => connected,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn connected(&self) -> io::Result<UpstreamSocket> {
        let socket = match &self.address {
            UpstreamAddress::Tcp { address, owner } => {
                let socket = Stream::connect(*address).await?;
                if let Some(owner) = owner {
                    is_served_by(&socket, *address, *owner)?;
                }
                self.set_options(&socket, *address)?;
                socket
            }
            UpstreamAddress::Namespace { handover, address: Some(address) } => {
                let unconnected = self.sockets.take(handover, *address).await?;
                let socket = Stream::connect_with(unconnected, *address).await?;
                self.set_options(&socket, *address)?;
                socket
            }
            UpstreamAddress::Namespace { handover, address: None } => {
                let connected = socket_pool::request(handover, HandoverRequest::Unix).await?;
                Stream::adopt(connected.into_iter().next().ok_or(io::ErrorKind::ConnectionRefused)?)?
            }
            UpstreamAddress::Unix { path, owner } => {
                let socket = Stream::connect_unix(path)?;
                if let Some(owner) = owner {
                    is_of(&socket, *owner)?;
                }
                socket
            }
        };
        let socket = UpstreamSocket::Plain(socket);
        let Some(tls) = &self.tls else { return Ok(socket) };
        let connector = TlsConnector::from(Arc::clone(&tls.app.config));
        let stream = connector.connect(tls.name.clone(), socket).await?;
        // HTTP/1.1 is what a server without ALPN speaks; HTTP/2 it has to choose (RFC 9113, 3.2).
        if self.protocol == UpstreamProtocol::Http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the app did not choose HTTP/2 in its handshake"));
        }
        Ok(UpstreamSocket::Tls(Box::new(stream)))
    }

    fn set_options(&self, socket: &Stream, address: SocketAddr) -> io::Result<()> {
        SockRef::from(socket).set_tcp_nodelay(true)?;
        if address.ip().is_loopback() {
            without_pacing(socket);
        }
        if self.protocol == UpstreamProtocol::Http2 {
            keep_alive(socket)?;
        }
        Ok(())
    }
}

thread_local! {
    /// Socket of this core for queries about the other ends of connections, opened with the first one.
    static DIAGNOSTICS: OnceCell<SocketDiagnostics> = const { OnceCell::new() };
}

/// Checks that the app's own user serves a new connection, before anything is sent: any program can bind a free port of the
/// loopback.
fn is_served_by(socket: &Stream, address: SocketAddr, owner: u32) -> io::Result<()> {
    let is_served = DIAGNOSTICS.with(|diagnostics| {
        let diagnostics = match diagnostics.get() {
            Some(diagnostics) => diagnostics,
            None => {
                let opened = SocketDiagnostics::open()?;
                diagnostics.get_or_init(|| opened)
            }
        };
        diagnostics.is_served_by(socket, address, owner)
    })?;
    if is_served {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "another program listens on the app's port"))
}

/// An app that owns the folder could put a link to another's socket there, which it may not open itself.
fn is_of(socket: &Stream, owner: u32) -> io::Result<()> {
    if rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw() == owner {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "somebody else listens on the app's socket"))
}

/// Within one machine there is no path to measure: what the machine's default may do at every segment (BBR's model and its
/// pacing, for one) would be for nothing.
fn without_pacing(socket: &Stream) {
    if let Err(error) = SockRef::from(socket).set_tcp_congestion(b"reno") {
        tracing::debug!(%error, "the machine's own congestion control stays");
    }
}

/// For connections that live long and carry many exchanges: a peer that vanished would take them all with it, for ever.
fn keep_alive(socket: &Stream) -> io::Result<()> {
    let probes =
        TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL).with_retries(KEEPALIVE_RETRIES);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&probes)?;
    // Keepalive asks only while nothing is unacknowledged; this bounds the rest.
    socket.set_tcp_user_timeout(Some(KEEPALIVE_IDLE + KEEPALIVE_INTERVAL * KEEPALIVE_RETRIES))
}

fn server_name(tls: &AppTls, address: &UpstreamAddress) -> Result<ServerName<'static>, ConnectorError> {
    match (tls.settings.server_name.as_str(), address) {
        ("", UpstreamAddress::Tcp { address, .. } | UpstreamAddress::Namespace { address: Some(address), .. }) => {
            Ok(ServerName::from(address.ip()))
        }
        ("", UpstreamAddress::Unix { .. } | UpstreamAddress::Namespace { address: None, .. }) => {
            Err(ConnectorError::NoServerName)
        }
        (name, _) => ServerName::try_from(name.to_owned()).map_err(|_| ConnectorError::ServerName(name.to_owned())),
    }
}
