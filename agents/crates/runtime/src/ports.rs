//! Allocator of ports for apps: a port has no listener and no other instance. Reserves the port, not the socket.

use std::collections::{HashSet, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use fairlead_base::random;

/// Allocates ports at random, so that no program knows the next one before its app does.
#[derive(Debug)]
pub(crate) struct PortAllocator {
    range: RangeInclusive<u16>,
    state: Mutex<PortState>,
}

#[derive(Debug, Default)]
struct PortState {
    promised: HashSet<u16>,
    /// Ports given back last, oldest first: a late connection to one must not reach another app.
    recent: VecDeque<u16>,
}

impl PortAllocator {
    pub(crate) fn new(range: RangeInclusive<u16>) -> Self {
        Self { range, state: Mutex::default() }
    }

    /// Allocates a free port; `None` if the range has none.
    pub(crate) fn take(&self) -> Option<u16> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let recent: HashSet<u16> = state.recent.iter().copied().collect();
        let rested = |port: &u16| !state.promised.contains(port) && !recent.contains(port);
        let mut candidates: Vec<u16> = self.range.clone().filter(rested).collect();
        let mut found = None;
        while found.is_none() && !candidates.is_empty() {
            let chosen = candidates.swap_remove(random_index(candidates.len()));
            found = Some(chosen).filter(|port| free(*port));
        }
        let found = found.or_else(|| state.recent.iter().copied().find(|port| free(*port)))?;
        state.recent.retain(|port| *port != found);
        state.promised.insert(found);
        Some(found)
    }

    /// Reserves the port of an adopted instance, or of an instance before a restart. False if it is taken.
    pub(crate) fn reserve(&self, port: u16) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.recent.retain(|recent| *recent != port);
        state.promised.insert(port)
    }

    /// Releases the port of an instance that is gone.
    pub(crate) fn release(&self, port: u16) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.promised.remove(&port) && self.range.contains(&port) {
            state.recent.push_back(port);
            // Half of the range rests, so that the next port is hard to guess among the other half.
            if state.recent.len() > self.range.len().div_ceil(2) {
                state.recent.pop_front();
            }
        }
    }
}

fn random_index(length: usize) -> usize {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    usize::try_from(random::number() % length).unwrap_or_default()
}

/// True if an app could listen on the port on all addresses.
pub(crate) fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        && match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
            Ok(_) => true,
            // A server without IPv6 has no listener there either.
            Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once_and_never_while_somebody_listens_on_it() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let ports = PortAllocator::new(port..=port);
        assert_eq!(ports.take(), None);
        drop(taken);
        assert_eq!(ports.take(), Some(port));
        assert_eq!(ports.take(), None);
        ports.release(port);
        assert_eq!(ports.take(), Some(port));
    }

    #[test]
    fn ports_come_in_no_order_and_rest_after_they_are_given_back() {
        // Most of these are free on any machine.
        let ports = PortAllocator::new(15_000..=15_199);
        let taken: Vec<u16> = (0..50).map(|_| ports.take().unwrap()).collect();
        let distinct: HashSet<u16> = taken.iter().copied().collect();
        assert_eq!(distinct.len(), 50, "each is promised once");
        let next = |pair: &[u16]| pair[1] == pair[0] + 1;
        assert!(taken.windows(2).filter(|pair| next(pair)).count() < 25, "{taken:?}");
        taken.iter().for_each(|port| ports.release(*port));
        let again: HashSet<u16> = (0..50).map(|_| ports.take().unwrap()).collect();
        assert!(again.is_disjoint(&distinct), "{again:?}");
    }
}
