//! Quota of a resource on one core, with limits in total, for each client and for each app. Invariant: neither a few
//! clients nor one app can take all of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use foldhash::fast::RandomState;

/// One client gets at most one in `PARTS` of a resource.
const PARTS: usize = 4;
/// A client with a share gets more only up to one part in `LEFT_PARTS` of the rest, so that several clients together
/// leave room too.
const LEFT_PARTS: usize = 2;

/// Total of a resource, and the amount that each client has.
#[derive(Debug)]
pub(crate) struct Quota {
    max: usize,
    taken: Cell<usize>,
    by_client: RefCell<HashMap<u64, usize, RandomState>>,
    /// Number of apps that use it.
    apps: Cell<usize>,
}

impl Quota {
    pub(crate) fn new(max: usize) -> Rc<Self> {
        Rc::new(Self { max, taken: Cell::new(0), by_client: RefCell::default(), apps: Cell::new(1) })
    }

    /// Sets the number of apps that use it: a single app has no limit.
    pub(crate) fn set_apps(&self, apps: usize) {
        self.apps.set(apps);
    }

    /// Returns the limit of one client.
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
        self.has_room_of(self.left(amount), client, amount)
    }

    /// Returns what is left once `amount` is taken; `None` if there is less.
    fn left(&self, amount: usize) -> Option<usize> {
        self.max.checked_sub(self.taken.get() + amount)
    }

    /// Reports whether `client` may take `amount` more, after which `left` is left for others.
    fn has_room_of(&self, left: Option<usize>, client: u64, amount: usize) -> bool {
        // While all clients together have less than one may have, no client needs a look-up.
        if self.taken.get() + amount <= self.client_max() {
            return true;
        }
        let Some(left) = left else { return false };
        let own = self.taken_by(client) + amount;
        own <= self.client_max() && (own == amount || own <= left / LEFT_PARTS)
    }

    /// Takes `amount` whether or not there is room.
    pub(crate) fn take(self: &Rc<Self>, client: u64, amount: usize) -> Share {
        let share = Share { quota: Rc::clone(self), client, amount: 0 };
        share.resized(amount)
    }

    /// Takes `amount`, or nothing when there is no room.
    #[cfg(test)]
    fn try_take(self: &Rc<Self>, client: u64, amount: usize) -> Option<Share> {
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

/// One app's use of a resource.
#[derive(Debug)]
pub(crate) struct AppPart {
    quota: Rc<Quota>,
    taken: Cell<usize>,
}

impl AppPart {
    pub(crate) fn new(quota: &Rc<Quota>) -> Rc<Self> {
        Rc::new(Self { quota: Rc::clone(quota), taken: Cell::new(0) })
    }

    /// Reports whether the app may take `amount` more for a client that has room. Beside other apps it leaves them as much as it
    /// has, so however many apps are at their bound, some is left.
    pub(crate) fn has_room(&self, amount: usize) -> bool {
        self.taken.get() == 0 || self.left(amount).is_some()
    }

    /// Reports whether `client` may take `amount` more through this app, if that has room.
    pub(crate) fn has_room_for(&self, client: u64, amount: usize) -> bool {
        let left = if self.taken.get() == 0 { self.quota.left(amount) } else { self.left(amount) };
        self.quota.has_room_of(left, client, amount)
    }

    /// Returns what is left for this app once it has taken `amount`; `None` if there is less.
    fn left(&self, amount: usize) -> Option<usize> {
        let reserved = if self.quota.apps.get() > 1 { self.taken.get() + amount } else { 0 };
        self.quota.left(amount)?.checked_sub(reserved)
    }

    /// Takes `amount` whether or not there is room.
    pub(crate) fn take(self: &Rc<Self>, client: u64, amount: usize) -> AppShare {
        self.taken.set(self.taken.get() + amount);
        AppShare { share: self.quota.take(client, amount), app: Rc::clone(self) }
    }

    /// Takes `amount`, or nothing when there is no room.
    pub(crate) fn try_take(self: &Rc<Self>, client: u64, amount: usize) -> Option<AppShare> {
        (self.has_room(amount) && self.has_room_for(client, amount)).then(|| self.take(client, amount))
    }
}

/// A client's part of what one app uses, given back when dropped.
#[derive(Debug)]
pub(crate) struct AppShare {
    share: Share,
    app: Rc<AppPart>,
}

impl Drop for AppShare {
    fn drop(&mut self) {
        self.app.taken.set(self.app.taken.get() - self.share.amount());
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
    fn a_few_clients_that_take_all_they_can_leave_room_for_others() {
        let quota = Quota::new(8192);
        let taken: Vec<_> =
            (0..12).map(|client| (0..4096).map_while(|_| quota.try_take(client, 1)).collect::<Vec<_>>()).collect();
        assert_eq!(taken[0].len(), quota.client_max());
        assert!(quota.taken() < 8192 - 50, "{}", quota.taken());
        assert!((100..120).all(|client| quota.has_room(client, 1)));
    }

    #[test]
    fn one_app_leaves_others_as_much_as_it_has() {
        let quota = Quota::new(1024);
        let (stalled, other) = (AppPart::new(&quota), AppPart::new(&quota));
        let next = Cell::new(0);
        let client = || next.replace(next.get() + 1);
        let all = |app: &Rc<AppPart>| (0..1024).map_while(|_| app.try_take(client(), 1)).collect::<Vec<_>>();
        // The control: an app alone has everything.
        let alone = all(&stalled);
        assert_eq!((alone.len(), other.try_take(2000, 1).is_none()), (1024, true));
        drop(alone);
        quota.set_apps(2);
        let (first, second) = (all(&stalled), all(&other));
        assert_eq!((first.len(), second.len()), (512, 256));
        drop((first, second));
        assert_eq!((stalled.taken.get(), quota.taken()), (0, 0));
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
