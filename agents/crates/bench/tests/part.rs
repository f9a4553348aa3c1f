//! Tests the parts of two servers in one run, on real sockets: both start at the named time, and a part that can't is an error.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairlead_base::{CancellationToken, clock};
use fairlead_bench::{BenchError, MeasurementTurns, PartPlace, ProxyTarget, RunObserver, Targets, run_part};
use fairlead_model::{
    BenchmarkPart, BenchmarkPlan, BenchmarkProtocol, BenchmarkRole, BenchmarkRow, BenchmarkScenario, BenchmarkTarget,
    NetworkPath, PortCheck, RowOrder,
};
use fairlead_tls::{CertificateSet, CertificateSource, CertificateStore, LocalAuthority, Tickets, server_config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use support::{HOST, plan};

const CHECK_NAME: &str = "0123456789abcdef.fairlead-check.invalid";
const ANSWER: [u8; 32] = [7; 32];

/// Starts a proxy of the organization: it answers its port check.
async fn https_app(authority: &LocalAuthority, connections: u64) -> (SocketAddr, Arc<AtomicU64>) {
    https_server(authority, connections, Some(ANSWER)).await
}

/// Answers every request over TLS and counts them. Accepts only the first `connections` that send one. Answers the port check
/// with `answer`.
async fn https_server(
    authority: &LocalAuthority,
    connections: u64,
    answer: Option<[u8; 32]>,
) -> (SocketAddr, Arc<AtomicU64>) {
    let leaf = authority.leaf(HOST).unwrap();
    let store = Arc::new(CertificateStore::default());
    let hosts = [HOST.to_owned()];
    let source = CertificateSource { hosts: &hosts, chain_der: &leaf.chain_der, key_pkcs8_der: &leaf.key_pkcs8_der };
    let set = CertificateSet::build([source], &CertificateSet::default()).unwrap();
    let challenges = answer.iter().map(|answer| (CHECK_NAME, answer.as_slice()));
    store.swap(Arc::new(set.with_challenges(challenges).unwrap()));
    let acceptor = TlsAcceptor::from(server_config(store, Tickets::new(&[[1; 32]]).unwrap()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, served) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
    let (count, open) = (served.clone(), Arc::new(AtomicU64::new(0)));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, count, open) = (acceptor.clone(), count.clone(), open.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut request = vec![0; 4096];
                // A server that looks for its target ends after the handshake.
                if !stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                    return;
                }
                if open.fetch_add(1, Ordering::Relaxed) >= connections {
                    return;
                }
                loop {
                    count.fetch_add(1, Ordering::Relaxed);
                    if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.is_err() {
                        return;
                    }
                    if !stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                        return;
                    }
                }
            });
        }
    });
    (address, served)
}

/// Agent in a run: its orders, its reports of readiness, and its end.
struct Agent {
    orders: watch::Sender<RowOrder>,
    ready: mpsc::UnboundedReceiver<u32>,
    run: JoinHandle<Result<Vec<BenchmarkRow>, BenchError>>,
}

struct Reporter(mpsc::UnboundedSender<u32>);

impl RunObserver for Reporter {
    fn ready(&mut self, rows: u32) {
        self.0.send(rows).unwrap();
    }
    fn row(&mut self, _: &BenchmarkRow) {}
    fn event_begins(&mut self, _: BenchmarkScenario) {}
    fn event_ends(&mut self) {}
}

fn join(plan: BenchmarkPlan, part: BenchmarkPart, local: Targets, cancel: &CancellationToken) -> Agent {
    let (orders, next) = watch::channel(RowOrder::default());
    let (reporter, ready) = mpsc::unbounded_channel();
    let cancel = cancel.clone();
    let run = tokio::spawn(async move {
        let place = PartPlace { plan: &plan, part: &part, local: &local };
        let turns = MeasurementTurns::default();
        run_part(place, Vec::new(), next, &turns, cancel, &mut Reporter(reporter)).await
    });
    Agent { orders, ready, run }
}

fn load_part(authority: &LocalAuthority, addresses: Vec<SocketAddr>) -> BenchmarkPart {
    let ca_pem = std::fs::read_to_string(authority.root_path()).unwrap();
    let check = Some(PortCheck { name: CHECK_NAME.to_owned(), answer: ANSWER });
    BenchmarkPart { role: BenchmarkRole::Load, addresses, ca_pem, order: RowOrder::default(), check }
}

/// Returns an authority and its folder, which ends with it.
fn authority() -> (LocalAuthority, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (LocalAuthority::open_or_create(folder.path()).unwrap(), folder)
}

/// Two rounds of an open loop for `clients` clients.
fn paced(clients: u32) -> BenchmarkPlan {
    let plan = plan(BenchmarkTarget::Proxy, BenchmarkProtocol::Http1, clients);
    BenchmarkPlan { rate: Some(100.0), duration: Duration::from_millis(400), ..plan }
}

