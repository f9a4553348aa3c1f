//! Commands of rollouts as the driver runs them: an instance without a port and without checks, whose output goes into the
//! deployment's log while it runs. Decides nothing: `rollout` does.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairlead_base::clock;
use fairlead_model::{AppKey, DeploymentId, InstanceId, LogLine, LogStream, ReleaseSpec, Step};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::driver::Driver;
use super::launch::Order;
use crate::instance::WEB;
use crate::output;
use crate::rollout::HookKind;

/// How soon a line that a command writes is on screen.
const FOLLOW_PAUSE: Duration = Duration::from_millis(300);
/// Lines that one look takes; a command that writes faster than that is cut short.
const LINES_MAX: usize = 2_000;

/// Where a command's output is read, where it goes, and how much of it went there.
pub(super) struct Output {
    folder: PathBuf,
    deployment: DeploymentId,
    step: Step,
    log: mpsc::Sender<(DeploymentId, LogLine)>,
    /// The last moment that was read, and how many lines of that one.
    read: Mutex<(u64, usize)>,
}

impl Output {
    /// Passes on what is new.
    fn pass_on(&self) -> io::Result<()> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (last_ms, of_last) = *read;
        let lines = output::tail(&self.folder, LINES_MAX, last_ms)?;
        let known = lines.iter().take_while(|line| line.unix_ms == last_ms).count().min(of_last);
        for line in lines.into_iter().skip(known) {
            *read = if line.unix_ms == read.0 { (read.0, read.1 + 1) } else { (line.unix_ms, 1) };
            let line = LogLine { unix_ms: line.unix_ms, step: self.step, stream: line.stream, text: line.text };
            // Waiting for the log would let a slow link hold up the apps.
            if self.log.try_send((self.deployment.clone(), line)).is_err() {
                tracing::warn!(deployment = %self.deployment, "a line of a command's output was dropped");
            }
        }
        Ok(())
    }
}

/// A command's output, followed until it is dropped.
pub(super) struct Followed {
    output: Arc<Output>,
    task: JoinHandle<()>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Driver {
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
        self.launch(Order {
            instance,
            key,
            process,
            release,
            folder,
            deployment: deployed,
            restarts: 0,
            port: 0,
            hook,
        });
        self.follow_output(id, deployment, kind.step());
    }

    /// Passes on what a command writes from now on.
    pub(super) fn follow_output(&mut self, instance: InstanceId, deployment: DeploymentId, step: Step) {
        let output = Arc::new(self.output_of(&instance, deployment, step));
        let read = Arc::clone(&output);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(FOLLOW_PAUSE).await;
                if let Err(error) = read.pass_on() {
                    // Tried again; what stays unreadable is told at the end.
                    tracing::debug!(%error, "a command's output can't be read yet");
                }
            }
        });
        self.followed.insert(instance, Followed { output, task });
    }

    /// Passes on the rest of what a command wrote.
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

    fn output_of(&self, instance: &InstanceId, deployment: DeploymentId, step: Step) -> Output {
        // A command's own: it is no process of the app, whose logs are kept.
        let folder = self.options.folders.instances().join(instance.as_str()).join("log");
        Output { folder, deployment, step, log: self.log.clone(), read: Mutex::default() }
    }
}
