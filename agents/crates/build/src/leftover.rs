//! Ends what a build left running: its processes carry a mark in their environment, whatever group or session they
//! fled to, and whichever run of the agent started them.

use std::fs;
use std::time::{Duration, Instant};

use fairlead_model::DeploymentId;
use rustix::process::{Pid, Signal, kill_process};

/// The variable that marks a build's processes.
pub(crate) const MARK: &str = "FAIRLEAD_BUILD_ID";
/// What SIGKILL has not ended by then hangs in the kernel.
const LIMIT: Duration = Duration::from_secs(5);

/// Kills until none is left. Blocking: it waits for the kernel.
pub(crate) fn end(deployment: &DeploymentId) {
    let mark = format!("{MARK}={deployment}");
    let until = Instant::now() + LIMIT;
    loop {
        let found = marked(&mark);
        if found.is_empty() {
            return;
        }
        if Instant::now() >= until {
            tracing::warn!(%deployment, left = found.len(), "processes of a build could not be ended");
            return;
        }
        for pid in found {
            // It may have ended by itself meanwhile.
            kill_process(pid, Signal::KILL).ok();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes with the mark; those of other users can't be read and are not ours. Zombies have no environment.
fn marked(mark: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(carries).filter_map(Pid::from_raw).collect()
}
