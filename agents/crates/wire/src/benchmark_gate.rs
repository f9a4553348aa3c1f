//! Parser of the benchmark gate of a rollout.

use fairlead_model::{BenchmarkGate, BenchmarkMetric, BenchmarkThreshold, StateError, ThresholdBound};

use crate::agent;
use crate::parse::{host, milliseconds, path, within, wrong};

/// Maximum time of the load, warm-up included: a rollout waits for it.
const LOAD_MS_MAX: u64 = 60_000;

pub(crate) fn benchmark_gate(at: &str, spec: agent::BenchmarkGate) -> Result<BenchmarkGate, StateError> {
    host(&format!("{at}.host"), &spec.host)?;
    path(&format!("{at}.path"), &spec.path)?;
    within(at, "concurrency", spec.concurrency.into(), 1, 1024)?;
    within(at, "rounds", spec.rounds.into(), 1, 9)?;
    within(at, "duration_ms", spec.duration_ms.into(), 100, 30_000)?;
    within(at, "warmup_ms", spec.warmup_ms.into(), 0, 5_000)?;
    let measured = if spec.thresholds.iter().any(|limit| limit.relative) { 2 } else { 1 };
    let load_ms = measured * u64::from(spec.rounds) * (u64::from(spec.duration_ms) + u64::from(spec.warmup_ms));
    within(at, "load_ms", load_ms, 1, LOAD_MS_MAX)?;
    within(at, "thresholds", spec.thresholds.len() as u64, 1, 20)?;
    let thresholds = spec.thresholds.iter().map(|limit| threshold(&format!("{at}.thresholds"), limit));
    Ok(BenchmarkGate {
        thresholds: thresholds.collect::<Result<_, _>>()?,
        host: spec.host,
        path: spec.path,
        concurrency: spec.concurrency,
        rounds: spec.rounds,
        duration: milliseconds(spec.duration_ms),
        warmup: milliseconds(spec.warmup_ms),
    })
}

fn threshold(at: &str, spec: &agent::BenchmarkThreshold) -> Result<BenchmarkThreshold, StateError> {
    let metric = match agent::BenchmarkMetric::try_from(spec.metric) {
        Ok(agent::BenchmarkMetric::RequestsPerSecond) => BenchmarkMetric::RequestsPerSecond,
        Ok(agent::BenchmarkMetric::P50Ms) => BenchmarkMetric::P50Ms,
        Ok(agent::BenchmarkMetric::P90Ms) => BenchmarkMetric::P90Ms,
        Ok(agent::BenchmarkMetric::P99Ms) => BenchmarkMetric::P99Ms,
        Ok(agent::BenchmarkMetric::SuccessPercent) => BenchmarkMetric::SuccessPercent,
        Ok(agent::BenchmarkMetric::Unspecified) | Err(_) => return Err(wrong(at, "has a metric unknown here")),
    };
    let (bound, thousandths) = match spec.bound {
        Some(agent::benchmark_threshold::Bound::MaxThousandths(limit)) => (ThresholdBound::Max, limit),
        Some(agent::benchmark_threshold::Bound::MinThousandths(limit)) => (ThresholdBound::Min, limit),
        None => return Err(wrong(at, "has no bound")),
    };
    Ok(BenchmarkThreshold { metric, bound, thousandths, relative: spec.relative })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> agent::BenchmarkGate {
        agent::BenchmarkGate {
            host: "shop.example.test".into(),
            path: "/up".into(),
            concurrency: 16,
            rounds: 3,
            duration_ms: 2_000,
            warmup_ms: 500,
            thresholds: vec![agent::BenchmarkThreshold {
                metric: agent::BenchmarkMetric::P99Ms.into(),
                bound: Some(agent::benchmark_threshold::Bound::MaxThousandths(20_500)),
                relative: false,
            }],
        }
    }

    #[test]
    fn a_gate_keeps_its_thresholds_exactly() {
        let gate = benchmark_gate("gate", spec()).unwrap();
        let threshold = BenchmarkThreshold {
            metric: BenchmarkMetric::P99Ms,
            bound: ThresholdBound::Max,
            thousandths: 20_500,
            relative: false,
        };
        assert_eq!(gate.thresholds, [threshold]);
        assert_eq!(gate.load_time().as_millis(), 7_500);

        let mut relative = spec();
        relative.thresholds[0].relative = true;
        let gate = benchmark_gate("gate", relative.clone()).unwrap();
        assert!(gate.thresholds[0].relative);
        assert_eq!(gate.load_time().as_millis(), 15_000, "the live release is measured too");
        relative.duration_ms = 12_000;
        assert!(benchmark_gate("gate", relative).is_err());
    }

    #[test]
    fn a_gate_that_decides_nothing_or_takes_too_long_is_refused() {
        let changes: [fn(&mut agent::BenchmarkGate); 9] = [
            |gate| gate.thresholds.clear(),
            |gate| gate.thresholds[0].bound = None,
            |gate| gate.thresholds[0].metric = 99,
            |gate| gate.thresholds[0].metric = 0,
            |gate| gate.concurrency = 0,
            |gate| gate.rounds = 0,
            |gate| gate.duration_ms = 30_000,
            |gate| gate.path = "up".into(),
            |gate| gate.host = "a b".into(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut gate = spec();
            change(&mut gate);
            assert!(benchmark_gate("gate", gate).is_err(), "change {number}");
        }
    }
}
