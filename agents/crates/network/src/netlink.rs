//! Requests to the kernel's routing subsystem (rtnetlink(7)), each acknowledged before the next one is sent.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet, AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Index of the loopback device in every namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// Attributes and values of `linux/if_link.h` and `linux/ip.h`.
const IFLA_INET_CONF: u16 = 1;
const IPV4_DEVCONF_FORWARDING: u16 = 1;
const IPV4_DEVCONF_RP_FILTER: u16 = 8;
const IPV4_DEVCONF_ROUTE_LOCALNET: u16 = 26;

/// Hardware address of a device.
pub(crate) type HardwareAddress = [u8; 6];

/// Two ends of a pair of devices.
#[derive(Debug)]
pub(crate) struct VethPair<'a> {
    pub(crate) name: &'a str,
    pub(crate) group: u32,
    pub(crate) hardware_address: HardwareAddress,
    pub(crate) peer_name: &'a str,
    pub(crate) peer_index: u32,
    pub(crate) peer_hardware_address: HardwareAddress,
    pub(crate) peer_namespace: BorrowedFd<'a>,
}

/// Kernel counters of a device, in packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    pub sent: u64,
    pub received: u64,
    /// Packets of both directions that the kernel had no room for.
    pub dropped: u64,
}

/// A connection to the routing subsystem of one namespace.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Connects in the namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Creates a pair of devices. The end outside has neither an address nor a link-local one: it only forwards.
    pub(crate) fn add_veth(&mut self, pair: &VethPair<'_>) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.header.index = pair.peer_index;
        peer.attributes = vec![
            LinkAttribute::IfName(pair.peer_name.to_owned()),
            LinkAttribute::Address(pair.peer_hardware_address.to_vec()),
            LinkAttribute::NetNsFd(pair.peer_namespace.as_raw_fd()),
        ];
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(pair.name.to_owned()),
            LinkAttribute::Address(pair.hardware_address.to_vec()),
            LinkAttribute::Group(pair.group),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Moves a device to another group.
    pub(crate) fn set_group(&mut self, index: u32, group: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::Group(group)];
        self.request(RouteNetlinkMessage::NewLink(message), 0)
    }

    /// Brings a device up.
    pub(crate) fn set_up(&mut self, index: u32) -> io::Result<()> {
        self.request(RouteNetlinkMessage::NewLink(up(index)), 0)
    }

    /// Brings the outer end of a pair up and gives it an alias, which the kernel does not take with a new device. It forwards IPv4
    /// and refuses sources that are not behind it.
    pub(crate) fn set_up_outside(&mut self, index: u32, alias: &str, ipv6: bool) -> io::Result<()> {
        let mut message = up(index);
        let mut settings = vec![AfSpecUnspec::Inet(vec![device_settings(&[
            (IPV4_DEVCONF_FORWARDING, 1),
            (IPV4_DEVCONF_RP_FILTER, 1),
        ])])];
        if ipv6 {
            settings.push(AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]));
        }
        message.attributes = vec![LinkAttribute::IfAlias(alias.to_owned()), LinkAttribute::AfSpecUnspec(settings)];
        self.request(RouteNetlinkMessage::NewLink(message), 0)
    }

    /// Brings a tun device up, without IPv6. It carries packets from and to 127.0.0.0/8, which others refuse.
    pub(crate) fn set_up_tun(&mut self, index: u32) -> io::Result<()> {
        let mut message = up(index);
        message.attributes = vec![LinkAttribute::AfSpecUnspec(vec![
            AfSpecUnspec::Inet(vec![device_settings(&[(IPV4_DEVCONF_ROUTE_LOCALNET, 1), (IPV4_DEVCONF_RP_FILTER, 0)])]),
            AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]),
        ])];
        self.request(RouteNetlinkMessage::NewLink(message), 0)
    }

    /// Reads the counters of a device.
    pub(crate) fn counters(&mut self, index: u32) -> io::Result<DeviceCounters> {
        let mut found = None;
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |answer| {
            let RouteNetlinkMessage::NewLink(link) = answer else { return };
            let counters = link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::Stats64(counters) => Some(counters),
                _ => None,
            });
            if let (true, Some(counters)) = (link.header.index == index, counters) {
                found = Some(DeviceCounters {
                    sent: counters.tx_packets,
                    received: counters.rx_packets,
                    dropped: counters.tx_dropped + counters.rx_dropped,
                });
            }
        })?;
        found.ok_or_else(|| io::Error::other("the kernel does not count the packets of this device"))
    }

    /// Lets the server route what arrives at a device over IPv4.
    pub(crate) fn forward(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet(vec![device_settings(&[(
            IPV4_DEVCONF_FORWARDING,
            1,
        )])])])];
        self.request(RouteNetlinkMessage::NewLink(message), 0)
    }

    /// Gives a device an address, without duplicate detection.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = host_prefix(address);
        message.header.flags = AddressHeaderFlags::Nodad;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes one address to a device. Fails with `AlreadyExists` if the address has a route.
    pub(crate) fn add_host_route(&mut self, index: u32, address: IpAddr) -> io::Result<()> {
        let mut message = route(address);
        message.header.destination_prefix_length = host_prefix(address);
        message.header.scope = RouteScope::Link;
        message.attributes = vec![RouteAttribute::Destination(route_address(address)), RouteAttribute::Oif(index)];
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes everything to a gateway.
    pub(crate) fn add_default_route(&mut self, index: u32, gateway: IpAddr) -> io::Result<()> {
        let mut message = route(gateway);
        message.attributes = vec![RouteAttribute::Gateway(route_address(gateway)), RouteAttribute::Oif(index)];
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Sets the hardware address of a neighbour, so that no ARP or neighbour discovery is needed.
    pub(crate) fn add_neighbour(&mut self, index: u32, address: IpAddr, hardware: HardwareAddress) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        message.attributes =
            vec![NeighbourAttribute::Destination(destination), NeighbourAttribute::LinkLayerAddress(hardware.to_vec())];
        self.request(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Removes the device with this interface index.
    pub(crate) fn remove(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.request(RouteNetlinkMessage::DelLink(message), 0)
    }

    /// Returns the devices with this prefix in their names, each with its alias.
    pub(crate) fn devices_named(&mut self, prefix: &str) -> io::Result<Vec<(u32, Option<String>)>> {
        let mut found = Vec::new();
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |answer| {
            let RouteNetlinkMessage::NewLink(link) = answer else { return };
            let is_named = |attribute: &LinkAttribute| matches!(attribute, LinkAttribute::IfName(name) if name.starts_with(prefix));
            if link.attributes.iter().any(is_named) {
                let alias = link.attributes.iter().find_map(|attribute| match attribute {
                    LinkAttribute::IfAlias(alias) => Some(alias.clone()),
                    _ => None,
                });
                found.push((link.header.index, alias));
            }
        })?;
        Ok(found)
    }

    /// Returns all addresses of this network.
    pub(crate) fn addresses(&mut self) -> io::Result<Vec<IpAddr>> {
        let mut found = Vec::new();
        self.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()), |answer| {
            let RouteNetlinkMessage::NewAddress(address) = answer else { return };
            // The first is the own one; the second is the peer's where there is one.
            let own = |attribute: &AddressAttribute| match attribute {
                AddressAttribute::Local(address) => Some(*address),
                _ => None,
            };
            let any = |attribute: &AddressAttribute| match attribute {
                AddressAttribute::Address(address) => Some(*address),
                _ => None,
            };
            let attributes = &address.attributes;
            found.extend(attributes.iter().find_map(own).or_else(|| attributes.iter().find_map(any)));
        })?;
        Ok(found)
    }

    /// Returns the devices of the default routes of one family.
    pub(crate) fn default_devices(&mut self, ipv6: bool) -> io::Result<Vec<u32>> {
        let mut message = RouteMessage::default();
        message.header.address_family = if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let mut found = Vec::new();
        self.dump(RouteNetlinkMessage::GetRoute(message), |answer| {
            let RouteNetlinkMessage::NewRoute(route) = answer else { return };
            let unicast = route.header.kind == RouteType::Unicast && route.header.destination_prefix_length == 0;
            for attribute in route.attributes.iter().filter(|_| unicast) {
                match attribute {
                    RouteAttribute::Oif(index) => found.push(*index),
                    RouteAttribute::MultiPath(hops) => found.extend(hops.iter().map(|hop| hop.interface_index)),
                    _ => {}
                }
            }
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes).map_err(io::Error::other)?;
            // An answer to a former request that failed on our side.
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            if let NetlinkPayload::Error(error) = answer.payload {
                return if error.code.is_none() { Ok(()) } else { Err(error.to_io()) };
            }
        }
    }

    fn dump(&mut self, message: RouteNetlinkMessage, mut each: impl FnMut(&RouteNetlinkMessage)) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_DUMP)?;
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
                match &answer.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(message) => each(message),
                    _ => {}
                }
                // Messages are aligned to four bytes (netlink(7)).
                let length = (answer.header.length as usize).next_multiple_of(4).max(16);
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }
}

fn up(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message
}

/// Encodes `IFLA_INET_CONF`; its attributes have the numbers of the settings (`inet_set_link_af` of the kernel). Settings that
/// are not listed stay as they are.
fn device_settings(settings: &[(u16, u32)]) -> AfSpecInet {
    let nested: Vec<DefaultNla> =
        settings.iter().map(|(setting, value)| DefaultNla::new(*setting, value.to_ne_bytes().to_vec())).collect();
    let mut bytes = vec![0; nested.as_slice().buffer_len()];
    nested.as_slice().emit(&mut bytes);
    AfSpecInet::Other(DefaultNla::new(IFLA_INET_CONF | NLA_F_NESTED, bytes))
}

fn route(address: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(address);
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn host_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
