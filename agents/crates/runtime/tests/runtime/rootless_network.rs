//! Integration tests of apps in networks of their own under an agent without root. As root, each test runs itself again
//! as an ordinary user on a server with its resolver on the loopback. A machine without `pasta`, user namespaces or
//! /dev/net/tun fails these tests.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Command, Output, Stdio};

use fairlead_model::UpstreamAddress;
use fairlead_network::PublicPorts;

use super::network::{app, ask, is_root, upstream};
use super::*;

/// Resolver of the server, on its loopback.
const RESOLVER: Ipv4Addr = Ipv4Addr::new(127, 0, 77, 1);
const USER: &str = "12345";
/// Answer of the resolver to each question for an IPv4 address.
const ANSWER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
/// Address that the server gets while an app runs, once this file is there.
const NEW_ADDRESS: &str = "203.0.113.99";
const WISH: &str = "wants-address";
/// Beginning of its process' name: passt may run a copy of itself for the processor (`passt.avx2`).
const PASTA: &str = "pas";
/// Runs the rest of its arguments with the first one as /etc/resolv.conf, and with /dev/net/tun for all users beside it, as udev
/// has it on a server.
const AS_ON_SERVER: &str = r#"mknod -m 666 "$1.tun" c 10 200 && mount --bind "$1.tun" /dev/net/tun &&
mount --bind "$1" /etc/resolv.conf && shift && exec "$@""#;

/// Runs a test again as an ordinary user on a server of its own. False: this process is that user's.
async fn ran_as_user(name: &str) -> bool {
    if !is_root() {
        return false;
    }
    let test = format!("rootless_network::{name}");
    // The thread ends with the test, and its network too.
    let run = || std::thread::spawn(move || run_in_own_server(&test)).join();
    let output = tokio::task::spawn_blocking(run).await.unwrap().expect("this test needs iproute2 and util-linux");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
    true
}

