//! How other threads wake a loop: they leave the task's key and ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::task::Key;

/// Of one loop; outlives it with the wakers that others hold.
#[derive(Debug)]
pub(crate) struct Bell {
    due: Mutex<Vec<Key>>,
    rung: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let rung = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { due: Mutex::default(), rung })
    }

    /// Has the loop wake a task. The first since the loop looked rings for all that follow.
    pub(crate) fn ring(&self, key: Key) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.push(key);
        if due.len() == 1
            && let Err(error) = rustix::io::write(&self.rung, &1_u64.to_ne_bytes())
        {
            tracing::warn!(%error, "a loop can't be woken");
        }
    }

    /// Who is to be woken. The count of rings is never read: epoll tells of each one.
    pub(crate) fn take(&self) -> Vec<Key> {
        std::mem::take(&mut self.due.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }
}
