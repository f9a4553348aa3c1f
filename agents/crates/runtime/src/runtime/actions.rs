//! Actions of the state machines: starts and stops shims, runs health checks, writes logs, removes folders. Never
//! waits: slow work runs beside the task and returns as a message.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairlead_base::cgroup::CgroupFolders;
use fairlead_base::{clock, excerpt};
use fairlead_model::{
    AppKey, AppSpec, ArtifactKind, BenchmarkGate, DeploymentId, HealthCheck, InstanceId, LogLine, LogStream,
    ProcessSpec, ReleaseSpec, Step, UpstreamAddress,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::driver::{ManagedInstance, RuntimeDriver};
use super::launch::{self, LaunchRequest, PreparedInstance};
use super::{Message, RolloutEvent, files};
use crate::crash;
use crate::health_check::{self, HealthCheckKind, HealthCommand, HealthTarget, NetworkTarget};
use crate::instance::{InstanceFolder, InstanceSpec, WEB};
use crate::isolation::Isolation;
use crate::output;
use crate::ports;
use crate::rollout::{AppState, Crash, CrashReason, Exit, HealthCheckFailure, RolloutAction};
use crate::supervisor::{Change, ShimConnection};
use crate::workers::{WorkerAction, Workers};

/// Number of output lines that a failed rollout shows.
pub(super) const TAIL_LINES: usize = 60;
/// Extra time that `stop_all` waits for the shims beyond the longest stop timeout.
const STOP_ALL_SLACK: Duration = Duration::from_secs(15);
/// Delay of the first check, which comes quickly: most apps start in a moment.
pub(super) const FIRST_CHECK: Duration = Duration::from_millis(50);
/// Port of apps in networks of their own.
const PORT: u16 = 3000;
/// Number of consecutive failed liveness checks that end an instance.
const LIVENESS_FAILURES_MAX: u32 = 3;

impl RuntimeDriver {
    pub(super) fn act(&mut self, key: &AppKey, action: RolloutAction) {
        match action {
            RolloutAction::Prepare(release) => self.prepare(key, *release),
            RolloutAction::Start { instance, release, deployment, restarts } => {
                let process = WEB.to_owned();
                self.start(key, ProcessStart { instance, process, release: *release, deployment, restarts });
            }
            RolloutAction::Run { instance, release, deployment, kind, command } => {
                self.run_command(key, instance, *release, deployment, kind, command);
            }
            RolloutAction::Output { deployment, step, instance } => self.end_output(deployment, step, &instance),
            RolloutAction::Measure { deployment, address, live, gate } => {
                self.measure(key, deployment, (address, live), *gate);
            }
            RolloutAction::EndMeasurement { deployment } => {
                if let Some(load) = self.measurements.remove(&deployment) {
                    load.abort();
                }
            }
            RolloutAction::Woken { took } => {
                tracing::info!(app = %key, took_ms = took.as_millis(), "woken by a request");
                let wakes = self.wakes.entry(key.clone()).or_default();
                (wakes.count, wakes.total) = (wakes.count + 1, wakes.total + took);
            }
            RolloutAction::Stop { instance, stop_timeout } => self.stop(key, &instance, stop_timeout),
            RolloutAction::Forget { instance } => self.forget(&instance),
            RolloutAction::Tail { deployment, step, instance } => self.tail(&deployment, step, &instance),
            RolloutAction::Log { deployment, step, text } => self.write_log(&deployment, step, LogStream::System, text),
        }
    }

    pub(super) fn act_for_worker(&mut self, key: &AppKey, action: WorkerAction) {
        match action {
            WorkerAction::Start { instance, release, process, deployment, restarts } => {
                let ProcessSpec { name: process, command, memory_bytes_max, cpu_millis_max, .. } = process;
                let release =
                    ReleaseSpec { command, memory_bytes_max, cpu_millis_max, liveness_check: None, ..*release };
                self.start(key, ProcessStart { instance, process, release, deployment, restarts });
            }
            WorkerAction::Stop { instance, stop_timeout } => self.stop(key, &instance, stop_timeout),
            WorkerAction::Forget { instance } => self.forget(&instance),
        }
    }

    /// Starts and stops health checks together with processes.
    pub(super) fn follow_process(&mut self, event: &RolloutEvent) {
        let (RolloutEvent::Started { instance, .. } | RolloutEvent::Exited { instance, .. }) = event else { return };
        let Some(managed) = self.instances.get_mut(instance) else { return };
        if let Some(check_task) = managed.check_task.take() {
            check_task.abort();
        }
        if let (RolloutEvent::Started { .. }, Some(spec)) = (event, &managed.spec) {
            self.layers.add(spec, managed.stop_timeout, managed.stop.clone());
        }
        let folder = InstanceFolder::new(self.options.folders.instances().join(instance.as_str()));
        let container_record = folder.container_record().unwrap_or_else(|error| {
            tracing::warn!(%instance, %error, "where its container is can't be read");
            None
        });
        if let RolloutEvent::Started { .. } = event {
            managed.accounting =
                container_record.as_ref().and_then(|container_record| CgroupFolders::of(container_record.pid));
        }
        let host = container_record.as_ref().and_then(|container_record| container_record.host);
        let shares_network =
            managed.spec.as_ref().is_some_and(|spec| spec.container.is_some() && spec.network.is_none());
        // Without its own address, the check would reach the server's loopback, where other programs listen.
        let is_reachable = !shares_network || host.is_some();
        if let RolloutEvent::Started { pid, port, .. } = event
            && managed.process == WEB
            && !managed.is_command
            && is_reachable
        {
            let socket = managed.spec.as_ref().and_then(|spec| spec.socket_address());
            let network = managed.spec.as_ref().and_then(|spec| spec.network.as_ref());
            let network =
                network.map(|network| NetworkTarget { handover: network.handover.clone(), found: Arc::default() });
            let owner = managed.spec.as_ref().and_then(|spec| self.options.listener_owner(spec, *pid));
            let target = |check: &HealthCheck, which| HealthTarget {
                pid: *pid,
                host,
                owner: owner.clone(),
                port: *port,
                network: network.clone(),
                socket: socket.clone(),
                path: if check.command.is_empty() { check.path.clone() } else { String::new() },
                timeout: check.timeout,
                command: (!check.command.is_empty()).then(|| HealthCommand {
                    program: self.options.program.clone(),
                    folder: folder.path().to_owned(),
                    which,
                    pid: *pid,
                }),
            };
            let healthy = Arc::new(Notify::new());
            let readiness = Readiness {
                instance: instance.clone(),
                key: managed.key.clone(),
                target: target(&managed.readiness_check, HealthCheckKind::Readiness),
                interval: managed.readiness_check.interval,
                messages: self.messages.clone(),
                healthy: healthy.clone(),
            };
            let liveness = managed.liveness_check.as_ref().map(|check| Liveness {
                instance: instance.clone(),
                target: target(check, HealthCheckKind::Liveness),
                interval: check.interval,
                stop_timeout: managed.stop_timeout,
                stop: managed.stop.clone(),
                unresponsive: managed.unresponsive.clone(),
            });
            managed.check_task = Some(tokio::spawn(async move {
                let live = async {
                    if let Some(liveness) = liveness {
                        // While an app starts, only the readiness check applies.
                        healthy.notified().await;
                        liveness.watch().await;
                    }
                };
                tokio::join!(readiness.watch(), live);
            }));
        }
    }

    pub(super) fn release_folder(&self, release: &ReleaseSpec) -> PathBuf {
        self.options.folders.releases().join(release.id.as_str())
    }

    fn prepare(&self, key: &AppKey, release: ReleaseSpec) {
        let (prepare, messages, key) = (self.options.prepare.clone(), self.messages.clone(), key.clone());
        let folder = self.release_folder(&release);
        tokio::spawn(async move {
            let fetching = || {
                send(&messages, Message::App(key.clone(), RolloutEvent::Fetching(release.id.clone())));
            };
            let event = match prepare.prepare(&release, &folder, &fetching).await {
                Ok(()) => RolloutEvent::Prepared(release.id.clone()),
                Err(failure) => RolloutEvent::PrepareFailed(release.id.clone(), failure),
            };
            send(&messages, Message::App(key, event));
        });
    }

    /// `addresses`: those of the new and the live instance.
    fn measure(
        &mut self,
        key: &AppKey,
        deployment: DeploymentId,
        addresses: (UpstreamAddress, Option<UpstreamAddress>),
        gate: BenchmarkGate,
    ) {
        self.measurements.retain(|_, load| !load.is_finished());
        let (gates, messages, key, id) =
            (self.options.gates.clone(), self.messages.clone(), key.clone(), deployment.clone());
        let load = tokio::spawn(async move {
            let on_progress = |progress| {
                send(&messages, Message::App(key.clone(), RolloutEvent::GateProgress(id.clone(), Box::new(progress))));
            };
            let (address, live) = addresses;
            let verdict = gates.measure(&gate, &address, live.as_ref(), &on_progress).await;
            send(&messages, Message::App(key.clone(), RolloutEvent::GateMeasured(id.clone(), verdict)));
        });
        self.measurements.insert(deployment, load);
    }

    /// Returns the instance's previous port if it is still free, so that its address stays; otherwise another one. In
    /// its own network it always gets the same port.
    fn port_for(&self, instance: &InstanceId, release: &ReleaseSpec) -> Option<u16> {
        if self.options.isolation.gives_network(release.artifact_kind == ArtifactKind::Image) {
            return Some(own_port(release));
        }
        match self.instances.get(instance).map(|managed| managed.port) {
            Some(port) if ports::free(port) => return Some(port),
            Some(port) => self.ports.release(port),
            None => {}
        }
        self.ports.take()
    }

    fn start(&mut self, key: &AppKey, request: ProcessStart) {
        let ProcessStart { instance, process, release, deployment, restarts } = request;
        // An instance without a port here gets number zero: a container's ports are its own.
        let has_port = process == WEB && release.artifact_kind == ArtifactKind::Archive && !release.listens_on_socket;
        let port = if has_port { self.port_for(&instance, &release) } else { Some(0) };
        let Some(port) = port else {
            let (first, last) = (self.options.ports.start(), self.options.ports.end());
            let error = format!(
                "The app could not be started: every port from {first} to {last} is taken on this server. Stop something that listens there."
            );
            self.exited(key, &instance, Exit { start_error: Some(error), ..Exit::default() });
            return;
        };
        let (folder, key) = (self.release_folder(&release), key.clone());
        let sealed_for = self.desired.get(&key).map_or_else(|| key.clone(), AppSpec::sealed_for);
        self.launch(LaunchRequest {
            instance,
            key,
            sealed_for,
            process,
            release,
            folder,
            deployment,
            restarts,
            port,
            hook: None,
            is_copy: false,
        });
    }

    /// Lets a shim start the ordered instance.
    pub(super) fn launch(&mut self, request: LaunchRequest) {
        let (stop, stops) = mpsc::unbounded_channel();
        let (readiness_check, liveness_check) =
            (request.release.readiness_check.clone(), request.release.liveness_check.clone());
        let (stop_timeout, process) = (request.release.stop_timeout, request.process.clone());
        let (instance, key, port, is_command) =
            (request.instance.clone(), request.key.clone(), request.port, request.hook.is_some());
        let (options, supervisor, messages) = (self.options.clone(), self.supervisor.clone(), self.messages.clone());
        let copy_permits = self.copy_permits.clone();
        let task = tokio::spawn(async move {
            let (id, key) = (request.instance.clone(), request.key.clone());
            let prepared = {
                let _turn = copy_permits.take(options.isolation.layer).await;
                tokio::task::spawn_blocking(move || launch::prepare(&options, request)).await
            };
            let failed = |error| Exit {
                start_error: Some(format!("The app could not be started: {error}.")),
                ..Exit::default()
            };
            match prepared.unwrap_or_else(|error| Err(failed(error))) {
                Ok(PreparedInstance { folder, spec, secrets }) => {
                    send(&messages, Message::Launched(Arc::new(spec.clone())));
                    let changed = |change| send_change(&messages, &key, &id, port, change);
                    supervisor.run(folder, spec, secrets, stops, changed).await;
                }
                Err(exit) => send_change(&messages, &key, &id, port, Change::Exited(exit)),
            }
        });
        let managed = ManagedInstance {
            key,
            port,
            process,
            readiness_check,
            liveness_check,
            unresponsive: Arc::default(),
            stop_timeout,
            spec: None,
            accounting: None,
            stop,
            task,
            check_task: None,
            is_command,
        };
        self.instances.insert(instance, managed);
    }

    /// Follows an adopted instance like one that this run started.
    pub(super) fn follow_adopted(&mut self, folder: InstanceFolder, spec: InstanceSpec, attached: ShimConnection) {
        let (stop, stops) = mpsc::unbounded_channel();
        let (supervisor, messages) = (self.supervisor.clone(), self.messages.clone());
        let (id, key, port) = (spec.instance.clone(), spec.key.clone(), spec.port);
        let followed = spec.clone();
        let (pid, started_unix_ms) = (attached.status.app_pid, attached.status.started_unix_ms);
        let container_record = folder.container_record().ok().flatten();
        let begins = spec.container.is_some() && container_record.is_none();
        let (pid, shown) =
            container_record.map_or((pid, port), |container_record| (container_record.pid, container_record.port));
        let started = RolloutEvent::Started { instance: id.clone(), pid, port: shown, started_unix_ms };
        let task = tokio::spawn(async move {
            let tell = |change| send_change(&messages, &followed.key, &followed.instance, port, change);
            let exit = if begins {
                supervisor.report_and_follow(&folder, &followed, attached, stops, &tell).await
            } else {
                supervisor.follow(&folder, &followed, attached, stops).await
            };
            tell(Change::Exited(exit));
        });
        let (readiness_check, stop_timeout) = (spec.readiness_check.clone(), spec.stop_timeout);
        let is_command = spec.hook.is_some();
        let managed = ManagedInstance {
            key,
            port,
            process: spec.process.clone(),
            readiness_check,
            liveness_check: spec.liveness_check.clone(),
            unresponsive: Arc::default(),
            stop_timeout,
            spec: Some(Arc::new(spec)),
            accounting: None,
            stop,
            task,
            check_task: None,
            is_command,
        };
        self.instances.insert(id, managed);
        self.adopted.push(started);
    }

    fn stop(&mut self, key: &AppKey, instance: &InstanceId, stop_timeout: Duration) {
        let managed = self.instances.get_mut(instance);
        if let Some(check_task) = managed.and_then(|managed| managed.check_task.take()) {
            check_task.abort();
        }
        let asked = self.instances.get(instance).is_some_and(|managed| managed.stop.send(stop_timeout).is_ok());
        if !asked && self.instances.get(instance).is_none_or(|managed| managed.task.is_finished()) {
            self.exited(key, instance, Exit::default());
        }
    }

    fn exited(&self, key: &AppKey, instance: &InstanceId, exit: Exit) {
        send(&self.messages, Message::App(key.clone(), RolloutEvent::Exited { instance: instance.clone(), exit }));
    }

    fn forget(&mut self, instance: &InstanceId) {
        let folder = self.options.folders.instances().join(instance.as_str());
        if let Some(managed) = self.instances.remove(instance)
            && managed.spec.as_ref().is_none_or(|spec| spec.network.is_none())
        {
            self.ports.release(managed.port);
        }
        if let Err(error) = self.options.trash.set_aside(&folder) {
            tracing::warn!(folder = %folder.display(), %error, "could not be removed");
        }
    }

    /// Reads the reason of a crash from the app's last lines of output.
    pub(super) fn crash(&self, managed: &ManagedInstance, exit: &Exit) -> Option<Crash> {
        let spec = managed.spec.as_ref()?;
        if exit.code.is_none() || exit.start_error.is_some() {
            return None;
        }
        let folder = InstanceFolder::new(self.options.folders.instances().join(spec.instance.as_str()));
        match output::tail(&folder.log(spec), TAIL_LINES, 0) {
            Ok(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| excerpt::plain(&line.text)).collect();
                crash::recognize(exit.code, &lines).filter(|crash| exit.code != Some(0) || crash.reason.is_some())
            }
            Err(error) => {
                tracing::debug!(instance = %spec.instance, %error, "its last lines can't be read");
                None
            }
        }
    }

    fn tail(&self, deployment: &DeploymentId, step: Step, instance: &InstanceId) {
        let folder = InstanceFolder::new(self.options.folders.instances().join(instance.as_str()));
        let tail = folder.spec().and_then(|spec| match spec {
            Some(spec) => output::tail(&folder.log(&spec), TAIL_LINES, 0),
            None => Ok(Vec::new()),
        });
        match tail {
            Ok(lines) if lines.is_empty() => {
                self.write_log(deployment, step, LogStream::System, "The app has written nothing.".to_owned());
            }
            Ok(lines) => {
                self.write_log(deployment, step, LogStream::System, "The last lines of the app:".to_owned());
                for line in lines {
                    self.log(deployment, LogLine { unix_ms: line.unix_ms, step, stream: line.stream, text: line.text });
                }
            }
            Err(error) => {
                let text = format!("What the app has written can't be read: {error}.");
                self.write_log(deployment, step, LogStream::System, text);
            }
        }
    }

    fn write_log(&self, deployment: &DeploymentId, step: Step, stream: LogStream, text: String) {
        self.log(deployment, LogLine { unix_ms: clock::unix_ms(), step, stream, text });
    }

    pub(super) fn log(&self, deployment: &DeploymentId, line: LogLine) {
        // A full queue drops the line: waiting would let a slow link block the apps.
        if let Err(error) = self.log.try_send((deployment.clone(), line)) {
            tracing::warn!(%deployment, %error, "a line of the deployment's log was dropped");
        }
    }

    /// Stops all instances without events to the state machines: the record still says what should run.
    pub(super) async fn stop_all(&mut self, done: oneshot::Sender<()>) {
        self.stopping = true;
        self.measurements.values().for_each(JoinHandle::abort);
        let copies: Vec<_> = self.copies.drain().map(|(_, copy)| copy.stop()).collect();
        let longest = self.instances.values().map(|managed| managed.stop_timeout).max().unwrap_or_default();
        for managed in self.instances.values_mut() {
            if let Some(check_task) = managed.check_task.take() {
                check_task.abort();
            }
            // A closed channel means that it has ended.
            managed.stop.send(managed.stop_timeout).ok();
        }
        let all = async {
            for copy in copies {
                copy.await;
            }
            for (id, managed) in self.instances.drain() {
                if let Err(error) = managed.task.await {
                    tracing::warn!(instance = %id, %error, "could not be followed to its end");
                }
            }
        };
        if timeout(longest + STOP_ALL_SLACK, all).await.is_err() {
            tracing::error!("some instances did not stop in time");
        }
        if let Err(error) = self.options.isolation.cgroups.remove() {
            // An instance that did not stop holds it; the next run uses it again.
            tracing::debug!(%error, "the control groups stay");
        }
        // The caller may be gone.
        done.send(()).ok();
    }

    /// Removes unpacked releases that no instance runs and desired state does not name.
    pub(super) fn prune(&self) {
        let used = self.apps.values().flat_map(AppState::releases);
        let used = used.chain(self.workers.values().flat_map(Workers::releases));
        let used = used.chain(self.copies.values().map(|copy| &copy.release));
        let wanted = self.desired.values().flat_map(|spec| {
            spec.live.iter().chain(spec.candidate.iter().map(|rollout| &rollout.release)).map(|release| &release.id)
        });
        let keep: HashSet<String> = used.chain(wanted).map(ToString::to_string).collect();
        // The removal runs here, before the next release is prepared: a later one could take the folder from under it.
        let (trash, releases) = (&self.options.trash, self.options.folders.releases());
        if let Err(error) = files::set_aside_releases(trash, &releases, &keep) {
            tracing::warn!(%error, "releases that are no longer needed could not be removed");
        }
    }
}

