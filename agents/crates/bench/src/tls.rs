//! TLS of the load generator: pinned roots only, AES-128-GCM first so that every contender speaks the same cipher.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::client::Protocol;
use crate::error::BenchError;

/// A configuration that trusts `roots_der` and nothing else.
pub(crate) fn client_config(roots_der: &[Vec<u8>], protocol: Protocol) -> Result<Arc<ClientConfig>, BenchError> {
    let mut roots = RootCertStore::empty();
    for der in roots_der {
        let added = roots.add(CertificateDer::from(der.as_slice()));
        added.map_err(|error| BenchError::Plan(format!("a certificate to trust is not usable: {error}")))?;
    }
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != cipher_suite::TLS13_AES_128_GCM_SHA256.suite());
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| BenchError::Generator(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.alpn().to_vec()];
    Ok(Arc::new(config))
}
