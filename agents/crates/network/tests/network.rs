//! Namespaces, firewall and relay against a small internet: a server and a router in network namespaces of the test's own.
#![cfg(test)]

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use fairlead_network::{DeviceLink, Firewall, Namespace, PublicPorts, RESOLVER, Relay, join, remove_devices};
use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

/// Ports of the server: of its proxy, and of a service of its own.
const PUBLIC: u16 = 443;
const PRIVATE: u16 = 5432;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own.
struct Host {
    jobs: mpsc::Sender<Job>,
    thread: i32,
}

impl Host {
    #[expect(unsafe_code)]
    fn new() -> Self {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (named, name) = mpsc::channel();
        std::thread::spawn(move || {
            // SAFETY: descriptors are not unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            named.send(gettid().as_raw_nonzero().get()).unwrap();
            inbox.into_iter().for_each(|job| job());
        });
        Self { jobs, thread: name.recv().unwrap() }
    }

    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        self.jobs.send(Box::new(move || done.send(job()).unwrap())).unwrap();
        result.recv().expect("the job should not panic")
    }

    /// Runs commands, one a line, in its namespace.
    fn commands(&self, lines: &str) {
        let lines = lines.to_owned();
        self.run(move || {
            for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
                assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            }
        });
    }

    /// Accepts connections at all its addresses.
    fn listen(&self, port: u16) {
        self.run(move || {
            let listener = TcpListener::bind(("::", port)).unwrap();
            std::thread::spawn(move || {
                while let Ok((mut stream, peer)) = listener.accept() {
                    write!(stream, "{}", peer.ip()).ok();
                }
            });
        });
    }
}

/// A server, and everything beyond its cable.
struct Lab {
    server: Host,
    world: Host,
    firewall: Firewall,
    _folder: tempfile::TempDir,
}

impl Lab {
    /// `None`: only root can make namespaces.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let (server, world) = (Host::new(), Host::new());
        server.commands(&format!(
            "ip link set lo up
             ip link add up0 type veth peer name down0 netns {}
             ip address add 192.0.2.2/24 dev up0
             ip address add 2001:db8:1::2/64 dev up0 nodad
             ip link set up0 up",
            world.thread
        ));
        world.commands(
            "ip link set lo up
             ip address add 192.0.2.1/24 dev down0
             ip address add 2001:db8:1::1/64 dev down0 nodad
             ip link set down0 up
             ip address add 203.0.113.9/32 dev lo
             ip address add 10.9.9.9/32 dev lo
             ip address add 169.254.169.254/32 dev lo
             ip address add 168.63.129.16/32 dev lo
             ip address add 2001:db8:9::9/128 dev lo
             ip address add fd00:9::9/128 dev lo
             ip address add fd00:ec2::254/128 dev lo
             ip address add fd00:42::42/128 dev lo
             ip address add 64:ff9b::a9fe:a9fe/128 dev lo
             ip route add 198.18.0.0/15 via 192.0.2.2",
        );
        server.commands(
            "ip route add default via 192.0.2.1
             ip -6 route add default via 2001:db8:1::1",
        );
        world.listen(80);
        for port in [PUBLIC, PRIVATE] {
            server.listen(port);
        }
        let folder = tempfile::tempdir().unwrap();
        let firewall = Firewall::of(folder.path()).expect("the package nftables must be installed");
        let lab = Self { server, world, firewall, _folder: folder };
        lab.install();
        Some(lab)
    }

    fn install(&self) {
        let firewall = self.firewall.clone();
        self.server.run(move || {
            assert!(firewall.enable_forwarding().unwrap(), "IPv6 too");
            firewall.install(&ports()).unwrap();
        });
    }

    fn app(&self, private: bool) -> App {
        let link = DeviceLink {
            prefix: self.firewall.device_prefix().to_owned(),
            group: Firewall::device_group(private),
            alias: "app".to_owned(),
            ipv6: true,
        };
        App(self.server.run(move || Namespace::make(&link, || ()).unwrap().0))
    }

    fn devices(&self) -> usize {
        let prefix = self.firewall.device_prefix().to_owned();
        self.server.run(move || {
            let listed = Command::new("ip").args(["-o", "link"]).output().unwrap();
            String::from_utf8(listed.stdout).unwrap().lines().filter(|line| line.contains(&prefix)).count()
        })
    }
}

