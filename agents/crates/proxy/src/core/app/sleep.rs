//! Scale to zero: requests of an app without an instance wait in the queue, and the control plane is asked to start
//! one.

use std::cell::Cell;
use std::time::Duration;

use super::App;
use crate::core::WakeRequests;

/// Interval of repeated wake-up requests while requests wait, because an earlier receiver may have died.
const AGAIN_MS: u64 = 1_000;

/// State of an app that may sleep.
#[derive(Debug)]
pub(super) struct Sleep {
    /// Maximum time that a request waits for the app to start.
    wait_ms: u64,
    calls: WakeRequests,
    called_ms: Cell<Option<u64>>,
}

impl App {
    /// Sets whether the app may sleep, and the queue timeout while it sleeps.
    pub(crate) fn may_sleep(&self, wake_timeout: Option<Duration>, calls: &Option<WakeRequests>) {
        let called_ms = self.sleep.borrow().as_ref().and_then(|sleep| sleep.called_ms.get());
        let sleep = wake_timeout.zip(calls.clone()).map(|(wait, calls)| Sleep {
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            calls,
            called_ms: Cell::new(called_ms),
        });
        self.sleep.replace(sleep);
    }

    /// True if the app has no instance and may wait for one.
    pub(super) fn sleeps(&self) -> bool {
        self.sleep.borrow().is_some() && self.load_balancer.borrow().has_no_members()
    }

    /// Requests a start of the app if it sleeps; returns true if it does.
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

    /// Returns the current queue timeout.
    pub(super) fn wait_ms(&self) -> u64 {
        match self.sleep.borrow().as_ref() {
            Some(sleep) if self.load_balancer.borrow().has_no_members() => sleep.wait_ms,
            _ => u64::from(self.bounds.get().queue_timeout_ms),
        }
    }
}
