//! The proxy's end of the channel: one `run` at a time, the latest wins. Without one the proxy serves on and goes on counting.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_base::{CancellationToken, clock};
use fairlead_tls::CertificateStore;
use fairlead_wire::local::{
    ProxyAppStats, ProxyCommand, ProxyEvent, ProxyHello, ProxyInstanceStats, ProxySnapshot, ProxyStats,
    SnapshotApplied, proxy_command, proxy_event,
};
use fairlead_wire::{LOCAL_PROTOCOL, LocalChannel, local_protocol_accepted};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval_at, timeout};

use super::{ProxyError, Sockets};
use crate::core::{AppNumbers, CoreStats};
use crate::snapshot::Snapshot;
use crate::worker::{CoreCommand, Worker};

/// A `run` that takes nothing for so long is as good as gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const STATS_EVERY: Duration = Duration::from_secs(1);
/// For exchanges in flight when the proxy is told to end by a signal.
const SIGNAL_DRAIN: Duration = Duration::from_secs(10);

pub(crate) type Channel = LocalChannel<ProxyEvent, ProxyCommand>;

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServeEnd {
    /// Everything in flight was finished.
    Drained,
    /// Some exchanges took longer than the deadline.
    Cut,
}

/// The control loop of one proxy.
pub(crate) struct ControlServer {
    pub(crate) agent_version: String,
    pub(crate) workers: Vec<Worker>,
    pub(crate) sockets: Sockets,
    pub(crate) certificates: Arc<CertificateStore>,
    pub(crate) channel: Option<Channel>,
    pub(crate) collected_at: Instant,
}

impl ControlServer {
    /// Serves until it is told to drain.
    pub(crate) async fn serve(&mut self, shutdown: &CancellationToken) -> Result<ServeEnd, ProxyError> {
        let control = self.sockets.control().and_then(UnixListener::from_std);
        let control = control.map_err(ProxyError::system("cannot listen on the control socket"))?;
        self.greet().await;
        // Near the wall clock's seconds, so that frames of many servers line up in charts.
        let into_second = Duration::from_millis(clock::unix_ms() % 1000);
        let mut ticks = interval_at(tokio::time::Instant::now() + (STATS_EVERY - into_second), STATS_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return self.drain(SIGNAL_DRAIN).await,
                received = receive(&mut self.channel) => {
                    if let Some(body) = received
                        && let Some(patience) = self.command(body).await?
                    {
                        return self.drain(patience).await;
                    }
                }
                accepted = control.accept() => match accepted {
                    Ok((stream, _)) if is_ours(&stream) => {
                        self.channel = Some(Channel::new(stream));
                        self.greet().await;
                    }
                    Ok(_) => tracing::warn!("another user's process was refused on the control socket"),
                    Err(error) => {
                        tracing::warn!(%error, "the control socket failed");
                        tokio::time::sleep(STATS_EVERY).await;
                    }
                },
                _ = ticks.tick() => {
                    if self.workers.iter().any(Worker::is_dead) {
                        return Err(ProxyError::CoreEnded);
                    }
                    if self.channel.is_some() {
                        let stats = self.collect().await?;
                        self.send(proxy_event::Body::Stats(stats)).await;
                    }
                }
            }
        }
    }

    async fn greet(&mut self) {
        let hello = ProxyHello {
            protocol_version: LOCAL_PROTOCOL,
            agent_version: self.agent_version.clone(),
            pid: std::process::id(),
        };
        self.send(proxy_event::Body::Hello(hello)).await;
    }

    /// Does what is asked; tells for how long to drain when that is it.
    async fn command(&mut self, body: proxy_command::Body) -> Result<Option<Duration>, ProxyError> {
        match body {
            proxy_command::Body::Hello(hello) if !local_protocol_accepted(hello.protocol_version) => {
                tracing::warn!(version = hello.protocol_version, "an agent of an unknown version was refused");
                self.channel = None;
            }
            proxy_command::Body::Hello(_) => {}
            proxy_command::Body::Snapshot(snapshot) => {
                let generation = snapshot.generation;
                let error = match self.apply(&snapshot).await? {
                    Ok(()) => String::new(),
                    Err(reason) => {
                        tracing::warn!(generation, reason, "a snapshot was refused; the one before serves on");
                        reason
                    }
                };
                self.send(proxy_event::Body::Applied(SnapshotApplied { generation, error })).await;
            }
            proxy_command::Body::TakeListeners(_) => self.hand_over().await,
            proxy_command::Body::Drain(drain) => return Ok(Some(Duration::from_millis(u64::from(drain.timeout_ms)))),
            proxy_command::Body::Serve(_) => tracing::warn!("sockets were offered to a proxy that has its own"),
        }
        Ok(None)
    }

    /// Takes a snapshot into use on every core, or on none. Its certificates go first: a route must not lack one.
    async fn apply(&self, message: &ProxySnapshot) -> Result<Result<(), String>, ProxyError> {
        let snapshot = match Snapshot::read(message, &self.certificates.current()) {
            Ok(snapshot) => Arc::new(snapshot),
            Err(error) => return Ok(Err(error.to_string())),
        };
        self.certificates.swap(Arc::clone(&snapshot.certificates));
        self.ask(|applied| CoreCommand::Apply(Arc::clone(&snapshot), applied)).await?;
        tracing::debug!(generation = snapshot.generation, "a snapshot is in use");
        Ok(Ok(()))
    }

    /// Asks all cores at once, then waits for all.
    async fn ask<T>(&self, command: impl Fn(oneshot::Sender<T>) -> CoreCommand) -> Result<Vec<T>, ProxyError> {
        let mut answers = Vec::with_capacity(self.workers.len());
        for worker in &self.workers {
            let (answer, answered) = oneshot::channel();
            worker.commands.send(command(answer)).map_err(|_| ProxyError::CoreEnded)?;
            answers.push(answered);
        }
        let mut received = Vec::with_capacity(answers.len());
        for answer in answers {
            received.push(answer.await.map_err(|_| ProxyError::CoreEnded)?);
        }
        Ok(received)
    }

    async fn collect(&mut self) -> Result<ProxyStats, ProxyError> {
        let cores = self.ask(CoreCommand::Collect).await?;
        let duration = self.collected_at.elapsed();
        self.collected_at = Instant::now();
        Ok(sum(cores, duration))
    }

    async fn hand_over(&mut self) {
        let Some(channel) = &self.channel else { return };
        let (listeners, descriptors) = self.sockets.describe();
        let event = ProxyEvent { body: Some(proxy_event::Body::Listeners(listeners)) };
        let sent = timeout(SEND_TIMEOUT, channel.send(&event, &descriptors)).await;
        if !matches!(sent, Ok(Ok(()))) {
            self.channel = None;
        }
    }

    async fn send(&mut self, body: proxy_event::Body) {
        let Some(channel) = &self.channel else { return };
        let sent = timeout(SEND_TIMEOUT, channel.send(&ProxyEvent { body: Some(body) }, &[])).await;
        if !matches!(sent, Ok(Ok(()))) {
            // A half-sent message makes the channel useless; a `run` that lives connects again.
            self.channel = None;
        }
    }

    async fn drain(&mut self, patience: Duration) -> Result<ServeEnd, ProxyError> {
        tracing::info!(patience_ms = patience.as_millis(), "draining");
        match timeout(patience, self.ask(CoreCommand::Drain)).await {
            Ok(drained) => drained.map(|_| ServeEnd::Drained),
            Err(_) => Ok(ServeEnd::Cut),
        }
    }
}

