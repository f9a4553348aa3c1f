//! TLS policy of a host: client certificates and the lowest version cannot be avoided by another name in the handshake, by
//! another protocol, by a ticket or by a connection that was opened before.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_model::{ClientAuth, HeaderAction, HeaderRule, HostTls, Hsts, RoutePolicy};
use fairlead_wire::local::{ProxyCertificate, ProxyRoute, ProxySnapshot};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, HandshakeKind, NamedGroup, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::encoded;
use crate::quic;
use crate::support::app::App;
use crate::support::client::{Client, Response, handshake, plain};
use crate::support::{HOST, Proxy, quick, upstream};

pub(super) const OPEN: &str = "open.localhost";

/// Authority of client certificates.
pub(super) struct Authority {
    pub(super) issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "visitors");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Issues a certificate for a client.
    fn issue(&self, usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ann");
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { der: certificate.der().to_vec(), key: key.serialize_der() }
    }

    pub(super) fn visitor(&self) -> Identity {
        self.issue(ExtendedKeyUsagePurpose::ClientAuth)
    }

    pub(super) fn asks(&self, required: bool) -> RoutePolicy {
        let client_auth = Some(ClientAuth { required, ca_pem: self.pem.clone() });
        RoutePolicy { tls: Some(HostTls { tls13_only: false, client_auth }), ..RoutePolicy::default() }
    }
}

pub(super) struct Identity {
    pub(super) der: Vec<u8>,
    pub(super) key: Vec<u8>,
}

pub(super) struct Setup {
    pub(super) proxy: Proxy,
    _app: App,
    snapshot: ProxySnapshot,
}

impl Setup {
    /// Starts a proxy with a host that has this policy, and an open one.
    pub(super) async fn new(policy: &RoutePolicy) -> Self {
        Self::before(App::echo().await, policy).await
    }

    async fn before(app: App, policy: &RoutePolicy) -> Self {
        let mut proxy = Proxy::bare(quick()).await;
        let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
        snapshot.traffic_is_json = true;
        snapshot.routes[0].policy = encoded(policy);
        snapshot.routes.push(ProxyRoute { host: OPEN.to_owned(), policy: Vec::new(), ..snapshot.routes[0].clone() });
        let leaf = proxy.authority.leaf(OPEN).unwrap();
        snapshot.certificates.push(ProxyCertificate {
            hosts: vec![OPEN.to_owned()],
            chain_der: leaf.chain_der,
            key_pkcs8_der: leaf.key_pkcs8_der,
        });
        proxy.apply(snapshot.clone()).await.unwrap();
        Self { proxy, _app: app, snapshot }
    }

    async fn change(&mut self, policy: &RoutePolicy) {
        self.snapshot.routes[0].policy = encoded(policy);
        self.proxy.apply(self.snapshot.clone()).await.unwrap();
    }

    fn config(&self, alpn: &[&str], identity: Option<&Identity>) -> ClientConfig {
        self.config_of(alpn, identity, rustls::ALL_VERSIONS)
    }

    fn config_of(
        &self,
        alpn: &[&str],
        identity: Option<&Identity>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.proxy.authority.root_der().to_vec().into()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { der, key }) => builder
                .with_client_auth_cert(vec![der.clone().into()], PrivateKeyDer::Pkcs8(key.clone().into()))
                .unwrap(),
        };
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }

    async fn connect(&self, name: &str, identity: Option<&Identity>) -> Option<Client<TlsStream<TcpStream>>> {
        self.connect_by(&Arc::new(self.config(&["http/1.1"], identity)), name).await
    }

    /// `None` if the proxy refuses the handshake. With TLS 1.3 a client learns that after its own part.
    async fn connect_by(&self, config: &Arc<ClientConfig>, name: &str) -> Option<Client<TlsStream<TcpStream>>> {
        handshake(&self.proxy, config, name).await.ok()
    }
}

/// Returns the response; `None` if the connection ended instead.
async fn ask(client: Option<Client<TlsStream<TcpStream>>>, host: &str) -> Option<Response> {
    let mut client = client?;
    ask_on(&mut client, host, "").await
}

