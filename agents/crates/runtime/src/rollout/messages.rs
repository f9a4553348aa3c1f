//! Messages about a rollout's progress and failures: what happened, and what to do.

use std::time::Duration;

use fairlead_base::excerpt::quote;
use fairlead_model::{BenchmarkGate, BenchmarkRow, Failure, GateProgress, Hook, ReleaseSpec};
use fairlead_telemetry::Histogram;

use super::event::{Exit, HealthCheckFailure, HookKind};
use super::group::{Group, InstanceProcess, InstanceSlot};
use crate::crash::{Crash, CrashReason};
use crate::layer_bound::{LayerBound, LayerExcess};

pub(super) const CANCELLED: &str = "The deployment was cancelled. Live traffic is unaffected.";
/// Message for an artifact that was built on another server.
pub(super) const FETCHING: &str = "Fetching the artifact, which another server built.";
pub(super) const GATE_PASSED: &str = "The new release meets all thresholds of the benchmark gate.";
pub(super) const LIVE: &str = "The release is live.";

fn failure(code: &str, message: String) -> Failure {
    Failure { code: code.to_owned(), message }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    if seconds.fract() == 0.0 { format!("{seconds:.0} s") } else { format!("{seconds:.1} s") }
}

pub(super) fn cancelled() -> Failure {
    failure("rollout.cancelled", CANCELLED.to_owned())
}

pub(super) fn waiting(group: &Group) -> String {
    let check = match group.release.readiness_check.path.as_str() {
        "" => "accept connections".to_owned(),
        path => format!("answer GET {path} with 2xx or 3xx"),
    };
    if group.release.listens_on_socket {
        return format!("Started with a socket at FAIRLEAD_SOCKET; waiting for the app to {check}.");
    }
    let ports: Vec<String> = group.slots.values().map(|slot| slot.port.to_string()).collect();
    format!("Started with PORT={}; waiting for the app to {check}.", ports.join(", "))
}

pub(super) fn healthy(group: &Group) -> String {
    let healthy = match group.slots.len() {
        1 => "The new instance is healthy. Switching traffic.".to_owned(),
        count => format!("All {count} new instances are healthy. Switching traffic."),
    };
    match group.slots.values().find(|slot| slot.port != slot.assigned_port) {
        Some(slot) => format!(
            "The app listens on port {} instead of PORT={}, so it is served on {0}. {healthy}",
            slot.port, slot.assigned_port
        ),
        None => healthy,
    }
}

pub(super) fn measuring(gate: &BenchmarkGate) -> String {
    let BenchmarkGate { path, concurrency, rounds, duration, .. } = gate;
    let clients = if *concurrency == 1 { "client" } else { "clients" };
    let rounds = if *rounds == 1 { "once".to_owned() } else { format!("{rounds} times") };
    format!(
        "Measuring one new instance before it gets traffic: {concurrency} {clients} on {path} for {}, {rounds}.",
        seconds(*duration)
    )
}

pub(super) fn gate_progress(progress: &GateProgress) -> String {
    match progress {
        GateProgress::New(row) => measured_round("", row),
        GateProgress::Live(row) => measured_round(" of the live release", row),
        GateProgress::NotComparable(reason) => {
            format!("The live release is not compared with, so thresholds relative to it pass: {reason}.")
        }
    }
}

fn measured_round(of: &str, row: &BenchmarkRow) -> String {
    let rate = row.requests as f64 / row.duration.as_secs_f64();
    let latency = Histogram::from_sparse(row.latency.iter().copied(), row.latency_sum_us).unwrap_or_default();
    let p99 = latency.quantile_us(0.99).map_or_else(String::new, |us| format!(", p99 {:.1} ms", us as f64 / 1000.0));
    format!("Round {}{of}: {rate:.0} requests/s{p99}, {} errors.", row.round + 1, row.errors)
}

const GATE_FAILED: &str = "benchmark.gate_failed";

