//! Executes the selected program: the installed one does so at each start, a running one at a hand-over. Invariant: the process
//! stays the same, so that systemd and `npm start` notice nothing.

use std::error::Error;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use fairlead_base::Folders;
use fairlead_base::error::chain;
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::record::{InstalledProgram, Program, Selection, UpgradeRecord};
use super::{NAME, failure, program_at};

/// True if a program on trial can be watched here: from Linux 5.3 on.
pub(crate) fn is_possible() -> bool {
    pidfd_open(getpid(), PidfdFlags::empty()).is_ok()
}

/// Returns if this program is the selected one. The caller holds the folder's lock, so only one process selects. An error keeps
/// this program running: a server must not lose its agent.
pub(crate) fn exec_selected(folders: &Folders) {
    if let Err(error) = select_and_exec(folders) {
        eprintln!("fairlead-agent: can't tell which agent should run, so this one does: {error}");
    }
}

fn select_and_exec(folders: &Folders) -> io::Result<()> {
    let own = std::env::current_exe()?;
    if own_digest(folders, &own).is_some() {
        return Ok(());
    }
    let mut record = UpgradeRecord::open(folders)?;
    let mut saved = record.clone();
    loop {
        let selection = record.select(InstalledProgram::at(&own)?);
        if record != saved {
            match record.save(folders) {
                Ok(()) => saved = record.clone(),
                Err(error) => {
                    eprintln!("fairlead-agent: agent.json can't be saved: {error}");
                    // An uncounted start might be repeated without end.
                    if matches!(selection, Selection::Trial(_)) {
                        record.fail(failure("upgrade.check_failed", "The server's disk takes nothing more."));
                        continue;
                    }
                }
            }
        }
        match selection {
            Selection::Installed => return Ok(()),
            Selection::Proven(program) => {
                let error = exec_program(&program_at(folders, &program.hex));
                eprintln!(
                    "fairlead-agent: agent {} can't be started, the installed one runs: {error}",
                    program.version
                );
                return Ok(());
            }
            Selection::Trial(program) => {
                eprintln!("fairlead-agent: agent {} ({}) is on trial", program.version, program.hex);
                let error = exec_on_trial(folders, &own, &program);
                eprintln!("fairlead-agent: it can't be started: {}", chain(error.as_ref()));
                let message = format!("The new agent could not be started: {error}. The previous one keeps running.");
                record.fail(failure("upgrade.check_failed", message));
            }
        }
    }
}

/// Executes the installed program in this process, with the same arguments; it selects anew. Returns only an error.
pub(crate) fn exec_installed(folders: &Folders) -> Box<dyn Error> {
    match UpgradeRecord::open(folders) {
        Ok(record) => match record.installed() {
            Some(installed) => exec_program(installed).into(),
            None => "nobody knows where the agent is installed".into(),
        },
        Err(error) => error.into(),
    }
}

/// Returns the digest in the path of a program of the data folder; `None` for the installed one.
pub(crate) fn own_digest(folders: &Folders, own: &Path) -> Option<String> {
    // Links may lead to its folder under another name.
    let agents = folders.agents().canonicalize().ok()?;
    let (folder, name) = own.strip_prefix(agents).ok()?.to_str()?.split_once('/')?;
    let is_ours = name == NAME && folder.len() == 64 && folder.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| folder.to_owned())
}

fn exec_on_trial(folders: &Folders, own: &Path, program: &Program) -> Box<dyn Error> {
    // The installed program watches, as it is known to work. It identifies this process by a descriptor, never by a pid.
    let watched = match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(watched) => watched,
        Err(error) => return io::Error::from(error).into(),
    };
    let mut guard = Command::new(own);
    guard.arg("guard").arg("--data").arg(folders.root()).arg("--agent").arg(&program.hex);
    match guard.stdin(Stdio::from(watched)).status() {
        Ok(status) if status.success() => exec_program(&program_at(folders, &program.hex)).into(),
        Ok(status) => format!("nobody could be set to watch it ({status})").into(),
        Err(error) => error.into(),
    }
}

/// Returns only an error.
fn exec_program(program: &Path) -> io::Error {
    Command::new(program).args(std::env::args_os().skip(1)).exec()
}
