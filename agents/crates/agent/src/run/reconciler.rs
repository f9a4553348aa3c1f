//! Event loop of `run`: applies desired state, reports changes and samples every second. Never blocks: long work runs in tasks
//! and returns as events.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::{CancellationToken, Folders, Trash};
use fairlead_bench::{ProxyTarget, Targets};
use fairlead_link::{AcceptedState, PushSender};
use fairlead_model::{
    AgentStatus, AppKey, BenchmarkPlan, BenchmarkScenario, DeploymentId, DesiredState, InstanceId, LogLine,
    StateChange, WorkState, diff,
};
use fairlead_proxy::ProxySupervisor;
use fairlead_runtime::{Runtime, RuntimeView};
use fairlead_tls::LocalAuthority;
use fairlead_wire::ReportParts;
use fairlead_wire::agent;
use fairlead_wire::local::ProxyStats;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::metrics::Metrics;

use super::autoscale_input;
use super::benchmarks::{BenchmarkEvent, Benchmarks, send_event};
use super::builds::{BuildEvent, Builds};
use super::certificate_orders::{CertificateOrders, OrderEvent};
use super::disk::DiskReport;
use super::frame::leave_out_former_releases;
use super::local_state::LocalState;
use super::logs::DeploymentLine;
use super::router::{RouteVariation, ServedTable};
use super::samples::Samples;
use super::volume_tasks::{VolumeTaskEvent, VolumeTasks};

/// Time within which changes are combined into one report.
const REPORT_DELAY: Duration = Duration::from_millis(100);
/// Maximum wait for the proxy's statistics, which set the pace of frames. After it, frames continue without them.
const STATS_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Interval of the route changes of a benchmark.
const ROUTE_CHANGE_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of frames without a proxy.
const FRAME_INTERVAL: Duration = Duration::from_secs(1);

/// Sources of the events that the loop handles.
pub(crate) struct Sources {
    pub(crate) desired: watch::Receiver<AcceptedState>,
    pub(crate) view: watch::Receiver<Arc<RuntimeView>>,
    pub(crate) routed: watch::Receiver<ServedTable>,
    pub(crate) stats: mpsc::Receiver<ProxyStats>,
    pub(crate) wakes: broadcast::Receiver<String>,
    pub(crate) runtime_log: mpsc::Receiver<(DeploymentId, LogLine)>,
    pub(crate) build_events: mpsc::UnboundedReceiver<BuildEvent>,
    pub(crate) benchmark_events: mpsc::UnboundedReceiver<BenchmarkEvent>,
    pub(crate) order_events: mpsc::UnboundedReceiver<OrderEvent>,
    pub(crate) volume_events: mpsc::UnboundedReceiver<VolumeTaskEvent>,
    pub(crate) disk: watch::Receiver<DiskReport>,
    pub(crate) network: watch::Receiver<Option<agent::NetworkStatus>>,
    pub(crate) agent: watch::Receiver<Option<AgentStatus>>,
}

/// State of the event loop and the parts that it controls.
pub(crate) struct Reconciler {
    pub(crate) runtime: Runtime,
    pub(crate) supervisor: Arc<ProxySupervisor>,
    pub(crate) authority: Arc<LocalAuthority>,
    pub(crate) local: LocalState,
    pub(crate) builds: Builds,
    pub(crate) benchmarks: Benchmarks,
    /// Asks the router to send another route table.
    pub(crate) route_variation: Arc<RouteVariation>,
    /// Set during the route changes of a benchmark.
    pub(crate) route_changes: Option<RouteChanges>,
    pub(crate) orders: CertificateOrders,
    pub(crate) volume_tasks: VolumeTasks,
    pub(crate) samples: Samples,
    pub(crate) metrics: Metrics,
    pub(crate) lines: mpsc::Sender<DeploymentLine>,
    pub(crate) pushes: PushSender,
    pub(crate) report: watch::Sender<Option<agent::Report>>,
    /// True while a build, rollout, benchmark or task on a volume runs.
    pub(crate) busy: watch::Sender<bool>,
    /// Desired state that the runtime has; `None` before the first one.
    pub(crate) applied: Option<Arc<DesiredState>>,
    pub(crate) folders: Folders,
    pub(crate) trash: Trash,
}

