//! Copies of live releases for the benchmark lab. A copy runs like an instance of its app, but no state machine, route or report
//! knows it. Invariant: the copy ends with its handle, and its shim ends with the agent.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairlead_base::excerpt;
use fairlead_base::handover::{self, HandoverRequest};
use fairlead_model::{AppKey, ArtifactKind, ReleaseId, UpstreamAddress};
use fairlead_network::AppNetwork;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::actions::{FIRST_CHECK, ReadinessProbe, own_port, send};
use super::driver::{RuntimeDriver, new_instance};
use super::launch::{self, LaunchRequest};
use super::{Message, RuntimeOptions};
use crate::health_check::{HealthCheckKind, HealthCommand, HealthTarget, NetworkTarget};
use crate::instance::{ContainerRecord, InstanceFolder, InstanceSpec, WEB};
use crate::layer::CopyPermits;
use crate::layer_bound::LayerWatch;
use crate::output;
use crate::ports::PortAllocator;
use crate::rollout::Exit;
use crate::supervisor::{Change, Supervisor};

/// Time within which a copy must pass its readiness check.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Most time between SIGTERM and SIGKILL: no visitor waits for a response of a copy.
const STOP_TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// Number of output lines that the reason of a failed start quotes.
const OUTPUT_LINES: usize = 3;

/// Running copy of a release. Dropping it stops the copy without waiting.
#[derive(Debug)]
pub struct ReleaseCopy {
    /// Address at which it listens, in its network.
    pub address: SocketAddr,
    /// First process of the copy.
    pub pid: u32,
    /// Its own network namespace; `None`: it shares the server's network.
    pub network: Option<Arc<OwnedFd>>,
    life: CopyLife,
    _guard: StopGuard,
}

impl ReleaseCopy {
    /// Waits until the copy has ended by itself. Returns the reason as the end of a sentence.
    pub async fn ended(&self) -> String {
        self.life.clone().ended().await
    }

    /// Stops the copy, and returns when nothing of it is left.
    pub async fn stop(self) {
        self.life.clone().stop().await;
    }
}

/// Copy in the driver's list.
#[derive(Debug)]
pub(super) struct ManagedCopy {
    pub(super) key: AppKey,
    pub(super) release: ReleaseId,
    life: CopyLife,
}

impl ManagedCopy {
    pub(super) async fn stop(self) {
        self.life.stop().await;
    }
}

#[derive(Debug, Clone)]
struct CopyLife {
    stop: mpsc::UnboundedSender<Duration>,
    stop_timeout: Duration,
    /// Reason of its end, as the end of a sentence; `None` while it runs.
    end: watch::Receiver<Option<String>>,
}

impl CopyLife {
    async fn ended(mut self) -> String {
        let end = self.end.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or_else(|| "its task ended".to_owned())
    }

    async fn stop(self) {
        // A closed channel means that it has ended.
        self.stop.send(self.stop_timeout).ok();
        self.ended().await;
    }
}

/// Stops a copy when it is dropped.
#[derive(Debug)]
struct StopGuard(CopyLife);

impl Drop for StopGuard {
    fn drop(&mut self) {
        // A closed channel means that it has ended.
        self.0.stop.send(self.0.stop_timeout).ok();
    }
}

