//! Tests connection modes on real sockets: number of connections, resumptions and requests.
#![cfg(test)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, Campaign, CampaignRow, Contender, Mode, run_campaign};
use fairlead_model::BenchmarkProtocol;
use fairlead_tls::LocalAuthority;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{HandshakeKind, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const HOST: &str = "bench.localhost";

#[derive(Debug, Default)]
struct ServerCounts {
    connections: AtomicU32,
    open: AtomicU32,
    open_most: AtomicU32,
    requests: AtomicUsize,
    resumed: AtomicUsize,
    asked_to_close: AtomicUsize,
}

/// Gives every request the same response and closes the connection if the request says so.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, counts: Arc<ServerCounts>) {
    let mut request = vec![0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut request).await {
        let closes = request[..length].windows(17).any(|window| window.eq_ignore_ascii_case(b"connection: close"));
        counts.requests.fetch_add(1, Ordering::Relaxed);
        // Counts before the response: the client may be gone afterwards.
        counts.asked_to_close.fetch_add(usize::from(closes), Ordering::Relaxed);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").await.is_err() {
            return;
        }
        if closes {
            return;
        }
    }
}

struct Server {
    address: SocketAddr,
    counts: Arc<ServerCounts>,
    ca_file: PathBuf,
    _folder: tempfile::TempDir,
}

async fn server() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let leaf = authority.leaf(HOST).unwrap();
    let ca_file = authority.root_path().to_owned();
    let chain = leaf.chain_der.into_iter().map(CertificateDer::from).collect();
    let key = PrivatePkcs8KeyDer::from(leaf.key_pkcs8_der).into();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, counts) = (listener.local_addr().unwrap(), Arc::new(ServerCounts::default()));
    let shared = counts.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, counts) = (acceptor.clone(), shared.clone());
            counts.connections.fetch_add(1, Ordering::Relaxed);
            let open = counts.open.fetch_add(1, Ordering::Relaxed) + 1;
            counts.open_most.fetch_max(open, Ordering::Relaxed);
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
                    counts.resumed.fetch_add(usize::from(resumed), Ordering::Relaxed);
                    serve(stream, counts.clone()).await;
                }
                counts.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Server { address, counts, ca_file, _folder: folder }
}

async fn measured(server: &Server, mode: Mode, clients: u32) -> Result<CampaignRow, BenchError> {
    measured_at(&format!("https://{HOST}/"), server, mode, clients).await
}

async fn measured_at(url: &str, server: &Server, mode: Mode, clients: u32) -> Result<CampaignRow, BenchError> {
    let contender = Contender {
        name: "server".to_owned(),
        url: url.to_owned(),
        connect: Some(server.address.into()),
        ca_file: Some(server.ca_file.clone()),
        protocol: BenchmarkProtocol::Http1,
        pids: vec![std::process::id()],
    };
    let contenders = vec![contender];
    let campaign = Campaign {
        contenders,
        mode,
        concurrency: vec![clients],
        repeats: 1,
        workers: None,
        rate: None,
        request_timeout_ms: 30_000,
        duration_ms: 150,
        warmup_ms: 20,
    };
    let rows = run_campaign(&campaign, CancellationToken::new(), |_| {}).await?;
    Ok(rows.into_iter().next().unwrap())
}

#[tokio::test]
async fn fresh_clients_open_a_connection_a_request_and_never_resume() {
    let server = server().await;
    let row = measured(&server, Mode::Fresh, 4).await.unwrap();
    assert!(row.requests > 0);
    assert_eq!((row.errors, row.resumed, server.counts.resumed.load(Ordering::Relaxed)), (0, 0, 0));
    // The server may still handle the last connections.
    while server.counts.open.load(Ordering::Relaxed) > 0 {
        tokio::task::yield_now().await;
    }
    let requests = server.counts.requests.load(Ordering::Relaxed);
    assert_eq!(server.counts.asked_to_close.load(Ordering::Relaxed), requests);
    assert!(server.counts.connections.load(Ordering::Relaxed) as usize >= requests);
}

#[tokio::test]
async fn resumed_clients_resume_every_connection_but_their_first() {
    let server = server().await;
    let row = measured(&server, Mode::Resumed, 4).await.unwrap();
    // A connection open at the start or end of the window counts on one side only.
    assert!(row.resumed.abs_diff(row.requests) <= 8, "{} of {} resumed", row.resumed, row.requests);
    let connections = server.counts.connections.load(Ordering::Relaxed) as usize;
    assert!(server.counts.resumed.load(Ordering::Relaxed) + 4 + 4 >= connections, "{:?}", server.counts);
}

#[tokio::test]
async fn idle_clients_ask_once_and_hold_what_they_opened() {
    let server = server().await;
    let row = measured(&server, Mode::Idle, 50).await.unwrap();
    assert_eq!((row.clients, row.requests, row.errors, row.cpu_us_per_request), (50, 0, 0, None));
    assert_eq!(server.counts.requests.load(Ordering::Relaxed), 50);
    assert_eq!(server.counts.open_most.load(Ordering::Relaxed), 50);
    assert!(row.memory_before_bytes > 0 && row.memory_bytes > 0);
}

#[tokio::test]
async fn kept_connections_are_opened_once_a_client() {
    let server = server().await;
    let row = measured(&server, Mode::Keepalive, 3).await.unwrap();
    assert!(row.requests > 0);
    assert_eq!(server.counts.connections.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn an_unusable_url_is_refused_by_the_name_of_its_contender() {
    let server = server().await;
    for (url, reason) in [
        (
            "https://user:canary@bench.localhost/",
            "its url has a user name or a password, which are never sent: remove them",
        ),
        ("https://canary@bench.localhost/", "its url has a user name or a password, which are never sent: remove them"),
        ("https://user:can/ary@bench.localhost/", "its url has an invalid port"),
        ("/canary", "its url has no host"),
        ("ftp://bench.localhost/canary", "its url must start with http:// or https://"),
    ] {
        let error = measured_at(url, &server, Mode::Keepalive, 1).await.unwrap_err();
        assert!(matches!(&error, BenchError::Plan(message) if *message == format!("`server`: {reason}")), "{error}");
    }
}
