//! Task of the runtime. For each message it steps the state machine, saves its record, runs its actions and publishes
//! the view.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairlead_base::cgroup::CgroupFolders;
use fairlead_base::{clock, random};
use fairlead_model::{AppKey, AppSpec, DeploymentId, HealthCheck, InstanceId, LogLine};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use super::actions;
use super::commands::OutputFollower;
use super::files::AppRecords;
use super::release_copy::ManagedCopy;
use super::{Message, RolloutEvent, RunningProcess, RuntimeError, RuntimeOptions, RuntimeView, Wakes};
use crate::instance::{InstanceFolder, InstanceSpec, WEB};
use crate::layer::CopyPermits;
use crate::layer_bound::{self, LayerWatch};
use crate::ports::PortAllocator;
use crate::rollout::{AdoptedInstance, AppRecord, AppState, Exit, Now, RolloutContext, step};
use crate::supervisor::Supervisor;
use crate::workers::{WorkerTarget, Workers};

/// Instance with the handles of the driver.
pub(super) struct ManagedInstance {
    pub(super) key: AppKey,
    pub(super) port: u16,
    pub(super) process: String,
    pub(super) readiness_check: HealthCheck,
    pub(super) liveness_check: Option<HealthCheck>,
    /// True if its liveness check failed for too long, so that it was asked to end.
    pub(super) unresponsive: Arc<AtomicBool>,
    pub(super) stop_timeout: Duration,
    /// Set when it was launched or adopted.
    pub(super) spec: Option<Arc<InstanceSpec>>,
    /// Control group of a container's engine that accounts for it.
    pub(super) accounting: Option<CgroupFolders>,
    pub(super) stop: mpsc::UnboundedSender<Duration>,
    pub(super) task: JoinHandle<()>,
    pub(super) check_task: Option<JoinHandle<()>>,
    /// True for a command, which has no checks.
    pub(super) is_command: bool,
}

impl ManagedInstance {
    fn accounting(&self) -> Option<CgroupFolders> {
        let own = || self.spec.as_ref()?.cgroup.as_ref()?.accounting();
        self.accounting.clone().or_else(own)
    }
}

pub(super) struct RuntimeDriver {
    pub(super) options: Arc<RuntimeOptions>,
    pub(super) supervisor: Supervisor,
    pub(super) ports: Arc<PortAllocator>,
    pub(super) messages: mpsc::WeakUnboundedSender<Message>,
    view: watch::Sender<Arc<RuntimeView>>,
    pub(super) log: mpsc::Sender<(DeploymentId, LogLine)>,
    records: AppRecords,
    pub(super) apps: BTreeMap<AppKey, AppState>,
    pub(super) workers: BTreeMap<AppKey, Workers>,
    pub(super) desired: BTreeMap<AppKey, AppSpec>,
    pub(super) instances: HashMap<InstanceId, ManagedInstance>,
    pub(super) layers: Arc<LayerWatch>,
    /// Task that counts their temporary files.
    pub(super) layer_counts: JoinHandle<()>,
    pub(super) copy_permits: Arc<CopyPermits>,
    /// Copies of live releases for the benchmark lab.
    pub(super) copies: HashMap<InstanceId, ManagedCopy>,
    /// Running commands and their output.
    pub(super) followed: HashMap<InstanceId, OutputFollower>,
    /// Loads of benchmark gates.
    pub(super) measurements: HashMap<DeploymentId, JoinHandle<()>>,
    /// Number and duration of apps' wakes.
    pub(super) wakes: BTreeMap<AppKey, Wakes>,
    /// Last published generation of each app.
    published: BTreeMap<AppKey, u64>,
    /// Generations of each app that the proxy has not confirmed, as (view's, own).
    sent: BTreeMap<AppKey, Vec<(u64, u64)>>,
    origin: Instant,
    /// Events of adopted instances. Their checks begin with the first desired state: before it, no state machine
    /// handles them.
    pub(super) adopted: Vec<RolloutEvent>,
    /// Exits before the first desired state. Handling them earlier could drop an app's record with its last process.
    ended_early: Vec<(AppKey, RolloutEvent)>,
    applied: bool,
    pub(super) stopping: bool,
}

