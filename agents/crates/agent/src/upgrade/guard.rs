//! Watches a program on trial from a separate process of the installed program, since a hanging program can't end itself.
//! Enforces the trial's time limit.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use fairlead_base::Folders;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::TRIAL;
use super::record::UpgradeRecord;
use crate::cli::GuardArgs;
use crate::command::CommandResult;

const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Runs the `guard` subcommand. Standard input is the pidfd of the process on trial.
pub(crate) fn guard(args: GuardArgs) -> CommandResult {
    if !args.watch {
        // Detaches the watcher by a second spawn: the process on trial executes another program and would never reap a child.
        let mut again = Command::new(std::env::current_exe()?);
        again.args(std::env::args_os().skip(1)).arg("--watch");
        again.stdin(Stdio::inherit()).stdout(Stdio::null()).spawn()?;
        return Ok(ExitCode::SUCCESS);
    }
    let folders = Folders::new(&args.data)?;
    watch(io::stdin().as_fd(), &folders, &args.agent, TRIAL)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns once the process has ended or its program is no longer on trial. After `limit` the trial fails and the process is
/// killed, even if the record can't be saved. The service manager then starts the installed program, which rolls back or retries
/// up to `STARTS_MAX` times.
fn watch(process: BorrowedFd<'_>, folders: &Folders, hex: &str, limit: Duration) -> io::Result<()> {
    let until = Instant::now() + limit;
    loop {
        let mut polled = [PollFd::from_borrowed_fd(process, PollFlags::IN)];
        if poll(&mut polled, Some(&POLL_INTERVAL))? > 0 {
            return Ok(());
        }
        let mut record = UpgradeRecord::open(folders);
        if record.as_ref().is_ok_and(|record| record.on_trial(hex).is_none()) {
            return Ok(());
        }
        if Instant::now() >= until {
            let saved = record.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()));
            let saved = saved.and_then(|record| {
                record.fail_silent();
                record.save(folders)
            });
            // Ignores write errors: a closed output must not prevent the kill.
            let reason = saved.err().map(|error| format!(" (agent.json can't be read or saved: {error})"));
            let reason = reason.unwrap_or_default();
            let said = format!("the agent on trial did not prove itself within {} s: back{reason}", limit.as_secs());
            writeln!(io::stderr(), "fairlead-agent: {said}").ok();
            return Ok(pidfd_send_signal(process, Signal::KILL)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::super::Program;
    use super::*;

    #[test]
    fn a_hanging_program_is_killed_and_rolled_back_and_a_proved_one_keeps_running() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let hex = "a".repeat(64);
        for proves_itself in [true, false] {
            let mut record = UpgradeRecord::default();
            record.begin(Program { hex: hex.clone(), version: "1".into() }, 7);
            if proves_itself {
                record.confirm();
            }
            record.save(&folders).unwrap();
            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            let pid = Pid::from_child(&child);
            let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            watch(process.as_fd(), &folders, &hex, Duration::from_millis(1)).unwrap();
            if proves_itself {
                assert!(child.try_wait().unwrap().is_none());
                child.kill().unwrap();
                child.wait().unwrap();
                continue;
            }
            assert_eq!(child.wait().unwrap().signal(), Some(9));
            let failure = UpgradeRecord::open(&folders).unwrap().outcome(7, &hex).unwrap().unwrap().clone();
            assert_eq!(failure.code, "upgrade.silent");
        }
    }

    #[test]
    fn a_hanging_program_is_killed_also_when_the_record_can_not_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        std::fs::create_dir(folders.agent_record()).unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        watch(process.as_fd(), &folders, &"a".repeat(64), Duration::from_millis(1)).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
