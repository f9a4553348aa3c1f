//! Proxy supervisor in `run`: adopts the running proxy or starts one, restarts it with the same sockets and snapshot
//! if it dies, and upgrades it. Invariant: dropping the supervisor leaves the proxy running.

use std::collections::VecDeque;
use std::fs::{File, metadata};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fairlead_base::{Backoff, clock};
use fairlead_wire::local::{ProxyDrain, ProxySnapshot, ProxyStats, SnapshotApplied, proxy_command, proxy_event};
use tokio::process::Child;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::draining_proxies::{DrainingEvent, DrainingProxies, EXIT_TIMEOUT, RetiredProxy};
use super::link::{self, AdoptedProxy, ProxyChannel};
use super::log_file::LogFile;
use super::process::ProcessHandle;
use super::replace::{is_wanted, others, replace};
use super::spawn::spawn;
use super::{ListenerKind, ProxyError, ProxyKeys, ProxySockets};
use crate::core::DrainOptions;
use crate::h3::remove_stale_sockets;
use crate::worker::reply;

/// Maximum number of statistics frames (about a minute) that wait for a slow reader; more are dropped.
const STATS_WAITING_MAX: usize = 64;
/// Maximum number of wake-up requests that wait; the proxy repeats lost ones within a second.
const WAKES_WAITING_MAX: usize = 256;
/// Drain timeout of a proxy that can't be adopted and is replaced.
const REPLACED_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time between the end of a channel and the exit of its process if the process died.
const DEATH_TIMEOUT: Duration = Duration::from_millis(200);
/// Time without an event after which a proxy counts as hung; statistics come once a second.
const SILENT_AFTER: Duration = Duration::from_secs(15);
/// Maximum time until a new proxy has applied the snapshot and sent statistics.
const PROOF_TIMEOUT: Duration = Duration::from_secs(15);
/// Delay before a failed upgrade is tried again.
const UPGRADE_AGAIN: Duration = Duration::from_secs(60);
/// Minimum uptime after which an exit does not count as a failed start.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Options for starting and finding a proxy.
#[derive(Debug, Clone)]
pub struct SupervisorOptions {
    /// Program that provides the `proxy` subcommand.
    pub program: PathBuf,
    /// Path of the control socket; a later `run` finds the proxy here.
    pub control_path: PathBuf,
    /// Listen addresses of HTTPS.
    pub https: Vec<SocketAddr>,
    /// Listen addresses of plain HTTP, which is redirected.
    pub http: Vec<SocketAddr>,
    /// Number of worker threads.
    pub workers: usize,
    /// Drain of the old proxy after an upgrade.
    pub upgrade_drain: DrainOptions,
}

/// Receives the generation in use, or the reason of a refusal.
type Applied = oneshot::Sender<Result<u64, String>>;

enum SupervisorRequest {
    Apply(ProxySnapshot, Applied),
    Upgrade(oneshot::Sender<Result<(), String>>),
    Stop(Duration, oneshot::Sender<()>),
}

/// Handle of a supervised proxy process.
#[derive(Debug)]
pub struct ProxySupervisor {
    requests: mpsc::Sender<SupervisorRequest>,
    wakes: broadcast::Sender<String>,
    pid: Arc<AtomicU32>,
    https: Option<SocketAddr>,
    http: Option<SocketAddr>,
}

impl ProxySupervisor {
    /// Adopts the proxy behind the control socket, or binds the sockets and starts one. Statistics arrive once a
    /// second.
    pub async fn start(options: SupervisorOptions) -> Result<(Self, mpsc::Receiver<ProxyStats>), ProxyError> {
        let mut task = SupervisorTask::find(options).await?;
        let (requests, received) = mpsc::channel(16);
        let (stats, receiver) = mpsc::channel(STATS_WAITING_MAX);
        let supervisor = Self {
            requests,
            wakes: task.wakes.clone(),
            pid: Arc::clone(&task.pid),
            https: task.sockets.address(ListenerKind::Https),
            http: task.sockets.address(ListenerKind::Http),
        };
        tokio::spawn(async move {
            let stopped = task.run(received, &stats).await;
            // A stop guarantees closed ports, and this process holds the sockets too.
            drop(task);
            if let Some(stopped) = stopped {
                reply(stopped, ());
            }
        });
        Ok((supervisor, receiver))
    }

