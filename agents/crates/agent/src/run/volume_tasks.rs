//! Runs the snapshots and restores of volumes in desired state: one at a time, each once. Owns their status reports;
//! `fairlead_snapshot` packs and unpacks.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use fairlead_base::{CancellationToken, Folders, Trash};
use fairlead_build::{Store, TransferError};
use fairlead_model::{
    AppKey, DesiredState, Failure, VolumeAction, VolumeKey, VolumeStep, VolumeTask, VolumeTaskId, VolumeTaskStatus,
    WorkState,
};
use fairlead_runtime::{APP_USERS, FREE_BYTES_RESERVE, Identities, Runtime, RuntimeView, set_aside_staged};
use fairlead_snapshot::{PACKED_BYTES_MAX, PackedSnapshot, VolumeAccess, VolumeSnapshotError};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::local_state::LocalState;

/// Suffix of a packed or fetched snapshot beside the artifacts.
const SUFFIX: &str = ".snapshot";

/// Number of attempts of a transfer. Each takes minutes and continues where the previous one stopped.
const ATTEMPTS: u32 = 4;

/// Event of the running task.
#[derive(Debug)]
pub(crate) enum VolumeTaskEvent {
    Step(VolumeStep),
    /// The task ended. A snapshot has a digest and a size.
    Finished(Result<Option<(String, u64)>, Failure>),
}

#[derive(Debug)]
struct RunningTask {
    status: VolumeTaskStatus,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// Services that tasks use.
#[derive(Debug, Clone)]
pub(crate) struct VolumeServices {
    pub(crate) folders: Folders,
    pub(crate) trash: Trash,
    pub(crate) store: Store,
    pub(crate) identities: Arc<Identities>,
    pub(crate) runtime: Runtime,
    /// Tells when instances may have stopped.
    pub(crate) view: watch::Receiver<Arc<RuntimeView>>,
}

/// Queue of tasks; at most one runs at a time.
#[derive(Debug)]
pub(crate) struct VolumeTasks {
    services: VolumeServices,
    running: Option<RunningTask>,
    events: mpsc::UnboundedSender<VolumeTaskEvent>,
}

impl VolumeTasks {
    /// Creates an idle queue and the receiver of the events of its tasks.
    pub(crate) fn new(services: VolumeServices) -> (Self, mpsc::UnboundedReceiver<VolumeTaskEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { services, running: None, events }, receiver)
    }

    /// Cancels a task that desired state no longer lists and starts the next unfinished one. Apps that are away while their
    /// volumes are copied come first.
    pub(crate) fn reconcile(&mut self, desired: &DesiredState, local: &LocalState) {
        if let Some(running) = &self.running {
            if !desired.volume_tasks.iter().any(|task| task.id == running.status.id) {
                running.cancel.cancel();
            }
            return;
        }
        let unfinished = desired.volume_tasks.iter().filter(|task| local.volume_task(&task.id).is_none());
        if let Some(task) = unfinished.min_by_key(|task| task.action == VolumeAction::Snapshot { stopped: false }) {
            let keep: Vec<VolumeTaskId> = desired.volume_tasks.iter().map(|task| task.id.clone()).collect();
            self.running = Some(self.start(task.clone(), keep));
        }
    }

