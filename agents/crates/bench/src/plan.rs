//! Runs a benchmark plan of desired state: the order of its measurements, and their rows.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_model::{
    BenchmarkGate, BenchmarkPhase, BenchmarkPlan, BenchmarkProbe, BenchmarkProtocol, BenchmarkRow, BenchmarkScenario,
    BenchmarkStage, BenchmarkTarget, LinkCondition, LinkReport, NetworkPath, UpstreamAddress,
};
use rustls::pki_types::ServerName;

use crate::cell::{Cell, Measurement, REQUEST_TIMEOUT, measure, measure_first_requests};
use crate::client::{LoadTarget, Protocol};
use crate::error::BenchError;
use crate::link::EmulatedLink;
use crate::mode::Mode;
use crate::row::{cpu_share, is_generator_saturated};
use crate::run_document::target_label;
use crate::tls::client_config;
use crate::turn::MeasurementTurns;

/// Factor of a burst's rate.
const BURST: f64 = 10.0;
/// Clients of a greedy download.
const GREEDY_CLIENTS: u32 = 8;
/// Path of a greedy download: 1 MiB of the lab's app.
const GREEDY_PATH: &str = "/bytes/1048576";
/// Path of a slow response: one second of the lab's app.
const SLOW_PATH: &str = "/delay/1000";

/// Proxy of this server, as a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyTarget {
    /// Address of the HTTPS listener.
    pub address: SocketAddr,
    /// Certificates (DER) to trust, and no others.
    pub roots: Vec<Vec<u8>>,
    /// Process to measure CPU and memory of.
    pub pid: Option<u32>,
}

/// Addresses and processes of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetEndpoint {
    /// Address of its HTTPS listener.
    pub https: Option<SocketAddr>,
    /// Address that it serves without TLS. An instance with its own network is reached with sockets that its shim hands over, as
    /// the proxy does.
    pub cleartext: Option<UpstreamAddress>,
    /// Processes to measure CPU and memory of.
    pub pids: Vec<u32>,
}

/// Targets that can be measured.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    pub endpoints: BTreeMap<BenchmarkTarget, TargetEndpoint>,
    /// Certificates (DER) to trust, and no others.
    pub roots: Vec<Vec<u8>>,
    /// Network path from the proxies to the app; `None`: no instance runs.
    pub network_path: Option<NetworkPath>,
    /// Processes of the app, each with its descendants; empty: its CPU is not measured.
    pub app_pids: Vec<u32>,
    /// Address of the app, if its connections are counted.
    pub app_address: Option<SocketAddr>,
    /// Link between clients and proxies, if it is emulated.
    pub link: Option<EmulatedLink>,
    /// Network namespace of the clients; `None`: that of this process, or of the link's near end.
    pub network: Option<Arc<OwnedFd>>,
}

impl Targets {
    /// Targets of an app: this server's proxy and one of its instances. Without the one or the other, its measurement fails.
    /// `app_pids` are the processes of all its instances.
    pub fn of_app(proxy: Option<ProxyTarget>, direct: Option<UpstreamAddress>, app_pids: Vec<u32>) -> Self {
        let network_path = direct.as_ref().map(NetworkPath::to);
        let (https, pids, roots) = match proxy {
            None => Default::default(),
            Some(proxy) => (Some(proxy.address), proxy.pid.into_iter().collect(), proxy.roots),
        };
        let proxy = TargetEndpoint { https, cleartext: None, pids };
        let direct = TargetEndpoint { https: None, cleartext: direct, pids: Vec::new() };
        let endpoints = [(BenchmarkTarget::Proxy, proxy), (BenchmarkTarget::Direct, direct)].into();
        Self { endpoints, roots, network_path, app_pids, ..Self::default() }
    }
}

/// Observer of the progress of a run. It must not block.
pub trait RunObserver {
    /// A row was measured.
    fn row(&mut self, row: &BenchmarkRow);
    /// The measured time of a second phase starts, and with it the event of the scenario.
    fn event_begins(&mut self, scenario: BenchmarkScenario);
    /// The measured time of a second phase is over.
    fn event_ends(&mut self);
    /// Reports the number of rows of a distributed run for which this server is ready.
    fn ready(&mut self, _rows: u32) {}
    /// Puts the measured app to sleep, and waits until it has no instance that the proxy knows. The error is a sentence.
    fn sleep(&mut self) -> impl Future<Output = Result<(), String>> + Send {
        ready(Err("no app can sleep here".to_owned()))
    }
}