/// The next command; never without a `run`, and `None` when it has just gone.
async fn receive(channel: &mut Option<Channel>) -> Option<proxy_command::Body> {
    let Some(open) = channel else { return std::future::pending().await };
    match open.receive().await {
        Ok(Some(command)) => command.body,
        Ok(None) => {
            tracing::info!("run is gone; serving on");
            *channel = None;
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the channel to run broke; serving on");
            *channel = None;
            None
        }
    }
}

/// Only this user and root may command a proxy, whatever the socket's folder lets in.
fn is_ours(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

fn sum(cores: Vec<CoreStats>, duration: Duration) -> ProxyStats {
    let mut apps: BTreeMap<Box<str>, (AppNumbers, u32)> = BTreeMap::new();
    let mut instances: BTreeMap<Box<str>, u32> = BTreeMap::new();
    let mut stats = ProxyStats {
        duration_ms: saturate(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        ..ProxyStats::default()
    };
    for core in cores {
        stats.open_connections += core.open_connections;
        stats.malformed_requests += core.malformed_requests;
        for app in core.apps.into_iter().filter(|app| app.measured) {
            let (numbers, in_flight) = apps.entry(app.key).or_default();
            numbers.merge(&app.numbers);
            *in_flight += app.in_flight;
        }
        for (instance, in_flight) in core.instances {
            *instances.entry(instance).or_default() += in_flight;
        }
    }
    stats.apps = apps.into_iter().map(|(key, (numbers, in_flight))| app_stats(&key, &numbers, in_flight)).collect();
    let instance = |(id, in_flight): (Box<str>, u32)| ProxyInstanceStats { instance_id: id.into(), in_flight };
    stats.instances = instances.into_iter().map(instance).collect();
    stats
}

fn app_stats(key: &str, numbers: &AppNumbers, in_flight: u32) -> ProxyAppStats {
    let (latency_index, latency_count) = numbers.latency.sparse().unzip();
    ProxyAppStats {
        app_key: key.to_owned(),
        requests: saturate(numbers.requests),
        errors: saturate(numbers.errors),
        client_errors: saturate(numbers.client_errors),
        latency_index,
        latency_count,
        latency_sum_us: numbers.latency.sum_us(),
        bytes_received: numbers.bytes_received,
        bytes_sent: numbers.bytes_sent,
        in_flight,
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
