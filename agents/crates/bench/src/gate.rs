//! Benchmark gate of a rollout: measures one instance directly and decides by thresholds. Invariant: the same rows give the same
//! verdict as packages/core/src/benchmark/thresholds.ts, as the contract's fixtures prove.

use fairlead_base::CancellationToken;
use fairlead_model::{
    BenchmarkGate, BenchmarkMetric, BenchmarkRow, BenchmarkThreshold, Failure, NetworkPath, ThresholdBound,
    UpstreamAddress,
};
use fairlead_telemetry::Histogram;

use crate::cell::measure;
use crate::error::BenchError;
use crate::plan::{direct_cell, direct_row};
use crate::turn::MeasurementTurns;

/// Reason why a rollout did not pass its gate.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("{0}. Make the release meet its benchmark gate, or change the gate in the settings, then deploy again.")]
    Missed(String),
    #[error(
        "The benchmark gate could not measure the new release: {0}. Check that the app answers the path of the gate with 2xx under this load, then deploy again."
    )]
    NotMeasured(String),
}

impl GateError {
    /// Returns the failure for the report.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Missed(_) => "benchmark.threshold_missed",
            Self::NotMeasured(_) => "benchmark.gate_failed",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}

/// Measures all rounds, calls `on_row` after each, and returns an error unless every threshold is met. Dropping the future ends
/// the load.
pub async fn run_gate(
    gate: &BenchmarkGate,
    address: &UpstreamAddress,
    turns: &MeasurementTurns,
    on_row: impl Fn(BenchmarkRow),
) -> Result<(), GateError> {
    let _turn = turns.take().await;
    let network_path = NetworkPath::to(address);
    let cell = direct_cell(address.clone(), gate);
    let mut rows = Vec::new();
    for round in 0..gate.rounds {
        let measured = measure(&cell, &CancellationToken::new(), || ()).await.map_err(not_measured)?;
        let row = direct_row(round, &cell, network_path, measured);
        on_row(row.clone());
        rows.push(row);
    }
    let missed = missed_thresholds(&gate.thresholds, &rows);
    if missed.is_empty() { Ok(()) } else { Err(GateError::Missed(missed.join("; "))) }
}

/// Leaves the advice out, which is about runs of the benchmarks page.
fn not_measured(error: BenchError) -> GateError {
    GateError::NotMeasured(match error {
        BenchError::Unreachable { detail, .. }
        | BenchError::Plan(detail)
        | BenchError::Generator(detail)
        | BenchError::Refused(detail)
        | BenchError::Link(detail)
        | BenchError::Lab(detail)
        | BenchError::Event(detail) => detail,
        BenchError::NotRunning | BenchError::Cancelled => error.to_string(),
    })
}

/// Returns a sentence for each threshold that the medians of the rows miss.
pub(crate) fn missed_thresholds(thresholds: &[BenchmarkThreshold], rows: &[BenchmarkRow]) -> Vec<String> {
    thresholds.iter().filter_map(|threshold| missed(threshold, median_of(threshold.metric, rows))).collect()
}

/// Without a value nothing passes.
fn missed(threshold: &BenchmarkThreshold, value: Option<f64>) -> Option<String> {
    let limit = threshold.thousandths as f64 / 1000.0;
    let (name, unit) = match threshold.metric {
        BenchmarkMetric::RequestsPerSecond => ("Throughput", "requests/s"),
        BenchmarkMetric::P50Ms => ("p50", "ms"),
        BenchmarkMetric::P90Ms => ("p90", "ms"),
        BenchmarkMetric::P99Ms => ("p99", "ms"),
        BenchmarkMetric::SuccessPercent => ("The success rate", "%"),
    };
    let (is_met, bound) = match threshold.bound {
        ThresholdBound::Max => (value.is_some_and(|value| value <= limit), "at most"),
        ThresholdBound::Min => (value.is_some_and(|value| value >= limit), "at least"),
    };
    if is_met {
        return None;
    }
    Some(match value {
        Some(value) => {
            format!("{name} of the new release is {} {unit}, and the gate wants {bound} {limit} {unit}", rounded(value))
        }
        None => format!("{name} of the new release is unknown, because a round had no successful request"),
    })
}

