//! `fairlead-agent shim`: the parent process of one instance. It outlives `run`, stores the app's output, stops the
//! whole process group and records the exit.

mod capture;
mod container;
mod devices;
mod handover;
mod hidden;
mod launch;
pub mod log;
mod network;
mod parent;
mod serve;
mod view;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use container::{SECRETS as CONTAINER_SECRETS, VOLUMES as CONTAINER_VOLUMES, name as container_name};

use crate::health_check::HealthCheckKind;

/// Flag of the process that connects a network without root.
pub(crate) const CONNECT: &str = "--connect";

/// Line on standard output that reports that the app's process exists and the socket is open.
pub const READY: &str = "ready";

/// Runs the subcommand; `arguments` are those after `shim`. Call it before any thread or runtime exists.
///
/// `shim <folder> <socket>` is the parent. `shim --launch <folder>` is the child that drops its rights and becomes the
/// app; `--readiness` or `--liveness` becomes the app's own check. One thread, no async runtime, few allocations: each
/// instance has a shim.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    close_inherited();
    let result = match (arguments.next(), arguments.next()) {
        (Some(flag), Some(folder)) if flag == "--launch" => match launch::launch(&PathBuf::from(folder)) {
            Ok(never) => match never {},
            Err(error) => Err(error),
        },
        (Some(flag), Some(folder))
            if flag == HealthCheckKind::Readiness.flag() || flag == HealthCheckKind::Liveness.flag() =>
        {
            let which = if flag == HealthCheckKind::Readiness.flag() {
                HealthCheckKind::Readiness
            } else {
                HealthCheckKind::Liveness
            };
            let pid = arguments.next().and_then(|pid| pid.to_str()?.parse().ok());
            match launch::check(&PathBuf::from(folder), which, pid) {
                Ok(never) => match never {},
                Err(error) => Err(error),
            }
        }
        (Some(flag), Some(order)) if flag == CONNECT => fairlead_network::connect(&order.to_string_lossy()),
        (Some(flag), Some(link)) if flag == "--try-network" => network::check(&link.to_string_lossy()),
        (Some(folder), Some(socket)) => parent::run(&PathBuf::from(folder), &PathBuf::from(socket)),
        _ => Err("`shim` is started by the agent: shim <instance folder> <socket>".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failure here can't be reported anywhere.
            writeln!(std::io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Closes descriptors that the agent's parent had left open: an app must not see them. A pipe that a long-lived shim
/// holds open would also block its reader.
#[allow(unsafe_code)]
fn close_inherited() {
    // SAFETY: this process has just begun and owns no descriptor above the standard three.
    unsafe { fairlead_base::descriptor::close_range(3, 0) };
}