/// Observer of a run without events.
impl<F: FnMut(&BenchmarkRow)> RunObserver for F {
    fn row(&mut self, row: &BenchmarkRow) {
        self(row);
    }

    fn event_begins(&mut self, _: BenchmarkScenario) {}

    fn event_ends(&mut self) {}
}

/// Returns the number of rows of a plan whose targets can all be measured.
pub fn rows_total(plan: &BenchmarkPlan) -> u32 {
    u32::try_from(order(plan).count()).unwrap_or(u32::MAX)
}

/// Returns the number of rows of those targets that can be measured.
pub fn rows_measurable(plan: &BenchmarkPlan, targets: &Targets) -> u32 {
    let measurable = order(plan).filter(|step| targets.endpoints.contains_key(&step.target)).count();
    u32::try_from(measurable).unwrap_or(u32::MAX)
}

/// Runs every measurement of a plan, round by round, after the rows that are `done`. Targets without an endpoint are left
/// out. An error ends the run; rows reported before it stay valid.
pub async fn resume_plan(
    plan: &BenchmarkPlan,
    targets: &Targets,
    done: Vec<BenchmarkRow>,
    turns: &MeasurementTurns,
    cancel: CancellationToken,
    observer: &mut impl RunObserver,
) -> Result<Vec<BenchmarkRow>, BenchError> {
    let steps = order(plan).filter(|step| targets.endpoints.contains_key(&step.target));
    let mut steps = (0..).zip(steps);
    for row in &done {
        if steps.next().is_none_or(|(position, step)| !step.is_of(position, row)) {
            return Err(BenchError::Plan("its targets changed while the agent restarted".to_owned()));
        }
    }
    let mut rows = done;
    for (position, step) in steps {
        let cell = cell(plan, targets, step)?;
        let turn = turns.take_unless(&cancel).await?;
        let row = match plan.scenario {
            BenchmarkScenario::PacketLoss => {
                let (measured, link) = over_link(plan, targets, step, &cell, &cancel).await?;
                BenchmarkRow { link: Some(link), ..row(position, step, targets.network_path, &cell, measured) }
            }
            BenchmarkScenario::Wake => {
                observer.sleep().await.map_err(BenchError::Event)?;
                let (measured, duration) = measure_first_requests(&cell, &cancel).await?;
                row(position, step, targets.network_path, &Cell { duration, ..cell }, measured)
            }
            _ => {
                let measured = match step.phase {
                    Some(BenchmarkPhase::During) => during(plan, targets, step, &cell, &cancel, observer).await?,
                    _ => measure(&cell, &cancel, || ()).await?,
                };
                row(position, step, targets.network_path, &cell, measured)
            }
        };
        drop(turn);
        observer.row(&row);
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(BenchError::NotRunning);
    }
    Ok(rows)
}

/// Runs every measurement of a plan.
pub async fn run_plan(
    plan: &BenchmarkPlan,
    targets: &Targets,
    turns: &MeasurementTurns,
    cancel: CancellationToken,
    observer: &mut impl RunObserver,
) -> Result<Vec<BenchmarkRow>, BenchError> {
    resume_plan(plan, targets, Vec::new(), turns, cancel, observer).await
}

/// Measures a phase over the emulated link, which is impaired in the second one. The link is the same in all three.
async fn over_link(
    plan: &BenchmarkPlan,
    targets: &Targets,
    step: PlannedCell,
    cell: &Cell,
    cancel: &CancellationToken,
) -> Result<(Measurement, LinkReport), BenchError> {
    let failed = |error: io::Error| BenchError::Link(error.to_string());
    let missing = || BenchError::Refused("there is no link between clients and proxies".to_owned());
    let link = targets.link.as_ref().ok_or_else(missing)?;
    let impaired = if step.phase == Some(BenchmarkPhase::During) { plan.link } else { LinkCondition::default() };
    // Same seed for all targets of a round: they lose packets by the same sequence of numbers.
    let condition = LinkCondition { seed: u64::from(step.round) + 1, ..impaired };
    let UpstreamAddress::Tcp { address, .. } = cell.destination.address else { return Err(missing()) };
    link.set(condition).await.map_err(failed)?;
    let round_trip = link.round_trip(address).await.map_err(failed)?;
    link.set(condition).await.map_err(failed)?;
    let measured = measure(cell, cancel, || ()).await?;
    let counters = link.set(LinkCondition::default()).await.map_err(failed)?;
    Ok((measured, LinkReport { condition, counters, round_trip }))
}

