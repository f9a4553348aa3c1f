//! The driver of the rollout machines: carries out their actions, feeds them what happened, publishes what is true.
//! Owns all apps of this server in one task, so that nothing is decided twice. Never decides: `rollout` does.

mod actions;
mod adopt;
mod commands;
mod driver;
mod files;
mod launch;

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
    AppKey, AppSpec, DeploymentId, Failure, InstanceId, InstanceStatus, LogLine, ReleaseSpec, RolloutStatus,
};
use fairlead_secret::SealingKey;
use tokio::sync::{mpsc, oneshot, watch};

use crate::identity::Identities;
use crate::instance::InstanceSpec;
use crate::isolation::Isolation;
use crate::layer_bound::LayerBounds;
use crate::listener::Owner;
use crate::listening;
use crate::rollout::{Event, Load, Traffic, Upstream};
use driver::Driver;
use fairlead_base::cgroup::CgroupFolders;

/// Lines of deployments' logs that wait for the agent; a rollout writes some dozen.
const LOG_LINES_WAITING: usize = 4096;

/// In the folder of a release that is an image: the image's id.
pub const IMAGE_FILE: &str = "image";

/// Makes a release's folder from its artifact.
pub trait PrepareRelease: Send + Sync + 'static {
    /// Makes `folder` whole or not at all, readable by every user of the server. Called again for one that is there. An
    /// image is brought to the engine, and its id to `IMAGE_FILE` in the folder. `fetching` is told when the artifact has to
    /// come from elsewhere first.
    fn prepare<'a>(
        &'a self,
        release: &'a ReleaseSpec,
        folder: &'a Path,
        fetching: &'a (dyn Fn() + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;
}

/// What the runtime needs of its surroundings.
pub struct RuntimeOptions {
    /// The data folder.
    pub folders: Folders,
    /// Takes the folders that nothing uses any more.
    pub trash: Trash,
    /// The agent's own binary, whose `shim` subcommand parents the instances.
    pub program: PathBuf,
    /// Ports that apps are given.
    pub ports: RangeInclusive<u16>,
    /// `PATH` of the apps.
    pub path: OsString,
    /// What keeps apps apart.
    pub isolation: Isolation,
    /// Bounds of what they write to `/app` and `/tmp`.
    pub layer_bounds: LayerBounds,
    /// Whom they run as.
    pub identities: Arc<Identities>,
    /// Opens what is sealed to this server.
    pub sealing: Arc<SealingKey>,
    /// Makes releases' folders.
    pub prepare: Arc<dyn PrepareRelease>,
    /// Runs what is an image.
    pub engine: Engine,
}

impl RuntimeOptions {
    /// Returns the user that must listen on an instance's port; `None` if any may.
    fn listener_user(&self, spec: &InstanceSpec) -> Option<u32> {
        let is_shared = spec.network.is_none() && spec.container.is_none();
        (is_shared && self.isolation.diagnostics)
            .then(|| spec.user.unwrap_or_else(|| rustix::process::geteuid().as_raw()))
    }

    /// Names the user and the processes that must listen on the port of an instance, whose first process is `pid`.
    fn listener_owner(&self, spec: &InstanceSpec, pid: u32) -> Option<Owner> {
        let user = self.listener_user(spec)?;
        // A process that leaves its parent inside of the app becomes a child of the shim.
        Some(Owner::new(user, listening::parent(pid).unwrap_or(pid)))
    }
}

/// Why the runtime can't start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Its record can't be read.
    #[error(transparent)]
    Record(#[from] StateFileError),
    /// The folder of instances can't be read.
    #[error("the instances of the last run can't be listed in {path}: {source}")]
    Instances {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A process that runs now, for sampling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningProcess {
    /// Whose it is.
    pub key: AppKey,
    /// Which instance.
    pub instance: InstanceId,
    /// The app's first process.
    pub pid: u32,
    /// Where the kernel counts for it; `None`: sample the process tree.
    pub cgroup: Option<CgroupFolders>,
}

/// What is true now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Grows when `upstreams` changes; `Runtime::routes_applied` answers with it.
    pub generation: u64,
    /// Where each app's routes lead.
    pub upstreams: BTreeMap<AppKey, Vec<Upstream>>,
    /// Every instance.
    pub instances: Vec<InstanceStatus>,
    /// Every rollout that desired state still knows.
    pub rollouts: Vec<RolloutStatus>,
    /// What to sample.
    pub processes: Vec<RunningProcess>,
    /// Apps that were woken by a request since the agent began.
    pub wakes: BTreeMap<AppKey, Wakes>,
}

/// How often an app was woken, and how long its first requests waited for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakes {
    /// Times.
    pub count: u64,
    /// From the first request to routes that lead to a healthy instance, all together.
    pub total: Duration,
}

