//! TLS policy of hosts: the lowest version, and the authorities of client certificates. Invariant: it is selected by the
//! name of the same ClientHello that the handshake then processes.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{Acceptor, ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore, ServerConfig};

use crate::server::{HandshakeParts, provider, server_config, with_policy};
use crate::tls_alpn::is_challenge;
use crate::{CertificateError, CertificateStore, Tickets};

/// TLS policy of a host in a snapshot.
#[derive(Clone, Copy)]
pub struct TlsPolicySource<'a> {
    /// Host name in lower case; `*.example.com` stands for one more label.
    pub host: &'a str,
    /// True for TLS 1.3 alone.
    pub tls13_only: bool,
    /// Client certificates; `None`: none are asked for.
    pub client_auth: Option<ClientAuthSource<'a>>,
}

/// Client certificates of a host.
#[derive(Clone, Copy)]
pub struct ClientAuthSource<'a> {
    /// True if a handshake without a certificate fails.
    pub required: bool,
    /// Authorities in PEM.
    pub ca_pem: &'a str,
}

/// TLS policy of one host. A connection has the policy that its handshake used, which is compared by identity.
pub struct TlsPolicy {
    pub(crate) tls13_only: bool,
    pub(crate) client_auth: Option<ClientAuthPolicy>,
}

pub(crate) struct ClientAuthPolicy {
    required: bool,
    ca_pem: Box<str>,
    pub(crate) verifier: Arc<dyn ClientCertVerifier>,
}

impl TlsPolicy {
    /// Compiles a policy. Fails if the authorities are no certificates.
    pub(crate) fn read(source: &TlsPolicySource<'_>) -> Result<Self, CertificateError> {
        let client_auth = source.client_auth.map(|auth| {
            let invalid = || CertificateError::ClientAuthorities { host: source.host.to_owned() };
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(auth.ca_pem.as_bytes()) {
                // An authority that rustls cannot read must not take the others away.
                drop(roots.add(certificate.map_err(|_| invalid())?));
            }
            let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()));
            let builder = if auth.required { builder } else { builder.allow_unauthenticated() };
            let verifier = builder.build().map_err(|_| invalid())?;
            Ok(ClientAuthPolicy { required: auth.required, ca_pem: auth.ca_pem.into(), verifier })
        });
        Ok(Self { tls13_only: source.tls13_only, client_auth: client_auth.transpose()? })
    }

    pub(crate) fn is(&self, source: &TlsPolicySource<'_>) -> bool {
        self.tls13_only == source.tls13_only
            && match (&self.client_auth, source.client_auth) {
                (None, None) => true,
                (Some(own), Some(other)) => own.required == other.required && *own.ca_pem == *other.ca_pem,
                _ => false,
            }
    }

    /// True if clients are asked for a certificate.
    pub fn asks_for_certificates(&self) -> bool {
        self.client_auth.is_some()
    }

    /// True if a client without a certificate is refused.
    pub fn requires_certificates(&self) -> bool {
        self.client_auth.as_ref().is_some_and(|auth| auth.required)
    }
}

impl fmt::Debug for TlsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPolicy")
            .field("tls13_only", &self.tls13_only)
            .field("requires_certificates", &self.requires_certificates())
            .finish_non_exhaustive()
    }
}

/// Configurations of handshakes over TCP: one for most hosts, and those of hosts with a policy.
pub struct ServerConfigs {
    plain: Arc<ServerConfig>,
    store: Arc<CertificateStore>,
    tickets: Arc<Tickets>,
    provider: Arc<CryptoProvider>,
}

/// Configuration that fits the beginning of a handshake.
pub enum SelectedConfig {
    /// The ClientHello is not complete.
    Incomplete,
    /// Configuration, with the policy that it follows.
    Complete(Arc<ServerConfig>, Option<Arc<TlsPolicy>>),
}

impl ServerConfigs {
    /// Creates the configurations. All cores share them.
    pub fn new(store: Arc<CertificateStore>, tickets: Arc<Tickets>) -> Result<Arc<Self>, Error> {
        let plain = server_config(Arc::clone(&store) as Arc<_>, Arc::clone(&tickets))?;
        Ok(Arc::new(Self { plain, store, tickets, provider: Arc::new(provider()) }))
    }

    /// Returns the configuration of hosts without a policy.
    pub fn plain(&self) -> &Arc<ServerConfig> {
        &self.plain
    }

    /// Returns the configuration of QUIC, whose name is known too late to ask for a certificate: hosts that do have no
    /// certificate of their own there, so their handshakes fail and clients use TCP.
    pub fn quic(&self) -> Result<Arc<ServerConfig>, Error> {
        server_config(Arc::new(QuicResolver(Arc::clone(&self.store))), Arc::clone(&self.tickets))
    }

    /// Selects the configuration for the bytes that a client has sent. Bytes that are no ClientHello get the plain one,
    /// whose session refuses them.
    pub fn select(&self, received: &[u8]) -> Result<SelectedConfig, Error> {
        let plain = || Ok(SelectedConfig::Complete(Arc::clone(&self.plain), None));
        let set = self.store.current();
        if !set.has_policies() {
            return plain();
        }
        let mut acceptor = Acceptor::default();
        let mut rest = received;
        while !rest.is_empty() {
            if !matches!(acceptor.read_tls(&mut rest), Ok(1..)) {
                return plain();
            }
        }
        let policy = match acceptor.accept() {
            Ok(None) => return Ok(SelectedConfig::Incomplete),
            // A certificate authority that validates the host has no client certificate; it sends no request.
            Ok(Some(accepted)) if is_challenge(&accepted.client_hello()) => None,
            Ok(Some(accepted)) => accepted.client_hello().server_name().and_then(|name| set.policy(name)),
            Err(_) => None,
        };
        let Some(policy) = policy else { return plain() };
        let handshakes =
            HandshakeParts { certificates: Arc::clone(&self.store) as Arc<_>, tickets: Arc::clone(&self.tickets) };
        let config = with_policy(handshakes, &policy, Arc::clone(&self.provider))?;
        Ok(SelectedConfig::Complete(config, Some(policy)))
    }
}

/// Selects certificates of hosts that may be served over QUIC.
#[derive(Debug)]
struct QuicResolver(Arc<CertificateStore>);

impl ResolvesServerCert for QuicResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let policy = hello.server_name().and_then(|name| self.0.current().policy(name));
        if policy.is_some_and(|policy| policy.asks_for_certificates()) {
            return None;
        }
        self.0.resolve(hello)
    }
}

impl fmt::Debug for ServerConfigs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfigs").finish_non_exhaustive()
    }
}
