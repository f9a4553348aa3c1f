//! Rows of a campaign, and the rule by which one calls its generator saturated.

use std::time::Duration;

use fairlead_model::{BenchmarkProtocol, NetworkPath};
use fairlead_telemetry::Histogram;
use serde::Serialize;

use crate::campaign::Contender;
use crate::cell::{Cell, Measurement};
use crate::failure::Failures;
use crate::mode::Mode;
use crate::tally::OpenLoopTally;

/// CPU share from which a generator counts as saturated.
const SATURATED_CPU_SHARE: f64 = 0.9;
/// Lateness of 1 % of the sends, by the generator's own fault, from which it counts as saturated.
const SATURATED_LATENESS_US: u64 = 1_000;

/// Result of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CampaignRow {
    /// Name of the contender.
    pub name: String,
    /// Round, from 0.
    pub round: u32,
    pub concurrency: u32,
    /// Network path of its connections. Rows of different paths can't be compared.
    pub network_path: NetworkPath,
    /// HTTP version of the requests.
    pub protocol: BenchmarkProtocol,
    /// Connection mode of the clients.
    pub mode: Mode,
    /// Number of clients that received a response.
    pub clients: u32,
    /// Number of 2xx responses.
    pub requests: u64,
    /// Other responses, and requests that failed: the sum of `failures`.
    pub errors: u64,
    /// Errors by kind.
    pub failures: Failures,
    /// Share of the requests with a 2xx response, from 0 to 1; `None` without requests.
    pub success_rate: Option<f64>,
    /// Handshakes shortened by a ticket.
    pub resumed: u64,
    /// Number of 2xx responses per second.
    pub requests_per_second: f64,
    /// Mean latency in microseconds.
    pub mean_us: Option<f64>,
    /// Median latency in microseconds.
    pub p50_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p99_us: Option<u64>,
    /// 99.9th percentile in microseconds.
    pub p999_us: Option<u64>,
    /// Highest latency in microseconds.
    pub max_us: Option<u64>,
    /// All latencies of 2xx responses.
    pub latency: LatencyHistogram,
    /// Schedule and lateness; `None` in a closed loop.
    pub open_loop: Option<OpenLoopRow>,
    /// CPU time of the processes per request, in microseconds; `None` without responses.
    pub cpu_us_per_request: Option<f64>,
    /// CPU time of the load generator per request, in microseconds.
    pub generator_cpu_us_per_request: Option<f64>,
    /// Number of threads that generated load.
    pub generator_workers: u32,
    /// CPU time of the load generator, as a share of the cores that its threads can use.
    pub generator_cpu_share: f64,
    /// True if the generator limits the result: `generator_cpu_share` is at least 0.9, or 1 % of an open loop's sends are more
    /// than 1 ms late by its own fault.
    pub generator_saturated: bool,
    /// PSS of the processes before the first client connects.
    pub memory_before_bytes: u64,
    /// PSS of the processes at the end of the row.
    pub memory_bytes: u64,
}

/// Mergeable latencies: add the counts of equal buckets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatencyHistogram {
    /// Non-empty buckets of `fairlead_telemetry::Histogram` as (index, count), in ascending order.
    pub buckets: Vec<(u32, u64)>,
    pub sum_us: u64,
}

impl From<&Histogram> for LatencyHistogram {
    fn from(histogram: &Histogram) -> Self {
        Self { buckets: histogram.sparse().collect(), sum_us: histogram.sum_us() }
    }
}

/// Schedule of an open loop and how far the sends kept it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenLoopRow {
    /// Intended requests per second.
    pub rate: f64,
    /// Number of intended requests in the measured time: `requests` + `errors` + `unsent`.
    pub scheduled: u64,
    /// Number of intended requests that were not sent before its end.
    pub unsent: u64,
    /// Number of requests that waited for the previous response on their connection.
    pub waited_for_connection: u64,
    /// 99th percentile of these waits over all sent requests, in microseconds.
    pub connection_wait_p99_us: Option<u64>,
    /// Share of the measured time in which all connections had a request in flight. Above 0, more connections may be needed.
    pub all_busy_share: f64,
    /// Median delay of sends by the generator's own timer and CPU, in microseconds.
    pub generator_lateness_p50_us: Option<u64>,
    pub generator_lateness_p99_us: Option<u64>,
}

