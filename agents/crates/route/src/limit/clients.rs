//! Per-client counters in a table of fixed size. Each counter is one atomic word with the client's tag, so no client is
//! ever charged for another.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Rate;

/// Number of slots that a key may use.
const WAYS: usize = 8;
/// Slot groups for rates: 64 Ki counters, half a MiB.
const RATE_GROUPS: usize = 8192;
/// Slot groups for in-flight requests: 32 Ki counters.
const IN_FLIGHT_GROUPS: usize = 4096;
/// Maximum number of compare-and-swap attempts on a contended word: an extra request does no harm.
const TRIES_MAX: usize = 16;

const DUE_BITS: u32 = 40;
const DUE_MASK: u64 = (1 << DUE_BITS) - 1;
const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

fn table(groups: usize) -> Box<[AtomicU64]> {
    (0..groups * WAYS).map(|_| AtomicU64::new(0)).collect()
}

/// Returns the first slot of a hash, and its tag, never zero.
fn slots(words: &[AtomicU64], hash: u64, tag_bits: u32) -> (usize, u64) {
    let groups = words.len() / WAYS;
    // Low bits select the group, high bits form the tag.
    ((hash as usize % groups) * WAYS, (hash >> (64 - tag_bits)).max(1))
}

/// Rates of many clients. Keys are hashes that must be secret, or a client could choose which others share its slots.
///
/// A key has eight possible slots. Two keys share a counter only if 24 (rates) or 40 bits (in flight) of a secret hash
/// agree within those eight: for rates one client in two million. If all eight are taken, rates evict the client with
/// the most remaining requests; in-flight counters leave the new client uncounted.
#[derive(Debug)]
pub struct ClientRates {
    /// Tag of the client (24 bits), and time at which its next request is due (40 bits of ticks, which wrap).
    words: Box<[AtomicU64]>,
}

impl Default for ClientRates {
    fn default() -> Self {
        Self { words: table(RATE_GROUPS) }
    }
}

