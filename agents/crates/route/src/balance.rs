//! Weighted load balancer over an app's instances: least in flight (power of two choices) or smooth round robin. It
//! knows no health: an instance that must not serve has weight zero or no room.

mod ramp;
mod rendezvous;

use fairlead_model::LoadBalancing;

pub use ramp::{RAMP_FULL, ramp_weight};
pub use rendezvous::{instance_key, rendezvous};

/// Instances that take new requests, by their position among all instances of the app.
///
/// Weights are shares of requests. Least in flight draws two instances by weight. It takes the second only if that is
/// clearly less loaded for its weight, so a canary of 5 % gets 5 % at any load.
#[derive(Debug, Default)]
pub struct Balancer {
    kind: LoadBalancing,
    entries: Vec<WeightedChoice>,
    total: u64,
    /// True if all weights are equal, which is usual: drawing then needs no loop.
    equal: bool,
}

#[derive(Debug, Clone, Copy)]
struct WeightedChoice {
    index: usize,
    weight: u32,
    /// Current weight of smooth weighted round robin.
    owed: i64,
}

impl Balancer {
    /// Sets new weights, one per instance; zero excludes it. Round robin continues at the same point if the same
    /// instances take part.
    pub fn set(&mut self, kind: LoadBalancing, weights: impl IntoIterator<Item = u32>) {
        let taking = weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0);
        let entries: Vec<WeightedChoice> =
            taking.map(|(index, weight)| WeightedChoice { index, weight, owed: 0 }).collect();
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

    /// True if no instance takes requests.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns position and weight of each instance that takes requests.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.entries.iter().map(|entry| (entry.index, entry.weight))
    }

    /// True if the instance at this position takes requests.
    pub fn contains(&self, index: usize) -> bool {
        self.entries.iter().any(|entry| entry.index == index)
    }

    /// Picks an instance for one request; `None` if none has room. `load` returns an instance's in-flight requests, or
    /// `None` if it has no room. Each pick needs a new `random`.
    pub fn pick(&mut self, random: u64, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        if let [only] = self.entries[..] {
            return load(only.index).map(|_| only.index);
        }
        match self.kind {
            LoadBalancing::LeastLoaded => self.pick_least(random, load),
            LoadBalancing::RoundRobin => self.pick_next(load),
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
            // Nearly all instances are full: look at each.
            (None, None) => self.least_of_all(load),
        }
    }

    fn least_of_all(&self, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let with_room = self.entries.iter().filter_map(|entry| load(entry.index).map(|load| (entry, load)));
        // Compares a/v with b/w without division.
        let by_share = |(a, load_a): &(&WeightedChoice, u32), (b, load_b): &(&WeightedChoice, u32)| {
            let (left, right) = (u64::from(*load_a) * u64::from(b.weight), u64::from(*load_b) * u64::from(a.weight));
            left.cmp(&right)
        };
        with_room.min_by(by_share).map(|(entry, _)| entry.index)
    }

    /// Draws a position in `entries` by weight; never `without`.
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

    /// Smooth weighted round robin: each turn adds to each instance its weight, then the greatest one serves and pays
    /// the total.
    fn pick_next(&mut self, load: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let mut turn = 0;
        let mut picked: Option<usize> = None;
        for at in 0..self.entries.len() {
            // An instance without room earns nothing, or it would get a burst later.
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

/// True if the other instance is the better choice. With equal weights, it has fewer requests in flight. Otherwise the
/// difference must be worth two requests of the lighter weight. A difference of one is chance, and correcting it would
/// distort the shares.
fn is_lighter(other: u32, other_weight: u32, one: u32, one_weight: u32) -> bool {
    if other_weight == one_weight {
        return other < one;
    }
    let left = u128::from(one) * u128::from(other_weight);
    let right = u128::from(other) * u128::from(one_weight) + 2 * u128::from(one_weight.max(other_weight));
    left >= right
}

/// Scales evenly to 0..below.
fn scale(random: u32, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 32) as u64
}

#[cfg(test)]
mod tests;
