//! Containers in networks of their own: reached by sockets that their shims hand over, and denied what processes are denied.

#[path = "../../../engine/tests/support/world.rs"]
mod world;

use std::net::{IpAddr, TcpListener};
use std::process::{Command, Stdio};

use fairlead_network::PublicPorts;
use fairlead_runtime::owner;

use super::containers::{LoadedEngine, image, script, with_engine_and};
use super::network::{app, ask, upstream};
use super::*;
use world::{INTERNET, METADATA, PRIVATE, RESOLVER, SERVER, World};

/// Port of the proxy.
const PUBLIC: u16 = 8443;

/// A server with the other machine as its internet.
fn isolated<F: Future<Output = ()>>(test: impl FnOnce(LoadedEngine, Server) -> F + Send + 'static) {
    let network = |folders: &Folders| {
        let world = World::make();
        let ports = PublicPorts { tcp: [PUBLIC].into(), udp: Default::default() };
        let network = OwnNetwork::open(folders, &ports);
        let network = network.expect("the package nftables must be installed, and namespaces allowed");
        network.firewall().install_with(&ports, &[RESOLVER.parse().unwrap()].into()).unwrap();
        (Ok(network), world)
    };
    with_engine_and(network, test);
}

/// Connects from inside the network of a process, by a program of this machine.
fn reaches(pid: u32, address: &str, port: u16) -> bool {
    let inside = ["-n", "-t", &pid.to_string(), "timeout", "2"].map(str::to_owned);
    let connect = ["bash", "-c", "exec 3<>/dev/tcp/$0/$1", address, &port.to_string()].map(str::to_owned);
    Command::new("nsenter").args(inside).args(connect).stderr(Stdio::null()).status().unwrap().success()
}

/// Returns the container's address on its bridge.
async fn address_of(loaded: &LoadedEngine, server: &Server, status: &InstanceStatus) -> IpAddr {
    let name = format!("fairlead-{}-{}", owner(&server.folders), status.id);
    loaded.engine.container(&name).await.unwrap().unwrap().address.unwrap()
}

/// Counts devices of this data folder in the network of the test's own, which /sys does not show.
fn devices(server: &Server) -> usize {
    let prefix = format!(": {}", server.network.as_ref().unwrap().firewall().device_prefix());
    let listed = Command::new("ip").args(["-o", "link"]).output().unwrap().stdout;
    String::from_utf8(listed).unwrap().lines().filter(|line| line.contains(&prefix)).count()
}

/// Lists networks of this data folder that the engine has.
async fn networks(loaded: &LoadedEngine, server: &Server) -> Vec<String> {
    let prefix = format!("fairlead-{}", owner(&server.folders));
    let found = loaded.engine.api().await.unwrap().list_networks(None).await.unwrap();
    found.into_iter().filter_map(|network| network.name).filter(|name| name.starts_with(&prefix)).collect()
}

fn of<'a>(all: &'a [InstanceStatus], name: &str) -> &'a InstanceStatus {
    all.iter().find(|status| status.key == key(name)).unwrap()
}

