//! Tests handshakes between rustls clients and the proxy's configuration.
#![cfg(test)]

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use fairlead_tls::{
    AuthorityError, Certificate, CertificateError, CertificateSet, CertificateSource, CertificateStore, LocalAuthority,
    Tickets, server_config,
};
use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

fn set(certificates: &[(&str, &Certificate)], previous: &CertificateSet) -> Result<CertificateSet, CertificateError> {
    let hosts: Vec<Vec<String>> = certificates.iter().map(|(host, _)| vec![(*host).to_owned()]).collect();
    let sources = certificates.iter().zip(&hosts).map(|((_, certificate), hosts)| CertificateSource {
        hosts,
        chain_der: &certificate.chain_der,
        key_pkcs8_der: &certificate.key_pkcs8_der,
    });
    CertificateSet::build(sources, previous)
}

fn store(authority: &LocalAuthority, hosts: &[&str]) -> Arc<CertificateStore> {
    let leaves: Vec<_> = hosts.iter().map(|host| (*host, authority.leaf(host).unwrap())).collect();
    let leaves: Vec<_> = leaves.iter().map(|(host, leaf)| (*host, leaf)).collect();
    let store = CertificateStore::default();
    store.swap(Arc::new(set(&leaves, &CertificateSet::default()).unwrap()));
    Arc::new(store)
}

fn client(authority: &LocalAuthority) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.root_der().to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    Arc::new(config)
}

fn configured(store: Arc<CertificateStore>) -> Arc<ServerConfig> {
    server_config(store, Tickets::new(&[[7; 32]]).unwrap()).unwrap()
}

/// Runs both ends in memory until neither has data to send.
fn shake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    host: &str,
) -> Result<(ClientConnection, ServerConnection), String> {
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut near = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut far = ServerConnection::new(Arc::clone(server)).unwrap();
    while near.wants_write() || far.wants_write() {
        let mut bytes = Vec::new();
        while near.wants_write() {
            near.write_tls(&mut bytes).unwrap();
        }
        far.read_tls(&mut bytes.as_slice()).unwrap();
        far.process_new_packets().map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        while far.wants_write() {
            far.write_tls(&mut bytes).unwrap();
        }
        near.read_tls(&mut bytes.as_slice()).unwrap();
        near.process_new_packets().map_err(|error| error.to_string())?;
    }
    Ok((near, far))
}

#[test]
fn a_client_that_holds_the_root_gets_tls_1_3_aes_128_and_http_2() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let server = configured(store(&authority, &["hello.localhost"]));
    let (near, _) = shake(&client(&authority), &server, "hello.localhost").unwrap();
    assert_eq!(near.negotiated_cipher_suite().unwrap().suite(), CipherSuite::TLS13_AES_128_GCM_SHA256);
    assert_eq!(near.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(near.handshake_kind(), Some(rustls::HandshakeKind::Full));
}

#[test]
fn a_session_resumes_by_its_ticket() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let server = configured(store(&authority, &["hello.localhost"]));
    let client = client(&authority);
    shake(&client, &server, "hello.localhost").unwrap();
    let (near, _) = shake(&client, &server, "hello.localhost").unwrap();
    assert_eq!(near.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
}

#[test]
fn a_session_resumes_on_another_proxy_with_the_same_keys_and_begins_anew_without() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let server =
        |secrets: &[_]| server_config(store(&authority, &["hello.localhost"]), Tickets::new(secrets).unwrap()).unwrap();
    let client = client(&authority);
    let kind = |server| shake(&client, &server, "hello.localhost").unwrap().0.handshake_kind();
    assert_eq!(kind(server(&[[1; 32]])), Some(rustls::HandshakeKind::Full));
    assert_eq!(kind(server(&[[2; 32], [1; 32]])), Some(rustls::HandshakeKind::Resumed));
    assert_eq!(kind(server(&[[3; 32]])), Some(rustls::HandshakeKind::Full));
}

#[test]
fn an_unknown_name_gets_no_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let server = configured(store(&authority, &["hello.localhost"]));
    assert!(shake(&client(&authority), &server, "other.localhost").is_err());
}

#[test]
fn a_wildcard_answers_for_one_label_and_a_host_s_own_certificate_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let store = store(&authority, &["*.shop.localhost", "own.shop.localhost"]);
    let set = store.current();
    assert!(set.has("a.shop.localhost") && set.has("own.shop.localhost"));
    assert!(!set.has("a.b.shop.localhost") && !set.has("shop.localhost") && !set.has(".shop.localhost"));
    let server = configured(store);
    let leaf =
        |host| shake(&client(&authority), &server, host).map(|(near, _)| near.peer_certificates().unwrap()[0].to_vec());
    let shared = leaf("a.shop.localhost").unwrap();
    assert_eq!(leaf("b.shop.localhost").unwrap(), shared);
    assert_ne!(leaf("own.shop.localhost").unwrap(), shared);
    assert!(leaf("a.b.shop.localhost").is_err());
}

