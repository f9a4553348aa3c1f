//! A network namespace with one way out: `eth0` inside, a device of the server outside, one address of each family, and a
//! default route through the server. The server's firewall filters the traffic.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fairlead_base::random;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::netlink::{HardwareAddress, LOOPBACK, Netlink, VethPair};

/// First bytes of all addresses inside: 198.18.0.0/15 is set aside for networks within one lab (RFC 2544, RFC 6890), so that no
/// provider's network uses it. Bridges of containers have the upper half.
const NETWORK: [u8; 2] = [198, 18];
/// Prefix of all IPv6 addresses inside (a unique local one, RFC 4193).
const NETWORK_V6: [u16; 2] = [0xfd66, 0x6c64];
/// The gateway, which has these addresses inside only: the server itself answers at neither.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(NETWORK[0], NETWORK[1], 0, 1);
const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The device inside, and its index there.
const DEVICE: &str = "eth0";
const DEVICE_INDEX: u32 = 2;
/// Attempts to find a free random name or address.
const DRAWS: usize = 64;
/// Ports below this number need a capability, unless a namespace says otherwise (ip(7)).
const UNPRIVILEGED_PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// The way out of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLink {
    /// Prefix of the name of the device outside, which the firewall knows: `Firewall::device_prefix`.
    pub prefix: String,
    /// Group of the device: `Firewall::device_group`.
    pub group: u32,
    /// Alias of the device, by which `remove_devices` finds it: the instance or build.
    pub alias: String,
    /// Gives it an IPv6 address too.
    pub ipv6: bool,
}

/// Reason why a namespace could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{step} failed: {source}")]
pub struct NamespaceError {
    step: &'static str,
    #[source]
    source: io::Error,
}

pub(crate) fn failed(step: &'static str) -> impl Fn(io::Error) -> NamespaceError {
    move |source| NamespaceError { step, source }
}

/// A namespace, held open. Its way out goes with this value, even where a socket that an app passed on keeps the namespace.
#[derive(Debug)]
pub struct Namespace {
    own: OwnedFd,
    host: OwnedFd,
    outside: Netlink,
    device: u32,
}

impl Namespace {
    /// Creates a namespace and moves the calling thread into it. Threads and processes that it starts from then on are inside too.
    pub fn enter_new(link: &DeviceLink) -> Result<Self, NamespaceError> {
        let host = current().map_err(failed("opening the server's network namespace"))?;
        let mut outside = Netlink::open().map_err(failed("opening the server's routing"))?;
        unshare().map_err(failed("making a network namespace"))?;
        let own = current().map_err(failed("opening the network namespace"))?;
        let device = connect(own.as_fd(), &mut outside, link)?;
        Ok(Self { own, host, outside, device })
    }

    /// Creates a namespace without moving the calling thread. Runs `inside` in it, on a thread of its own.
    pub fn make<T: Send>(link: &DeviceLink, inside: impl FnOnce() -> T + Send) -> Result<(Self, T), NamespaceError> {
        let made = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("network".to_owned());
            let thread = thread.spawn_scoped(scope, || Ok((Self::enter_new(link)?, inside())))?;
            thread.join().map_err(|_| io::Error::other("its thread ended"))
        });
        made.map_err(failed("starting a thread"))?
    }

    /// Moves the calling thread into the server's namespace.
    pub fn leave(&self) -> io::Result<()> {
        join(self.host.as_fd())
    }

    /// The namespace's descriptor. The namespace lives as long as the descriptor is open.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// The descriptor of the namespace that the calling thread came from.
    pub fn host_descriptor(&self) -> BorrowedFd<'_> {
        self.host.as_fd()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = self.outside.remove(self.device) {
            tracing::debug!(%error, "the device of a namespace has gone already");
        }
    }
}

