//! Count of permits that all cores take from, and the set of cores that wait for one. Invariant: nothing is locked; a
//! core that has joined `waiting` and then finds no permit is seen by the core that puts the next one back.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of cores that a set can hold. A core beyond it waits for its next tick instead of a message.
const CORES_MAX: usize = 1024;
const WORD_BITS: usize = 64;

/// Permits of one limit on the whole server. Aligned to two cache lines, so that cores that use different limits do not
/// slow each other down.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct PermitPool {
    taken: AtomicU32,
    max: AtomicU32,
    /// Cores with a request that waits for one of these permits.
    pub(super) waiting: CoreSet,
}

impl Default for PermitPool {
    fn default() -> Self {
        Self { taken: AtomicU32::new(0), max: AtomicU32::new(u32::MAX), waiting: CoreSet::default() }
    }
}

impl PermitPool {
    /// Sets the limit. Permits beyond a lowered limit stay taken until their holders put them back.
    pub(crate) fn set_max(&self, max: u32) {
        self.max.store(max, Ordering::SeqCst);
    }

    pub(crate) fn max(&self) -> u32 {
        self.max.load(Ordering::Relaxed)
    }

    /// True if a permit is free.
    pub(crate) fn has_room(&self) -> bool {
        preemption_point();
        self.taken.load(Ordering::SeqCst) < self.max.load(Ordering::SeqCst)
    }

    /// True if more permits are taken than a lowered limit allows, so that the next ones to come back stay unused.
    pub(crate) fn is_over(&self) -> bool {
        self.taken.load(Ordering::SeqCst) > self.max.load(Ordering::SeqCst)
    }

    /// Takes a permit; `false` if none is free.
    pub(crate) fn try_take(&self) -> bool {
        preemption_point();
        let max = self.max.load(Ordering::SeqCst);
        let more = |taken| (taken < max).then_some(taken + 1);
        self.taken.fetch_update(Ordering::SeqCst, Ordering::Relaxed, more).is_ok()
    }

    /// Takes permits whether or not they are free: for requests that began before the limit was set.
    pub(crate) fn take_anyway(&self, count: u32) {
        self.taken.fetch_add(count, Ordering::SeqCst);
    }

    /// Puts permits back. Afterwards the caller checks `waiting`.
    pub(crate) fn put_back(&self, count: u32) {
        self.taken.fetch_sub(count, Ordering::SeqCst);
        preemption_point();
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> u32 {
        self.taken.load(Ordering::SeqCst)
    }
}

/// Set of cores by number.
#[derive(Debug)]
pub(super) struct CoreSet {
    /// Number of members, never more than `words` has bits.
    count: AtomicU32,
    words: [AtomicU64; CORES_MAX / WORD_BITS],
}

impl Default for CoreSet {
    fn default() -> Self {
        Self { count: AtomicU32::new(0), words: [const { AtomicU64::new(0) }; CORES_MAX / WORD_BITS] }
    }
}

impl CoreSet {
    /// Adds this core. Only a core itself adds and removes its number.
    pub(super) fn insert(&self, core: usize) {
        let Some(word) = self.words.get(core / WORD_BITS) else { return };
        if word.fetch_or(1 << (core % WORD_BITS), Ordering::SeqCst) & 1 << (core % WORD_BITS) == 0 {
            self.count.fetch_add(1, Ordering::SeqCst);
        }
        preemption_point();
    }

    pub(super) fn remove(&self, core: usize) {
        let Some(word) = self.words.get(core / WORD_BITS) else { return };
        if word.fetch_and(!(1 << (core % WORD_BITS)), Ordering::SeqCst) & 1 << (core % WORD_BITS) != 0 {
            self.count.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Returns the number of cores in the set.
    pub(super) fn len(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn contains(&self, core: usize) -> bool {
        self.word(core / WORD_BITS) >> (core % WORD_BITS) & 1 == 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len()).flat_map(|at| bits(self.word(at)).map(move |bit| at * WORD_BITS + bit))
    }

    fn word(&self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(Ordering::SeqCst))
    }
}

/// Returns the core of any of the sets that comes next after `core` in a circle, which is `core` itself if it is alone.
pub(super) fn next_core(sets: [&CoreSet; 2], core: usize) -> Option<usize> {
    let all = || {
        let word = |at| sets[0].word(at) | sets[1].word(at);
        (0..CORES_MAX / WORD_BITS).flat_map(move |at| bits(word(at)).map(move |bit| at * WORD_BITS + bit))
    };
    all().find(|other| *other > core).or_else(|| all().next())
}

/// Returns the numbers of the bits that are set.
fn bits(word: u64) -> impl Iterator<Item = usize> {
    let some = |word: u64| (word != 0).then_some(word);
    std::iter::successors(some(word), move |word| some(word & (word - 1))).map(|word| word.trailing_zeros() as usize)
}

/// Lets a test run other cores between two accesses to what they share.
#[cfg(not(test))]
#[inline(always)]
fn preemption_point() {}

#[cfg(test)]
use interleaving::preemption_point;

#[cfg(test)]
pub(super) mod interleaving {
    use std::cell::RefCell;
    use std::rc::Rc;

    type Hook = Rc<dyn Fn()>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Runs `hook` at each preemption point of this thread.
    pub(in super::super) fn set_hook(hook: Option<Hook>) {
        HOOK.replace(hook);
    }

    pub(super) fn preemption_point() {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_permits_are_taken_than_there_are() {
        let pool = PermitPool::default();
        pool.set_max(2);
        assert!(pool.try_take() && pool.try_take() && !pool.try_take());
        pool.set_max(1);
        assert!(pool.is_over() && !pool.has_room());
        pool.put_back(1);
        assert!(!pool.is_over() && !pool.try_take());
        pool.put_back(1);
        assert!(pool.try_take());
    }

    #[test]
    fn threads_that_race_take_each_permit_once() {
        let (pool, inside) = (PermitPool::default(), AtomicU32::new(0));
        pool.set_max(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        if pool.try_take() {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            pool.put_back(1);
                        }
                    }
                });
            }
        });
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn cores_of_two_sets_follow_each_other_in_a_circle() {
        let (first, second) = (CoreSet::default(), CoreSet::default());
        assert_eq!(next_core([&first, &second], 0), None);
        [3, 700].into_iter().for_each(|core| first.insert(core));
        [3, 64, CORES_MAX].into_iter().for_each(|core| second.insert(core));
        let round: Vec<_> =
            std::iter::successors(Some(3), |core| next_core([&first, &second], *core)).take(4).collect();
        assert_eq!(round, [3, 64, 700, 3]);
        assert_eq!(first.iter().collect::<Vec<_>>(), [3, 700]);
        second.remove(64);
        second.remove(64);
        assert_eq!((second.len(), second.contains(3), second.contains(64)), (1, true, false));
    }
}
