//! Benchmark plans of desired state, and the status of their runs in reports.

use std::num::NonZeroU32;
use std::time::Duration;

use fairlead_model::{
    BenchmarkLoad, BenchmarkPart, BenchmarkPhase, BenchmarkPlan, BenchmarkProbe, BenchmarkProgram, BenchmarkProtocol,
    BenchmarkRequest, BenchmarkRole, BenchmarkRow, BenchmarkScenario, BenchmarkStage, BenchmarkStatus, BenchmarkTarget,
    LabApp, LabServer, LinkCondition, LinkReport, MachineNoise, NetworkPath, PortCheck, RowOrder, StateError,
};

use crate::agent;
use crate::parse::{host, id, key, milliseconds, path, within, wrong};
use crate::render::{failure, saturate, work};

/// Highest rate of an open loop, in requests per second.
const RATE_MAX: f64 = 1e6;
const REQUESTS_MAX: u64 = 50;
const STAGES_MAX: u64 = 10;
const WORKERS_MAX: u64 = 64;
const HEADERS_MAX: u64 = 20;
const HEADER_BYTES_MAX: u64 = 8192;
/// Most bytes of all bodies of a plan.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// Greatest impairment of a link: with more, connections no longer open.
const LOSS_PER_MILLION_MAX: u64 = 500_000;
const LINK_DELAY_MS_MAX: u64 = 2_000;
/// Most addresses of an app's server.
const ADDRESSES_MAX: u64 = 32;
const CA_BYTES_MAX: u64 = 64 * 1024;

