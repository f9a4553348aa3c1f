//! Which of an app's instances takes a request.

/// The less loaded of two instances picked at random; `None` when there is none.
/// Two choices come close to the best of all without looking at all, and never herd onto one.
pub fn pick(count: usize, random: u64, in_flight: impl Fn(usize) -> u32) -> Option<usize> {
    match count {
        0 => None,
        1 => Some(0),
        _ => {
            let first = (random >> 32) as usize % count;
            // An offset of 1..count never lands on the first again.
            let second = (first + 1 + (random & 0xffff_ffff) as usize % (count - 1)) % count;
            Some(if in_flight(second) < in_flight(first) { second } else { first })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_pick_exists_and_is_never_the_strictly_busiest(loads in prop::collection::vec(0u32..100, 1..20), random: u64) {
            let picked = pick(loads.len(), random, |index| loads[index]).unwrap();
            let busier_or_equal = loads.iter().enumerate().any(|(index, load)| index != picked && *load >= loads[picked]);
            prop_assert!(loads.len() == 1 || busier_or_equal);
        }
    }

    #[test]
    fn no_instance_no_pick() {
        assert_eq!(pick(0, 7, |_| 0), None);
    }
}