pub(super) fn gate_late(limit: Duration) -> Failure {
    let text = format!(
        "The benchmark gate has no result {} after it began: other measurements of this server took too long, or the new release stopped responding. Deploy again when no benchmark runs.",
        seconds(limit)
    );
    failure(GATE_FAILED, text)
}

pub(super) fn crashed_when_measured(exit: &Exit) -> Failure {
    let text = format!(
        "The new release did not survive the load of its benchmark gate. {} Fix what the last lines of its output name, or lower the concurrency of the gate, then deploy again.",
        ended(exit)
    );
    failure(GATE_FAILED, text)
}

pub(super) fn start_failed(exit: &Exit, error: &str) -> Failure {
    let code = match exit {
        Exit { unopenable: true, .. } => "secret.unopenable",
        Exit { disk_full: true, .. } => "rollout.disk_full",
        _ => "rollout.start_failed",
    };
    failure(code, error.to_owned())
}

pub(crate) fn ended(exit: &Exit) -> String {
    match exit {
        Exit { start_error: Some(error), .. } => error.clone(),
        Exit { layer: Some(excess), .. } => format!("The app was stopped: {}", too_many_files(excess)),
        Exit { unresponsive: true, .. } => {
            "The app was ended because it failed its liveness check three times in a row.".to_owned()
        }
        Exit { out_of_memory: true, .. } => {
            "The app was ended by the kernel because it used more memory than its limit.".to_owned()
        }
        Exit { signal: Some(signal), .. } => format!("The app was ended by signal {signal}."),
        Exit { code: Some(code), crash: Some(crash), .. } if !crash.line.is_empty() => {
            format!("The app ended by itself with exit code {code}: {}.", quote(&crash.line))
        }
        Exit { code: Some(code), .. } => format!("The app ended by itself with exit code {code}."),
        _ => "The app ended while its parent process was not running.".to_owned(),
    }
}

/// Names the largest folder and the next step.
fn too_many_files(LayerExcess { used_bytes, largest, bound }: &LayerExcess) -> String {
    let size = |bytes: u64| match bytes {
        ..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    };
    let why = match bound {
        LayerBound::Instance(limit) => format!("more than the {} of an instance", size(*limit)),
        LayerBound::FreeSpace(reserve) => format!("and less than {} of the server's disk were free", size(*reserve)),
    };
    format!(
        "its temporary files in /app and /tmp took {}, {why}. Most of them are in {}. Write what must last to a volume below $FAIRLEAD_VOLUMES, and remove the rest in time.",
        size(*used_bytes),
        largest.display()
    )
}

/// Returns the code of a crash and the next step.
fn crash(exit: &Exit, release: &ReleaseSpec) -> (&'static str, String) {
    const CRASH_LOOP: &str = "rollout.crash_loop";
    if exit.layer.is_some() {
        return ("rollout.files_too_large", "Then deploy again.".to_owned());
    }
    if exit.out_of_memory {
        return (CRASH_LOOP, "Raise its memory limit, or make it use less.".to_owned());
    }
    let Some(Crash { reason: Some(reason), .. }) = &exit.crash else {
        let advice = "The last lines of its output are in the log: fix what they name, then deploy again.";
        return (CRASH_LOOP, advice.to_owned());
    };
    match reason {
        CrashReason::PortDenied => ("rollout.wrong_port", format!("It may not listen on that port. {HOW}")),
        CrashReason::PortTaken => (
            "rollout.port_taken",
            "Another process, often the app's own, already listens on that port. Start one server, on the port in the PORT variable."
                .to_owned(),
        ),
        CrashReason::Variable(name) => (
            "rollout.variable_missing",
            format!("The app needs `{name}`. Add it as a variable or a secret of the app, then deploy again."),
        ),
        CrashReason::Module => (
            "rollout.module_missing",
            "The release lacks something that the app loads. Add the package to its dependencies (development dependencies are not enough), or correct the path, then deploy again.".to_owned(),
        ),
        CrashReason::WriteDenied => (
            "rollout.write_denied",
            "An app may write in its own folder, in $HOME, in /tmp and in its volumes below $FAIRLEAD_VOLUMES. Let it write there, then deploy again.".to_owned(),
        ),
        CrashReason::Service => (
            "rollout.service_unreachable",
            "The app needs a database or another service, which does not answer at that address. Set its address, such as DATABASE_URL, as a variable or a secret of the app, then deploy again.".to_owned(),
        ),
        CrashReason::Program => (
            "rollout.start_failed",
            format!("{} runs a program that does not exist. Correct it, or add the package that provides the program.", start_command(release, "The")),
        ),
    }
}

