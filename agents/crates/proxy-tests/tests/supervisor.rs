//! Proxy supervisor with a real proxy process: start, kill -9 under load, adoption by the next `run`, stop. This
//! program is both the test and, as `PROGRAM proxy`, the proxy that it starts.

// Not `cfg(test)` to the lints, because it has its own `main`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fairlead_model::message::{AccessLog, ProxySettings};
use fairlead_proxy::{DrainOptions, ProxySupervisor, SupervisorOptions};
use fairlead_tls::LocalAuthority;
use fairlead_wire::LocalChannel;
use fairlead_wire::local::{
    Listener, Listeners, ProxyApp, ProxyCommand, ProxyEvent, ProxyHello, ProxyRoute, ProxySnapshot, ProxyStats,
    proxy_command, proxy_event,
};
use prost::Message;
use rustix::process::{Pid, Resource, Signal, kill_process};
use rustls::HandshakeKind;
use support::app::App;
use support::client::{Client, get};
use support::{APP, HOST, certificate, client_tls, limit_open_files, upstream};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("proxy") {
        fairlead_proxy::run("0.0.0-test", fairlead_proxy::Limits::default()).unwrap();
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if std::env::args().nth(1).as_deref() == Some("stranger") {
        runtime.block_on(stranger(std::env::args().nth(2).unwrap().as_ref(), 99, std::process::id()));
        return;
    }
    if std::env::args().nth(1).as_deref() == Some("liar") {
        let named = std::env::args().nth(3).unwrap().parse().unwrap();
        runtime.block_on(stranger(std::env::args().nth(2).unwrap().as_ref(), 1, named));
        return;
    }
    runtime.block_on(async {
        a_proxy_serves_without_any_right_beyond_serving().await;
        println!("ok: a proxy serves without any right beyond serving");
        a_proxy_that_names_another_process_is_not_believed().await;
        println!("ok: a proxy that names another process is not believed");
        the_access_log_is_rotated_for_a_proxy_that_opens_no_file().await;
        println!("ok: the access log is rotated for a proxy that opens no file");
        a_killed_proxy_is_followed_at_once_and_refuses_nobody().await;
        println!("ok: a killed proxy is followed at once and refuses nobody");
        a_new_run_adopts_the_proxy_that_serves().await;
        println!("ok: a new run adopts the proxy that serves");
        a_broken_channel_is_opened_again_and_the_proxy_serves_on().await;
        println!("ok: a broken channel is opened again and the proxy serves on");
        sessions_resume_on_the_proxy_that_follows_and_under_the_next_run().await;
        println!("ok: sessions resume on the proxy that follows, and under the next run");
        a_hung_proxy_is_replaced_on_the_same_sockets().await;
        println!("ok: a hung proxy is replaced on the same sockets");
        a_proxy_of_another_version_is_replaced().await;
        println!("ok: a proxy of another version is replaced");
        used_up_descriptors_pause_accepting_and_it_recovers().await;
        println!("ok: used-up descriptors pause accepting, and it recovers");
    });
    println!("test result: ok. 10 passed; 0 failed; 0 ignored");
}

fn options(folder: &Path) -> SupervisorOptions {
    SupervisorOptions {
        // An ordinary user may start it too, from any folder.
        program: "/proc/self/exe".into(),
        control_path: folder.join("proxy.sock"),
        https: vec!["127.0.0.1:0".parse().unwrap()],
        http: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 2,
        upgrade_drain: DrainOptions::default(),
    }
}

/// Plain HTTP under a path that is not redirected, so that no certificate is needed.
fn snapshot(app: SocketAddr) -> ProxySnapshot {
    ProxySnapshot {
        generation: 0,
        routes: vec![ProxyRoute {
            host: HOST.to_owned(),
            path_prefix: "/".to_owned(),
            app_key: APP.to_owned(),
            ..ProxyRoute::default()
        }],
        certificates: Vec::new(),
        apps: vec![ProxyApp {
            app_key: APP.to_owned(),
            upstreams: vec![upstream("ins_1", app)],
            measured: true,
            ..ProxyApp::default()
        }],
        ..ProxySnapshot::default()
    }
}

const ASK: &str = "GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: hello.localhost\r\n\r\n";

