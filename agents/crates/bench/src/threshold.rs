//! Thresholds of a plan, and the values of rows that they limit. Invariant: the same rows give the same verdict as
//! packages/core/src/benchmark/thresholds.ts, as the contract's fixtures prove.

use fairlead_model::{BenchmarkMetric, BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, NetworkPath};
use fairlead_telemetry::Histogram;
use serde::{Deserialize, Serialize};

use crate::plan_document::present;
use crate::statistics::{ConfidenceInterval, median, median_interval};

const LIMIT_MAX: f64 = 1e12;
const CLIENTS_MAX: u32 = 20_000;

/// Limit of a metric, in its unit. It holds for every row that has the metric and fits target, protocol and concurrency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanThreshold {
    pub metric: BenchmarkMetric,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub target: Option<BenchmarkTarget>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub protocol: Option<BenchmarkProtocol>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// Verdict of one threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdVerdict {
    pub threshold: PlanThreshold,
    pub passed: bool,
    /// False if the limit lies inside the interval of a cell, or a cell has fewer than three rounds.
    pub certain: bool,
    /// Measured cells that the threshold holds for; empty: none, and the threshold has failed.
    pub cells: Vec<ThresholdCell>,
}

/// Median of a metric over the rounds of one combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThresholdCell {
    pub target: BenchmarkTarget,
    pub protocol: BenchmarkProtocol,
    pub network_path: Option<NetworkPath>,
    pub concurrency: u32,
    /// `None`: a round had no successful request.
    pub value: Option<f64>,
    pub interval: Option<ConfidenceInterval>,
    pub passed: bool,
}

impl PlanThreshold {
    pub(crate) fn faults(&self) -> Vec<String> {
        let limit = self.max.or(self.min).unwrap_or(0.0);
        let is_outside = |limit: f64| !(0.0..=LIMIT_MAX).contains(&limit);
        let rules = [
            (self.max.is_some() == self.min.is_some(), "A threshold has either a maximum or a minimum."),
            (self.max.is_some_and(is_outside) || self.min.is_some_and(is_outside), "A limit is from 0 to 1e12."),
            (
                self.concurrency.is_some_and(|clients| !(1..=CLIENTS_MAX).contains(&clients)),
                "A threshold's concurrency is from 1 to 20000.",
            ),
            (self.metric == BenchmarkMetric::SuccessPercent && limit > 100.0, "A success rate is at most 100 %."),
            (self.max == Some(0.0) && self.metric != BenchmarkMetric::SuccessPercent, "A maximum of 0 can never pass."),
        ];
        rules.into_iter().filter(|(is_fault, _)| *is_fault).map(|(_, text)| text.to_owned()).collect()
    }

    fn fits(&self, row: &BenchmarkRow) -> bool {
        self.target.is_none_or(|target| target == row.target)
            && self.protocol.is_none_or(|protocol| protocol == row.protocol)
            && self.concurrency.is_none_or(|concurrency| concurrency == row.concurrency)
    }

    fn is_met(&self, value: f64) -> bool {
        value <= self.max.unwrap_or(f64::INFINITY) && value >= self.min.unwrap_or(f64::NEG_INFINITY)
    }

    /// A value on the limit passes, so an interval that only touches it from the passing side is certain.
    fn is_certain(&self, cell: &ThresholdCell) -> bool {
        match (cell.value, cell.interval, self.max, self.min) {
            (None, ..) => true,
            (Some(_), None, ..) => false,
            (Some(_), Some(interval), Some(max), _) => interval.high <= max || interval.low > max,
            (Some(_), Some(interval), None, min) => {
                let min = min.unwrap_or(0.0);
                interval.low >= min || interval.high < min
            }
        }
    }
}

/// Returns one verdict for each threshold, in order. Every cell must pass, and a threshold without a cell fails.
pub fn evaluate_thresholds(thresholds: &[PlanThreshold], rows: &[BenchmarkRow]) -> Vec<ThresholdVerdict> {
    thresholds
        .iter()
        .map(|threshold| {
            let mut groups: Vec<Vec<&BenchmarkRow>> = Vec::new();
            for row in rows.iter().filter(|row| threshold.fits(row)) {
                match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_same_cell(first, row))) {
                    Some(group) => group.push(row),
                    None => groups.push(vec![row]),
                }
            }
            let cells: Vec<_> = groups.into_iter().filter_map(|rows| cell(threshold, rows)).collect();
            ThresholdVerdict {
                threshold: threshold.clone(),
                passed: !cells.is_empty() && cells.iter().all(|cell| cell.passed),
                certain: cells.iter().all(|cell| threshold.is_certain(cell)),
                cells,
            }
        })
        .collect()
}

fn is_same_cell(one: &BenchmarkRow, other: &BenchmarkRow) -> bool {
    let key = |row: &BenchmarkRow| (row.target, row.protocol, row.network_path, row.concurrency, row.phase, row.probe);
    key(one) == key(other)
}

/// Returns `None` if the rows of this cell lack the metric, as direct rows lack the CPU time of the proxy.
fn cell(threshold: &PlanThreshold, mut rows: Vec<&BenchmarkRow>) -> Option<ThresholdCell> {
    rows.sort_by_key(|row| row.round);
    let first = *rows.first()?;
    let values: Vec<f64> = rows.iter().filter_map(|row| metric_value(threshold.metric, row)).collect();
    if values.is_empty() && rows.iter().any(|row| row.requests > 0) {
        return None;
    }
    let value = if values.len() == rows.len() { median(&values) } else { None };
    Some(ThresholdCell {
        target: first.target,
        protocol: first.protocol,
        network_path: first.network_path,
        concurrency: first.concurrency,
        value,
        interval: value.and_then(|_| median_interval(&values)),
        passed: value.is_some_and(|value| threshold.is_met(value)),
    })
}

/// Returns the value of a row; `None` if it has none.
pub(crate) fn metric_value(metric: BenchmarkMetric, row: &BenchmarkRow) -> Option<f64> {
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
        BenchmarkMetric::CpuUsPerRequest => {
            let cpu_us = row.proxy_cpu.as_micros();
            (row.requests > 0 && cpu_us > 0).then(|| cpu_us as f64 / row.requests as f64)
        }
        BenchmarkMetric::MemoryBytes => (row.proxy_memory_bytes > 0).then_some(row.proxy_memory_bytes as f64),
    }
}
