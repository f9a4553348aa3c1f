//! Becoming another program: by the installed one at each start, and by a running one that hands over. The process stays the
//! same, so that systemd, `npm start` and whoever else watches it notice nothing.

use std::error::Error;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use fairlead_base::Folders;
use fairlead_base::error::chain;
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::record::{Installed, Lead, Program, Record};
use super::{NAME, failure, program_at};

/// Whether a program on trial can be watched here: from Linux 5.3 on.
pub(crate) fn is_possible() -> bool {
    pidfd_open(getpid(), PidfdFlags::empty()).is_ok()
}

/// Comes back when this program is the one to run. Whoever calls holds the lock of the folder, so nobody else decides. What
/// keeps it from deciding must not keep a server without an agent.
pub(crate) fn lead(folders: &Folders) {
    if let Err(error) = decide(folders) {
        eprintln!("fairlead-agent: can't tell which agent should run, so this one does: {error}");
    }
}

fn decide(folders: &Folders) -> io::Result<()> {
    let own = std::env::current_exe()?;
    if own_digest(folders, &own).is_some() {
        return Ok(());
    }
    let mut record = Record::open(folders)?;
    let mut saved = record.clone();
    loop {
        let lead = record.lead(Installed::at(&own)?);
        if record != saved {
            match record.save(folders) {
                Ok(()) => saved = record.clone(),
                Err(error) => {
                    eprintln!("fairlead-agent: agent.json can't be saved: {error}");
                    // A start that is not counted might be repeated for ever.
                    if matches!(lead, Lead::Trial(_)) {
                        record.fail(failure("upgrade.check_failed", "The server's disk takes nothing more."));
                        continue;
                    }
                }
            }
        }
        match lead {
            Lead::Stay => return Ok(()),
            Lead::Proven(program) => {
                let error = become_program(&program_at(folders, &program.hex));
                eprintln!(
                    "fairlead-agent: agent {} can't be started, the installed one runs: {error}",
                    program.version
                );
                return Ok(());
            }
            Lead::Trial(program) => {
                eprintln!("fairlead-agent: agent {} ({}) is on trial", program.version, program.hex);
                let error = try_out(folders, &own, &program);
                eprintln!("fairlead-agent: it can't be started: {}", chain(error.as_ref()));
                let message = format!("The new agent could not be started: {error}. The former one runs on.");
                record.fail(failure("upgrade.check_failed", message));
            }
        }
    }
}

/// The installed program takes this process over and decides anew, with the arguments of this one.
pub(crate) fn start_over(folders: &Folders) -> Box<dyn Error> {
    match Record::open(folders) {
        Ok(record) => match record.installed() {
            Some(installed) => become_program(installed).into(),
            None => "nobody knows where the agent is installed".into(),
        },
        Err(error) => error.into(),
    }
}

/// The digest that a program of the data folder is named by; `None` for the installed one.
pub(crate) fn own_digest(folders: &Folders, own: &Path) -> Option<String> {
    // Its folder may be reached by another name.
    let agents = folders.agents().canonicalize().ok()?;
    let (folder, name) = own.strip_prefix(agents).ok()?.to_str()?.split_once('/')?;
    let is_ours = name == NAME && folder.len() == 64 && folder.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| folder.to_owned())
}

fn try_out(folders: &Folders, own: &Path, program: &Program) -> Box<dyn Error> {
    // Watched by the installed program, which is known to work: it knows this process by a descriptor, never by a number.
    let watched = match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(watched) => watched,
        Err(error) => return io::Error::from(error).into(),
    };
    let mut guard = Command::new(own);
    guard.arg("guard").arg("--data").arg(folders.root()).arg("--agent").arg(&program.hex);
    match guard.stdin(Stdio::from(watched)).status() {
        Ok(status) if status.success() => become_program(&program_at(folders, &program.hex)).into(),
        Ok(status) => format!("nobody could be set to watch it ({status})").into(),
        Err(error) => error.into(),
    }
}

/// Returns only when it could not.
fn become_program(program: &Path) -> io::Error {
    Command::new(program).args(std::env::args_os().skip(1)).exec()
}
