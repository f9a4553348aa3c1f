//! An app that may have no instance because nobody asked for a while: its requests wait in line instead of being refused, and
//! whoever can start one is told. Owns how often that is told; starts nothing.

use std::cell::Cell;
use std::time::Duration;

use super::App;
use crate::core::WakeRequests;

/// Told again this often while requests wait: whoever was told may have died since.
const AGAIN_MS: u64 = 1_000;

/// What is known of an app that may sleep.
#[derive(Debug)]
pub(super) struct Sleep {
    /// How long a request waits for it to wake.
    wait_ms: u64,
    calls: WakeRequests,
    called_ms: Cell<Option<u64>>,
}

impl App {
    /// Takes over whether it may sleep, and how long a request waits then.
    pub(crate) fn may_sleep(&self, wake_timeout: Option<Duration>, calls: &Option<WakeRequests>) {
        let called_ms = self.sleep.borrow().as_ref().and_then(|sleep| sleep.called_ms.get());
        let sleep = wake_timeout.zip(calls.clone()).map(|(wait, calls)| Sleep {
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            calls,
            called_ms: Cell::new(called_ms),
        });
        self.sleep.replace(sleep);
    }

    /// Has no instance, and may wait for one.
    pub(super) fn sleeps(&self) -> bool {
        self.sleep.borrow().is_some() && self.load_balancer.borrow().has_no_members()
    }

    /// Has it woken, if it sleeps; tells whether it does.
    pub(super) fn call(&self) -> bool {
        if !self.sleeps() {
            return false;
        }
        if let Some(sleep) = self.sleep.borrow().as_ref() {
            let now_ms = self.clock.exact_ms();
            if sleep.called_ms.get().is_none_or(|called| now_ms >= called + AGAIN_MS) {
                sleep.called_ms.set(Some(now_ms));
                // The control thread ends only with the whole process.
                sleep.calls.send(self.key.clone()).ok();
            }
        }
        true
    }

    /// How long a request may wait now.
    pub(super) fn wait_ms(&self) -> u64 {
        match self.sleep.borrow().as_ref() {
            Some(sleep) if self.load_balancer.borrow().has_no_members() => sleep.wait_ms,
            _ => u64::from(self.bounds.get().queue_timeout_ms),
        }
    }
}
