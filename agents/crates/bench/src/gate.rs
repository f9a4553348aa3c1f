//! Benchmark gate of a rollout: measures one instance directly and decides by thresholds. Invariant: the same rows give the same
//! verdict as packages/core/src/benchmark/thresholds.ts, as the contract's fixtures prove.

use fairlead_base::CancellationToken;
use fairlead_model::{
    BenchmarkGate, BenchmarkMetric, BenchmarkRow, BenchmarkThreshold, Failure, GateProgress, NetworkPath,
    ThresholdBound, UpstreamAddress,
};

use crate::cell::{Cell, measure};
use crate::error::BenchError;
use crate::plan::{direct_cell, direct_row};
use crate::statistics::median;
use crate::threshold::metric_value;
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

/// Measures all rounds, calls `on_progress` after each measurement, and returns an error unless every threshold is met. The
/// live release is measured in turn with the new one if a threshold is relative to it. Dropping the future ends the load.
pub async fn run_gate(
    gate: &BenchmarkGate,
    address: &UpstreamAddress,
    live: Option<&UpstreamAddress>,
    turns: &MeasurementTurns,
    on_progress: impl Fn(GateProgress),
) -> Result<(), GateError> {
    let _turn = turns.take().await;
    let network_path = NetworkPath::to(address);
    let cell = direct_cell(address.clone(), gate);
    let mut live = live.filter(|_| gate.compares()).map(|address| (NetworkPath::to(address), live_cell(address, gate)));
    if gate.compares() && live.is_none() {
        on_progress(GateProgress::NotComparable("there is none on this server".to_owned()));
    }
    let (mut rows, mut live_rows) = (Vec::new(), Vec::new());
    for round in 0..gate.rounds {
        let measured = measure(&cell, &CancellationToken::new(), || ()).await.map_err(not_measured)?;
        let row = direct_row(round, &cell, network_path, measured);
        on_progress(GateProgress::New(row.clone()));
        rows.push(row);
        let Some((live_path, live_cell)) = &live else { continue };
        match measure(live_cell, &CancellationToken::new(), || ()).await {
            Ok(measured) => {
                let row = direct_row(round, live_cell, *live_path, measured);
                on_progress(GateProgress::Live(row.clone()));
                live_rows.push(row);
            }
            Err(error) => {
                on_progress(GateProgress::NotComparable(detail(error)));
                (live, live_rows) = (None, Vec::new());
            }
        }
    }
    let missed = missed_thresholds(&gate.thresholds, &rows, &live_rows);
    if missed.is_empty() { Ok(()) } else { Err(GateError::Missed(missed.join("; "))) }
}

fn live_cell(address: &UpstreamAddress, gate: &BenchmarkGate) -> Cell {
    Cell { name: "the live release".to_owned(), ..direct_cell(address.clone(), gate) }
}

fn not_measured(error: BenchError) -> GateError {
    GateError::NotMeasured(detail(error))
}

/// Returns the detail of an error without its advice, which is for runs of the benchmarks page.
fn detail(error: BenchError) -> String {
    match error {
        BenchError::Unreachable { detail, .. }
        | BenchError::Plan(detail)
        | BenchError::Generator(detail)
        | BenchError::Refused(detail)
        | BenchError::Copy(detail)
        | BenchError::Link(detail)
        | BenchError::Part(detail)
        | BenchError::Lab(detail)
        | BenchError::Event(detail) => detail,
        BenchError::NotRunning | BenchError::Cancelled => error.to_string(),
    }
}

/// Returns a sentence for each threshold that the medians of the rows miss.
pub(crate) fn missed_thresholds(
    thresholds: &[BenchmarkThreshold],
    rows: &[BenchmarkRow],
    live_rows: &[BenchmarkRow],
) -> Vec<String> {
    thresholds
        .iter()
        .filter_map(|threshold| {
            if threshold.relative {
                let live = live_values(threshold.metric, rows, live_rows)?;
                missed(threshold, ratio_of(threshold.metric, rows, &live))
            } else {
                missed(threshold, median_of(threshold.metric, rows))
            }
        })
        .collect()
}

/// Returns one value for each row of the new release; `None` if there is nothing to compare with.
fn live_values(metric: BenchmarkMetric, rows: &[BenchmarkRow], live_rows: &[BenchmarkRow]) -> Option<Vec<f64>> {
    let values: Vec<f64> =
        live_rows.iter().filter_map(|row| metric_value(metric, row)).filter(|it| *it > 0.0).collect();
    (!values.is_empty() && values.len() == rows.len() && values.len() == live_rows.len()).then_some(values)
}

