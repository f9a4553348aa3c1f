//! The agent's systemd units, as the install command writes them. Changes nothing unless the unit names this data folder.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlead_base::Folders;
use fairlead_base::cgroup::APPS_UNIT;

const UNITS: &str = "/etc/systemd/system";
const AGENT_UNIT: &str = "fairlead-agent.service";
/// Exists while systemd runs the machine (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";
/// Transient unit of an uninstall that the control plane asked for.
const UNINSTALL_UNIT: &str = "fairlead-uninstall";

/// Returns the data folder of the installed service.
pub(super) fn data_folder() -> Option<PathBuf> {
    data_of(&fs::read_to_string(agent_unit()).ok()?)
}

/// True if systemd runs the agent of this data folder.
pub(super) fn is_installed(folders: &Folders) -> bool {
    Path::new(BOOTED).is_dir() && data_folder().is_some_and(|data| data == folders.root())
}

/// Stops the service, also at the next boot. Apps keep running.
pub(super) fn stop(folders: &Folders) -> io::Result<()> {
    if is_installed(folders) { systemctl(&["disable", "--quiet", "--now", AGENT_UNIT]) } else { Ok(()) }
}

/// Removes the units of an agent that is stopped and has no apps any more.
pub(super) fn remove(folders: &Folders) -> io::Result<()> {
    if !is_installed(folders) {
        return Ok(());
    }
    systemctl(&["stop", APPS_UNIT])?;
    // The agent's unit names the data folder, so it goes last: until then another run finds both.
    for path in [Path::new(UNITS).join(APPS_UNIT), agent_unit()] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    systemctl(&["daemon-reload"])
}

/// Runs this program in a unit of its own.
pub(super) fn run_outside(program: &Path, words: &[OsString]) -> io::Result<()> {
    let mut command = Command::new("systemd-run");
    command.args(["--quiet", "--collect", "--no-block"]).arg(format!("--unit={UNINSTALL_UNIT}"));
    succeed(command.arg("--").arg(program).args(words))
}

fn agent_unit() -> PathBuf {
    Path::new(UNITS).join(AGENT_UNIT)
}

fn data_of(unit: &str) -> Option<PathBuf> {
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let mut words = start.split_whitespace().skip_while(|word| *word != "--data");
    words.nth(1).map(PathBuf::from)
}

fn systemctl(words: &[&str]) -> io::Result<()> {
    succeed(Command::new("systemctl").args(words))
}

fn succeed(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let program = command.get_program().to_string_lossy().into_owned();
    Err(io::Error::other(format!("{program} ended with {}: {}", output.status, said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_is_the_one_that_the_unit_names() {
        let unit = "[Service]\nExecStart=/usr/local/bin/fairlead-agent run --data /srv/fairlead --https [::]:443\n";
        assert_eq!(data_of(unit), Some("/srv/fairlead".into()));
        assert_eq!(data_of("[Service]\nExecStart=/usr/local/bin/other run\n"), None);
        assert_eq!(data_of(""), None);
    }
}
