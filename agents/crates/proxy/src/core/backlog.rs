//! Backlog of response bytes that clients have not taken yet, by connection and for the whole core. Slow readers first
//! get smaller pieces from their apps; then the slowest connections are closed. Invariant: no reader decides how much
//! memory a core needs.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use super::{Alarms, Quota, Share};

/// High-water mark of a connection. Above it, only streams that the client keeps up with are read.
const CONNECTION_BYTES_MAX: usize = 1024 * 1024;
/// High-water mark of a core. One client may have a quarter of it.
const CORE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Steps in which the core's total follows a connection: most responses never reach the first.
const STEP_BYTES: usize = 16 * 1024;
/// Size of one read from an app above a mark.
const PIECE_BYTES: usize = 4 * 1024;
/// Streams on which a client may be behind before its connection gets no new ones.
const STALLED_STREAMS_MAX: u32 = 32;
/// Shortest measurement of a connection's rate.
const RATE_MS: u64 = 5_000;
/// Time above the mark after which a core is brought below `RELIEVED_BYTES`, at the cost of the client that holds
/// most.
const ABOVE_MS: u64 = 10_000;
const RELIEVED_BYTES: usize = CORE_BYTES_MAX / 8 * 7;
/// Minimum backlog of a client that is closed to relieve the core.
const LARGE_BYTES: usize = CORE_BYTES_MAX / 16;

/// The backlogs of one core.
#[derive(Debug)]
pub(crate) struct Backlogs {
    clock: Rc<Alarms>,
    bytes: Rc<Quota>,
    /// Backlogs that reached a step.
    counted: RefCell<Vec<Weak<Backlog>>>,
    /// Keys of backlogs that count for no client.
    next: Cell<u64>,
    /// The moment since when the core is above its mark.
    above_since_ms: Cell<Option<u64>>,
}

impl Backlogs {
    pub(super) fn new(clock: &Rc<Alarms>) -> Rc<Self> {
        let (clock, bytes) = (Rc::clone(clock), Quota::new(CORE_BYTES_MAX));
        let (next, above_since_ms) = (Cell::new(0), Cell::new(None));
        Rc::new(Self { clock, bytes, counted: RefCell::default(), next, above_since_ms })
    }

    /// Opens the backlog of a new connection; `client` is `None` for a trusted proxy, which stands for many.
    pub(crate) fn open(self: &Rc<Self>, client: Option<u64>) -> Rc<Backlog> {
        let client = client.unwrap_or_else(|| {
            self.next.set(self.next.get() + 1);
            // No client has such a key: its network is reserved.
            self.next.get()
        });
        let now_ms = self.clock.now_ms();
        Rc::new(Backlog {
            all: Rc::clone(self),
            client,
            bytes: Cell::new(0),
            share: RefCell::default(),
            stalled: Cell::new(0),
            taken: Cell::new(0),
            measured_ms: Cell::new(now_ms),
            rate: Cell::new(u64::MAX),
            moved_ms: Cell::new(now_ms),
            is_cut: Cell::new(false),
        })
    }

    /// Returns the most bytes to read at once for a connection that holds nothing yet.
    pub(crate) fn piece(&self) -> usize {
        if self.bytes.is_full() { PIECE_BYTES } else { usize::MAX }
    }

    /// Marks connections to close. Marks the slowest ones while a client, or all together, hold one and a half times
    /// their bound. Marks those of the client that holds most while all together exceed their bound for long. Returns
    /// true if any was marked, because its tasks then have to be woken.
    pub(super) fn cut_slowest(&self) -> bool {
        let mut counted = self.counted.borrow_mut();
        counted.retain(|backlog| backlog.strong_count() > 0);
        let mut slowest: Vec<_> = counted.iter().filter_map(Weak::upgrade).collect();
        drop(counted);
        slowest.iter().for_each(|backlog| backlog.measure());
        let most = |bound: usize| bound / 2 * 3;
        let mut over = self.bytes.taken().saturating_sub(most(CORE_BYTES_MAX));
        let mut over_of_client: HashMap<u64, usize> = HashMap::new();
        slowest.sort_unstable_by_key(|backlog| (backlog.rate.get(), Reverse(backlog.bytes.get())));
        let mut any = false;
        for backlog in &slowest {
            let of_client = over_of_client
                .entry(backlog.client)
                .or_insert_with(|| self.bytes.taken_by(backlog.client).saturating_sub(most(self.bytes.client_max())));
            if over > 0 || *of_client > 0 {
                over = over.saturating_sub(backlog.bytes.get());
                *of_client = of_client.saturating_sub(backlog.bytes.get());
                any |= !backlog.is_cut.replace(true);
            }
        }
        any | self.cut_largest(&slowest)
    }

