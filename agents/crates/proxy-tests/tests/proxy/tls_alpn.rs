//! Challenges of certificate authorities in the TLS handshake (TLS-ALPN-01, RFC 8737), over real sockets.

use std::sync::Arc;

use fairlead_wire::local::AcmeResponder;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, SupportedProtocolVersion};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::app::App;
use crate::support::{HOST, Proxy, client};

/// The id-pe-acmeIdentifier extension (RFC 8737, 3), critical, up to its digest.
const ACME_IDENTIFIER: [u8; 17] = [6, 8, 43, 6, 1, 5, 5, 7, 1, 31, 1, 1, 255, 4, 34, 4, 32];
const DIGEST: [u8; 32] = [7; 32];

/// Accepts every certificate: the test compares the extension afterwards, as an authority does.
#[derive(Debug)]
struct Authority;

impl ServerCertVerifier for Authority {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    // rustls verifies no signature of a certificate with a critical extension that it does not know.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Shakes hands as an authority does. Returns the leaf and the negotiated protocol.
async fn validate(
    proxy: &Proxy,
    host: &str,
    version: &'static SupportedProtocolVersion,
    alpn: &[&str],
) -> Result<(Vec<u8>, Option<Vec<u8>>), std::io::Error> {
    let builder = ClientConfig::builder_with_protocol_versions(&[version]);
    let mut config = builder.dangerous().with_custom_certificate_verifier(Arc::new(Authority)).with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let socket = TcpStream::connect(proxy.https).await?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
    let session = stream.get_ref().1;
    let leaf = session.peer_certificates().unwrap()[0].to_vec();
    let protocol = session.alpn_protocol().map(<[u8]>::to_vec);
    if protocol.as_deref() == Some(b"acme-tls/1") {
        // No request follows: the proxy ends the connection.
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{ended:?}");
    }
    Ok((leaf, protocol))
}

fn is_answer(leaf: &[u8]) -> bool {
    leaf.windows(49).any(|window| window[..17] == ACME_IDENTIFIER && window[17..] == DIGEST)
}

#[tokio::test]
async fn a_challenge_is_answered_in_the_handshake_and_others_get_the_hosts_certificate() {
    let app = App::echo().await;
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![crate::support::upstream("ins_a", app.address)]);
    let other = "new.example.com";
    for host in [HOST, other] {
        let responder =
            AcmeResponder { host: host.into(), tls_alpn_digest: DIGEST.to_vec(), ..AcmeResponder::default() };
        snapshot.acme_responders.push(responder);
    }
    proxy.apply(snapshot).await.unwrap();
    for version in [&TLS13, &TLS12] {
        for host in [HOST, other] {
            let (leaf, protocol) = validate(&proxy, host, version, &["acme-tls/1"]).await.unwrap();
            assert_eq!(protocol.as_deref(), Some(&b"acme-tls/1"[..]), "{host}");
            assert!(is_answer(&leaf), "{host}");
        }
        // A client of the site never sees the answer, not even one that offers the protocol beside others.
        for alpn in [&["h2", "http/1.1"][..], &["acme-tls/1", "http/1.1"], &[]] {
            let (leaf, protocol) = validate(&proxy, HOST, version, alpn).await.unwrap();
            assert_ne!(protocol.as_deref(), Some(&b"acme-tls/1"[..]));
            assert!(!is_answer(&leaf), "{alpn:?}");
        }
        assert!(validate(&proxy, "unknown.example.com", version, &["acme-tls/1"]).await.is_err());
        assert!(validate(&proxy, other, version, &["http/1.1"]).await.is_err());
    }
    assert_eq!(client::tls(&proxy).await.ask(&client::get("/")).await.status, 200);
}

#[tokio::test]
async fn a_host_without_an_order_answers_no_challenge() {
    let app = App::echo().await;
    let mut proxy = Proxy::before(app.address).await;
    assert!(validate(&proxy, HOST, &TLS13, &["acme-tls/1"]).await.is_err());
    let mut snapshot = proxy.snapshot(vec![crate::support::upstream("ins_a", app.address)]);
    let responder = AcmeResponder { host: HOST.into(), tls_alpn_digest: vec![1; 31], ..AcmeResponder::default() };
    snapshot.acme_responders.push(responder);
    assert!(proxy.apply(snapshot).await.unwrap_err().contains("31 bytes"));
}
