//! One measurement: a destination, a protocol, a number of clients, a time.

use std::collections::BTreeSet;
use std::future::ready;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use fairlead_base::CancellationToken;
use fairlead_base::sock_diag::SocketDiagnostics;
use fairlead_model::{BenchmarkProbe, MachineNoise};
use fairlead_network::run_inside;
use fairlead_telemetry::{cpu_time_of, pss_bytes_of, tree_cpu_time_of, tree_of};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{oneshot, watch};

use crate::client::{LoadTarget, Protocol, Window};
use crate::connect::is_elsewhere;
use crate::error::BenchError;
use crate::mode::Mode;
use crate::noise::NoiseMeter;
use crate::open_loop::OpenLoop;
use crate::tally::LoadTally;
use crate::worker::{self, WorkerTask};

/// Maximum wait for the next client's first response. After it, the clients with a response are measured; without any the target
/// counts as unreachable.
const NEXT_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum wait for the first responses of all clients.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Default limit of one request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_WORKERS_MAX: u32 = 8;
/// Descriptors that stay for everything else in this process.
const DESCRIPTORS_RESERVED: u64 = 512;
const READY_POLL: Duration = Duration::from_millis(5);

/// Parameters of one measurement.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) destination: LoadTarget,
    pub(crate) protocol: Protocol,
    /// `None`: plain requests.
    pub(crate) probe: Option<BenchmarkProbe>,
    pub(crate) mode: Mode,
    /// Requests per second of an open loop; `None`: closed loop.
    pub(crate) rate: Option<f64>,
    /// Requests per second at the end, to which an open loop changes evenly; `None`: a constant rate.
    pub(crate) last_rate: Option<f64>,
    /// Time of a client between a response and its next request, in a closed loop.
    pub(crate) think_time: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) concurrency: u32,
    /// Number of threads that generate load, at most one per core; `None`: half of the cores, or all of them for a destination
    /// on another machine.
    pub(crate) workers: Option<NonZeroU32>,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    /// Processes to measure CPU and memory of, with their descendants.
    pub(crate) pids: Vec<u32>,
    /// Processes of the app, each with its descendants. Their CPU time is measured separately.
    pub(crate) app_pids: Vec<u32>,
    /// True if `pids` and `app_pids` are all processes of proxy and app, and stay the same. The rest of the machine's CPU
    /// time then belongs to other processes.
    pub(crate) knows_processes: bool,
    /// Address of the app, to count its connections.
    pub(crate) app_address: Option<SocketAddr>,
    /// Network namespace of the clients; `None`: that of this process.
    pub(crate) network: Option<Arc<OwnedFd>>,
}

/// Results of one measurement.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) tally: LoadTally,
    /// Number of clients that received a response.
    pub(crate) clients: u32,
    /// CPU time of the processes within the measured time.
    pub(crate) cpu: Duration,
    /// CPU time of the app within the measured time.
    pub(crate) app_cpu: Duration,
    /// Number of connections to the app at the end of the measured time.
    pub(crate) app_connections: u32,
    /// CPU time of this process, the load generator, within the measured time.
    pub(crate) generator_cpu: Duration,
    /// Number of worker threads, each of which can use one core.
    pub(crate) workers: u32,
    /// PSS of the processes before the first client connects.
    pub(crate) memory_before_bytes: u64,
    /// PSS of the processes at the end of the measured time.
    pub(crate) memory_bytes: u64,
    pub(crate) noise: Option<MachineNoise>,
}

/// Generates the load of one measurement: waits until every client has a response, warms up, measures. A cancellation ends
/// its threads before it returns. Fails without a single valid response. Calls `on_start` when the measured time starts.
pub(crate) async fn measure(
    cell: &Cell,
    cancel: &CancellationToken,
    on_start: impl FnOnce(),
) -> Result<Measurement, BenchError> {
    measure_from(cell, cancel, |_| ready(Ok(Instant::now())), on_start).await
}