impl RuntimeDriver {
    pub(super) fn new(
        options: RuntimeOptions,
        messages: mpsc::WeakUnboundedSender<Message>,
        view: watch::Sender<Arc<RuntimeView>>,
        log: mpsc::Sender<(DeploymentId, LogLine)>,
    ) -> Result<Self, RuntimeError> {
        let records = AppRecords::open(super::apps_file(&options.folders))?;
        let apps = records.all().iter().map(|(key, record)| (key.clone(), AppState::new(key.clone(), record.clone())));
        let layers = Arc::new(LayerWatch::new(options.layer_bounds, options.folders.instances()));
        Ok(Self {
            layer_counts: tokio::spawn(layers.clone().run()),
            layers,
            copy_permits: Arc::default(),
            supervisor: Supervisor { program: options.program.clone(), sockets: options.folders.run() },
            ports: Arc::new(PortAllocator::new(options.ports.clone())),
            apps: apps.collect(),
            workers: BTreeMap::new(),
            records,
            messages,
            view,
            log,
            desired: BTreeMap::new(),
            instances: HashMap::new(),
            copies: HashMap::new(),
            followed: HashMap::new(),
            measurements: HashMap::new(),
            wakes: BTreeMap::new(),
            published: BTreeMap::new(),
            sent: BTreeMap::new(),
            origin: Instant::now(),
            adopted: Vec::new(),
            ended_early: Vec::new(),
            applied: false,
            stopping: false,
            options: Arc::new(options),
        })
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        loop {
            let workers = self.workers.values().filter_map(Workers::due);
            let deadline = self.apps.values().filter_map(AppState::next_deadline).chain(workers).min();
            let wake = deadline.map(|at| tokio::time::Instant::from_std(self.origin + at));
            let message = tokio::select! {
                message = inbox.recv() => message,
                () = async { sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)).await }, if wake.is_some() => {
                    self.tick().await;
                    continue;
                }
            };
            let Some(message) = message else { return };
            self.take(message).await;
            // Handles all queued messages before it publishes.
            while let Ok(message) = inbox.try_recv() {
                self.take(message).await;
            }
            self.publish();
        }
    }

    async fn tick(&mut self) {
        let at = self.now().at;
        let due = |state: &AppState| state.next_deadline().is_some_and(|deadline| deadline <= at);
        let keys: Vec<AppKey> = self.apps.iter().filter(|(_, state)| due(state)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.event(&key, RolloutEvent::Tick).await;
        }
        let due = |workers: &Workers| workers.due().is_some_and(|deadline| deadline <= at);
        let keys: Vec<AppKey> =
            self.workers.iter().filter(|(_, workers)| due(workers)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.follow_workers(&key);
        }
        self.publish();
    }

    async fn take(&mut self, message: Message) {
        match message {
            Message::Apply(apps) => self.apply(apps).await,
            Message::RoutesApplied(generation) => {
                for (key, local) in self.confirmed(generation) {
                    self.event(&key, RolloutEvent::RoutesApplied(local)).await;
                }
            }
            Message::RoutesRefused(generation, error) => {
                for (key, local) in self.confirmed(generation) {
                    self.event(&key, RolloutEvent::RoutesRefused(local, error.clone())).await;
                }
            }
            Message::InFlight(came, counts) => {
                let at = came.saturating_duration_since(self.origin);
                for (instance, count) in counts {
                    if let Some(key) = self.instances.get(&instance).map(|managed| managed.key.clone()) {
                        self.event(&key, RolloutEvent::InFlight { instance, count, at }).await;
                    }
                }
            }
            Message::Traffic(sides) => {
                for (side, traffic) in sides {
                    let key = self.apps.iter().find(|(_, app)| app.watches(&side)).map(|(key, _)| key.clone());
                    if let Some(key) = key {
                        self.event(&key, RolloutEvent::Traffic(side, traffic)).await;
                    }
                }
            }
            Message::AutoscaleInput(loads) => {
                for (key, load) in loads {
                    self.event(&key, RolloutEvent::Load(load)).await;
                }
            }
            Message::App(key, event) => self.event(&key, event).await,
            Message::Launched(spec) => {
                if let Some(managed) = self.instances.get_mut(&spec.instance) {
                    managed.spec = Some(spec);
                }
            }
            Message::HasStopped(key, answer) => {
                let is_known = self.desired.contains_key(&key) || self.apps.contains_key(&key);
                let runs = self.instances.values().any(|managed| managed.key == key)
                    || self.copies.values().any(|copy| copy.key == key);
                // A dropped receiver no longer waits.
                answer.send(self.applied && !is_known && !self.workers.contains_key(&key) && !runs).ok();
            }
            Message::Sleep(key, answer) => {
                let may_sleep = self.apps.get(&key).is_some_and(AppState::may_sleep);
                if may_sleep {
                    self.event(&key, RolloutEvent::Sleep).await;
                }
                // A dropped receiver no longer waits.
                answer.send(may_sleep).ok();
            }
            Message::StartCopy(key, release, answer) => self.start_copy(&key, &release, answer),
            Message::CopyEnded(instance) => {
                self.copies.remove(&instance);
                self.prune();
            }
            Message::StopAll(done) => self.stop_all(done).await,
        }
    }

    async fn apply(&mut self, apps: BTreeMap<AppKey, AppSpec>) {
        let removed: Vec<AppKey> = self.apps.keys().filter(|key| !apps.contains_key(*key)).cloned().collect();
        self.desired = apps.clone();
        self.applied = true;
        for key in removed {
            self.event(&key, RolloutEvent::Removed).await;
        }
        for (key, spec) in apps {
            self.apps.entry(key.clone()).or_insert_with(|| AppState::new(key.clone(), AppRecord::default()));
            self.event(&key, RolloutEvent::Desired(Box::new(spec))).await;
        }
        for started in std::mem::take(&mut self.adopted) {
            self.follow_process(&started);
        }
        for (key, ended) in std::mem::take(&mut self.ended_early) {
            self.event(&key, ended).await;
        }
        // Workers of apps that are gone as well.
        for key in self.workers.keys().cloned().collect::<Vec<_>>() {
            self.follow_workers(&key);
        }
        self.prune();
    }

    /// Returns each app's own generations that a generation of the view contained, each once.
    fn confirmed(&mut self, generation: u64) -> Vec<(AppKey, u64)> {
        let mut found = Vec::new();
        for (key, sent) in &mut self.sent {
            let known = sent.iter().take_while(|(global, _)| *global <= generation).count();
            if let Some((_, local)) = sent.drain(..known).next_back() {
                found.push((key.clone(), local));
            }
        }
        found
    }

    fn now(&self) -> Now {
        Now { at: self.origin.elapsed(), unix_ms: clock::unix_ms() }
    }

    pub(super) fn adopt_worker(&mut self, key: &AppKey, process: String, adopted: AdoptedInstance) {
        let at = self.now().at;
        self.workers.entry(key.clone()).or_default().adopt(process, adopted, at);
    }

    /// Before the first `apply` nothing is decided, so there is nothing to run or to save.
    pub(super) fn adopt_event(&mut self, key: &AppKey, event: RolloutEvent) {
        let now = self.now();
        let state = self.apps.remove(key).unwrap_or_else(|| AppState::new(key.clone(), AppRecord::default()));
        let (state, _) = step(state, event, &mut RolloutContext { now, new_instance: &mut new_instance });
        self.apps.insert(key.clone(), state);
    }

    async fn event(&mut self, key: &AppKey, mut event: RolloutEvent) {
        if self.stopping {
            return;
        }
        if !self.applied && matches!(event, RolloutEvent::Exited { .. }) {
            self.ended_early.push((key.clone(), event));
            return;
        }
        self.follow_process(&event);
        if let RolloutEvent::Exited { instance, exit } = &mut event {
            self.take_excess(instance, exit);
        }
        if self.worker_event(key, &event) {
            return;
        }
        if let RolloutEvent::Exited { instance, exit } = &mut event
            && let Some(managed) = self.instances.get(instance)
        {
            exit.unresponsive = managed.unresponsive.swap(false, Ordering::Relaxed);
            exit.crash = self.crash(managed, exit);
            exit.port_refused = actions::was_port_refused(&self.options.isolation, managed, exit);
        }
        let Some(state) = self.apps.remove(key) else { return };
        let now = self.now();
        let (state, actions) = step(state, event, &mut RolloutContext { now, new_instance: &mut new_instance });
        let gone = state.is_gone();
        let record = (!gone).then(|| state.record());
        if !gone {
            self.apps.insert(key.clone(), state);
        }
        if let Err(error) = self.records.save(key, record).await {
            // Serving continues; only a restart right now would return to the older record.
            tracing::error!(app = %key, %error, "the record of the app could not be saved");
        }
        for action in actions {
            self.act(key, action);
        }
        self.follow_workers(key);
        if gone {
            self.published.remove(key);
            self.wakes.remove(key);
            self.sent.remove(key);
            self.prune();
        }
    }

    /// Adds an excess of temporary files to the exit, and removes those files.
    fn take_excess(&self, instance: &InstanceId, exit: &mut Exit) {
        exit.layer = self.layers.remove(instance);
        if exit.layer.is_none() {
            return;
        }
        let folder = InstanceFolder::new(self.options.folders.instances().join(instance.as_str()));
        if let Err(error) = layer_bound::set_aside(&folder, &self.options.trash) {
            tracing::warn!(%instance, %error, "its temporary files could not be removed");
        }
    }

    /// Passes an event to the app's workers; true if it concerned one.
    fn worker_event(&mut self, key: &AppKey, event: &RolloutEvent) -> bool {
        let (RolloutEvent::Started { instance, .. } | RolloutEvent::Exited { instance, .. }) = event else {
            return false;
        };
        let of_worker = |managed: &ManagedInstance| managed.process != WEB;
        if !self.instances.get(instance).is_some_and(of_worker) {
            return false;
        }
        let at = self.now().at;
        let workers = self.workers.entry(key.clone()).or_default();
        let actions = match event {
            RolloutEvent::Started { pid, started_unix_ms, .. } => {
                workers.started(instance, *pid, *started_unix_ms, at);
                Vec::new()
            }
            RolloutEvent::Exited { exit, .. } => workers.exited(instance, exit, at),
            _ => Vec::new(),
        };
        for action in actions {
            self.act_for_worker(key, action);
        }
        self.follow_workers(key);
        true
    }

    /// Reconciles the workers with the release that has the routes, as a restart would find it.
    fn follow_workers(&mut self, key: &AppKey) {
        // Before the first desired state it is unknown what should run.
        if !self.applied {
            return;
        }
        // Most apps have no workers, and the code below copies a release.
        let named = self.desired.get(key).is_some_and(|spec| {
            let candidate = spec.candidate.as_ref().map(|rollout| &rollout.release);
            spec.live.iter().chain(candidate).any(|release| !release.workers.is_empty())
        });
        if !named && !self.workers.contains_key(key) {
            return;
        }
        let serving = self.apps.get(key).and_then(|state| state.record().serving);
        let wanted = serving.as_ref().is_some_and(|(release, _)| !release.workers.is_empty());
        // A release's folder is made completely or not at all.
        let ready = serving.as_ref().is_some_and(|(release, _)| self.release_folder(release).is_dir());
        let at = self.now().at;
        let sleeps = self.apps.get(key).is_some_and(AppState::sleeps);
        let target = serving.as_ref();
        let target =
            target.map(|(release, deployment)| WorkerTarget { release, deployment: deployment.as_ref(), sleeps });
        let workers = self.workers.entry(key.clone()).or_default();
        let actions = workers.reconcile(target, ready, at, &mut new_instance);
        let gone = workers.is_empty() && !wanted;
        for action in actions {
            self.act_for_worker(key, action);
        }
        if gone {
            self.workers.remove(key);
        }
    }

    /// Publishes the view if it differs from the last one.
    fn publish(&mut self) {
        // Adopted instances have no group yet: a view without them would remove their routes.
        if !self.applied {
            return;
        }
        let old = self.view.borrow().clone();
        let mut view = RuntimeView { generation: old.generation, wakes: self.wakes.clone(), ..RuntimeView::default() };
        for (key, state) in &self.apps {
            view.instances.extend(state.instances());
            view.rollouts.extend(state.rollouts().cloned());
            view.upstreams.insert(key.clone(), state.upstreams().to_vec());
        }
        view.instances.extend(self.workers.iter().flat_map(|(key, workers)| workers.statuses(key)));
        let running = view.instances.iter().filter(|status| status.pid != 0);
        view.processes = running
            .map(|status| RunningProcess {
                key: status.key.clone(),
                instance: status.id.clone(),
                pid: status.pid,
                cgroup: self.instances.get(&status.id).and_then(ManagedInstance::accounting),
            })
            .collect();
        let changed: Vec<(AppKey, u64)> = self
            .apps
            .iter()
            .map(|(key, state)| (key.clone(), state.generation()))
            .filter(|(key, local)| self.published.get(key) != Some(local))
            .collect();
        // The first applied state always makes a first generation, even without apps.
        let first = old.generation == 0;
        if first || !changed.is_empty() || view.upstreams != old.upstreams {
            view.generation += 1;
        }
        for (key, local) in changed {
            self.published.insert(key.clone(), local);
            self.sent.entry(key).or_default().push((view.generation, local));
        }
        if view != *old {
            self.view.send_replace(Arc::new(view));
        }
    }
}

pub(super) fn new_instance() -> InstanceId {
    loop {
        // The id always has the form that `parse` accepts.
        if let Ok(id) = InstanceId::parse(&format!("ins_{}", random::alphanumeric(20))) {
            return id;
        }
    }
}
