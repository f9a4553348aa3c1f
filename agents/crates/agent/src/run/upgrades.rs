//! Upgrades the agent to the version in desired state, from the download to the hand-over, and proves an agent on trial.
//! `upgrade::record` decides which program runs next.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fairlead_base::{CancellationToken, Folders, file, tree};
use fairlead_build::Store;
use fairlead_fetch::Digest;
use fairlead_link::AcceptedState;
use fairlead_model::{AgentRelease, AgentStatus, Failure, UpgradeStatus, UpgradeStep, WorkState};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::upgrade::{OwnBuild, Program, ReleaseKeys, UpgradeRecord, failure, own_digest, program_at};

/// Limit for the new program's check of this server; longer than each of the check's own deadlines.
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of the quoted standard error.
const WORDS_BYTES_MAX: usize = 600;
/// Free disk space that must remain beside the program.
const FREE_BYTES_AFTER: u64 = 64 << 20;

/// Inputs and outputs of the upgrade task.
pub(super) struct Upgrades {
    pub(super) folders: Folders,
    pub(super) store: Store,
    pub(super) desired: watch::Receiver<AcceptedState>,
    pub(super) connected: watch::Receiver<bool>,
    /// True while a build, rollout or benchmark runs.
    pub(super) busy: watch::Receiver<bool>,
    pub(super) report: watch::Sender<Option<AgentStatus>>,
    /// Session time after which an agent on trial is proved. Shorter than the trial.
    pub(super) proof: Duration,
    /// Keys of which one must have signed another program.
    pub(super) keys: ReleaseKeys,
    /// Ends `run` so that another program takes over.
    pub(super) hand_over: CancellationToken,
}

