//! `agent.json`: the current program, the program on trial and the outcome of the last request. Owns every decision about them.
//! Invariant: the file only gains fields, since an older agent reads files of a newer one.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fairlead_base::{Folders, StateFileError, file, state_file};
use fairlead_model::Failure;
use serde::{Deserialize, Serialize};

use super::{STARTS_MAX, TRIAL, failure};

/// A program of the data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Lower-case hex of its SHA-256, which names its folder.
    pub(crate) hex: String,
    /// Version that the program reports.
    pub(crate) version: String,
}

/// Program that a person or a script installed, with the metadata that tells it from another one at the same path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstalledProgram {
    path: PathBuf,
    inode: u64,
    size: u64,
    modified_ns: i64,
}

impl InstalledProgram {
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        let modified_ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Ok(Self { path: path.into(), inode: found.ino(), size: found.size(), modified_ns })
    }
}

/// Program on trial and its number of starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ProgramTrial {
    program: Program,
    attempt: u32,
    starts: u32,
}

/// Outcome of an upgrade request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RequestOutcome {
    attempt: u32,
    /// Digest of the requested program, since a restored control plane counts attempts anew. Empty in older files.
    #[serde(default)]
    hex: String,
    failure: Option<Failure>,
}

/// Program that the installed program should execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// The installed program itself.
    Installed,
    /// A program that has proved itself.
    Proven(Program),
    /// A program on trial, which must be watched.
    Trial(Program),
}

/// Contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct UpgradeRecord {
    installed: Option<InstalledProgram>,
    current: Option<Program>,
    former: Option<Program>,
    trial: Option<ProgramTrial>,
    ended: Option<RequestOutcome>,
}

impl UpgradeRecord {
    /// Reads the file. Renames a damaged one: the installed program then runs, which is safe.
    pub(crate) fn open(folders: &Folders) -> io::Result<Self> {
        match Self::read(folders) {
            Ok(record) => Ok(record.unwrap_or_default()),
            Err(StateFileError::Io { source, .. }) => Err(source),
            Err(StateFileError::Damaged { path, reason }) => {
                let aside = state_file::set_aside(&path)?;
                eprintln!("fairlead-agent: agent.json is damaged and was set aside as {}: {reason}", aside.display());
                Ok(Self::default())
            }
        }
    }

