//! What answers to health probes add up to: an instance is unhealthy after some bad ones in a row, healthy after some good ones.

use fairlead_model::HealthProbe;

/// One instance's answers. It begins as healthy: whoever put it into the table said so.
#[derive(Debug, Clone, Copy)]
pub struct Health {
    healthy: bool,
    /// In a row, against what it is taken for.
    contrary: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self { healthy: true, contrary: 0 }
    }
}

impl Health {
    /// Whether it gets requests.
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// Counts an answer; tells whether it changed what the instance is taken for.
    pub fn count(&mut self, good: bool, probe: &HealthProbe) -> bool {
        if good == self.healthy {
            self.contrary = 0;
            return false;
        }
        self.contrary += 1;
        let enough = if self.healthy { probe.unhealthy_after } else { probe.healthy_after };
        let changes = self.contrary >= enough;
        if changes {
            *self = Self { healthy: good, contrary: 0 };
        }
        changes
    }
}

/// Whether a probe's status is good: 2xx and 3xx.
pub fn is_good_health(status: u16) -> bool {
    (200..400).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_in_a_row_change_what_an_instance_is_taken_for() {
        let probe = HealthProbe { healthy_after: 2, unhealthy_after: 3, ..HealthProbe::default() };
        let mut health = Health::default();
        let mut changes =
            |answers: &[bool]| -> Vec<bool> { answers.iter().map(|good| health.count(*good, &probe)).collect() };
        assert_eq!(changes(&[false, false, true, false, false]), [false; 5]);
        assert_eq!(changes(&[false, false]), [true, false]);
        assert_eq!(changes(&[true, false, true]), [false; 3]);
        assert_eq!(changes(&[true]), [true]);
        assert!(health.is_healthy());
        assert_eq!([199, 200, 399, 400].map(is_good_health), [false, true, true, false]);
    }
}