#[test]
fn a_container_is_asked_through_its_shim_and_denied_what_a_process_is_denied() {
    isolated(|loaded, mut server| async move {
        let (hidden, public) =
            (TcpListener::bind("0.0.0.0:0").unwrap(), TcpListener::bind(("0.0.0.0", PUBLIC)).unwrap());
        let hidden = (hidden.local_addr().unwrap().port(), hidden);
        let private = ReleaseSpec { private_network: true, ..image(3, &[]) };
        let apps = [app("app_a", image(1, &[])), app("app_b", image(2, &[])), app("app_c", private)];
        server.desire(apps.clone());
        let all = server.healthy(3).await;
        let (a, b, c) = (of(&all, "app_a"), of(&all, "app_b"), of(&all, "app_c"));
        assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "from inside");
        assert_eq!(devices(&server), 3, "one bridge each");

        let (own, other) = (address_of(&loaded, &server, a).await, address_of(&loaded, &server, b).await);
        let other = other.to_string();
        let gateway = format!("{}.1", own.to_string().rsplit_once('.').unwrap().0);
        // Controls: all targets answer, and only the network of the container denies them.
        assert!(reaches(b.pid, &other, 9000));
        for (target, port) in [(SERVER, hidden.0), (SERVER, PUBLIC), (INTERNET, 80), (PRIVATE, 80), (METADATA, 80)] {
            assert!(std::net::TcpStream::connect((target, port)).is_ok(), "{target}:{port}");
        }
        for (target, port, of_a, of_c) in [
            (SERVER, PUBLIC, true, true),
            (SERVER, hidden.0, false, false),
            (gateway.as_str(), hidden.0, false, false),
            (other.as_str(), 9000, false, false),
            (INTERNET, 80, true, true),
            (METADATA, 80, false, false),
            (PRIVATE, 80, false, true),
            (RESOLVER, 53, true, true),
            (RESOLVER, 80, false, true),
            (PRIVATE, 53, false, true),
        ] {
            assert_eq!((reaches(a.pid, target, port), reaches(c.pid, target, port)), (of_a, of_c), "{target}:{port}");
        }
        // From the server's other programs, it is unreachable at the address of its bridge too.
        let limit = Duration::from_millis(300);
        assert!(std::net::TcpStream::connect_timeout(&SocketAddr::from((own, 9000)), limit).is_err());

        server.restart_agent_with(&loaded).await;
        server.desire(apps);
        let again = server.healthy(3).await;
        assert_eq!((of(&again, "app_a").pid, of(&again, "app_a").restarts), (a.pid, 0), "adopted, not restarted");
        assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "from inside");
        drop(public);

        server.desire([]);
        server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
        assert_eq!((devices(&server), networks(&loaded, &server).await), (0, Vec::<String>::new()));
        server.end().await;
    });
}

#[test]
fn a_container_is_served_on_its_loopback_and_on_the_port_that_it_listens_on() {
    isolated(|_, mut server| async move {
        for (number, listens, port) in [(1, "127.0.0.1:$PORT", 9000), (2, "127.0.0.1:4567", 4567)] {
            let release = script(number, &format!("exec httpd -f -p {listens} -h /www"));
            let spec = app("app_a", release.clone());
            server.desire([AppSpec { live: None, ..with_candidate(spec, release, PATIENCE) }]);
            let finished = server.finished(&format!("dep_{number}")).await;
            assert_eq!(finished.state, WorkState::Succeeded, "{listens}: {finished:?}");
            assert_eq!(server.healthy(1).await[0].port, port);
            assert_eq!(ask(&upstream(&server, "app_a"), "/").await, "from inside");
            server.desire([]);
            server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
        }
        server.end().await;
    });
}

#[test]
fn a_port_of_the_server_is_inside_a_container_only_where_the_settings_name_it() {
    isolated(|_, mut server| async move {
        let database = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = database.local_addr().unwrap();
        let with = ReleaseSpec { server_ports: vec![address], ..image(1, &[]) };
        server.desire([app("app_a", with), app("app_b", image(2, &[]))]);
        let all = server.healthy(2).await;
        let (a, b) = (of(&all, "app_a").pid, of(&all, "app_b").pid);
        assert!(!reaches(b, "127.0.0.1", address.port()));
        assert!(reaches(a, "127.0.0.1", address.port()));
        database.accept().expect("the relay connected");
        server.end().await;
    });
}

#[test]
fn twenty_deployments_of_a_container_leave_one_network_and_its_removal_none() {
    isolated(|loaded, mut server| async move {
        let mut live = None;
        for number in 1..=20 {
            let spec = AppSpec { live, ..app("app_a", image(number, &[])) };
            server.desire([with_candidate(spec, image(number, &[]), PATIENCE)]);
            let finished = server.finished(&format!("dep_{number}")).await;
            assert_eq!(finished.state, WorkState::Succeeded, "{finished:?}");
            live = Some(image(number, &[]));
        }
        server.healthy(1).await;
        assert_eq!((devices(&server), networks(&loaded, &server).await.len()), (1, 1));
        let rules = |server: &Server| server.network.as_ref().unwrap().firewall().list().unwrap();
        let before = rules(&server);
        server.desire([]);
        server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
        assert_eq!((devices(&server), networks(&loaded, &server).await.len()), (0, 0));
        assert_eq!(rules(&server), before, "no instance has a rule");
        server.end().await;
    });
}
