//! Connects to the control plane by TCP, TLS and WebSocket. Owns the allowed addresses and the trusted authorities.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of a message: a large server's desired state with room to spare.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// WebSocket connection to the control plane.
pub(crate) type LinkSocket = WebSocketStream<Box<dyn LinkTransport>>;

pub(crate) trait LinkTransport: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> LinkTransport for T {}

/// Reason why the control plane can't be reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error(
        "`{0}` is not the address of a control plane: write https://host, or http://127.0.0.1:port on this machine"
    )]
    Address(String),
    /// Plain http to another machine.
    #[error("`{0}` is on another machine: use https, plain http is for this machine only")]
    Insecure(String),
    /// The file of authorities can't be used.
    #[error("the authorities in {path} can't be used: {reason}")]
    Authorities { path: PathBuf, reason: String },
    #[error("can't connect to {host}:{port}")]
    Connect {
        host: String,
        port: u16,
        #[source]
        source: io::Error,
    },
    #[error("no trusted TLS connection with {host}")]
    Tls {
        host: String,
        #[source]
        source: io::Error,
    },
    /// TLS client could not be configured.
    #[error("TLS can't be set up")]
    TlsSetup(#[from] rustls::Error),
    /// The host is not a WebSocket server.
    #[error("{host} did not answer as a control plane")]
    Handshake {
        host: String,
        /// Handshake error, with the response.
        #[source]
        source: Box<tokio_tungstenite::tungstenite::Error>,
    },
    /// Connecting took too long.
    #[error("{host} did not answer within {} s", CONNECT_TIMEOUT.as_secs())]
    Timeout { host: String },
}

/// Validated address of a control plane, with the TLS configuration for it.
#[derive(Clone)]
pub struct Endpoint {
    host: String,
    port: u16,
    url: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.url)
    }
}

impl Endpoint {
    /// Parses `http(s)://host[:port]` (or `ws(s)`) and loads the authorities TLS needs.
    pub fn new(control_url: &str, ca_file: Option<&Path>) -> Result<Self, DialError> {
        let wrong = || DialError::Address(control_url.chars().take(200).collect());
        let uri: Uri = control_url.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let secure = match uri.scheme_str() {
            Some("https" | "wss") => true,
            Some("http" | "ws") => false,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(wrong());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if !secure && !is_loopback(&host) {
            return Err(DialError::Insecure(control_url.chars().take(200).collect()));
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let scheme = if secure { "wss" } else { "ws" };
        let url = format!("{scheme}://{authority}{}/agent", uri.path().trim_end_matches('/'));
        let tls = if secure {
            let name = ServerName::try_from(host.clone()).map_err(|_: InvalidDnsNameError| wrong())?;
            Some((TlsConnector::from(Arc::new(client_config(ca_file)?)), name))
        } else {
            None
        };
        Ok(Self { host, port, url, tls })
    }

    /// Connects once, within `CONNECT_TIMEOUT`.
    pub(crate) async fn connect(&self) -> Result<LinkSocket, DialError> {
        let late = |_| DialError::Timeout { host: self.host.clone() };
        timeout(CONNECT_TIMEOUT, self.dial()).await.map_err(late)?
    }

    /// Connects once and closes: checks name, port, TLS and WebSocket without affecting a running session.
    pub async fn probe(&self) -> Result<(), DialError> {
        let mut socket = self.connect().await?;
        if let Err(error) = socket.close(None).await {
            tracing::debug!(%error, "the probe was not closed in order");
        }
        Ok(())
    }

    async fn dial(&self) -> Result<LinkSocket, DialError> {
        let failed = |source| DialError::Connect { host: self.host.clone(), port: self.port, source };
        // `*.localhost` is this machine by RFC 6761, section 6.3; not every resolver implements it.
        let name =
            if is_loopback(&self.host) && self.host.parse::<IpAddr>().is_err() { "localhost" } else { &self.host };
        let stream = TcpStream::connect((name, self.port)).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let transport: Box<dyn LinkTransport> = match &self.tls {
            None => Box::new(stream),
            Some((connector, name)) => {
                let secured = connector.connect(name.clone(), stream).await;
                Box::new(secured.map_err(|source| DialError::Tls { host: self.host.clone(), source })?)
            }
        };
        let config = WebSocketConfig::default()
            .read_buffer_size(16 * 1024)
            .write_buffer_size(16 * 1024)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let opened = tokio_tungstenite::client_async_with_config(self.url.as_str(), transport, Some(config)).await;
        let (socket, _) =
            opened.map_err(|source| DialError::Handshake { host: self.host.clone(), source: Box::new(source) })?;
        Ok(socket)
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, DialError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "some of the system's authorities can't be read");
    }
    let (_, ignored) = roots.add_parsable_certificates(system.certs);
    if ignored > 0 {
        tracing::debug!(ignored, "authorities of the system in a form unknown here");
    }
    if let Some(path) = ca_file {
        let unusable = |reason: String| DialError::Authorities { path: path.into(), reason };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
        let mut count = 0;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            count += 1;
        }
        if count == 0 {
            return Err(unusable("it holds no certificate".into()));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only_and_the_path_is_kept() {
        for (url, expected) in [
            ("http://127.0.0.1:4401", "ws://127.0.0.1:4401/agent"),
            ("http://[::1]:4401/", "ws://[::1]:4401/agent"),
            ("ws://control.localhost:4480/base/", "ws://control.localhost:4480/base/agent"),
            ("https://fairlead.example.com", "wss://fairlead.example.com/agent"),
        ] {
            assert_eq!(Endpoint::new(url, None).unwrap().url, expected);
        }
        assert!(matches!(Endpoint::new("http://example.com", None), Err(DialError::Insecure(_))));
        for bad in ["example.com", "ftp://example.com", "https://user:pw@example.com", "https://", ""] {
            assert!(matches!(Endpoint::new(bad, None), Err(DialError::Address(_))), "{bad}");
        }
    }

    #[test]
    fn a_file_without_authorities_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Endpoint::new("https://example.com", Some(file.path())).unwrap_err().to_string();
        assert!(error.contains("no certificate"), "{error}");
    }
}
