//! Order in which a measurement sends its requests. Invariant: it is the same in each measurement, and a whole sequence has
//! each request as often as its weight. Pure.

use std::cell::Cell;

/// Repeated sequence of requests, by their position in the plan.
#[derive(Debug)]
pub(crate) struct RequestOrder {
    sequence: Vec<usize>,
    next: Cell<u64>,
}

impl RequestOrder {
    /// Spreads the requests evenly by smooth weighted round robin. Without weights there is one request.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
        let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight / divisor)).collect();
        let total: i64 = weights.iter().sum();
        let mut credits = vec![0; weights.len()];
        let sequence = (0..total).filter_map(|_| {
            for (credit, weight) in credits.iter_mut().zip(&weights) {
                *credit += weight;
            }
            // Chooses the first of equal credits.
            let (chosen, _) = credits.iter().enumerate().rev().max_by_key(|(_, credit)| **credit)?;
            credits[chosen] -= total;
            Some(chosen)
        });
        let sequence: Vec<usize> = sequence.collect();
        Self { sequence: if sequence.is_empty() { vec![0] } else { sequence }, next: Cell::new(0) }
    }

    /// Returns the request at a place of an endless sequence, from 0.
    pub(crate) fn at(&self, place: u64) -> usize {
        self.sequence[(place % self.sequence.len() as u64) as usize]
    }

    /// Returns the next request of a closed loop.
    pub(crate) fn take(&self) -> usize {
        let place = self.next.get();
        self.next.set(place + 1);
        self.at(place)
    }
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_has_every_request_as_often_as_its_weight() {
        for weights in [vec![1], vec![5, 1, 1], vec![300, 200, 100], vec![7; 50], vec![1000, 1, 999]] {
            let order = RequestOrder::new(&weights);
            let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            let taken: Vec<usize> = (0..total).map(|_| order.take()).collect();
            for (number, weight) in weights.iter().enumerate() {
                assert_eq!(taken.iter().filter(|each| **each == number).count(), *weight as usize, "{weights:?}");
            }
        }
    }

    #[test]
    fn frequent_requests_are_spread_and_the_order_repeats() {
        let order = RequestOrder::new(&[2, 1]);
        assert_eq!((0..6).map(|place| order.at(place)).collect::<Vec<_>>(), [0, 1, 0, 0, 1, 0]);
        assert_eq!(RequestOrder::new(&[]).at(9), 0);
    }
}
