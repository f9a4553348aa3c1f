//! Driver of the rollout state machines: runs their actions, feeds them events and publishes the view. One task owns
//! all apps of this server, so that nothing is decided twice. Decides nothing itself: `rollout` does.

mod actions;
mod adopt;
mod commands;
mod driver;
mod files;
mod launch;
mod release_copy;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_base::{Folders, StateFileError, Trash};
use fairlead_engine::Engine;
use fairlead_model::{
    AppKey, AppSpec, BenchmarkGate, DeploymentId, Failure, GateProgress, InstanceId, InstanceStatus, LogLine,
    ReleaseId, ReleaseSpec, RolloutStatus, UpstreamAddress,
};
use fairlead_secret::SealingKey;
use tokio::sync::{mpsc, oneshot, watch};

use crate::identity::Identities;
use crate::instance::InstanceSpec;
use crate::isolation::Isolation;
use crate::layer_bound::LayerBounds;
use crate::listener::Owner;
use crate::listening;
use crate::rollout::{Load, RolloutEvent, Traffic, UpstreamEndpoint};
use driver::RuntimeDriver;
use fairlead_base::cgroup::CgroupFolders;
pub use release_copy::ReleaseCopy;

/// Capacity of the queue of deployment log lines; a rollout writes some dozen.
const LOG_LINES_WAITING: usize = 4096;

/// File with the image's id, in the folder of a release that is an image.
pub const IMAGE_FILE: &str = "image";

/// Makes a release's folder from its artifact.
pub trait PrepareRelease: Send + Sync + 'static {
    /// Makes `folder` completely or not at all, readable by every user of the server. Called again for a folder that
    /// exists. Brings an image to the engine, and writes its id to `IMAGE_FILE` in the folder. Calls `fetching` if the
    /// artifact has to be fetched first.
    fn prepare<'a>(
        &'a self,
        release: &'a ReleaseSpec,
        folder: &'a Path,
        fetching: &'a (dyn Fn() + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;
}

/// Puts the load of a benchmark gate on an instance.
pub trait MeasureGate: Send + Sync + 'static {
    /// Measures the instance at `address`, calls `on_progress` after each measurement, and returns whether all thresholds
    /// are met. `live`: an instance of the live release to compare with. Dropping the future ends the load.
    fn measure<'a>(
        &'a self,
        gate: &'a BenchmarkGate,
        address: &'a UpstreamAddress,
        live: Option<&'a UpstreamAddress>,
        on_progress: &'a (dyn Fn(GateProgress) + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;
}

/// Dependencies and settings of the runtime.
pub struct RuntimeOptions {
    pub folders: Folders,
    /// Trash for folders that nothing uses any more.
    pub trash: Trash,
    /// The agent's own binary; its `shim` subcommand parents the instances.
    pub program: PathBuf,
    /// Range of ports for apps.
    pub ports: RangeInclusive<u16>,
    /// Value of `PATH` for apps.
    pub path: OsString,
    /// Isolation features of this server.
    pub isolation: Isolation,
    /// Bounds of what instances write to `/app` and `/tmp`.
    pub layer_bounds: LayerBounds,
    /// Users that apps run as.
    pub identities: Arc<Identities>,
    /// Key that opens what is sealed to this server.
    pub sealing: Arc<SealingKey>,
    /// Maker of releases' folders.
    pub prepare: Arc<dyn PrepareRelease>,
    /// Load of benchmark gates.
    pub gates: Arc<dyn MeasureGate>,
    /// Container engine that runs images.
    pub engine: Engine,
}

impl RuntimeOptions {
    /// Returns the user that must listen on an instance's port; `None` if any may.
    fn listener_user(&self, spec: &InstanceSpec) -> Option<u32> {
        let is_shared = spec.network.is_none() && spec.container.is_none();
        (is_shared && self.isolation.diagnostics)
            .then(|| spec.user.unwrap_or_else(|| rustix::process::geteuid().as_raw()))
    }

    /// Returns the user and the processes that must listen on the port of an instance with the first process `pid`.
    fn listener_owner(&self, spec: &InstanceSpec, pid: u32) -> Option<Owner> {
        let user = self.listener_user(spec)?;
        // A process that leaves its parent inside the app becomes a child of the shim.
        Some(Owner::new(user, listening::parent(pid).unwrap_or(pid)))
    }
}

/// Reason why the runtime can't start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The record of apps can't be read.
    #[error(transparent)]
    Record(#[from] StateFileError),
    /// The folder of instances can't be read.
    #[error("the instances of the last run can't be listed in {path}: {source}")]
    Instances {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Running process, for resource sampling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningProcess {
    pub key: AppKey,
    pub instance: InstanceId,
    /// First process of the app.
    pub pid: u32,
    /// Control group that accounts for it; `None`: sample the process tree.
    pub cgroup: Option<CgroupFolders>,
}

/// Current state of all apps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuntimeView {
    /// Generation that grows whenever `upstreams` changes; `Runtime::routes_applied` answers with it.
    pub generation: u64,
    /// Addresses of each app's routes.
    pub upstreams: BTreeMap<AppKey, Vec<UpstreamEndpoint>>,
    pub instances: Vec<InstanceStatus>,
    /// Rollouts that desired state still knows.
    pub rollouts: Vec<RolloutStatus>,
    pub processes: Vec<RunningProcess>,
    /// Apps that a request has woken since the agent started.
    pub wakes: BTreeMap<AppKey, Wakes>,
}

/// Number and duration of an app's wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakes {
    pub count: u64,
    /// Total time from the first request of each wake to routes that lead to a healthy instance.
    pub total: Duration,
}