/// Measures like `measure`, but begins the warm-up at the time that the future of `begin` returns. `begin` gets the number of
/// clients with a response. Its error ends the measurement.
pub(crate) async fn measure_from<F: Future<Output = Result<Instant, BenchError>>>(
    cell: &Cell,
    cancel: &CancellationToken,
    begin: impl FnOnce(u32) -> F,
    on_start: impl FnOnce(),
) -> Result<Measurement, BenchError> {
    require_descriptors(cell)?;
    let answered = Arc::new(AtomicU32::new(0));
    let (announce, window) = watch::channel(None);
    // The drop of this future cancels the workers, so they never outlive it.
    let stop = cancel.child_token();
    let _stop = stop.clone().drop_guard();
    let memory_before_bytes = memory(&cell.pids);
    let tallies = start_workers(cell, &answered, &window, &stop)?;
    let workers = u32::try_from(tallies.len()).unwrap_or(u32::MAX);
    let measured = async {
        if !wait_for_answers(&answered, cell.concurrency).await {
            stop.cancel();
            return Ok(Usage::default());
        }
        let announced = begin(answered.load(Ordering::Relaxed).min(cell.concurrency)).await?;
        let start = announced + cell.warmup;
        let end = start + cell.duration;
        announce.send_replace(Some(Window { announced, start, end }));
        tokio::time::sleep_until(start.into()).await;
        let meter = NoiseMeter::start();
        let before = CpuUsage::read(cell);
        on_start();
        tokio::time::sleep_until(end.into()).await;
        let cpu = CpuUsage::read(cell).since(before);
        let noise = meter.and_then(|meter| meter.end(cell.knows_processes.then(|| cpu.sum())));
        let app_connections = cell.app_address.map_or(0, |app| connections_to(app, cell.network.as_deref()));
        Ok(Usage { cpu, memory_bytes: memory(&cell.pids), noise, app_connections })
    };
    let usage = tokio::select! {
        measured = measured => measured,
        () = cancel.cancelled() => Err(BenchError::Cancelled),
    };
    if usage.is_err() {
        stop.cancel();
    }
    let whole = merged(tallies).await?;
    // Workers have ended, so nothing is sent after this.
    let usage = usage?;
    let clients = answered.load(Ordering::Relaxed).min(cell.concurrency);
    if whole.requests == 0 && (cell.mode != Mode::Idle || clients == 0) {
        let detail = whole.last_error.unwrap_or_else(|| "nothing answered".to_owned());
        return Err(BenchError::Unreachable { target: cell.name.clone(), detail });
    }
    let Usage { cpu: CpuUsage { proxy, app, generator }, memory_bytes, noise, app_connections } = usage;
    Ok(Measurement {
        tally: whole,
        clients,
        cpu: proxy,
        app_cpu: app,
        app_connections,
        generator_cpu: generator,
        workers,
        memory_before_bytes,
        memory_bytes,
        noise,
    })
}

/// Measures CPU and memory without any load of its own, while other servers send requests. `begin` returns the time at which
/// the warm-up begins.
pub(crate) async fn observe(
    cell: &Cell,
    cancel: &CancellationToken,
    begin: impl Future<Output = Result<Instant, BenchError>>,
    on_start: impl FnOnce(),
) -> Result<Measurement, BenchError> {
    let memory_before_bytes = memory(&cell.pids);
    let measured = async {
        let start = begin.await? + cell.warmup;
        tokio::time::sleep_until(start.into()).await;
        let meter = NoiseMeter::start();
        let before = CpuUsage::read(cell);
        on_start();
        tokio::time::sleep_until((start + cell.duration).into()).await;
        let cpu = CpuUsage::read(cell).since(before);
        let noise = meter.and_then(|meter| meter.end(cell.knows_processes.then(|| cpu.sum())));
        Ok(Measurement {
            tally: LoadTally::default(),
            clients: 0,
            cpu: cpu.proxy,
            app_cpu: cpu.app,
            app_connections: 0,
            generator_cpu: Duration::ZERO,
            workers: 1,
            memory_before_bytes,
            memory_bytes: memory(&cell.pids),
            noise,
        })
    };
    tokio::select! {
        measured = measured => measured,
        () = cancel.cancelled() => Err(BenchError::Cancelled),
    }
}

