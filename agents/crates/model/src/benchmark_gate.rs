//! Benchmark gate of a rollout: load on a new instance, and the thresholds that it must meet.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
        (self.duration + self.warmup) * self.rounds
    }
}

/// Limit of a metric. The median over all rounds must meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkThreshold {
    pub metric: BenchmarkMetric,
    pub bound: ThresholdBound,
    /// Limit in thousandths of the metric's unit.
    pub thousandths: u64,
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
}
