//! Many namespaces on one server: each has devices and addresses of its own, and all of them go with it.
#![cfg(test)]

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use fairlead_network::{DeviceLink, Firewall, Namespace, RESOLVER, Relay};
use tokio::task::JoinSet;

const NAMESPACES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts the server's devices with this prefix, and its IPv4 and IPv6 routes to them.
fn left(prefix: &str) -> (usize, usize, usize) {
    let devices = read_dir("/sys/class/net").unwrap().flatten();
    let devices = devices.filter(|device| device.file_name().to_string_lossy().starts_with(prefix)).count();
    let routes = read_to_string("/proc/net/route").unwrap();
    let routes = routes.lines().filter(|line| line.starts_with(prefix)).count();
    let routes_v6 = read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let routes_v6 = routes_v6.lines().filter(|line| line.rsplit(' ').next().unwrap().starts_with(prefix)).count();
    (devices, routes, routes_v6)
}

/// The address that a connection to the internet would have.
fn own_address() -> IpAddr {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip()
}

#[tokio::test]
async fn many_namespaces_stand_side_by_side_and_leave_nothing() {
    // Namespaces need root.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let prefix = format!("fs{:04x}", std::process::id() & 0xffff);
    let (group, alias) = (Firewall::device_group(false), "app".to_owned());
    let link = DeviceLink { prefix: prefix.clone(), group, alias, ipv6: false };
    assert_eq!(left(&prefix), (0, 0, 0));
    let mut relays = JoinSet::new();
    let mut namespaces = Vec::new();
    let mut addresses = BTreeSet::new();
    for _ in 0..NAMESPACES {
        let (namespace, (relay, address)) = Namespace::make(&link, || (Relay::bind(&[]), own_address())).unwrap();
        relays.spawn(relay.unwrap().serve());
        addresses.insert(address);
        namespaces.push(namespace);
    }
    let inodes: BTreeSet<_> = namespaces
        .iter()
        .map(|namespace| {
            let path = format!("/proc/self/fd/{}", namespace.descriptor().as_fd().as_raw_fd());
            std::fs::read_link(path).unwrap()
        })
        .collect();
    assert_eq!((inodes.len(), addresses.len()), (NAMESPACES, NAMESPACES), "no two share a network or an address");
    let (devices, routes, _) = left(&prefix);
    assert_eq!((devices, routes), (NAMESPACES, NAMESPACES));
    for namespace in &namespaces {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                fairlead_network::join(namespace.descriptor()).unwrap();
                std::net::TcpStream::connect(RESOLVER).map(drop)
            });
            inside.join().unwrap().unwrap();
        });
    }

    relays.shutdown().await;
    drop(namespaces);
    let started = Instant::now();
    while left(&prefix) != (0, 0, 0) {
        assert!(started.elapsed() < PATIENCE, "{:?} are left", left(&prefix));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
