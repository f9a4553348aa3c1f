//! `run`'s side of a proxy's life: adopt the one that serves or start one, follow a dead one at once with the same sockets
//! and the same snapshot. Dropping the keeper leaves the proxy alive.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fairlead_base::{Backoff, clock};
use fairlead_wire::local::{
    ProxyCommand, ProxyDrain, ProxySnapshot, ProxyStats, SnapshotApplied, proxy_command, proxy_event,
};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::link::{self, Channel};
use super::process::{self, Process};
use super::sockets::takes_ipv4;
use super::{ListenerKind, OwnedListener, ProxyError, Sockets};
use crate::worker::tell;

/// Frames of a minute may wait for a slow reader; more are dropped.
const STATS_WAITING_MAX: usize = 64;
/// From the end of a drain to the end of the process.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// For exchanges in flight of a proxy that can't be spoken to and is replaced.
const FAREWELL: Duration = Duration::from_secs(5);
/// A process whose channel closed because it ended is seen to have ended within this.
const DEATH_TIMEOUT: Duration = Duration::from_millis(200);
/// Statistics come once a second: a proxy that says nothing for so long hangs.
const SILENT_AFTER: Duration = Duration::from_secs(15);
/// A proxy that lived this long did not die of its start.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// How a proxy is started and found.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// The program whose `proxy` subcommand is the proxy.
    pub program: PathBuf,
    /// Where a later `run` finds it.
    pub control_path: PathBuf,
    /// Addresses for HTTPS.
    pub https: Vec<SocketAddr>,
    /// Addresses for plain HTTP, which is redirected.
    pub http: Vec<SocketAddr>,
    /// Cores to serve with.
    pub workers: usize,
}

enum Request {
    Apply(ProxySnapshot, oneshot::Sender<Result<(), String>>),
    Stop(Duration, oneshot::Sender<()>),
}

/// A proxy that is kept alive.
#[derive(Debug)]
pub struct ProxyKeeper {
    requests: mpsc::Sender<Request>,
    pid: Arc<AtomicU32>,
    https: Option<SocketAddr>,
    http: Option<SocketAddr>,
}

impl ProxyKeeper {
    /// Adopts the proxy that serves behind the control socket, or binds the sockets and starts one. Statistics come once a second.
    pub async fn start(options: KeeperOptions) -> Result<(Self, mpsc::Receiver<ProxyStats>), ProxyError> {
        let mut kept = Kept::find(options).await?;
        let (requests, received) = mpsc::channel(16);
        let (stats, receiver) = mpsc::channel(STATS_WAITING_MAX);
        let keeper = Self {
            requests,
            pid: Arc::clone(&kept.pid),
            https: kept.sockets.address(ListenerKind::Https),
            http: kept.sockets.address(ListenerKind::Http),
        };
        tokio::spawn(async move {
            let stopped = kept.keep(received, &stats).await;
            // Whoever waits for the stop may count on closed ports: this process holds the sockets too.
            drop(kept);
            if let Some(stopped) = stopped {
                tell(stopped, ());
            }
        });
        Ok((keeper, receiver))
    }

