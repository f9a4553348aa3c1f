//! Descriptors kept back for connections to apps: when clients have used up all others, whoever is connected is served on.
//! Owns nothing but their count; what they are does not matter.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

/// Of one core: connections to apps that may be opened within a second of want.
const RESERVED_FDS: usize = 16;

/// The descriptors that one core keeps back.
#[derive(Debug)]
pub(crate) struct FdReserve(RefCell<Vec<OwnedFd>>);

impl FdReserve {
    pub(super) fn new() -> Self {
        let fd_reserve = Self(RefCell::default());
        fd_reserve.refill();
        fd_reserve
    }

    /// Lets one go, so that the next descriptor that is asked for is there; `false` when none is left.
    pub(crate) fn release(&self) -> bool {
        self.0.borrow_mut().pop().is_some()
    }

    /// Keeps back again what was let go, as far as there is room.
    pub(super) fn refill(&self) {
        let mut fd_reserve = self.0.borrow_mut();
        while fd_reserve.len() < RESERVED_FDS
            && let Ok(spare) = eventfd(0, EventfdFlags::CLOEXEC)
        {
            fd_reserve.push(spare);
        }
    }
}

/// Whether no descriptor was left for it, of this process or of the whole machine.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_is_kept_back_again() {
        let fd_reserve = FdReserve::new();
        assert_eq!((0..RESERVED_FDS + 3).filter(|_| fd_reserve.release()).count(), RESERVED_FDS);
        fd_reserve.refill();
        assert!(fd_reserve.release());
    }
}