impl RuntimeDriver {
    pub(super) fn start_copy(
        &mut self,
        key: &AppKey,
        release: &ReleaseId,
        answer: oneshot::Sender<Result<ReleaseCopy, String>>,
    ) {
        let request = match self.copy_request(key, release) {
            Ok(request) => request,
            Err(reason) => {
                // A dropped receiver no longer waits.
                answer.send(Err(reason)).ok();
                return;
            }
        };
        let instance = request.instance.clone();
        let (stop, stops) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(None);
        let stop_timeout = request.release.stop_timeout.min(STOP_TIMEOUT_MAX);
        let life = CopyLife { stop, stop_timeout, end: ended };
        let managed = ManagedCopy { key: key.clone(), release: release.clone(), life: life.clone() };
        self.copies.insert(instance.clone(), managed);
        let launcher = CopyLauncher {
            options: self.options.clone(),
            supervisor: self.supervisor.clone(),
            ports: self.ports.clone(),
            layers: self.layers.clone(),
            copy_permits: self.copy_permits.clone(),
            life,
        };
        let (started_end, started) = oneshot::channel();
        tokio::spawn(launcher.clone().answer(started, answer));
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let how = launcher.run(request, stops, started_end).await;
            send(&messages, Message::CopyEnded(instance));
            end.send_replace(Some(how));
        });
    }

    /// Returns the launch of a copy. The error is the reason why the release can't be copied here, as the end of a sentence.
    fn copy_request(&self, key: &AppKey, release: &ReleaseId) -> Result<LaunchRequest, String> {
        if self.stopping {
            return Err("the agent is stopping".to_owned());
        }
        let spec = self.desired.get(key).ok_or("the app does not run on this server")?;
        let live = spec.live.as_ref().filter(|live| live.id == *release);
        let live = live.ok_or("another release went live before the run began")?;
        if !live.volumes.is_empty() {
            return Err("the app has volumes, and a copy would write to them too".to_owned());
        }
        if live.listens_on_socket {
            return Err("the app listens on a Unix socket, which other proxies can't reach".to_owned());
        }
        let is_image = live.artifact_kind == ArtifactKind::Image;
        if !is_image && matches!(self.options.isolation.network, Some(AppNetwork::Rootless(_))) {
            return Err("the other proxies can enter its network only if the agent runs as root".to_owned());
        }
        let folder = self.release_folder(live);
        if !folder.is_dir() {
            return Err("the files of the release are not on this server yet".to_owned());
        }
        let port = match (is_image, self.options.isolation.gives_network(is_image)) {
            // A container's ports are its own.
            (true, _) => 0,
            (false, true) => own_port(live),
            (false, false) => self.ports.take().ok_or("every port for apps is taken on this server")?,
        };
        Ok(LaunchRequest {
            instance: new_instance(),
            key: key.clone(),
            sealed_for: spec.sealed_for(),
            process: WEB.to_owned(),
            release: live.clone(),
            folder,
            deployment: None,
            restarts: 0,
            port,
            hook: None,
            is_copy: true,
        })
    }
}

/// Copy whose process exists.
struct StartedCopy {
    spec: InstanceSpec,
    folder: PathBuf,
    pid: u32,
    container_record: Option<ContainerRecord>,
}

/// Parts of the driver that a copy needs.
#[derive(Clone)]
struct CopyLauncher {
    options: Arc<RuntimeOptions>,
    supervisor: Supervisor,
    ports: Arc<PortAllocator>,
    layers: Arc<LayerWatch>,
    copy_permits: Arc<CopyPermits>,
    life: CopyLife,
}

impl CopyLauncher {
    /// Runs the copy to its end and removes its folder. Returns the reason of its end.
    async fn run(
        &self,
        request: LaunchRequest,
        stops: mpsc::UnboundedReceiver<Duration>,
        started: oneshot::Sender<StartedCopy>,
    ) -> String {
        let (instance, port) = (request.instance.clone(), request.port);
        let folder = self.options.folders.instances().join(instance.as_str());
        let is_image = request.release.artifact_kind == ArtifactKind::Image;
        let how = self.run_process(request, stops, started).await;
        self.layers.remove(&instance);
        if !is_image && !self.options.isolation.gives_network(is_image) {
            self.ports.release(port);
        }
        if let Err(error) = self.options.trash.set_aside(&folder) {
            tracing::warn!(folder = %folder.display(), %error, "could not be removed");
        }
        how
    }

