//! Ports for apps: one that nobody listens on and that no other instance was promised. Owns the promise, not the socket.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

/// Hands out ports round and round, so that one just freed isn't met by a late connection.
#[derive(Debug)]
pub(crate) struct Ports {
    range: RangeInclusive<u16>,
    state: Mutex<(usize, HashSet<u16>)>,
}

impl Ports {
    /// Ports of this range, beginning anywhere in it.
    pub(crate) fn new(range: RangeInclusive<u16>, start: u64) -> Self {
        let length = u64::from(range.end().saturating_sub(*range.start())) + 1;
        let start = usize::try_from(start % length).unwrap_or_default();
        Self { range, state: Mutex::new((start, HashSet::new())) }
    }

    /// Takes a port that is free now; `None` when there is none in the range.
    pub(crate) fn take(&self) -> Option<u16> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.range.len();
        for _ in 0..length {
            let offset = u16::try_from(state.0 % length).ok()?;
            state.0 = (state.0 + 1) % length;
            let port = self.range.start() + offset;
            if !state.1.contains(&port) && free(port) {
                state.1.insert(port);
                return Some(port);
            }
        }
        None
    }

    /// Keeps a port that an adopted instance has, or that an instance had before a restart. False when it is taken.
    pub(crate) fn keep(&self, port: u16) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.insert(port)
    }

    /// The instance is gone.
    pub(crate) fn give_back(&self, port: u16) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&port);
    }
}

/// Whether an app could listen on it on all addresses.
pub(crate) fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        && match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
            Ok(_) => true,
            // A server without IPv6 has no one there either.
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
        let ports = Ports::new(port..=port, 7);
        assert_eq!(ports.take(), None);
        drop(taken);
        assert_eq!(ports.take(), Some(port));
        assert_eq!(ports.take(), None);
        ports.give_back(port);
        assert_eq!(ports.take(), Some(port));
    }
}
