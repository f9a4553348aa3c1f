//! TLS of test servers.

use std::sync::Arc;

use fairlead_tls::LocalAuthority;
use rustls::pki_types::PrivateKeyDer;

/// Returns the configuration of a server with a certificate for `host` that speaks one protocol.
pub(crate) fn server_config(authority: &LocalAuthority, host: &str, protocol: &[u8]) -> rustls::ServerConfig {
    let leaf = authority.leaf(host).unwrap();
    let chain = leaf.chain_der.iter().map(|der| der.clone().into()).collect();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::Pkcs8(leaf.key_pkcs8_der.clone().into()))
        .unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}