impl ClientRates {
    /// Takes one request of a client at `now` (ticks), or returns how many ticks too early it comes.
    pub fn take(&self, hash: u64, rate: &Rate, now: u64) -> Result<(), u64> {
        let (first, tag) = slots(&self.words, hash, 64 - DUE_BITS);
        let group = &self.words[first..first + WAYS];
        for _ in 0..TRIES_MAX {
            let (slot, word) = find(group, tag, now);
            let due = if word >> DUE_BITS == tag { now + ahead(word, now, rate.ahead_max()) } else { now };
            let next = rate.take(due, now)?;
            let new = tag << DUE_BITS | next & DUE_MASK;
            if slot.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns the client's own slot, or the one to evict, with its due time.
fn find(group: &[AtomicU64], tag: u64, now: u64) -> (&AtomicU64, u64) {
    let mut best = (&group[0], 0, u64::MAX);
    for slot in group {
        let word = slot.load(Ordering::Relaxed);
        if word >> DUE_BITS == tag {
            return (slot, word);
        }
        let missed = if word == 0 { 0 } else { ahead(word, now, DUE_MASK / 2) };
        if missed < best.2 {
            best = (slot, word, missed);
        }
    }
    (best.0, best.1)
}

/// Returns how far the time in `word` lies ahead. Zero if it is past, or further ahead than possible and so from before
/// a wrap.
fn ahead(word: u64, now: u64, most: u64) -> u64 {
    let ahead = word.wrapping_sub(now) & DUE_MASK;
    if ahead > most { 0 } else { ahead }
}

/// In-flight requests of many clients.
#[derive(Debug)]
pub struct ClientsInFlight {
    /// Tag of the client (40 bits), and its in-flight requests (24 bits); zero for a free slot.
    words: Box<[AtomicU64]>,
}

/// Counted request of a client; `leave` returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPermit {
    slot: usize,
}

/// Error of a client that has reached its limit of in-flight requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyInFlight;

impl Default for ClientsInFlight {
    fn default() -> Self {
        Self::with_groups(IN_FLIGHT_GROUPS)
    }
}

impl ClientsInFlight {
    /// Creates a table of `groups` times eight counters.
    pub fn with_groups(groups: usize) -> Self {
        Self { words: table(groups.max(1)) }
    }

    /// Returns the number of counted requests of a client.
    pub fn count(&self, hash: u64) -> u32 {
        let (first, tag) = slots(&self.words, hash, 64 - COUNT_BITS);
        let own = self.group(first).find(|word| word >> COUNT_BITS == tag);
        own.map_or(0, |word| u32::try_from(word & COUNT_MASK).unwrap_or(u32::MAX))
    }

    /// True if any other client has a counted request. Looks at the whole table.
    pub fn has_others(&self, hash: u64) -> bool {
        let (first, tag) = slots(&self.words, hash, 64 - COUNT_BITS);
        (0..self.words.len())
            .step_by(WAYS)
            .any(|group| self.group(group).any(|word| word != 0 && !(group == first && word >> COUNT_BITS == tag)))
    }

    fn group(&self, first: usize) -> impl Iterator<Item = u64> + '_ {
        self.words[first..first + WAYS].iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Counts one more request of a client. Returns `Err` if it has `most` already, `Ok(None)` without a free slot.
    pub fn enter(&self, hash: u64, most: u32) -> Result<Option<ClientPermit>, TooManyInFlight> {
        let (first, tag) = slots(&self.words, hash, 64 - COUNT_BITS);
        let most = u64::from(most).min(COUNT_MASK - 1);
        for _ in 0..TRIES_MAX {
            let mut free = None;
            let mut own = None;
            for slot in first..first + WAYS {
                let word = self.words[slot].load(Ordering::Relaxed);
                if word == 0 {
                    free = free.or(Some((slot, tag << COUNT_BITS)));
                } else if word >> COUNT_BITS == tag {
                    own = Some((slot, word));
                    break;
                }
            }
            let Some((slot, word)) = own.or(free) else { return Ok(None) };
            if word & COUNT_MASK >= most {
                return Err(TooManyInFlight);
            }
            let old = if own.is_some() { word } else { 0 };
            if self.words[slot].compare_exchange(old, word + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return Ok(Some(ClientPermit { slot }));
            }
        }
        Ok(None)
    }

    /// Counts one request less; returns the number before.
    pub fn leave(&self, permit: ClientPermit) -> u32 {
        let slot = &self.words[permit.slot];
        let mut word = slot.load(Ordering::Relaxed);
        loop {
            let new = if word & COUNT_MASK <= 1 { 0 } else { word - 1 };
            match slot.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return u32::try_from(word & COUNT_MASK).unwrap_or(u32::MAX),
                Err(other) => word = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::AtomicU32;

    use proptest::prelude::*;

    use super::super::{SharedRate, TICKS_PER_SECOND};
    use super::*;

    /// Spreads keys as a secret hash would.
    fn hash(client: u64) -> u64 {
        (client + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    proptest! {
        #[test]
        fn each_client_has_its_own_rate(
            per_second in 1u32..50, burst in 0u32..5, requests in prop::collection::vec((0u64..5, 0u64..20_000), 1..200)
        ) {
            let rate = Rate::new(per_second, burst, TICKS_PER_SECOND).unwrap();
            let rates = ClientRates::default();
            let mut alone: HashMap<u64, SharedRate> = HashMap::new();
            // Crosses the point at which 40 bits wrap.
            let mut now = DUE_MASK - 500_000;
            for (client, pause) in requests {
                now += pause;
                let expected = alone.entry(client).or_default().take(&rate, now);
                prop_assert_eq!(rates.take(hash(client), &rate, now), expected);
            }
        }

        #[test]
        fn each_client_has_its_own_count(most in 1u32..4, steps in prop::collection::vec((0u64..4, any::<bool>()), 1..100)) {
            let table = ClientsInFlight::default();
            let mut held: HashMap<u64, Vec<ClientPermit>> = HashMap::new();
            for (client, enter) in steps {
                let mine = held.entry(client).or_default();
                if enter {
                    let entered = table.enter(hash(client), most);
                    prop_assert_eq!(entered.is_ok(), mine.len() < most as usize);
                    mine.extend(entered.ok().flatten());
                } else if let Some(slot) = mine.pop() {
                    table.leave(slot);
                }
            }
            for slot in held.into_values().flatten() {
                table.leave(slot);
            }
            prop_assert!(table.words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn a_flood_of_clients_costs_no_memory_and_spares_those_in_debt() {
        let rates = ClientRates::default();
        let strict = Rate::new(1, 0, TICKS_PER_SECOND).unwrap();
        // Client with the greatest possible debt.
        let heavy = hash(1_000_000);
        let generous = Rate::new(1, 100, TICKS_PER_SECOND).unwrap();
        while rates.take(heavy, &generous, 1).is_ok() {}
        for client in 0..300_000 {
            assert!(rates.take(hash(client), &strict, 1).is_ok(), "a new client was refused");
        }
        assert!(rates.take(heavy, &generous, 1).is_err());
    }

    #[test]
    fn a_client_with_requests_is_known_to_the_others() {
        let table = ClientsInFlight::with_groups(4);
        assert!(!table.has_others(hash(1)));
        let permits: Vec<_> = (0..3).map(|_| table.enter(hash(1), 5).unwrap().unwrap()).collect();
        assert_eq!((table.count(hash(1)), table.count(hash(2))), (3, 0));
        assert!(table.has_others(hash(2)) && !table.has_others(hash(1)));
        assert_eq!(permits.into_iter().map(|permit| table.leave(permit)).collect::<Vec<_>>(), [3, 2, 1]);
        assert!(!table.has_others(hash(2)));
    }

    #[test]
    fn a_full_group_lets_newcomers_in_uncounted() {
        let table = ClientsInFlight::default();
        let same_group = |n: u64| n << 40;
        for n in 1..=WAYS as u64 {
            assert!(table.enter(same_group(n), 1).unwrap().is_some());
        }
        assert_eq!(table.enter(same_group(99), 1), Ok(None));
        assert_eq!(table.enter(same_group(1), 1), Err(TooManyInFlight));
    }

    #[test]
    fn cores_that_race_let_no_more_in_than_is_allowed() {
        let (rates, table, passed, inside) =
            (ClientRates::default(), ClientsInFlight::default(), AtomicU32::new(0), AtomicU32::new(0));
        let rate = Rate::new(100, 0, TICKS_PER_SECOND).unwrap();
        // All threads find the client's slot: a client that is new to two cores at once may get two.
        rates.take(hash(1), &rate, 1).unwrap();
        let kept = table.enter(hash(1), 4).unwrap().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        passed.fetch_add(u32::from(rates.take(hash(1), &rate, 1).is_ok()), Ordering::Relaxed);
                        if let Ok(Some(slot)) = table.enter(hash(1), 4) {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            table.leave(slot);
                        }
                    }
                });
            }
        });
        table.leave(kept);
        // A contended word may admit an extra request.
        let passed = passed.into_inner();
        assert!((99..=117).contains(&passed), "{passed}");
        assert!(rates.take(hash(1), &rate, 1 + TICKS_PER_SECOND).is_ok());
    }
}