/// Returns the errors of damaged state files.
pub fn damaged_files(folders: &Folders) -> Vec<StateFileError> {
    let records = files::AppRecords::open(apps_file(folders)).err();
    Identities::open(folders).err().into_iter().chain(records).collect()
}

/// Returns the path of the record of all apps.
fn apps_file(folders: &Folders) -> PathBuf {
    folders.state().join("apps.json")
}

/// Output of the runtime.
pub struct RuntimeOutput {
    /// Current view; changes are coalesced.
    pub view: watch::Receiver<Arc<RuntimeView>>,
    /// Lines for deployments' logs.
    pub log: mpsc::Receiver<(DeploymentId, LogLine)>,
}

/// Handle to the runtime's task. Dropping the last one ends the task and leaves the apps running.
#[derive(Debug, Clone)]
pub struct Runtime {
    messages: mpsc::UnboundedSender<Message>,
}

#[derive(Debug)]
enum Message {
    Apply(BTreeMap<AppKey, AppSpec>),
    RoutesApplied(u64),
    RoutesRefused(u64, String),
    InFlight(Instant, Vec<(InstanceId, u32)>),
    Traffic(Vec<(String, Traffic)>),
    AutoscaleInput(Vec<(AppKey, Load)>),
    App(AppKey, RolloutEvent),
    Launched(Arc<InstanceSpec>),
    HasStopped(AppKey, oneshot::Sender<bool>),
    Sleep(AppKey, oneshot::Sender<bool>),
    StartCopy(AppKey, ReleaseId, oneshot::Sender<Result<ReleaseCopy, String>>),
    CopyEnded(InstanceId),
    StopAll(oneshot::Sender<()>),
}

impl Runtime {
    /// Adopts running instances and starts the task. Nothing is started or stopped before `apply`.
    pub async fn start(options: RuntimeOptions) -> Result<(Self, RuntimeOutput), RuntimeError> {
        let (messages, inbox) = mpsc::unbounded_channel();
        let (view, view_out) = watch::channel(Arc::new(RuntimeView::default()));
        let (log, log_out) = mpsc::channel(LOG_LINES_WAITING);
        let mut driver = RuntimeDriver::new(options, messages.downgrade(), view, log)?;
        driver.adopt().await?;
        tokio::spawn(driver.run(inbox));
        Ok((Self { messages }, RuntimeOutput { view: view_out, log: log_out }))
    }

    /// Applies the complete desired state. Apps that are not in it are drained and stopped.
    pub fn apply(&self, apps: BTreeMap<AppKey, AppSpec>) {
        self.send(Message::Apply(apps));
    }

    /// Reports that the proxy serves by the routes of `RuntimeView::generation`.
    pub fn routes_applied(&self, generation: u64) {
        self.send(Message::RoutesApplied(generation));
    }

    /// Reports that the proxy can't use the routes of `RuntimeView::generation` and keeps its previous ones.
    pub fn routes_refused(&self, generation: u64, error: String) {
        self.send(Message::RoutesRefused(generation, error));
    }

    /// Reports the in-flight exchanges of instances, as the proxy counts them; zeros matter.
    pub fn in_flight(&self, counts: Vec<(InstanceId, u32)>) {
        self.send(Message::InFlight(Instant::now(), counts));
    }

    /// Reports the requests of canary sides since the last call, named as `UpstreamEndpoint::side`.
    pub fn traffic(&self, sides: Vec<(String, Traffic)>) {
        self.send(Message::Traffic(sides));
    }

    /// Reports requests and CPU use of apps in the last second; zeros matter.
    pub fn autoscale_input(&self, loads: Vec<(AppKey, Load)>) {
        self.send(Message::AutoscaleInput(loads));
    }

    /// Reports a request that waits for an app without an instance.
    pub fn wake(&self, key: AppKey) {
        self.send(Message::App(key, RolloutEvent::Wake));
    }

    /// Puts an app to sleep as if it had no requests. The next request wakes it. Returns false if its minimum of instances is
    /// not 0; then nothing changes.
    pub async fn sleep(&self, key: AppKey) -> bool {
        let (answer, wait) = oneshot::channel();
        self.send(Message::Sleep(key, answer));
        // Without an answer the process exits.
        wait.await.unwrap_or(false)
    }

    /// Starts a copy of an app's live release, which is no instance of the app, and waits until it is ready. The error is the
    /// end of a sentence. Dropping the future stops the copy.
    pub async fn start_copy(&self, key: AppKey, release: ReleaseId) -> Result<ReleaseCopy, String> {
        let (answer, wait) = oneshot::channel();
        self.send(Message::StartCopy(key, release, answer));
        wait.await.unwrap_or_else(|_| Err("the agent is stopping".to_owned()))
    }

    /// Returns true if the desired state applied last has no such app, and nothing of it runs any more.
    pub async fn has_stopped(&self, key: AppKey) -> bool {
        let (answer, wait) = oneshot::channel();
        self.send(Message::HasStopped(key, answer));
        // Without an answer the process exits.
        wait.await.unwrap_or(false)
    }

    /// Stops every instance and returns when they are gone. They start again with the next run of the agent.
    pub async fn stop_all(&self) {
        let (done, wait) = oneshot::channel();
        self.send(Message::StopAll(done));
        // An error means that the task is gone, and with it everything that it could stop.
        wait.await.ok();
    }

    fn send(&self, message: Message) {
        // The task ends only with the last handle, so this fails only while the process exits.
        self.messages.send(message).ok();
    }
}
