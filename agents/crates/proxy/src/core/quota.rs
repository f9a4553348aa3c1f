//! A resource of one core that all clients use, bounded in total and for each client, so that one client cannot take all of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use foldhash::fast::RandomState;

/// One client gets at most one in `PARTS` of a resource.
const PARTS: usize = 4;

/// Total of a resource, and the amount that each client has.
#[derive(Debug)]
pub(crate) struct Quota {
    max: usize,
    taken: Cell<usize>,
    by_client: RefCell<HashMap<u64, usize, RandomState>>,
}

impl Quota {
    pub(crate) fn new(max: usize) -> Rc<Self> {
        Rc::new(Self { max, taken: Cell::new(0), by_client: RefCell::default() })
    }

    /// Bound on one client.
    pub(crate) fn client_max(&self) -> usize {
        (self.max / PARTS).max(1)
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken.get()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.taken.get() >= self.max
    }

    pub(crate) fn taken_by(&self, client: u64) -> usize {
        self.by_client.borrow().get(&client).copied().unwrap_or(0)
    }

    /// Reports whether `client` may take `amount` more.
    pub(crate) fn has_room(&self, client: u64, amount: usize) -> bool {
        let taken = self.taken.get() + amount;
        // While all clients together have less than one may have, no client needs a look-up.
        taken <= self.client_max() || taken <= self.max && self.taken_by(client) + amount <= self.client_max()
    }

    /// Takes `amount` whether or not there is room.
    pub(crate) fn take(self: &Rc<Self>, client: u64, amount: usize) -> Share {
        let share = Share { quota: Rc::clone(self), client, amount: 0 };
        share.resized(amount)
    }

    /// Takes `amount`, or nothing when there is no room.
    pub(crate) fn try_take(self: &Rc<Self>, client: u64, amount: usize) -> Option<Share> {
        self.has_room(client, amount).then(|| self.take(client, amount))
    }

    fn change(&self, client: u64, from: usize, to: usize) {
        self.taken.set(self.taken.get() - from + to);
        let mut by_client = self.by_client.borrow_mut();
        match by_client.entry(client) {
            Entry::Occupied(entry) if *entry.get() - from + to == 0 => drop(entry.remove()),
            Entry::Occupied(mut entry) => *entry.get_mut() = *entry.get() - from + to,
            Entry::Vacant(_) if to == 0 => {}
            Entry::Vacant(entry) => drop(entry.insert(to)),
        }
        // A flood from many addresses must not leave the table at its largest size.
        if by_client.capacity() > 4096 && by_client.len() < by_client.capacity() / 8 {
            by_client.shrink_to_fit();
        }
    }
}

/// Part of a resource that a client has; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Share {
    quota: Rc<Quota>,
    client: u64,
    amount: usize,
}

impl Share {
    pub(crate) fn amount(&self) -> usize {
        self.amount
    }

    /// Changes how much is taken, whether or not there is room.
    pub(crate) fn resize(&mut self, amount: usize) {
        self.quota.change(self.client, self.amount, amount);
        self.amount = amount;
    }

    fn resized(mut self, amount: usize) -> Self {
        self.resize(amount);
        self
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_a_quarter_and_all_together_get_no_more_than_there_is() {
        let quota = Quota::new(8);
        let first: Vec<_> = (0..3).filter_map(|_| quota.try_take(1, 1)).collect();
        assert_eq!(first.len(), 2);
        let others: Vec<_> =
            (2..9).flat_map(|client| [client; 3]).filter_map(|client| quota.try_take(client, 1)).collect();
        assert_eq!((others.len(), quota.is_full()), (6, true));
        drop(first);
        assert!(quota.try_take(9, 2).is_some() && !quota.has_room(2, 1));
    }

    #[test]
    fn a_share_that_is_given_back_leaves_nothing() {
        let quota = Quota::new(100);
        let mut share = quota.take(1, 10);
        share.resize(40);
        assert_eq!((quota.taken_by(1), quota.has_room(1, 1), quota.has_room(2, 25)), (40, false, true));
        drop(share);
        assert_eq!((quota.taken.get(), quota.by_client.borrow().len()), (0, 0));
    }
}