async fn ask_on(client: &mut Client<TlsStream<TcpStream>>, host: &str, lines: &str) -> Option<Response> {
    use tokio::io::AsyncWriteExt;
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n");
    // A refused handshake may reset the connection before the request.
    drop(client.stream.write_all(request.as_bytes()).await);
    client.response(false).await
}

fn status(response: Option<Response>) -> Option<u16> {
    response.map(|response| response.status)
}

#[tokio::test]
async fn a_wildcard_s_policy_leaves_hosts_with_routes_of_their_own_alone() {
    let authority = Authority::new();
    let mut setup = Setup::new(&RoutePolicy::default()).await;
    let first = setup.snapshot.routes[0].clone();
    setup.snapshot.routes.push(ProxyRoute {
        host: "*.localhost".to_owned(),
        policy: encoded(&authority.asks(true)),
        ..first
    });
    let leaf = setup.proxy.authority.leaf("other.localhost").unwrap();
    setup.snapshot.certificates.push(ProxyCertificate {
        hosts: vec!["other.localhost".to_owned()],
        chain_der: leaf.chain_der,
        key_pkcs8_der: leaf.key_pkcs8_der,
    });
    setup.proxy.apply(setup.snapshot.clone()).await.unwrap();
    for host in [OPEN, HOST] {
        assert_eq!(status(ask(setup.connect(host, None).await, host).await), Some(200), "{host}");
    }
    let other = "other.localhost";
    assert_eq!(status(ask(setup.connect(other, None).await, other).await), None);
    assert_eq!(status(ask(setup.connect(other, Some(&authority.visitor())).await, other).await), Some(200));
}

#[tokio::test]
async fn a_required_certificate_must_be_of_the_host_s_authority_and_for_clients() {
    let authority = Authority::new();
    let setup = Setup::new(&authority.asks(true)).await;
    let visitor = authority.visitor();
    let answer = ask(setup.connect(HOST, Some(&visitor)).await, HOST).await.unwrap();
    assert_eq!(answer.status, 200);
    let line = format!("\r\nclient-cert: :{}:\r\n", STANDARD.encode(&visitor.der));
    assert!(answer.text().contains(&line), "{}", answer.text());
    let strangers =
        [None, Some(Authority::new().visitor()), Some(authority.issue(ExtendedKeyUsagePurpose::ServerAuth))];
    for stranger in &strangers {
        assert_eq!(status(ask(setup.connect(HOST, stranger.as_ref()).await, HOST).await), None);
    }
    // The control: the other host asks nobody.
    assert_eq!(status(ask(setup.connect(OPEN, None).await, OPEN).await), Some(200));
}

#[tokio::test]
async fn an_optional_certificate_is_passed_on_and_a_wrong_one_is_refused() {
    let authority = Authority::new();
    let setup = Setup::new(&authority.asks(false)).await;
    let with = ask(setup.connect(HOST, Some(&authority.visitor())).await, HOST).await.unwrap();
    assert!(with.text().contains("client-cert: :"), "{}", with.text());
    let without = ask(setup.connect(HOST, None).await, HOST).await.unwrap();
    assert_eq!((without.status, without.text().contains("client-cert")), (200, false));
    let stranger = Authority::new().visitor();
    assert_eq!(status(ask(setup.connect(HOST, Some(&stranger)).await, HOST).await), None);
}