    /// Applies a snapshot and returns its generation, which statistics name. An error is the reason of a refusal; the
    /// previous snapshot stays in use.
    pub async fn apply(&self, snapshot: ProxySnapshot) -> Result<u64, String> {
        let (applied, answer) = oneshot::channel();
        let gone = || "the proxy is stopped".to_owned();
        self.requests.send(SupervisorRequest::Apply(snapshot, applied)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Replaces the running proxy by a new process of the options' program, with the same sockets, snapshot and keys.
    /// Returns once the new one has proved that it serves; the old one then drains. On an error the old one continues
    /// to serve.
    pub async fn upgrade(&self) -> Result<(), String> {
        let (upgraded, answer) = oneshot::channel();
        let gone = || "the proxy is stopped".to_owned();
        self.requests.send(SupervisorRequest::Upgrade(upgraded)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Drains and ends the proxy, and those that already drain.
    pub async fn stop(&self, drain_timeout: Duration) {
        let (stopped, answer) = oneshot::channel();
        if self.requests.send(SupervisorRequest::Stop(drain_timeout, stopped)).await.is_ok() && answer.await.is_err() {
            tracing::warn!("the proxy supervisor ended before the proxy");
        }
    }

    /// Subscribes to keys of sleeping apps that requests wait for.
    pub fn wakes(&self) -> broadcast::Receiver<String> {
        self.wakes.subscribe()
    }

    /// Returns the process id of the proxy; it changes after a restart or upgrade.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Returns the first HTTPS address, with the bound port.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https
    }

    /// Returns the first plain HTTP address, with the bound port.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }
}

struct SupervisorTask {
    options: SupervisorOptions,
    sockets: ProxySockets,
    keys: ProxyKeys,
    channel: ProxyChannel,
    process: ProcessHandle,
    /// `None` for an adopted proxy, which is not a child of this process.
    child: Option<Child>,
    pid: Arc<AtomicU32>,
    generation: u64,
    applied: Option<ProxySnapshot>,
    /// Last snapshot that was refused while none was applied.
    refused: Option<ProxySnapshot>,
    pending: VecDeque<(ProxySnapshot, Applied)>,
    started: Instant,
    /// Time of the last event from the proxy.
    last_event_at: Instant,
    reconnected: Option<Instant>,
    draining_proxies: DrainingProxies,
    /// Time of the next upgrade attempt.
    upgrade_at: Option<Instant>,
    upgrades: Vec<oneshot::Sender<Result<(), String>>>,
    wakes: broadcast::Sender<String>,
    log: LogFile,
}

impl SupervisorTask {
    async fn find(options: SupervisorOptions) -> Result<Self, ProxyError> {
        let mut drain_timeout = REPLACED_DRAIN_TIMEOUT;
        match link::adopt(&options.control_path).await {
            Ok(Some(AdoptedProxy { channel, pid, mut sockets, keys })) if is_wanted(&sockets, &options) => {
                sockets.complete_quic();
                let process = ProcessHandle::open(pid)?;
                let keys = keys.map_or_else(ProxyKeys::generate, Ok)?;
                for other in others(&options.control_path).into_iter().filter(|other| other.pid != pid) {
                    tracing::warn!(pid = other.pid, "a second proxy on the same sockets is ended");
                    other.end(REPLACED_DRAIN_TIMEOUT).await?;
                }
                let upgrade = runs_another_program(pid, &options.program);
                tracing::info!(pid, upgrade, "adopted the proxy that serves");
                let mut task = Self::new(options, sockets, keys, channel, None, process);
                task.upgrade_at = upgrade.then(Instant::now);
                return Ok(task);
            }
            Ok(Some(AdoptedProxy { mut channel, pid, .. })) => {
                tracing::info!(pid, "the proxy that serves listens elsewhere and is replaced");
                // The proxy closes the channel when it exits, and only then are its addresses free.
                if link::command(&channel, drain(at_once(EXIT_TIMEOUT))).await.is_ok() {
                    while matches!(timeout(2 * EXIT_TIMEOUT, channel.receive_only_messages()).await, Ok(Ok(Some(_)))) {}
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the proxy that serves can't be adopted and is replaced");
                if matches!(error, ProxyError::Silent) {
                    drain_timeout = Duration::ZERO;
                }
            }
        }
        let sockets = match replace(&options, drain_timeout).await? {
            Some(sockets) => sockets,
            None => ProxySockets::bind(&options.https, &options.http, options.workers, &options.control_path)?,
        };
        let keys = ProxyKeys::generate()?;
        let (channel, child, process) = spawn(&options.program, &sockets, &keys).await?;
        Ok(Self::new(options, sockets, keys, channel, Some(child), process))
    }

    fn new(
        options: SupervisorOptions,
        sockets: ProxySockets,
        keys: ProxyKeys,
        channel: ProxyChannel,
        child: Option<Child>,
        process: ProcessHandle,
    ) -> Self {
        Self {
            options,
            sockets,
            keys,
            channel,
            child,
            pid: Arc::new(AtomicU32::new(process.pid)),
            process,
            // Grows across restarts of `run` too.
            generation: clock::unix_ms(),
            applied: None,
            refused: None,
            pending: VecDeque::new(),
            started: Instant::now(),
            last_event_at: Instant::now(),
            reconnected: None,
            draining_proxies: DrainingProxies::new(),
            upgrade_at: None,
            upgrades: Vec::new(),
            wakes: broadcast::channel(WAKES_WAITING_MAX).0,
            log: LogFile::default(),
        }
    }

    /// Supervises the proxy until a stop; returns the sender that reports the stop.
    async fn run(
        &mut self,
        mut requests: mpsc::Receiver<SupervisorRequest>,
        stats: &mpsc::Sender<ProxyStats>,
    ) -> Option<oneshot::Sender<()>> {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
        loop {
            let failed = tokio::select! {
                // Events from before a pause of the whole machine are read before the pause counts as silence.
                biased;
                // Events carry no descriptors: a compromised proxy could exhaust those of this process.
                event = self.channel.receive_only_messages() => match event {
                    Ok(Some(event)) => {
                        self.last_event_at = Instant::now();
                        let is_second = matches!(event.body, Some(proxy_event::Body::Stats(_)));
                        self.event(event.body, stats);
                        is_second && self.update_log().await.is_err()
                    }
                    Ok(None) | Err(_) => true,
                },
                event = self.draining_proxies.next_event() => {
                    if let DrainingEvent::Wake(app) = &event {
                        self.forward_wake(app.clone());
                    }
                    self.draining_proxies.record(event);
                    false
                }
                request = requests.recv() => match request {
                    None => return None,
                    Some(SupervisorRequest::Apply(snapshot, answer)) => self.apply(snapshot, answer).await.is_err(),
                    Some(SupervisorRequest::Upgrade(upgraded)) => {
                        self.upgrades.push(upgraded);
                        self.upgrade_at = Some(Instant::now());
                        false
                    }
                    Some(SupervisorRequest::Stop(drain_timeout, stopped)) => {
                        self.stop(drain_timeout).await;
                        return Some(stopped);
                    }
                },
                () = sleep_until(self.upgrade_at.unwrap_or(self.last_event_at)), if self.may_upgrade() => {
                    self.try_upgrade(stats).await;
                    false
                }
                () = sleep(self.keys.due_in()) => self.rotate_keys().await.is_err(),
                () = sleep_until(self.last_event_at + SILENT_AFTER) => {
                    tracing::error!(pid = self.process.pid, "the proxy has been silent for too long");
                    true
                }
            };
            if failed {
                if self.started.elapsed() >= STABLE_AFTER {
                    backoff.reset();
                }
                self.recover(&mut backoff).await;
            }
        }
    }

    /// Rotates the keys and sends them to the proxy. A proxy that misses them gets them with the next rotation or at
    /// its start.
    async fn rotate_keys(&mut self) -> Result<(), ProxyError> {
        self.keys.rotate()?;
        link::command(&self.channel, proxy_command::Body::Keys(self.keys.message())).await
    }

    async fn apply(&mut self, mut snapshot: ProxySnapshot, answer: Applied) -> Result<(), ProxyError> {
        self.generation += 1;
        snapshot.generation = self.generation;
        self.log.configure(&snapshot);
        self.update_log().await?;
        let sent = link::command(&self.channel, proxy_command::Body::Snapshot(snapshot.clone())).await;
        self.pending.push_back((snapshot, answer));
        sent
    }

    /// Opens and rotates the access log, and passes a new file to every process that writes to it.
    async fn update_log(&mut self) -> Result<(), ProxyError> {
        let Some(file) = self.log.check().await else { return Ok(()) };
        self.draining_proxies.pass_log(&file);
        link::pass_log(&self.channel, &file).await
    }

    fn event(&mut self, event: Option<proxy_event::Body>, stats: &mpsc::Sender<ProxyStats>) {
        match event {
            Some(proxy_event::Body::Applied(applied)) => self.applied(&applied),
            Some(proxy_event::Body::Stats(frame)) => self.pass_on(frame, stats),
            Some(proxy_event::Body::Wake(wake)) => self.forward_wake(wake.app_key),
            _ => {}
        }
    }

    fn forward_wake(&self, app: String) {
        if self.wakes.send(app).is_err() {
            tracing::debug!("nobody starts apps that sleep");
        }
    }

    fn pass_on(&mut self, mut frame: ProxyStats, stats: &mpsc::Sender<ProxyStats>) {
        self.draining_proxies.add_to(&mut frame);
        let sent = stats.try_send(frame);
        if sent.is_err() {
            tracing::warn!("a second of statistics was dropped: nobody reads them");
        }
    }

    /// True if an upgrade may start now: no snapshot awaits its result, and the new proxy would have a snapshot to
    /// serve.
    fn may_upgrade(&self) -> bool {
        let has_table = self.applied.is_some() || self.refused.is_some();
        self.upgrade_at.is_some() && self.pending.is_empty() && (has_table || !self.upgrades.is_empty())
    }

    async fn try_upgrade(&mut self, stats: &mpsc::Sender<ProxyStats>) {
        let old = self.process.pid;
        let result = match self.upgrade(stats).await {
            Ok(()) => {
                self.upgrade_at = None;
                tracing::info!(old, new = self.process.pid, "upgraded the proxy; the old one drains");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "the proxy can't be upgraded; the old one serves on");
                // A caller that waits decides for itself.
                self.upgrade_at = self.upgrades.is_empty().then(|| Instant::now() + UPGRADE_AGAIN);
                Err(error.to_string())
            }
        };
        for upgraded in self.upgrades.drain(..) {
            reply(upgraded, result.clone());
        }
    }

    async fn upgrade(&mut self, stats: &mpsc::Sender<ProxyStats>) -> Result<(), ProxyError> {
        let (mut channel, mut child, process) = spawn(&self.options.program, &self.sockets, &self.keys).await?;
        let table = self.applied.clone().or_else(|| self.refused.clone());
        let log = self.log.current();
        let proof = timeout(PROOF_TIMEOUT, verify_new(&mut channel, log.as_deref(), table.as_ref())).await;
        let frame = match proof.unwrap_or(Err(ProxyError::Silent)) {
            Ok(frame) => frame,
            Err(error) => {
                child.kill().await.map_err(ProxyError::system("cannot end a new proxy that failed"))?;
                return Err(error);
            }
        };
        (self.applied, self.refused) = (table, None);
        let old = RetiredProxy {
            channel: std::mem::replace(&mut self.channel, channel),
            child: self.child.replace(child),
            process: std::mem::replace(&mut self.process, process),
        };
        self.draining_proxies.add(old, self.options.upgrade_drain);
        self.pid.store(self.process.pid, Ordering::Relaxed);
        self.started = Instant::now();
        (self.last_event_at, self.reconnected) = (self.started, None);
        self.pass_on(frame, stats);
        Ok(())
    }

    fn applied(&mut self, applied: &SnapshotApplied) {
        // A snapshot that was sent again after a restart has no pending caller.
        let Some((snapshot, answer)) = self.pending.pop_front_if(|(first, _)| first.generation == applied.generation)
        else {
            return;
        };
        let result = if applied.error.is_empty() {
            self.draining_proxies.send_all(&proxy_command::Body::Snapshot(snapshot.clone()));
            (self.applied, self.refused) = (Some(snapshot), None);
            Ok(applied.generation)
        } else {
            self.refused = self.applied.is_none().then_some(snapshot);
            Err(applied.error.clone())
        };
        reply(answer, result);
    }

    /// Reconnects to a proxy that only lost its channel; replaces a dead or hung one. The new process gets the same
    /// sockets, so no client is refused, and the same snapshot, so no route is lost.
    async fn recover(&mut self, backoff: &mut Backoff) {
        // A snapshot that crashed the proxy must not crash the next one.
        for (_, answer) in self.pending.drain(..) {
            reply(answer, Err("the proxy ended while it took the change; try again".to_owned()));
        }
        if timeout(DEATH_TIMEOUT, self.process.ended()).await.is_err() {
            if self.reconnected.is_some_and(|at| at.elapsed() < STABLE_AFTER) {
                sleep(backoff.pause()).await;
            }
            match self.reconnect().await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "the proxy can't be reached any more and is replaced"),
            }
        }
        let mut first = true;
        loop {
            if !std::mem::take(&mut first) || self.started.elapsed() < STABLE_AFTER {
                sleep(backoff.pause()).await;
            }
            match self.restart().await {
                Ok(()) => return,
                Err(error) => tracing::error!(%error, "the proxy can't be started again"),
            }
        }
    }

    async fn reconnect(&mut self) -> Result<(), ProxyError> {
        let found = tokio::select! {
            // No process would answer on its control socket, which this process holds too.
            () = self.process.ended() => Ok(None),
            found = link::adopt(&self.options.control_path) => found,
        };
        let AdoptedProxy { channel, pid, .. } =
            found?.ok_or(ProxyError::Protocol("the proxy left its control socket"))?;
        if pid != self.process.pid {
            return Err(ProxyError::Protocol("another process answers on the control socket"));
        }
        link::command(&channel, proxy_command::Body::Keys(self.keys.message())).await?;
        if let Some(file) = self.log.current() {
            link::pass_log(&channel, &file).await?;
        }
        if let Some(snapshot) = &self.applied {
            link::command(&channel, proxy_command::Body::Snapshot(snapshot.clone())).await?;
        }
        tracing::warn!(pid, "the channel to the proxy broke and was opened again");
        self.channel = channel;
        self.last_event_at = Instant::now();
        self.reconnected = Some(self.last_event_at);
        Ok(())
    }

    async fn restart(&mut self) -> Result<(), ProxyError> {
        self.end_process(Duration::ZERO).await?;
        self.sockets.renew_control(&self.options.control_path)?;
        let (channel, child, process) = spawn(&self.options.program, &self.sockets, &self.keys).await?;
        // From here on this process must end it, whatever happens next.
        let old = std::mem::replace(&mut self.process, process).pid;
        self.child = Some(child);
        self.channel = channel;
        if let Some(file) = self.log.current() {
            link::pass_log(&self.channel, &file).await?;
        }
        if let Some(snapshot) = &self.applied {
            link::command(&self.channel, proxy_command::Body::Snapshot(snapshot.clone())).await?;
        }
        tracing::warn!(old, new = self.process.pid, "the proxy ended and was started again");
        self.pid.store(self.process.pid, Ordering::Relaxed);
        self.started = Instant::now();
        self.last_event_at = self.started;
        Ok(())
    }

    /// Ends the old process: two proxies must not serve two snapshots on one port.
    async fn end_process(&mut self, drain_timeout: Duration) -> Result<(), ProxyError> {
        self.process.end(drain_timeout).await?;
        if let Some(mut child) = self.child.take()
            && let Ok(Err(error)) = timeout(DEATH_TIMEOUT, child.wait()).await
        {
            tracing::warn!(%error, "an old proxy's exit can't be read");
        }
        Ok(())
    }

    async fn stop(&mut self, drain_timeout: Duration) {
        self.draining_proxies.send_all(&drain(at_once(drain_timeout)));
        let asked = link::command(&self.channel, drain(at_once(drain_timeout))).await;
        let channel = &mut self.channel;
        // The proxy closes the channel when it exits.
        let ended =
            timeout(drain_timeout + EXIT_TIMEOUT, async { while let Ok(Some(_)) = channel.receive().await {} }).await;
        if asked.is_err() || ended.is_err() {
            tracing::warn!("the proxy did not end as asked");
        }
        if timeout(drain_timeout + 2 * EXIT_TIMEOUT, self.draining_proxies.ended()).await.is_err() {
            tracing::warn!("a draining proxy did not end as asked");
        }
        if let Err(error) = self.end_process(DEATH_TIMEOUT).await {
            tracing::error!(%error, "an old proxy can't be ended");
        }
        let removed = std::fs::remove_file(&self.options.control_path)
            .and_then(|()| remove_stale_sockets(&self.options.control_path));
        if let Err(error) = removed {
            tracing::warn!(%error, "the proxy's sockets stay behind");
        }
    }
}

/// Drain for a stop: no successor takes over, so idle connections close without a delay.
fn at_once(drain_timeout: Duration) -> DrainOptions {
    DrainOptions { timeout: drain_timeout, idle_window: Duration::ZERO }
}

pub(super) fn drain(order: DrainOptions) -> proxy_command::Body {
    let millis = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    proxy_command::Body::Drain(ProxyDrain { timeout_ms: millis(order.timeout), spread_ms: millis(order.idle_window) })
}

/// True if the process runs another program than `program`, or an older file of it.
fn runs_another_program(pid: u32, program: &Path) -> bool {
    // The link points to the started file even if it has been removed.
    match (metadata(format!("/proc/{pid}/exe")), metadata(program)) {
        (Ok(running), Ok(wanted)) => (running.dev(), running.ino()) != (wanted.dev(), wanted.ino()),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(pid, %error, "can't tell which program the proxy runs");
            false
        }
    }
}

/// Waits until a new proxy has applied `table`; returns its first statistics frame.
async fn verify_new(
    channel: &mut ProxyChannel,
    log: Option<&File>,
    table: Option<&ProxySnapshot>,
) -> Result<ProxyStats, ProxyError> {
    let mut taken = table.is_none();
    if let Some(log) = log {
        link::pass_log(channel, log).await?;
    }
    if let Some(table) = table {
        link::command(channel, proxy_command::Body::Snapshot(table.clone())).await?;
    }
    loop {
        match link::event(channel).await? {
            proxy_event::Body::Applied(applied) if applied.error.is_empty() => taken = true,
            proxy_event::Body::Applied(applied) => return Err(ProxyError::Refused { reason: applied.error }),
            proxy_event::Body::Stats(frame) if taken => return Ok(frame),
            _ => {}
        }
    }
}