pub(crate) fn plan(at: &str, spec: agent::BenchmarkPlan) -> Result<BenchmarkPlan, StateError> {
    host(&format!("{at}.host"), &spec.host)?;
    path(&format!("{at}.path"), &spec.path)?;
    let unknown = |field: &str| wrong(&format!("{at}.{field}"), "holds one unknown here");
    let targets = spec.targets.iter().map(|name| target(*name).ok_or_else(|| unknown("targets")));
    let protocols = spec.protocols.iter().map(|name| protocol(*name).ok_or_else(|| unknown("protocols")));
    let (targets, protocols) = (targets.collect::<Result<Vec<_>, _>>()?, protocols.collect::<Result<Vec<_>, _>>()?);
    if targets.is_empty() || protocols.is_empty() || spec.concurrency.is_empty() {
        return Err(wrong(at, "has no target, protocol or concurrency"));
    }
    for clients in &spec.concurrency {
        within(at, "concurrency", u64::from(*clients), 1, 20_000)?;
    }
    within(at, "repeats", spec.repeats.into(), 1, 100)?;
    let scenario = scenario(spec.scenario).ok_or_else(|| unknown("scenario"))?;
    within(at, "workers", spec.workers.into(), 0, WORKERS_MAX)?;
    let workers = NonZeroU32::new(spec.workers);
    let load = BenchmarkLoad { workers, ..load(at, spec.requests, spec.think_time_ms, spec.stages)? };
    if !load.stages.is_empty() && (spec.requests_per_second <= 0.0 || scenario != BenchmarkScenario::Matrix) {
        return Err(wrong(&format!("{at}.stages"), "needs a rate and no scenario"));
    }
    // One report carries all rows and must fit a frame of the link.
    let phases = scenario.phases().len().max(load.stages.len());
    let parts = phases * scenario.probes().len();
    let cells = (targets.len() * protocols.len() * spec.concurrency.len() * parts) as u64;
    within(at, "rows", cells.saturating_mul(spec.repeats.into()), 1, 400)?;
    within(at, "duration_ms", spec.duration_ms.into(), 1, 600_000)?;
    within(at, "warmup_ms", spec.warmup_ms.into(), 0, 600_000)?;
    let rate = spec.requests_per_second;
    if !(0.0..=RATE_MAX).contains(&rate) {
        return Err(wrong(&format!("{at}.requests_per_second"), format!("is {rate}, not within 0 and {RATE_MAX}")));
    }
    let lab_server = spec.lab.as_ref().map_or(Some(LabServer::Own), |lab| server(lab.server));
    let lab_server = lab_server.ok_or_else(|| unknown("lab.server"))?;
    let release = spec.lab.as_ref().filter(|_| lab_server == LabServer::Release);
    let lab_release = release.map(|lab| id(&format!("{at}.lab"), "release_id", &lab.release_id)).transpose()?;
    let lab = spec.lab.map(|lab| LabApp {
        response_bytes: lab.response_bytes,
        response_delay: milliseconds(lab.response_delay_ms),
        error_every: lab.error_every,
        serves_probes: scenario == BenchmarkScenario::Latency,
        speaks_grpc: protocols.contains(&BenchmarkProtocol::Grpc),
    });
    let only_lab = |target: &BenchmarkTarget| !matches!(target, BenchmarkTarget::Proxy | BenchmarkTarget::Direct);
    if lab.is_none() && (targets.iter().any(only_lab) || protocols.contains(&BenchmarkProtocol::Http1Cleartext)) {
        return Err(wrong(&format!("{at}.lab"), "is missing, and a target or protocol needs it"));
    }
    if scenario == BenchmarkScenario::Latency {
        let is_http1 = |protocol: &BenchmarkProtocol| {
            matches!(protocol, BenchmarkProtocol::Http1 | BenchmarkProtocol::Http1Cleartext)
        };
        if lab.is_none() || !protocols.iter().all(is_http1) {
            return Err(wrong(&format!("{at}.scenario"), "needs the lab and HTTP/1.1"));
        }
    }
    if protocols.contains(&BenchmarkProtocol::Grpc) && (protocols.len() > 1 || lab_server != LabServer::Own) {
        return Err(wrong(&format!("{at}.protocols"), "has gRPC beside another protocol or app server"));
    }
    if let Some(lab) = &lab {
        within(at, "lab.response_bytes", lab.response_bytes.into(), 0, 16 << 20)?;
        within(at, "lab.response_delay_ms", lab.response_delay.as_millis() as u64, 0, 60_000)?;
    }
    let link = spec.link.unwrap_or_default();
    within(at, "link.loss_per_million", link.loss_per_million.into(), 0, LOSS_PER_MILLION_MAX)?;
    within(at, "link.delay_ms", link.delay_ms.into(), 0, LINK_DELAY_MS_MAX)?;
    let delay = milliseconds(link.delay_ms);
    let part = spec.part.map(|spec| part(&format!("{at}.part"), spec)).transpose()?;
    let is_plain = lab.is_none() && matches!(scenario, BenchmarkScenario::Matrix | BenchmarkScenario::Burst);
    if part.is_some() && (!is_plain || targets != [BenchmarkTarget::Proxy]) {
        return Err(wrong(&format!("{at}.part"), "needs the target proxy, and no lab or other scenario"));
    }
    let link = LinkCondition { loss_per_million: link.loss_per_million, delay, seed: 0 };
    Ok(BenchmarkPlan {
        run: id(at, "run_id", &spec.run_id)?,
        key: key(at, &spec.app_id, &spec.environment_id)?,
        host: spec.host,
        path: spec.path,
        targets,
        protocols,
        concurrency: spec.concurrency,
        repeats: spec.repeats,
        duration: milliseconds(spec.duration_ms),
        warmup: milliseconds(spec.warmup_ms),
        lab,
        lab_server,
        lab_release,
        scenario,
        fresh_connections: spec.connection == i32::from(agent::BenchmarkConnection::Fresh),
        rate: (rate > 0.0).then_some(rate),
        load,
        link,
        part,
    })
}

fn part(at: &str, spec: agent::BenchmarkPart) -> Result<BenchmarkPart, StateError> {
    let role = match agent::BenchmarkRole::try_from(spec.role) {
        Ok(agent::BenchmarkRole::Measure) => BenchmarkRole::Measure,
        Ok(agent::BenchmarkRole::Load) => BenchmarkRole::Load,
        Ok(agent::BenchmarkRole::Unspecified) | Err(_) => return Err(wrong(at, "has a role unknown here")),
    };
    within(at, "addresses", spec.addresses.len() as u64, 0, ADDRESSES_MAX)?;
    within(at, "ca_pem", spec.ca_pem.len() as u64, 0, CA_BYTES_MAX)?;
    let addresses = spec.addresses.iter().map(|address| {
        address
            .parse()
            .map_err(|_| wrong(&format!("{at}.addresses"), format!("holds `{address}`, which is no address")))
    });
    let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
    if role == BenchmarkRole::Load && addresses.is_empty() {
        return Err(wrong(&format!("{at}.addresses"), "is empty"));
    }
    let check = match role {
        BenchmarkRole::Measure => None,
        BenchmarkRole::Load => {
            let answer: Result<[u8; 32], _> = spec.check_answer.as_slice().try_into();
            let answer = answer.map_err(|_| wrong(&format!("{at}.check_answer"), "is not 32 bytes long"))?;
            host(&format!("{at}.check_name"), &spec.check_name)?;
            Some(PortCheck { name: spec.check_name, answer })
        }
    };
    let order = RowOrder { row: spec.row, start_unix_us: (spec.start_unix_us > 0).then_some(spec.start_unix_us) };
    Ok(BenchmarkPart { role, addresses, ca_pem: spec.ca_pem, order, check })
}

