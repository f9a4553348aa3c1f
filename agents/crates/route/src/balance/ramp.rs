//! Slow start: a new instance's share of requests grows to its full weight while its caches and compilers warm up.

/// Factor of a full weight: weights during slow start are in hundredths.
pub const RAMP_FULL: u32 = 100;
/// Initial factor: enough requests to warm up.
const RAMP_LEAST: u32 = 10;

/// Returns the weight of an instance after `age_ms`, times `RAMP_FULL` at its end. `None` is not new; zero stays zero.
/// Weights are relative: if all instances of an app start together, each keeps its share.
pub fn ramp_weight(weight: u32, age_ms: Option<u64>, slow_start_ms: u32) -> u32 {
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
        let at = |age| ramp_weight(2, age, 10_000);
        assert_eq!([at(Some(0)), at(Some(5_000)), at(Some(10_000)), at(None)], [20, 100, 200, 200]);
        assert_eq!((ramp_weight(2, Some(0), 0), ramp_weight(0, Some(5), 10)), (200, 0));
    }
}
