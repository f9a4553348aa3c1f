//! Benchmark gate of a rollout: load on a new instance, and the thresholds that it must meet.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BenchmarkRow;

/// Load on one new instance before it gets traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkGate {
    /// Host of the requests.
    pub host: String,
    /// Path of the requests.
    pub path: String,
    /// Number of concurrent clients.
    pub concurrency: u32,
    /// Number of measurements.
    pub rounds: u32,
    /// Measured time of one round.
    pub duration: Duration,
    /// Time before each measurement that does not count.
    pub warmup: Duration,
    pub thresholds: Vec<BenchmarkThreshold>,
}

impl BenchmarkGate {
    /// Returns the time that the load takes, without waiting.
    pub fn load_time(&self) -> Duration {
        let measured = if self.compares() { 2 } else { 1 };
        (self.duration + self.warmup) * self.rounds * measured
    }

    /// Returns whether the live release is measured too.
    pub fn compares(&self) -> bool {
        self.thresholds.iter().any(|threshold| threshold.relative)
    }
}

/// Limit of a metric. The median over all rounds must meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkThreshold {
    pub metric: BenchmarkMetric,
    pub bound: ThresholdBound,
    /// Limit in thousandths of the metric's unit, or of the ratio.
    pub thousandths: u64,
    /// True: the ratio to the live release is limited. Without a live release the threshold passes.
    #[serde(default)]
    pub relative: bool,
}

/// Progress of a benchmark gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateProgress {
    /// Row of the new release.
    New(BenchmarkRow),
    /// Row of the live release.
    Live(BenchmarkRow),
    /// Reason why the live release can't be measured.
    NotComparable(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThresholdBound {
    Max,
    Min,
}

/// Measured value of a row that a threshold limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkMetric {
    RequestsPerSecond,
    P50Ms,
    P90Ms,
    P99Ms,
    /// Share of 2xx responses among all responses and failed requests.
    SuccessPercent,
    /// CPU time of the proxy for one request. A gate measures no proxy, so it has no such threshold.
    CpuUsPerRequest,
    /// PSS of the proxy. A gate has no such threshold either.
    MemoryBytes,
}

impl BenchmarkMetric {
    /// Returns the name of the metric in plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests_per_second",
            Self::P50Ms => "p50_ms",
            Self::P90Ms => "p90_ms",
            Self::P99Ms => "p99_ms",
            Self::SuccessPercent => "success_percent",
            Self::CpuUsPerRequest => "cpu_us_per_request",
            Self::MemoryBytes => "memory_bytes",
        }
    }
}
