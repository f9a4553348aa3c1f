//! Request rate limit as one number: the time at which the next request would be due if all came evenly. It is the
//! virtual scheduling form of the generic cell rate algorithm (ITU-T I.371, Annex A), equivalent to a token bucket.

use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks of client rates: 4 µs each, so that 40 bits reach over 50 days.
pub const TICKS_PER_SECOND: u64 = 250_000;

/// Request rate and burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Ticks between two requests that come evenly.
    interval: u64,
    /// Ticks by which a request may come before it is due.
    tolerance: u64,
}

impl Rate {
    /// Returns `None` for no limit: zero per second, or more than there are ticks. All times are in units of
    /// `ticks_per_second`.
    ///
    /// A whole second's requests may come at once, and `burst` more: a client that sends at most `per_second` in each
    /// second is never refused. Intervals are rounded down to a tick.
    pub fn new(per_second: u32, burst: u32, ticks_per_second: u64) -> Option<Self> {
        let interval = ticks_per_second.checked_div(per_second.into())?;
        let at_once = u64::from(per_second) + u64::from(burst);
        (interval > 0).then(|| Self { interval, tolerance: (at_once - 1) * interval })
    }

    /// Takes one request at `now` if the next is due at `due` (zero for an unused rate). Returns the time at which the
    /// following one is due, or how many ticks too early it comes.
    pub fn take(&self, due: u64, now: u64) -> Result<u64, u64> {
        let from = due.max(now);
        match (from - now).checked_sub(self.tolerance) {
            None | Some(0) => Ok(from + self.interval),
            Some(early) => Err(early),
        }
    }

    /// Returns the greatest time that `due` can lie ahead.
    pub(super) fn ahead_max(&self) -> u64 {
        self.tolerance + self.interval
    }
}

/// Rate of all requests together.
#[derive(Debug, Default)]
pub struct SharedRate(AtomicU64);

impl SharedRate {
    /// Takes one request, or returns how many ticks too early it comes. `now` is in ticks of one clock for all callers.
    pub fn take(&self, rate: &Rate, now: u64) -> Result<(), u64> {
        let mut due = self.0.load(Ordering::Relaxed);
        loop {
            // A limit that was lowered must not refuse all requests for long.
            let next = rate.take(due.min(now + rate.ahead_max()), now)?;
            match self.0.compare_exchange_weak(due, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => due = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Simple token bucket: tokens as a fraction with `interval` as the denominator, refilled by elapsed time.
    struct Bucket {
        tokens: u64,
        full: u64,
        interval: u64,
        at: u64,
    }

    impl Bucket {
        fn take(&mut self, now: u64) -> bool {
            self.tokens = (self.tokens + (now - self.at)).min(self.full);
            self.at = now;
            let taken = self.tokens >= self.interval;
            if taken {
                self.tokens -= self.interval;
            }
            taken
        }
    }

    proptest! {
        #[test]
        fn it_lets_through_what_the_obvious_bucket_does(
            per_second in 1u32..2000, burst in 0u32..50, pauses in prop::collection::vec(0u64..40_000, 1..200)
        ) {
            let rate = Rate::new(per_second, burst, TICKS_PER_SECOND).unwrap();
            let full = rate.tolerance + rate.interval;
            let mut now = 1;
            let mut bucket = Bucket { tokens: full, full, interval: rate.interval, at: now };
            let window = SharedRate::default();
            for pause in pauses {
                now += pause;
                prop_assert_eq!(window.take(&rate, now).is_ok(), bucket.take(now));
            }
        }

        #[test]
        fn who_keeps_to_the_rate_is_never_refused(
            per_second in 1u32..300, seconds in prop::collection::vec(prop::collection::vec(0u64..TICKS_PER_SECOND, 0..300), 1..5)
        ) {
            let rate = Rate::new(per_second, 0, TICKS_PER_SECOND).unwrap();
            let window = SharedRate::default();
            for (second, mut moments) in (1u64..).zip(seconds) {
                moments.truncate(per_second as usize / 2);
                moments.sort_unstable();
                for moment in moments {
                    prop_assert!(window.take(&rate, second * TICKS_PER_SECOND + moment).is_ok());
                }
            }
        }
    }

    #[test]
    fn what_is_too_early_is_told_how_much() {
        let rate = Rate::new(2, 1, TICKS_PER_SECOND).unwrap();
        let window = SharedRate::default();
        for _ in 0..3 {
            assert_eq!(window.take(&rate, 10), Ok(()));
        }
        assert_eq!(window.take(&rate, 10), Err(TICKS_PER_SECOND / 2));
        assert_eq!(window.take(&rate, 10 + TICKS_PER_SECOND / 2), Ok(()));
        assert_eq!(Rate::new(0, 5, TICKS_PER_SECOND), None);
        assert_eq!(Rate::new(1_000_000, 0, TICKS_PER_SECOND), None);
        let slower = Rate::new(1, 0, TICKS_PER_SECOND).unwrap();
        assert!(window.take(&slower, 10 + 4 * TICKS_PER_SECOND).is_ok());
    }

    #[test]
    fn a_lowered_limit_does_not_apply_the_old_one() {
        let window = SharedRate::default();
        let generous = Rate::new(1, 100_000, TICKS_PER_SECOND).unwrap();
        for _ in 0..100_000 {
            assert!(window.take(&generous, 1).is_ok());
        }
        let strict = Rate::new(1, 0, TICKS_PER_SECOND).unwrap();
        assert!(window.take(&strict, 1).unwrap_err() <= TICKS_PER_SECOND);
    }
}