    /// Makes the proxy serve by `snapshot` (its generation is set here). An error is the reason it was refused for; what was
    /// served before is served on.
    pub async fn apply(&self, snapshot: ProxySnapshot) -> Result<(), String> {
        let (applied, answer) = oneshot::channel();
        let gone = || "the proxy is stopped".to_owned();
        self.requests.send(Request::Apply(snapshot, applied)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Drains the proxy and ends it.
    pub async fn stop(&self, patience: Duration) {
        let (stopped, answer) = oneshot::channel();
        if self.requests.send(Request::Stop(patience, stopped)).await.is_ok() && answer.await.is_err() {
            tracing::warn!("the proxy's keeper ended before the proxy");
        }
    }

    /// The proxy's process; another one after a crash.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// The first HTTPS address, with its port as bound.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https
    }

    /// The first plain address, with its port as bound.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }
}

struct Kept {
    options: KeeperOptions,
    sockets: Sockets,
    channel: Channel,
    process: Process,
    /// `None` for an adopted one, which is nobody's child any more.
    child: Option<Child>,
    pid: Arc<AtomicU32>,
    generation: u64,
    applied: Option<ProxySnapshot>,
    pending: VecDeque<(ProxySnapshot, oneshot::Sender<Result<(), String>>)>,
    started: Instant,
    /// The last event of the proxy.
    heard: Instant,
    reconnected: Option<Instant>,
}

impl Kept {
    async fn find(options: KeeperOptions) -> Result<Self, ProxyError> {
        let mut farewell = FAREWELL;
        match link::adopt(&options.control_path).await {
            Ok(Some((channel, pid, sockets))) if is_wanted(&sockets, &options) => {
                let process = Process::open(pid)?;
                for other in others(&options.control_path).into_iter().filter(|other| other.pid != pid) {
                    tracing::warn!(pid = other.pid, "a second proxy on the same sockets is ended");
                    other.end(FAREWELL).await?;
                }
                tracing::info!(pid, "adopted the proxy that serves");
                return Ok(Self::new(options, sockets, channel, None, process));
            }
            Ok(Some((mut channel, pid, _))) => {
                tracing::info!(pid, "the proxy that serves listens elsewhere and is replaced");
                // It closes the channel when it ends, and only then are its addresses free.
                if link::command(&channel, drain(EXIT_TIMEOUT)).await.is_ok() {
                    while matches!(timeout(2 * EXIT_TIMEOUT, channel.receive()).await, Ok(Ok(Some(_)))) {}
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the proxy that serves can't be adopted and is replaced");
                if matches!(error, ProxyError::Silent) {
                    farewell = Duration::ZERO;
                }
            }
        }
        let sockets = match replace(&options, farewell).await? {
            Some(sockets) => sockets,
            None => Sockets::bind(&options.https, &options.http, options.workers, &options.control_path)?,
        };
        let (channel, child, process) = spawn(&options.program, &sockets).await?;
        Ok(Self::new(options, sockets, channel, Some(child), process))
    }

    fn new(options: KeeperOptions, sockets: Sockets, channel: Channel, child: Option<Child>, process: Process) -> Self {
        Self {
            options,
            sockets,
            channel,
            child,
            pid: Arc::new(AtomicU32::new(process.pid)),
            process,
            // Grows over restarts of `run` too.
            generation: clock::unix_ms(),
            applied: None,
            pending: VecDeque::new(),
            started: Instant::now(),
            heard: Instant::now(),
            reconnected: None,
        }
    }

    /// Runs until it is stopped; what it answers is to be told of it.
    async fn keep(
        &mut self,
        mut requests: mpsc::Receiver<Request>,
        stats: &mpsc::Sender<ProxyStats>,
    ) -> Option<oneshot::Sender<()>> {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
        loop {
            let failed = tokio::select! {
                // What was said before a pause of the whole machine is heard before the pause counts as silence.
                biased;
                event = self.channel.receive() => match event {
                    Ok(Some(event)) => {
                        self.heard = Instant::now();
                        self.event(event.body, stats);
                        false
                    }
                    Ok(None) | Err(_) => true,
                },
                request = requests.recv() => match request {
                    None => return None,
                    Some(Request::Apply(snapshot, answer)) => self.apply(snapshot, answer).await.is_err(),
                    Some(Request::Stop(patience, stopped)) => {
                        self.stop(patience).await;
                        return Some(stopped);
                    }
                },
                () = sleep_until(self.heard + SILENT_AFTER) => {
                    tracing::error!(pid = self.process.pid, "the proxy has been silent for too long");
                    true
                }
            };
            if failed {
                if self.started.elapsed() >= STABLE_AFTER {
                    backoff.reset();
                }
                self.follow(&mut backoff).await;
            }
        }
    }

    async fn apply(
        &mut self,
        mut snapshot: ProxySnapshot,
        answer: oneshot::Sender<Result<(), String>>,
    ) -> Result<(), ProxyError> {
        self.generation += 1;
        snapshot.generation = self.generation;
        let sent = link::command(&self.channel, proxy_command::Body::Snapshot(snapshot.clone())).await;
        self.pending.push_back((snapshot, answer));
        sent
    }

    fn event(&mut self, event: Option<proxy_event::Body>, stats: &mpsc::Sender<ProxyStats>) {
        match event {
            Some(proxy_event::Body::Applied(applied)) => self.applied(&applied),
            Some(proxy_event::Body::Stats(frame)) => {
                let sent = stats.try_send(frame);
                if sent.is_err() {
                    tracing::warn!("a second of statistics was dropped: nobody reads them");
                }
            }
            _ => {}
        }
    }

    fn applied(&mut self, applied: &SnapshotApplied) {
        // The answer to a snapshot that was sent again after a crash has nobody waiting.
        let Some((snapshot, answer)) = self.pending.pop_front_if(|(first, _)| first.generation == applied.generation)
        else {
            return;
        };
        let result = if applied.error.is_empty() {
            self.applied = Some(snapshot);
            Ok(())
        } else {
            Err(applied.error.clone())
        };
        tell(answer, result);
    }

    /// Speaks again to a proxy that only lost its channel; starts one in place of a dead or hung one: same sockets, so nobody
    /// is refused; same snapshot, so nobody is lost.
    async fn follow(&mut self, backoff: &mut Backoff) {
        // A snapshot that killed it must not kill its successor.
        for (_, answer) in self.pending.drain(..) {
            tell(answer, Err("the proxy ended while it took the change; try again".to_owned()));
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
            // Nobody would answer on its socket, which we hold too.
            () = self.process.ended() => Ok(None),
            found = link::adopt(&self.options.control_path) => found,
        };
        let (channel, pid, _) = found?.ok_or(ProxyError::Protocol("the proxy left its control socket"))?;
        if pid != self.process.pid {
            return Err(ProxyError::Protocol("another process answers on the control socket"));
        }
        if let Some(snapshot) = &self.applied {
            link::command(&channel, proxy_command::Body::Snapshot(snapshot.clone())).await?;
        }
        tracing::warn!(pid, "the channel to the proxy broke and was opened again");
        self.channel = channel;
        self.heard = Instant::now();
        self.reconnected = Some(self.heard);
        Ok(())
    }

    async fn restart(&mut self) -> Result<(), ProxyError> {
        self.end_process(Duration::ZERO).await?;
        self.sockets.renew_control(&self.options.control_path)?;
        let (channel, child, process) = spawn(&self.options.program, &self.sockets).await?;
        // From here on it is ours to end, whatever happens next.
        let old = std::mem::replace(&mut self.process, process).pid;
        self.child = Some(child);
        self.channel = channel;
        if let Some(snapshot) = &self.applied {
            link::command(&self.channel, proxy_command::Body::Snapshot(snapshot.clone())).await?;
        }
        tracing::warn!(old, new = self.process.pid, "the proxy ended and was started again");
        self.pid.store(self.process.pid, Ordering::Relaxed);
        self.started = Instant::now();
        self.heard = self.started;
        Ok(())
    }

    /// Makes sure that the old process is gone: two must not serve two snapshots on one port.
    async fn end_process(&mut self, patience: Duration) -> Result<(), ProxyError> {
        self.process.end(patience).await?;
        if let Some(mut child) = self.child.take()
            && let Ok(Err(error)) = timeout(DEATH_TIMEOUT, child.wait()).await
        {
            tracing::warn!(%error, "an old proxy's exit can't be read");
        }
        Ok(())
    }

    async fn stop(&mut self, patience: Duration) {
        let asked = link::command(&self.channel, drain(patience)).await;
        let channel = &mut self.channel;
        // It closes the channel when it ends.
        let ended =
            timeout(patience + EXIT_TIMEOUT, async { while let Ok(Some(_)) = channel.receive().await {} }).await;
        if asked.is_err() || ended.is_err() {
            tracing::warn!("the proxy did not end as asked");
        }
        if let Err(error) = self.end_process(DEATH_TIMEOUT).await {
            tracing::error!(%error, "an old proxy can't be ended");
        }
        if let Err(error) = std::fs::remove_file(&self.options.control_path) {
            tracing::warn!(%error, "the control socket stays behind");
        }
    }
}

fn drain(patience: Duration) -> proxy_command::Body {
    proxy_command::Body::Drain(ProxyDrain { timeout_ms: u32::try_from(patience.as_millis()).unwrap_or(u32::MAX) })
}

/// Processes that listen on the control socket beside this one.
fn others(control_path: &Path) -> Vec<Process> {
    process::listening_on(control_path).unwrap_or_else(|error| {
        tracing::warn!(%error, "can't look for proxies that were left behind");
        Vec::new()
    })
}

/// Ends whatever still listens on the control socket. Its listening sockets are kept, when they are the ones wanted and the
/// system hands them out: then clients only wait.
async fn replace(options: &KeeperOptions, farewell: Duration) -> Result<Option<Sockets>, ProxyError> {
    let others = others(&options.control_path);
    let mut kept = Vec::new();
    for process in &others {
        match process.listening_sockets() {
            Ok(sockets) if kept.is_empty() => kept = sockets,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "an old proxy's sockets can't be kept; its ports are bound anew"),
        }
    }
    for process in &others {
        process.end(farewell).await?;
        tracing::warn!(pid = process.pid, "ended an old proxy");
    }
    if kept.is_empty() {
        return Ok(None);
    }
    let kind = |address| {
        let any = |wanted: &[SocketAddr]| wanted.iter().any(|wanted| fits(options, *wanted, address));
        match (any(&options.https), any(&options.http)) {
            (true, false) => Some(ListenerKind::Https),
            (false, true) => Some(ListenerKind::Http),
            // With ports of the system's choice nobody knows which was which.
            _ => None,
        }
    };
    let sockets = Sockets::recover(kept, kind, &options.control_path)?;
    Ok(is_wanted(&sockets, options).then_some(sockets))
}

/// Whether a listener on `found` is what was wanted; a port of zero is any. Without IPv6 `0.0.0.0` stands for `[::]`.
fn fits(options: &KeeperOptions, wanted: SocketAddr, found: SocketAddr) -> bool {
    let stands_in = || {
        found.is_ipv4() && found.ip().is_unspecified() && takes_ipv4(wanted, options.https.iter().chain(&options.http))
    };
    (wanted.ip() == found.ip() || stands_in()) && (wanted.port() == 0 || wanted.port() == found.port())
}

/// Whether a living proxy listens where it should.
fn is_wanted(sockets: &Sockets, options: &KeeperOptions) -> bool {
    let both = |address| takes_ipv4(address, options.https.iter().chain(&options.http));
    let same = |kind, wanted: &[SocketAddr]| {
        let found = sockets.addresses(kind);
        found.len() == wanted.len()
            && wanted.iter().all(|wanted| found.iter().any(|found| fits(options, *wanted, *found)))
    };
    // Sockets of a former version took IPv6 only.
    let as_wide = |listener: &OwnedListener| !both(listener.address) || listener.takes_ipv4();
    if !sockets.listeners.iter().all(as_wide) {
        return false;
    }
    same(ListenerKind::Https, &options.https) && same(ListenerKind::Http, &options.http)
}

/// Starts a proxy. Its sockets travel over the one that is its standard input, which stays the channel.
async fn spawn(program: &Path, sockets: &Sockets) -> Result<(Channel, Child, Process), ProxyError> {
    let failed = |source| ProxyError::Spawn { program: program.to_path_buf(), source };
    let (near, far) = StdUnixStream::pair().map_err(failed)?;
    near.set_nonblocking(true).map_err(failed)?;
    let mut child = Command::new(program)
        .arg("proxy")
        .stdin(Stdio::from(OwnedFd::from(far)))
        // Ctrl-C in a terminal goes to the whole group of `run`, and must not end what outlives it.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut channel = Channel::new(UnixStream::from_std(near).map_err(failed)?);
    let (listeners, descriptors) = sockets.describe();
    let serve = ProxyCommand { body: Some(proxy_command::Body::Serve(listeners)) };
    let begun = async {
        channel.send(&serve, &descriptors).await?;
        Process::open(link::greet(&mut channel).await?)
    };
    match begun.await {
        Ok(process) => Ok((channel, child, process)),
        Err(error) => {
            // It would serve by nobody's orders.
            child.kill().await.map_err(failed)?;
            Err(error)
        }
    }
}
