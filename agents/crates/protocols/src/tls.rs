//! TLS of the proxy: versions, cipher suites, groups, keys, server names, ALPN and tickets; and after the handshake key
//! updates, broken records and closes.

mod after;
mod hello;
mod openssl;

use std::sync::Arc;

use libtest_mimic::Trial;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, ClientConfig, Error, HandshakeKind, ProtocolVersion, RootCertStore, SupportedCipherSuite,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::case::case;
use crate::support::app::App;
use crate::support::client::{Client, get};
use crate::support::{HOST, Proxy, upstream};

pub fn trials() -> Vec<Trial> {
    let mut trials = after::trials();
    for (name, suite, rsa) in SUITES {
        trials.push(case("tls", format!("suite/{name}"), move || one_suite(suite, rsa)));
    }
    for (name, group) in GROUPS {
        trials.push(case("tls", format!("group/{name}"), move || one_group(**group)));
    }
    for key in ["p256", "p384", "ed25519", "rsa"] {
        trials.push(case("tls", format!("key/{key}"), move || served_with_key(key)));
    }
    for (name, version, alerts) in [("ssl-3.0", 0x300, &[70]), ("tls-1.0", 0x301, &[70]), ("tls-1.1", 0x302, &[70])] {
        trials.push(case("tls", format!("refused/{name}"), move || refused(hello::Hello::of(version), alerts)));
    }
    trials.extend([
        case("tls", "preferred-suite", preferred_suite),
        case("tls", "refused/weak-suites", || {
            refused(hello::Hello { suites: hello::WEAK, ..hello::Hello::of(0x303) }, &[40])
        }),
        case("tls", "refused/no-name", || {
            refused(hello::Hello { name: None, ..hello::Hello::of(0x303) }, &[40, 49, 112])
        }),
        case("tls", "refused/unknown-name", || {
            refused(hello::Hello { name: Some("other.localhost"), ..hello::Hello::of(0x303) }, &[40, 49, 112])
        }),
        case("tls", "refused/plain-http", plain_http),
        case("tls", "alpn/none-is-http-1.1", || alpn(&[], None)),
        case("tls", "alpn/http-1.1", || alpn(&["http/1.1"], Some("http/1.1"))),
        case("tls", "alpn/h2", || alpn(&["h2"], Some("h2"))),
        case("tls", "alpn/h2-is-preferred", || alpn(&["http/1.1", "h2"], Some("h2"))),
        case("tls", "alpn/unknown-among-known", || alpn(&["spdy/3", "http/1.1"], Some("http/1.1"))),
        case("tls", "alpn/mismatch", alpn_mismatch),
        case("tls", "tickets/resume-1.3", || resumes(&rustls::version::TLS13)),
        case("tls", "tickets/resume-1.2", || resumes(&rustls::version::TLS12)),
        case("tls", "tickets/of-another-proxy", tickets_of_another_proxy),
        case("tls", "no-early-data", no_early_data),
    ]);
    if std::path::Path::new(OPENSSL).exists() {
        trials.push(case("tls", "refused/renegotiation", renegotiation));
        trials.extend(openssl::trials());
    }
    trials
}

const OPENSSL: &str = "/usr/bin/openssl";

const SUITES: [(&str, SupportedCipherSuite, bool); 9] = [
    ("tls13-aes-128-gcm", cipher_suite::TLS13_AES_128_GCM_SHA256, false),
    ("tls13-aes-256-gcm", cipher_suite::TLS13_AES_256_GCM_SHA384, false),
    ("tls13-chacha20", cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, false),
    ("ecdsa-aes-128-gcm", cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, false),
    ("ecdsa-aes-256-gcm", cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, false),
    ("ecdsa-chacha20", cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, false),
    ("rsa-aes-128-gcm", cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true),
    ("rsa-aes-256-gcm", cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, true),
    ("rsa-chacha20", cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, true),
];

const GROUPS: &[(&str, &&'static dyn SupportedKxGroup)] = &[
    ("x25519", &kx_group::X25519),
    ("secp256r1", &kx_group::SECP256R1),
    ("secp384r1", &kx_group::SECP384R1),
    ("x25519mlkem768", &kx_group::X25519MLKEM768),
];

/// Starts a proxy with a certificate of this kind of key for the usual host; returns it with the root for clients.
async fn with_key(kind: &str) -> (Proxy, RootCertStore) {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let algorithm = match kind {
        "p384" => &PKCS_ECDSA_P384_SHA384,
        "ed25519" => &PKCS_ED25519,
        "rsa" => &PKCS_RSA_SHA256,
        _ => &PKCS_ECDSA_P256_SHA256,
    };
    let key = KeyPair::generate_for(algorithm).unwrap();
    let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap().self_signed(&key).unwrap();
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.certificates[0].chain_der = vec![certificate.der().to_vec()];
    snapshot.certificates[0].key_pkcs8_der = key.serialize_der();
    proxy.apply(snapshot).await.unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    (proxy, roots)
}

fn client(
    provider: CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
    roots: RootCertStore,
) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

async fn connect(proxy: &Proxy, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(proxy.https).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(HOST).unwrap(), stream).await
}

async fn is_served(stream: TlsStream<TcpStream>) {
    let response = Client::new(stream).ask(&get("/")).await;
    assert_eq!((response.status, response.text()), (200, "ok"));
}

