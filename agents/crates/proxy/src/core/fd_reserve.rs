//! File-descriptor reserve for connections to apps: connected clients are still served when accepted connections have
//! used up all other descriptors.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

/// Number of reserved descriptors of a core: connections to apps that may open within a second of exhaustion.
const RESERVED_FDS: usize = 16;

/// Reserved descriptors of one core.
#[derive(Debug)]
pub(crate) struct FdReserve(RefCell<Vec<OwnedFd>>);

impl FdReserve {
    pub(super) fn new() -> Self {
        let fd_reserve = Self(RefCell::default());
        fd_reserve.refill();
        fd_reserve
    }

    /// Closes a reserved descriptor, so that the next open succeeds; `false` if none is left.
    pub(crate) fn release(&self) -> bool {
        self.0.borrow_mut().pop().is_some()
    }

    /// Refills the reserve as far as descriptors are available.
    pub(super) fn refill(&self) {
        let mut fd_reserve = self.0.borrow_mut();
        while fd_reserve.len() < RESERVED_FDS
            && let Ok(spare) = eventfd(0, EventfdFlags::CLOEXEC)
        {
            fd_reserve.push(spare);
        }
    }
}

/// True if the error says that this process (EMFILE) or the machine (ENFILE) has no descriptor left.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_descriptors_are_reserved_again() {
        let fd_reserve = FdReserve::new();
        assert_eq!((0..RESERVED_FDS + 3).filter(|_| fd_reserve.release()).count(), RESERVED_FDS);
        fd_reserve.refill();
        assert!(fd_reserve.release());
    }
}