async fn ask(address: SocketAddr) -> Option<u16> {
    let mut client = Client::new(TcpStream::connect(address).await.expect("refused"));
    // A proxy that is killed now cuts this connection.
    tokio::io::AsyncWriteExt::write_all(&mut client.stream, ASK.as_bytes()).await.ok()?;
    client.response(false).await.map(|response| response.status)
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Reads statistics on, so that the supervisor never has to drop any.
fn discard(mut stats: mpsc::Receiver<ProxyStats>) {
    tokio::spawn(async move { while stats.recv().await.is_some() {} });
}

async fn until(condition: impl AsyncFn() -> bool) {
    while !condition().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the fields of a thread's status (proc_pid_status(5)).
fn status(task: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(task.join("status")).unwrap();
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}

async fn a_proxy_serves_without_any_right_beyond_serving() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (supervisor, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    discard(stats);
    supervisor.apply(snapshot(app.address)).await.unwrap();
    assert_eq!(ask(supervisor.http_address().unwrap()).await, Some(200));
    let root = rustix::process::geteuid().is_root();
    let user =
        if root { fairlead_base::accounts::proxy_user().unwrap().uid } else { rustix::process::geteuid().as_raw() };
    let mut threads = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", supervisor.pid())).unwrap() {
        let status = status(&task.unwrap().path());
        for capabilities in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status[capabilities], "0".repeat(16), "{capabilities}");
        }
        if root {
            assert_eq!((&*status["CapBnd"], &*status["Groups"]), (&*"0".repeat(16), ""));
        }
        assert_eq!((&*status["NoNewPrivs"], &*status["Seccomp"]), ("1", "2"));
        assert_eq!(status["Uid"], [user; 4].map(|user| user.to_string()).join(" "));
        threads += 1;
    }
    assert!(threads > 2, "the control thread and each core");
    supervisor.stop(Duration::from_secs(5)).await;
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn the_access_log_is_rotated_for_a_proxy_that_opens_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    // Only its owner can reach it.
    std::fs::set_permissions(&logs, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (supervisor, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    discard(stats);
    let access_log =
        AccessLog { sample_permille: Some(1000), file_bytes_max: 64 * 1024, files_max: 3, ..AccessLog::default() };
    let table = ProxySnapshot {
        settings: ProxySettings { access_log: Some(access_log), ..ProxySettings::default() }.encode_to_vec(),
        access_log_path: logs.join("access.log").to_string_lossy().into_owned(),
        ..snapshot(app.address)
    };
    supervisor.apply(table).await.unwrap();
    let address = supervisor.http_address().unwrap();
    let written = |name: &str| std::fs::metadata(logs.join(name)).map_or(0, |file| file.len());
    // A successor gets the file too.
    for (name, pid) in [("access.log", 0), ("access.log.1", supervisor.pid())] {
        if pid != 0 {
            kill(pid, Signal::KILL);
            until(async || supervisor.pid() != pid).await;
        }
        until(async || {
            assert_eq!(ask(address).await, Some(200));
            written(name) >= 64 * 1024
        })
        .await;
    }
    until(async || {
        assert_eq!(ask(address).await, Some(200));
        (1..64 * 1024).contains(&written("access.log"))
    })
    .await;
    supervisor.stop(Duration::from_secs(5)).await;
}

async fn a_killed_proxy_is_followed_at_once_and_refuses_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (supervisor, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    discard(stats);
    supervisor.apply(snapshot(app.address)).await.unwrap();
    let mut bad = snapshot(app.address);
    bad.routes[0].app_key = "nobody".to_owned();
    assert!(supervisor.apply(bad).await.unwrap_err().contains("nobody"));
    let address = supervisor.http_address().unwrap();
    let (stop, cut, served) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, cut, served) = (Arc::clone(&stop), Arc::clone(&cut), Arc::clone(&served));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    match ask(address).await {
                        Some(status) => {
                            assert_eq!(status, 200);
                            served.fetch_add(1, Ordering::Relaxed);
                        }
                        None => {
                            cut.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            })
        })
        .collect();
    for _ in 0..3 {
        let (before, pid) = (served.load(Ordering::Relaxed), supervisor.pid());
        until(async || served.load(Ordering::Relaxed) > before + 50).await;
        kill(pid, Signal::KILL);
        until(async || supervisor.pid() != pid).await;
    }
    let before = served.load(Ordering::Relaxed);
    until(async || served.load(Ordering::Relaxed) > before + 50).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    // Only requests that were in flight: at most one a client and kill.
    assert!(cut.load(Ordering::Relaxed) <= 12, "{} were cut", cut.load(Ordering::Relaxed));
    supervisor.stop(Duration::from_secs(5)).await;
    assert!(TcpStream::connect(address).await.is_err());
}

