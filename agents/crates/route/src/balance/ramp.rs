//! Slow start: a new instance's share grows to its full weight, so that cold caches and compilers don't meet a full load.

/// What a full weight is multiplied by: a ramp goes in hundredths.
pub const RAMP_FULL: u32 = 100;
/// Where a ramp begins: enough to warm up by.
const RAMP_LEAST: u32 = 10;

/// The weight of an instance that has taken part for `age_ms`, times `RAMP_FULL` at its end. `None` is not new; zero stays zero.
/// Weights are relative: when all of an app's instances grow together, nobody gets less than before.
pub fn ramped(weight: u32, age_ms: Option<u64>, slow_start_ms: u32) -> u32 {
    let part = match age_ms {
        Some(age) if age < u64::from(slow_start_ms) => {
            let part = age * u64::from(RAMP_FULL) / u64::from(slow_start_ms);
            u32::try_from(part).unwrap_or(RAMP_FULL).max(RAMP_LEAST)
        }
        _ => RAMP_FULL,
    };
    weight.saturating_mul(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_grows_from_a_tenth_to_the_full_weight() {
        let at = |age| ramped(2, age, 10_000);
        assert_eq!([at(Some(0)), at(Some(5_000)), at(Some(10_000)), at(None)], [20, 100, 200, 200]);
        assert_eq!((ramped(2, Some(0), 0), ramped(0, Some(5), 10)), (200, 0));
    }
}
