//! Counters of many clients in a table of fixed size. A counter is one atomic word that holds whose it is, so that finding,
//! counting and giving up a place are each one step, and no client can be charged for another.
//!
//! A key's place is one of eight. Two keys share a counter only if 24 (rates) or 40 bits (at once) of a secret hash agree
//! within those eight: for rates one client in two million. When all eight are taken, that of the client with most left to
//! spend is given up (rates), or the newcomer isn't counted (at once).

use std::sync::atomic::{AtomicU64, Ordering};

use super::Rate;

/// Places a key may have.
const WAYS: usize = 8;
/// Groups of places for rates: 64 Ki counters, half a MiB.
const RATE_GROUPS: usize = 8192;
/// Groups of places for requests at once: 32 Ki counters.
const IN_FLIGHT_GROUPS: usize = 4096;
/// A word that others keep changing is let be after so many tries: a request more is no harm.
const TRIES_MAX: usize = 16;

const DUE_BITS: u32 = 40;
const DUE_MASK: u64 = (1 << DUE_BITS) - 1;
const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

fn table(groups: usize) -> Box<[AtomicU64]> {
    (0..groups * WAYS).map(|_| AtomicU64::new(0)).collect()
}

/// The places of a hash, and the rest of it, never zero.
fn places(words: &[AtomicU64], hash: u64, tag_bits: u32) -> (usize, u64) {
    let groups = words.len() / WAYS;
    // The group by the low bits, the tag by the high ones.
    ((hash as usize % groups) * WAYS, (hash >> (64 - tag_bits)).max(1))
}

/// Rates of many clients. Keys are hashes of what is counted; they must be secret, or clients could choose whom to meet.
#[derive(Debug)]
pub struct ClientRates {
    /// Who (24 bits), and when the next request is due (40 bits of ticks, which wrap).
    words: Box<[AtomicU64]>,
}

impl Default for ClientRates {
    fn default() -> Self {
        Self { words: table(RATE_GROUPS) }
    }
}

impl ClientRates {
    /// Takes one request of a client at `now` (ticks), or tells how many ticks too early it comes.
    pub fn take(&self, hash: u64, rate: &Rate, now: u64) -> Result<(), u64> {
        let (first, tag) = places(&self.words, hash, 64 - DUE_BITS);
        let group = &self.words[first..first + WAYS];
        for _ in 0..TRIES_MAX {
            let (place, word) = find(group, tag, now);
            let due = if word >> DUE_BITS == tag { now + ahead(word, now, rate.ahead_max()) } else { now };
            let next = rate.take(due, now)?;
            let new = tag << DUE_BITS | next & DUE_MASK;
            if place.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The client's own place; else the one that is missed least, and what it holds.
fn find(group: &[AtomicU64], tag: u64, now: u64) -> (&AtomicU64, u64) {
    let mut best = (&group[0], 0, u64::MAX);
    for place in group {
        let word = place.load(Ordering::Relaxed);
        if word >> DUE_BITS == tag {
            return (place, word);
        }
        let missed = if word == 0 { 0 } else { ahead(word, now, DUE_MASK / 2) };
        if missed < best.2 {
            best = (place, word, missed);
        }
    }
    (best.0, best.1)
}

/// How far the moment in `word` lies ahead; zero when it is past, or further ahead than can be and so from before a wrap.
fn ahead(word: u64, now: u64, most: u64) -> u64 {
    let ahead = word.wrapping_sub(now) & DUE_MASK;
    if ahead > most { 0 } else { ahead }
}

/// Requests at once of many clients.
#[derive(Debug)]
pub struct ClientsInFlight {
    /// Who (40 bits), and how many (24 bits); zero when there are none.
    words: Box<[AtomicU64]>,
}

/// A counted place, to be given back with `leave`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupied {
    place: usize,
}

/// The client has as many requests under way as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl Default for ClientsInFlight {
    fn default() -> Self {
        Self { words: table(IN_FLIGHT_GROUPS) }
    }
}

impl ClientsInFlight {
    /// Counts one more request of a client. `Err` when it has `most` already; `Ok(None)` when there was no room to count it.
    pub fn enter(&self, hash: u64, most: u32) -> Result<Option<Occupied>, TooMany> {
        let (first, tag) = places(&self.words, hash, 64 - COUNT_BITS);
        let most = u64::from(most).min(COUNT_MASK - 1);
        for _ in 0..TRIES_MAX {
            let mut free = None;
            let mut own = None;
            for place in first..first + WAYS {
                let word = self.words[place].load(Ordering::Relaxed);
                if word == 0 {
                    free = free.or(Some((place, tag << COUNT_BITS)));
                } else if word >> COUNT_BITS == tag {
                    own = Some((place, word));
                    break;
                }
            }
            let Some((place, word)) = own.or(free) else { return Ok(None) };
            if word & COUNT_MASK >= most {
                return Err(TooMany);
            }
            let old = if own.is_some() { word } else { 0 };
            if self.words[place].compare_exchange(old, word + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return Ok(Some(Occupied { place }));
            }
        }
        Ok(None)
    }

