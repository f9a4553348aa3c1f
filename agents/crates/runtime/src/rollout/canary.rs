//! Canary analysis: compares the requests of new and old instances in the same window. Pure arithmetic over the proxy's
//! counts; the state machine decides when to ask and what follows.

use fairlead_model::Canary;
use fairlead_telemetry::Histogram;

/// Request counts and latencies of one side of a canary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traffic {
    /// Number of finished requests.
    pub requests: u64,
    /// Number of requests answered with 5xx, or not at all.
    pub errors: u64,
    /// Latencies from a request's head to the end of its response.
    pub latency: Histogram,
}

impl Traffic {
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.latency.merge(&other.latency);
    }

    fn errors_permille(&self) -> u64 {
        (self.errors * 1000).checked_div(self.requests).unwrap_or(0)
    }

    fn p99_us(&self) -> Option<u64> {
        self.latency.quantile_us(0.99)
    }
}

/// Outcome of the analysis so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CanaryOutcome {
    /// Too few requests for a decision.
    Undecided,
    /// The new instances are as good as the old ones.
    Well,
    /// The new instances are worse; the text has the figures.
    Bad(String),
}

/// Compares both sides of one window.
pub(super) fn compare(canary: &Canary, old: &Traffic, new: &Traffic) -> CanaryOutcome {
    if new.requests == 0 || new.requests < u64::from(canary.requests_min) {
        return CanaryOutcome::Undecided;
    }
    let (old_errors, new_errors) = (old.errors_permille(), new.errors_permille());
    if new_errors > old_errors + u64::from(canary.error_increase_permille_max) {
        return CanaryOutcome::Bad(format!(
            "{} of {} requests to the new release failed ({}), against {} of {} to the old one ({}); {} more are allowed",
            new.errors,
            new.requests,
            percent(new_errors),
            old.errors,
            old.requests,
            percent(old_errors),
            percent(canary.error_increase_permille_max.into()),
        ));
    }
    // The p99 of very few requests is just the slowest one.
    let comparable = canary.p99_ratio_permille_max > 0 && old.requests >= u64::from(canary.requests_min.max(1));
    if comparable && let (Some(before), Some(now)) = (old.p99_us(), new.p99_us()) {
        let most = u128::from(before) * u128::from(canary.p99_ratio_permille_max) / 1000;
        if u128::from(now) > most {
            return CanaryOutcome::Bad(format!(
                "the p99 of the new release is {} over {} requests, against {} over {} of the old one; {} of that is allowed",
                milliseconds(now),
                new.requests,
                milliseconds(before),
                old.requests,
                percent(canary.p99_ratio_permille_max.into()),
            ));
        }
    }
    CanaryOutcome::Well
}

fn percent(permille: u64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

fn milliseconds(us: u64) -> String {
    format!("{}.{} ms", us / 1000, us % 1000 / 100)
}

/// Returns the weights of one old and one new instance that give the new ones together `percent` of the requests.
pub(super) fn weights(percent: u32, old: usize, new: usize) -> Option<(u32, u32)> {
    let (old, new) = (u32::try_from(old).ok()?, u32::try_from(new).ok()?);
    (old > 0 && new > 0).then(|| ((100 - percent.min(99)) * new, percent * old))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn traffic(requests: u64, errors: u64, us: u64) -> Traffic {
        let mut latency = Histogram::default();
        (0..requests).for_each(|_| latency.record(us));
        Traffic { requests, errors, latency }
    }

    #[test]
    fn the_figures_decide() {
        let canary = Canary {
            step_percents: vec![10],
            step_duration: Duration::from_secs(30),
            error_increase_permille_max: 20,
            p99_ratio_permille_max: 1500,
            requests_min: 50,
        };
        let old = traffic(1000, 10, 4_000);
        for (old, new, expected) in [
            (&old, traffic(0, 0, 0), "undecided"),
            (&old, traffic(49, 49, 90_000), "undecided"),
            (&old, traffic(100, 3, 5_000), "well"),
            (
                &old,
                traffic(100, 4, 5_000),
                "4 of 100 requests to the new release failed (4.0 %), against 10 of 1000 to the old one (1.0 %); 2.0 % more",
            ),
            (&old, traffic(100, 0, 5_500), "well"),
            (&old, traffic(100, 0, 9_000), "the p99 of the new release is 8.9 ms over 100 requests"),
            (&traffic(5, 0, 1_000), traffic(100, 2, 9_000), "well"),
            (&traffic(0, 0, 0), traffic(100, 3, 9_000), "3 of 100"),
        ] {
            let said = match compare(&canary, old, &new) {
                CanaryOutcome::Undecided => "undecided".to_owned(),
                CanaryOutcome::Well => "well".to_owned(),
                CanaryOutcome::Bad(figures) => figures,
            };
            assert!(said.contains(expected), "{said} is not {expected}");
        }
        let blind = Canary { p99_ratio_permille_max: 0, requests_min: 0, ..canary };
        assert_eq!(compare(&blind, &old, &traffic(1, 0, 900_000)), CanaryOutcome::Well);
        assert_eq!(compare(&blind, &old, &traffic(0, 0, 0)), CanaryOutcome::Undecided);
    }

    #[test]
    fn weights_give_the_new_ones_their_share_however_many_there_are() {
        for (percent, old, new) in [(1, 1, 1), (5, 4, 1), (50, 3, 2), (99, 64, 64), (10, 1, 7)] {
            let (one_old, one_new) = weights(percent, old, new).unwrap();
            let (all_old, all_new) = (u64::from(one_old) * old as u64, u64::from(one_new) * new as u64);
            assert_eq!(all_new * 100, u64::from(percent) * (all_old + all_new), "{percent} % of {old} and {new}");
        }
        assert_eq!(weights(5, 0, 1), None);
    }
}
