//! Wakes an event loop from other threads: a queue of task keys and an eventfd.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::task::TaskKey;

/// Remote waker of one loop. It outlives the loop as long as other threads hold wakers.
#[derive(Debug)]
pub(crate) struct RemoteWaker {
    due: Mutex<Vec<TaskKey>>,
    event: OwnedFd,
}

impl RemoteWaker {
    pub(crate) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { due: Mutex::default(), event })
    }

    /// Queues a task to be woken by the loop. Only the first key since the last poll writes to the eventfd.
    pub(crate) fn wake(&self, key: TaskKey) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.push(key);
        if due.len() == 1
            && let Err(error) = rustix::io::write(&self.event, &1_u64.to_ne_bytes())
        {
            tracing::warn!(%error, "a loop can't be woken");
        }
    }

    /// Takes the keys of tasks to wake. Never reads the eventfd's counter: epoll reports each write (edge-triggered).
    pub(crate) fn take_due(&self) -> Vec<TaskKey> {
        std::mem::take(&mut self.due.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for RemoteWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