/// True if an app was refused a port that is not its own. The kernel reports that to the app only.
pub(super) fn was_port_refused(isolation: &Isolation, managed: &ManagedInstance, exit: &Exit) -> bool {
    let has_one_port = managed.spec.as_ref().is_some_and(|spec| spec.sandbox.tcp_ports.is_some());
    let is_denied = exit.crash.as_ref().is_some_and(|crash| crash.reason == Some(CrashReason::PortDenied));
    isolation.ports && has_one_port && is_denied
}

/// Returns the port of an app in a network of its own: the usual one, or the next that no port of the server takes
/// there.
pub(super) fn own_port(release: &ReleaseSpec) -> u16 {
    let is_taken = |port: &u16| release.server_ports.iter().any(|address| address.port() == *port);
    (PORT..=u16::MAX).find(|port| !is_taken(port)).unwrap_or(PORT)
}

struct ProcessStart {
    instance: InstanceId,
    process: String,
    release: ReleaseSpec,
    deployment: Option<DeploymentId>,
    restarts: u32,
}

/// Readiness check of an instance, repeated while it runs.
struct Readiness {
    instance: InstanceId,
    key: AppKey,
    target: HealthTarget,
    interval: Duration,
    messages: mpsc::WeakUnboundedSender<Message>,
    /// Notifies the liveness check at the first successful check.
    healthy: Arc<Notify>,
}

