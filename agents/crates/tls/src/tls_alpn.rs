//! Certificates that answer TLS-ALPN-01 challenges of certificate authorities (RFC 8737).

use std::sync::Arc;

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;

/// Protocol of challenge handshakes.
pub const ACME_TLS_ALPN: &[u8] = b"acme-tls/1";

/// Reason why a challenge can't be answered.
#[derive(Debug, thiserror::Error)]
pub enum TlsAlpnError {
    #[error("the digest of a challenge for {host} has {length} bytes instead of 32")]
    Digest { host: String, length: usize },
    #[error("a certificate for a challenge could not be made")]
    Make(#[from] rcgen::Error),
    #[error("a key for a challenge could not be used")]
    Key(#[from] rustls::Error),
}

/// Makes the certificate of a challenge. `digest` is the SHA-256 of the key authorization.
pub(crate) fn challenge_certificate(host: &str, digest: &[u8]) -> Result<Arc<CertifiedKey>, TlsAlpnError> {
    if digest.len() != 32 {
        return Err(TlsAlpnError::Digest { host: host.to_owned(), length: digest.len() });
    }
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![host.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let certificate = params.self_signed(&key)?;
    let key = any_supported_type(&PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))?;
    Ok(Arc::new(CertifiedKey::new(vec![certificate.der().clone()], key)))
}

/// True for the handshake of a challenge: its client offers no other protocol (RFC 8737, 3).
pub(crate) fn is_challenge(hello: &ClientHello<'_>) -> bool {
    hello.alpn().is_some_and(|mut names| names.next() == Some(ACME_TLS_ALPN) && names.next().is_none())
}