    pub(crate) fn read(folders: &Folders) -> Result<Option<Self>, StateFileError> {
        let parse = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| error.to_string());
        state_file::read(&folders.agent_record(), parse)
    }

    pub(crate) fn save(&self, folders: &Folders) -> io::Result<()> {
        file::replace(&folders.agent_record(), &serde_json::to_vec(self)?, 0o600)
    }

    /// Counts a start of the installed program and selects the program to execute.
    pub(crate) fn select(&mut self, installed: InstalledProgram) -> Selection {
        if self.installed.as_ref() != Some(&installed) {
            self.replaced();
            self.installed = Some(installed);
        }
        if let Some(trial) = &mut self.trial {
            if trial.starts < STARTS_MAX {
                trial.starts += 1;
                return Selection::Trial(trial.program.clone());
            }
            self.fail(failure(
                "upgrade.crashed",
                format!(
                    "The new agent was started {STARTS_MAX} times and ended each time before the control plane knew it. The previous one runs again; the server's log of fairlead-agent says more."
                ),
            ));
        }
        self.current.clone().map_or(Selection::Installed, Selection::Proven)
    }

    /// Discards upgrades after a manual installation, which takes precedence.
    fn replaced(&mut self) {
        (self.current, self.former) = (None, None);
        self.fail(failure(
            "upgrade.replaced",
            "Another agent was installed on the server before the new one had proved itself.",
        ));
    }

    /// Returns the path of the installed program, once it was started from there.
    pub(crate) fn installed(&self) -> Option<&Path> {
        self.installed.as_ref().map(|installed| installed.path.as_path())
    }

    /// Puts a program on trial from the next start on.
    pub(crate) fn begin(&mut self, program: Program, attempt: u32) {
        self.trial = Some(ProgramTrial { program, attempt, starts: 0 });
    }

    /// Returns the attempt of the request if this program is on trial.
    pub(crate) fn on_trial(&self, hex: &str) -> Option<u32> {
        self.trial.as_ref().filter(|trial| trial.program.hex == hex).map(|trial| trial.attempt)
    }

    /// Makes the program on trial the current one.
    pub(crate) fn confirm(&mut self) {
        let Some(trial) = self.trial.take() else { return };
        self.ended = Some(RequestOutcome { attempt: trial.attempt, hex: trial.program.hex.clone(), failure: None });
        self.former = self.current.replace(trial.program);
    }

    /// Ends the trial with a failure; the current program runs next.
    pub(crate) fn fail(&mut self, failure: Failure) {
        if let Some(trial) = self.trial.take() {
            self.end(trial.attempt, &trial.program.hex, failure);
        }
    }

    /// Fails the trial because its time is over.
    pub(crate) fn fail_silent(&mut self) {
        self.fail(failure(
            "upgrade.silent",
            format!(
                "The new agent did not reach the control plane within {} s of its start, so the previous one runs again. The server's log of fairlead-agent says more.",
                TRIAL.as_secs()
            ),
        ));
    }

    /// Records a request that failed before its program was started.
    pub(crate) fn end(&mut self, attempt: u32, hex: &str, failure: Failure) {
        self.ended = Some(RequestOutcome { attempt, hex: hex.to_owned(), failure: Some(failure) });
    }

    /// Returns the outcome of a request; `None` if it has not ended or was another one.
    pub(crate) fn outcome(&self, attempt: u32, hex: &str) -> Option<Option<&Failure>> {
        let ended =
            self.ended.as_ref().filter(|ended| ended.attempt == attempt && (ended.hex.is_empty() || ended.hex == hex));
        ended.map(|ended| ended.failure.as_ref())
    }

    /// True if a program of the folder may still be needed.
    pub(crate) fn keeps(&self, hex: &str) -> bool {
        let trial = self.trial.as_ref().map(|trial| &trial.program);
        [trial, self.current.as_ref(), self.former.as_ref()].into_iter().flatten().any(|program| program.hex == hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str) -> Program {
        Program { hex: name.repeat(64), version: "1.0.0".into() }
    }

    fn installed(inode: u64) -> InstalledProgram {
        InstalledProgram { path: "/usr/local/bin/fairlead-agent".into(), inode, size: 1, modified_ns: 1 }
    }

    fn upgraded() -> UpgradeRecord {
        let mut record = UpgradeRecord::default();
        assert_eq!(record.select(installed(1)), Selection::Installed);
        record.begin(program("b"), 1);
        assert_eq!(record.select(installed(1)), Selection::Trial(program("b")));
        record.confirm();
        record
    }

    #[test]
    fn a_proved_program_is_selected_at_each_later_start() {
        let mut record = upgraded();
        assert_eq!(record.outcome(1, &program("b").hex), Some(None));
        assert_eq!(record.outcome(1, &program("c").hex), None, "the same number for another program is another matter");
        for _ in 0..10 {
            assert_eq!(record.select(installed(1)), Selection::Proven(program("b")));
        }
        record.begin(program("c"), 2);
        assert_eq!(record.select(installed(1)), Selection::Trial(program("c")));
        assert_eq!(record.on_trial(&program("c").hex), Some(2));
        record.confirm();
        assert!(record.keeps(&program("c").hex) && record.keeps(&program("b").hex));
        assert_eq!(record.select(installed(1)), Selection::Proven(program("c")));
    }

    #[test]
    fn a_crashing_program_is_rolled_back_after_the_maximum_of_starts() {
        let mut record = upgraded();
        record.begin(program("c"), 2);
        for _ in 0..STARTS_MAX {
            assert_eq!(record.select(installed(1)), Selection::Trial(program("c")));
        }
        assert_eq!(record.select(installed(1)), Selection::Proven(program("b")));
        assert_eq!(record.outcome(2, &program("c").hex).unwrap().unwrap().code, "upgrade.crashed");
        assert_eq!(record.outcome(3, &program("c").hex), None, "a newer request is another matter");
        assert!(!record.keeps(&program("c").hex));
    }

    #[test]
    fn a_failed_first_upgrade_rolls_back_to_the_installed_program() {
        let mut record = UpgradeRecord::default();
        record.select(installed(1));
        record.begin(program("b"), 1);
        record.select(installed(1));
        record.fail_silent();
        assert_eq!(record.select(installed(1)), Selection::Installed);
        assert_eq!(record.outcome(1, &program("b").hex).unwrap().unwrap().code, "upgrade.silent");
    }

    #[test]
    fn a_manually_installed_program_replaces_the_selected_one() {
        let mut record = upgraded();
        record.begin(program("c"), 2);
        assert_eq!(record.select(installed(2)), Selection::Installed);
        assert_eq!(record.outcome(2, &program("c").hex).unwrap().unwrap().code, "upgrade.replaced");
        assert_eq!(record.select(installed(2)), Selection::Installed);
    }

    #[test]
    fn the_record_round_trips_and_a_damaged_one_is_set_aside_and_unknown_fields_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let record = upgraded();
        record.save(&folders).unwrap();
        assert_eq!(UpgradeRecord::open(&folders).unwrap(), record);
        std::fs::write(folders.agent_record(), br#"{"colour":"blue"}"#).unwrap();
        assert_eq!(UpgradeRecord::open(&folders).unwrap(), UpgradeRecord::default());
        std::fs::write(folders.agent_record(), b"{half").unwrap();
        assert_eq!(UpgradeRecord::open(&folders).unwrap(), UpgradeRecord::default());
        assert!(folders.agent_record().with_extension("json.damaged").exists());
    }
}