impl Readiness {
    async fn watch(self) {
        let (mut pause, mut reported) = (FIRST_CHECK, None);
        let mut probe = ReadinessProbe::new(self.target);
        loop {
            let result = probe.check().await;
            if result.is_ok() {
                self.healthy.notify_one();
            }
            // After the first success, checks use the release's interval; before it, pauses grow up to that interval.
            pause = if result.is_ok() { self.interval } else { (pause * 2).min(self.interval) };
            // Failures are counted, so each one is reported; repeated successes are reported once.
            if result.is_err() || reported.as_ref() != Some(&result) {
                reported = Some(result.clone());
                let event = RolloutEvent::HealthChecked { instance: self.instance.clone(), result };
                if !send(&self.messages, Message::App(self.key.clone(), event)) {
                    return;
                }
            }
            sleep(pause.max(FIRST_CHECK)).await;
        }
    }
}

/// Readiness checks of one instance. They also find the port on which it listens instead of the given one.
pub(super) struct ReadinessProbe {
    target: HealthTarget,
    elsewhere: Vec<u16>,
    attempts: usize,
}

impl ReadinessProbe {
    pub(super) fn new(target: HealthTarget) -> Self {
        Self { target, elsewhere: Vec::new(), attempts: 0 }
    }

    pub(super) async fn check(&mut self) -> Result<UpstreamAddress, HealthCheckFailure> {
        let result = health_check::run_check(&self.target).await;
        let (Err(HealthCheckFailure::Refused { listening }), Some(network)) = (&result, &self.target.network) else {
            return result;
        };
        // Requires the same ports twice: an app that is still starting may open the given port last.
        if *listening == self.elsewhere
            && let Some(port) = health_check::port_to_try(listening, self.attempts)
        {
            self.attempts += 1;
            network.found.store(port, Ordering::Relaxed);
            return health_check::run_check(&self.target).await;
        }
        self.elsewhere.clone_from(listening);
        result
    }
}

