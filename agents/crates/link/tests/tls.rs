//! Tests connecting over TLS: an authority from a file is trusted, an unknown certificate is not.

#![cfg(test)]

use std::sync::Arc;

use fairlead_link::{DialError, Endpoint};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

#[tokio::test]
async fn an_authority_from_a_file_is_trusted_and_without_it_the_connection_is_refused() {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&key, &authority).unwrap();

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let served = tokio::spawn(async move {
        // The first client does not trust this server and hangs up.
        assert!(acceptor.accept(listener.accept().await.unwrap().0).await.is_err());
        let stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        tokio_tungstenite::accept_async(stream).await.unwrap();
    });

    let stranger = Endpoint::new(&url, None).unwrap().probe().await;
    assert!(matches!(stranger, Err(DialError::Tls { .. })), "{stranger:?}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority.pem()).unwrap();
    Endpoint::new(&url, Some(file.path())).unwrap().probe().await.unwrap();
    served.await.unwrap();
}