pub(crate) fn row(contender: &Contender, round: u32, cell: &Cell, measured: Measurement) -> CampaignRow {
    let Measurement { tally, clients, cpu, generator_cpu, workers, memory_before_bytes, memory_bytes, .. } = measured;
    let each = |cpu: Duration| (tally.requests > 0).then(|| cpu.as_secs_f64() * 1e6 / tally.requests as f64);
    let seconds = cell.duration.as_secs_f64();
    let all = tally.requests + tally.errors();
    let open_loop = cell.rate.map(|rate| open_loop_row(rate, &tally.open_loop, seconds * f64::from(workers)));
    let generator_cpu_share = cpu_share(generator_cpu, cell.duration, workers);
    let quantile = |q| tally.latency.quantile_us(q);
    CampaignRow {
        name: contender.name.clone(),
        round,
        concurrency: cell.concurrency,
        network_path: NetworkPath::to(&cell.destination.address),
        protocol: contender.protocol,
        mode: cell.mode,
        clients,
        requests: tally.requests,
        errors: tally.errors(),
        success_rate: (all > 0).then(|| tally.requests as f64 / all as f64),
        resumed: tally.resumed,
        requests_per_second: tally.requests as f64 / seconds,
        mean_us: (tally.requests > 0).then(|| tally.latency.sum_us() as f64 / tally.requests as f64),
        p50_us: quantile(0.5),
        p90_us: quantile(0.9),
        p99_us: quantile(0.99),
        p999_us: quantile(0.999),
        max_us: (tally.requests > 0).then_some(tally.latency_max_us),
        latency: (&tally.latency).into(),
        generator_saturated: is_saturated(generator_cpu_share, open_loop.as_ref()),
        open_loop,
        cpu_us_per_request: each(cpu),
        generator_cpu_us_per_request: each(generator_cpu),
        generator_workers: workers,
        generator_cpu_share,
        memory_before_bytes,
        memory_bytes,
        failures: tally.failures,
    }
}

/// `seconds`: measured time, summed over workers.
fn open_loop_row(rate: f64, tally: &OpenLoopTally, seconds: f64) -> OpenLoopRow {
    OpenLoopRow {
        rate,
        scheduled: tally.scheduled,
        unsent: tally.unsent,
        waited_for_connection: tally.waited,
        connection_wait_p99_us: tally.connection_wait.quantile_us(0.99),
        all_busy_share: tally.all_busy.as_secs_f64() / seconds,
        generator_lateness_p50_us: tally.generator_lateness.quantile_us(0.5),
        generator_lateness_p99_us: tally.generator_lateness.quantile_us(0.99),
    }
}

fn is_saturated(cpu_share: f64, open_loop: Option<&OpenLoopRow>) -> bool {
    is_generator_saturated(cpu_share, open_loop.and_then(|row| row.generator_lateness_p99_us))
}

/// Returns whether the generator, not the target, limits the result. `lateness_p99_us` is that of an open loop's sends.
pub(crate) fn is_generator_saturated(cpu_share: f64, lateness_p99_us: Option<u64>) -> bool {
    cpu_share >= SATURATED_CPU_SHARE || lateness_p99_us.is_some_and(|us| us > SATURATED_LATENESS_US)
}

/// Returns CPU time as a share of the cores that the worker threads can use.
pub(crate) fn cpu_share(cpu: Duration, measured: Duration, workers: u32) -> f64 {
    cpu.as_secs_f64() / (measured.as_secs_f64() * f64::from(workers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Lateness;

    #[test]
    fn own_lateness_saturates_a_generator_and_waits_for_the_server_do_not() {
        let sent = |connection, generator| {
            let mut tally = OpenLoopTally::default();
            let at = Duration::from_millis;
            tally.send(Lateness { connection: at(connection), generator: at(generator) });
            open_loop_row(100.0, &tally, 1.0)
        };
        assert!(is_saturated(0.2, Some(&sent(0, 5))));
        assert!(!is_saturated(0.2, Some(&sent(500, 0))));
        assert!(is_saturated(0.95, None));
        assert!(!is_saturated(0.5, None));
    }
}