/// Median of the ratios of each round; `None` if a round of the new release lacks the value.
fn ratio_of(metric: BenchmarkMetric, rows: &[BenchmarkRow], live: &[f64]) -> Option<f64> {
    let ratios = rows.iter().zip(live).map(|(row, live)| Some(metric_value(metric, row)? / live));
    median(&ratios.collect::<Option<Vec<f64>>>()?)
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
        BenchmarkMetric::CpuUsPerRequest => ("CPU", "µs/request"),
        BenchmarkMetric::MemoryBytes => ("Memory", "bytes"),
    };
    let (is_met, bound) = match threshold.bound {
        ThresholdBound::Max => (value.is_some_and(|value| value <= limit), "at most"),
        ThresholdBound::Min => (value.is_some_and(|value| value >= limit), "at least"),
    };
    if is_met {
        return None;
    }
    Some(match value {
        Some(value) if threshold.relative => format!(
            "{name} of the new release is {} × that of the live release, and the gate wants {bound} {limit} ×",
            rounded(value)
        ),
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
    median(&rows.iter().map(|row| metric_value(metric, row)).collect::<Option<Vec<f64>>>()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Duration;

    use fairlead_model::{BenchmarkProtocol, BenchmarkTarget};
    use serde::Deserialize;

    use super::*;
    use crate::threshold::{PlanThreshold, evaluate_thresholds};

    #[derive(Deserialize)]
    struct Case {
        name: String,
        metric: BenchmarkMetric,
        #[serde(default)]
        max: Option<f64>,
        #[serde(default)]
        min: Option<f64>,
        rows: Vec<FixtureRow>,
        /// Rows of the live release, for a threshold that is relative to it.
        #[serde(default)]
        live: Option<Vec<FixtureRow>>,
        #[serde(default)]
        interval: Option<(f64, f64)>,
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
            start_unix_us: None,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_control_plane() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/thresholds.json");
        let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(cases.len() > 10);
        assert!(cases.iter().any(|case| case.live.is_some()) && cases.iter().any(|case| case.interval.is_some()));
        for Case { name, metric, max, min, rows, live, interval, value, passed } in cases {
            let (bound, limit) = match (max, min) {
                (Some(max), None) => (ThresholdBound::Max, max),
                (None, Some(min)) => (ThresholdBound::Min, min),
                _ => panic!("{name}: one bound"),
            };
            let relative = live.is_some();
            let thousandths = (limit * 1000.0).round() as u64;
            let threshold = BenchmarkThreshold { metric, bound, thousandths, relative };
            let to_rows = |rows: Vec<FixtureRow>| (0..).zip(rows).map(to_row).collect::<Vec<BenchmarkRow>>();
            let (rows, live_rows) = (to_rows(rows), to_rows(live.unwrap_or_default()));
            let measured = match live_values(metric, &rows, &live_rows) {
                Some(live) if relative => ratio_of(metric, &rows, &live),
                _ if relative => None,
                _ => median_of(metric, &rows),
            };
            assert_eq!(measured, value, "{name}");
            assert_eq!(missed_thresholds(&[threshold], &rows, &live_rows).is_empty(), passed, "{name}");
            if relative {
                continue;
            }
            let threshold = PlanThreshold { metric, max, min, target: None, protocol: None, concurrency: None };
            let [verdict] = evaluate_thresholds(&[threshold], &rows).try_into().unwrap();
            assert_eq!(verdict.passed, passed, "{name}");
            if let Some(interval) = interval {
                let found = verdict.cells.first().and_then(|cell| cell.interval);
                assert_eq!(found.map(|of| (of.low, of.high)), Some(interval), "{name}");
            }
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
                relative: false,
            },
            BenchmarkThreshold {
                metric: BenchmarkMetric::P99Ms,
                bound: ThresholdBound::Max,
                thousandths: 20_000,
                relative: false,
            },
            BenchmarkThreshold {
                metric: BenchmarkMetric::RequestsPerSecond,
                bound: ThresholdBound::Min,
                thousandths: 500_000,
                relative: false,
            },
        ];
        assert_eq!(
            missed_thresholds(&thresholds, &[to_row((0, row))], &[]),
            [
                "The success rate of the new release is 75 %, and the gate wants at least 99.9 %",
                "Throughput of the new release is 3 requests/s, and the gate wants at least 500 requests/s",
            ]
        );
    }
}
