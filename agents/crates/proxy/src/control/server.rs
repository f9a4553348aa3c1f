//! Control server of the proxy: serves commands of one `run` at a time; a new connection replaces the old one.
//! Invariant: without a `run` the proxy continues to serve and to count.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use fairlead_base::{CancellationToken, clock};
use fairlead_tls::{CertificateStore, Tickets};
use fairlead_wire::local::{
    ProxyAppStats, ProxyCommand, ProxyEvent, ProxyHello, ProxyInstanceStats, ProxyLoadBalancingStats,
    ProxyRouteMetrics, ProxyRouteResponses, ProxySideStats, ProxySnapshot, ProxyStats, ProxyWake, SnapshotApplied,
    proxy_command, proxy_event,
};
use fairlead_wire::{LOCAL_PROTOCOL, LocalChannel, local_protocol_accepted};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::access_log::{LogMessage, LogTarget};

use super::{ProxyError, ProxyKeys, ProxySockets};
use crate::core::{AppStats, CoreStats, DrainOptions, RejectCounters, RouteCounters};
use crate::filters::SharedPolicyState;
use crate::health_check::HealthChecks;
use crate::snapshot::Snapshot;
use crate::worker::{CoreCommand, Worker};

/// Maximum time of a send; a `run` that reads nothing for so long counts as gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const STATS_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of routes with metrics of their own in a frame; thousands of domains must not fill it.
const ROUTES_MAX: usize = 64;
/// Drain that a signal (SIGTERM or SIGINT) starts.
const SIGNAL_DRAIN: DrainOptions = DrainOptions { timeout: Duration::from_secs(10), idle_window: Duration::ZERO };

pub(crate) type SupervisorChannel = LocalChannel<ProxyEvent, ProxyCommand>;

/// Result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServeEnd {
    /// All exchanges in flight finished.
    Drained,
    /// Some exchanges took longer than the deadline.
    Cut,
}

/// State of the control loop of one proxy.
pub(crate) struct ControlServer {
    pub(crate) agent_version: String,
    pub(crate) workers: Vec<Worker>,
    pub(crate) health_checks: HealthChecks,
    /// `None` while it drains: a later `run` must find the successor.
    pub(crate) sockets: Option<ProxySockets>,
    pub(crate) access_log: SyncSender<LogMessage>,
    pub(crate) certificates: Arc<CertificateStore>,
    pub(crate) keys: ProxyKeys,
    pub(crate) tickets: Arc<Tickets>,
    /// Generation of the snapshot in use.
    pub(crate) generation: u64,
    pub(crate) channel: Option<SupervisorChannel>,
    /// Counters and secrets of policies, shared by all cores.
    pub(crate) shared: Arc<SharedPolicyState>,
    pub(crate) collected_at: Instant,
    /// Warnings about the snapshot in use.
    pub(crate) warnings: Vec<&'static str>,
    /// Keys of sleeping apps that requests wait for.
    pub(crate) wakes: mpsc::UnboundedReceiver<Box<str>>,
    /// User who started this process; only this user and root may command it.
    pub(crate) owner: u32,
}

impl ControlServer {
    /// Serves until a drain is requested, then drains.
    pub(crate) async fn serve(&mut self, shutdown: &CancellationToken) -> Result<ServeEnd, ProxyError> {
        let order = self.serve_until_drained(shutdown).await?;
        self.drain(order, shutdown).await
    }