/// Saved files of the runtime that are damaged.
pub fn damaged_files(folders: &Folders) -> Vec<StateFileError> {
    let records = files::Records::open(apps_file(folders)).err();
    Identities::open(folders).err().into_iter().chain(records).collect()
}

/// Record of all apps.
fn apps_file(folders: &Folders) -> PathBuf {
    folders.state().join("apps.json")
}

/// What comes out of the runtime.
pub struct RuntimeOutput {
    /// What is true now; changes are coalesced.
    pub view: watch::Receiver<Arc<View>>,
    /// Lines for deployments' logs.
    pub log: mpsc::Receiver<(DeploymentId, LogLine)>,
}

/// The handle to the runtime's task. Dropping the last one leaves the apps running and ends the task.
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
    Loads(Vec<(AppKey, Load)>),
    App(AppKey, Event),
    Launched(Arc<InstanceSpec>),
    StopAll(oneshot::Sender<()>),
}

impl Runtime {
    /// Finds what a former run left running and starts the task. Nothing is started or stopped before `apply`.
    pub async fn start(options: RuntimeOptions) -> Result<(Self, RuntimeOutput), RuntimeError> {
        let (messages, inbox) = mpsc::unbounded_channel();
        let (view, view_out) = watch::channel(Arc::new(View::default()));
        let (log, log_out) = mpsc::channel(LOG_LINES_WAITING);
        let mut driver = Driver::new(options, messages.downgrade(), view, log)?;
        driver.adopt().await?;
        tokio::spawn(driver.run(inbox));
        Ok((Self { messages }, RuntimeOutput { view: view_out, log: log_out }))
    }

    /// What should run, whole. Apps that are not in it are drained and stopped.
    pub fn apply(&self, apps: BTreeMap<AppKey, AppSpec>) {
        self.send(Message::Apply(apps));
    }

    /// The proxy serves by the routes of `View::generation`.
    pub fn routes_applied(&self, generation: u64) {
        self.send(Message::RoutesApplied(generation));
    }

    /// The proxy can't use the routes of `View::generation` and keeps those it had.
    pub fn routes_refused(&self, generation: u64, error: String) {
        self.send(Message::RoutesRefused(generation, error));
    }

    /// Exchanges in flight by instance, as the proxy counts; zeros matter.
    pub fn in_flight(&self, counts: Vec<(InstanceId, u32)>) {
        self.send(Message::InFlight(Instant::now(), counts));
    }

    /// Requests since the last call that the sides of canaries had, as `Upstream::side` names them.
    pub fn traffic(&self, sides: Vec<(String, Traffic)>) {
        self.send(Message::Traffic(sides));
    }

    /// What apps were asked and used in the last second; zeros matter.
    pub fn loads(&self, loads: Vec<(AppKey, Load)>) {
        self.send(Message::Loads(loads));
    }

    /// A request waits for an app that has no instance.
    pub fn wake(&self, key: AppKey) {
        self.send(Message::App(key, Event::Wake));
    }

    /// Stops every instance and returns when they are gone. They start again with the next run of the agent.
    pub async fn stop_all(&self) {
        let (done, wait) = oneshot::channel();
        self.send(Message::StopAll(done));
        // An error means that the task is gone, and with it everything it could stop.
        wait.await.ok();
    }

    fn send(&self, message: Message) {
        // The task ends only with the last handle, so this fails only while the process ends.
        self.messages.send(message).ok();
    }
}