/// Measures the second phase, with the load or the event that its scenario adds.
async fn during(
    plan: &BenchmarkPlan,
    targets: &Targets,
    step: PlannedCell,
    cell: &Cell,
    cancel: &CancellationToken,
    observer: &mut impl RunObserver,
) -> Result<Measurement, BenchError> {
    let beside = match plan.scenario {
        BenchmarkScenario::SlowUpstream => Some((cell.concurrency, SLOW_PATH)),
        BenchmarkScenario::GreedyClient => Some((GREEDY_CLIENTS, GREEDY_PATH)),
        _ => None,
    };
    let scenario = plan.scenario;
    let measured = measure(cell, cancel, || observer.event_begins(scenario));
    let measured = match beside {
        None => measured.await,
        Some((concurrency, path)) => {
            let other = other_load(plan, targets, step, concurrency, path)?;
            tokio::select! {
                measured = measured => measured,
                failed = async {
                    match measure(&other, cancel, || ()).await {
                        Err(error) => error,
                        // Its time is longer than that of the row.
                        Ok(_) => pending().await,
                    }
                } => Err(failed),
            }
        }
    };
    observer.event_ends();
    measured
}

/// Returns the load beside a measurement. It lasts until it is dropped.
fn other_load(
    plan: &BenchmarkPlan,
    targets: &Targets,
    step: PlannedCell,
    concurrency: u32,
    path: &str,
) -> Result<Cell, BenchError> {
    let cell = cell(plan, targets, step)?;
    let destination = LoadTarget { path: path.to_owned(), requests: [].into(), ..cell.destination };
    let duration = Duration::from_secs(3600);
    let think_time = Duration::ZERO;
    Ok(Cell { destination, rate: None, think_time, concurrency, duration, mode: Mode::Keepalive, ..cell })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedCell {
    round: u32,
    concurrency: u32,
    protocol: BenchmarkProtocol,
    target: BenchmarkTarget,
    phase: Option<BenchmarkPhase>,
    probe: Option<BenchmarkProbe>,
}

impl PlannedCell {
    /// Returns whether the row is the result of this cell.
    pub(crate) fn is_of(self, position: u32, row: &BenchmarkRow) -> bool {
        let BenchmarkRow { round, concurrency, protocol, target, phase, probe, .. } = *row;
        position == row.position && self == Self { round, concurrency, protocol, target, phase, probe }
    }
}

/// Orders rounds outermost, and targets with their phases or probes innermost, so that compared cells run one after the
/// other.
pub(crate) fn order(plan: &BenchmarkPlan) -> impl Iterator<Item = PlannedCell> + '_ {
    (0..plan.repeats).flat_map(move |round| {
        plan.concurrency.iter().flat_map(move |concurrency| {
            plan.protocols.iter().flat_map(move |protocol| {
                let targets = plan.targets.iter().filter(|target| target.speaks(*protocol));
                targets.flat_map(move |target| {
                    let (concurrency, protocol, target) = (*concurrency, *protocol, *target);
                    plan.phases().into_iter().flat_map(move |phase| {
                        let probes = plan.scenario.probes().iter();
                        let cell = PlannedCell { round, concurrency, protocol, target, phase, probe: None };
                        probes.map(move |probe| PlannedCell { probe: *probe, ..cell })
                    })
                })
            })
        })
    })
}

/// Returns the first and the last rate of a stage, and its time.
fn stage(plan: &BenchmarkPlan, number: u32) -> Option<(f64, f64, Duration)> {
    let stages = &plan.load.stages;
    let at = usize::try_from(number.checked_sub(1)?).ok()?;
    let BenchmarkStage { duration, rate } = *stages.get(at)?;
    let first = at.checked_sub(1).map_or(plan.rate, |before| Some(stages[before].rate))?;
    Some((first, rate, duration))
}

