//! TLS facts of a client's connection that routes decide by.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_tls::TlsPolicy;

/// Handshake of a connection to a host with a TLS policy.
#[derive(Debug)]
pub(crate) struct ConnectionTls {
    policy: Arc<TlsPolicy>,
    /// Header line for the app with the verified certificate of the client.
    client_certificate: Option<Box<[u8]>>,
}

impl ConnectionTls {
    /// `client_certificate` is the verified leaf in DER.
    pub(crate) fn new(policy: Arc<TlsPolicy>, client_certificate: Option<&[u8]>) -> Self {
        // RFC 9440: the leaf as a byte sequence of structured fields.
        let line = |der| format!("client-cert: :{}:\r\n", STANDARD.encode(der)).into_bytes().into();
        Self { policy, client_certificate: client_certificate.map(line) }
    }

    /// True if the handshake followed this policy of the current snapshot, and not one that changed since.
    pub(crate) fn follows(&self, policy: &Arc<TlsPolicy>) -> bool {
        Arc::ptr_eq(&self.policy, policy)
    }

    /// Returns the header line for the app; `None` without a certificate.
    pub(crate) fn client_certificate_lines(&self) -> Option<&[u8]> {
        self.client_certificate.as_deref()
    }
}
