//! Rollout commands in the driver: each runs as an instance without a port or checks, and its output goes into the
//! deployment's log. Decides nothing: `rollout` does.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairlead_base::clock;
use fairlead_model::{AppKey, DeploymentId, InstanceId, LogLine, LogStream, ReleaseSpec, Step};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::driver::RuntimeDriver;
use super::launch::LaunchRequest;
use crate::instance::WEB;
use crate::output;
use crate::rollout::HookKind;

/// Pause between two reads of a command's output.
const FOLLOW_PAUSE: Duration = Duration::from_millis(300);
/// Maximum lines per read; the output of a command that writes faster is cut.
const LINES_MAX: usize = 2_000;

/// Output of a command: its source, its destination and the read position.
pub(super) struct HookOutput {
    folder: PathBuf,
    deployment: DeploymentId,
    step: Step,
    log: mpsc::Sender<(DeploymentId, LogLine)>,
    /// Time of the last lines that were read, and the number of lines with that time.
    read: Mutex<(u64, usize)>,
}

impl HookOutput {
    /// Passes on new lines.
    fn pass_on(&self) -> io::Result<()> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (last_ms, of_last) = *read;
        let lines = output::tail(&self.folder, LINES_MAX, last_ms)?;
        let known = lines.iter().take_while(|line| line.unix_ms == last_ms).count().min(of_last);
        for line in lines.into_iter().skip(known) {
            *read = if line.unix_ms == read.0 { (read.0, read.1 + 1) } else { (line.unix_ms, 1) };
            let line = LogLine { unix_ms: line.unix_ms, step: self.step, stream: line.stream, text: line.text };
            // A full queue drops the line: waiting would let a slow link block the apps.
            if self.log.try_send((self.deployment.clone(), line)).is_err() {
                tracing::warn!(deployment = %self.deployment, "a line of a command's output was dropped");
            }
        }
        Ok(())
    }
}

/// Output of a command, followed until this is dropped.
pub(super) struct OutputFollower {
    output: Arc<HookOutput>,
    task: JoinHandle<()>,
}

impl Drop for OutputFollower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RuntimeDriver {
    pub(super) fn run_command(
        &mut self,
        key: &AppKey,
        instance: InstanceId,
        release: ReleaseSpec,
        deployment: DeploymentId,
        kind: HookKind,
        command: Vec<String>,
    ) {
        let release = ReleaseSpec { command, ..release };
        let (id, folder) = (instance.clone(), self.release_folder(&release));
        let deployed = Some(deployment.clone());
        let (key, hook) = (key.clone(), Some(kind));
        let process = WEB.to_owned();
        self.launch(LaunchRequest {
            instance,
            sealed_for: key.clone(),
            key,
            process,
            release,
            folder,
            deployment: deployed,
            restarts: 0,
            port: 0,
            hook,
            is_copy: false,
        });
        self.follow_output(id, deployment, kind.step());
    }

    /// Passes on a command's output from now on.
    pub(super) fn follow_output(&mut self, instance: InstanceId, deployment: DeploymentId, step: Step) {
        let output = Arc::new(self.output_of(&instance, deployment, step));
        let read = Arc::clone(&output);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(FOLLOW_PAUSE).await;
                if let Err(error) = read.pass_on() {
                    // The next read tries again; output that stays unreadable is reported at the end.
                    tracing::debug!(%error, "a command's output can't be read yet");
                }
            }
        });
        self.followed.insert(instance, OutputFollower { output, task });
    }

    /// Passes on the rest of a command's output.
    pub(super) fn end_output(&mut self, deployment: DeploymentId, step: Step, instance: &InstanceId) {
        let rest = match self.followed.remove(instance) {
            Some(followed) => followed.output.pass_on(),
            None => self.output_of(instance, deployment.clone(), step).pass_on(),
        };
        if let Err(error) = rest {
            let text = format!("What the command has written can't be read: {error}.");
            self.log(&deployment, LogLine { unix_ms: clock::unix_ms(), step, stream: LogStream::System, text });
        }
    }

    fn output_of(&self, instance: &InstanceId, deployment: DeploymentId, step: Step) -> HookOutput {
        // A command has its own log: it is no process of the app, and app logs are stored.
        let folder = self.options.folders.instances().join(instance.as_str()).join("log");
        HookOutput { folder, deployment, step, log: self.log.clone(), read: Mutex::default() }
    }
}