pub(crate) fn cell(plan: &BenchmarkPlan, targets: &Targets, step: PlannedCell) -> Result<Cell, BenchError> {
    let protocol = match step.protocol {
        BenchmarkProtocol::Http1 | BenchmarkProtocol::Http1Cleartext => Protocol::Http1,
        BenchmarkProtocol::Http2 => Protocol::Http2,
        BenchmarkProtocol::Http3 => Protocol::Http3,
        BenchmarkProtocol::Grpc => Protocol::Grpc,
    };
    let endpoint = targets.endpoints.get(&step.target).ok_or(BenchError::NotRunning)?;
    let is_plain = step.target == BenchmarkTarget::Direct || step.protocol == BenchmarkProtocol::Http1Cleartext;
    let (address, tls) = if is_plain {
        (endpoint.cleartext.clone().ok_or(BenchError::NotRunning)?, None)
    } else {
        let address = endpoint.https.ok_or(BenchError::NotRunning)?;
        let host = ServerName::try_from(plan.host.clone());
        let host = host.map_err(|_| BenchError::Plan(format!("`{}` is not a host name", plan.host)))?;
        (address.into(), Some((client_config(&targets.roots, protocol)?, host)))
    };
    let authority = match (is_plain, port(&address)) {
        (false, Some(443)) | (_, None) => plan.host.clone(),
        (_, Some(port)) => format!("{}:{port}", plan.host),
    };
    let is_direct = step.target == BenchmarkTarget::Direct;
    // An upgrade replaces the process whose id is known.
    let has_pids = !is_direct && plan.scenario != BenchmarkScenario::ProxyUpgrade;
    let pids = if has_pids { endpoint.pids.clone() } else { Vec::new() };
    let replaces = matches!(plan.scenario, BenchmarkScenario::Deploy | BenchmarkScenario::ProxyUpgrade);
    let knows_processes = !replaces && !targets.app_pids.is_empty() && (is_direct || !pids.is_empty());
    let is_burst = plan.scenario == BenchmarkScenario::Burst && step.phase == Some(BenchmarkPhase::During);
    let (rate, last_rate, duration) = match step.phase {
        Some(BenchmarkPhase::Stage(number)) => {
            let stage = stage(plan, number);
            let (first, last, duration) =
                stage.ok_or_else(|| BenchError::Plan("its stages need requests per second".to_owned()))?;
            (Some(first), Some(last), duration)
        }
        _ => (plan.rate.map(|rate| if is_burst { rate * BURST } else { rate }), None, plan.duration),
    };
    let path = step.probe.map_or_else(|| plan.path.clone(), |probe| probe.path().to_owned());
    let requests = plan.load.requests.as_slice().into();
    Ok(Cell {
        name: name(step.target).to_owned(),
        destination: LoadTarget { address, tls, authority, path, requests },
        protocol,
        probe: step.probe,
        mode: match plan.scenario {
            BenchmarkScenario::Wake => Mode::Idle,
            _ if plan.fresh_connections => Mode::Fresh,
            _ => Mode::Keepalive,
        },
        rate,
        last_rate,
        think_time: plan.load.think_time,
        request_timeout: REQUEST_TIMEOUT,
        concurrency: step.concurrency,
        workers: plan.load.workers,
        warmup: plan.warmup,
        duration,
        pids,
        app_pids: targets.app_pids.clone(),
        knows_processes,
        app_address: targets.app_address,
        network: targets.network.clone().or_else(|| targets.link.as_ref().map(EmulatedLink::clients)),
    })
}

fn name(target: BenchmarkTarget) -> &'static str {
    match target {
        BenchmarkTarget::Proxy => "the app through the proxy",
        BenchmarkTarget::Direct => "the app itself",
        BenchmarkTarget::Floor => "the null proxy",
        other => target_label(other),
    }
}

/// Returns a measurement of an instance for a benchmark gate.
pub(crate) fn direct_cell(address: UpstreamAddress, gate: &BenchmarkGate) -> Cell {
    let authority = match port(&address) {
        Some(port) => format!("{}:{port}", gate.host),
        None => gate.host.clone(),
    };
    Cell {
        name: "the new release".to_owned(),
        destination: LoadTarget { address, tls: None, authority, path: gate.path.clone(), requests: [].into() },
        protocol: Protocol::Http1,
        probe: None,
        mode: Mode::Keepalive,
        rate: None,
        last_rate: None,
        think_time: Duration::ZERO,
        request_timeout: REQUEST_TIMEOUT,
        concurrency: gate.concurrency,
        warmup: gate.warmup,
        duration: gate.duration,
        pids: Vec::new(),
        app_pids: Vec::new(),
        knows_processes: false,
        workers: None,
        app_address: None,
        network: None,
    }
}