    /// Picks connections of the client that holds most, once the core has been above its mark for long.
    fn cut_largest(&self, slowest: &[Rc<Backlog>]) -> bool {
        let now_ms = self.clock.now_ms();
        let open = || slowest.iter().filter(|backlog| !backlog.is_cut());
        let held: usize = open().map(|backlog| backlog.bytes.get()).sum();
        if held < CORE_BYTES_MAX {
            self.above_since_ms.set(None);
            return false;
        }
        let since_ms = self.above_since_ms.get().unwrap_or(now_ms);
        self.above_since_ms.set(Some(since_ms));
        let mut held_by: HashMap<u64, usize> = HashMap::new();
        open().for_each(|backlog| *held_by.entry(backlog.client).or_default() += backlog.bytes.get());
        let largest = held_by.into_iter().max_by_key(|(_, held)| *held).filter(|(_, held)| *held >= LARGE_BYTES);
        let Some((client, _)) = largest.filter(|_| now_ms - since_ms >= ABOVE_MS) else { return false };
        let mut over = held - RELIEVED_BYTES;
        for backlog in open().filter(|backlog| backlog.client == client) {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(backlog.bytes.get());
            backlog.is_cut.set(true);
        }
        true
    }
}

/// Backlog of one connection.
#[derive(Debug)]
pub(crate) struct Backlog {
    all: Rc<Backlogs>,
    client: u64,
    bytes: Cell<usize>,
    /// Its part of the core's total, as of the last step.
    share: RefCell<Option<Share>>,
    /// Number of streams on which the client is behind.
    stalled: Cell<u32>,
    /// Bytes that the client took in this measurement, and its start.
    taken: Cell<u64>,
    measured_ms: Cell<u64>,
    /// Rate of the last measurement in bytes a second; a connection without one is not slow.
    rate: Cell<u64>,
    moved_ms: Cell<u64>,
    is_cut: Cell<bool>,
}

impl Backlog {
    /// Adds bytes that wait for the client.
    pub(crate) fn add(self: &Rc<Self>, count: usize) {
        if self.bytes.get() == 0 {
            self.moved_ms.set(self.all.clock.now_ms());
        }
        self.set(self.bytes.get() + count);
    }

    /// Removes bytes that the client took or that are no longer wanted.
    pub(crate) fn remove(self: &Rc<Self>, count: usize) {
        if count > 0 {
            self.taken.set(self.taken.get() + count as u64);
            self.moved_ms.set(self.all.clock.now_ms());
            self.set(self.bytes.get() - count);
        }
    }

    /// Sets one stream's part to its present size.
    pub(crate) fn update(self: &Rc<Self>, part: &mut usize, now: usize) {
        let before = std::mem::replace(part, now);
        if now > before {
            self.add(now - before);
        } else {
            self.remove(before - now);
        }
    }

    fn set(self: &Rc<Self>, bytes: usize) {
        self.bytes.set(bytes);
        let mut share = self.share.borrow_mut();
        let counted = share.as_ref().map_or(0, Share::amount);
        let is_step = bytes.abs_diff(counted) >= STEP_BYTES || bytes == 0 && counted > 0;
        match &mut *share {
            _ if !is_step => {}
            Some(share) => share.resize(bytes),
            None => {
                *share = Some(self.all.bytes.take(self.client, bytes));
                self.all.counted.borrow_mut().push(Rc::downgrade(self));
            }
        }
    }

    /// Reports whether a stream that holds bytes must wait until its client has taken them.
    pub(crate) fn is_short(&self) -> bool {
        self.bytes.get() >= CONNECTION_BYTES_MAX || !self.all.bytes.has_room(self.client, 1)
    }

    /// Returns the most bytes to read at once for one of its streams.
    pub(crate) fn piece(&self) -> usize {
        if self.is_short() { PIECE_BYTES } else { usize::MAX }
    }

    /// Reports whether the connection must close: it is among the slowest of a core that holds too much.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Returns since when the client has taken nothing; `None` while there is nothing to take.
    pub(crate) fn stuck_since(&self) -> Option<u64> {
        (self.bytes.get() > 0).then(|| self.moved_ms.get())
    }

    fn measure(&self) {
        let now_ms = self.all.clock.now_ms();
        let passed_ms = now_ms.saturating_sub(self.measured_ms.get());
        if passed_ms >= RATE_MS {
            self.rate.set(self.taken.replace(0) * 1000 / passed_ms);
            self.measured_ms.set(now_ms);
        }
    }