#[tokio::test]
async fn a_client_cannot_send_the_header_itself() {
    let authority = Authority::new();
    let setup = Setup::new(&authority.asks(false)).await;
    let forged = "Client-Cert: :AAAA:\r\nclient_cert: :AAAA:\r\nClient-Cert-Chain: :AAAA:\r\nX-Kept: 1\r\n";
    for (name, identity) in [(OPEN, None), (HOST, None), (HOST, Some(authority.visitor()))] {
        let mut client = setup.connect(name, identity.as_ref()).await.unwrap();
        let answer = ask_on(&mut client, name, forged).await.unwrap();
        assert!(answer.text().contains("X-Kept: 1") || answer.text().contains("x-kept: 1"), "{}", answer.text());
        assert!(!answer.text().contains(":AAAA:"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_connection_to_another_name_does_not_reach_the_host() {
    let authority = Authority::new();
    for required in [true, false] {
        let setup = Setup::new(&authority.asks(required)).await;
        let mut client = setup.connect(OPEN, Some(&authority.visitor())).await.unwrap();
        for host in [HOST, "HELLO.localhost", "hello.localhost.", "hello.localhost:443"] {
            assert_eq!(status(ask_on(&mut client, host, "").await), Some(421), "{host}");
        }
        assert_eq!(status(ask_on(&mut client, OPEN, "").await), Some(200));
        // The other way round hides nothing, but the app of the open host learns no certificate.
        let mut client = setup.connect(HOST, Some(&authority.visitor())).await.unwrap();
        let answer = ask_on(&mut client, OPEN, "").await.unwrap();
        assert_eq!((answer.status, answer.text().contains("client-cert")), (200, false));
    }
}

#[tokio::test]
async fn nor_does_one_of_http_2() {
    let authority = Authority::new();
    let setup = Setup::new(&authority.asks(true)).await;
    let visitor = authority.visitor();
    for (name, host, expected) in [(OPEN, HOST, 421), (OPEN, OPEN, 200), (HOST, HOST, 200)] {
        let client = setup.connect_by(&Arc::new(setup.config(&["h2"], Some(&visitor))), name).await.unwrap();
        let (send, connection) = h2::client::handshake(client.stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let request = http::Request::builder().uri(format!("https://{host}/")).body(()).unwrap();
        let (response, _) = send.ready().await.unwrap().send_request(request, true).unwrap();
        assert_eq!(response.await.unwrap().status(), expected, "{name} {host}");
    }
}

#[tokio::test]
async fn http_3_serves_no_host_that_asks_for_certificates() {
    let authority = Authority::new();
    let mut setup = Setup::new(&authority.asks(false)).await;
    let config = quic::config(&setup.proxy, |_| ());
    let endpoint = quic::endpoint();
    assert!(endpoint.connect_with(config.clone(), setup.proxy.https, HOST).unwrap().await.is_err());
    let connection = endpoint.connect_with(config, setup.proxy.https, OPEN).unwrap().await.unwrap();
    let (mut driver, send) = h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
    tokio::spawn(async move {
        std::future::poll_fn(|cx| driver.poll_close(cx)).await;
    });
    let at = |host: &str| http::Request::builder().uri(format!("https://{host}/")).body(()).unwrap();
    assert_eq!(quic::ask(&send, at(HOST)).await.unwrap().0.status(), 421);
    assert_eq!(quic::ask(&send, at(OPEN)).await.unwrap().0.status(), 200);
    let mut client = setup.connect(HOST, None).await.unwrap();
    assert_eq!(ask_on(&mut client, HOST, "").await.unwrap().header("alt-svc"), None);
    assert!(ask_on(&mut client, OPEN, "").await.unwrap().header("alt-svc").is_some());

    // A lowest version alone does not exclude HTTP/3, which has TLS 1.3.
    let tls = Some(HostTls { tls13_only: true, client_auth: None });
    setup.change(&RoutePolicy { tls, ..RoutePolicy::default() }).await;
    assert_eq!(quic::get(&quic::connect(&setup.proxy).await.send, "/").await.0, 200);
}

/// Offers each ticket to any host.
#[derive(Debug, Default)]
struct AnyName(Mutex<Vec<Tls13ClientSessionValue>>);

impl ClientSessionStore for AnyName {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.lock().unwrap().push(value);
    }
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.lock().unwrap().pop()
    }
}

#[tokio::test]
async fn a_ticket_replaces_no_certificate() {
    let authority = Authority::new();
    let mut setup = Setup::new(&RoutePolicy::default()).await;
    let tickets = Arc::new(AnyName::default());
    let mut config = setup.config(&["http/1.1"], None);
    config.resumption = Resumption::store(Arc::clone(&tickets) as Arc<dyn ClientSessionStore>);
    let config = Arc::new(config);
    let resumed = |client: &Client<TlsStream<TcpStream>>| {
        client.stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed)
    };
    // The control: a ticket is taken by the host that gave it.
    for expected in [false, true] {
        let mut client = setup.connect_by(&config, HOST).await.unwrap();
        assert_eq!(status(ask_on(&mut client, HOST, "").await), Some(200));
        assert_eq!(resumed(&client), expected);
    }
    // One from before the policy, and one of another host.
    setup.change(&authority.asks(true)).await;
    assert!(!tickets.0.lock().unwrap().is_empty());
    assert_eq!(status(ask(setup.connect_by(&config, HOST).await, HOST).await), None);
    tickets.0.lock().unwrap().clear();
    assert_eq!(status(ask(setup.connect_by(&config, OPEN).await, OPEN).await), Some(200));
    assert!(!tickets.0.lock().unwrap().is_empty());
    assert_eq!(status(ask(setup.connect_by(&config, HOST).await, HOST).await), None);

    // With a certificate, each handshake is a full one.
    let config = Arc::new(setup.config(&["http/1.1"], Some(&authority.visitor())));
    for _ in 0..2 {
        let mut client = setup.connect_by(&config, HOST).await.unwrap();
        assert_eq!(status(ask_on(&mut client, HOST, "").await), Some(200));
        assert!(!resumed(&client));
    }
}

#[tokio::test]
async fn an_open_connection_follows_a_changed_policy_and_survives_an_equal_one() {
    let authority = Authority::new();
    let mut setup = Setup::new(&RoutePolicy::default()).await;
    let mut before = setup.connect(HOST, None).await.unwrap();
    assert_eq!(status(ask_on(&mut before, HOST, "").await), Some(200));
    setup.change(&authority.asks(true)).await;
    assert_eq!(status(ask_on(&mut before, HOST, "").await), Some(421));
    let mut client = setup.connect(HOST, Some(&authority.visitor())).await.unwrap();
    setup.change(&authority.asks(true)).await;
    assert_eq!(status(ask_on(&mut client, HOST, "").await), Some(200));
    setup.change(&Authority::new().asks(true)).await;
    assert_eq!(status(ask_on(&mut client, HOST, "").await), Some(421));
}

#[tokio::test]
async fn plain_http_is_sent_to_https_although_the_route_serves_it() {
    let authority = Authority::new();
    let policy = RoutePolicy { serve_plain_http: true, ..authority.asks(true) };
    let setup = Setup::new(&policy).await;
    let answer = plain(&setup.proxy).await.ask(&format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n")).await;
    assert_eq!(answer.status, 308);
    let challenge = format!("GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    assert_eq!(plain(&setup.proxy).await.ask(&challenge).await.status, 421);
}

#[tokio::test]
async fn the_lowest_version_holds_for_its_host_alone() {
    let tls = Some(HostTls { tls13_only: true, client_auth: None });
    let setup = Setup::new(&RoutePolicy { tls, ..RoutePolicy::default() }).await;
    let old = Arc::new(setup.config_of(&["http/1.1"], None, &[&rustls::version::TLS12]));
    assert!(setup.connect_by(&old, HOST).await.is_none());
    let mut client = setup.connect_by(&old, OPEN).await.unwrap();
    assert_eq!(status(ask_on(&mut client, OPEN, "").await), Some(200));
    assert_eq!(status(ask_on(&mut client, HOST, "").await), Some(421));
    assert_eq!(status(ask(setup.connect(HOST, None).await, HOST).await), Some(200));
}

#[tokio::test]
async fn a_client_hello_in_pieces_selects_the_policy_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let authority = Authority::new();
    let setup = Setup::new(&authority.asks(true)).await;
    let config = Arc::new(setup.config(&["http/1.1"], Some(&authority.visitor())));
    let mut tls = rustls::ClientConnection::new(config, HOST.try_into().unwrap()).unwrap();
    let mut socket = TcpStream::connect(setup.proxy.https).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut hello = Vec::new();
    tls.write_tls(&mut hello).unwrap();
    for piece in hello.chunks(50) {
        socket.write_all(piece).await.unwrap();
        socket.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut bytes = vec![0; 16 * 1024];
    while tls.is_handshaking() || tls.wants_write() {
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out).unwrap();
        }
        socket.write_all(&out).await.unwrap();
        if tls.is_handshaking() {
            let count = socket.read(&mut bytes).await.unwrap();
            assert!(count > 0);
            tls.read_tls(&mut &bytes[..count]).unwrap();
            tls.process_new_packets().unwrap();
        }
    }
    assert!(tls.peer_certificates().is_some());
}

#[tokio::test]
async fn hosts_with_two_policies_or_without_authorities_are_refused() {
    let authority = Authority::new();
    let mut setup = Setup::new(&authority.asks(true)).await;
    let mut other = setup.snapshot.clone();
    let route = ProxyRoute { path_prefix: "/api/".into(), ..other.routes[0].clone() };
    other.routes.push(ProxyRoute { policy: encoded(&Authority::new().asks(true)), ..route.clone() });
    assert!(setup.proxy.apply(other.clone()).await.unwrap_err().contains("two TLS policies"));
    // A path without one has that of its host.
    let last = other.routes.len() - 1;
    other.routes[last] = ProxyRoute { policy: Vec::new(), ..route };
    setup.proxy.apply(other).await.unwrap();
    let mut client = setup.connect(OPEN, None).await.unwrap();
    client.send("GET /api/ HTTP/1.1\r\nHost: hello.localhost\r\n\r\n").await;
    assert_eq!(client.response(false).await.unwrap().status, 421);
    let mut bad = setup.snapshot.clone();
    let client_auth = Some(ClientAuth { required: true, ca_pem: "nothing".into() });
    let tls = Some(HostTls { tls13_only: false, client_auth });
    bad.routes[0].policy = encoded(&RoutePolicy { tls, ..RoutePolicy::default() });
    assert!(setup.proxy.apply(bad).await.unwrap_err().contains("not certificates"));
}

#[tokio::test]
async fn hsts_is_sent_over_https_alone_and_replaces_the_app_s_own() {
    let response = "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=1\r\nStrict-Transport-Security: max-age=2\r\nContent-Length: 0\r\n\r\n";
    let hsts = Some(Hsts { max_age_seconds: 31_536_000, include_subdomains: true, preload: true });
    let header =
        HeaderRule { action: HeaderAction::Set, name: "strict-transport-security".into(), value: "max-age=3".into() };
    let policy =
        RoutePolicy { hsts, serve_plain_http: true, response_headers: vec![header.clone()], ..RoutePolicy::default() };
    let mut setup = Setup::before(App::answering(response).await, &policy).await;
    let secure = ask(setup.connect(HOST, None).await, HOST).await.unwrap();
    let count = |response: &Response| response.head.to_ascii_lowercase().matches("strict-transport-security").count();
    let value = "max-age=31536000; includeSubDomains; preload";
    assert_eq!((secure.header("strict-transport-security"), count(&secure)), (Some(value), 1));
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let open = plain(&setup.proxy).await.ask(&request).await;
    assert_eq!((open.header("strict-transport-security"), count(&open)), (Some("max-age=3"), 1));
    // A reply of the proxy has it too; a redirect to HTTPS has not.
    setup.change(&RoutePolicy { deny: vec!["127.0.0.0/8".parse().unwrap()], hsts, ..RoutePolicy::default() }).await;
    let denied = ask(setup.connect(HOST, None).await, HOST).await.unwrap();
    assert_eq!((denied.status, denied.header("strict-transport-security")), (403, Some(value)));
    setup.change(&RoutePolicy { hsts, ..RoutePolicy::default() }).await;
    let redirect = plain(&setup.proxy).await.ask(&request).await;
    assert_eq!((redirect.status, count(&redirect)), (308, 0));
}
