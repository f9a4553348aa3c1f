//! Resolvers of the server, as its resolv.conf lists them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::netdevice::name_to_index;

use crate::relay::RESOLVER;

const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Resolvers behind systemd-resolved. Container engines use these if the server's list has only the stub.
const BEHIND_STUB: &str = "/run/systemd/resolve/resolv.conf";
/// Interval after which the server's list of resolvers is read again.
const RESOLVERS_AGE: Duration = Duration::from_secs(5);

/// The server's resolvers, as its resolv.conf lists them now.
#[derive(Debug, Default)]
pub(crate) struct Resolvers(std::sync::Mutex<Option<(Instant, Vec<SocketAddr>)>>);

impl Resolvers {
    pub(crate) fn get(&self) -> Vec<SocketAddr> {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &*known {
            Some((read, list)) if read.elapsed() < RESOLVERS_AGE => list.clone(),
            _ => {
                let list = resolvers(&read_resolv_conf());
                *known = Some((Instant::now(), list.clone()));
                list
            }
        }
    }
}

fn read_resolv_conf() -> String {
    std::fs::read_to_string(Path::new(RESOLV_CONF)).unwrap_or_default()
}

/// Lists the resolvers that a container asks from its own network: all of the server's but those on its loopback. No relay
/// serves containers: the engine's resolver asks these from the container's network.
pub fn remote_resolvers() -> BTreeSet<IpAddr> {
    let behind = std::fs::read_to_string(BEHIND_STUB).unwrap_or_default();
    remote(&read_resolv_conf(), &behind)
}

/// Reads two resolv.confs; the second counts only where the first names systemd's stub.
fn remote(server: &str, behind_stub: &str) -> BTreeSet<IpAddr> {
    let mut found = resolvers(server);
    if found.contains(&RESOLVER) {
        found.extend(resolvers(behind_stub));
    }
    let is_remote = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_unspecified(),
        // Containers have no IPv6 address on this link.
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unspecified() && !address.is_unicast_link_local(),
    };
    found.into_iter().map(|resolver| resolver.ip()).filter(is_remote).collect()
}

/// Returns the resolv.conf of a namespace: the server's search list and options, and the resolver inside.
pub fn resolv_conf() -> String {
    let server = read_resolv_conf();
    let kept = server.lines().filter(|line| {
        let word = line.split_whitespace().next();
        matches!(word, Some("search" | "domain" | "options"))
    });
    kept.fold(format!("nameserver {}\n", RESOLVER.ip()), |text, line| format!("{text}{line}\n"))
}

/// Lists the resolvers of a resolv.conf. Without any, the C library asks the server itself (resolv.conf(5)).
fn resolvers(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "nameserver").then_some(())?;
        resolver(words.next()?)
    });
    let found: Vec<SocketAddr> = named.collect();
    if found.is_empty() { vec![(Ipv4Addr::LOCALHOST, RESOLVER.port()).into()] } else { found }
}

fn resolver(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address, RESOLVER.port()).into());
    }
    let (address, device) = text.split_once('%')?;
    let scope = device.parse().ok().or_else(|| {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        name_to_index(&socket, device).ok()
    })?;
    Some(SocketAddrV6::new(address.parse().ok()?, RESOLVER.port(), 0, scope).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_of_every_spelling_are_found_and_without_any_it_is_the_server() {
        let found =
            resolvers("# nameserver 9.9.9.9\nnameserver 127.0.0.53\nnameserver\t2001:db8::1\nnameserver fe80::1%1\n");
        let expected = ["127.0.0.53:53", "[2001:db8::1]:53", "[fe80::1%1]:53"];
        assert_eq!(found, expected.map(|text| text.parse().unwrap()));
        assert_eq!(resolvers("options edns0\nnameserver nonsense\n"), ["127.0.0.1:53".parse().unwrap()]);
    }

    #[test]
    fn containers_ask_what_is_behind_the_stub_and_nothing_on_the_loopback() {
        let behind = "nameserver 192.168.1.1\nnameserver fe80::1%1\nnameserver 2001:db8::1\n";
        let found = |server: &str| remote(server, behind).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(found("nameserver 127.0.0.53\n"), "192.168.1.1 2001:db8::1");
        assert_eq!(found("nameserver 169.254.169.254\nnameserver 127.0.0.1\n"), "169.254.169.254");
        assert_eq!(found(""), "");
    }
}