    pub(crate) fn stalled(&self) -> u32 {
        self.stalled.get()
    }

    /// Reports whether the client may open another stream.
    pub(crate) fn may_open(&self) -> bool {
        self.stalled.get() < STALLED_STREAMS_MAX
    }

    /// Counts a stream on which the client is behind.
    pub(crate) fn stall(self: &Rc<Self>) -> StalledStream {
        self.stalled.set(self.stalled.get() + 1);
        StalledStream(Rc::clone(self))
    }
}

/// Counts a stream for as long as its client is behind.
#[derive(Debug)]
pub(crate) struct StalledStream(Rc<Backlog>);

impl Drop for StalledStream {
    fn drop(&mut self) {
        self.0.stalled.set(self.0.stalled.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_short_above_its_bound_and_a_client_above_its_share() {
        let backlogs = Backlogs::new(&Alarms::new());
        let (one, other) = (backlogs.open(Some(7)), backlogs.open(Some(8)));
        one.add(CONNECTION_BYTES_MAX - 1);
        assert_eq!((one.is_short(), one.piece()), (false, usize::MAX));
        one.add(1);
        assert_eq!((one.is_short(), one.piece(), other.is_short()), (true, PIECE_BYTES, false));
        one.remove(CONNECTION_BYTES_MAX);
        let many: Vec<_> = (0..CORE_BYTES_MAX / 4 / CONNECTION_BYTES_MAX).map(|_| backlogs.open(Some(7))).collect();
        many.iter().for_each(|backlog| backlog.add(CONNECTION_BYTES_MAX));
        assert!(one.is_short() && !other.is_short() && !backlogs.open(None).is_short());
        drop(many);
        assert!(!one.is_short());
    }

    #[test]
    fn only_the_slowest_connections_of_a_client_that_holds_too_much_are_cut() {
        let backlogs = Backlogs::new(&Alarms::new());
        let open = |client, rate, mib: usize| {
            let backlog = backlogs.open(Some(client));
            backlog.add(mib << 20);
            backlog.rate.set(rate);
            backlog
        };
        let (slow, fast, other) = (open(7, 1, 8), open(7, 1_000_000, 16), open(8, 0, 20));
        assert!(!backlogs.cut_slowest(), "half as much again is let be");
        let more = open(7, 2, 1);
        assert!(backlogs.cut_slowest());
        assert_eq!([&slow, &more, &fast, &other].map(|backlog| backlog.is_cut()), [true, false, false, false]);
    }

    #[test]
    fn a_few_clients_do_not_keep_a_core_above_its_mark() {
        let clock = Alarms::new();
        let backlogs = Backlogs::new(&clock);
        let open = |client, rate, bytes| {
            let backlog = backlogs.open(Some(client));
            backlog.add(bytes);
            backlog.rate.set(rate);
            backlog.measured_ms.set(u64::MAX);
            backlog
        };
        // Each below the bound at which it alone would be cut.
        let slow: Vec<_> = (0..64).map(|number| open(number % 4, 1, 1 << 20)).collect();
        let others: Vec<_> = (100..104).map(|client| open(client, 0, 1 << 19)).collect();
        let cut = |backlogs: &[Rc<Backlog>]| backlogs.iter().filter(|backlog| backlog.is_cut()).count();
        assert!(!backlogs.cut_slowest() && others.iter().all(|other| other.is_short()), "a moment is let be");
        backlogs.above_since_ms.set(Some(0));
        clock.set_now_ms(ABOVE_MS);
        assert!(backlogs.cut_slowest());
        assert_eq!((cut(&slow), cut(&others)), (10, 0));
        slow.iter().filter(|backlog| backlog.is_cut()).for_each(|backlog| backlog.remove(1 << 20));
        assert!(!backlogs.cut_slowest() && others.iter().all(|other| !other.is_short()));
    }

    #[test]
    fn dropped_backlogs_free_their_quota() {
        let backlogs = Backlogs::new(&Alarms::new());
        let backlog = backlogs.open(None);
        backlog.add(STEP_BYTES);
        let stalled = backlog.stall();
        assert_eq!((backlogs.bytes.taken(), backlog.stalled()), (STEP_BYTES, 1));
        drop(stalled);
        assert_eq!(backlog.stalled(), 0);
        drop(backlog);
        assert_eq!(backlogs.bytes.taken(), 0);
        assert!(!backlogs.cut_slowest() && backlogs.counted.borrow().is_empty());
    }
}