/// Removes the devices with this prefix and the alias of an ended instance or build. Returns their number.
pub fn remove_devices(prefix: &str, has_ended: impl Fn(&str) -> bool) -> io::Result<usize> {
    let mut netlink = Netlink::open()?;
    let mut removed = 0;
    for (index, alias) in netlink.devices_named(prefix)? {
        if !alias.is_some_and(|alias| has_ended(&alias)) {
            continue;
        }
        match netlink.remove(index) {
            // Gone meanwhile, with its namespace.
            Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {}
            result => {
                result?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Gives a namespace its way out. Returns the device outside.
fn connect(own: BorrowedFd<'_>, outside: &mut Netlink, link: &DeviceLink) -> Result<u32, NamespaceError> {
    let mut inside = Netlink::open().map_err(failed("opening its routing"))?;
    inside.set_up(LOOPBACK).map_err(failed("taking its loopback up"))?;
    if let Err(error) = std::fs::write(UNPRIVILEGED_PORTS, "0") {
        tracing::debug!(%error, "ports below 1024 need a capability");
    }
    let (mac, mac_inside) = (hardware_address(), hardware_address());
    let name = draw(|| {
        let name = format!("{}{:08x}", link.prefix, random::number() as u32);
        let pair = VethPair {
            name: &name,
            group: link.group,
            hardware_address: mac,
            peer_name: DEVICE,
            peer_index: DEVICE_INDEX,
            peer_hardware_address: mac_inside,
            peer_namespace: own,
        };
        outside.add_veth(&pair)?;
        Ok(name)
    });
    let name = name.map_err(failed("making its devices"))?;
    let index = name_to_index(outside.as_fd(), &name).map_err(|error| failed("finding its device")(error.into()))?;
    let addressed = give_addresses(outside, &mut inside, link, index, mac, mac_inside);
    if addressed.is_err() {
        // The namespace may live on with the calling thread.
        outside.remove(index).ok();
    }
    addressed.map(|()| index)
}

fn give_addresses(
    outside: &mut Netlink,
    inside: &mut Netlink,
    link: &DeviceLink,
    index: u32,
    mac: HardwareAddress,
    mac_inside: HardwareAddress,
) -> Result<(), NamespaceError> {
    outside.set_up_outside(index, &link.alias, link.ipv6).map_err(failed("taking its outer device up"))?;
    inside.set_up(DEVICE_INDEX).map_err(failed("taking its device up"))?;
    let mut families: Vec<(IpAddr, fn() -> IpAddr)> = vec![(GATEWAY.into(), address)];
    if link.ipv6 {
        families.push((GATEWAY_V6.into(), address_v6));
    }
    for (gateway, address) in families {
        let address = draw(|| {
            let address = address();
            outside.add_host_route(index, address)?;
            Ok(address)
        });
        let address = address.map_err(failed("finding it an address"))?;
        outside.add_neighbour(index, address, mac_inside).map_err(failed("naming it to the server"))?;
        inside.add_address(DEVICE_INDEX, address).map_err(failed("giving it its address"))?;
        inside.add_neighbour(DEVICE_INDEX, gateway, mac).map_err(failed("naming its gateway"))?;
        if gateway.is_ipv4() {
            inside.add_host_route(DEVICE_INDEX, gateway).map_err(failed("routing to its gateway"))?;
        }
        inside.add_default_route(DEVICE_INDEX, gateway).map_err(failed("routing through its gateway"))?;
    }
    Ok(())
}

/// Moves the calling thread into a network namespace.
pub fn join(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

/// Moves a device of the calling thread's namespace to another group: `Firewall::device_group`.
pub fn set_group(device: &str, group: u32) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = name_to_index(netlink.as_fd(), device)?;
    netlink.set_group(index, group)
}

/// Opens the namespace of the calling thread.
pub fn current() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(OWN_NAMESPACE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Runs `action` on a thread in a new namespace, and waits for it.
pub(crate) fn inside_new<T: Send>(action: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    let made = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("network".to_owned());
        let thread = thread.spawn_scoped(scope, || {
            unshare().map_err(failed("making a network namespace"))?;
            Ok(action())
        })?;
        thread.join().map_err(|_| io::Error::other("its thread ended"))
    });
    made.map_err(failed("starting a thread"))?
}

#[allow(unsafe_code)]
fn unshare() -> io::Result<()> {
    // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; it isn't given.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Repeats a random attempt until its name or address is free.
fn draw<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..DRAWS {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result,
        }
    }
    attempt()
}

/// A locally administered address (IEEE 802).
fn hardware_address() -> HardwareAddress {
    let [a, b, c, d, e, ..] = random::number().to_ne_bytes();
    [0x02, a, b, c, d, e]
}

fn address() -> IpAddr {
    loop {
        let [a, b, ..] = random::number().to_ne_bytes();
        let address = Ipv4Addr::new(NETWORK[0], NETWORK[1], a, b);
        // First and last look like a network and a broadcast address to some programs.
        if address != GATEWAY && b != 0 && b != 255 {
            return address.into();
        }
    }
}

fn address_v6() -> IpAddr {
    let bits = random::number();
    let part = |shift: u32| u16::try_from(bits >> shift & 0xffff).unwrap_or_default();
    Ipv6Addr::new(NETWORK_V6[0], NETWORK_V6[1], 0, 0, part(48), part(32), part(16), part(0)).into()
}