impl Reconciler {
    /// Runs until `shutdown` or `hand_over`, then cancels builds, benchmarks, orders and tasks on volumes. Apps and the proxy keep running.
    pub(crate) async fn run(mut self, mut from: Sources, shutdown: CancellationToken, hand_over: CancellationToken) {
        self.apply(&mut from);
        let mut proxy_reports = true;
        let mut report_at = Some(Instant::now() + REPORT_DELAY);
        loop {
            let timeout = if proxy_reports { STATS_TIMEOUT } else { FRAME_INTERVAL };
            let frame_at = Instant::from_std(self.samples.last()) + timeout;
            let changed = tokio::select! {
                () = shutdown.cancelled() => break,
                () = hand_over.cancelled() => break,
                Ok(()) = from.desired.changed() => { self.apply(&mut from); true }
                Ok(()) = from.view.changed() => true,
                Ok(()) = from.routed.changed() => { self.start_orders(&from); true }
                Ok(()) = from.disk.changed() => true,
                Ok(()) = from.network.changed() => true,
                Ok(()) = from.agent.changed() => true,
                Some(stats) = from.stats.recv() => {
                    proxy_reports = true;
                    self.count_in_flight(&stats, from.routed.borrow().generation);
                    self.sample(&stats, &from.view);
                    false
                }
                // The proxy repeats a wake that was missed.
                Ok(app) = from.wakes.recv() => {
                    if let Some(key) = autoscale_input::app_key(&app) {
                        self.runtime.wake(key);
                    }
                    false
                }
                Some(line) = from.runtime_log.recv() => { self.log(line); false }
                Some(event) = from.build_events.recv() => {
                    let saved = self.builds.take(event, &mut self.local);
                    self.after_event(saved, &from);
                    true
                }
                Some(event) = from.benchmark_events.recv() => {
                    self.act_on_scenario(&event);
                    let saved = self.benchmarks.take(event, &mut self.local);
                    self.after_event(saved, &from);
                    true
                }
                Some(event) = from.order_events.recv() => {
                    if let Err(error) = self.orders.take(event, &mut self.local) {
                        tracing::error!(%error, "a finished order can't be saved; it would be placed again after a restart");
                    }
                    self.start_orders(&from);
                    true
                }
                Some(event) = from.volume_events.recv() => {
                    let saved = self.volume_tasks.take(event, &mut self.local);
                    self.after_event(saved, &from);
                    true
                }
                () = sleep_until(report_at.unwrap_or(frame_at)), if report_at.is_some() => {
                    report_at = None;
                    self.send_report(&mut from);
                    false
                }
                () = sleep_until(frame_at) => {
                    proxy_reports = false;
                    self.sample(&ProxyStats::default(), &from.view);
                    false
                }
            };
            if changed && report_at.is_none() {
                report_at = Some(Instant::now() + REPORT_DELAY);
            }
        }
        self.benchmarks.stop().await;
        self.builds.stop().await;
        self.orders.stop();
        self.volume_tasks.stop().await;
    }

    fn apply(&mut self, from: &mut Sources) {
        let Some(state) = from.desired.borrow_and_update().state.clone() else { return };
        let change = diff(self.applied.as_deref(), &state);
        if change != StateChange::default() {
            tracing::info!(
                version = %state.version,
                apps_changed = change.apps_changed.len(),
                apps_removed = change.apps_removed.len(),
                routes_changed = change.routes_changed,
                builds_added = change.builds_added.len(),
                benchmarks_added = change.benchmarks_added.len(),
                "applying"
            );
        }
        // Applies also if no app changed: secrets may be sealed anew with the same contents, and the runtime takes the newest.
        self.runtime.apply(state.apps.clone());
        if let Err(error) = self.local.retain(&state) {
            tracing::error!(%error, "local.json can't be saved");
        }
        self.start_work(&state, from);
        self.delete_volumes(&state);
        self.applied = Some(state);
    }

