//! Requests that their client takes back as soon as it has made them ("rapid reset", CVE-2023-44487): each costs the app its
//! work and us a connection to it, while the client's own limit on streams is never reached. Counted for one connection.

use std::cell::Cell;

/// A request that its client takes back within this time counts; no page reload does that to hundreds.
const AT_ONCE_MS: u64 = 1000;
/// Requests taken back on one connection, from which on they end it when they are more than half of all.
const TAKEN_BACK_MAX: u64 = 200;

/// What has become of a connection's requests.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    ended: Cell<u64>,
    /// Of those, the ones that the client took back at once.
    taken_back: Cell<u64>,
}

impl Flood {
    /// A request has ended, however it did.
    pub(crate) fn ended(&self) {
        self.ended.set(self.ended.get() + 1);
    }

    /// The client took a request back before its response was complete, after so long.
    pub(crate) fn taken_back(&self, after_ms: u64) {
        // Whoever waited a while may well have lost patience.
        if after_ms <= AT_ONCE_MS {
            self.taken_back.set(self.taken_back.get() + 1);
        }
    }

    /// Whether most requests are begun for nobody.
    pub(crate) fn is_one(&self) -> bool {
        let taken_back = self.taken_back.get();
        taken_back >= TAKEN_BACK_MAX && taken_back * 2 > self.ended.get()
    }
}
