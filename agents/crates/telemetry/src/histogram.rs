//! Mergeable latency histograms: sparse log-linear buckets of microseconds, exact below 32 µs, within 1/32 above. Invariant:
//! buckets equal those of packages/contract/src/histogram.ts, as the contract's fixtures prove.

/// Maximum value in microseconds (19 h); larger ones are clamped to it.
pub const VALUE_MAX_US: u64 = (1 << 36) - 1;

pub const BUCKETS: usize = bucket_index(VALUE_MAX_US) as usize + 1;

/// Returns the bucket of a latency.
pub const fn bucket_index(us: u64) -> u32 {
    let value = if us > VALUE_MAX_US { VALUE_MAX_US } else { us };
    if value < 32 {
        return value as u32;
    }
    let e = 63 - value.leading_zeros();
    (e - 4) * 16 + (value >> (e - 4)) as u32
}

/// Returns the smallest latency in a bucket.
pub const fn bucket_lower_us(index: u32) -> u64 {
    if index < 32 {
        return index as u64;
    }
    let e = index / 16 + 3;
    ((index - (e - 4) * 16) as u64) << (e - 4)
}

/// Returns the smallest latency above a bucket.
pub const fn bucket_upper_us(index: u32) -> u64 {
    if index < 32 { index as u64 + 1 } else { bucket_lower_us(index) + (1 << (index / 16 - 1)) }
}

/// Error of a sparse form that is no histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("histogram bucket {index} is out of order or out of range")]
pub struct HistogramError {
    index: u32,
}

/// Counts by bucket. Grows to the largest bucket seen, so an idle app's histogram costs nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    sum_us: u64,
}

impl Histogram {
    /// Creates an empty histogram without allocating.
    pub const fn new() -> Self {
        Self { counts: Vec::new(), sum_us: 0 }
    }

    pub fn record(&mut self, us: u64) {
        let value = us.min(VALUE_MAX_US);
        self.add(bucket_index(value), 1);
        self.sum_us = self.sum_us.saturating_add(value);
    }

    /// Adds another histogram to this one; order doesn't matter.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the exact sum of all values in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// True if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Removes all values but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.sum_us = 0;
    }

    /// Returns the latency that a share `q` (0 to 1) of all values does not exceed, as the middle of its bucket; `None` when
    /// empty.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        self.sparse().find_map(|(index, count)| {
            seen += count;
            (seen >= rank).then(|| (bucket_lower_us(index) + bucket_upper_us(index) - 1) / 2)
        })
    }

    /// Returns the wire form: non-empty buckets as (index, count), in ascending order.
    pub fn sparse(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0u32..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// Parses the wire form.
    pub fn from_sparse(buckets: impl IntoIterator<Item = (u32, u64)>, sum_us: u64) -> Result<Self, HistogramError> {
        let mut histogram = Self { counts: Vec::new(), sum_us };
        let mut next = 0;
        for (index, count) in buckets {
            if index < next || index as usize >= BUCKETS {
                return Err(HistogramError { index });
            }
            next = index + 1;
            histogram.add(index, count);
        }
        Ok(histogram)
    }

    fn add(&mut self, index: u32, count: u64) {
        let slot = index as usize;
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] = self.counts[slot].saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_value_lies_between_the_bounds_of_its_bucket_and_buckets_leave_no_gap() {
        for index in 0..BUCKETS as u32 - 1 {
            assert_eq!(bucket_upper_us(index), bucket_lower_us(index + 1), "bucket {index}");
            assert_eq!(bucket_index(bucket_lower_us(index)), index);
            assert_eq!(bucket_index(bucket_upper_us(index) - 1), index);
        }
        assert_eq!(bucket_index(u64::MAX), BUCKETS as u32 - 1);
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::new().quantile_us(0.5), None);
    }

    #[test]
    fn buckets_out_of_order_or_range_are_refused() {
        assert!(Histogram::from_sparse([(3, 1), (3, 1)], 6).is_err());
        assert!(Histogram::from_sparse([(BUCKETS as u32, 1)], 6).is_err());
        assert!(Histogram::from_sparse([(0, 1), (BUCKETS as u32 - 1, 1)], 6).is_ok());
    }

    fn recorded(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    proptest! {
        #[test]
        fn merging_parts_equals_recording_the_whole(a in prop::collection::vec(0..VALUE_MAX_US, 0..60), b in prop::collection::vec(0..VALUE_MAX_US, 0..60)) {
            let mut merged = recorded(&a);
            merged.merge(&recorded(&b));
            let whole = recorded(&[a, b].concat());
            prop_assert_eq!(merged.sparse().collect::<Vec<_>>(), whole.sparse().collect::<Vec<_>>());
            prop_assert_eq!(merged.sum_us(), whole.sum_us());
        }

        #[test]
        fn a_quantile_is_within_a_thirty_second_of_the_sorted_values(mut values in prop::collection::vec(0u64..1 << 30, 1..200), q in 0.0f64..=1.0) {
            let found = recorded(&values).quantile_us(q).unwrap();
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            prop_assert!(found.abs_diff(exact) <= exact / 32 + 1, "found {found}, exact {exact}");
        }

        #[test]
        fn the_sparse_form_reads_back(values in prop::collection::vec(any::<u64>(), 0..60)) {
            let histogram = recorded(&values);
            let back = Histogram::from_sparse(histogram.sparse(), histogram.sum_us()).unwrap();
            prop_assert_eq!(back, histogram);
        }
    }
}