async fn one_suite(suite: SupportedCipherSuite, rsa: bool) {
    let (proxy, roots) = with_key(if rsa { "rsa" } else { "p256" }).await;
    let provider = CryptoProvider { cipher_suites: vec![suite], ..aws_lc_rs::default_provider() };
    let stream = connect(&proxy, client(provider, &[suite.version()], roots)).await.unwrap();
    assert_eq!(stream.get_ref().1.negotiated_cipher_suite(), Some(suite));
    is_served(stream).await;
}

/// A client that prefers another suite gets the cheapest that both sides support.
async fn preferred_suite() {
    let (proxy, roots) = with_key("p256").await;
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.sort_by_key(|suite| *suite == cipher_suite::TLS13_AES_128_GCM_SHA256);
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    let stream = connect(&proxy, client(provider, &versions, roots)).await.unwrap();
    assert_eq!(stream.get_ref().1.negotiated_cipher_suite(), Some(cipher_suite::TLS13_AES_128_GCM_SHA256));
    assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
}

async fn one_group(group: &'static dyn SupportedKxGroup) {
    let (proxy, roots) = with_key("p256").await;
    let provider = CryptoProvider { kx_groups: vec![group], ..aws_lc_rs::default_provider() };
    let stream = connect(&proxy, client(provider, &[&rustls::version::TLS13], roots)).await.unwrap();
    assert_eq!(stream.get_ref().1.negotiated_key_exchange_group().unwrap().name(), group.name());
    is_served(stream).await;
}

async fn served_with_key(kind: &str) {
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let (proxy, roots) = with_key(kind).await;
        is_served(connect(&proxy, client(aws_lc_rs::default_provider(), &[version], roots)).await.unwrap()).await;
    }
}

/// Expects that a ClientHello gets one of these fatal alerts and the end of its connection, and that others are served.
async fn refused(hello: hello::Hello, alerts: &'static [u8]) {
    let (proxy, roots) = with_key("p256").await;
    let mut stream = TcpStream::connect(proxy.https).await.unwrap();
    hello.send(&mut stream).await;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(matches!(answer[..], [21, 3, _, 0, 2, 2, alert] if alerts.contains(&alert)), "{answer:?}");
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    is_served(connect(&proxy, client(aws_lc_rs::default_provider(), &versions, roots)).await.unwrap()).await;
}

async fn plain_http() {
    let (proxy, _) = with_key("p256").await;
    let mut client = Client::new(TcpStream::connect(proxy.https).await.unwrap());
    client.send(&get("/")).await;
    while client.fill().await {}
    assert!(!client.unread.starts_with(b"HTTP/"), "served without TLS");
}

async fn alpn(offered: &[&str], chosen: Option<&str>) {
    let (proxy, roots) = with_key("p256").await;
    let mut config = client(aws_lc_rs::default_provider(), &[&rustls::version::TLS13], roots);
    config.alpn_protocols = offered.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let stream = connect(&proxy, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), chosen.map(str::as_bytes));
    if chosen != Some("h2") {
        is_served(stream).await;
    }
}

async fn alpn_mismatch() {
    let (proxy, roots) = with_key("p256").await;
    let mut config = client(aws_lc_rs::default_provider(), &[&rustls::version::TLS13], roots);
    config.alpn_protocols = vec![b"spdy/3".to_vec(), b"http/0.9".to_vec()];
    let error = connect(&proxy, config).await.unwrap_err();
    let alert = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    assert_eq!(alert, Some(&Error::AlertReceived(AlertDescription::NoApplicationProtocol)), "{error}");
}

/// Every core accepts a ticket of any core.
async fn resumes(version: &'static rustls::SupportedProtocolVersion) {
    let (proxy, roots) = with_key("p256").await;
    let mut config = client(aws_lc_rs::default_provider(), &[version], roots);
    config.resumption = Resumption::in_memory_sessions(16);
    let config = Arc::new(config);
    for number in 0..12 {
        let stream = TcpStream::connect(proxy.https).await.unwrap();
        let connector = TlsConnector::from(Arc::clone(&config));
        let stream = connector.connect(ServerName::try_from(HOST).unwrap(), stream).await.unwrap();
        let kind = stream.get_ref().1.handshake_kind();
        assert_eq!(kind == Some(HandshakeKind::Resumed), number > 0, "{number}: {kind:?}");
        // The ticket comes with the response.
        is_served(stream).await;
    }
}

async fn tickets_of_another_proxy() {
    let (one, mut roots) = with_key("p256").await;
    let (other, more) = with_key("p256").await;
    roots.extend(more.roots);
    let config = client(aws_lc_rs::default_provider(), &[&rustls::version::TLS13], roots);
    for proxy in [&one, &other, &one] {
        let stream = connect(proxy, config.clone()).await.unwrap();
        is_served(stream).await;
    }
}

async fn no_early_data() {
    let (proxy, roots) = with_key("p256").await;
    let mut config = client(aws_lc_rs::default_provider(), &[&rustls::version::TLS13], roots);
    config.enable_early_data = true;
    is_served(connect(&proxy, config.clone()).await.unwrap()).await;
    let mut session = rustls::ClientConnection::new(Arc::new(config), ServerName::try_from(HOST).unwrap()).unwrap();
    assert!(session.early_data().is_none(), "early data may be sent, and so replayed");
}

async fn renegotiation() {
    let (proxy, _) = with_key("p256").await;
    let mut command = tokio::process::Command::new(OPENSSL);
    command.args(["s_client", "-tls1_2", "-servername", HOST, "-connect"]).arg(proxy.https.to_string());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"R\n").await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    drop(stdin);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(said.contains("RENEGOTIATING") && said.contains("no renegotiation"), "{said}");
}