    /// Applies one event. Invariant: the outcome is on disk before it is reported.
    pub(crate) fn take(&mut self, event: VolumeTaskEvent, local: &mut LocalState) -> io::Result<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        match event {
            VolumeTaskEvent::Step(step) => {
                running.status.step = step;
                Ok(())
            }
            VolumeTaskEvent::Finished(outcome) => {
                let Some(RunningTask { mut status, cancel, .. }) = self.running.take() else { return Ok(()) };
                if cancel.is_cancelled() {
                    return Ok(());
                }
                match outcome {
                    Ok(packed) => {
                        status.state = WorkState::Succeeded;
                        status.packed = packed;
                    }
                    Err(failure) => {
                        status.state = WorkState::Failed;
                        status.failure = Some(failure);
                    }
                }
                local.save_volume_task(status)
            }
        }
    }

    /// Returns the status of every task in desired state. A queued task counts as running.
    pub(crate) fn statuses(&self, desired: &DesiredState, local: &LocalState) -> Vec<VolumeTaskStatus> {
        let status = |task: &VolumeTask| {
            let finished = local.volume_task(&task.id).cloned();
            let running = self.running.as_ref().map(|running| running.status.clone());
            finished.or(running.filter(|status| status.id == task.id)).unwrap_or_else(|| begun(task))
        };
        desired.volume_tasks.iter().map(status).collect()
    }

    /// Cancels the running task; a restarted agent runs it again.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.cancel.cancel();
            if let Err(error) = running.task.await {
                tracing::error!(%error, "the task on a volume did not end in order");
            }
        }
    }

    fn start(&self, task: VolumeTask, keep: Vec<VolumeTaskId>) -> RunningTask {
        let (services, events, cancel) = (self.services.clone(), self.events.clone(), CancellationToken::new());
        let status = begun(&task);
        let run = TaskRun { services, events: events.clone(), cancel: cancel.clone(), task };
        let task = tokio::spawn(async move {
            let outcome = run.run(keep).await;
            let (volume, app) = (&run.task.volume.name, &run.task.volume.key);
            match &outcome {
                Ok(_) => tracing::info!(%app, volume, action = ?run.task.action, "a task on a volume is done"),
                Err(failure) => {
                    tracing::warn!(%app, volume, reason = failure.message, "a task on a volume failed");
                }
            }
            if events.send(VolumeTaskEvent::Finished(outcome)).is_err() {
                tracing::debug!("a task on a volume ended after the agent had");
            }
        });
        RunningTask { status, cancel, task }
    }
}

fn begun(task: &VolumeTask) -> VolumeTaskStatus {
    let (id, state, step) = (task.id.clone(), WorkState::Running, VolumeStep::Wait);
    VolumeTaskStatus { id, state, step, failure: None, packed: None }
}

struct TaskRun {
    services: VolumeServices,
    events: mpsc::UnboundedSender<VolumeTaskEvent>,
    cancel: CancellationToken,
    task: VolumeTask,
}