pub(super) fn crash_loop(crashes: usize, exit: &Exit, release: &ReleaseSpec) -> Failure {
    let (code, advice) = crash(exit, release);
    failure(code, format!("The app crashed {crashes} times right after its start. {} {advice}", ended(exit)))
}

fn start_command(release: &ReleaseSpec, article: &str) -> String {
    match release.command.join(" ").as_str() {
        "" => format!("{article} command of the image"),
        command => format!("{article} start command `{command}`"),
    }
}

/// Describes a program that exited with code 0 each time and never listened.
pub(super) fn no_server(exit: &Exit, release: &ReleaseSpec) -> Failure {
    if exit.crash.is_some() {
        // Some programs report an error and still exit with 0.
        let (code, advice) = crash(exit, release);
        return failure(code, format!("{} It never listened on a port. {advice}", ended(exit)));
    }
    let command = start_command(release, "the");
    failure(
        "rollout.ended",
        format!(
            "The program exited with exit code 0 and never listened on a port. If it is a worker or a job, add it as a worker (Settings → Runtime → Workers) or as a release command. If it is a server, check {command}: it must stay in the foreground."
        ),
    )
}

pub(super) fn crashed_in_switch(exit: &Exit) -> Failure {
    failure(
        "rollout.crash_loop",
        format!(
            "The app was healthy, but ended as the routes were led to it. {} The last lines of its output are in the log.",
            ended(exit)
        ),
    )
}

/// Names the port or socket to listen on.
fn listen_target(port: u16) -> String {
    if port == 0 { "its socket".to_owned() } else { format!("port {port}") }
}

/// Describes why the check of a serving instance fails now.
pub(super) fn check_failure(probe: &HealthCheckFailure, port: u16) -> String {
    match probe {
        HealthCheckFailure::Refused { .. } | HealthCheckFailure::Elsewhere { .. } => {
            format!("The app accepts no connection on {}.", listen_target(port))
        }
        HealthCheckFailure::Foreign => taken(port),
        HealthCheckFailure::TimedOut => "The app did not answer its health check in time.".to_owned(),
        HealthCheckFailure::Status(status) => format!("The app answered its health check with {status}."),
        HealthCheckFailure::Broken => "The app's answer to its health check was not HTTP.".to_owned(),
        HealthCheckFailure::Command(outcome) => format!("The app's health command {outcome}."),
    }
}

/// Describes a port that another program listens on; the proxy sends nothing there.
fn taken(port: u16) -> String {
    format!(
        "Another program on this server listens on the app's port {port}. Nothing is sent to it. Find it with `ss -ltnp`, then deploy again: the app gets another port."
    )
}

/// Describes a refused port: the sandbox allows only the app's own.
pub(super) fn port_refused(port: u16) -> Failure {
    let why = match port {
        0 => {
            "The app tried to listen on a TCP port, but its settings let it listen on its Unix socket only.".to_owned()
        }
        port => format!(
            "The app tried to listen on another port than {port}, the only one it may use on this server. {HOW}"
        ),
    };
    failure("rollout.wrong_port", why)
}

