//! Apps in networks of their own: reached by sockets that their shims hand over, and by nothing else.

use std::net::TcpListener;
use std::os::fd::OwnedFd;

use fairlead_base::handover::{self, HandoverRequest};
use fairlead_model::UpstreamAddress;
use fairlead_network::PublicPorts;
use tokio::net::{TcpSocket, UnixStream};

use super::*;

/// Apps have networks of their own under root only.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(super) async fn isolated(public: &[u16]) -> Server {
    let ports = PublicPorts { tcp: public.iter().copied().collect(), udp: Default::default() };
    let server = Server::with_network(|folders| OwnNetwork::open(folders, &ports)).await;
    server.network.as_ref().expect("the package nftables must be installed, and namespaces allowed");
    server
}

pub(super) fn upstream(server: &Server, app: &str) -> UpstreamAddress {
    match &server.output.view.borrow().upstreams[&key(app)][..] {
        [upstream] => upstream.address.clone(),
        upstreams => panic!("{upstreams:?}"),
    }
}

fn handed_over(path: &Path, request: HandoverRequest) -> OwnedFd {
    handover::ask_blocking(path, request).unwrap().remove(0)
}

/// Asks an app as the proxy does.
pub(super) async fn ask(address: &UpstreamAddress, path: &str) -> String {
    let UpstreamAddress::Namespace { handover, address } = address else { panic!("it is asked at {address}") };
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let mut answer = String::new();
    match address {
        Some(address) => {
            let socket = handed_over(handover, HandoverRequest::sockets_for(*address, 1));
            let mut stream = TcpSocket::from_std_stream(socket.into()).connect(*address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.read_to_string(&mut answer).await.unwrap();
        }
        None => {
            let mut stream = UnixStream::from_std(handed_over(handover, HandoverRequest::Unix).into()).unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.read_to_string(&mut answer).await.unwrap();
        }
    }
    answer.rsplit_once("\r\n\r\n").unwrap().1.to_owned()
}

pub(super) fn app(name: &str, release: ReleaseSpec) -> AppSpec {
    AppSpec { key: key(name), ..live(release) }
}

/// Devices of one data folder that are on this machine now.
pub(super) fn devices(server: &Server) -> usize {
    let prefix = server.network.as_ref().unwrap().firewall().device_prefix().to_owned();
    let found = std::fs::read_dir("/sys/class/net").unwrap().flatten();
    found.filter(|device| device.file_name().to_string_lossy().starts_with(&prefix)).count()
}

#[tokio::test]
async fn an_app_is_reached_through_its_shim_and_reaches_no_other_app_and_no_port_of_the_server() {
    if !is_root() {
        return;
    }
    let (private, public) = (TcpListener::bind("0.0.0.0:0").unwrap(), TcpListener::bind("0.0.0.0:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let mut server = isolated(&[port(&public)]).await;
    server.desire([app("app_a", release(1, &["network"])), app("app_b", release(2, &["network"]))]);
    let instances = server.healthy(2).await;
    assert!(instances.iter().all(|status| status.port == 3000), "each has the port that it wants: {instances:?}");
    let (a, b) = (upstream(&server, "app_a"), upstream(&server, "app_b"));
    assert_eq!(ask(&a, "/").await, "network");
    assert_eq!(devices(&server), 2);

    // Neither its port nor its address is reachable on the server.
    assert!(std::net::TcpStream::connect("127.0.0.1:3000").is_err());
    let inside = |status: &InstanceStatus| {
        let text = std::fs::read_to_string(format!("/proc/{}/net/fib_trie", status.pid)).unwrap();
        let mut addresses = text.lines().filter_map(|line| line.trim().strip_prefix("|-- 198.1"));
        format!("198.1{}", addresses.find(|address| *address != "8.0.1").unwrap())
    };
    let addresses: Vec<String> = instances.iter().map(inside).collect();
    for address in &addresses {
        let connected = std::net::TcpStream::connect_timeout(
            &format!("{address}:3000").parse().unwrap(),
            Duration::from_millis(300),
        );
        assert!(connected.is_err(), "{address}");
    }
    // The server's own address, by the route to anywhere outside.
    let own = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    own.connect("192.0.2.1:9").unwrap();
    let own = own.local_addr().unwrap().ip();
    // Control: the app's network denies it, not the port.
    std::net::TcpStream::connect((own, port(&private))).unwrap();
    for (target, expected) in [
        (format!("{own}:{}", port(&public)), "open"),
        (format!("{own}:{}", port(&private)), "ConnectionRefused"),
        (format!("127.0.0.1:{}", port(&private)), "ConnectionRefused"),
        ("198.18.0.1:22".to_owned(), "ConnectionRefused"),
        ("169.254.169.254:80".to_owned(), "ConnectionRefused"),
        ("10.1.2.3:80".to_owned(), "ConnectionRefused"),
        ("127.0.0.1:3000".to_owned(), "open"),
    ] {
        assert_eq!(ask(&a, &format!("/connect/{target}")).await, expected, "{target}");
    }
    for address in &addresses {
        let found =
            [ask(&a, &format!("/connect/{address}:3000")).await, ask(&b, &format!("/connect/{address}:3000")).await];
        assert!(
            found.iter().any(|found| found == "ConnectionRefused") && found.iter().any(|found| found == "open"),
            "{found:?}"
        );
    }
    assert!(ask(&a, "/read/etc/resolv.conf").await.contains("nameserver 127.0.0.53"));

    server.restart_agent().await;
    server.desire([app("app_a", release(1, &["network"])), app("app_b", release(2, &["network"]))]);
    let again = server.healthy(2).await;
    assert_eq!(
        again.iter().map(|status| status.pid).collect::<Vec<_>>(),
        instances.iter().map(|status| status.pid).collect::<Vec<_>>()
    );
    assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "network");

    server.network.as_ref().unwrap().firewall().remove().unwrap();
    server.end().await;
}

#[tokio::test]
async fn an_app_is_served_on_the_port_that_it_listens_on() {
    if !is_root() {
        return;
    }
    let mut server = isolated(&[]).await;
    for (name, arguments, port) in [
        ("app_a", vec!["network", "127.0.0.1:4567"], 4567),
        ("app_b", vec!["network", "[::1]:8080"], 8080),
        // Ports below 1024 need no capability.
        ("app_c", vec!["network", "0.0.0.0:80"], 80),
    ] {
        let mut spec = app(name, release(1, &arguments));
        spec = AppSpec { live: None, ..with_candidate(spec.clone(), spec.live.unwrap(), PATIENCE) };
        server.desire([spec]);
        let finished = server.finished("dep_1").await;
        assert_eq!(finished.state, WorkState::Succeeded, "{finished:?}");
        assert_eq!(server.healthy(1).await[0].port, port);
        assert_eq!(ask(&upstream(&server, name), "/").await, "network");
        let text = server.log_text();
        assert!(text.contains(&format!("listens on port {port} instead of PORT=3000")), "{text}");
        server.desire([]);
        server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    }
    server.network.as_ref().unwrap().firewall().remove().unwrap();
    server.end().await;
}

#[tokio::test]
async fn a_port_of_the_server_is_reached_only_where_the_settings_name_it() {
    if !is_root() {
        return;
    }
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = database.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = database.accept() {
            use std::io::Write;
            stream.write_all(b"x").ok();
        }
    });
    let mut server = isolated(&[]).await;
    let with = ReleaseSpec { server_ports: vec![address], ..release(1, &["network"]) };
    server.desire([app("app_a", with), app("app_b", release(2, &["network"]))]);
    server.healthy(2).await;
    let path = format!("/connect/{address}");
    assert_eq!(ask(&upstream(&server, "app_a"), &path).await, "open");
    assert_eq!(ask(&upstream(&server, "app_b"), &path).await, "ConnectionRefused");
    server.network.as_ref().unwrap().firewall().remove().unwrap();
    server.end().await;
}