fn ports() -> PublicPorts {
    PublicPorts { tcp: [PUBLIC].into(), udp: [PUBLIC].into() }
}

/// A namespace as an app's.
struct App(Namespace);

impl App {
    fn inside<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                join(self.0.descriptor()).unwrap();
                job()
            });
            thread.join().unwrap()
        })
    }

    fn connect(&self, address: &str) -> io::Result<TcpStream> {
        let address: SocketAddr = address.parse().unwrap();
        self.inside(|| TcpStream::connect_timeout(&address, Duration::from_secs(5)))
    }

    fn reaches(&self, address: &str) -> bool {
        self.connect(address).is_ok()
    }

    /// Its own address of one family.
    fn address(&self, towards: &str) -> std::net::IpAddr {
        let towards: SocketAddr = towards.parse().unwrap();
        self.inside(|| {
            let socket = UdpSocket::bind(if towards.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
            socket.connect(towards).unwrap();
            socket.local_addr().unwrap().ip()
        })
    }
}

const INTERNET: [&str; 2] = ["203.0.113.9:80", "[2001:db8:9::9]:80"];
const PRIVATE_NETWORKS: [&str; 2] = ["10.9.9.9:80", "[fd00:9::9]:80"];
const METADATA: [&str; 5] =
    ["169.254.169.254:80", "168.63.129.16:80", "[fd00:ec2::254]:80", "[fd00:42::42]:80", "[64:ff9b::a9fe:a9fe]:80"];
const SERVER: [&str; 2] = ["192.0.2.2", "[2001:db8:1::2]"];

#[test]
fn an_app_reaches_the_internet_and_the_proxy_and_nothing_else() {
    let Some(lab) = Lab::new() else { return };
    let (app, other, with_private) = (lab.app(false), lab.app(false), lab.app(true));
    for address in INTERNET {
        assert!(app.reaches(address), "{address}");
    }
    for address in PRIVATE_NETWORKS {
        // The one setting that opens them is the control: they are there.
        assert!(with_private.reaches(address) && !app.reaches(address), "{address}");
    }
    for address in METADATA {
        let target: SocketAddr = address.parse().unwrap();
        assert!(lab.server.run(move || TcpStream::connect(target).is_ok()), "control: {address}");
        assert!(!app.reaches(address) && !with_private.reaches(address), "{address}");
    }
    for address in SERVER {
        assert!(app.reaches(&format!("{address}:{PUBLIC}")), "{address}");
        let refused = app.connect(&format!("{address}:{PRIVATE}")).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused, "a refusal, not a silence");
        assert!(!with_private.reaches(&format!("{address}:{PRIVATE}")));
    }
    // Each other, and from the server and from outside.
    for towards in INTERNET {
        let target = SocketAddr::new(other.address(towards), 3000);
        let listener = other.inside(|| TcpListener::bind(target).unwrap());
        assert!(other.reaches(&target.to_string()), "control: it listens there");
        assert!(!app.reaches(&target.to_string()) && !with_private.reaches(&target.to_string()));
        let connect = move || TcpStream::connect_timeout(&target, Duration::from_millis(500)).is_err();
        assert!(lab.server.run(connect), "from the server");
        assert!(lab.world.run(connect), "from outside");
        drop(listener);
    }
}

#[test]
fn a_socket_that_outlives_its_namespace_leads_nowhere_and_no_device_stays() {
    let Some(lab) = Lab::new() else { return };
    let (app, killed, build) = (lab.app(true), lab.app(false), lab.app(false));
    let open = |app: &App| app.inside(|| UdpSocket::bind("0.0.0.0:0").unwrap());
    // An app can pass them to a process of another namespace, by a Unix socket in its home.
    let [passed, kept] = [open(&app), open(&killed)];
    passed.connect("10.9.9.9:80").expect("control: it leads out as long as its app runs");
    assert_eq!(lab.devices(), 3);
    drop(app);
    assert_eq!(lab.devices(), 2);
    assert_eq!(passed.send_to(b"x", "10.9.9.9:80").unwrap_err().kind(), io::ErrorKind::NetworkUnreachable);
    // A shim that is killed removes nothing; the agent does so by the alias.
    std::mem::forget(killed);
    let prefix = lab.firewall.device_prefix().to_owned();
    assert_eq!(lab.server.run(move || remove_devices(&prefix, |alias| alias != "app").unwrap()), 0);
    let prefix = lab.firewall.device_prefix().to_owned();
    assert_eq!(lab.server.run(move || remove_devices(&prefix, |alias| alias == "app").unwrap()), 2);
    assert_eq!((lab.devices(), kept.connect(INTERNET[0]).is_err()), (0, true));
    drop(build);
}

