//! The shim's side: a user namespace with a network namespace inside. Its firewall rules are in place before it is connected.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use fairlead_base::handover;
use rustix::mount::mount_bind;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CapabilitySet, LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::RootlessLink;
use super::capabilities::with_capability;
use super::connector::ConnectorOptions;
use super::rules;
use super::server::{Families, ServerNetwork};
use crate::netlink::{LOOPBACK, Netlink};
use crate::{Relay, current, join};

/// Time that `pasta` has to connect a namespace.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Address of metadata services, which each namespace refuses.
const DENIED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), 80);
const CONNECT_PAUSE: Duration = Duration::from_millis(5);

/// Settings of a namespace before it has devices. Ports below 1024 need no capability; addresses are usable at once and come
/// from no router.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"),
    ("/proc/sys/net/ipv6/conf/default/accept_dad", "0"),
    ("/proc/sys/net/ipv6/conf/default/accept_ra", "0"),
];

/// Network namespace of an instance, seen from its shim inside.
pub struct RootlessNamespace {
    own: OwnedFd,
    link: RootlessLink,
    server: ServerNetwork,
    addresses: BTreeSet<IpAddr>,
    connector: Child,
    /// The connector ends when this closes.
    _stream: UnixStream,
}

impl RootlessNamespace {
    /// Creates the namespaces and moves the calling process into them, which has one thread. `connector` runs `connect` with the
    /// argument that this function adds. The error ends a sentence.
    pub fn enter(link: &RootlessLink, server_ports: &[SocketAddr], connector: Command) -> Result<Self, String> {
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        let mut server = ServerNetwork::open().map_err(|error| failed("opening the server's routing", error))?;
        let families = server.families().map_err(|error| failed("listing the server's routes", error))?;
        if !families.ipv4 && !families.ipv6 {
            return Err("the server has no default route".to_owned());
        }
        let addresses = server.addresses().map_err(|error| failed("listing the server's addresses", error))?;
        let order = ConnectorOptions {
            pasta: link.pasta.clone(),
            shim: rustix::process::getpid().as_raw_pid(),
            families,
            server_ports: server_ports.to_vec(),
        };
        let (stream, connector) =
            start(connector, &order).map_err(|error| failed("starting what connects it", error))?;
        enter_new().map_err(|error| failed("making a user namespace", error))?;
        let own = current().map_err(|error| failed("opening the network namespace", error))?;
        let mut inside = Netlink::open().map_err(|error| failed("opening its routing", error))?;
        inside.set_up(LOOPBACK).map_err(|error| failed("taking its loopback up", error))?;
        for (setting, value) in SETTINGS {
            // A kernel without IPv6 lacks some.
            if let Err(error) = std::fs::write(setting, value) {
                tracing::debug!(%error, setting, "stays");
            }
        }
        rules::install(link, &addresses).map_err(|error| format!("its firewall: {error}"))?;
        let relay = Relay::bind(server_ports).map_err(|error| failed("listening for it", error))?;
        let (resolver, ports) = relay.into_descriptors();
        for descriptors in [resolver, ports].iter().filter(|list| !list.is_empty()) {
            let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
            handover::answer(&stream, Ok(&borrowed)).map_err(|error| failed("handing its sockets over", error))?;
        }
        connected(&mut inside, families, &stream)?;
        Ok(Self { own, link: link.clone(), server, addresses, connector, _stream: stream })
    }

    /// Checks that the rules hold, and that an app can have a resolver of its own.
    pub fn check(&self) -> Result<(), String> {
        match TcpStream::connect_timeout(&DENIED, CONNECT_TIMEOUT) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(format!("its firewall does not refuse ({error})")),
            Ok(_) => return Err("its firewall refuses nothing".to_owned()),
        }
        if Path::new(RESOLV_CONF).exists() {
            let mounted = unshare(UnshareFlags::NEWNS).and_then(|()| Ok(mount_bind(RESOLV_CONF, RESOLV_CONF)?));
            mounted.map_err(|error| format!("giving it its resolver: {error}"))?;
        }
        Ok(())
    }

    /// Returns the file descriptor of the namespace.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Readable when addresses of the server have changed: `update`.
    pub fn changes(&self) -> BorrowedFd<'_> {
        self.server.changes()
    }

    /// Denies the addresses that the server has now.
    pub fn update(&mut self) -> Result<(), String> {
        self.server.take_changes();
        let now = self.server.addresses().map_err(|error| error.to_string())?;
        if now != self.addresses {
            rules::install(&self.link, &now).map_err(|error| error.to_string())?;
            self.addresses = now;
        }
        Ok(())
    }

    /// Process that connects the namespace, a child of the calling one.
    pub fn connector(&self) -> Option<Pid> {
        i32::try_from(self.connector.id()).ok().and_then(Pid::from_raw)
    }

    /// Ends the connection. Returns once its process has ended, which the caller may have waited for already.
    pub fn disconnect(mut self) {
        if let Some(pid) = self.connector() {
            kill_process(pid, Signal::KILL).ok();
        }
        self.connector.wait().ok();
    }

    /// Runs `start`, which starts a program that may make mounts of its own.
    pub fn with_mounts<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        with_capability(CapabilitySet::SYS_ADMIN, start)
    }
}

/// Moves the calling process, which has one thread, into a network namespace and the user namespace that owns it.
#[allow(unsafe_code)]
pub fn join_user_and_network(network: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: this request takes no argument and returns a new descriptor (ioctl_ns(2)).
    let owner = unsafe { libc::ioctl(network.as_raw_fd(), libc::NS_GET_USERNS) };
    if owner < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let owner = unsafe { OwnedFd::from_raw_fd(owner) };
    move_into_link_name_space(owner.as_fd(), Some(LinkNameSpaceType::User))?;
    join(network)
}

fn start(mut connector: Command, order: &ConnectorOptions) -> io::Result<(UnixStream, Child)> {
    let (stream, stdin) = UnixStream::pair()?;
    let order = serde_json::to_string(order).map_err(io::Error::other)?;
    let child = connector
        .arg(order)
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(stdin))
        .stdout(std::process::Stdio::null())
        .spawn()?;
    Ok((stream, child))
}

/// Maps the user and the group to themselves (user_namespaces(7)).
fn enter_new() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[allow(unsafe_code)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; no caller gives it.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Waits for the default routes that `pasta` makes.
fn connected(inside: &mut Netlink, families: Families, mut stream: &UnixStream) -> Result<(), String> {
    let until = Instant::now() + CONNECT_TIMEOUT;
    stream.set_read_timeout(Some(CONNECT_PAUSE)).map_err(|error| error.to_string())?;
    loop {
        if Families::of(inside).map_err(|error| format!("listing its routes: {error}"))? == families {
            return Ok(());
        }
        let mut reason = [0; 1024];
        match stream.read(&mut reason) {
            Ok(0) => return Err("what connects it ended".to_owned()),
            Ok(length) => return Err(String::from_utf8_lossy(&reason[..length]).into_owned()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.to_string()),
        }
        if Instant::now() > until {
            return Err(format!("pasta did not connect it within {} s", CONNECT_TIMEOUT.as_secs()));
        }
    }
}