impl TaskRun {
    async fn run(&self, keep: Vec<VolumeTaskId>) -> Result<Option<(String, u64)>, Failure> {
        let VolumeServices { folders, trash, .. } = self.services.clone();
        blocking(move || clear_leftovers(&folders, &trash, &keep).map_err(VolumeSnapshotError::from)).await?;
        let file = self.services.folders.artifacts().join(format!("{}{SUFFIX}", self.task.id));
        let outcome = match &self.task.action {
            VolumeAction::Snapshot { stopped } => self.snapshot(*stopped, file.clone()).await.map(Some),
            VolumeAction::Restore { digest } => self.restore(digest.clone(), file.clone()).await.map(|()| None),
        };
        if let Err(error) = fs::remove_file(&file)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "a packed volume can't be removed; the next task removes it");
        }
        outcome
    }

    async fn snapshot(&self, stopped: bool, file: PathBuf) -> Result<(String, u64), Failure> {
        if stopped {
            self.wait_until_stopped().await?;
        }
        self.step(VolumeStep::Pack);
        let into = file.clone();
        let PackedSnapshot { digest, size_bytes, left_out } =
            self.on_volume(move |path, access| fairlead_snapshot::pack(&path, &into, PACKED_BYTES_MAX, access)).await?;
        if left_out > 0 {
            tracing::info!(app = %self.task.volume.key, volume = self.task.volume.name, left_out, "no files of a snapshot");
        }
        self.step(VolumeStep::Upload);
        let store = &self.services.store;
        self.until_linked(|| store.send_snapshot(&digest, &file, &self.task.id, &self.cancel)).await?;
        Ok((digest, size_bytes))
    }

    async fn restore(&self, digest: String, file: PathBuf) -> Result<(), Failure> {
        let VolumeServices { folders, store, .. } = self.services.clone();
        let (id, volume) = (self.task.id.clone(), self.task.volume.clone());
        if self.is_done().await? {
            return Ok(());
        }
        self.step(VolumeStep::Fetch);
        self.until_linked(|| store.fetch_within(&digest, PACKED_BYTES_MAX, &file, &self.cancel)).await?;
        self.wait_until_stopped().await?;
        self.step(VolumeStep::Unpack);
        self.on_volume(move |_, access| {
            let staged = fairlead_runtime::staging_folder(&folders, &id);
            // A crash may have left a part of it.
            fairlead_base::tree::remove(&staged)?;
            fairlead_snapshot::unpack(&file, &digest, &staged, access)?;
            Ok(fairlead_runtime::adopt_restored(&folders, &volume, &id)?)
        })
        .await
    }

    async fn is_done(&self) -> Result<bool, Failure> {
        let (folders, id, volume) = (self.services.folders.clone(), self.task.id.clone(), self.task.volume.clone());
        blocking(move || Ok(fairlead_runtime::is_restored(&folders, &volume, &id)?)).await
    }

    /// Waits until nothing of the app runs. Desired state has taken it away.
    async fn wait_until_stopped(&self) -> Result<(), Failure> {
        self.step(VolumeStep::Wait);
        let (mut view, key): (_, &AppKey) = (self.services.view.clone(), &self.task.volume.key);
        loop {
            view.mark_unchanged();
            if self.services.runtime.has_stopped(key.clone()).await {
                return Ok(());
            }
            tokio::select! {
                () = self.cancel.cancelled() => return Err(VolumeSnapshotError::Cancelled.failure()),
                // A closed view means that the agent ends, which cancels this.
                changed = view.changed() => if changed.is_err() { self.cancel.cancelled().await },
            }
        }
    }

    /// Runs blocking work on the volume with the app's user.
    async fn on_volume<T: Send + 'static>(
        &self,
        work: impl FnOnce(PathBuf, &VolumeAccess<'_>) -> Result<T, VolumeSnapshotError> + Send + 'static,
    ) -> Result<T, Failure> {
        let VolumeServices { folders, identities, .. } = self.services.clone();
        let (volume, cancel): (VolumeKey, _) = (self.task.volume.clone(), self.cancel.clone());
        blocking(move || {
            let own = || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            let (user, group) = identities.app_user(&volume.key)?.map_or_else(own, |user| (user, user));
            let path = fairlead_runtime::volume_path(&folders, &volume).ok_or(io::ErrorKind::InvalidInput);
            let access =
                VolumeAccess { user, group, app_users: APP_USERS, free_bytes_min: FREE_BYTES_RESERVE, cancel: &cancel };
            work(path.map_err(io::Error::from)?, &access)
        })
        .await
    }

    /// Repeats a transfer until it ends, however long the control plane is away. With a link it fails after `ATTEMPTS`.
    async fn until_linked<F: Future<Output = Result<(), TransferError>>>(
        &self,
        transfer: impl Fn() -> F,
    ) -> Result<(), Failure> {
        let (mut sessions, mut failures) = (self.services.store.tokens(), 0);
        loop {
            if sessions.borrow_and_update().is_empty() {
                tokio::select! {
                    () = self.cancel.cancelled() => return Err(VolumeSnapshotError::Cancelled.failure()),
                    () = Store::wait_for_session(&mut sessions) => continue,
                }
            }
            match transfer().await {
                Ok(()) => return Ok(()),
                Err(TransferError::Unlinked) => {}
                Err(error) => {
                    failures += 1;
                    if failures == ATTEMPTS || !error.is_passing() {
                        return Err(transfer_failure(&error));
                    }
                    tracing::info!(%error, "the transfer of a snapshot is tried again");
                }
            }
        }
    }

    fn step(&self, step: VolumeStep) {
        if self.events.send(VolumeTaskEvent::Step(step)).is_err() {
            tracing::debug!("a task on a volume went on after the agent had ended");
        }
    }
}

/// Removes what interrupted tasks have left.
fn clear_leftovers(folders: &Folders, trash: &Trash, tasks: &[VolumeTaskId]) -> io::Result<()> {
    set_aside_staged(folders, trash, tasks)?;
    for entry in fs::read_dir(folders.artifacts())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_wanted = tasks.iter().any(|task| name.starts_with(task.as_str()));
        if name.contains(SUFFIX) && !is_wanted {
            trash.set_aside(&path)?;
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, VolumeSnapshotError> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.failure()),
        Err(error) => Err(VolumeSnapshotError::Server(io::Error::other(error)).failure()),
    }
}

fn transfer_failure(error: &TransferError) -> Failure {
    Failure { code: "volume.transfer".into(), message: format!("The snapshot could not be transferred: {error}.") }
}