#[test]
fn a_low_source_port_is_not_the_servers() {
    let Some(lab) = Lab::new() else { return };
    let listener = lab.world.run(|| TcpListener::bind("203.0.113.9:81").unwrap());
    let app = lab.app(false);
    let stream = app.inside(|| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&"0.0.0.0:700".parse::<SocketAddr>().unwrap().into()).unwrap();
        socket.connect(&"203.0.113.9:81".parse::<SocketAddr>().unwrap().into()).unwrap();
        socket
    });
    assert_eq!(stream.local_addr().unwrap().as_socket().unwrap().port(), 700);
    // Servers such as NFS trust ports below 1024 as root's.
    assert!(listener.accept().unwrap().1.port() >= 1024);
}

#[test]
fn what_another_program_flushes_or_switches_off_is_found_and_comes_back() {
    let Some(lab) = Lab::new() else { return };
    let app = lab.app(false);
    let (internet, server) = (INTERNET[0], format!("{}:{PRIVATE}", SERVER[0]));
    let firewall = lab.firewall.clone();
    let listed = lab.server.run(move || firewall.list().unwrap());

    lab.server.commands("nft flush ruleset");
    assert!(app.reaches(&server), "control: without rules nothing is denied");
    let firewall = lab.firewall.clone();
    assert_ne!(lab.server.run(move || firewall.list()).ok(), Some(listed));
    lab.install();
    assert!(app.reaches(internet) && !app.reaches(&server));

    lab.server.run(|| {
        // A change sets all devices, those of apps too.
        for value in ["1", "0"] {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", value).unwrap();
        }
    });
    assert!(!app.reaches(internet), "control: the server does not forward");
    lab.install();
    assert!(app.reaches(internet));
}

#[test]
fn other_firewalls_that_drop_what_is_forwarded_let_apps_pass() {
    let Some(lab) = Lab::new() else { return };
    let app = lab.app(false);
    let rules = "table ip filter {\n chain FORWARD { type filter hook forward priority 0; policy drop; }\n}\n\
                 table inet firewalld {\n chain filter_FORWARD { type filter hook forward priority 10; policy accept; reject; }\n}\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rules).unwrap();
    lab.server.commands(&format!("nft -f {}", file.path().display()));
    assert!(!app.reaches(INTERNET[0]) && !app.reaches(INTERNET[1]), "control: Docker's and firewalld's rules");
    let firewall = lab.firewall.clone();
    let opened = lab.server.run(move || firewall.open_other_firewalls().unwrap());
    assert_eq!(opened, ["ip filter FORWARD", "inet firewalld filter_FORWARD"]);
    assert!(app.reaches(INTERNET[0]) && app.reaches(INTERNET[1]));
    // The wall stands as before, and a second look adds nothing.
    assert!(!app.reaches(PRIVATE_NETWORKS[0]) && !app.reaches(METADATA[0]));
    let firewall = lab.firewall.clone();
    assert_eq!(lab.server.run(move || firewall.open_other_firewalls().unwrap()), Vec::<String>::new());
}

#[test]
fn an_app_comes_from_the_servers_address_and_its_namespace_leaves_nothing_behind() {
    let Some(lab) = Lab::new() else { return };
    {
        let app = lab.app(false);
        let mut seen = String::new();
        io::Read::read_to_string(&mut app.connect(INTERNET[0]).unwrap(), &mut seen).unwrap();
        assert_eq!(seen, "::ffff:192.0.2.2");
        assert_eq!(lab.devices(), 1);
    }
    let apps: Vec<App> = (0..20).map(|_| lab.app(false)).collect();
    assert!(apps.iter().all(|app| app.reaches(INTERNET[0])));
    drop(apps);
    // The kernel clears namespaces away in its own time.
    while lab.devices() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    lab.server.commands("ip route get 198.18.77.77");
    let firewall = lab.firewall.clone();
    assert!(lab.server.run(move || firewall.remove().and_then(|()| firewall.list()).is_err()));
}

