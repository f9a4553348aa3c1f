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
pub(super) struct SleepState {
    /// Maximum time that a request waits for the app to start.
    wait_ms: u64,
    wake_requests: WakeRequests,
    requested_ms: Cell<Option<u64>>,
}

impl App {
    /// Sets whether the app may sleep, and the queue timeout while it sleeps.
    pub(crate) fn may_sleep(&self, wake_timeout: Option<Duration>, wake_requests: &Option<WakeRequests>) {
        let requested_ms = self.sleep.borrow().as_ref().and_then(|sleep| sleep.requested_ms.get());
        let sleep = wake_timeout.zip(wake_requests.clone()).map(|(wait, wake_requests)| SleepState {
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            wake_requests,
            requested_ms: Cell::new(requested_ms),
        });
        self.sleep.replace(sleep);
    }

    /// True if the app has no instance and may wait for one.
    pub(super) fn sleeps(&self) -> bool {
        self.sleep.borrow().is_some() && self.load_balancer.borrow().has_no_members()
    }

    /// Requests a start of the app if it sleeps; returns true if it does.
    pub(super) fn request_start(&self) -> bool {
        if !self.sleeps() {
            return false;
        }
        if let Some(sleep) = self.sleep.borrow().as_ref() {
            let now_ms = self.clock.exact_ms();
            if sleep.requested_ms.get().is_none_or(|requested| now_ms >= requested + AGAIN_MS) {
                sleep.requested_ms.set(Some(now_ms));
                // The control thread ends only with the whole process.
                sleep.wake_requests.send(self.key.clone()).ok();
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
