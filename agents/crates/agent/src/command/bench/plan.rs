//! Runs a plan document without a control plane: in the lab, or against named addresses. Rows are written in the published
//! format.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use fairlead_base::{CancellationToken, clock, random, shutdown};
use fairlead_bench::{
    BenchError, LAB_HOST, MachineFacts, MeasurementTurns, PlanDocument, PlanUpstream, ProxyTarget, RunDocument, RunEnd,
    RunRecord, Targets, ThresholdVerdict, evaluate_thresholds, has_passed, part_label, rows_measurable, run_plan,
    scenario_words, target_label,
};
use fairlead_lab::{Lab, LabSetup};
use fairlead_model::{
    AppId, AppKey, BenchmarkPlan, BenchmarkProgram, BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, EnvironmentId,
    RunId,
};
use fairlead_telemetry::{Histogram, HostSampler};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::BenchArgs;
use crate::command::{CommandResult, block_on};
use crate::host_info;

/// Exit code of a run that missed a threshold.
const THRESHOLD_MISSED: u8 = 3;

pub(super) fn bench_plan(file: &Path, args: &BenchArgs) -> CommandResult {
    let named = |reason: String| format!("{}: {reason}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    let document = PlanDocument::parse(&text).map_err(|error| named(error.to_string()))?;
    let host = check(&document, args).map_err(named)?;
    let key = AppKey { app: AppId::parse("app_terminal")?, environment: EnvironmentId::parse("env_terminal")? };
    let run = RunId::parse(&format!("run_{}", random::alphanumeric(20)))?;
    let plan = document.plan.to_plan(run.clone(), key, host.clone());
    let started_at = now()?;
    let (measured, programs, rows) = block_on(measure(&plan, args))??;
    let end = match &measured {
        Ok(()) => RunEnd::Succeeded,
        Err(BenchError::Cancelled) => RunEnd::Cancelled,
        Err(_) => RunEnd::Failed,
    };
    let verdicts = match end {
        RunEnd::Succeeded => evaluate_thresholds(&document.plan.thresholds, &rows),
        RunEnd::Failed | RunEnd::Cancelled => Vec::new(),
    };
    verdicts.iter().for_each(print_verdict);
    let passed = has_passed(end, &verdicts);
    let record = RunRecord {
        run,
        end,
        started_at,
        finished_at: now()?,
        document,
        host,
        agent_version: crate::VERSION.to_owned(),
        machine: machine()?,
        programs,
        rows,
        verdicts,
    };
    write(&record.into(), args.output.as_deref())?;
    measured?;
    Ok(if passed == Some(false) { ExitCode::from(THRESHOLD_MISSED) } else { ExitCode::SUCCESS })
}

/// Returns the host to request, or a sentence that says why the plan can't run here.
fn check(document: &PlanDocument, args: &BenchArgs) -> Result<String, String> {
    let plan = &document.plan;
    if scenario_words(plan.scenario).is_none() {
        return Err("This scenario needs a control plane. Start it from the dashboard or by its API.".to_owned());
    }
    if plan.copies_release() {
        return Err("A copy of the live release needs a control plane. Start the plan from the dashboard.".to_owned());
    }
    let measures = |target| plan.targets.contains(&target);
    match plan.upstream {
        PlanUpstream::Lab if args.proxy.is_some() || args.direct.is_some() => {
            Err("The lab starts its own app and proxies. Leave out --proxy and --direct.".to_owned())
        }
        PlanUpstream::Lab => Ok(LAB_HOST.to_owned()),
        PlanUpstream::Live if measures(BenchmarkTarget::Proxy) && (args.proxy.is_none() || args.ca_file.is_none()) => {
            Err("The plan measures the proxy. Name its address with --proxy and its certificate authority with --ca-file."
                .to_owned())
        }
        PlanUpstream::Live if measures(BenchmarkTarget::Direct) && args.direct.is_none() => {
            Err("The plan measures the app directly. Name its address with --direct.".to_owned())
        }
        PlanUpstream::Live => plan.host.clone().filter(|host| !host.is_empty()).ok_or_else(|| {
            "A plan of a live app needs its \"host\" here. The dashboard alone knows the app's domains.".to_owned()
        }),
    }
}

type Measured = (Result<(), BenchError>, Vec<BenchmarkProgram>, Vec<BenchmarkRow>);

/// Measures until the first failure or signal. Rows measured before it are returned too.
async fn measure(plan: &BenchmarkPlan, args: &BenchArgs) -> io::Result<Measured> {
    let cancel = shutdown::on_signal()?;
    let Some(app) = plan.lab else {
        let (measured, rows) = run(plan, &live_targets(args)?, cancel).await;
        return Ok((measured, Vec::new(), rows));
    };
    let folders = args.bench_path.iter().flat_map(std::env::split_paths).collect();
    let setup = LabSetup { agent: "/proc/self/exe".into(), folders };
    let lab = match Lab::start(&setup, plan, app, None, &cancel).await {
        Ok(lab) => lab,
        Err(_) if cancel.is_cancelled() => return Ok((Err(BenchError::Cancelled), Vec::new(), Vec::new())),
        Err(error) => return Ok((Err(BenchError::Lab(error.to_string())), Vec::new(), Vec::new())),
    };
    for program in &lab.programs {
        if let Some(reason) = &program.skipped {
            eprintln!("{} is not measured: {reason}", target_label(program.target));
        }
    }
    let (measured, rows) = run(plan, &lab.targets, cancel).await;
    Ok((measured, lab.programs.clone(), rows))
}

async fn run(
    plan: &BenchmarkPlan,
    targets: &Targets,
    cancel: CancellationToken,
) -> (Result<(), BenchError>, Vec<BenchmarkRow>) {
    let total = rows_measurable(plan, targets);
    let mut rows = Vec::new();
    let mut observer = |row: &BenchmarkRow| {
        print_progress(row, total);
        rows.push(row.clone());
    };
    let measured = run_plan(plan, targets, &MeasurementTurns::default(), cancel, &mut observer).await;
    (measured.map(drop), rows)
}

fn live_targets(args: &BenchArgs) -> io::Result<Targets> {
    let unreadable = |error: rustls::pki_types::pem::Error| io::Error::other(format!("--ca-file: {error}"));
    let roots = match &args.ca_file {
        None => Vec::new(),
        Some(file) => CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(unreadable)?
            .into_iter()
            .map(|certificate| certificate.to_vec())
            .collect(),
    };
    let proxy = args.proxy.map(|address| ProxyTarget { address, roots, pid: args.proxy_pid });
    Ok(Targets::of_app(proxy, args.direct.clone(), Vec::new()))
}

fn print_progress(row: &BenchmarkRow, total: u32) {
    let seconds = row.duration.as_secs_f64();
    let latency = Histogram::from_sparse(row.latency.iter().copied(), row.latency_sum_us).unwrap_or_default();
    let p99 = latency.quantile_us(0.99).map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us as f64 / 1000.0));
    let (done, round, target) = (row.position + 1, row.round + 1, target_label(row.target));
    let (protocol, clients) = (protocol_label(row.protocol), row.concurrency);
    let part = part_label(row).map_or_else(String::new, |part| format!("  {part}"));
    let rate = row.requests as f64 / seconds;
    let errors = if row.errors > 0 { format!(", {} errors", row.errors) } else { String::new() };
    let saturated = if row.generator_saturated { ", generator saturated" } else { "" };
    eprintln!(
        "{done}/{total}  round {round}  {target}  {protocol}{part}  {clients} clients: {rate:.0} requests/s, p99 {p99} ms{errors}{saturated}"
    );
}