fn server(name: i32) -> Option<LabServer> {
    Some(match agent::BenchmarkServer::try_from(name).ok()? {
        agent::BenchmarkServer::Unspecified => LabServer::Own,
        agent::BenchmarkServer::NodeCluster => LabServer::NodeCluster,
        agent::BenchmarkServer::Uvicorn => LabServer::Uvicorn,
        agent::BenchmarkServer::Puma => LabServer::Puma,
        agent::BenchmarkServer::Release => LabServer::Release,
    })
}

fn load(
    at: &str,
    requests: Vec<agent::BenchmarkRequest>,
    think_time_ms: u32,
    stages: Vec<agent::BenchmarkStage>,
) -> Result<BenchmarkLoad, StateError> {
    within(at, "requests", requests.len() as u64, 0, REQUESTS_MAX)?;
    within(at, "bodies", requests.iter().map(|request| request.body.len() as u64).sum(), 0, BODY_BYTES_MAX)?;
    within(at, "think_time_ms", think_time_ms.into(), 0, 600_000)?;
    within(at, "stages", stages.len() as u64, 0, STAGES_MAX)?;
    let requests = (0..).zip(requests).map(|(number, spec)| request(&format!("{at}.requests[{number}]"), spec));
    let stages = stages.into_iter().map(|stage| {
        within(at, "stages.duration_ms", stage.duration_ms.into(), 1, 600_000)?;
        let rate = stage.requests_per_second;
        if !(rate > 0.0 && rate <= RATE_MAX) {
            return Err(wrong(&format!("{at}.stages"), format!("has the rate {rate}, not within 0 and {RATE_MAX}")));
        }
        Ok(BenchmarkStage { duration: milliseconds(stage.duration_ms), rate })
    });
    Ok(BenchmarkLoad {
        requests: requests.collect::<Result<_, _>>()?,
        think_time: milliseconds(think_time_ms),
        stages: stages.collect::<Result<_, _>>()?,
        workers: None,
    })
}

fn request(at: &str, spec: agent::BenchmarkRequest) -> Result<BenchmarkRequest, StateError> {
    if !BenchmarkRequest::METHODS.contains(&spec.method.as_str()) {
        return Err(wrong(&format!("{at}.method"), "is not a method of a benchmark"));
    }
    path(&format!("{at}.path"), &spec.path)?;
    within(at, "weight", spec.weight.into(), 1, 1000)?;
    within(at, "headers", spec.headers.len() as u64, 0, HEADERS_MAX)?;
    let headers = spec.headers.into_iter().map(|agent::BenchmarkHeader { name, value }| {
        within(at, "headers.length", (name.len() + value.len()) as u64, 1, HEADER_BYTES_MAX)?;
        let is_token = !name.is_empty() && name.bytes().all(is_token_byte);
        // A line break would begin another header.
        let is_value = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let is_reserved = BenchmarkRequest::RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
        if !is_token || !is_value || is_reserved {
            return Err(wrong(&format!("{at}.headers"), "holds a header that a benchmark can't send"));
        }
        Ok((name, value))
    });
    Ok(BenchmarkRequest {
        headers: headers.collect::<Result<_, _>>()?,
        method: spec.method,
        path: spec.path,
        body: spec.body,
        weight: spec.weight,
    })
}

/// RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn target(name: i32) -> Option<BenchmarkTarget> {
    match agent::BenchmarkTarget::try_from(name).ok()? {
        agent::BenchmarkTarget::Unspecified => None,
        agent::BenchmarkTarget::Proxy => Some(BenchmarkTarget::Proxy),
        agent::BenchmarkTarget::Direct => Some(BenchmarkTarget::Direct),
        agent::BenchmarkTarget::Floor => Some(BenchmarkTarget::Floor),
        agent::BenchmarkTarget::Nginx => Some(BenchmarkTarget::Nginx),
        agent::BenchmarkTarget::Haproxy => Some(BenchmarkTarget::Haproxy),
        agent::BenchmarkTarget::Envoy => Some(BenchmarkTarget::Envoy),
        agent::BenchmarkTarget::Caddy => Some(BenchmarkTarget::Caddy),
        agent::BenchmarkTarget::Traefik => Some(BenchmarkTarget::Traefik),
        agent::BenchmarkTarget::H2o => Some(BenchmarkTarget::H2o),
        agent::BenchmarkTarget::KamalProxy => Some(BenchmarkTarget::KamalProxy),
        agent::BenchmarkTarget::Spooky => Some(BenchmarkTarget::Spooky),
        agent::BenchmarkTarget::Godoxy => Some(BenchmarkTarget::Godoxy),
    }
}

