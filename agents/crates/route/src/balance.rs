//! Which of an app's instances takes a request: choices over weights and loads, nothing else.
//! Never asks whether an instance is well: who may not serve has weight zero, or no room.
//!
//! Weights are shares of requests. Least in flight draws two by weight and takes the second only when it is clearly less busy
//! for its weight, so that a canary of 5 % keeps its 5 % whether the app idles or is busy.

mod ramp;
mod rendezvous;

use fairlead_model::Balance;

pub use ramp::{RAMP_FULL, ramped};
pub use rendezvous::{instance_key, rendezvous};

/// The instances of an app that take something new, by their position among all of them.
#[derive(Debug, Default)]
pub struct Balancer {
    kind: Balance,
    entries: Vec<Entry>,
    total: u64,
    /// All weigh the same, as is usual: a draw needs no walk.
    equal: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    index: usize,
    weight: u32,
    /// Of smooth weighted round robin: how much it is owed.
    owed: i64,
}

impl Balancer {
    /// Takes new weights, one for each instance; zero is left out. Round robin goes on where it was if the same take part.
    pub fn set(&mut self, kind: Balance, weights: impl IntoIterator<Item = u32>) {
        let taking = weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0);
        let entries: Vec<Entry> = taking.map(|(index, weight)| Entry { index, weight, owed: 0 }).collect();
        let same = entries.len() == self.entries.len()
            && entries.iter().zip(&self.entries).all(|(new, old)| new.index == old.index);
        if same {
            self.entries.iter_mut().zip(&entries).for_each(|(old, new)| old.weight = new.weight);
        } else {
            self.entries = entries;
        }
        self.kind = kind;
        self.total = self.entries.iter().map(|entry| u64::from(entry.weight)).sum();
        self.equal = self.entries.windows(2).all(|pair| pair[0].weight == pair[1].weight);
    }

    /// Nobody takes anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Those that take part: position and weight.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.entries.iter().map(|entry| (entry.index, entry.weight))
    }

    /// Whether the instance at this position takes part.
    pub fn contains(&self, index: usize) -> bool {
        self.entries.iter().any(|entry| entry.index == index)
    }

    /// An instance for one request: `load` tells the requests in flight at one, or `None` when it has no room.
    /// `None` when nobody has. `random` is used up: another pick wants another.
    pub fn pick(&mut self, random: u64, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        if let [only] = self.entries[..] {
            return load(only.index).map(|_| only.index);
        }
        match self.kind {
            Balance::LeastInFlight => self.pick_least(random, load),
            Balance::RoundRobin => self.pick_next(load),
        }
    }

    fn pick_least(&self, random: u64, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let first = self.draw((random >> 32) as u32, None);
        let second = self.draw(random as u32, Some(first));
        let (first, second) = (self.entries[first], self.entries[second]);
        match (load(first.index), load(second.index)) {
            (Some(one), Some(other)) => {
                Some(if is_lighter(other, second.weight, one, first.weight) { second.index } else { first.index })
            }
            (Some(_), None) => Some(first.index),
            (None, Some(_)) => Some(second.index),
            // Nearly everything is full: look at all.
            (None, None) => self.least_of_all(load),
        }
    }

    fn least_of_all(&self, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let with_room = self.entries.iter().filter_map(|entry| load(entry.index).map(|load| (entry, load)));
        // a/v < b/w, without division.
        let by_share = |(a, load_a): &(&Entry, u32), (b, load_b): &(&Entry, u32)| {
            let (left, right) = (u64::from(*load_a) * u64::from(b.weight), u64::from(*load_b) * u64::from(a.weight));
            left.cmp(&right)
        };
        with_room.min_by(by_share).map(|(entry, _)| entry.index)
    }

    /// A position in `entries` by weight; never `without`.
    fn draw(&self, random: u32, without: Option<usize>) -> usize {
        let without_weight = without.map_or(0, |at| u64::from(self.entries[at].weight));
        if self.equal {
            let count = self.entries.len() - usize::from(without.is_some());
            let drawn = scale(random, count as u64) as usize;
            return drawn + usize::from(without.is_some_and(|at| drawn >= at));
        }
        let mut rest = scale(random, self.total - without_weight);
        for (at, entry) in self.entries.iter().enumerate() {
            if Some(at) == without {
                continue;
            }
            match rest.checked_sub(u64::from(entry.weight)) {
                Some(less) => rest = less,
                None => return at,
            }
        }
        0
    }

    /// Smooth weighted round robin: each turn everybody is owed its weight, the one owed most serves and pays for all.
    fn pick_next(&mut self, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let mut turn = 0;
        let mut picked: Option<usize> = None;
        for at in 0..self.entries.len() {
            // One without room is owed nothing for the time: it would serve all at once later.
            if load(self.entries[at].index).is_none() {
                continue;
            }
            let weight = i64::from(self.entries[at].weight);
            self.entries[at].owed += weight;
            turn += weight;
            if picked.is_none_or(|best| self.entries[at].owed > self.entries[best].owed) {
                picked = Some(at);
            }
        }
        let entry = &mut self.entries[picked?];
        entry.owed -= turn;
        Some(entry.index)
    }
}

/// Whether a request is better off with the other. Among equals: it has less in flight. Else the difference must be worth two
/// requests of the lighter weight: one is within what drawing by weight leaves to chance, and evening it out bends the shares.
fn is_lighter(other: u32, other_weight: u32, one: u32, one_weight: u32) -> bool {
    if other_weight == one_weight {
        return other < one;
    }
    let left = u128::from(one) * u128::from(other_weight);
    let right = u128::from(other) * u128::from(one_weight) + 2 * u128::from(one_weight.max(other_weight));
    left >= right
}

/// 0..below, evenly.
fn scale(random: u32, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 32) as u64
}

#[cfg(test)]
mod tests;
