//! Circuit breaker (outlier ejection) of one instance on one core: closed (gets requests), open (ejected for a period)
//! or half open (gets one trial request). The caller provides the clock and the share of instances that may be ejected.

use fairlead_model::OutlierEjection;

/// Maximum length of a period, in first periods.
const PERIODS_MAX: u64 = 10;

/// State of one instance's circuit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circuit {
    state: CircuitState,
    /// Failures in a row.
    failures: u32,
    /// Consecutive ejections with little time in between.
    ejections: u32,
    closed_at_ms: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CircuitState {
    #[default]
    Closed,
    Open {
        until_ms: u64,
    },
    HalfOpen {
        trying: bool,
    },
}

impl Circuit {
    /// True if the instance takes a new request.
    pub fn takes(&self) -> bool {
        matches!(self.state, CircuitState::Closed | CircuitState::HalfOpen { trying: false })
    }

    /// True if the instance counts as ejected.
    pub fn is_out(&self) -> bool {
        self.state != CircuitState::Closed
    }

    /// Half-opens the circuit once its period is over. Returns true if the instance takes requests again.
    pub fn step(&mut self, now_ms: u64) -> bool {
        let CircuitState::Open { until_ms } = self.state else { return false };
        let over = now_ms >= until_ms;
        if over {
            self.state = CircuitState::HalfOpen { trying: false };
        }
        over
    }

    /// Starts a request. Returns true if it is a trial, which must end with `succeeded`, `failed` or `abandoned`. If
    /// all instances are ejected, a request to one of them is also a trial: it may show that the instance has
    /// recovered.
    pub fn begin(&mut self) -> bool {
        if self.state == (CircuitState::HalfOpen { trying: false }) {
            self.state = CircuitState::HalfOpen { trying: true };
        }
        self.is_out()
    }

    /// Records a success. A request from before the ejection says nothing about the instance now. Returns true if the
    /// circuit closes.
    pub fn succeeded(&mut self, trial: bool, now_ms: u64) -> bool {
        if self.state == CircuitState::Closed {
            self.failures = 0;
            return false;
        }
        if trial {
            (self.state, self.failures, self.closed_at_ms) = (CircuitState::Closed, 0, now_ms);
        }
        trial
    }

    /// Records a failure. Returns true if it ejects the instance; `may_eject` is called only in that case.
    pub fn failed(
        &mut self,
        trial: bool,
        now_ms: u64,
        rule: &OutlierEjection,
        may_eject: impl FnOnce() -> bool,
    ) -> bool {
        if rule.consecutive_failures == 0 {
            // Ejection was turned off during an ejection, which then ends with the next success.
            self.abandoned(trial);
            return false;
        }
        match self.state {
            CircuitState::Closed => {
                self.failures = self.failures.saturating_add(1);
                if self.failures < rule.consecutive_failures || !may_eject() {
                    return false;
                }
                let quiet_ms = PERIODS_MAX * u64::from(rule.ejection_time_ms);
                if now_ms >= self.closed_at_ms.saturating_add(quiet_ms) {
                    self.ejections = 0;
                }
            }
            CircuitState::HalfOpen { .. } if trial => {}
            CircuitState::HalfOpen { .. } | CircuitState::Open { .. } => return false,
        }
        let periods = (1u64 << self.ejections.min(16)).min(PERIODS_MAX);
        self.state = CircuitState::Open { until_ms: now_ms.saturating_add(periods * u64::from(rule.ejection_time_ms)) };
        self.ejections = self.ejections.saturating_add(1);
        true
    }

    /// Records a request without a result because its client left. Returns true if another trial may start now.
    pub fn abandoned(&mut self, trial: bool) -> bool {
        let tried = trial && self.state == CircuitState::HalfOpen { trying: true };
        if tried {
            self.state = CircuitState::HalfOpen { trying: false };
        }
        tried
    }
}

/// True if one more of `instances` may be ejected besides the `out` ejected ones.
pub fn may_eject(instances: usize, out: usize, rule: &OutlierEjection) -> bool {
    (out + 1) * 100 <= instances * rule.ejected_percent_max as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: OutlierEjection =
        OutlierEjection { consecutive_failures: 3, ejection_time_ms: 1_000, ejected_percent_max: 50 };

    fn fail(circuit: &mut Circuit, now_ms: u64) -> bool {
        let trial = circuit.begin();
        circuit.failed(trial, now_ms, &RULE, || true)
    }

    fn fail_often(circuit: &mut Circuit, now_ms: u64) {
        assert_eq!([(); 3].map(|()| fail(circuit, now_ms)), [false, false, true]);
    }

    #[test]
    fn failures_in_a_row_eject_and_one_success_begins_anew() {
        let mut circuit = Circuit::default();
        for _ in 0..5 {
            assert!(!fail(&mut circuit, 0) && !fail(&mut circuit, 0));
            assert!(!circuit.succeeded(false, 0) && circuit.takes());
        }
        assert!(!fail(&mut circuit, 0) && !fail(&mut circuit, 0) && fail(&mut circuit, 0));
        assert!(!circuit.takes() && circuit.is_out());
    }

    #[test]
    fn each_failed_trial_doubles_the_period_up_to_ten_and_a_good_one_ends_it() {
        let mut circuit = Circuit::default();
        fail_often(&mut circuit, 0);
        let mut now = 0;
        for periods in [1, 2, 4, 8, 10, 10] {
            assert!(!circuit.step(now + periods * 1_000 - 1) && !circuit.takes());
            now += periods * 1_000;
            assert!(circuit.step(now) && circuit.takes());
            let trial = circuit.begin();
            assert!(trial && !circuit.takes(), "one trial at a time");
            assert!(circuit.failed(trial, now, &RULE, || false), "a trial ejects whoever else is out");
        }
        circuit.step(now + 10_000);
        let trial = circuit.begin();
        assert!(circuit.succeeded(trial, now + 10_000) && circuit.takes() && !circuit.is_out());
        // A failure soon after continues with the grown period; after a quiet time it starts with one period.
        fail_often(&mut circuit, now + 10_001);
        assert!(!circuit.step(now + 20_000));
    }

    #[test]
    fn a_trial_that_tells_nothing_leaves_room_for_another_and_old_answers_don_t_count() {
        let mut circuit = Circuit::default();
        let before = circuit.begin();
        fail_often(&mut circuit, 0);
        assert!(!circuit.succeeded(before, 1) && circuit.is_out());
        circuit.step(1_000);
        let trial = circuit.begin();
        assert!(!circuit.failed(before, 1_000, &RULE, || true) && !circuit.takes());
        assert!(circuit.abandoned(trial) && circuit.takes());
    }

    #[test]
    fn no_instance_is_ejected_if_ejection_is_off_or_too_many_are_ejected() {
        let mut circuit = Circuit::default();
        let off = OutlierEjection { consecutive_failures: 0, ..RULE };
        assert!((0..100).all(|_| !circuit.failed(false, 0, &off, || true)));
        assert!((0..100).all(|_| !circuit.failed(false, 0, &RULE, || false)) && circuit.takes());
        assert!(fail(&mut circuit, 0));
    }

    proptest! {
        #[test]
        fn never_more_are_out_than_allowed(instances in 0usize..20, percent in 0u32..=100) {
            let rule = OutlierEjection { ejected_percent_max: percent, ..RULE };
            let out = (0..=instances).find(|out| !may_eject(instances, *out, &rule)).unwrap_or(instances);
            prop_assert_eq!(out, instances * percent as usize / 100);
        }
    }
}
