//! Load shedding at an app's wait queue: low priority first, high last, for as long as a standing queue adds delay.

use fairlead_model::Priority;

/// Fractions of the queue timeout at which priorities are shed.
const LOW_AT: u64 = 20;
const NORMAL_AT: u64 = 4;
/// Bounds of the measurement interval.
const INTERVAL_MS: (u64, u64) = (100, 500);

/// Load shedding state of an app's queue.
///
/// Invariant: it measures queueing, never the app's latency, because the latency of an app's endpoints differs a
/// thousandfold. After CoDel (Nichols and Jacobson, RFC 8289), a short burst is harmless. A queue has a standing delay
/// if its *shortest* wait over a whole interval stays long. CoDel drops packets of all kinds; this sheds the lowest
/// priorities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Admission {
    level: AdmissionLevel,
    since_ms: u64,
    shortest_ms: Option<u64>,
    emptied: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum AdmissionLevel {
    #[default]
    All,
    NotLow,
    OnlyHigh,
}

impl Admission {
    /// Records how long a request waited for an instance.
    pub fn waited(&mut self, ms: u64) {
        self.shortest_ms = Some(self.shortest_ms.map_or(ms, |shortest| shortest.min(ms)));
    }

    /// Records that the queue became empty: its requests were a burst.
    pub fn record_empty(&mut self) {
        self.emptied = true;
    }

    /// Evaluates the interval if it is over. `oldest_ms` is the wait of the first request in the queue; `None` for an
    /// empty queue.
    pub fn step(&mut self, now_ms: u64, oldest_ms: Option<u64>, queue_timeout_ms: u32) {
        let timeout = u64::from(queue_timeout_ms);
        let interval = (timeout / LOW_AT).clamp(INTERVAL_MS.0, INTERVAL_MS.1);
        if now_ms < self.since_ms.saturating_add(interval) {
            return;
        }
        let standing = match oldest_ms {
            Some(oldest) if !self.emptied => self.shortest_ms.map_or(oldest, |shortest| shortest.min(oldest)),
            _ => 0,
        };
        // Uses half of the threshold to leave a level, or a level would switch with each interval.
        let reaches = |level: AdmissionLevel, threshold: u64| {
            standing >= if self.level >= level { threshold / 2 } else { threshold }
        };
        self.level = if reaches(AdmissionLevel::OnlyHigh, (timeout / NORMAL_AT).max(1)) {
            AdmissionLevel::OnlyHigh
        } else if reaches(AdmissionLevel::NotLow, (timeout / LOW_AT).max(1)) {
            AdmissionLevel::NotLow
        } else {
            AdmissionLevel::All
        };
        (self.since_ms, self.shortest_ms, self.emptied) = (now_ms, None, false);
    }

    /// True if no priority is shed. With an empty queue there is then nothing to evaluate.
    pub fn is_open(&self) -> bool {
        self.level == AdmissionLevel::All
    }

    /// True if a request that would have to wait is shed.
    pub fn sheds(&self, priority: Priority) -> bool {
        match priority {
            Priority::Low => self.level >= AdmissionLevel::NotLow,
            Priority::Normal => self.level >= AdmissionLevel::OnlyHigh,
            Priority::High => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT_MS: u32 = 10_000;

    fn shed(admission: &Admission) -> Vec<Priority> {
        let all = [Priority::Low, Priority::Normal, Priority::High];
        all.into_iter().filter(|priority| admission.sheds(*priority)).collect()
    }

    #[test]
    fn a_queue_that_empties_now_and_then_sheds_nothing() {
        let mut admission = Admission::default();
        for interval in 1..20 {
            admission.waited(9_000);
            admission.record_empty();
            admission.step(interval * 500, Some(9_000), TIMEOUT_MS);
            assert!(shed(&admission).is_empty());
        }
    }

    #[test]
    fn one_short_wait_in_an_interval_shows_a_burst() {
        let mut admission = Admission::default();
        [4_000, 20, 6_000].into_iter().for_each(|ms| admission.waited(ms));
        admission.step(500, Some(5_000), TIMEOUT_MS);
        assert!(shed(&admission).is_empty());
    }

    #[test]
    fn a_standing_line_sheds_low_then_normal_never_high_and_lets_in_again_when_it_shrinks() {
        let mut admission = Admission::default();
        let steps: [(u64, &[Priority]); 7] = [
            (400, &[]),
            (600, &[Priority::Low]),
            (2_600, &[Priority::Low, Priority::Normal]),
            (1_300, &[Priority::Low, Priority::Normal]),
            (1_000, &[Priority::Low]),
            (300, &[Priority::Low]),
            (200, &[]),
        ];
        for (interval, (wait, expected)) in (1..).zip(steps) {
            admission.waited(wait);
            admission.step(interval * 500, Some(wait + 50), TIMEOUT_MS);
            assert_eq!(shed(&admission), expected, "at a wait of {wait} ms");
        }
    }

    #[test]
    fn a_stalled_app_is_evaluated_by_its_oldest_queued_request() {
        let mut admission = Admission::default();
        admission.step(500, Some(3_000), TIMEOUT_MS);
        assert_eq!(shed(&admission), [Priority::Low, Priority::Normal]);
        // No evaluation before the interval is over.
        admission.step(600, None, TIMEOUT_MS);
        assert_eq!(shed(&admission), [Priority::Low, Priority::Normal]);
        admission.step(1_000, None, TIMEOUT_MS);
        assert!(shed(&admission).is_empty());
    }
}
