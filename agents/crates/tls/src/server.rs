//! TLS server configuration of the proxy: 1.3 and 1.2, AES-128-GCM first, stateless tickets, HTTP/2 before HTTP/1.1.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, ProducesTickets, ResolvesServerCert};
use rustls::{CipherSuite, Error, ServerConfig, SupportedProtocolVersion};

use crate::{ACME_TLS_ALPN, Tickets, TlsPolicy};

const ALL_VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];
const NEWEST_VERSION: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Returns the configuration for all cores: every core accepts tickets of every other core.
pub fn server_config(
    certificates: Arc<dyn ResolvesServerCert>,
    tickets: Arc<Tickets>,
) -> Result<Arc<ServerConfig>, Error> {
    let config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(ALL_VERSIONS)?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    Ok(Arc::new(complete(config, tickets)))
}

/// Parts that the configurations of all hosts share.
pub(crate) struct HandshakeParts {
    pub(crate) certificates: Arc<dyn ResolvesServerCert>,
    pub(crate) tickets: Arc<Tickets>,
}

/// Returns the configuration of a host with a policy. A client that must show a certificate shows it in each handshake: a
/// ticket would outlive the authorities that it was verified by.
pub(crate) fn with_policy(
    handshakes: HandshakeParts,
    policy: &TlsPolicy,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<ServerConfig>, Error> {
    let versions = if policy.tls13_only { NEWEST_VERSION } else { ALL_VERSIONS };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
    let builder = match &policy.client_auth {
        None => builder.with_no_client_auth(),
        Some(auth) => builder.with_client_cert_verifier(Arc::clone(&auth.verifier)),
    };
    let mut config = complete(builder.with_cert_resolver(handshakes.certificates), handshakes.tickets);
    if policy.asks_for_certificates() {
        config.ticketer = Arc::new(NoTickets);
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// Produces no tickets and accepts none.
#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

fn complete(mut config: ServerConfig, tickets: Arc<Tickets>) -> ServerConfig {
    // Some clients offer only HTTP/1.0, by its own name (RFC 7301, 6). The last one is for certificate authorities, which
    // offer no other.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec(), b"http/1.0".to_vec(), ACME_TLS_ALPN.to_vec()];
    // Server order: SHA-256 with CPU instructions costs a sixth less per handshake than the SHA-384 that most clients list first.
    config.ignore_client_order = true;
    config.ticketer = tickets;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    // A client that keeps its connection needs one ticket at most.
    config.send_tls13_tickets = 1;
    config
}

pub(crate) fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    let is_aes_128 = |suite: CipherSuite| {
        matches!(
            suite,
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    };
    // A stable sort: the provider's own order stays within each half.
    provider.cipher_suites.sort_by_key(|suite| !is_aes_128(suite.suite()));
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_128_is_first_and_nothing_is_lost() {
        let suites = provider().cipher_suites;
        assert_eq!(suites[0].suite(), CipherSuite::TLS13_AES_128_GCM_SHA256);
        assert_eq!(suites.len(), aws_lc_rs::default_provider().cipher_suites.len());
    }
}
