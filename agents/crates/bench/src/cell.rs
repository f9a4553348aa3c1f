//! One measured cell: a destination, a protocol, a number of clients, a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use fairlead_base::CancellationToken;
use fairlead_telemetry::{cpu_time_of, pss_bytes_of};
use tokio::sync::watch;

use crate::client::{Destination, Protocol, Tally, Window};
use crate::error::BenchError;
use crate::worker::{self, Share};

/// How long nothing at all may answer before the target counts as unreachable.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the slowest client may take to its first answer; then those that have one are measured.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
const READY_POLL: Duration = Duration::from_millis(5);

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) destination: Destination,
    pub(crate) protocol: Protocol,
    pub(crate) concurrency: u32,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    /// Processes whose CPU and memory are read.
    pub(crate) pids: Vec<u32>,
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) tally: Tally,
    /// CPU time of the processes within the measured time.
    pub(crate) cpu: Duration,
    /// Their PSS at its end.
    pub(crate) memory_bytes: u64,
}

/// Makes the load of one cell: waits until every client has had an answer, warms up, measures.
/// Cancelling it ends its threads. Fails when nothing at all was answered in order.
pub(crate) async fn measure(cell: &Cell, cancel: &CancellationToken) -> Result<Measurement, BenchError> {
    let ready = Arc::new(AtomicU32::new(0));
    let (announce, window) = watch::channel(None);
    // Dropped with this future: workers never outlive the one who asked.
    let stop = cancel.child_token();
    let _stop = stop.clone().drop_guard();
    let mut tallies = Vec::new();
    for clients in shares(cell.concurrency, cell.protocol) {
        let (destination, protocol) = (cell.destination.clone(), cell.protocol);
        let (ready, window, cancel) = (ready.clone(), window.clone(), stop.clone());
        let worker = worker::spawn(Share { destination, protocol, clients, ready, window, cancel });
        tallies.push(worker.map_err(|error| BenchError::Generator(error.to_string()))?);
    }
    let measured = async {
        if !wait_for_answers(&ready, cell.concurrency).await {
            stop.cancel();
            return (Duration::ZERO, 0);
        }
        let start = Instant::now() + cell.warmup;
        let end = start + cell.duration;
        announce.send_replace(Some(Window { start, end }));
        tokio::time::sleep_until(start.into()).await;
        let before = cpu(&cell.pids);
        tokio::time::sleep_until(end.into()).await;
        (cpu(&cell.pids).saturating_sub(before), cell.pids.iter().filter_map(|pid| pss_bytes_of(*pid).ok()).sum())
    };
    let (cpu, memory_bytes) = tokio::select! {
        measured = measured => measured,
        () = cancel.cancelled() => return Err(BenchError::Cancelled),
    };
    let mut whole = Tally::default();
    for tally in tallies {
        let tally = tally.await.map_err(|_| BenchError::Generator("a worker ended early".to_owned()))?;
        whole.requests += tally.requests;
        whole.errors += tally.errors;
        whole.body_bytes += tally.body_bytes;
        whole.latency.merge(&tally.latency);
        whole.last_error = whole.last_error.or(tally.last_error);
    }
    if whole.requests == 0 {
        let detail = whole.last_error.unwrap_or_else(|| "nothing answered".to_owned());
        return Err(BenchError::Unreachable { target: cell.name.clone(), detail });
    }
    Ok(Measurement { tally: whole, cpu, memory_bytes })
}

/// Waits until all clients, or as many as will, have had an answer; `false` when none has.
async fn wait_for_answers(ready: &AtomicU32, clients: u32) -> bool {
    let begun = Instant::now();
    loop {
        let waited = begun.elapsed();
        match ready.load(Ordering::Relaxed) {
            0 if waited >= FIRST_ANSWER_TIMEOUT => return false,
            answered if answered >= clients || waited >= READY_TIMEOUT => return answered > 0,
            _ => tokio::time::sleep(READY_POLL).await,
        }
    }
}

/// Clients by worker: half of the cores make load, and an HTTP/2 connection is never split.
fn shares(clients: u32, protocol: Protocol) -> Vec<u32> {
    let unit = match protocol {
        Protocol::Http1 => 1,
        Protocol::Http2 => crate::http2::STREAMS_PER_CONNECTION,
    };
    let cores = available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    let workers = (cores / 2).clamp(1, 8).min(clients.div_ceil(unit).max(1));
    let units = clients.div_ceil(unit);
    let mut left = clients;
    (0..workers)
        .map(|worker| {
            let mine = ((units / workers + u32::from(worker < units % workers)) * unit).min(left);
            left -= mine;
            mine
        })
        .collect()
}

fn cpu(pids: &[u32]) -> Duration {
    pids.iter().filter_map(|pid| cpu_time_of(*pid).ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_worker_and_connections_are_whole() {
        for clients in [1, 2, 15, 16, 17, 33, 500, 9_000] {
            for protocol in [Protocol::Http1, Protocol::Http2] {
                let shares = shares(clients, protocol);
                assert_eq!(shares.iter().sum::<u32>(), clients, "{clients} {protocol:?}");
                assert!(shares.iter().all(|share| *share > 0), "{clients} {protocol:?}: {shares:?}");
            }
        }
    }
}