impl Upgrades {
    pub(super) async fn run(mut self, program: PathBuf) {
        let named = own_digest(&self.folders, &program);
        let hex = match named {
            Some(hex) => hex,
            None => match tokio::task::spawn_blocking(|| Digest::hex_of(Path::new("/proc/self/exe"))).await {
                Ok(Ok(hex)) => hex,
                Ok(Err(error)) => return tracing::error!(%error, "the agent can't read its own program: no upgrades"),
                Err(error) => return tracing::error!(%error, "the agent's program was not read: no upgrades"),
            },
        };
        self.send_status(&hex, None);
        if let Err(error) = self.prove(&hex).await {
            tracing::error!(%error, "agent.json can't be saved: no upgrades");
            return;
        }
        loop {
            let wanted = self.desired.borrow_and_update().state.as_ref().and_then(|state| state.agent.clone());
            let Some(release) = wanted else {
                self.send_status(&hex, None);
                if self.desired.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let mut desired = self.desired.clone();
            let other = desired.wait_for(|desired| {
                let requested = desired.state.as_ref().and_then(|state| state.agent.as_ref());
                requested
                    .is_none_or(|requested| requested.attempt != release.attempt || requested.digest != release.digest)
            });
            tokio::select! {
                done = self.follow(&hex, &release) => match done {
                    // The end of `run` aborts this task.
                    Ok(()) => return,
                    Err(error) => return tracing::error!(%error, "agent.json can't be read or saved: no upgrades"),
                },
                gone = other => if gone.is_err() { return },
            }
        }
    }

    /// Waits until the control plane has known the program on trial for `proof`, then confirms it.
    async fn prove(&mut self, hex: &str) -> io::Result<()> {
        let Some(attempt) = UpgradeRecord::open(&self.folders)?.on_trial(hex) else { return Ok(()) };
        self.send_status(hex, Some(running(attempt, UpgradeStep::Start)));
        loop {
            if self.connected.wait_for(|connected| *connected).await.is_err() {
                return std::future::pending().await;
            }
            let lost = self.connected.wait_for(|connected| !connected);
            if timeout(self.proof, lost).await.is_err() {
                break;
            }
        }
        let mut record = UpgradeRecord::open(&self.folders)?;
        record.confirm();
        record.save(&self.folders)?;
        tracing::info!(hex, "this agent has proved itself");
        prune(&self.folders, &record);
        Ok(())
    }

    /// Prepares the upgrade. Returns only an error, or when it is time to hand over.
    async fn follow(&self, hex: &str, release: &AgentRelease) -> io::Result<()> {
        let attempt = release.attempt;
        let mut record = UpgradeRecord::open(&self.folders)?;
        let wanted = release.digest.strip_prefix("sha256:").unwrap_or(&release.digest).to_ascii_lowercase();
        if record.outcome(attempt, &wanted).is_none() {
            if wanted == hex {
                self.send_status(hex, Some(ended(attempt, None)));
                return std::future::pending().await;
            }
            match self.prepare(hex, release, &wanted).await {
                Ok(()) => {
                    let program = Program { hex: wanted.clone(), version: release.version.clone() };
                    record.begin(program, attempt);
                    record.save(&self.folders)?;
                    tracing::info!(version = release.version, digest = release.digest, "handing over to another agent");
                    self.hand_over.cancel();
                    return Ok(());
                }
                Err(failure) => {
                    tracing::error!(code = failure.code, reason = failure.message, "the agent is not upgraded");
                    record.end(attempt, &wanted, failure);
                    record.save(&self.folders)?;
                    prune(&self.folders, &record);
                }
            }
        }
        self.send_status(hex, Some(ended(attempt, record.outcome(attempt, &wanted).flatten())));
        std::future::pending().await
    }

    /// Runs every step that may fail while this agent still works as before.
    async fn prepare(&self, hex: &str, release: &AgentRelease, wanted: &str) -> Result<(), Failure> {
        let step = |step| self.send_status(hex, Some(running(release.attempt, step)));
        step(UpgradeStep::Fetch);
        let installed = UpgradeRecord::open(&self.folders).map_err(save_failure)?;
        if !installed.installed().is_some_and(Path::exists) {
            return Err(failure(
                "upgrade.unavailable",
                "The agent is not at the path any more where it was installed, so nothing could start it again. Run the install command of Servers on it once.",
            ));
        }
        let program = self.fetch(release, wanted).await?;
        step(UpgradeStep::Check);
        check(&program, self.folders.root()).await?;
        step(UpgradeStep::Wait);
        let mut busy = self.busy.clone();
        if busy.wait_for(|busy| !busy).await.is_err() {
            // A closed channel means that `run` ends.
            std::future::pending::<()>().await;
        }
        step(UpgradeStep::Start);
        Ok(())
    }

    async fn fetch(&self, release: &AgentRelease, wanted: &str) -> Result<PathBuf, Failure> {
        let program = program_at(&self.folders, wanted);
        let coming = program.with_extension("coming");
        let (free, _) = super::disk::space(self.folders.root()).map_err(save_failure)?;
        if free < release.size_bytes.saturating_add(FREE_BYTES_AFTER) {
            return Err(failure(
                "upgrade.fetch_failed",
                "The server's disk has no room for another agent. Free some space on it, then try again.",
            ));
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o711)
            .create(self.folders.agents().join(wanted))
            .map_err(save_failure)?;
        let cancel = CancellationToken::new();
        let _cancelled_with_this = cancel.clone().drop_guard();
        self.store.fetch_within(&release.digest, release.size_bytes, &coming, &cancel).await.map_err(|error| {
            failure("upgrade.fetch_failed", format!("The new agent could not be fetched: {error}. Try again."))
        })?;
        let size = fs::metadata(&coming).map_err(save_failure)?.len();
        if size != release.size_bytes {
            fs::remove_file(&coming).map_err(save_failure)?;
            return Err(failure(
                "upgrade.fetch_failed",
                format!("What came has {size} bytes instead of the {} that were signed for.", release.size_bytes),
            ));
        }
        self.require_signature(&coming, release).await?;
        let put = || -> io::Result<()> {
            fs::set_permissions(&coming, PermissionsExt::from_mode(0o755))?;
            fs::File::open(&coming)?.sync_all()?;
            fs::rename(&coming, &program)?;
            file::sync_folder(&program)?;
            file::sync_folder(&self.folders.agents().join(wanted))
        };
        put().map_err(save_failure)?;
        Ok(program)
    }

    /// Removes a program that this agent may not run.
    async fn require_signature(&self, coming: &Path, release: &AgentRelease) -> Result<(), Failure> {
        let (keys, path, signature) = (self.keys.clone(), coming.to_owned(), release.signature.clone());
        // Hashing the program would block the event loop.
        let verified = tokio::task::spawn_blocking(move || keys.verify(&path, &signature, OwnBuild::RUNNING)).await;
        let Err(error) = verified.map_err(|error| save_failure(error.into()))? else { return Ok(()) };
        fs::remove_file(coming).map_err(save_failure)?;
        Err(failure(error.code(), format!("The new agent was refused: {error}. Nothing was changed.")))
    }

    fn send_status(&self, hex: &str, upgrade: Option<UpgradeStatus>) {
        let status = Some(AgentStatus { digest: format!("sha256:{hex}"), upgrade });
        self.report.send_if_modified(|current| std::mem::replace(current, status.clone()) != status);
    }
}

/// Runs the new program's own check of this server.
async fn check(program: &Path, data: &Path) -> Result<(), Failure> {
    let refused = |reason: String| {
        failure(
            "upgrade.check_failed",
            format!("The new agent can't work on this server: {reason}. Nothing was changed."),
        )
    };
    let mut command = Command::new(program);
    command.arg("trial").arg("--data").arg(data).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    let output = timeout(CHECK_TIMEOUT, command.output())
        .await
        .map_err(|_| refused(format!("it did not end its check within {} s", CHECK_TIMEOUT.as_secs())))?
        .map_err(|error| refused(format!("it can't be started ({error})")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let last: String =
        last.trim_start_matches("fairlead-agent: ").trim_end_matches('.').chars().take(WORDS_BYTES_MAX).collect();
    Err(refused(if last.is_empty() { format!("its check ended with {}", output.status) } else { last }))
}

/// Removes unused programs; a running one continues without its file. A program that can't be removed stays until the next time,
/// without an error.
fn prune(folders: &Folders, record: &UpgradeRecord) {
    let left = |error: io::Error| tracing::warn!(%error, "an agent that nothing leads to can't be removed");
    let entries = match fs::read_dir(folders.agents()) {
        Ok(entries) => entries,
        Err(error) => return left(error),
    };
    for entry in entries {
        let removed = entry.and_then(|entry| {
            if entry.file_name().to_str().is_some_and(|name| record.keeps(name)) {
                return Ok(());
            }
            tree::remove(&entry.path())
        });
        removed.unwrap_or_else(left);
    }
}

fn running(attempt: u32, step: UpgradeStep) -> UpgradeStatus {
    UpgradeStatus { attempt, state: WorkState::Running, step, failure: None }
}

fn ended(attempt: u32, failure: Option<&Failure>) -> UpgradeStatus {
    let state = if failure.is_some() { WorkState::Failed } else { WorkState::Succeeded };
    UpgradeStatus { attempt, state, step: UpgradeStep::Start, failure: failure.cloned() }
}

fn save_failure(error: io::Error) -> Failure {
    failure("upgrade.fetch_failed", format!("The new agent could not be kept on the server's disk: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_can_not_work_here_says_why_in_its_last_line() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("agent");
        let put = |text: &str, mode: u32| {
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
        };
        put("#!/bin/sh\necho first >&2\necho 'fairlead-agent: no key' >&2\nexit 1\n", 0o755);
        let failure = check(&program, dir.path()).await.unwrap_err();
        assert_eq!(failure.code, "upgrade.check_failed");
        assert!(failure.message.contains("on this server: no key. Nothing was changed."), "{}", failure.message);
        put("#!/bin/sh\nexit 3\n", 0o755);
        assert!(check(&program, dir.path()).await.unwrap_err().message.contains("exit status: 3"));
        put("neither a script nor a program", 0o755);
        assert!(check(&program, dir.path()).await.unwrap_err().message.contains("can't be started"));
        put("#!/bin/sh\n[ \"$1 $2\" = \"trial --data\" ]\n", 0o755);
        check(&program, dir.path()).await.unwrap();
    }

    #[test]
    fn unused_programs_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let mut record = UpgradeRecord::default();
        let (kept, left) = ("a".repeat(64), "b".repeat(64));
        record.begin(Program { hex: kept.clone(), version: "1".into() }, 1);
        for hex in [&kept, &left] {
            fs::create_dir(folders.agents().join(hex)).unwrap();
            fs::write(program_at(&folders, hex), "x").unwrap();
        }
        fs::write(folders.agents().join("stray"), "x").unwrap();
        prune(&folders, &record);
        let names: Vec<_> = fs::read_dir(folders.agents()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [kept.as_str()]);
        let program = program_at(&folders, &kept).canonicalize().unwrap();
        assert_eq!(own_digest(&folders, &program), Some(kept));
        assert_eq!(own_digest(&folders, Path::new("/usr/local/bin/fairlead-agent")), None);
    }
}