fn protocol(name: i32) -> Option<BenchmarkProtocol> {
    match agent::BenchmarkProtocol::try_from(name).ok()? {
        agent::BenchmarkProtocol::Unspecified => None,
        agent::BenchmarkProtocol::Http1 => Some(BenchmarkProtocol::Http1),
        agent::BenchmarkProtocol::Http2 => Some(BenchmarkProtocol::Http2),
        agent::BenchmarkProtocol::Http3 => Some(BenchmarkProtocol::Http3),
        agent::BenchmarkProtocol::Http1Cleartext => Some(BenchmarkProtocol::Http1Cleartext),
        agent::BenchmarkProtocol::Grpc => Some(BenchmarkProtocol::Grpc),
    }
}

fn scenario(name: i32) -> Option<BenchmarkScenario> {
    Some(match agent::BenchmarkScenario::try_from(name).ok()? {
        agent::BenchmarkScenario::Unspecified => BenchmarkScenario::Matrix,
        agent::BenchmarkScenario::Burst => BenchmarkScenario::Burst,
        agent::BenchmarkScenario::SlowUpstream => BenchmarkScenario::SlowUpstream,
        agent::BenchmarkScenario::GreedyClient => BenchmarkScenario::GreedyClient,
        agent::BenchmarkScenario::Deploy => BenchmarkScenario::Deploy,
        agent::BenchmarkScenario::Wake => BenchmarkScenario::Wake,
        agent::BenchmarkScenario::RouteChange => BenchmarkScenario::RouteChange,
        agent::BenchmarkScenario::ProxyUpgrade => BenchmarkScenario::ProxyUpgrade,
        agent::BenchmarkScenario::PacketLoss => BenchmarkScenario::PacketLoss,
        agent::BenchmarkScenario::Latency => BenchmarkScenario::Latency,
    })
}

pub(crate) fn status(status: BenchmarkStatus) -> agent::BenchmarkStatus {
    agent::BenchmarkStatus {
        run_id: status.run.to_string(),
        state: work(status.state),
        rows_done: saturate(status.rows.len() as u128),
        rows_total: status.rows_total,
        failure: status.failure.map(failure),
        rows: status.rows.into_iter().map(row).collect(),
        programs: status.programs.into_iter().map(program).collect(),
        events_due: status.events_due,
        rows_ready: status.rows_ready,
        https_port: status.https_port.into(),
    }
}

fn program(program: BenchmarkProgram) -> agent::BenchmarkProgram {
    agent::BenchmarkProgram {
        target: target_name(program.target).into(),
        version: program.version,
        configuration: program.configuration,
        skipped: program.skipped.unwrap_or_default(),
    }
}

