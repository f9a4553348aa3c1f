//! Tests load on an app in a separate network: every connection uses a socket that was handed over.
#![cfg(test)]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use fairlead_base::CancellationToken;
use fairlead_base::handover::{HandoverRequest, REQUEST_BYTES, SOCKETS_MAX, answer};
use fairlead_bench::{BenchError, Campaign, Contender, MeasurementTurns, Mode, Targets, run_campaign, run_plan};
use fairlead_model::{BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, NetworkPath, UpstreamAddress};
use fairlead_network::{DeviceLink, Namespace};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use support::plan;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

/// Counts of requests and sockets at the hand-over.
#[derive(Debug, Default)]
struct HandoverCounts {
    requests: AtomicUsize,
    sockets: AtomicUsize,
}

/// An app in a network namespace, with the same port as `decoy` outside of it.
struct Instance {
    address: SocketAddr,
    handover: PathBuf,
    counts: Arc<HandoverCounts>,
    /// Server outside of the namespace, with a different response: receives connections that leave the wrong network.
    decoy: TcpListener,
    _folder: tempfile::TempDir,
}

impl Instance {
    fn start(answer: &'static [u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (handover, app_socket) = (folder.path().join("s"), folder.path().join("app"));
        let decoy = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = decoy.local_addr().unwrap();
        let outside = decoy.try_clone().unwrap();
        std::thread::spawn(move || {
            serve(move || outside.accept().map(|accepted| accepted.0), b"HTTP/1.1 500 Oh\r\n\r\n")
        });
        let counts = Arc::new(HandoverCounts::default());
        let (ready, started) = mpsc::channel();
        let (path, count) = (handover.clone(), counts.clone());
        std::thread::spawn(move || {
            let prefix = format!("fb{:04x}", std::process::id() & 0xffff);
            let link = DeviceLink { prefix, group: 0, alias: "app".to_owned(), ipv6: false };
            let _namespace = Namespace::enter_new(&link).unwrap();
            // Threads of the app start inside the namespace.
            let listener = TcpListener::bind(address).unwrap();
            std::thread::spawn(move || serve(move || listener.accept().map(|accepted| accepted.0), answer));
            let listener = UnixListener::bind(&app_socket).unwrap();
            std::thread::spawn(move || serve(move || listener.accept().map(|accepted| accepted.0), answer));
            let listener = UnixListener::bind(&path).unwrap();
            ready.send(()).unwrap();
            while let Ok((mut client, _)) = listener.accept() {
                hand_over(&mut client, &app_socket, &count);
            }
        });
        started.recv().unwrap();
        Self { address, handover, counts, decoy, _folder: folder }
    }

    fn tcp(&self) -> UpstreamAddress {
        UpstreamAddress::Namespace { handover: self.handover.clone(), address: Some(self.address) }
    }

    fn unix(&self) -> UpstreamAddress {
        UpstreamAddress::Namespace { handover: self.handover.clone(), address: None }
    }
}

/// Gives every request the same response, with one thread for each connection.
fn serve<S: Read + Write + Send + 'static>(accept: impl Fn() -> std::io::Result<S>, answer: &'static [u8]) {
    while let Ok(mut stream) = accept() {
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|length| length > 0) {
                if stream.write_all(answer).is_err() || answer == CLOSING {
                    return;
                }
            }
        });
    }
}

fn hand_over(client: &mut UnixStream, app: &Path, counts: &HandoverCounts) {
    let mut bytes = [0; REQUEST_BYTES];
    // A client whose time is up closes its connection before it asks; the next one is served.
    if client.read_exact(&mut bytes).is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof) {
        return;
    }
    counts.requests.fetch_add(1, Ordering::Relaxed);
    let sockets: Vec<OwnedFd> = match HandoverRequest::read(bytes) {
        Some(HandoverRequest::Ipv4(count)) => {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            (0..count).map(|_| socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap()).collect()
        }
        Some(HandoverRequest::Unix) => {
            let stream = UnixStream::connect(app).unwrap();
            stream.set_nonblocking(true).unwrap();
            vec![stream.into()]
        }
        other => panic!("{other:?}"),
    };
    counts.sockets.fetch_add(sockets.len(), Ordering::Relaxed);
    let answered = answer(client, Ok(&sockets.iter().map(AsFd::as_fd).collect::<Vec<_>>()));
    // The end of a row drops a request for sockets that is under way.
    assert!(answered.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::BrokenPipe), "{answered:?}");
}

/// True if this process may create network namespaces.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn direct(address: UpstreamAddress) -> Targets {
    Targets::of_app(None, Some(address), Vec::new())
}

