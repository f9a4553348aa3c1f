//! The rate of requests as one number: when the next would be due if all came evenly (the virtual scheduling form of the
//! generic cell rate algorithm, ITU-T I.371, Annex A; the same as a token bucket).

use std::sync::atomic::{AtomicU64, Ordering};

/// The unit of the rates of clients: 4 µs, so that 40 bits reach over 50 days.
pub const TICKS_PER_SECOND: u64 = 250_000;

/// So many a second, and so many beyond that at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Ticks between two requests that come evenly.
    interval: u64,
    /// Ticks that a request may come before it is due.
    tolerance: u64,
}

impl Rate {
    /// `None` for no bound: zero a second, or more than there are ticks. `ticks_per_second` is the unit of all moments it is
    /// asked about.
    ///
    /// A whole second's requests may come at once, and `burst` more: who sends no more than `per_second` in each second is never
    /// refused. Intervals are rounded down to a tick.
    pub fn new(per_second: u32, burst: u32, ticks_per_second: u64) -> Option<Self> {
        let interval = ticks_per_second.checked_div(per_second.into())?;
        let at_once = u64::from(per_second) + u64::from(burst);
        (interval > 0).then(|| Self { interval, tolerance: (at_once - 1) * interval })
    }

    /// Takes one request at `now` when the next is due at `due` (zero for a rate that was never used): tells when the next
    /// after it is due, or how many ticks too early it comes.
    pub fn take(&self, due: u64, now: u64) -> Result<u64, u64> {
        let from = due.max(now);
        match (from - now).checked_sub(self.tolerance) {
            None | Some(0) => Ok(from + self.interval),
            Some(early) => Err(early),
        }
    }

    /// The furthest that `due` can lie ahead.
    pub(super) fn ahead_max(&self) -> u64 {
        self.tolerance + self.interval
    }
}

/// The rate of all requests together.
#[derive(Debug, Default)]
pub struct Window(AtomicU64);

impl Window {
    /// Takes one request, or tells how many ticks too early it comes. `now` in ticks of one clock for all callers.
    pub fn take(&self, rate: &Rate, now: u64) -> Result<(), u64> {
        let mut due = self.0.load(Ordering::Relaxed);
        loop {
            // A bound that has been lowered since must not shut everyone out for long.
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

    /// The obvious bucket: tokens as a fraction with `interval` as denominator, refilled by the time that passed.
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
            let window = Window::default();
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
            let window = Window::default();
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
        let window = Window::default();
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
    fn a_bound_that_was_lowered_holds_nobody_to_the_old_one() {
        let window = Window::default();
        let generous = Rate::new(1, 100_000, TICKS_PER_SECOND).unwrap();
        for _ in 0..100_000 {
            assert!(window.take(&generous, 1).is_ok());
        }
        let strict = Rate::new(1, 0, TICKS_PER_SECOND).unwrap();
        assert!(window.take(&strict, 1).unwrap_err() <= TICKS_PER_SECOND);
    }
}
