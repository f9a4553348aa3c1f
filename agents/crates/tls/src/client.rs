//! TLS client configuration for connections to apps. Invariant: certificates are always verified, against the app's authorities
//! or the system's.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::server::provider;

/// Reason why the TLS client can't be configured.
#[derive(Debug, thiserror::Error)]
pub enum ClientConfigError {
    /// The PEM holds no certificates, or invalid ones.
    #[error("the authorities are not certificates in PEM")]
    Authorities,
    /// Neither the app nor the system names any authority.
    #[error("the system has no certificate authorities; name the app's own")]
    NoSystemAuthorities,
    /// rustls rejects the configuration.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Returns the configuration of connections that offer `alpn`. `ca_pem` holds the trusted authorities; empty: the system's, read
/// once.
pub fn client_config(ca_pem: &str, alpn: &[u8]) -> Result<Arc<ClientConfig>, ClientConfigError> {
    let roots = if ca_pem.is_empty() { system_roots()? } else { Arc::new(own_roots(ca_pem)?) };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    Ok(Arc::new(config))
}

fn own_roots(pem: &str) -> Result<RootCertStore, ClientConfigError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots
            .add(certificate.map_err(|_| ClientConfigError::Authorities)?)
            .map_err(|_| ClientConfigError::Authorities)?;
    }
    if roots.is_empty() { Err(ClientConfigError::Authorities) } else { Ok(roots) }
}

/// Reads the system's certificate authorities, for a process that opens no files later.
pub fn load_system_authorities() {
    if system_roots().is_err() {
        tracing::debug!("the system has no certificate authorities");
    }
}

fn system_roots() -> Result<Arc<RootCertStore>, ClientConfigError> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "can't read some of the system's certificate authorities");
        }
        let mut roots = RootCertStore::empty();
        // Some systems still list authorities with an encoding that rustls rejects.
        let (_, unusable) = roots.add_parsable_certificates(found.certs);
        tracing::debug!(usable = roots.len(), unusable, "the system's certificate authorities");
        Arc::new(roots)
    });
    if roots.is_empty() { Err(ClientConfigError::NoSystemAuthorities) } else { Ok(Arc::clone(roots)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_are_authorities() {
        let key = rcgen::KeyPair::generate().unwrap();
        let authority = rcgen::CertificateParams::new(vec!["ca.test".to_owned()]).unwrap().self_signed(&key).unwrap();
        assert_eq!(client_config(&authority.pem(), b"h2").unwrap().alpn_protocols, [b"h2"]);
        for pem in ["nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &key.serialize_pem()] {
            assert!(matches!(client_config(pem, b"h2"), Err(ClientConfigError::Authorities)), "{pem}");
        }
    }
}