/// Liveness check of an instance. An instance that fails is ended, and restarted as after a crash.
struct Liveness {
    instance: InstanceId,
    target: HealthTarget,
    interval: Duration,
    stop_timeout: Duration,
    stop: mpsc::UnboundedSender<Duration>,
    unresponsive: Arc<AtomicBool>,
}

impl Liveness {
    async fn watch(self) {
        let mut failures = 0;
        while failures < LIVENESS_FAILURES_MAX {
            sleep(self.interval.max(FIRST_CHECK)).await;
            failures = if health_check::run_check(&self.target).await.is_ok() { 0 } else { failures + 1 };
        }
        tracing::warn!(instance = %self.instance, "failed its liveness check three times in a row; it is restarted");
        self.unresponsive.store(true, Ordering::Relaxed);
        // A closed channel means that it has ended already.
        self.stop.send(self.stop_timeout).ok();
    }
}

impl Drop for RuntimeDriver {
    /// Stops the tasks that watch instances; the instances keep running.
    fn drop(&mut self) {
        self.layer_counts.abort();
        self.measurements.values().for_each(JoinHandle::abort);
        for managed in self.instances.values() {
            managed.task.abort();
            if let Some(check_task) = &managed.check_task {
                check_task.abort();
            }
        }
    }
}

/// Sends a message; false if the runtime is gone.
pub(super) fn send(messages: &mpsc::WeakUnboundedSender<Message>, message: Message) -> bool {
    messages.upgrade().is_some_and(|messages| messages.send(message).is_ok())
}

fn send_change(
    messages: &mpsc::WeakUnboundedSender<Message>,
    key: &AppKey,
    instance: &InstanceId,
    port: u16,
    change: Change,
) {
    let instance = instance.clone();
    let event = match change {
        Change::Started { pid, started_unix_ms, container_record } => {
            let port = container_record.map_or(port, |container_record| container_record.port);
            RolloutEvent::Started { instance, pid, port, started_unix_ms }
        }
        Change::Exited(exit) => RolloutEvent::Exited { instance, exit },
    };
    send(messages, Message::App(key.clone(), event));
}
