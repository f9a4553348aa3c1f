//! Fault injection under steady load, with real processes: no request fails unless the fault implies it. As `PROGRAM
//! proxy` and `PROGRAM run FOLDER APP`, this program is the process under test; `FAIRLEAD_FAULTS=long` runs the full
//! scale, a fault name only that fault.

// Not `cfg(test)` to the lints, because it has its own `main`.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod quic;
mod support;
mod survival {
    pub mod app;
    pub mod change;
    pub mod death;
    pub mod load;
    pub mod stand;
    pub mod strain;
}

use std::os::unix::process::CommandExt;
use std::process::Command;

use survival::stand::Scale;
use survival::{change, death, strain};

/// Result of one fault.
pub struct Outcome {
    pub requests: u64,
    pub failed: u64,
    pub note: String,
}

const FAULTS: [&str; 10] = [
    "route-swaps",
    "certificate-in-handshake",
    "instance-drain",
    "upgrades",
    "resumption-over-upgrade",
    "run-killed",
    "proxy-killed",
    "broken-upstreams",
    "idle-connections",
    "descriptors-used-up",
];

/// Faults in which processes end and reconnect.
const AS_ORDINARY_USER: [&str; 3] = ["upgrades", "run-killed", "proxy-killed"];
const ORDINARY_USER: u32 = 65_534;

async fn run(fault: &str, scale: &Scale) -> Outcome {
    match fault {
        "route-swaps" => change::route_swaps(scale).await,
        "certificate-in-handshake" => change::certificate_in_handshake(scale).await,
        "instance-drain" => change::instance_drain(scale).await,
        "upgrades" => change::upgrades(scale).await,
        "resumption-over-upgrade" => change::resumption_over_upgrade(scale).await,
        "run-killed" => death::run_killed(scale).await,
        "proxy-killed" => death::proxy_killed(scale).await,
        "broken-upstreams" => strain::broken_upstreams(scale).await,
        "idle-connections" => strain::idle_connections(scale).await,
        "descriptors-used-up" => strain::descriptors_used_up(scale).await,
        other => panic!("no fault {other}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "proxy") {
        fairlead_proxy::run("0.0.0-test", fairlead_proxy::Limits::default()).unwrap();
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let [first, folder, app] = arguments.as_slice()
        && first == "run"
    {
        runtime.block_on(death::be_run(folder.as_ref(), app.parse().unwrap()));
        return;
    }
    let scale =
        if std::env::var("FAIRLEAD_FAULTS").is_ok_and(|kind| kind == "long") { Scale::LONG } else { Scale::SHORT };
    // Cargo hands on its own arguments too, such as `--quiet`.
    let named: Vec<&str> = FAULTS.into_iter().filter(|fault| arguments.iter().any(|name| name == fault)).collect();
    let faults = if named.is_empty() { FAULTS.to_vec() } else { named.clone() };
    let mut failed = 0;
    let as_user = if rustix::process::geteuid().is_root() { "" } else { " (ordinary user)" };
    for fault in &faults {
        let outcome = runtime.block_on(run(fault, &scale));
        failed += u32::from(outcome.failed > 0 || outcome.requests == 0);
        println!(
            "{{\"fault\":\"{fault}{as_user}\",\"requests\":{},\"failed\":{},\"note\":\"{}\"}}",
            outcome.requests, outcome.failed, outcome.note
        );
    }
    if named.is_empty() && rustix::process::geteuid().is_root() {
        let again =
            Command::new("/proc/self/exe").args(AS_ORDINARY_USER).uid(ORDINARY_USER).gid(ORDINARY_USER).status();
        failed += u32::from(!again.unwrap().success());
    }
    println!(
        "test result: {}. {} passed; {failed} failed; 0 ignored",
        if failed == 0 { "ok" } else { "FAILED" },
        faults.len() as u32 - failed
    );
    std::process::exit(i32::from(failed > 0));
}
