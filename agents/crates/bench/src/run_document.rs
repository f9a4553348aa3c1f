//! Document `fairlead-benchmark-2` of a run from a terminal: the published format of rows, for import and reports.

use std::collections::BTreeMap;
use std::time::Duration;

use fairlead_model::{
    BenchmarkPhase, BenchmarkProbe, BenchmarkProgram, BenchmarkProtocol, BenchmarkRow, BenchmarkScenario,
    BenchmarkTarget, LinkReport, MachineNoise, NetworkPath, RunId,
};
use fairlead_telemetry::{bucket_lower_us, bucket_upper_us};
use serde::Serialize;

use crate::plan_document::{PlanConnection, PlanDocument, PlanSpec, PlanUpstream};
use crate::threshold::ThresholdVerdict;

/// Machine that measured, without its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFacts {
    pub os: String,
    pub kernel: String,
    pub arch: String,
    pub cpu_count: u32,
    pub memory_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEnd {
    Succeeded,
    Failed,
    Cancelled,
}

/// Everything that a run measured. Times are RFC 3339 in UTC.
#[derive(Debug, Clone)]
pub struct RunRecord {
    pub run: RunId,
    pub end: RunEnd,
    pub started_at: String,
    pub finished_at: String,
    pub document: PlanDocument,
    /// Host that was requested.
    pub host: String,
    pub agent_version: String,
    pub machine: MachineFacts,
    pub programs: Vec<BenchmarkProgram>,
    pub rows: Vec<BenchmarkRow>,
    pub verdicts: Vec<ThresholdVerdict>,
}

/// Outcome of all thresholds; `None` without any, or if the run has not succeeded.
pub fn has_passed(end: RunEnd, verdicts: &[ThresholdVerdict]) -> Option<bool> {
    (end == RunEnd::Succeeded && !verdicts.is_empty()).then(|| verdicts.iter().all(|verdict| verdict.passed))
}

/// Returns name and description of a scenario in documents; `None` if it needs the control plane.
pub fn scenario_words(scenario: BenchmarkScenario) -> Option<(&'static str, &'static str)> {
    match scenario {
        BenchmarkScenario::Matrix => Some(("ladder", "Concurrency ladder: the same requests at each concurrency.")),
        BenchmarkScenario::Burst => Some(("burst", "Ten times the requests per second for one phase.")),
        BenchmarkScenario::SlowUpstream => Some(("slow upstream", "As many clients again wait for slow responses.")),
        BenchmarkScenario::GreedyClient => {
            Some(("greedy client", "Eight clients download large responses beside the others."))
        }
        BenchmarkScenario::Latency => {
            Some(("latency probes", "JSON, upload, stream, server-sent events and WebSocket messages at low load."))
        }
        BenchmarkScenario::PacketLoss => Some((
            "packet loss",
            "An emulated link between clients and proxies loses and delays packets for one phase.",
        )),
        BenchmarkScenario::Deploy
        | BenchmarkScenario::RouteChange
        | BenchmarkScenario::ProxyUpgrade
        | BenchmarkScenario::Wake => None,
    }
}

/// Returns the name of a target in reports.
pub fn target_label(target: BenchmarkTarget) -> &'static str {
    match target {
        BenchmarkTarget::Proxy => "Fairlead",
        BenchmarkTarget::Direct => "Direct",
        BenchmarkTarget::Floor => "Floor",
        BenchmarkTarget::Nginx => "nginx",
        BenchmarkTarget::Haproxy => "HAProxy",
        BenchmarkTarget::Envoy => "Envoy",
        BenchmarkTarget::Caddy => "Caddy",
        BenchmarkTarget::Traefik => "Traefik",
        BenchmarkTarget::H2o => "h2o",
        BenchmarkTarget::KamalProxy => "kamal-proxy",
        BenchmarkTarget::Spooky => "Spooky",
        BenchmarkTarget::Godoxy => "GoDoxy",
    }
}

