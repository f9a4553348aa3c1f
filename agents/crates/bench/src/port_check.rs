//! Port check of an address. Invariant: it passes only where a proxy of the organization answers, because no other server knows
//! the digest. The client never sends the digest.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use fairlead_model::PortCheck;
use fairlead_tls::ACME_TLS_ALPN;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Extension id-pe-acmeIdentifier (RFC 8737, 3), critical, up to its digest.
const ACME_IDENTIFIER: [u8; 17] = [6, 8, 43, 6, 1, 5, 5, 7, 1, 31, 1, 1, 255, 4, 34, 4, 32];

/// Makes a handshake of TLS-ALPN-01. Fails if the answer is not that of the check.
pub(crate) async fn answers_check(address: SocketAddr, check: &PortCheck) -> Result<(), Error> {
    let name = ServerName::try_from(check.name.clone()).map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(Error::other)?;
    let mut config =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))).with_no_client_auth();
    config.alpn_protocols = vec![ACME_TLS_ALPN.to_vec()];
    let stream = TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(address).await?).await?;
    let session = stream.get_ref().1;
    let leaf = session.peer_certificates().and_then(<[_]>::first);
    if session.alpn_protocol() == Some(ACME_TLS_ALPN) && leaf.is_some_and(|leaf| holds(leaf, &check.answer)) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::PermissionDenied, "another server answers"))
}

fn holds(leaf: &[u8], answer: &[u8; 32]) -> bool {
    leaf.windows(ACME_IDENTIFIER.len() + answer.len())
        .any(|window| window.starts_with(&ACME_IDENTIFIER) && window.ends_with(answer))
}

/// Accepts every certificate: no authority vouches for that of a challenge, the answer in it does.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    // rustls verifies no signature of a certificate with a critical extension that it does not know.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
