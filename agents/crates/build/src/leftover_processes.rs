//! Ends processes that a build left running, in any process group or session: all processes of the build's own user. Where
//! builds run as the agent's user, it ends the processes with the build's environment variable.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairlead_model::DeploymentId;
use rustix::process::{Pid, Signal, geteuid, kill_process};

/// The variable that marks a build's processes. A program may drop it, so it counts only where there is no own user.
pub(crate) const MARK: &str = "FAIRLEAD_BUILD_ID";
/// Maximum wait after SIGKILL; a process that is still there hangs in the kernel.
const LIMIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// Time for which a process without an environment counts as one that is starting.
const STARTING: Duration = Duration::from_millis(100);

/// Users with a running build.
static BUSY: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Lock of a user that allows one build at a time, because the end of a build ends all processes of its user.
#[derive(Debug)]
pub(crate) struct UserLock(Option<u32>);

impl UserLock {
    /// Takes the lock; `None` if another build of this user runs. Always succeeds without an own user.
    pub(crate) fn take(user: Option<u32>) -> Option<Self> {
        let free = user.is_none_or(|user| BUSY.lock().unwrap_or_else(PoisonError::into_inner).insert(user));
        free.then_some(Self(user))
    }
}

impl Drop for UserLock {
    fn drop(&mut self) {
        if let Some(user) = self.0 {
            BUSY.lock().unwrap_or_else(PoisonError::into_inner).remove(&user);
        }
    }
}

/// Lists the running processes of a build. Blocking: it reads /proc.
pub(crate) fn processes(deployment: &DeploymentId, user: Option<u32>) -> Vec<Pid> {
    own(user).map_or_else(|| marked(&mark(deployment)).found, owned)
}

fn mark(deployment: &DeploymentId) -> String {
    format!("{MARK}={deployment}")
}

/// A user that a build shares with the agent isn't the build's alone.
fn own(user: Option<u32>) -> Option<u32> {
    user.filter(|user| *user != 0 && *user != geteuid().as_raw())
}

/// Kills the processes of a build until none is left. Blocking: it waits for the kernel.
pub(crate) fn end(deployment: &DeploymentId, user: Option<u32>) {
    let mark = mark(deployment);
    let user = own(user);
    let begun = Instant::now();
    let until = begun + LIMIT;
    loop {
        let MarkedProcesses { mut found, starting } = marked(&mark);
        if let Some(user) = user {
            found.extend(owned(user));
        } else if found.is_empty() && starting && begun.elapsed() < STARTING {
            std::thread::sleep(PAUSE);
            continue;
        }
        if found.is_empty() {
            return;
        }
        if Instant::now() >= until {
            tracing::warn!(%deployment, left = found.len(), "processes of a build could not be ended");
            return;
        }
        if let Some(Err(error)) = user.map(kill_all_of) {
            tracing::warn!(%deployment, %error, "the processes of a build's user could not be ended at once");
        }
        for pid in found {
            // It may have ended by itself meanwhile.
            kill_process(pid, Signal::KILL).ok();
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills all processes of a user in one system call, so that none can fork faster than it is found (kill(2), pid -1).
#[allow(unsafe_code)]
fn kill_all_of(user: u32) -> io::Result<()> {
    let kill_and_end = move || {
        // As anyone else this would end the server.
        if rustix::process::getuid().as_raw() != user || geteuid().as_raw() != user {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // SAFETY: two system calls; the second never returns, so nothing is executed.
        unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::_exit(0)
        }
    };
    let mut command = Command::new("/nonexistent");
    command.uid(user).gid(user).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exit only system calls are made: nothing allocates, locks or touches shared state.
    unsafe { command.pre_exec(kill_and_end) };
    command.spawn()?.wait()?;
    Ok(())
}

struct MarkedProcesses {
    found: Vec<Pid>,
    /// Some process shows no environment: between execve(2) and its first instruction none does.
    starting: bool,
}

/// Processes with the mark; those of other users can't be read and are not ours. Zombies and kernel threads have neither
/// a program nor an environment.
fn marked(mark: &str) -> MarkedProcesses {
    let mut marked = MarkedProcesses { found: Vec::new(), starting: false };
    for pid in pids() {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { continue };
        if environment.is_empty() {
            marked.starting |= fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        } else if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            marked.found.extend(Pid::from_raw(pid));
        }
    }
    marked
}

/// Processes with this user in any of their ids (real, effective, saved, of files); zombies run no more.
fn owned(user: u32) -> Vec<Pid> {
    let is_owned = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let runs = !field("State:").trim_start().starts_with(['Z', 'X']);
        runs && field("Uid:").split_whitespace().any(|id| id.parse() == Ok(user))
    };
    pids().filter(|pid| is_owned(*pid)).filter_map(Pid::from_raw).collect()
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_one_build_at_a_time() {
        let first = UserLock::take(Some(71_300)).unwrap();
        assert!(UserLock::take(Some(71_300)).is_none());
        assert!(UserLock::take(Some(71_301)).is_some());
        assert!(UserLock::take(None).is_some() && UserLock::take(None).is_some());
        drop(first);
        assert!(UserLock::take(Some(71_300)).is_some());
    }
}