    /// Moves deleted volumes to the trash, which is emptied later. A volume that an app of this state still uses stays: a mistake
    /// must not lose data.
    fn delete_volumes(&self, state: &DesiredState) {
        for volume in &state.deleted_volumes {
            let app = state.apps.get(&volume.key);
            let releases = app
                .into_iter()
                .flat_map(|app| app.live.iter().chain(app.candidate.iter().map(|rollout| &rollout.release)));
            if releases.flat_map(|release| &release.volumes).any(|used| used.name == volume.name) {
                tracing::error!(app = %volume.key, volume = volume.name, "is to be deleted and in use: it stays");
                continue;
            }
            match fairlead_runtime::set_aside_volume(&self.folders, &self.trash, volume) {
                Ok(false) => {}
                Ok(true) => tracing::info!(app = %volume.key, volume = volume.name, "deleted, as its owner asked"),
                Err(error) => tracing::error!(app = %volume.key, volume = volume.name, %error, "can't be deleted"),
            }
        }
    }

    fn start_work(&mut self, state: &DesiredState, from: &Sources) {
        self.builds.reconcile(state, &self.local);
        self.volume_tasks.reconcile(state, &self.local);
        let (supervisor, authority) = (&self.supervisor, &self.authority);
        let targets = |plan: &BenchmarkPlan| targets(plan, &from.view.borrow(), supervisor, authority);
        self.benchmarks.reconcile(state, &self.local, targets);
    }

    /// Starts orders once the proxy serves the state that lists them, because it answers their challenges.
    fn start_orders(&mut self, from: &Sources) {
        let Some(state) = from.desired.borrow().state.clone() else { return };
        if from.routed.borrow().version == state.version {
            self.orders.reconcile(&state, &self.local);
        }
    }

    /// Starts and ends the event of a scenario on this server.
    fn act_on_scenario(&mut self, event: &BenchmarkEvent) {
        match event {
            BenchmarkEvent::Begins(BenchmarkScenario::RouteChange) => {
                self.route_changes = Some(RouteChanges::start(self.route_variation.clone()));
            }
            BenchmarkEvent::Ends | BenchmarkEvent::Finished(_) => self.route_changes = None,
            BenchmarkEvent::Begins(BenchmarkScenario::ProxyUpgrade) => {
                let (supervisor, events) = (self.supervisor.clone(), self.benchmarks.events());
                tokio::spawn(async move {
                    if let Err(error) = supervisor.upgrade().await {
                        tracing::error!(error, "the proxy was not replaced for a benchmark");
                        send_event(&events, BenchmarkEvent::EventFailed(error));
                    }
                });
            }
            _ => {}
        }
    }

    fn after_event(&mut self, saved: std::io::Result<()>, from: &Sources) {
        if let Err(error) = saved {
            tracing::error!(%error, "finished work can't be saved; it would be done again after a restart");
        }
        if let Some(state) = from.desired.borrow().state.clone() {
            self.start_work(&state, from);
        }
    }

    /// Passes in-flight counts of instances to the runtime. Ignores counts of an older table, by which a draining instance may
    /// still receive requests.
    fn count_in_flight(&self, stats: &ProxyStats, generation: u64) {
        if stats.generation < generation {
            return;
        }
        let in_flight = stats
            .instances
            .iter()
            .filter_map(|instance| InstanceId::parse(&instance.instance_id).ok().map(|id| (id, instance.in_flight)));
        self.runtime.in_flight(in_flight.collect());
    }

    fn sample(&mut self, stats: &ProxyStats, view: &watch::Receiver<Arc<RuntimeView>>) {
        self.metrics.add(stats);
        self.metrics.wakes(&view.borrow().wakes);
        let mut frame = self.samples.frame(stats, &view.borrow(), self.supervisor.pid());
        let sides = autoscale_input::canary_traffic(stats);
        if !sides.is_empty() {
            self.runtime.traffic(sides);
        }
        let loads = self.applied.as_ref().map(|state| autoscale_input::loads(state, stats, &frame)).unwrap_or_default();
        if !loads.is_empty() {
            self.runtime.autoscale_input(loads);
        }
        if let Some(state) = &self.applied {
            leave_out_former_releases(&mut frame, state);
        }
        if !self.pushes.frame(frame) {
            tracing::warn!("the disk can't follow; one second of samples is lost");
        }
    }

