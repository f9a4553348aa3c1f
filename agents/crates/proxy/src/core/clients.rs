//! Counts the connections of each client on one core, so that one client cannot take the places of all.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

/// Number of open connections of each client on one core.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    open: RefCell<HashMap<u64, u32, RandomState>>,
}

impl Clients {
    /// Counts another connection; `false` if the client already has `most`.
    pub(crate) fn enter(&self, client: u64, most: u32) -> bool {
        match self.open.borrow_mut().entry(client) {
            Entry::Occupied(entry) if *entry.get() >= most => false,
            Entry::Occupied(mut entry) => {
                *entry.get_mut() += 1;
                true
            }
            Entry::Vacant(entry) => {
                entry.insert(1);
                true
            }
        }
    }

    /// Returns the number of connections that a client has.
    pub(crate) fn open(&self, client: u64) -> u32 {
        self.open.borrow().get(&client).copied().unwrap_or(0)
    }

    /// Counts the end of a connection.
    pub(crate) fn leave(&self, client: u64) {
        let mut open = self.open.borrow_mut();
        if let Entry::Occupied(mut entry) = open.entry(client) {
            match *entry.get() {
                0 | 1 => drop(entry.remove()),
                more => *entry.get_mut() = more - 1,
            }
        }
        // After a flood from many addresses the table must not stay as large as it was.
        if open.capacity() > 4096 && open.len() < open.capacity() / 8 {
            open.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use fairlead_route::client_key;

    use super::*;

    #[test]
    fn a_client_has_its_places_and_no_more_whatever_its_address_is_written_as() {
        let clients = Clients::default();
        let at = |address: &str| client_key(address.parse().unwrap());
        assert!(clients.enter(at("192.0.2.1"), 2) && clients.enter(at("::ffff:192.0.2.1"), 2));
        assert!(!clients.enter(at("192.0.2.1"), 2));
        assert!(clients.enter(at("192.0.2.2"), 2));
        clients.leave(at("192.0.2.1"));
        assert!(clients.enter(at("192.0.2.1"), 2));
        // A /64 is one client; its neighbour is another.
        assert!(clients.enter(at("2001:db8::1"), 1) && !clients.enter(at("2001:db8::ffff:1"), 1));
        assert!(clients.enter(at("2001:db8:0:1::1"), 1));
    }

    #[test]
    fn ended_connections_free_their_memory() {
        let clients = Clients::default();
        let address = |number: u32| client_key(IpAddr::from(number.to_be_bytes()));
        (0..50_000).for_each(|number| assert!(clients.enter(address(number), 1)));
        (0..50_000).for_each(|number| clients.leave(address(number)));
        assert!(clients.open.borrow().is_empty() && clients.open.borrow().capacity() <= 4096);
    }
}