pub(crate) fn row(row: BenchmarkRow) -> agent::BenchmarkRow {
    let (index, count) = row.latency.into_iter().unzip();
    agent::BenchmarkRow {
        position: row.position,
        round: row.round,
        target: target_name(row.target).into(),
        protocol: match row.protocol {
            BenchmarkProtocol::Http1 => agent::BenchmarkProtocol::Http1,
            BenchmarkProtocol::Http2 => agent::BenchmarkProtocol::Http2,
            BenchmarkProtocol::Http3 => agent::BenchmarkProtocol::Http3,
            BenchmarkProtocol::Http1Cleartext => agent::BenchmarkProtocol::Http1Cleartext,
            BenchmarkProtocol::Grpc => agent::BenchmarkProtocol::Grpc,
        }
        .into(),
        network_path: match row.network_path {
            None => agent::NetworkPath::Unspecified,
            Some(NetworkPath::SharedNetwork) => agent::NetworkPath::SharedNetwork,
            Some(NetworkPath::OwnNetwork) => agent::NetworkPath::OwnNetwork,
            Some(NetworkPath::UnixSocket) => agent::NetworkPath::UnixSocket,
            Some(NetworkPath::BenchNamespace) => agent::NetworkPath::BenchNamespace,
            Some(NetworkPath::BetweenServers) => agent::NetworkPath::BetweenServers,
        }
        .into(),
        phase: match row.phase {
            None | Some(BenchmarkPhase::Stage(_)) => agent::BenchmarkPhase::Unspecified,
            Some(BenchmarkPhase::Before) => agent::BenchmarkPhase::Before,
            Some(BenchmarkPhase::During) => agent::BenchmarkPhase::During,
            Some(BenchmarkPhase::After) => agent::BenchmarkPhase::After,
        }
        .into(),
        concurrency: row.concurrency,
        duration_ms: saturate(row.duration.as_millis()),
        requests: row.requests,
        errors: row.errors,
        latency: Some(agent::Histogram { index, count, sum_us: row.latency_sum_us }),
        proxy_cpu_us: micros(row.proxy_cpu),
        proxy_memory_bytes: row.proxy_memory_bytes,
        bytes_received: row.bytes_received,
        failures: row.failures.into_iter().collect(),
        generator_cpu_us: micros(row.generator_cpu),
        generator_saturated: row.generator_saturated,
        app_cpu_us: micros(row.app_cpu),
        clients: row.clients,
        latency_max_us: row.latency_max_us,
        unsent: row.unsent,
        stage: match row.phase {
            Some(BenchmarkPhase::Stage(number)) => number,
            _ => 0,
        },
        noise: row.noise.map(noise),
        probe: probe_name(row.probe).into(),
        link: row.link.map(link_report),
        app_connections: row.app_connections,
        start_unix_us: row.start_unix_us.unwrap_or(0),
    }
}

fn link_report(LinkReport { condition, counters, round_trip }: LinkReport) -> agent::BenchmarkLinkReport {
    let condition = agent::BenchmarkLink {
        loss_per_million: condition.loss_per_million,
        delay_ms: saturate(condition.delay.as_millis()),
    };
    agent::BenchmarkLinkReport {
        condition: Some(condition),
        packets: counters.packets,
        lost: counters.lost,
        overflowed: counters.overflowed,
        forwarded: counters.forwarded,
        kernel_sent: counters.kernel_sent,
        kernel_received: counters.kernel_received,
        round_trip_us: u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX),
    }
}

fn probe_name(probe: Option<BenchmarkProbe>) -> agent::BenchmarkProbe {
    match probe {
        None => agent::BenchmarkProbe::Unspecified,
        Some(BenchmarkProbe::Json) => agent::BenchmarkProbe::Json,
        Some(BenchmarkProbe::Upload) => agent::BenchmarkProbe::Upload,
        Some(BenchmarkProbe::StreamFirstByte) => agent::BenchmarkProbe::StreamFirstByte,
        Some(BenchmarkProbe::Stream) => agent::BenchmarkProbe::Stream,
        Some(BenchmarkProbe::Sse) => agent::BenchmarkProbe::Sse,
        Some(BenchmarkProbe::Websocket) => agent::BenchmarkProbe::Websocket,
    }
}

fn noise(noise: MachineNoise) -> agent::MachineNoise {
    agent::MachineNoise {
        machine_cpu_us: micros(noise.machine_cpu),
        other_cpu_us: noise.other_cpu.map(micros),
        steal_us: micros(noise.steal),
        frequency_mhz: noise.frequency_mhz.unwrap_or(0),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn target_name(target: BenchmarkTarget) -> agent::BenchmarkTarget {
    match target {
        BenchmarkTarget::Proxy => agent::BenchmarkTarget::Proxy,
        BenchmarkTarget::Direct => agent::BenchmarkTarget::Direct,
        BenchmarkTarget::Floor => agent::BenchmarkTarget::Floor,
        BenchmarkTarget::Nginx => agent::BenchmarkTarget::Nginx,
        BenchmarkTarget::Haproxy => agent::BenchmarkTarget::Haproxy,
        BenchmarkTarget::Envoy => agent::BenchmarkTarget::Envoy,
        BenchmarkTarget::Caddy => agent::BenchmarkTarget::Caddy,
        BenchmarkTarget::Traefik => agent::BenchmarkTarget::Traefik,
        BenchmarkTarget::H2o => agent::BenchmarkTarget::H2o,
        BenchmarkTarget::KamalProxy => agent::BenchmarkTarget::KamalProxy,
        BenchmarkTarget::Spooky => agent::BenchmarkTarget::Spooky,
        BenchmarkTarget::Godoxy => agent::BenchmarkTarget::Godoxy,
    }
}