    async fn serve_until_drained(&mut self, shutdown: &CancellationToken) -> Result<DrainOptions, ProxyError> {
        let sockets = self.sockets.as_ref().ok_or(ProxyError::Protocol("a proxy that drained has no sockets"))?;
        let control = sockets.control().and_then(UnixListener::from_std);
        let control = control.map_err(ProxyError::system("cannot listen on the control socket"))?;
        self.greet().await;
        let mut ticks = seconds();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return Ok(SIGNAL_DRAIN),
                received = receive(&mut self.channel) => {
                    if let Some(body) = received
                        && let Some(order) = self.command(body).await?
                    {
                        return Ok(order);
                    }
                }
                accepted = control.accept() => match accepted {
                    Ok((stream, _)) if is_from(&stream, self.owner) => {
                        self.channel = Some(SupervisorChannel::new(stream));
                        self.greet().await;
                    }
                    Ok(_) => tracing::warn!("another user's process was refused on the control socket"),
                    Err(error) => {
                        tracing::warn!(%error, "the control socket failed");
                        tokio::time::sleep(STATS_EVERY).await;
                    }
                },
                Some(app) = self.wakes.recv() => self.wake(app).await,
                _ = ticks.tick() => self.report().await?,
            }
        }
    }

    /// Requests the start of a sleeping app. Repeated while requests wait, because no `run` may be connected.
    async fn wake(&mut self, app: Box<str>) {
        self.send(proxy_event::Body::Wake(ProxyWake { app_key: app.into() })).await;
    }

    async fn greet(&mut self) {
        let hello = ProxyHello {
            protocol_version: LOCAL_PROTOCOL,
            agent_version: self.agent_version.clone(),
            pid: std::process::id(),
        };
        self.send(proxy_event::Body::Hello(hello)).await;
    }

    async fn report(&mut self) -> Result<(), ProxyError> {
        if self.workers.iter().any(Worker::is_dead) {
            return Err(ProxyError::CoreEnded);
        }
        if self.channel.is_some() {
            let stats = self.collect().await?;
            self.send(proxy_event::Body::Stats(stats)).await;
        }
        Ok(())
    }

    /// Executes a command; returns the drain options if the command is a drain.
    async fn command(&mut self, body: proxy_command::Body) -> Result<Option<DrainOptions>, ProxyError> {
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
            proxy_command::Body::Drain(drain) => {
                return Ok(Some(DrainOptions {
                    timeout: Duration::from_millis(u64::from(drain.timeout_ms)),
                    idle_window: Duration::from_millis(u64::from(drain.spread_ms)),
                }));
            }
            proxy_command::Body::Keys(keys) => match ProxyKeys::read(&keys) {
                Some(keys) => {
                    self.tickets.swap(&keys.tickets)?;
                    self.keys = keys;
                }
                None => tracing::warn!("keys that can't be used were sent; the ones before are used on"),
            },
            proxy_command::Body::AccessLog(_) => self.take_access_log(),
            proxy_command::Body::Serve(_) => tracing::warn!("sockets were offered to a proxy that has its own"),
        }
        Ok(None)
    }

    /// Logs a warning about the settings, once for as long as it stays the same.
    fn warn(&mut self, snapshot: &Snapshot) {
        let warnings = snapshot.settings.warnings();
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            tracing::warn!("{warning}");
        }
        self.warnings = warnings;
    }

    /// Applies a snapshot on every core, or on none. Its certificates go first, so that no route lacks one.
    async fn apply(&mut self, message: &ProxySnapshot) -> Result<Result<(), String>, ProxyError> {
        let snapshot = match Snapshot::read(message, &self.certificates.current(), &self.shared) {
            Ok(snapshot) => Arc::new(snapshot),
            Err(error) => return Ok(Err(error.to_string())),
        };
        self.certificates.swap(Arc::clone(&snapshot.certificates));
        self.set_access_log(&snapshot);
        self.warn(&snapshot);
        self.ask(|applied| CoreCommand::Apply(Arc::clone(&snapshot), applied)).await?;
        self.health_checks.set(&snapshot);
        self.generation = snapshot.generation;
        tracing::debug!(generation = snapshot.generation, "a snapshot is in use");
        Ok(Ok(()))
    }

    fn set_access_log(&self, snapshot: &Snapshot) {
        let settings = snapshot.settings.access_log.clone();
        let file = LogTarget { path: Arc::clone(&snapshot.access_log_path), settings };
        // A hung disk must not block the control loop: the writer keeps its settings.
        if self.access_log.try_send(LogMessage::Set(file)).is_err() {
            tracing::warn!("the access log does not keep up; its settings stay as they were");
        }
    }

    fn take_access_log(&mut self) {
        let passed = self.channel.as_mut().and_then(|channel| channel.take_descriptors(1).pop());
        let file = passed.ok_or("no file came with it").map(File::from);
        let sent =
            file.and_then(|file| self.access_log.try_send(LogMessage::File(file)).map_err(|_| "it does not keep up"));
        if let Err(reason) = sent {
            tracing::warn!(reason, "the access log stays in the file that it has");
        }
    }

    /// Sends a command to all cores at once, then waits for all answers.
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
        Ok(ProxyStats { generation: self.generation, ..sum(cores, duration) })
    }

    async fn hand_over(&mut self) {
        let (Some(channel), Some(sockets)) = (&self.channel, &self.sockets) else { return };
        let (listeners, descriptors) = sockets.describe(&self.keys);
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
            // A half-sent message makes the channel useless; a live `run` connects again.
            self.channel = None;
        }
    }

    /// Waits for the exchanges in flight until the deadline. Still reports and obeys commands: requests may still
    /// arrive on keep-alive connections and must be routed by the latest snapshot.
    async fn drain(&mut self, order: DrainOptions, shutdown: &CancellationToken) -> Result<ServeEnd, ProxyError> {
        self.sockets = None;
        let mut ticks = seconds();
        let mut signalled = shutdown.is_cancelled();
        let mut order = order;
        let end = 'orders: loop {
            tracing::info!(timeout_ms = order.timeout.as_millis(), "draining");
            let deadline = tokio::time::Instant::now() + order.timeout;
            let mut drained = Box::pin(self.begin_drain(order)?);
            loop {
                tokio::select! {
                    ended = &mut drained => {
                        ended?;
                        break 'orders ServeEnd::Drained;
                    }
                    () = sleep_until(deadline) => break 'orders ServeEnd::Cut,
                    () = shutdown.cancelled(), if !signalled => {
                        signalled = true;
                        order = SIGNAL_DRAIN;
                        continue 'orders;
                    }
                    received = receive(&mut self.channel) => {
                        if let Some(body) = received
                            && let Some(new) = self.command(body).await?
                        {
                            order = new;
                            continue 'orders;
                        }
                    }
                    Some(app) = self.wakes.recv() => self.wake(app).await,
                    _ = ticks.tick() => self.report().await?,
                }
            }
        };
        // Reports the counts since the last second.
        self.report().await?;
        Ok(end)
    }

    /// Starts the drain on all cores; the future completes when their last connections have ended.
    fn begin_drain(
        &self,
        order: DrainOptions,
    ) -> Result<impl Future<Output = Result<(), ProxyError>> + Send + use<>, ProxyError> {
        let mut answers = Vec::with_capacity(self.workers.len());
        for worker in &self.workers {
            let (answer, answered) = oneshot::channel();
            worker.commands.send(CoreCommand::Drain(order, answer)).map_err(|_| ProxyError::CoreEnded)?;
            answers.push(answered);
        }
        Ok(async move {
            for answer in answers {
                answer.await.map_err(|_| ProxyError::CoreEnded)?;
            }
            Ok(())
        })
    }
}

