//! Fair shares of the permits of an app: one client can't hold all of them while others wait. A client without
//! competitors has no limit.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Time for which permits stay shared after a client had to wait for those of another.
pub(super) const SHARED_MS: u64 = 5_000;

/// Returns the number of permits that one client may have while others wait: a quarter stays reserved for them.
pub(super) fn share_of(permits: u32) -> u32 {
    (permits - permits / 4).max(1)
}

/// Permits of an app on one core, and their holders.
#[derive(Debug, Default)]
pub(super) struct Shares {
    held: HashMap<u64, u32, RandomState>,
    /// Total number of permits.
    permits: u32,
    shared_until_ms: u64,
}

impl Shares {
    pub(super) fn set_permits(&mut self, permits: u32) {
        self.permits = permits;
    }

    pub(super) fn take(&mut self, client: u64) {
        *self.held.entry(client).or_default() += 1;
    }

    pub(super) fn give(&mut self, client: u64) {
        if let Some(held) = self.held.get_mut(&client) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&client);
            }
        }
    }

    /// True if a client may have one more permit.
    pub(super) fn may(&self, client: u64, now_ms: u64) -> bool {
        // Without permits there is nothing to share.
        now_ms >= self.shared_until_ms || self.permits == 0 || self.held_by(client) < share_of(self.permits)
    }

    /// Records that a client has to wait; `others` is true if another client waits too.
    pub(super) fn waits(&mut self, client: u64, others: bool, now_ms: u64) {
        // False if another client holds permits that this one could have.
        let holds_all = self.held.len() == usize::from(self.held.contains_key(&client));
        if others || !holds_all {
            self.shared_until_ms = now_ms + SHARED_MS;
        }
    }

    fn held_by(&self, client: u64) -> u32 {
        self.held.get(&client).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(shares: &mut Shares, client: u64, now_ms: u64) -> u32 {
        let mut count = 0;
        while count < 100 && shares.may(client, now_ms) {
            shares.take(client);
            count += 1;
        }
        count
    }

    #[test]
    fn a_single_client_has_all_permits_and_one_with_competitors_leaves_a_quarter() {
        let mut shares = Shares::default();
        shares.set_permits(64);
        assert_eq!(taken(&mut shares, 1, 0), 100, "alone it is not bounded here");
        // It has no competitor: nothing is shared.
        shares.waits(1, false, 0);
        assert!(shares.may(1, 0));
        // Another client has to wait.
        shares.waits(2, false, 1_000);
        (0..100).for_each(|_| shares.give(1));
        assert_eq!((taken(&mut shares, 1, 1_000), taken(&mut shares, 2, 1_000)), (48, 48));
        assert!(shares.may(1, 1_000 + SHARED_MS));
    }

    #[test]
    fn a_client_may_always_have_one_permit() {
        let mut shares = Shares::default();
        shares.set_permits(1);
        shares.waits(1, true, 0);
        assert_eq!(taken(&mut shares, 1, 0), 1);
        shares.give(1);
        assert!(shares.held.is_empty());
    }
}