#[tokio::test]
async fn servers_take_each_row_at_the_named_time_and_count_what_the_app_served() {
    let (authority, _folder) = authority();
    let (address, served) = https_app(&authority, u64::MAX).await;
    // Nothing listens at the first address, so the second one is the target.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let cancel = CancellationToken::new();
    let load = |clients| {
        let part = load_part(&authority, vec![closed, address]);
        let plan = BenchmarkPlan { warmup: Duration::ZERO, ..paced(clients) };
        join(plan, part, Targets::default(), &cancel)
    };
    let proxy = ProxyTarget { address, roots: vec![authority.root_der().to_vec()], pid: Some(std::process::id()) };
    let measure = BenchmarkPart { role: BenchmarkRole::Measure, ..load_part(&authority, Vec::new()) };
    let plan = BenchmarkPlan { warmup: Duration::ZERO, ..paced(5) };
    let local = Targets::of_app(Some(proxy), None, Vec::new());
    let mut agents = [load(3), load(2), join(plan, measure, local, &cancel)];
    let mut starts = Vec::new();
    for row in 0..2 {
        for agent in &mut agents {
            assert_eq!(agent.ready.recv().await, Some(row + 1));
        }
        // All are ready, and no server measures before the start is set.
        assert!(agents.iter().all(|agent| !agent.run.is_finished()));
        let start = clock::unix_us() + 1_000_000;
        starts.push(start);
        for agent in &agents {
            agent.orders.send_replace(RowOrder { row, start_unix_us: Some(start) });
        }
        if row == 0 {
            // No server begins the next row before it is ordered.
            let early = tokio::time::timeout(Duration::from_secs(1), agents[0].ready.recv()).await;
            assert!(early.is_err());
            let next = RowOrder { row: 1, start_unix_us: None };
            for agent in &agents {
                agent.orders.send_replace(next);
            }
        }
    }
    let [east, west, home] = agents.map(|agent| agent.run);
    let (east, west, home) = (east.await.unwrap().unwrap(), west.await.unwrap().unwrap(), home.await.unwrap().unwrap());
    for row in east.iter().chain(&west).chain(&home) {
        assert!(row.start_unix_us.unwrap() >= starts[row.position as usize], "{row:?}");
    }
    assert!(east.iter().chain(&west).all(|row| row.requests > 0 && row.errors == 0));
    assert!(east.iter().chain(&west).all(|row| row.network_path == Some(NetworkPath::BetweenServers)));
    assert!(home.iter().all(|row| row.requests == 0 && row.proxy_memory_bytes > 0 && row.noise.is_some()));
    // Each client of each row begins with one request that does not count.
    let counted: u64 = east.iter().chain(&west).map(|row| row.requests).sum();
    assert_eq!(served.load(Ordering::Relaxed), counted + 2 * 5);
}

#[tokio::test]
async fn a_start_that_has_passed_and_a_row_that_others_took_are_errors() {
    let (authority, _folder) = authority();
    let (address, _) = https_app(&authority, u64::MAX).await;
    for (order, words) in [
        (RowOrder { row: 0, start_unix_us: Some(clock::unix_us() - 1) }, "too late"),
        (RowOrder { row: 1, start_unix_us: None }, "went on without its row 1"),
    ] {
        let part = load_part(&authority, vec![address]);
        let mut agent = join(paced(2), part, Targets::default(), &CancellationToken::new());
        assert_eq!(agent.ready.recv().await, Some(1));
        agent.orders.send_replace(order);
        let error = agent.run.await.unwrap().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_server_whose_clients_are_not_all_connected_is_not_ready() {
    let (authority, _folder) = authority();
    let (address, _) = https_app(&authority, 1).await;
    let part = load_part(&authority, vec![address]);
    let mut agent = join(paced(2), part, Targets::default(), &CancellationToken::new());
    let error = agent.run.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("Only 1 of its 2 clients"), "{error}");
    assert_eq!(agent.ready.recv().await, None);
}

#[tokio::test]
async fn a_cancel_ends_a_server_that_waits_and_one_that_sends() {
    let (authority, _folder) = authority();
    let (address, served) = https_app(&authority, u64::MAX).await;
    for starts in [false, true] {
        let cancel = CancellationToken::new();
        let part = load_part(&authority, vec![address]);
        let plan = BenchmarkPlan { duration: Duration::from_secs(600), rate: None, ..paced(2) };
        let mut agent = join(plan, part, Targets::default(), &cancel);
        agent.ready.recv().await.unwrap();
        if starts {
            agent.orders.send_replace(RowOrder { row: 0, start_unix_us: Some(clock::unix_us() + 100_000) });
            let before = served.load(Ordering::Relaxed);
            while served.load(Ordering::Relaxed) < before + 50 {
                tokio::task::yield_now().await;
            }
        }
        cancel.cancel();
        assert!(matches!(agent.run.await.unwrap(), Err(BenchError::Cancelled)));
        let after = served.load(Ordering::Relaxed);
        tokio::time::timeout(Duration::from_millis(200), std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(served.load(Ordering::Relaxed), after);
    }
}

#[tokio::test]
async fn only_an_address_with_a_trusted_certificate_gets_requests() {
    let ((own, _folder), (stranger, _other)) = (authority(), authority());
    let (address, served) = https_app(&stranger, u64::MAX).await;
    let agent = join(paced(2), load_part(&own, vec![address]), Targets::default(), &CancellationToken::new());
    let error = agent.run.await.unwrap().unwrap_err();
    assert!(matches!(error, BenchError::Unreachable { .. }) && error.to_string().contains(HOST), "{error}");
    assert_eq!(served.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_trusted_certificate_without_the_answer_of_the_port_check_gets_no_requests() {
    let (own, _folder) = authority();
    for answer in [None, Some([8; 32])] {
        let (address, served) = https_server(&own, u64::MAX, answer).await;
        let part = load_part(&own, vec![address]);
        let agent = join(paced(2), part, Targets::default(), &CancellationToken::new());
        let error = agent.run.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(HOST) && error.contains("none of its addresses"), "{error}");
        // The message is no scan of the network.
        assert!(!error.contains(&address.to_string()), "{error}");
        assert_eq!(served.load(Ordering::Relaxed), 0);
    }
    // The next address is tried.
    let (stranger, _) = https_server(&own, u64::MAX, None).await;
    let (address, _) = https_app(&own, u64::MAX).await;
    let part = load_part(&own, vec![stranger, address]);
    let mut agent = join(paced(2), part, Targets::default(), &CancellationToken::new());
    assert_eq!(agent.ready.recv().await, Some(1));
}