#[tokio::test]
async fn a_socket_is_connected_to_by_the_shim_and_a_link_leads_nowhere() {
    if !is_root() {
        return;
    }
    let mut server = isolated(&[]).await;
    server.desire([app("app_a", ReleaseSpec { listens_on_socket: true, ..release(1, &["socket"]) })]);
    server.healthy(1).await;
    assert!(ask(&upstream(&server, "app_a"), "/").await.ends_with("/run/web"));

    let foreign = temporary(0o755);
    let _listener = std::os::unix::net::UnixListener::bind(foreign.path().join("s")).unwrap();
    let path = foreign.path().join("s").to_str().unwrap().to_owned();
    let hostile = ReleaseSpec { listens_on_socket: true, ..release(2, &["socket", &path]) };
    let spec = app("app_b", release(1, &["network"]));
    server.desire([AppSpec { live: None, ..with_candidate(spec, hostile, Duration::from_secs(2)) }]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Failed);
    server.network.as_ref().unwrap().firewall().remove().unwrap();
    server.end().await;
}

#[tokio::test]
async fn checks_with_a_command_run_in_the_network_of_their_instance() {
    if !is_root() {
        return;
    }
    let mut server = isolated(&[]).await;
    let mut release = release(1, &["network"]);
    // Control: outside of it nothing listens on this port.
    release.readiness_check.command = vec!["/bin/bash".into(), "-c".into(), "exec 3<>/dev/tcp/127.0.0.1/3000".into()];
    server.desire([app("app_a", release)]);
    server.healthy(1).await;
    server.network.as_ref().unwrap().firewall().remove().unwrap();
    server.end().await;
}