    fn log(&self, line: DeploymentLine) {
        if let Err(error) = self.lines.try_send(line) {
            tracing::warn!(%error, "a line of a rollout's log is lost");
        }
    }

    fn send_report(&mut self, from: &mut Sources) {
        let desired = from.desired.borrow().clone();
        let (view, routed) = (from.view.borrow().clone(), from.routed.borrow().clone());
        let problem = routed.problem.map(|reason| ("state.apply_failed", reason));
        let mut parts = ReportParts {
            applied: routed.version,
            refused: desired.refused.or(problem),
            instances: self.samples.with_uses(&view.instances),
            rollouts: view.rollouts.clone(),
            agent: from.agent.borrow().clone(),
            network: from.network.borrow().clone(),
            ..ReportParts::default()
        };
        if let Some(state) = &desired.state {
            let is_former = |key: &AppKey| state.apps.get(key).is_some_and(|spec| spec.release_environment.is_some());
            parts.instances.retain(|status| !is_former(&status.key));
            parts.disk = from.disk.borrow().status.clone();
            parts.volumes = from.disk.borrow().volumes.clone();
            parts.builds = self.builds.statuses(state, &self.local);
            parts.benchmarks = self.benchmarks.statuses(state, &self.local);
            parts.volume_tasks = self.volume_tasks.statuses(state, &self.local);
            parts.certificates = self.orders.statuses(state, &self.local);
        }
        let states = parts.builds.iter().map(|build| build.state);
        let states = states.chain(parts.rollouts.iter().map(|rollout| rollout.state));
        let states = states.chain(parts.volume_tasks.iter().map(|task| task.state));
        let mut states = states.chain(parts.benchmarks.iter().map(|benchmark| benchmark.state));
        let busy = states.any(|state| state == WorkState::Running);
        self.busy.send_if_modified(|current| std::mem::replace(current, busy) != busy);
        self.report.send_replace(Some(fairlead_wire::report(parts)));
    }
}

/// Sends other route tables until it is dropped.
pub(crate) struct RouteChanges {
    variation: Arc<RouteVariation>,
    task: JoinHandle<()>,
}

impl RouteChanges {
    fn start(variation: Arc<RouteVariation>) -> Self {
        let toggled = variation.clone();
        let task = tokio::spawn(async move {
            let mut interval = tokio::time::interval(ROUTE_CHANGE_INTERVAL);
            loop {
                interval.tick().await;
                toggled.toggle();
            }
        });
        Self { variation, task }
    }
}

impl Drop for RouteChanges {
    fn drop(&mut self) {
        self.task.abort();
        self.variation.end();
    }
}

fn targets(
    plan: &BenchmarkPlan,
    view: &RuntimeView,
    supervisor: &ProxySupervisor,
    authority: &LocalAuthority,
) -> Targets {
    let upstreams = view.upstreams.get(&plan.key);
    let direct = upstreams.and_then(|list| list.iter().find(|upstream| !upstream.draining));
    let proxy = supervisor.https_address().map(|address| ProxyTarget {
        address: reachable(address),
        roots: vec![authority.root_der().to_vec()],
        pid: Some(supervisor.pid()),
    });
    let processes = view.processes.iter().filter(|process| process.key == plan.key);
    let app_pids = processes.map(|process| process.pid).collect();
    Targets::of_app(proxy, direct.map(|upstream| upstream.address.clone()), app_pids)
}

/// Returns the address at which this machine reaches a listener that listens on all addresses.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_all_addresses_is_reached_over_loopback() {
        assert_eq!(reachable("0.0.0.0:443".parse().unwrap()), "127.0.0.1:443".parse().unwrap());
        assert_eq!(reachable("[::]:443".parse().unwrap()), "[::1]:443".parse().unwrap());
        assert_eq!(reachable("192.0.2.1:443".parse().unwrap()), "192.0.2.1:443".parse().unwrap());
    }
}