    async fn run_process(
        &self,
        request: LaunchRequest,
        stops: mpsc::UnboundedReceiver<Duration>,
        started: oneshot::Sender<StartedCopy>,
    ) -> String {
        let options = self.options.clone();
        let prepared = {
            let _turn = self.copy_permits.take(options.isolation.layer).await;
            tokio::task::spawn_blocking(move || launch::prepare(&options, request)).await
        };
        let prepared = match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(exit)) => return words(&exit, &[]),
            Err(error) => return error.to_string(),
        };
        let (folder, spec) = (prepared.folder, prepared.spec);
        let exit = Mutex::new(Exit::default());
        let started = Mutex::new(Some(started));
        let changed = |change| match change {
            Change::Started { pid, container_record, .. } => {
                self.layers.add(&spec, self.life.stop_timeout, self.life.stop.clone());
                let copy = StartedCopy { spec: spec.clone(), folder: folder.path().to_owned(), pid, container_record };
                let started = started.lock().unwrap_or_else(PoisonError::into_inner).take();
                // A dropped receiver no longer waits for it.
                started.and_then(|started| started.send(copy).err());
            }
            Change::Exited(how) => *exit.lock().unwrap_or_else(PoisonError::into_inner) = how,
        };
        self.supervisor.run(folder.clone(), spec.clone(), prepared.secrets, stops, changed).await;
        let exit = exit.into_inner().unwrap_or_else(PoisonError::into_inner);
        words(&exit, &last_lines(&folder, &spec))
    }

    /// Answers when the copy is ready or has failed. Stops the copy if the caller no longer waits.
    async fn answer(
        self,
        started: oneshot::Receiver<StartedCopy>,
        mut answer: oneshot::Sender<Result<ReleaseCopy, String>>,
    ) {
        let guard = StopGuard(self.life.clone());
        let ready = tokio::select! {
            ready = timeout(READY_TIMEOUT, self.ready(started)) => {
                ready.unwrap_or_else(|_| Err(format!("it was not ready within {} s", READY_TIMEOUT.as_secs())))
            }
            how = self.life.clone().ended() => Err(how),
            () = answer.closed() => return,
        };
        let life = self.life.clone();
        let ready = match ready {
            Ok((address, pid, network)) => Ok(ReleaseCopy { address, pid, network, life, _guard: guard }),
            Err(reason) => {
                life.stop().await;
                Err(reason)
            }
        };
        // Without a receiver, the drop of the copy stops it.
        answer.send(ready).ok();
    }

    /// Waits until the copy passes its readiness check. Returns its address, its first process and its network.
    async fn ready(
        &self,
        started: oneshot::Receiver<StartedCopy>,
    ) -> Result<(SocketAddr, u32, Option<Arc<OwnedFd>>), String> {
        let Ok(copy) = started.await else { return Err(self.life.clone().ended().await) };
        let mut probe = ReadinessProbe::new(self.target(&copy));
        let mut pause = FIRST_CHECK;
        let address = loop {
            if let Ok(address) = probe.check().await {
                break address;
            }
            sleep(pause).await;
            pause = (pause * 2).min(copy.spec.readiness_check.interval.max(FIRST_CHECK));
        };
        let (UpstreamAddress::Tcp { address, .. } | UpstreamAddress::Namespace { address: Some(address), .. }) =
            address
        else {
            return Err("it listens on a Unix socket".to_owned());
        };
        let network = match &copy.spec.network {
            Some(network) => {
                let namespace = handover::ask(&network.handover, HandoverRequest::Namespace).await;
                let namespace = namespace.map_err(|error| format!("its network can't be opened ({error})"))?;
                Some(Arc::new(namespace.into_iter().next().ok_or("its network is missing")?))
            }
            None => None,
        };
        Ok((address, copy.pid, network))
    }

    fn target(&self, copy: &StartedCopy) -> HealthTarget {
        let StartedCopy { spec, folder, pid, container_record } = copy;
        let check = &spec.readiness_check;
        let network = spec.network.as_ref();
        HealthTarget {
            pid: *pid,
            host: container_record.as_ref().and_then(|record| record.host),
            owner: self.options.listener_owner(spec, *pid),
            port: container_record.as_ref().map_or(spec.port, |record| record.port),
            network: network.map(|network| NetworkTarget { handover: network.handover.clone(), found: Arc::default() }),
            socket: None,
            path: if check.command.is_empty() { check.path.clone() } else { String::new() },
            timeout: check.timeout,
            command: (!check.command.is_empty()).then(|| HealthCommand {
                program: self.options.program.clone(),
                folder: folder.clone(),
                which: HealthCheckKind::Readiness,
                pid: *pid,
            }),
        }
    }
}

fn last_lines(folder: &InstanceFolder, spec: &InstanceSpec) -> Vec<String> {
    match output::tail(&folder.log(spec), OUTPUT_LINES, 0) {
        Ok(lines) => lines.iter().map(|line| excerpt::plain(&line.text)).collect(),
        Err(error) => vec![format!("its last lines can't be read: {error}")],
    }
}

/// Returns the reason of a copy's end, as the end of a sentence.
fn words(exit: &Exit, lines: &[String]) -> String {
    let how = match exit {
        Exit { start_error: Some(error), .. } => return error.trim_end_matches('.').to_owned(),
        Exit { out_of_memory: true, .. } => "it exceeded its memory limit".to_owned(),
        Exit { code: Some(code), .. } => format!("it ended with {code}"),
        Exit { signal: Some(signal), .. } => format!("it was ended by signal {signal}"),
        _ => "it ended".to_owned(),
    };
    if lines.is_empty() { how } else { format!("{how}; it wrote: {}", lines.join(" / ")) }
}
