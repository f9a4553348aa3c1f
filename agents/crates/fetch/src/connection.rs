//! HTTP client for one request per connection. Checks addresses, sets the certificate authorities of TLS and applies timeouts.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, HOST, LOCATION, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::reference::resolve;
use crate::{FetchClient, FetchError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum wait for the head of a response, and between two pieces of its body.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(60);
const REDIRECTS_MAX: usize = 5;

trait HttpTransport: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> HttpTransport for T {}

/// Parsed URL: https, or http to a loopback address, without credentials.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    pub(crate) host: String,
    secure: bool,
    port: u16,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, FetchError> {
        // The query may hold a secret, so the error leaves it out.
        let wrong = || FetchError::Address(url.split('?').next().unwrap_or_default().chars().take(200).collect());
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wrong)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if !secure && !is_loopback(&host) {
            return Err(wrong());
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { uri, host, secure, port })
    }

    pub(crate) fn failed(&self, reason: impl std::fmt::Display) -> FetchError {
        FetchError::Connection { host: self.host.clone(), reason: reason.to_string() }
    }

    fn unreachable(&self, reason: impl std::fmt::Display) -> FetchError {
        FetchError::Unreachable { host: self.host.clone(), reason: reason.to_string() }
    }

    pub(crate) fn status(&self, status: http::StatusCode) -> FetchError {
        FetchError::Status { host: self.host.clone(), status: status.as_u16(), path: self.uri.path().to_owned() }
    }
}

impl FetchClient {
    /// Sends a request and returns the head of the response. Follows redirects unless the request carries a token.
    pub(crate) async fn request(
        &self,
        url: &str,
        request: &Request<Bytes>,
    ) -> Result<(Address, Response<Incoming>), FetchError> {
        let mut address = Address::parse(url)?;
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.once(&address, request).await?;
            if !answer.status().is_redirection() || request.headers().contains_key(AUTHORIZATION) {
                return Ok((address, answer));
            }
            let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            // A redirect without a location is returned as it is.
            let Some(next) = location.map(|location| resolve(&address.uri.to_string(), location)) else {
                return Ok((address, answer));
            };
            address = Address::parse(&next)?;
        }
        Err(address.failed("too many redirects"))
    }

    /// Sends a request and reads the whole body of the response, at most `bytes_max`. Follows no redirect.
    pub async fn send_request(
        &self,
        url: &str,
        request: &Request<Bytes>,
        bytes_max: usize,
    ) -> Result<Response<Bytes>, FetchError> {
        let address = Address::parse(url)?;
        let (head, mut body) = self.once(&address, request).await?.into_parts();
        let mut whole = BytesMut::new();
        while let Some(data) = piece(&address, &mut body).await? {
            if whole.len() + data.len() > bytes_max {
                return Err(FetchError::TooLarge { host: address.host, bytes_max: bytes_max as u64 });
            }
            whole.extend_from_slice(&data);
        }
        Ok(Response::from_parts(head, whole.freeze()))
    }

    async fn once(&self, address: &Address, request: &Request<Bytes>) -> Result<Response<Incoming>, FetchError> {
        let transport = timeout(CONNECT_TIMEOUT, self.connect(address)).await;
        let transport = transport.map_err(|_| address.unreachable("no connection in time"))??;
        let handshake = http1::handshake(TokioIo::new(transport)).await;
        let (mut sender, connection) = handshake.map_err(|error| address.failed(error))?;
        let host = address.host.clone();
        tokio::spawn(async move {
            // The reader of the body gets the same error.
            if let Err(error) = connection.await {
                tracing::debug!(host, %error, "a connection ended early");
            }
        });
        let path = address.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut sent = Request::builder().method(request.method()).uri(path);
        if let Some(headers) = sent.headers_mut() {
            headers.extend(request.headers().clone());
            let authority = address.uri.authority().map_or("", |authority| authority.as_str());
            headers.insert(HOST, HeaderValue::from_str(authority).map_err(|error| address.failed(error))?);
            headers.insert(USER_AGENT, HeaderValue::from_static("fairlead-agent"));
        }
        let sent = sent.body(Full::new(request.body().clone())).map_err(|error| address.failed(error))?;
        let answer = timeout(SILENCE_MAX, sender.send_request(sent)).await;
        answer.map_err(|_| address.failed("no answer in time"))?.map_err(|error| address.failed(error))
    }

    async fn connect(&self, address: &Address) -> Result<Box<dyn HttpTransport>, FetchError> {
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
        let stream = stream.map_err(|error| address.unreachable(error))?;
        stream.set_nodelay(true).map_err(|error| address.unreachable(error))?;
        if !address.secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(address.host.clone()).map_err(|error| address.unreachable(error))?;
        let secured = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        Ok(Box::new(secured.map_err(|error| address.unreachable(error))?))
    }
}

/// Returns the next piece of a body; `None` at its end. Fails after `SILENCE_MAX` without data.
pub(crate) async fn piece(address: &Address, body: &mut Incoming) -> Result<Option<Bytes>, FetchError> {
    loop {
        let frame = timeout(SILENCE_MAX, body.frame()).await.map_err(|_| address.failed("it fell silent"))?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(address.failed(error)),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, FetchError> {
    let unusable = |error: &dyn std::fmt::Display| FetchError::Authorities(error.to_string());
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "some of the system's authorities can't be read");
    }
    // Some systems still list authorities in an encoding that rustls rejects.
    let (_, ignored) = roots.add_parsable_certificates(system.certs);
    tracing::debug!(ignored, "authorities of the system in a form unknown here");
    if let Some(path) = ca_file {
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
            roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| unusable(&error))?.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only_and_no_address_holds_a_password() {
        for good in ["https://example.com/a?b=c", "http://127.0.0.1:81/x", "http://[::1]/", "http://a.localhost/"] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        for bad in ["http://example.com/", "ftp://example.com/", "https://user:word@example.com/", "/x", ""] {
            assert!(matches!(Address::parse(bad), Err(FetchError::Address(_))), "{bad}");
        }
        let error = Address::parse("http://example.com/a?token=hidden").unwrap_err().to_string();
        assert!(!error.contains("hidden"), "{error}");
    }
}
