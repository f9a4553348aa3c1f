//! Health state of an instance from active checks: consecutive failures make it unhealthy, consecutive successes
//! healthy again.

use fairlead_model::ActiveHealthCheck;

/// Health of one instance. It starts healthy: whatever adds an instance to the route table vouches for it.
#[derive(Debug, Clone, Copy)]
pub struct HealthState {
    healthy: bool,
    /// Consecutive results that contradict the current state.
    contrary: u32,
}

impl Default for HealthState {
    fn default() -> Self {
        Self { healthy: true, contrary: 0 }
    }
}

impl HealthState {
    /// True if the instance gets requests.
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// Counts a check's result; returns true if it changed the state.
    pub fn count(&mut self, good: bool, check: &ActiveHealthCheck) -> bool {
        if good == self.healthy {
            self.contrary = 0;
            return false;
        }
        self.contrary += 1;
        let enough = if self.healthy { check.unhealthy_threshold } else { check.healthy_threshold };
        let changes = self.contrary >= enough;
        if changes {
            *self = Self { healthy: good, contrary: 0 };
        }
        changes
    }
}

/// True for the status of a successful check: 2xx and 3xx.
pub fn is_healthy_status(status: u16) -> bool {
    (200..400).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_in_a_row_change_what_an_instance_is_taken_for() {
        let check = ActiveHealthCheck { healthy_threshold: 2, unhealthy_threshold: 3, ..ActiveHealthCheck::default() };
        let mut health = HealthState::default();
        let mut changes =
            |answers: &[bool]| -> Vec<bool> { answers.iter().map(|good| health.count(*good, &check)).collect() };
        assert_eq!(changes(&[false, false, true, false, false]), [false; 5]);
        assert_eq!(changes(&[false, false]), [true, false]);
        assert_eq!(changes(&[true, false, true]), [false; 3]);
        assert_eq!(changes(&[true]), [true]);
        assert!(health.is_healthy());
        assert_eq!([199, 200, 399, 400].map(is_healthy_status), [false, true, true, false]);
    }
}