fn print_verdict(verdict: &ThresholdVerdict) {
    let threshold = &verdict.threshold;
    let (bound, limit) = match threshold.max {
        Some(max) => ("at most", max),
        None => ("at least", threshold.min.unwrap_or_default()),
    };
    let noise = if verdict.certain { "" } else { ", within the noise" };
    let outcome = if verdict.passed { "passed" } else { "missed" };
    eprintln!("threshold {outcome}{noise}: {} {bound} {limit}", threshold.metric.name());
    for cell in &verdict.cells {
        let value = cell.value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
        let interval = cell.interval.map_or_else(String::new, |of| format!(" ({:.3} to {:.3})", of.low, of.high));
        let (target, protocol) = (target_label(cell.target), protocol_label(cell.protocol));
        eprintln!("  {target}  {protocol}  {} clients: {value}{interval}", cell.concurrency);
    }
    if verdict.cells.is_empty() {
        eprintln!("  no measured row has this metric");
    }
}

fn protocol_label(protocol: BenchmarkProtocol) -> &'static str {
    match protocol {
        BenchmarkProtocol::Http1 => "HTTP/1.1",
        BenchmarkProtocol::Http2 => "HTTP/2",
        BenchmarkProtocol::Http3 => "HTTP/3",
        BenchmarkProtocol::Http1Cleartext => "HTTP without TLS",
        BenchmarkProtocol::Grpc => "gRPC",
    }
}

fn write(document: &RunDocument, output: Option<&Path>) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(document)?;
    bytes.push(b'\n');
    match output {
        None => io::stdout().lock().write_all(&bytes),
        Some(file) => std::fs::write(file, bytes)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display()))),
    }
}

fn machine() -> io::Result<MachineFacts> {
    let sample =
        HostSampler::open(Path::new("/")).and_then(|mut sampler| sampler.sample()).map_err(io::Error::other)?;
    Ok(MachineFacts {
        os: host_info::operating_system(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu_count: host_info::cpu_count(),
        memory_bytes: sample.memory_total_bytes,
    })
}

fn now() -> io::Result<String> {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(clock::unix_ms()) * 1_000_000);
    at.map_err(io::Error::other)?.format(&Rfc3339).map_err(io::Error::other)
}