async fn a_new_run_adopts_the_proxy_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (first, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    first.apply(snapshot(app.address)).await.unwrap();
    let (pid, address) = (first.pid(), first.http_address().unwrap());
    drop((first, stats));
    assert_eq!(ask(address).await, Some(200));
    let (second, mut stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    assert_eq!((second.pid(), second.http_address()), (pid, Some(address)));
    // The metrics counted without a listener arrive first.
    let frame = stats.recv().await.unwrap();
    assert_eq!(frame.apps.iter().map(|app| app.requests).sum::<u32>(), 1);
    discard(stats);
    second.apply(snapshot(app.address)).await.unwrap();
    // The adopted one is followed too, with the sockets it handed over.
    kill(pid, Signal::KILL);
    until(async || second.pid() != pid).await;
    assert_eq!(ask(address).await, Some(200));
    second.stop(Duration::from_secs(5)).await;
}

async fn a_broken_channel_is_opened_again_and_the_proxy_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let options = options(folder.path());
    let (supervisor, mut stats) = ProxySupervisor::start(options.clone()).await.unwrap();
    supervisor.apply(snapshot(app.address)).await.unwrap();
    let (pid, address) = (supervisor.pid(), supervisor.http_address().unwrap());
    for _ in 0..3 {
        // The latest `run` wins, so this one's channel is closed.
        drop(tokio::net::UnixStream::connect(&options.control_path).await.unwrap());
        while supervisor.apply(snapshot(app.address)).await.is_err() {}
        stats.recv().await.unwrap();
        assert_eq!((supervisor.pid(), ask(address).await), (pid, Some(200)));
    }
    supervisor.stop(Duration::from_secs(5)).await;
}

async fn sessions_resume_on_the_proxy_that_follows_and_under_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let authority = LocalAuthority::open_or_create(&folder.path().join("ca")).unwrap();
    let with_certificate = || ProxySnapshot { certificates: vec![certificate(&authority)], ..snapshot(app.address) };
    let (mut supervisor, mut stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    supervisor.apply(with_certificate()).await.unwrap();
    let address = supervisor.https_address().unwrap();
    let config = client_tls(&authority, &["http/1.1"]);
    let ask = async || {
        let (stream, name) = (TcpStream::connect(address).await.unwrap(), HOST.try_into().unwrap());
        let stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.unwrap();
        let kind = stream.get_ref().1.handshake_kind().unwrap();
        // The ticket comes with the response.
        assert_eq!(Client::new(stream).ask(&get("/")).await.status, 200);
        kind
    };
    assert_eq!(ask().await, HandshakeKind::Full);
    for _ in 0..2 {
        // Resumption works on every core.
        assert_eq!(ask().await, HandshakeKind::Resumed);
        let pid = supervisor.pid();
        kill(pid, Signal::KILL);
        until(async || supervisor.pid() != pid).await;
        assert_eq!(ask().await, HandshakeKind::Resumed);
        // The next `run` learns the keys from the proxy, and hands them to the one after it.
        drop((supervisor, stats));
        (supervisor, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
        supervisor.apply(with_certificate()).await.unwrap();
    }
    drop(stats);
    supervisor.stop(Duration::from_secs(5)).await;
}

async fn a_hung_proxy_is_replaced_on_the_same_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (https, http) = free_addresses();
    let options = SupervisorOptions { https: vec![https], http: vec![http], ..options(folder.path()) };
    let (first, stats) = ProxySupervisor::start(options.clone()).await.unwrap();
    let pid = first.pid();
    drop((first, stats));
    kill(pid, Signal::STOP);
    // In line at the sockets of the old one, and served by the new one.
    let waiting: Vec<_> = (0..8).map(|_| tokio::spawn(ask(http))).collect();
    let (second, stats) = ProxySupervisor::start(options).await.unwrap();
    discard(stats);
    assert_ne!(second.pid(), pid);
    second.apply(snapshot(app.address)).await.unwrap();
    assert_eq!(ask(http).await, Some(200));
    for client in waiting {
        assert_eq!(client.await.unwrap(), Some(200));
    }
    // It was the first one's child, so it is a zombie here at most.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    second.stop(Duration::from_secs(5)).await;
}

