//! Descriptors kept back for connections to apps: when clients have used up all others, whoever is connected is served on.
//! Owns nothing but their count; what they are does not matter.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

/// Of one core: connections to apps that may be opened within a second of want.
const SPARES: usize = 16;

/// The descriptors that one core keeps back.
#[derive(Debug)]
pub(crate) struct Spares(RefCell<Vec<OwnedFd>>);

impl Spares {
    pub(super) fn new() -> Self {
        let spares = Self(RefCell::default());
        spares.refill();
        spares
    }

    /// Lets one go, so that the next descriptor that is asked for is there; `false` when none is left.
    pub(crate) fn release(&self) -> bool {
        self.0.borrow_mut().pop().is_some()
    }

    /// Keeps back again what was let go, as far as there is room.
    pub(super) fn refill(&self) {
        let mut spares = self.0.borrow_mut();
        while spares.len() < SPARES
            && let Ok(spare) = eventfd(0, EventfdFlags::CLOEXEC)
        {
            spares.push(spare);
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
        let spares = Spares::new();
        assert_eq!((0..SPARES + 3).filter(|_| spares.release()).count(), SPARES);
        spares.refill();
        assert!(spares.release());
    }
}
