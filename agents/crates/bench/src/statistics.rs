//! Medians with bootstrap confidence intervals. Invariant: equal to packages/core/src/benchmark/statistics.ts, as the
//! contract's fixtures prove.

use serde::Serialize;

/// Fewest rounds with an interval.
const ROUNDS_MIN: usize = 3;
const RESAMPLES: usize = 2000;
/// Most values that all resamples pick together.
const PICKS_MAX: usize = 200_000;
/// Most values with an interval.
const VALUES_MAX: usize = 1000;
const TAIL: f64 = 0.025;

/// 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConfidenceInterval {
    pub low: f64,
    pub high: f64,
}

/// Returns `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let low = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    let high = sorted.get(sorted.len() / 2)?;
    Some((low + high) / 2.0)
}

/// Returns the interval of the median of one value for each round; `None` with fewer than three rounds.
pub(crate) fn median_interval(values: &[f64]) -> Option<ConfidenceInterval> {
    let count = values.len();
    if !(ROUNDS_MIN..=VALUES_MAX).contains(&count) {
        return None;
    }
    let mut random = Mulberry32(0x9e37_79b9);
    let resamples = RESAMPLES.min(PICKS_MAX / count);
    let mut medians: Vec<f64> = (0..resamples)
        .filter_map(|_| {
            let picked: Vec<f64> =
                (0..count).filter_map(|_| values.get((random.next() * count as f64) as usize).copied()).collect();
            median(&picked)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians.get(((share * medians.len() as f64) as usize).min(medians.len() - 1)).copied();
    Some(ConfidenceInterval { low: at(TAIL)?, high: at(1.0 - TAIL)? })
}

/// Uniform numbers from 0 to 1, always the same ones.
struct Mulberry32(u32);

impl Mulberry32 {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6d2b_79f5);
        let mut mixed = (self.0 ^ (self.0 >> 15)).wrapping_mul(1 | self.0);
        mixed = mixed.wrapping_add((mixed ^ (mixed >> 7)).wrapping_mul(61 | mixed)) ^ mixed;
        f64::from(mixed ^ (mixed >> 14)) / 4_294_967_296.0
    }
}