/// Holds a proxy's control socket, and claims to speak this version and to be this process.
async fn stranger(control_path: &Path, protocol_version: u32, pid: u32) {
    let control = std::os::unix::net::UnixListener::bind(control_path).unwrap();
    control.set_nonblocking(true).unwrap();
    let listener = tokio::net::UnixListener::from_std(control.try_clone().unwrap()).unwrap();
    let (https, http) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let named = |kind: &str, address: String| Listener { kind: kind.to_owned(), address };
    let listeners = Listeners {
        listeners: vec![
            named("https", https.local_addr().unwrap().to_string()),
            named("http", http.local_addr().unwrap().to_string()),
            named("control", String::new()),
        ],
        keys: None,
    };
    println!("ready");
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let mut channel = LocalChannel::<ProxyEvent, ProxyCommand>::new(stream);
        let hello = ProxyHello { protocol_version, agent_version: "99".to_owned(), pid };
        let event = |body| ProxyEvent { body: Some(body) };
        channel.send(&event(proxy_event::Body::Hello(hello)), &[]).await.unwrap();
        while let Ok(Some(command)) = channel.receive().await {
            if matches!(command.body, Some(proxy_command::Body::TakeListeners(_))) {
                let sockets = [https.as_fd(), http.as_fd(), control.as_fd()];
                channel.send(&event(proxy_event::Body::Listeners(listeners.clone())), &sockets).await.unwrap();
            }
        }
    }
}

/// Starts a process that is in the way, and waits until it is.
async fn start_stranger(options: &SupervisorOptions, arguments: &[&str]) -> tokio::process::Child {
    let mut stranger = tokio::process::Command::new(&options.program)
        .arg(arguments[0])
        .arg(&options.control_path)
        .args(&arguments[1..])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    tokio::io::AsyncReadExt::read_exact(stranger.stdout.as_mut().unwrap(), &mut ready).await.unwrap();
    stranger
}

async fn a_proxy_that_names_another_process_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut victim = tokio::process::Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap();
    let mut liar = start_stranger(&options, &["liar", &victim.id().unwrap().to_string()]).await;
    let (supervisor, stats) = ProxySupervisor::start(options).await.unwrap();
    discard(stats);
    assert!(!liar.wait().await.unwrap().success());
    supervisor.stop(Duration::from_secs(5)).await;
    assert_eq!(victim.try_wait().unwrap(), None, "it was ended in the place of the liar");
}

async fn a_proxy_of_another_version_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut stranger = start_stranger(&options, &["stranger"]).await;
    let (supervisor, stats) = ProxySupervisor::start(options).await.unwrap();
    discard(stats);
    assert!(!stranger.wait().await.unwrap().success());
    supervisor.stop(Duration::from_secs(5)).await;
}

fn free_addresses() -> (SocketAddr, SocketAddr) {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (https, http) = (free(), free());
    (https.local_addr().unwrap(), http.local_addr().unwrap())
}

async fn used_up_descriptors_pause_accepting_and_it_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (supervisor, stats) = ProxySupervisor::start(options(folder.path())).await.unwrap();
    discard(stats);
    supervisor.apply(snapshot(app.address)).await.unwrap();
    let address = supervisor.http_address().unwrap();
    let open = std::fs::read_dir(format!("/proc/{}/fd", supervisor.pid())).unwrap().count() as u64;
    // The proxy raised its soft limit to the hard one, which it has from us.
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum.unwrap();
    let limit = |soft| limit_open_files(supervisor.pid(), soft);
    limit(open + 4);
    let mut idle = Vec::new();
    for _ in 0..12 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let waiting = tokio::spawn(ask(address));
    limit(hard);
    assert_eq!(waiting.await.unwrap(), Some(200));
    drop(idle);
    assert_eq!(ask(address).await, Some(200));
    supervisor.stop(Duration::from_secs(5)).await;
}