/// Returns a ticker aligned to seconds of the wall clock, so that frames of many servers line up in charts.
fn seconds() -> Interval {
    let into_second = Duration::from_millis(clock::unix_ms() % 1000);
    let mut ticks = interval_at(tokio::time::Instant::now() + (STATS_EVERY - into_second), STATS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Returns the next command; pending without a `run`, and `None` if it has just disconnected.
async fn receive(channel: &mut Option<SupervisorChannel>) -> Option<proxy_command::Body> {
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

/// True if the peer is `owner` or root. Not even the process of another proxy may command this one, whatever the
/// permissions of the folder are.
fn is_from(stream: &UnixStream, owner: u32) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == owner || peer.uid() == 0)
}

fn sum(cores: Vec<CoreStats>, duration: Duration) -> ProxyStats {
    let mut apps: BTreeMap<Box<str>, AppStats> = BTreeMap::new();
    let mut rejected: BTreeMap<Box<str>, RejectCounters> = BTreeMap::new();
    let mut route_metrics = CountersByRoute::new();
    let mut sides: BTreeMap<Box<str>, RouteCounters> = BTreeMap::new();
    let mut instances: BTreeMap<Box<str>, u32> = BTreeMap::new();
    let mut stats = ProxyStats {
        duration_ms: saturate(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        ..ProxyStats::default()
    };
    for core in cores {
        stats.open_connections += core.open_connections;
        stats.malformed_requests += core.malformed_requests;
        stats.access_log_dropped += core.access_log_dropped;
        stats.accept_pauses += core.accept_pauses;
        stats.rejected_connections += core.rejected_connections;
        stats.panics += core.panics;
        for app in core.apps.into_iter().filter(|app| app.measured) {
            match apps.entry(app.key.clone()) {
                Entry::Occupied(mut known) => known.get_mut().merge(&app),
                Entry::Vacant(new) => drop(new.insert(app)),
            }
        }
        for (route, counters) in core.rejected {
            rejected.entry(route).or_default().merge(&counters);
        }
        for route in core.route_metrics {
            route_metrics.entry((route.app, route.route)).or_default().merge(&route.numbers);
        }
        for side in core.sides {
            sides.entry(side.app).or_default().merge(&side.numbers);
        }
        for (instance, in_flight) in core.instances {
            *instances.entry(instance).or_default() += in_flight;
        }
    }
    stats.apps = apps.into_values().map(app_stats).collect();
    stats.route_responses = rejected.into_iter().map(|(route, counters)| route_responses(route, &counters)).collect();
    let instance = |(id, in_flight): (Box<str>, u32)| ProxyInstanceStats { instance_id: id.into(), in_flight };
    stats.route_metrics = busiest_routes(route_metrics)
        .map(|((app, route), numbers)| route_metrics_message(app, &route, &numbers))
        .collect();
    stats.instances = instances.into_iter().map(instance).collect();
    stats.sides = sides.into_iter().map(|(side, numbers)| side_stats(side, &numbers)).collect();
    stats
}

fn app_stats(app: AppStats) -> ProxyAppStats {
    let numbers = &app.numbers;
    let (latency_index, latency_count) = numbers.latency.sparse().unzip();
    let load_balancing = ProxyLoadBalancingStats {
        queued: saturate(numbers.queued),
        queue_timeouts: saturate(numbers.queue_timeouts),
        queue_full: saturate(numbers.queue_full),
        load_shed: saturate(numbers.load_shed),
        retries: saturate(numbers.retries),
        ejections: saturate(numbers.ejections),
        queue_length: app.queue_length,
        ejected: app.ejected,
        unhealthy: app.unhealthy,
    };
    ProxyAppStats {
        requests: saturate(numbers.requests),
        errors: saturate(numbers.errors),
        client_errors: saturate(numbers.client_errors),
        latency_index,
        latency_count,
        latency_sum_us: numbers.latency.sum_us(),
        bytes_received: numbers.bytes_received,
        bytes_sent: numbers.bytes_sent,
        in_flight: app.in_flight,
        load_balancing: Some(load_balancing),
        app_key: app.key.into(),
    }
}

fn route_responses(route: Box<str>, counters: &RejectCounters) -> ProxyRouteResponses {
    let counts = counters.by_reason().into_iter().map(|(reason, count)| (reason.to_owned(), saturate(count)));
    ProxyRouteResponses { route: route.into(), counts: counts.collect() }
}

/// Key of route metrics: an app and one of its routes.
type AppRoute = (Box<str>, Arc<str>);
type CountersByRoute = BTreeMap<AppRoute, RouteCounters>;

/// Returns the metrics for a frame: the busiest routes, and the sum of the others of each app under an empty route.
fn busiest_routes(mut route_metrics: CountersByRoute) -> impl Iterator<Item = (AppRoute, RouteCounters)> {
    if route_metrics.len() > ROUTES_MAX {
        let mut order: Vec<(u64, AppRoute)> =
            route_metrics.iter().map(|(key, numbers)| (numbers.requests, key.clone())).collect();
        order.sort_unstable_by(|one, other| other.cmp(one));
        for (_, key) in order.drain(ROUTES_MAX..) {
            if let Some(numbers) = route_metrics.remove(&key) {
                route_metrics.entry((key.0, Arc::from(""))).or_default().merge(&numbers);
            }
        }
    }
    route_metrics.into_iter()
}

fn route_metrics_message(app_key: Box<str>, route: &str, numbers: &RouteCounters) -> ProxyRouteMetrics {
    let (latency_index, latency_count) = numbers.latency.sparse().unzip();
    ProxyRouteMetrics {
        app_key: app_key.into(),
        route: route.to_owned(),
        requests: saturate(numbers.requests),
        errors: saturate(numbers.errors),
        client_errors: saturate(numbers.client_errors),
        latency_index,
        latency_count,
        latency_sum_us: numbers.latency.sum_us(),
    }
}

fn side_stats(side: Box<str>, numbers: &RouteCounters) -> ProxySideStats {
    let (latency_index, latency_count) = numbers.latency.sparse().unzip();
    ProxySideStats {
        side: side.into(),
        requests: saturate(numbers.requests),
        errors: saturate(numbers.errors),
        latency_index,
        latency_count,
        latency_sum_us: numbers.latency.sum_us(),
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_routes_are_reported_and_the_others_are_summed() {
        let numbers = |requests| RouteCounters { requests, ..RouteCounters::default() };
        let route =
            |number: u64| (Box::from(if number.is_multiple_of(2) { "even" } else { "odd" }), format!("{number}.test/"));
        let route_metrics: CountersByRoute = (1..=200)
            .map(|number| {
                let (app, route) = route(number);
                ((app, route.into()), numbers(number))
            })
            .collect();
        let reported: Vec<_> = busiest_routes(route_metrics).collect();
        assert_eq!(reported.len(), ROUTES_MAX + 2);
        assert_eq!(reported.iter().map(|(_, numbers)| numbers.requests).sum::<u64>(), (1..=200).sum::<u64>());
        let rest =
            |app: &str| reported.iter().find(|((of, route), _)| &**of == app && route.is_empty()).unwrap().1.requests;
        assert_eq!(rest("even"), (1..=136).filter(|number: &u64| number.is_multiple_of(2)).sum::<u64>());
        assert!(reported.iter().any(|((app, route), _)| &**app == "even" && &**route == "138.test/"));
        assert!(!reported.iter().any(|((_, route), _)| &**route == "136.test/"));
        let few: CountersByRoute = BTreeMap::from([(("a".into(), "a.test/".into()), numbers(1))]);
        assert_eq!(busiest_routes(few).count(), 1);
    }
}
