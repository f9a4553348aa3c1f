//! Detects floods of requests that a client cancels at once ("rapid reset", CVE-2023-44487). Each costs the app work
//! and a connection, while the limit on concurrent streams is never reached.

use std::cell::Cell;

/// Maximum age of a canceled request that counts; no page reload cancels hundreds so early.
const AT_ONCE_MS: u64 = 1000;
/// Number of canceled requests on one connection from which they end it, if they are more than half of all.
const CANCELED_MAX: u64 = 200;

/// Request counters of one connection.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    ended: Cell<u64>,
    /// Requests that the client canceled within `AT_ONCE_MS`.
    canceled: Cell<u64>,
}

impl Flood {
    /// Counts the end of a request.
    pub(crate) fn ended(&self) {
        self.ended.set(self.ended.get() + 1);
    }

    /// Counts a request that the client canceled after this time, before its response was complete.
    pub(crate) fn canceled(&self, after_ms: u64) {
        // A client may cancel a request that takes long.
        if after_ms <= AT_ONCE_MS {
            self.canceled.set(self.canceled.get() + 1);
        }
    }

    /// True if the connection must end, because most of its requests were canceled at once.
    pub(crate) fn is_flood(&self) -> bool {
        let canceled = self.canceled.get();
        canceled >= CANCELED_MAX && canceled * 2 > self.ended.get()
    }
}