/// Describes an app that listens on other ports than its own.
pub(super) fn wrong_port(listening: &[u16], port: u16) -> Failure {
    let ports: Vec<String> = listening.iter().map(u16::to_string).collect();
    failure("rollout.wrong_port", format!("The app listens on {} instead of port {port}. {HOW}", ports.join(", ")))
}

/// Describes a health check that did not pass before the deadline.
pub(super) fn deadline(slot: &InstanceSlot, release: &ReleaseSpec, limit: Duration) -> Failure {
    let path = release.readiness_check.path.as_str();
    let (listen_target, within) = (listen_target(slot.port), seconds(limit));
    let check = if path.is_empty() { "a connection".to_owned() } else { format!("GET {path}") };
    let running = matches!(slot.process, InstanceProcess::Running { .. });
    match (&slot.last_failure, &slot.last_exit) {
        (_, Some(exit)) if slot.has_ended_silently() && !running => no_server(exit, release),
        (probe, Some(exit)) if probe.is_none() || !running => {
            let (code, advice) = crash(exit, release);
            failure(code, format!("The app did not stay up within {within}. {} {advice}", ended(exit)))
        }
        (None, _) => {
            failure("rollout.not_listening", format!("The app could not be checked within {within}. Deploy it again."))
        }
        (Some(HealthCheckFailure::Refused { listening } | HealthCheckFailure::Elsewhere { ports: listening }), _) => {
            refused(listening, slot.port, &within)
        }
        (Some(HealthCheckFailure::Foreign), _) => failure("rollout.port_taken", taken(slot.port)),
        (Some(HealthCheckFailure::TimedOut), _) => failure(
            "rollout.unhealthy",
            format!(
                "The app accepts connections on {listen_target}, but did not answer {check} in time, for {within}. See what it waits for at its start, or set another health path."
            ),
        ),
        (Some(HealthCheckFailure::Status(status)), _) => failure(
            "rollout.unhealthy",
            format!(
                "The app answered {check} with {status} for {within}; 2xx or 3xx counts as healthy. Make that path answer, or set another health path in the settings."
            ),
        ),
        (Some(HealthCheckFailure::Command(outcome)), _) => failure(
            "rollout.unhealthy",
            format!(
                "The app accepts connections on {listen_target}, but its health command {outcome}, for {within}. Run the command in the app's folder to see why, or set another health check."
            ),
        ),
        (Some(HealthCheckFailure::Broken), _) => failure(
            "rollout.unhealthy",
            format!(
                "The app accepts connections on {listen_target}, but does not answer {check} with HTTP. It must speak plain HTTP/1.1 there: Fairlead adds the TLS."
            ),
        ),
    }
}

const HOW: &str = "Listen on the port in the PORT variable, for example `server.listen(process.env.PORT)`.";

fn refused(listening: &[u16], port: u16, within: &str) -> Failure {
    if port == 0 {
        return not_on_socket(listening, within);
    }
    if listening.is_empty() {
        return failure(
            "rollout.not_listening",
            format!("The app didn't listen on port {port} within {within}. It listened on no port at all. {HOW}"),
        );
    }
    if listening.contains(&port) {
        return failure(
            "rollout.wrong_port",
            format!(
                "The app listens on port {port}, but not where Fairlead asks it. Listen on 0.0.0.0 or ::; 127.0.0.1 is enough only outside of a container."
            ),
        );
    }
    let ports: Vec<String> = listening.iter().map(u16::to_string).collect();
    failure(
        "rollout.wrong_port",
        format!("The app didn't listen on port {port} within {within}. It listened on {}. {HOW}", ports.join(", ")),
    )
}

fn not_on_socket(ports: &[u16], within: &str) -> Failure {
    const HOW: &str = "Listen on the path in the FAIRLEAD_SOCKET variable, for example `server.listen(process.env.FAIRLEAD_SOCKET)`, or set the app to listen on a port.";
    let (code, also) = match ports {
        [] => ("rollout.not_listening", String::new()),
        ports => {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            ("rollout.wrong_port", format!(" It listened on port {}.", ports.join(", ")))
        }
    };
    failure(code, format!("The app didn't listen on its socket within {within}.{also} {HOW}"))
}