/// Waits for the end of the workers and adds up their tallies.
async fn merged(tallies: Vec<oneshot::Receiver<LoadTally>>) -> Result<LoadTally, BenchError> {
    let mut whole = LoadTally::default();
    for tally in tallies {
        whole.merge(tally.await.map_err(|_| BenchError::Generator("a worker ended early".to_owned()))?);
    }
    Ok(whole)
}

/// Starts the workers of a measurement. Their clients begin at once, and each worker sends its tally after the window.
fn start_workers(
    cell: &Cell,
    ready: &Arc<AtomicU32>,
    window: &watch::Receiver<Option<Window>>,
    stop: &CancellationToken,
) -> Result<Vec<oneshot::Receiver<LoadTally>>, BenchError> {
    let open_loop = cell.rate.map(|requests_per_second| OpenLoop {
        requests_per_second,
        last_requests_per_second: cell.last_rate.unwrap_or(requests_per_second),
        clients: cell.concurrency,
    });
    let (mut tallies, mut first_client) = (Vec::new(), 0);
    let shares = clients_by_worker(cell.concurrency, cell.protocol, worker_count(cell));
    let leaves_cores = shares.len() < cores() as usize;
    for clients in shares {
        let (request_timeout, think_time) = (cell.request_timeout, cell.think_time);
        let (destination, protocol, mode) = (cell.destination.clone(), cell.protocol, cell.mode);
        let (ready, window, cancel) = (ready.clone(), window.clone(), stop.clone());
        let task = WorkerTask {
            destination,
            protocol,
            probe: cell.probe,
            mode,
            open_loop,
            think_time,
            request_timeout,
            leaves_cores,
            clients,
            first_client,
            ready,
            window,
            cancel,
            network: cell.network.clone(),
        };
        first_client += clients;
        let worker = worker::spawn(task);
        tallies.push(worker.map_err(|error| BenchError::Generator(error.to_string()))?);
    }
    Ok(tallies)
}

/// Measures the first request of each client from its sending to its response, which includes the start of a sleeping app.
/// Ends with the last response.
pub(crate) async fn measure_first_requests(
    cell: &Cell,
    cancel: &CancellationToken,
) -> Result<(Measurement, Duration), BenchError> {
    let started = Instant::now();
    let end = started + cell.request_timeout;
    let ready = Arc::new(AtomicU32::new(0));
    let (_announce, window) = watch::channel(Some(Window { announced: started, start: started, end }));
    let stop = cancel.child_token();
    let _stop = stop.clone().drop_guard();
    let tallies = start_workers(cell, &ready, &window, &stop)?;
    let workers = u32::try_from(tallies.len()).unwrap_or(u32::MAX);
    let is_cancelled = loop {
        if ready.load(Ordering::Relaxed) >= cell.concurrency || Instant::now() >= end {
            break false;
        }
        tokio::select! {
            () = tokio::time::sleep(READY_POLL) => {}
            () = cancel.cancelled() => break true,
        }
    };
    let elapsed = started.elapsed();
    stop.cancel();
    let tally = merged(tallies).await?;
    if is_cancelled {
        return Err(BenchError::Cancelled);
    }
    let clients = ready.load(Ordering::Relaxed).min(cell.concurrency);
    let (cpu, app_cpu, generator_cpu) = Default::default();
    let (memory_before_bytes, memory_bytes) = (0, memory(&cell.pids));
    let measured = Measurement {
        tally,
        clients,
        cpu,
        app_cpu,
        app_connections: 0,
        generator_cpu,
        workers,
        memory_before_bytes,
        memory_bytes,
        noise: None,
    };
    Ok((measured, elapsed))
}

#[derive(Debug, Default)]
struct Usage {
    cpu: CpuUsage,
    memory_bytes: u64,
    noise: Option<MachineNoise>,
    app_connections: u32,
}

/// CPU times of the processes of a measurement.
#[derive(Debug, Clone, Copy, Default)]
struct CpuUsage {
    proxy: Duration,
    app: Duration,
    generator: Duration,
}