/// At most three decimals, so that a value never reads as the limit that it misses.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Median over the rounds; `None` if a round lacks the value.
fn median_of(metric: BenchmarkMetric, rows: &[BenchmarkRow]) -> Option<f64> {
    let mut values = rows.iter().map(|row| value_of(metric, row)).collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    let low = values.get(values.len().checked_sub(1)? / 2)?;
    let high = values.get(values.len() / 2)?;
    Some((low + high) / 2.0)
}

fn value_of(metric: BenchmarkMetric, row: &BenchmarkRow) -> Option<f64> {
    let quantile_ms = |q| {
        let latency = Histogram::from_sparse(row.latency.iter().copied(), row.latency_sum_us).ok()?;
        Some(latency.quantile_us(q)? as f64 / 1000.0)
    };
    match metric {
        BenchmarkMetric::RequestsPerSecond => {
            let seconds = row.duration.as_millis() as f64 / 1000.0;
            Some(if seconds > 0.0 { row.requests as f64 / seconds } else { 0.0 })
        }
        BenchmarkMetric::P50Ms => quantile_ms(0.5),
        BenchmarkMetric::P90Ms => quantile_ms(0.9),
        BenchmarkMetric::P99Ms => quantile_ms(0.99),
        BenchmarkMetric::SuccessPercent => {
            let total = row.requests + row.errors;
            (total > 0).then(|| 100.0 * row.requests as f64 / total as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Duration;

    use fairlead_model::{BenchmarkProtocol, BenchmarkTarget};
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Case {
        name: String,
        metric: BenchmarkMetric,
        #[serde(default)]
        max: Option<f64>,
        #[serde(default)]
        min: Option<f64>,
        rows: Vec<FixtureRow>,
        value: Option<f64>,
        passed: bool,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FixtureRow {
        duration_ms: u64,
        requests: u64,
        errors: u64,
        latency: Vec<(u32, u64)>,
    }

    fn to_row((round, row): (u32, FixtureRow)) -> BenchmarkRow {
        BenchmarkRow {
            position: round,
            round,
            target: BenchmarkTarget::Direct,
            protocol: BenchmarkProtocol::Http1,
            network_path: Some(NetworkPath::OwnNetwork),
            concurrency: 8,
            duration: Duration::from_millis(row.duration_ms),
            requests: row.requests,
            errors: row.errors,
            latency: row.latency,
            latency_sum_us: 0,
            proxy_cpu: Duration::ZERO,
            proxy_memory_bytes: 0,
            bytes_received: 0,
            phase: None,
            failures: BTreeMap::new(),
            generator_cpu: Duration::ZERO,
            generator_saturated: false,
            app_cpu: Duration::ZERO,
            clients: 8,
            latency_max_us: 0,
            unsent: 0,
            noise: None,
            probe: None,
            link: None,
            app_connections: 0,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_control_plane() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/thresholds.json");
        let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(cases.len() > 10);
        for Case { name, metric, max, min, rows, value, passed } in cases {
            let (bound, limit) = match (max, min) {
                (Some(max), None) => (ThresholdBound::Max, max),
                (None, Some(min)) => (ThresholdBound::Min, min),
                _ => panic!("{name}: one bound"),
            };
            let threshold = BenchmarkThreshold { metric, bound, thousandths: (limit * 1000.0).round() as u64 };
            let rows: Vec<BenchmarkRow> = (0..).zip(rows).map(to_row).collect();
            assert_eq!(median_of(metric, &rows), value, "{name}");
            assert_eq!(missed_thresholds(&[threshold], &rows).is_empty(), passed, "{name}");
        }
    }

    #[test]
    fn a_missed_threshold_names_metric_value_and_limit() {
        let row = FixtureRow { duration_ms: 1000, requests: 3, errors: 1, latency: vec![(31, 3)] };
        let thresholds = [
            BenchmarkThreshold {
                metric: BenchmarkMetric::SuccessPercent,
                bound: ThresholdBound::Min,
                thousandths: 99_900,
            },
            BenchmarkThreshold { metric: BenchmarkMetric::P99Ms, bound: ThresholdBound::Max, thousandths: 20_000 },
            BenchmarkThreshold {
                metric: BenchmarkMetric::RequestsPerSecond,
                bound: ThresholdBound::Min,
                thousandths: 500_000,
            },
        ];
        assert_eq!(
            missed_thresholds(&thresholds, &[to_row((0, row))]),
            [
                "The success rate of the new release is 75 %, and the gate wants at least 99.9 %",
                "Throughput of the new release is 3 requests/s, and the gate wants at least 500 requests/s",
            ]
        );
    }
}