#[test]
fn one_app_cannot_use_up_the_connections_that_the_server_tracks() {
    let Some(lab) = Lab::new() else { return };
    // Each datagram to another port is a connection of its own.
    let flood = |app: &App| {
        app.inside(|| {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            (0..500).filter(|port| socket.send_to(b"x", ("203.0.113.9", 1024 + port)).is_ok()).count()
        })
    };
    let tracked = || {
        let listed = std::fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_count").unwrap();
        listed.trim().parse::<usize>().unwrap()
    };
    let (first, app, other) = (lab.app(false), lab.app(false), lab.app(false));
    assert!(flood(&first) == 500 && lab.server.run(tracked) >= 500, "control: below the limit all are tracked");

    // The same rules with a limit that a test reaches.
    let firewall = lab.firewall.clone();
    lab.server.run(move || {
        let rules = firewall.list().unwrap();
        let words: Vec<&str> = rules.split("ct count over ").collect();
        let rest = words[1..].iter().map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
        let rules = rest.fold(words[0].to_owned(), |text, part| format!("{text}ct count over 50{part}"));
        let table = rules.split(" {").next().unwrap().to_owned();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("delete {table}\n{rules}")).unwrap();
        assert!(Command::new("nft").arg("-f").arg(file.path()).status().unwrap().success());
    });
    let before = lab.server.run(tracked);
    flood(&app);
    let more = lab.server.run(tracked).saturating_sub(before);
    assert!(more <= 60, "{more} of 500");
    assert!(!app.reaches(INTERNET[0]), "it has its share");
    assert!(other.reaches(INTERNET[0]), "another app has its own");
}

#[test]
fn rules_of_a_data_folder_that_is_gone_are_removed_and_others_stay() {
    let Some(lab) = Lab::new() else { return };
    let (gone, stays) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let of = |path: &Path| Firewall::of(path).unwrap();
    let (abandoned, other, own) = (of(gone.path()), of(stays.path()), lab.firewall.clone());
    drop(gone);
    lab.server.run(move || {
        for firewall in [&abandoned, &other] {
            firewall.install(&ports()).unwrap();
        }
        own.remove_abandoned().unwrap();
        assert!(abandoned.list().is_err() && other.list().is_ok() && own.list().is_ok());
    });
}

#[test]
fn the_relay_answers_by_the_servers_resolver_and_leads_to_its_ports() {
    let Some(lab) = Lab::new() else { return };
    let link = DeviceLink {
        prefix: lab.firewall.device_prefix().to_owned(),
        group: Firewall::device_group(false),
        alias: "app".to_owned(),
        ipv6: false,
    };
    // A database of the server that listens on its loopback only.
    let database: SocketAddr = "127.0.0.1:6543".parse().unwrap();
    lab.server.run(move || {
        let listener = TcpListener::bind(database).unwrap();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                stream.write_all(b"rows").ok();
            }
        });
    });
    let app = App(lab.server.run(move || {
        let (namespace, relay) = Namespace::make(&link, || Relay::bind(&[database]).unwrap()).unwrap();
        relay.spawn(namespace.host_descriptor().try_clone_to_owned().unwrap()).unwrap();
        namespace
    }));
    let mut rows = String::new();
    io::Read::read_to_string(&mut app.connect(&database.to_string()).unwrap(), &mut rows).unwrap();
    assert_eq!(rows, "rows");
    assert!(lab.app(false).connect(&database.to_string()).is_err(), "another app has no such port");

    // The server's own resolver is out of reach in this lab, which has no route to it: the relay takes the query and has no answer.
    app.inside(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(RESOLVER).unwrap();
        socket.send(&[0; 12]).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let error = socket.recv(&mut [0; 64]).unwrap_err();
        assert!(
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
            "{error}: it listens there"
        );
    });
}
