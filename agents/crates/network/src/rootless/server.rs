//! The server's addresses and default routes, as seen from a namespace: a socket stays in the network that it was opened in.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::netlink::Netlink;

/// Groups of messages about changes of addresses (`linux/rtnetlink.h`).
const RTNLGRP_IPV4_IFADDR: u32 = 5;
const RTNLGRP_IPV6_IFADDR: u32 = 9;

/// Families of addresses in which the server has a default route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Families {
    pub(super) ipv4: bool,
    pub(super) ipv6: bool,
}

impl Families {
    /// Looks at the routes of one network.
    pub(super) fn of(netlink: &mut Netlink) -> io::Result<Self> {
        Ok(Self { ipv4: !netlink.default_devices(false)?.is_empty(), ipv6: !netlink.default_devices(true)?.is_empty() })
    }
}

/// Connection to the routing of the server's network.
pub(super) struct ServerNetwork {
    netlink: Netlink,
    changes: Socket,
}

impl ServerNetwork {
    /// Connects. The calling thread is in the server's network.
    pub(super) fn open() -> io::Result<Self> {
        let mut changes = Socket::new(NETLINK_ROUTE)?;
        changes.bind(&SocketAddr::new(0, 0))?;
        changes.add_membership(RTNLGRP_IPV4_IFADDR)?;
        changes.add_membership(RTNLGRP_IPV6_IFADDR)?;
        changes.set_non_blocking(true)?;
        Ok(Self { netlink: Netlink::open()?, changes })
    }

    /// Addresses that only the server itself has. A namespace has a loopback of its own.
    pub(super) fn addresses(&mut self) -> io::Result<BTreeSet<IpAddr>> {
        let all = self.netlink.addresses()?;
        Ok(all.into_iter().filter(|address| !address.is_loopback()).collect())
    }

    pub(super) fn families(&mut self) -> io::Result<Families> {
        Families::of(&mut self.netlink)
    }

    /// Readable when addresses have changed.
    pub(super) fn changes(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }

    /// Takes the messages about changes, which the caller answers by reading all addresses again.
    pub(super) fn take_changes(&self) {
        let mut message = Vec::with_capacity(8192);
        // An overflow ends the loop with an error: the next call goes on.
        while self.changes.recv(&mut message, 0).is_ok() {
            message.clear();
        }
    }
}