    /// One request fewer.
    pub fn leave(&self, occupied: Occupied) {
        let place = &self.words[occupied.place];
        let mut word = place.load(Ordering::Relaxed);
        loop {
            let new = if word & COUNT_MASK <= 1 { 0 } else { word - 1 };
            match place.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
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

    use super::super::{TICKS_PER_SECOND, Window};
    use super::*;

    /// As a secret hash would spread them.
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
            let mut alone: HashMap<u64, Window> = HashMap::new();
            // Over the border where 40 bits wrap.
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
            let mut held: HashMap<u64, Vec<Occupied>> = HashMap::new();
            for (client, enter) in steps {
                let mine = held.entry(client).or_default();
                if enter {
                    let entered = table.enter(hash(client), most);
                    prop_assert_eq!(entered.is_ok(), mine.len() < most as usize);
                    mine.extend(entered.ok().flatten());
                } else if let Some(place) = mine.pop() {
                    table.leave(place);
                }
            }
            held.into_values().flatten().for_each(|place| table.leave(place));
            prop_assert!(table.words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn a_flood_of_clients_costs_no_memory_and_spares_those_in_debt() {
        let rates = ClientRates::default();
        let strict = Rate::new(1, 0, TICKS_PER_SECOND).unwrap();
        // In debt by as much as can be.
        let heavy = hash(1_000_000);
        let generous = Rate::new(1, 100, TICKS_PER_SECOND).unwrap();
        while rates.take(heavy, &generous, 1).is_ok() {}
        for client in 0..300_000 {
            assert!(rates.take(hash(client), &strict, 1).is_ok(), "a new client was refused");
        }
        assert!(rates.take(heavy, &generous, 1).is_err());
    }

    #[test]
    fn a_full_group_lets_newcomers_in_uncounted() {
        let table = ClientsInFlight::default();
        let same_group = |n: u64| n << 40;
        for n in 1..=WAYS as u64 {
            assert!(table.enter(same_group(n), 1).unwrap().is_some());
        }
        assert_eq!(table.enter(same_group(99), 1), Ok(None));
        assert_eq!(table.enter(same_group(1), 1), Err(TooMany));
    }

    #[test]
    fn cores_that_race_let_no_more_in_than_is_allowed() {
        let (rates, table, passed, inside) =
            (ClientRates::default(), ClientsInFlight::default(), AtomicU32::new(0), AtomicU32::new(0));
        let rate = Rate::new(100, 0, TICKS_PER_SECOND).unwrap();
        // Found, not made, by all: a client that is new to two cores at once may get a place twice.
        rates.take(hash(1), &rate, 1).unwrap();
        let kept = table.enter(hash(1), 4).unwrap().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        passed.fetch_add(u32::from(rates.take(hash(1), &rate, 1).is_ok()), Ordering::Relaxed);
                        if let Ok(Some(place)) = table.enter(hash(1), 4) {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            table.leave(place);
                        }
                    }
                });
            }
        });
        table.leave(kept);
        // Of a word that changes too often a request may slip through.
        let passed = passed.into_inner();
        assert!((99..=117).contains(&passed), "{passed}");
        assert!(rates.take(hash(1), &rate, 1 + TICKS_PER_SECOND).is_ok());
    }
}