/// Returns the row of a measurement of `direct_cell`.
pub(crate) fn direct_row(round: u32, cell: &Cell, network_path: NetworkPath, measured: Measurement) -> BenchmarkRow {
    let (target, protocol) = (BenchmarkTarget::Direct, BenchmarkProtocol::Http1);
    let step = PlannedCell { round, concurrency: cell.concurrency, protocol, target, phase: None, probe: None };
    row(round, step, Some(network_path), cell, measured)
}

/// `None`: the app listens on a Unix socket.
fn port(address: &UpstreamAddress) -> Option<u16> {
    match address {
        UpstreamAddress::Tcp { address, .. } | UpstreamAddress::Namespace { address: Some(address), .. } => {
            Some(address.port())
        }
        UpstreamAddress::Unix { .. } | UpstreamAddress::Namespace { address: None, .. } => None,
    }
}

pub(crate) fn row(
    position: u32,
    step: PlannedCell,
    network_path: Option<NetworkPath>,
    cell: &Cell,
    measured: Measurement,
) -> BenchmarkRow {
    let Measurement { tally, clients, cpu, app_cpu, generator_cpu, workers, .. } = measured;
    let Measurement { memory_bytes, noise, app_connections, .. } = measured;
    let lateness = cell.rate.and_then(|_| tally.open_loop.generator_lateness.quantile_us(0.99));
    BenchmarkRow {
        position,
        round: step.round,
        target: step.target,
        protocol: step.protocol,
        network_path,
        concurrency: step.concurrency,
        duration: cell.duration,
        requests: tally.requests,
        errors: tally.errors(),
        latency: tally.latency.sparse().collect(),
        latency_sum_us: tally.latency.sum_us(),
        proxy_cpu: cpu,
        proxy_memory_bytes: memory_bytes,
        bytes_received: tally.body_bytes,
        phase: step.phase,
        probe: step.probe,
        failures: tally.failures.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect(),
        generator_cpu,
        generator_saturated: is_generator_saturated(cpu_share(generator_cpu, cell.duration, workers), lateness),
        app_cpu,
        clients,
        latency_max_us: tally.latency_max_us,
        unsent: tally.open_loop.unsent,
        noise,
        link: None,
        app_connections,
        start_unix_us: None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairlead_model::{AppId, AppKey, BenchmarkLoad, EnvironmentId, LabServer, RunId};

    use super::*;

    #[test]
    fn rounds_interleave_the_targets_and_http2_is_measured_through_the_proxy_only() {
        let plan = BenchmarkPlan {
            run: RunId::parse("run_1").unwrap(),
            key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
            host: "hello.localhost".to_owned(),
            path: "/".to_owned(),
            targets: vec![BenchmarkTarget::Proxy, BenchmarkTarget::Direct],
            protocols: vec![BenchmarkProtocol::Http1, BenchmarkProtocol::Http2],
            concurrency: vec![8],
            repeats: 2,
            duration: Duration::from_millis(100),
            warmup: Duration::ZERO,
            lab: None,
            lab_server: LabServer::Own,
            lab_release: None,
            scenario: BenchmarkScenario::Matrix,
            fresh_connections: false,
            rate: None,
            load: BenchmarkLoad::default(),
            link: LinkCondition::default(),
            part: None,
        };
        let cells: Vec<_> = order(&plan).map(|step| (step.round, step.protocol, step.target)).collect();
        let round = [
            (BenchmarkProtocol::Http1, BenchmarkTarget::Proxy),
            (BenchmarkProtocol::Http1, BenchmarkTarget::Direct),
            (BenchmarkProtocol::Http2, BenchmarkTarget::Proxy),
        ];
        let expected: Vec<_> = (0..2).flat_map(|number| round.map(|(p, t)| (number, p, t))).collect();
        assert_eq!(cells, expected);
        assert_eq!(rows_total(&plan), 6);
    }
}