#[tokio::test]
async fn direct_rows_of_an_app_with_its_own_network_use_its_sockets_in_batches() {
    if !is_root() {
        return;
    }
    let instance = Instance::start(ANSWER);
    // Control: the same address in this network is another server.
    let mut other = TcpStream::connect(instance.address).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut status = [0; 12];
    other.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 500");
    assert_eq!(instance.decoy.local_addr().unwrap(), instance.address);

    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 20);
    let rows = run_plan(
        &plan,
        &direct(instance.tcp()),
        &MeasurementTurns::default(),
        CancellationToken::new(),
        &mut |_: &BenchmarkRow| {},
    )
    .await
    .unwrap();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert!(row.requests > 0);
        assert_eq!(row.errors, 0);
        assert_eq!(row.network_path, Some(NetworkPath::OwnNetwork));
    }
    let (requests, sockets) = (&instance.counts.requests, &instance.counts.sockets);
    assert_eq!(sockets.load(Ordering::Relaxed), requests.load(Ordering::Relaxed) * usize::from(SOCKETS_MAX));
    // Twenty connections a round need two batches of each of its workers at most.
    assert!(requests.load(Ordering::Relaxed) >= 4, "{:?}", instance.counts);
}

#[tokio::test]
async fn an_app_that_closes_its_connections_gets_new_sockets() {
    if !is_root() {
        return;
    }
    let instance = Instance::start(CLOSING);
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let rows = run_plan(
        &plan,
        &direct(instance.tcp()),
        &MeasurementTurns::default(),
        CancellationToken::new(),
        &mut |_: &BenchmarkRow| {},
    )
    .await
    .unwrap();
    assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0), "{rows:?}");
    let answered: u64 = rows.iter().map(|row| row.requests).sum();
    assert!(instance.counts.sockets.load(Ordering::Relaxed) as u64 >= answered, "{:?}", instance.counts);
}

#[tokio::test]
async fn an_app_on_a_unix_socket_is_measured_without_the_proxy_too() {
    if !is_root() {
        return;
    }
    let instance = Instance::start(ANSWER);
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let own = UpstreamAddress::Unix {
        path: instance.handover.with_file_name("app"),
        owner: Some(rustix::process::geteuid().as_raw()),
    };
    for address in [instance.unix(), own.clone()] {
        let rows = run_plan(
            &plan,
            &direct(address),
            &MeasurementTurns::default(),
            CancellationToken::new(),
            &mut |_: &BenchmarkRow| {},
        )
        .await
        .unwrap();
        assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0), "{rows:?}");
        assert!(rows.iter().all(|row| row.network_path == Some(NetworkPath::UnixSocket)));
    }
    let UpstreamAddress::Unix { path, .. } = own else { unreachable!() };
    let foreign = UpstreamAddress::Unix { path, owner: Some(4_000_000) };
    let error = run_plan(
        &plan,
        &direct(foreign),
        &MeasurementTurns::default(),
        CancellationToken::new(),
        &mut |_: &BenchmarkRow| {},
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains(&std::io::Error::from(ErrorKind::PermissionDenied).to_string()), "{error}");
}

#[tokio::test]
async fn a_row_from_a_file_names_its_path() {
    if !is_root() {
        return;
    }
    let instance = Instance::start(ANSWER);
    let contender = |name: &str, url: &str, connect: UpstreamAddress| Contender {
        name: name.to_owned(),
        url: url.to_owned(),
        connect: Some(connect),
        ca_file: None,
        protocol: BenchmarkProtocol::Http1,
        pids: Vec::new(),
    };
    let mut campaign = Campaign {
        contenders: vec![
            contender("own", "http://bench.localhost/", instance.tcp()),
            contender("socket", "http://bench.localhost/", instance.unix()),
        ],
        mode: Mode::Fresh,
        concurrency: vec![2],
        workers: None,
        rate: None,
        request_timeout_ms: 30_000,
        repeats: 1,
        duration_ms: 100,
        warmup_ms: 10,
    };
    let rows = run_campaign(&campaign, CancellationToken::new(), |_| {}).await.unwrap();
    let paths: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.network_path)).collect();
    assert_eq!(paths, [("own", NetworkPath::OwnNetwork), ("socket", NetworkPath::UnixSocket)]);

    campaign.mode = Mode::Keepalive;
    campaign.contenders = vec![contender("tls", "https://bench.localhost/", instance.unix())];
    let error = run_campaign(&campaign, CancellationToken::new(), |_| {}).await.unwrap_err();
    assert!(matches!(&error, BenchError::Plan(reason) if reason.contains("TCP only")), "{error}");
}