pub(super) fn routes_refused(error: &str) -> Failure {
    failure(
        "rollout.internal",
        format!(
            "The proxy could not take the new routes, so the old ones stay: {error}. See the agent's log on the server."
        ),
    )
}

pub(super) fn routes_unconfirmed(limit: Duration) -> Failure {
    failure(
        "rollout.internal",
        format!(
            "The proxy did not confirm the new routes within {}, so the old ones stay. Check the agent on the server, then deploy again.",
            seconds(limit)
        ),
    )
}

fn named(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Release => "release command",
        HookKind::After => "post-release command",
    }
}

/// Describes the state after a failed command.
fn left(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Release => "Live traffic is unaffected. Its output is in the log.",
        HookKind::After => "The release is live all the same. Its output is in the log.",
    }
}

pub(super) fn hook_begins(kind: HookKind, hook: &Hook) -> String {
    format!("Running the {}: {}", named(kind), hook.command.join(" "))
}

pub(super) fn hook_done(kind: HookKind) -> String {
    format!("The {} succeeded.", named(kind))
}

pub(super) fn hook_failed(kind: HookKind, exit: &Exit) -> Failure {
    let how = match exit {
        Exit { start_error: Some(error), .. } => error.clone(),
        Exit { layer: Some(excess), .. } => format!("It was stopped: {}", too_many_files(excess)),
        Exit { out_of_memory: true, .. } => "It used more memory than the app's limit.".to_owned(),
        Exit { signal: Some(signal), .. } => format!("It was ended by signal {signal}."),
        Exit { code: Some(code), .. } => format!("It ended with exit code {code}."),
        _ => "It ended while its parent process was not running.".to_owned(),
    };
    failure("rollout.command_failed", format!("The {} failed. {how} {}", named(kind), left(kind)))
}

pub(super) fn hook_late(kind: HookKind, limit: Duration) -> Failure {
    let message = format!("The {} did not end within {} and was stopped. {}", named(kind), seconds(limit), left(kind));
    failure("rollout.command_failed", message)
}

pub(super) fn hook_lost(kind: HookKind) -> Failure {
    let message = format!(
        "The {} was interrupted when the agent stopped. It does not run again. {} Check what it did, then deploy again.",
        named(kind),
        left(kind)
    );
    failure("rollout.command_failed", message)
}

pub(super) fn trying(percent: u32, hold: Duration) -> String {
    format!("Sending {percent} % of the requests to the new instances for {}.", seconds(hold))
}

pub(super) fn canary_passed(percent: u32, requests: u64, errors: u64, decided: bool) -> String {
    let few = if decided { "" } else { " These are too few to judge by." };
    format!("At {percent} %: {requests} requests to the new instances, {errors} of them failed.{few}")
}

pub(super) fn canary_bad(percent: u32, figures: &str) -> Failure {
    failure(
        "rollout.canary_failed",
        format!(
            "At {percent} % of the requests, {figures}. The old release has all requests again; see the app's logs for why."
        ),
    )
}

pub(super) fn admitting(count: usize, total: usize) -> String {
    format!("{count} of {total} new instances are healthy. They now replace as many old ones.")
}

pub(super) fn sick_when_admitted(detail: &str) -> Failure {
    failure(
        "rollout.unhealthy",
        format!(
            "A new instance was healthy, but no longer is, now that it has requests. {detail} The old release takes over again."
        ),
    )
}

pub(super) fn asleep(idle: Duration) -> String {
    format!("Asleep: no request for {}. The next request wakes it.", seconds(idle))
}

pub(super) fn woken(took: Duration) -> String {
    format!("Woken by a request in {:.2} s.", took.as_secs_f64())
}