#[test]
fn the_root_is_good_for_localhost_names_only() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    assert!(matches!(authority.leaf("example.com"), Err(AuthorityError::Host { .. })));
    assert!(matches!(authority.leaf("localhost"), Err(AuthorityError::Host { .. })));
    // The leaf is valid only for its own name, even if the proxy sends it for another.
    let leaf = authority.leaf("a.localhost").unwrap();
    let store = CertificateStore::default();
    store.swap(Arc::new(set(&[("b.localhost", &leaf)], &CertificateSet::default()).unwrap()));
    let server = configured(Arc::new(store));
    assert!(shake(&client(&authority), &server, "b.localhost").unwrap_err().contains("certificate"));
}

#[test]
fn an_authority_of_one_host_signs_for_that_host_only() {
    for (host, other) in [
        ("fairlead.example.com", "example.com"),
        ("203.0.113.5", "203.0.113.6"),
        ("[2001:db8::5]", "[2001:db8::6]"),
        ("203.0.113.5", "fairlead.example.com"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let authority = LocalAuthority::open_or_create_for(folder.path(), host).unwrap();
        for refused in [other, "a.localhost"] {
            assert!(matches!(authority.leaf(refused), Err(AuthorityError::Host { .. })), "{refused}");
        }
        let again = LocalAuthority::open_or_create_for(folder.path(), host).unwrap();
        assert_eq!(again.root_der(), authority.root_der());
        let server = configured(store(&again, &[host]));
        let name = |host: &str| host.trim_matches(['[', ']']).to_owned();
        shake(&client(&authority), &server, &name(host)).unwrap();
        assert!(shake(&client(&authority), &server, &name(other)).is_err(), "{other}");
        // The root's constraints hold even if its key signs for another host.
        let thief = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("ca.key"), thief.path().join("ca.key")).unwrap();
        let stolen = LocalAuthority::open_or_create_for(thief.path(), other).unwrap();
        std::fs::copy(folder.path().join("ca.pem"), thief.path().join("ca.pem")).unwrap();
        let forged = configured(store(&stolen, &[other]));
        shake(&client(&stolen), &forged, &name(other)).unwrap();
        assert!(shake(&client(&authority), &forged, &name(other)).is_err(), "forged {other}");
    }
}

#[test]
fn a_connection_without_a_name_gets_the_certificate_of_an_address_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let local = LocalAuthority::open_or_create(&folder.path().join("ca")).unwrap();
    let public = LocalAuthority::open_or_create_for(&folder.path().join("public"), "203.0.113.5").unwrap();
    let (app, own) = (local.leaf("a.localhost").unwrap(), public.leaf("203.0.113.5").unwrap());
    let serve = |leaves: &[_]| {
        let store = CertificateStore::default();
        store.swap(Arc::new(set(leaves, &CertificateSet::default()).unwrap()));
        configured(Arc::new(store))
    };
    assert!(shake(&client(&public), &serve(&[("a.localhost", &app)]), "203.0.113.5").is_err());
    let both = serve(&[("a.localhost", &app), ("203.0.113.5", &own)]);
    shake(&client(&public), &both, "203.0.113.5").unwrap();
    shake(&client(&local), &both, "a.localhost").unwrap();
    assert!(shake(&client(&public), &both, "other.example.com").is_err());
}

#[test]
fn an_authority_opens_again_and_its_key_is_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let first = LocalAuthority::open_or_create(folder.path()).unwrap();
    let mode = std::fs::metadata(folder.path().join("ca.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = LocalAuthority::open_or_create(folder.path()).unwrap();
    assert_eq!(first.root_der(), second.root_der());
    let server = configured(store(&second, &["hello.localhost"]));
    shake(&client(&first), &server, "hello.localhost").unwrap();
}

#[test]
fn a_damaged_authority_is_named_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    LocalAuthority::open_or_create(folder.path()).unwrap();
    let other = tempfile::tempdir().unwrap();
    LocalAuthority::open_or_create(other.path()).unwrap();
    std::fs::copy(other.path().join("ca.key"), folder.path().join("ca.key")).unwrap();
    assert!(matches!(LocalAuthority::open_or_create(folder.path()), Err(AuthorityError::Damaged { .. })));
    std::fs::remove_file(folder.path().join("ca.key")).unwrap();
    assert!(matches!(LocalAuthority::open_or_create(folder.path()), Err(AuthorityError::Damaged { .. })));
}

#[test]
fn a_key_of_another_certificate_and_a_name_claimed_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let (a, b) = (authority.leaf("a.localhost").unwrap(), authority.leaf("b.localhost").unwrap());
    let mixed = Certificate { key_pkcs8_der: b.key_pkcs8_der.clone(), ..a.clone() };
    let none = CertificateSet::default();
    assert!(matches!(set(&[("a.localhost", &mixed)], &none), Err(CertificateError::Key { .. })));
    assert!(matches!(set(&[("a.localhost", &a), ("a.localhost", &a)], &none), Err(CertificateError::Duplicate { .. })));
    let good = set(&[("a.localhost", &a)], &none).unwrap();
    assert!(set(&[("a.localhost", &a), ("b.localhost", &b)], &good).unwrap().has("b.localhost"));
}