impl CpuUsage {
    fn read(cell: &Cell) -> Self {
        let app = cell.app_pids.iter().filter_map(|pid| tree_cpu_time_of(*pid).ok()).sum();
        let proxy = processes(&cell.pids).into_iter().filter_map(|pid| cpu_time_of(pid).ok()).sum();
        Self { proxy, app, generator: own_cpu() }
    }

    fn since(self, before: Self) -> Self {
        Self {
            proxy: self.proxy.saturating_sub(before.proxy),
            app: self.app.saturating_sub(before.app),
            generator: self.generator.saturating_sub(before.generator),
        }
    }

    fn sum(self) -> Duration {
        self.proxy + self.app + self.generator
    }
}

/// Refuses more connections than this process may open: the agent needs descriptors for its other work too.
fn require_descriptors(cell: &Cell) -> Result<(), BenchError> {
    let connections = u64::from(cell.concurrency.div_ceil(cell.protocol.clients_per_connection()));
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if connections + DESCRIPTORS_RESERVED <= limit {
        return Ok(());
    }
    Err(BenchError::Generator(format!(
        "{connections} connections need more than the {limit} open files of this process, of which {DESCRIPTORS_RESERVED} are reserved"
    )))
}

/// Waits until all reachable clients have a response; false if none has.
async fn wait_for_answers(ready: &AtomicU32, clients: u32) -> bool {
    let begun = Instant::now();
    let (mut answered, mut moved) = (0, begun);
    loop {
        let now = ready.load(Ordering::Relaxed);
        if now > answered {
            (answered, moved) = (now, Instant::now());
        }
        if answered >= clients || moved.elapsed() >= NEXT_ANSWER_TIMEOUT || begun.elapsed() >= READY_TIMEOUT {
            return answered > 0;
        }
        tokio::time::sleep(READY_POLL).await;
    }
}

/// Returns the number of clients by worker. One worker has all streams of a connection.
fn clients_by_worker(clients: u32, protocol: Protocol, workers: u32) -> Vec<u32> {
    let unit = protocol.clients_per_connection();
    let workers = workers.min(clients.div_ceil(unit).max(1));
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

/// Returns the number of threads of a measurement. Servers on the same machine need half of its cores, also behind an emulated
/// link. More threads than cores would hide a saturated generator.
fn worker_count(cell: &Cell) -> u32 {
    match cell.workers {
        Some(workers) => workers.get().min(cores()),
        None if cell.network.is_none() && is_elsewhere(&cell.destination.address) => cores(),
        None => (cores() / 2).clamp(1, DEFAULT_WORKERS_MAX),
    }
}

fn cores() -> u32 {
    available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

fn memory(pids: &[u32]) -> u64 {
    processes(pids).into_iter().filter_map(|pid| pss_bytes_of(pid).ok()).sum()
}

/// Returns processes and their present descendants, each once. A program can start its workers after it listens, and
/// replace them at a reload.
fn processes(pids: &[u32]) -> BTreeSet<u32> {
    pids.iter().flat_map(|pid| tree_of(*pid)).collect()
}

/// Counts the accepted and the waiting connections of an app in the network of the clients. Logs a failure and returns 0, so
/// that the row is kept.
fn connections_to(address: SocketAddr, network: Option<&OwnedFd>) -> u32 {
    let opened = match network {
        Some(network) => run_inside(network.as_fd(), SocketDiagnostics::open),
        None => SocketDiagnostics::open(),
    };
    let counted = opened.and_then(|sockets| sockets.connections(address));
    counted.unwrap_or_else(|error| {
        tracing::warn!(%error, "the connections to the app can't be counted");
        0
    })
}

/// Returns the CPU time of this process including ended threads: workers end with the measured time.
fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_worker_and_connections_are_whole() {
        for clients in [1, 2, 15, 16, 17, 33, 500, 9_000] {
            for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http3, Protocol::Grpc] {
                for workers in [1, 3, 64] {
                    let shares = clients_by_worker(clients, protocol, workers);
                    assert_eq!(shares.iter().sum::<u32>(), clients, "{clients} {protocol:?}");
                    assert!(shares.iter().all(|share| *share > 0), "{clients} {protocol:?}: {shares:?}");
                }
            }
        }
    }
}
