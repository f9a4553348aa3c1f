//! Exponential back-off: bounded pauses with jitter, so that agents do not retry in step. Never sleeps itself.

use std::time::Duration;

use crate::random;

/// Back-off from `first` to `most`; `reset` restarts it after success.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    attempt: u32,
}

impl Backoff {
    /// Creates a back-off with pauses of at most `first`, then twice that, up to `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, attempt: 0 }
    }

    /// Returns the next pause: between half and the whole of the current bound.
    pub fn pause(&mut self) -> Duration {
        self.pause_with(random::fraction())
    }

    /// Returns the next pause for a given random fraction (`0.0..1.0`).
    pub fn pause_with(&mut self, fraction: f64) -> Duration {
        let bound = self.first.saturating_mul(1u32 << self.attempt.min(20)).min(self.most);
        self.attempt = self.attempt.saturating_add(1);
        bound.mul_f64(0.5 + fraction / 2.0)
    }

    /// Restarts from the shortest pause.
    pub fn reset(&mut self) {
        self.attempt = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_bound_and_start_over_after_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let pauses: Vec<u128> = (0..6).map(|_| backoff.pause_with(1.0).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
        backoff.reset();
        assert_eq!(backoff.pause_with(0.0).as_millis(), 50);
    }
}