/// Moves the calling thread into a network with addresses and default routes of both families, and runs the test there.
#[allow(unsafe_code)]
fn run_in_own_server(test: &str) -> Output {
    // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; it isn't given.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.unwrap();
    let ip = |arguments: &str| {
        let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
        assert!(status.success(), "ip {arguments}");
    };
    for arguments in [
        "link set lo up",
        "link add lan type veth peer name router",
        "link set router up",
        "address add 192.0.2.10/24 dev lan",
        "address add 2001:db8:1::10/64 dev lan nodad",
        "link set lan up",
        // The router takes packets and answers none.
        "neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev lan",
        "neighbour add 2001:db8:1::1 lladdr 02:00:00:00:00:01 dev lan",
        "route add default via 192.0.2.1",
        "-6 route add default via 2001:db8:1::1",
    ] {
        ip(arguments);
    }
    let socket = UdpSocket::bind((RESOLVER, 53)).unwrap();
    std::thread::spawn(move || answer_questions(&socket));
    let folder = temporary(0o777);
    let conf = folder.path().join("resolv.conf");
    std::fs::write(&conf, format!("nameserver {RESOLVER}\n")).unwrap();
    let wish = folder.path().join(WISH);
    let mut child = Command::new("unshare")
        .args(["--mount", "sh", "-c", AS_ON_SERVER, "sh"])
        .arg(conf)
        .args(["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FOLDER, folder.path())
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if wish.exists() {
            ip(&format!("address add {NEW_ADDRESS}/32 dev lo"));
            std::fs::rename(&wish, wish.with_extension("done")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Answers questions for IPv4 addresses, and has none of the other family (RFC 1035, section 4.1).
fn answer_questions(socket: &UdpSocket) {
    let mut query = [0; 512];
    while let Ok((length, client)) = socket.recv_from(&mut query) {
        let name = query[12..length].iter().position(|byte| *byte == 0).unwrap() + 12;
        let is_ipv4 = query[name + 2] == 1;
        let mut answer = query[..name + 5].to_vec();
        answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
        if is_ipv4 {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            answer.extend(ANSWER.octets());
        }
        socket.send_to(&answer, client).unwrap();
    }
}

async fn isolated(public: &[u16]) -> Server {
    assert!(Path::new("/dev/net/tun").exists(), "this test needs /dev/net/tun");
    let public: BTreeSet<u16> = public.iter().copied().collect();
    let ports = PublicPorts { tcp: public.clone(), udp: public };
    let program = Path::new(env!("CARGO_BIN_EXE_fairlead-test-shim"));
    let network = RootlessNetwork::open(program, &ports)
        .unwrap_or_else(|reason| panic!("this test needs a network without root, but {reason}"));
    Server::without_root(network).await
}

fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The process and its descendants, with their names.
fn tree(pid: u32) -> Vec<(u32, String)> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut found = vec![(pid, name.trim().to_owned())];
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    found.extend(children.split_whitespace().flat_map(|child| tree(child.parse().unwrap())));
    found
}

/// Process of a program among those that belong to an instance.
fn process(instance: &InstanceStatus, program: &str) -> u32 {
    let all = tree(parent(instance.pid));
    all.iter().find(|(_, name)| name.starts_with(program)).unwrap_or_else(|| panic!("no {program} in {all:?}")).0
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The server's own addresses, by the routes to anywhere outside.
fn own_addresses() -> Vec<IpAddr> {
    let found = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")].map(|(any, outside)| {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(outside).ok()?;
        Some(socket.local_addr().ok()?.ip())
    });
    found.into_iter().flatten().collect()
}

#[tokio::test]
async fn an_app_without_root_reaches_no_other_app_and_no_port_of_the_server() {
    let name = "an_app_without_root_reaches_no_other_app_and_no_port_of_the_server";
    if ran_as_user(name).await {
        return;
    }
    let (private, public) = (TcpListener::bind("[::]:0").unwrap(), TcpListener::bind("[::]:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let udp = tokio::net::UdpSocket::bind("0.0.0.0:0").await.unwrap();
    let mut server = isolated(&[port(&public), udp.local_addr().unwrap().port()]).await;
    let open = ReleaseSpec { private_network: true, ..release(3, &["network"]) };
    server.desire([
        app("app_a", release(1, &["network"])),
        app("app_b", release(2, &["network", "0.0.0.0:80"])),
        app("app_c", open),
    ]);
    let instances = server.healthy(3).await;
    let (a, b, c) = (upstream(&server, "app_a"), upstream(&server, "app_b"), upstream(&server, "app_c"));
    assert_eq!(ask(&a, "/").await, "network");
    assert_eq!(ask(&b, "/").await, "network", "below 1024 no capability is needed");
    assert!(std::net::TcpStream::connect("127.0.0.1:3000").is_err(), "its port is not on the server");

    let own = own_addresses();
    assert!(own.len() == 2 || std::env::var(FOLDER).is_err(), "{own:?}");
    let mut targets = vec![
        (format!("127.0.0.1:{}", port(&private)), "ConnectionRefused"),
        (format!("[::1]:{}", port(&private)), "ConnectionRefused"),
        ("198.18.0.1:22".to_owned(), "ConnectionRefused"),
        ("169.254.169.254:80".to_owned(), "ConnectionRefused"),
    ];
    for address in &own {
        // Control: the app's network denies it, not the port.
        std::net::TcpStream::connect((*address, port(&private))).unwrap();
        // Control: the same address passes with another port.
        targets.push((SocketAddr::new(*address, port(&public)).to_string(), "open"));
        targets.push((SocketAddr::new(*address, port(&private)).to_string(), "ConnectionRefused"));
    }
    for (target, expected) in targets {
        for app in [&a, &c] {
            assert_eq!(ask(app, &format!("/connect/{target}")).await, expected, "{target}");
        }
    }
    assert_eq!(ask(&a, "/connect/127.0.0.1:3000").await, "open", "an app reaches itself");
    assert_eq!(ask(&a, "/connect/127.0.0.1:80").await, "ConnectionRefused", "and no other app");
    assert_eq!(ask(&b, "/connect/127.0.0.1:80").await, "open");
    assert_eq!(ask(&a, "/connect/198.18.0.2:80").await, "ConnectionRefused");
    for target in ["10.1.2.3:80", "[fd00::7]:80"] {
        assert_eq!(ask(&a, &format!("/connect/{target}")).await, "ConnectionRefused");
        // Control: with its setting an app asks beyond the server, where no one answers.
        let answer = ask(&c, &format!("/connect/{target}")).await;
        assert!(answer == "no answer" || std::env::var(FOLDER).is_err(), "{answer}");
    }

    // Control: each sender's packet reaches the port on the server that the app sends from.
    let (asked, stranger) = (&udp, UdpSocket::bind("0.0.0.0:0").unwrap());
    let answering = async {
        let mut bytes = [0; 64];
        let (_, client) = asked.recv_from(&mut bytes).await.unwrap();
        stranger.send_to(b"stranger", client).unwrap();
        asked.send_to(b"answer", client).await.unwrap();
        UdpSocket::bind(("0.0.0.0", client.port())).is_err()
    };
    let target = format!("/udp/{}:{}", own[0], asked.local_addr().unwrap().port());
    let (answer, is_taken) = tokio::join!(ask(&a, &target), answering);
    assert_eq!(answer, "answer");
    // Weaknesses that the server's page lists.
    let sockets = ask(&a, &format!("/read/proc/{}/net/tcp6", std::process::id())).await;
    let is_listed = sockets.contains(&format!(":{:04X} ", port(&private)));
    let network = AppNetwork::Rootless(server.rootless.clone().unwrap());
    let off = Isolation::detect(&server.folders, Ok(network)).off().join("\n");
    assert_eq!(off.contains("Apps can list the sockets of the server"), is_listed, "{off}");
    assert_eq!(off.contains("Apps and builds can take any free UDP port"), is_taken, "{off}");
    assert!(!off.contains("Apps and builds share") && !off.contains("Apps and builds can connect"), "{off}");
    let denied = UdpSocket::bind("0.0.0.0:0").unwrap();
    denied.set_nonblocking(true).unwrap();
    ask(&a, &format!("/udp/{}:{}", own[0], denied.local_addr().unwrap().port())).await;
    assert!(denied.recv(&mut [0; 64]).is_err(), "nothing comes to other UDP ports");

    // Each shim hands sockets of its network to the agent's user, and the app has the same user.
    let UpstreamAddress::Namespace { handover, .. } = &b else { panic!("{b:?}") };
    std::os::unix::net::UnixStream::connect(handover).unwrap();
    assert!(off.contains("Builds can connect to apps"), "{off}");
    let control = std::fs::read_dir(server.folders.run()).unwrap().next().unwrap().unwrap().path();
    for socket in [handover, &control] {
        assert_eq!(ask(&a, &format!("/unix{}", socket.display())).await, "NotFound");
    }

    let status = ask(&a, "/read/proc/self/status").await;
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000\n")), "{status}");
    }
    assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");

    // It listens on all addresses of the server, including future ones.
    if std::env::var(FOLDER).is_ok() {
        let wish = Path::new(&std::env::var(FOLDER).unwrap()).join(WISH);
        std::fs::write(&wish, "").unwrap();
        while !wish.with_extension("done").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let target = (NEW_ADDRESS, port(&private));
        std::net::TcpStream::connect(target).unwrap();
        let denied = async {
            while ask(&a, &format!("/connect/{NEW_ADDRESS}:{}", port(&private))).await != "ConnectionRefused" {}
        };
        timeout(PATIENCE, denied).await.expect("an address that the server gets later is denied too");
        assert_eq!(ask(&a, &format!("/connect/{NEW_ADDRESS}:{}", port(&public))).await, "open");
    }

    server.restart_agent().await;
    server.desire([app("app_a", release(1, &["network"]))]);
    let again = server.healthy(1).await.remove(0);
    assert!(instances.iter().any(|status| status.pid == again.pid), "it outlives the agent");
    assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "network");
    server.end().await;
}

#[tokio::test]
async fn an_app_without_root_has_a_resolver_server_ports_and_checks() {
    if ran_as_user("an_app_without_root_has_a_resolver_server_ports_and_checks").await {
        return;
    }
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = database.local_addr().unwrap();
    std::thread::spawn(move || while database.accept().is_ok() {});
    let mut server = isolated(&[]).await;
    let mut with = ReleaseSpec { server_ports: vec![address], ..release(1, &["network"]) };
    // Control: outside of its network nothing listens on this port.
    with.readiness_check.command = vec!["/bin/bash".into(), "-c".into(), "exec 3<>/dev/tcp/127.0.0.1/3000".into()];
    let socket = ReleaseSpec { listens_on_socket: true, ..release(3, &["socket"]) };
    server.desire([app("app_a", with), app("app_b", release(2, &["network"])), app("app_c", socket)]);
    server.healthy(3).await;
    let (a, b) = (upstream(&server, "app_a"), upstream(&server, "app_b"));
    let path = format!("/connect/{address}");
    assert_eq!(ask(&a, &path).await, "open");
    assert_eq!(ask(&b, &path).await, "ConnectionRefused");
    assert!(ask(&upstream(&server, "app_c"), "/").await.ends_with("/run/web"));

    assert_eq!(ask(&a, "/read/etc/resolv.conf").await, "nameserver 127.0.0.53\n");
    if std::env::var(FOLDER).is_ok() {
        assert_eq!(ask(&a, "/resolve/fairlead.test").await, ANSWER.to_string());
    }
    server.end().await;
}

#[tokio::test]
async fn nothing_of_a_network_without_root_outlives_its_instance() {
    if ran_as_user("nothing_of_a_network_without_root_outlives_its_instance").await {
        return;
    }
    let mut server = isolated(&[]).await;
    let spec = app("app_a", release(1, &["network"]));
    server.desire([spec.clone()]);
    let first = server.healthy(1).await.remove(0);
    let processes = tree(parent(first.pid));
    assert_eq!(processes.len(), 4, "shim, connector, pasta and app: {processes:?}");
    let has_restarted = |times| {
        move |view: &RuntimeView| {
            let found = view.instances.iter().find(|status| status.state == InstanceState::Healthy);
            found.filter(|status| status.restarts == times).cloned()
        }
    };

    // Control: pasta connects the app.
    kill(process(&first, PASTA));
    let again = async {
        while tree(parent(first.pid)).iter().filter(|(_, name)| name.starts_with(PASTA)).count() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("pasta is started again");
    assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "network");

    let connector = parent(process(&first, PASTA));
    kill(connector);
    let second = server.until("a restart with another connection", has_restarted(1)).await;
    for (pid, _) in processes {
        gone(pid).await;
    }

    let processes = tree(parent(second.pid));
    kill(parent(second.pid));
    for (pid, _) in processes {
        gone(pid).await;
    }
    let third = server.until("a restart with another shim", has_restarted(2)).await;

    let processes = tree(parent(third.pid));
    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    for (pid, name) in processes {
        assert!(!alive(pid), "{name} is left");
    }
    server.end().await;
}