/// Returns the phase, stage or probe of a row; `None`: it has none.
pub fn part_label(row: &BenchmarkRow) -> Option<String> {
    row.phase.map(phase_name).or_else(|| row.probe.map(|probe| probe.name().to_owned()))
}

/// Root of the published format.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDocument {
    format: &'static str,
    title: String,
    run_id: RunId,
    state: RunEnd,
    created_at: String,
    started_at: String,
    finished_at: String,
    command: Option<String>,
    method: Vec<String>,
    warmup_ms: u32,
    plan: PlanSpec,
    facts: DocumentFacts,
    scenarios: Vec<DocumentScenario>,
    targets: Vec<DocumentTarget>,
    baseline: Option<BenchmarkTarget>,
    not_measured: Vec<NotMeasured>,
    outcome: &'static str,
    thresholds: Vec<ThresholdVerdict>,
    rows: Vec<DocumentRow>,
}

/// A terminal knows no release and no settings.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentFacts {
    release: Option<()>,
    config_number: Option<u32>,
    agent_version: String,
    machine: MachineFacts,
    end_release_number: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct DocumentScenario {
    name: &'static str,
    description: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentTarget {
    name: BenchmarkTarget,
    label: &'static str,
    kind: &'static str,
    version: Option<String>,
    configuration: Option<String>,
    network_path: Option<NetworkPath>,
}

#[derive(Debug, Clone, Serialize)]
struct NotMeasured {
    target: BenchmarkTarget,
    scenario: Option<&'static str>,
    reason: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentRow {
    position: u32,
    round: u32,
    scenario: &'static str,
    target: BenchmarkTarget,
    protocol: BenchmarkProtocol,
    connection: PlanConnection,
    phase: Option<String>,
    probe: Option<BenchmarkProbe>,
    network_path: Option<NetworkPath>,
    concurrency: u32,
    clients: u32,
    duration_ms: u64,
    requests: u64,
    errors: u64,
    failures: BTreeMap<String, u64>,
    latency: DocumentLatency,
    proxy_cpu_us: Option<u64>,
    app_cpu_us: Option<u64>,
    generator_cpu_us: u64,
    generator_saturated: bool,
    proxy_memory_bytes: Option<u64>,
    bytes_received: u64,
    noise: Option<DocumentNoise>,
    link: Option<DocumentLink>,
    app_connections: u32,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentNoise {
    machine_cpu_us: u64,
    other_cpu_us: Option<u64>,
    steal_us: u64,
    frequency_mhz: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentLink {
    loss_percent: f64,
    delay_ms: u64,
    packets: u64,
    lost: u64,
    overflowed: u64,
    forwarded: u64,
    kernel_sent: u64,
    kernel_received: u64,
    round_trip_ms: f64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentLatency {
    sum_us: u64,
    /// Lowest latency, lowest latency above the bucket, requests.
    buckets: Vec<(u64, u64, u64)>,
}

impl From<RunRecord> for RunDocument {
    fn from(record: RunRecord) -> Self {
        let RunRecord { document: PlanDocument { name, plan, .. }, rows, programs, verdicts, .. } = record;
        let (scenario, description) = scenario_words(plan.scenario).unwrap_or_default();
        let is_measured = |target| rows.iter().any(|row| row.target == target);
        let is_lab = plan.upstream == PlanUpstream::Lab;
        let baseline = (is_lab && is_measured(BenchmarkTarget::Nginx)).then_some(BenchmarkTarget::Nginx);
        let targets = plan.targets.iter().map(|target| document_target(*target, &programs, &rows)).collect();
        let not_measured = programs.iter().filter_map(|program| {
            let reason = program.skipped.clone()?;
            Some(NotMeasured { target: program.target, scenario: None, reason })
        });
        Self {
            format: "fairlead-benchmark-2",
            title: name,
            run_id: record.run,
            state: record.end,
            created_at: record.started_at.clone(),
            started_at: record.started_at,
            finished_at: record.finished_at,
            command: None,
            method: plan.load.sentences(plan.requests_per_second),
            warmup_ms: plan.warmup_ms,
            facts: DocumentFacts {
                release: None,
                config_number: None,
                agent_version: record.agent_version,
                machine: record.machine,
                end_release_number: None,
            },
            scenarios: vec![DocumentScenario { name: scenario, description }],
            targets,
            baseline,
            not_measured: not_measured.collect(),
            outcome: match has_passed(record.end, &verdicts) {
                None => "none",
                Some(true) => "passed",
                Some(false) => "failed",
            },
            thresholds: verdicts,
            rows: rows.into_iter().map(|row| document_row(row, scenario, plan.connection)).collect(),
            plan: PlanSpec { host: Some(record.host), ..plan.redacted() },
        }
    }
}

fn document_target(target: BenchmarkTarget, programs: &[BenchmarkProgram], rows: &[BenchmarkRow]) -> DocumentTarget {
    let program = programs.iter().find(|program| program.target == target);
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    DocumentTarget {
        name: target,
        label: target_label(target),
        kind: match target {
            BenchmarkTarget::Proxy => "proxy",
            BenchmarkTarget::Direct => "direct",
            BenchmarkTarget::Floor => "floor",
            _ => "peer",
        },
        version: program.and_then(|program| some(&program.version)),
        configuration: program.and_then(|program| some(&program.configuration)),
        // Rows of a run from a terminal all have one path.
        network_path: rows.iter().find(|row| row.target == target).and_then(|row| row.network_path),
    }
}

fn document_row(row: BenchmarkRow, scenario: &'static str, connection: PlanConnection) -> DocumentRow {
    let some = |value: u64| (value > 0).then_some(value);
    let bounds = |(index, count)| (bucket_lower_us(index), bucket_upper_us(index), count);
    DocumentRow {
        position: row.position,
        round: row.round,
        scenario,
        target: row.target,
        protocol: row.protocol,
        connection,
        phase: row.phase.map(phase_name),
        probe: row.probe,
        network_path: row.network_path,
        concurrency: row.concurrency,
        clients: row.clients,
        duration_ms: millis(row.duration),
        requests: row.requests,
        errors: row.errors,
        failures: row.failures,
        latency: DocumentLatency { sum_us: row.latency_sum_us, buckets: row.latency.into_iter().map(bounds).collect() },
        proxy_cpu_us: some(micros(row.proxy_cpu)),
        app_cpu_us: some(micros(row.app_cpu)),
        generator_cpu_us: micros(row.generator_cpu),
        generator_saturated: row.generator_saturated,
        proxy_memory_bytes: some(row.proxy_memory_bytes),
        bytes_received: row.bytes_received,
        noise: row.noise.map(document_noise),
        link: row.link.map(document_link),
        app_connections: row.app_connections,
    }
}

fn phase_name(phase: BenchmarkPhase) -> String {
    match phase {
        BenchmarkPhase::Before => "before".to_owned(),
        BenchmarkPhase::During => "during".to_owned(),
        BenchmarkPhase::After => "after".to_owned(),
        BenchmarkPhase::Stage(number) => format!("stage-{number}"),
    }
}

fn document_noise(noise: MachineNoise) -> DocumentNoise {
    DocumentNoise {
        machine_cpu_us: micros(noise.machine_cpu),
        other_cpu_us: noise.other_cpu.map(micros),
        steal_us: micros(noise.steal),
        frequency_mhz: noise.frequency_mhz,
    }
}

fn document_link(LinkReport { condition, counters, round_trip }: LinkReport) -> DocumentLink {
    DocumentLink {
        loss_percent: f64::from(condition.loss_per_million) / 10_000.0,
        delay_ms: millis(condition.delay),
        packets: counters.packets,
        lost: counters.lost,
        overflowed: counters.overflowed,
        forwarded: counters.forwarded,
        kernel_sent: counters.kernel_sent,
        kernel_received: counters.kernel_received,
        round_trip_ms: round_trip.as_secs_f64() * 1000.0,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
