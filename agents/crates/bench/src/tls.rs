//! TLS configuration of the load generator: pinned roots, AES-128-GCM first and X25519 only, so that every contender does the
//! same work.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::client::Protocol;
use crate::error::BenchError;

/// Returns a configuration that trusts only `roots_der`.
pub(crate) fn client_config(roots_der: &[Vec<u8>], protocol: Protocol) -> Result<Arc<ClientConfig>, BenchError> {
    let mut roots = RootCertStore::empty();
    for der in roots_der {
        let added = roots.add(CertificateDer::from(der.as_slice()));
        added.map_err(|error| BenchError::Plan(format!("a certificate to trust is not usable: {error}")))?;
    }
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != cipher_suite::TLS13_AES_128_GCM_SHA256.suite());
    // Only one key exchange group: a contender that prefers a costlier one would do more work.
    provider.kx_groups = vec![kx_group::X25519];
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| BenchError::Generator(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // Sessions are per client: see `own_sessions`.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![protocol.alpn().to_vec()];
    Ok(Arc::new(config))
}

/// Returns the same configuration with a session cache for one client.
pub(crate) fn own_sessions(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.resumption = Resumption::in_memory_sessions(1);
    Arc::new(config)
}
