//! Runs the benchmarks of desired state one at a time, each once. After a restart of the agent, a run continues after its
//! last measured row. Owns their queue and their status reports.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_bench::{
    BenchError, MeasurementTurns, PartPlace, RunObserver, Targets, resume_plan, rows_measurable, rows_total, run_gate,
    run_part,
};
use fairlead_lab::{Lab, LabCopy, LabError, LabSetup};
use fairlead_model::{
    AppKey, BenchmarkGate, BenchmarkPlan, BenchmarkProgram, BenchmarkRow, BenchmarkScenario, BenchmarkStatus,
    BenchmarkTarget, DesiredState, Failure, GateProgress, LabApp, RowOrder, RunId, UpstreamAddress, WorkState,
};
use fairlead_runtime::{MeasureGate, Runtime, RuntimeView};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::local_state::LocalState;
use super::router::ServedTable;

/// Time in which an app drains and stops.
const SLEEP_TIMEOUT: Duration = Duration::from_secs(60);
/// Time without the control plane after which a part of a distributed run ends, because a cancel can't reach this server.
/// Only a verified desired state ends this time: a gateway can open a session without the control plane, and then no cancel
/// arrives. The control plane fails the run after 15 seconds; a lost connection normally comes back sooner.
const DISCONNECTED_MAX: Duration = Duration::from_secs(30);

/// Event of the running benchmark.
#[derive(Debug)]
pub(crate) enum BenchmarkEvent {
    /// The lab has started its programs, or failed to. The number is that of the rows that can be measured.
    Programs(Vec<BenchmarkProgram>, u32),
    /// Number of rows of a distributed run for which this server is ready.
    Ready(u32),
    /// A row was measured.
    Row(Box<BenchmarkRow>),
    /// The second phase of a scenario begins.
    Begins(BenchmarkScenario),
    /// The second phase of a scenario is over.
    Ends,
    /// The event of the running scenario failed.
    EventFailed(String),
    /// The run ended, with its rows or its error.
    Finished(Result<Vec<BenchmarkRow>, BenchError>),
}

#[derive(Debug)]
struct RunningBenchmark {
    status: BenchmarkStatus,
    cancel: CancellationToken,
    /// Reason that cancelled it, if that was no person.
    fault: Option<BenchError>,
    /// Current row of a distributed run.
    orders: watch::Sender<RowOrder>,
    task: JoinHandle<()>,
}

impl RunningBenchmark {
    /// Saves the progress. That of a cancelled run is gone.
    fn save(&self, local: &mut LocalState) -> io::Result<()> {
        if self.cancel.is_cancelled() { Ok(()) } else { local.save_benchmark(self.status.clone()) }
    }
}

/// Queue of benchmark runs; at most one runs at a time.
#[derive(Debug)]
pub(crate) struct Benchmarks {
    running: Option<RunningBenchmark>,
    turns: MeasurementTurns,
    events: mpsc::UnboundedSender<BenchmarkEvent>,
    lab: LabSetup,
    sleeper: AppSleeper,
    /// True while the open session has verified a desired state.
    state_verified: watch::Receiver<bool>,
}

/// Puts apps to sleep for the scenario wake.
#[derive(Debug, Clone)]
pub(crate) struct AppSleeper {
    pub(crate) runtime: Runtime,
    pub(crate) view: watch::Receiver<Arc<RuntimeView>>,
    pub(crate) routed: watch::Receiver<ServedTable>,
}

impl AppSleeper {
    /// Waits until the app has no instance and the proxy has a table without one. The error is a sentence.
    async fn sleep(&mut self, key: &AppKey) -> Result<(), String> {
        if !self.runtime.sleep(key.clone()).await {
            return Err("the app can't sleep: its minimum of instances must be 0".to_owned());
        }
        let is_asleep = |view: &Arc<RuntimeView>| view.upstreams.get(key).is_none_or(Vec::is_empty);
        let slept = async {
            let generation = self.view.wait_for(is_asleep).await?.generation;
            self.routed.wait_for(|routed| routed.generation >= generation).await.map(drop)
        };
        match timeout(SLEEP_TIMEOUT, slept).await {
            Ok(slept) => slept.map_err(|_| "the agent is stopping".to_owned()),
            Err(_) => Err(format!("the app did not sleep within {} s", SLEEP_TIMEOUT.as_secs())),
        }
    }
}

impl Benchmarks {
    /// Creates an idle queue and the receiver of the events of its runs.
    pub(crate) fn new(
        turns: MeasurementTurns,
        lab: LabSetup,
        sleeper: AppSleeper,
        state_verified: watch::Receiver<bool>,
    ) -> (Self, mpsc::UnboundedReceiver<BenchmarkEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { running: None, turns, events, lab, sleeper, state_verified }, receiver)
    }

    /// Cancels a run that desired state no longer lists and starts the next one. `targets` returns the current addresses of an
    /// app.
    pub(crate) fn reconcile(
        &mut self,
        desired: &DesiredState,
        local: &LocalState,
        targets: impl Fn(&BenchmarkPlan) -> Targets,
    ) {
        if let Some(running) = &self.running {
            match desired.benchmarks.iter().find(|plan| plan.run == running.status.run) {
                None => running.cancel.cancel(),
                Some(plan) => {
                    let order = order_of(plan);
                    running.orders.send_if_modified(|current| std::mem::replace(current, order) != order);
                }
            }
            return;
        }
        if let Some(plan) = desired.benchmarks.iter().find(|plan| local.benchmark(&plan.run).is_none()) {
            let progress = local.benchmark_progress(&plan.run).cloned();
            let mut status = progress.unwrap_or_else(|| started(plan.run.clone(), rows_total(plan)));
            let targets = targets(plan);
            if plan.part.is_some() {
                let proxy = targets.endpoints.get(&BenchmarkTarget::Proxy).and_then(|proxy| proxy.https);
                status.https_port = proxy.map_or(0, |address| address.port());
                // After a restart it has to connect again.
                status.rows_ready = u32::try_from(status.rows.len()).unwrap_or(u32::MAX);
            }
            self.running = Some(self.start(plan.clone(), targets, status));
        }
    }

    /// Applies one event. Invariant: the outcome is on disk before it is reported.
    pub(crate) fn take(&mut self, event: BenchmarkEvent, local: &mut LocalState) -> io::Result<()> {
        match event {
            BenchmarkEvent::Row(row) => {
                let Some(running) = &mut self.running else { return Ok(()) };
                running.status.rows.push(*row);
                running.save(local)
            }
            BenchmarkEvent::Ready(rows) => {
                if let Some(running) = &mut self.running {
                    running.status.rows_ready = rows;
                }
                Ok(())
            }
            BenchmarkEvent::Programs(programs, rows_total) => {
                if let Some(running) = &mut self.running {
                    (running.status.programs, running.status.rows_total) = (programs, rows_total);
                }
                Ok(())
            }
            BenchmarkEvent::Begins(BenchmarkScenario::Deploy) => {
                let Some(running) = &mut self.running else { return Ok(()) };
                // A restarted agent repeats the phase with its event, so this counts again.
                running.status.events_due += 1;
                running.save(local)
            }
            BenchmarkEvent::Begins(_) => Ok(()),
            BenchmarkEvent::Ends => Ok(()),
            BenchmarkEvent::EventFailed(reason) => {
                if let Some(running) = &mut self.running {
                    running.fault = Some(BenchError::Event(reason));
                    running.cancel.cancel();
                }
                Ok(())
            }
            BenchmarkEvent::Finished(outcome) => {
                let Some(finished) = self.running.take() else { return Ok(()) };
                let outcome = match finished.fault {
                    Some(fault) => Err(fault),
                    None if finished.cancel.is_cancelled() => return Ok(()),
                    None => outcome,
                };
                local.save_benchmark(concluded(finished.status, outcome))
            }
        }
    }

    /// Returns the status of every run in desired state. A queued run counts as running, without rows.
    pub(crate) fn statuses(&self, desired: &DesiredState, local: &LocalState) -> Vec<BenchmarkStatus> {
        let status = |plan: &BenchmarkPlan| match (&self.running, local.benchmark(&plan.run)) {
            (_, Some(finished)) => finished.clone(),
            (Some(running), None) if running.status.run == plan.run => running.status.clone(),
            (_, None) => {
                let progress = local.benchmark_progress(&plan.run).cloned();
                progress.unwrap_or_else(|| started(plan.run.clone(), rows_total(plan)))
            }
        };
        desired.benchmarks.iter().map(status).collect()
    }

    /// Returns a sender for what happens outside a run.
    pub(crate) fn events(&self) -> mpsc::UnboundedSender<BenchmarkEvent> {
        self.events.clone()
    }

    /// Stops the running benchmark. A restarted agent continues after its last row.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.cancel.cancel();
            if let Err(error) = running.task.await {
                tracing::error!(%error, "the benchmark under way did not end in order");
            }
        }
    }

    fn start(&self, plan: BenchmarkPlan, targets: Targets, status: BenchmarkStatus) -> RunningBenchmark {
        let done = status.rows.clone();
        let cancel = CancellationToken::new();
        let (orders, next_order) = watch::channel(order_of(&plan));
        let (events, token) = (self.events.clone(), cancel.clone());
        let (setup, turns, sleeper) = (self.lab.clone(), self.turns.clone(), self.sleeper.clone());
        let state_verified = self.state_verified.clone();
        let task = tokio::spawn(async move {
            let mut reporter = Reporter { events: events.clone(), key: plan.key.clone(), sleeper };
            let outcome = match (plan.lab, &plan.part) {
                (None, None) => resume_plan(&plan, &targets, done, &turns, token, &mut reporter).await,
                (_, Some(part)) => {
                    let place = PartPlace { plan: &plan, part, local: &targets };
                    let stop = token.child_token();
                    let run = run_part(place, done, next_order, &turns, stop.clone(), &mut reporter);
                    let lost = disconnected(state_verified);
                    run_until(run, lost, &stop).await.unwrap_or_else(|()| {
                        Err(BenchError::Part(format!(
                            "It had no verified connection to the control plane for {} s",
                            DISCONNECTED_MAX.as_secs()
                        )))
                    })
                }
                (Some(app), None) => {
                    let run = LabRun { setup: &setup, plan: &plan, app, events: &events, turns: &turns };
                    run.measure(done, token, &mut reporter).await
                }
            };
            send_event(&events, BenchmarkEvent::Finished(outcome));
        });
        RunningBenchmark { status, cancel, fault: None, orders, task }
    }
}

/// Run of a plan in the lab.
struct LabRun<'a> {
    setup: &'a LabSetup,
    plan: &'a BenchmarkPlan,
    app: LabApp,
    events: &'a mpsc::UnboundedSender<BenchmarkEvent>,
    turns: &'a MeasurementTurns,
}

impl LabRun<'_> {
    /// Measures the plan, in front of a copy of the app's live release if it names one. Removes the copy afterwards.
    async fn measure(
        &self,
        done: Vec<BenchmarkRow>,
        cancel: CancellationToken,
        reporter: &mut Reporter,
    ) -> Result<Vec<BenchmarkRow>, BenchError> {
        let Some(release) = &self.plan.lab_release else {
            return self.measure_in_lab(None, done, cancel, reporter).await;
        };
        let copy = tokio::select! {
            copy = reporter.sleeper.runtime.start_copy(self.plan.key.clone(), release.clone()) => copy,
            () = cancel.cancelled() => return Err(BenchError::Cancelled),
        };
        let copy = copy.map_err(BenchError::Copy)?;
        let upstream = LabCopy { address: copy.address, pid: copy.pid, network: copy.network.clone() };
        let stop = cancel.child_token();
        let run = self.measure_in_lab(Some(upstream), done, stop.clone(), reporter);
        let outcome = run_until(run, copy.ended(), &stop).await;
        copy.stop().await;
        outcome.unwrap_or_else(|end| Err(BenchError::Copy(end)))
    }

    async fn measure_in_lab(
        &self,
        copy: Option<LabCopy>,
        done: Vec<BenchmarkRow>,
        cancel: CancellationToken,
        reporter: &mut Reporter,
    ) -> Result<Vec<BenchmarkRow>, BenchError> {
        let lab = match Lab::start(self.setup, self.plan, self.app, copy, &cancel).await {
            Ok(lab) => lab,
            Err(LabError::Cancelled) => return Err(BenchError::Cancelled),
            Err(error @ (LabError::Link(_) | LabError::NotInstalled(_))) => {
                return Err(BenchError::Refused(error.to_string()));
            }
            Err(error) => return Err(BenchError::Lab(error.to_string())),
        };
        let rows = rows_measurable(self.plan, &lab.targets);
        send_event(self.events, BenchmarkEvent::Programs(lab.programs.clone(), rows));
        resume_plan(self.plan, &lab.targets, done, self.turns, cancel, reporter).await
    }
}

/// Reports the progress of a run to the event loop.
struct Reporter {
    events: mpsc::UnboundedSender<BenchmarkEvent>,
    key: AppKey,
    sleeper: AppSleeper,
}

impl RunObserver for Reporter {
    fn row(&mut self, row: &BenchmarkRow) {
        send_event(&self.events, BenchmarkEvent::Row(Box::new(row.clone())));
    }

    fn ready(&mut self, rows: u32) {
        send_event(&self.events, BenchmarkEvent::Ready(rows));
    }

    fn event_begins(&mut self, scenario: BenchmarkScenario) {
        send_event(&self.events, BenchmarkEvent::Begins(scenario));
    }

    fn event_ends(&mut self) {
        send_event(&self.events, BenchmarkEvent::Ends);
    }

    async fn sleep(&mut self) -> Result<(), String> {
        self.sleeper.sleep(&self.key).await
    }
}

/// Returns the outcome of `run`. If `end` comes first, cancels `stop`, waits for `run` and returns the error of `end`.
/// A dropped run would free its turn while its workers still send.
async fn run_until<T, E>(
    run: impl Future<Output = T>,
    end: impl Future<Output = E>,
    stop: &CancellationToken,
) -> Result<T, E> {
    tokio::pin!(run);
    let error = tokio::select! {
        outcome = &mut run => return Ok(outcome),
        error = end => error,
    };
    stop.cancel();
    run.await;
    Err(error)
}

/// Returns once no open session has had a verified desired state for `DISCONNECTED_MAX`.
async fn disconnected(mut state_verified: watch::Receiver<bool>) {
    while state_verified.wait_for(|verified| !verified).await.is_ok() {
        match timeout(DISCONNECTED_MAX, state_verified.wait_for(|verified| *verified)).await {
            Ok(Ok(_)) => {}
            // The agent is stopping.
            Ok(Err(_)) => break,
            Err(_) => return,
        }
    }
    std::future::pending().await
}

/// Load of benchmark gates, in turn with benchmark runs.
#[derive(Debug)]
pub(crate) struct BenchmarkGates {
    pub(crate) turns: MeasurementTurns,
}

impl MeasureGate for BenchmarkGates {
    fn measure<'a>(
        &'a self,
        gate: &'a BenchmarkGate,
        address: &'a UpstreamAddress,
        live: Option<&'a UpstreamAddress>,
        on_progress: &'a (dyn Fn(GateProgress) + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            run_gate(gate, address, live, &self.turns, on_progress).await.map_err(|error| error.failure())
        })
    }
}

fn started(run: RunId, rows_total: u32) -> BenchmarkStatus {
    BenchmarkStatus {
        run,
        state: WorkState::Running,
        rows: Vec::new(),
        rows_total,
        failure: None,
        programs: Vec::new(),
        events_due: 0,
        rows_ready: 0,
        https_port: 0,
    }
}

/// Returns the current row of a distributed run. Other runs have no use for it.
fn order_of(plan: &BenchmarkPlan) -> RowOrder {
    plan.part.as_ref().map(|part| part.order).unwrap_or_default()
}

fn concluded(mut status: BenchmarkStatus, outcome: Result<Vec<BenchmarkRow>, BenchError>) -> BenchmarkStatus {
    match outcome {
        Ok(rows) => {
            status.state = WorkState::Succeeded;
            status.rows = rows;
        }
        Err(error) => {
            status.state = WorkState::Failed;
            status.failure = Some(error.failure());
        }
    }
    status
}

pub(crate) fn send_event(events: &mpsc::UnboundedSender<BenchmarkEvent>, event: BenchmarkEvent) {
    if events.send(event).is_err() {
        tracing::debug!("a benchmark spoke after the agent had ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lost_run_keeps_its_turn_until_its_load_has_ended() {
        let turn = tokio::sync::Mutex::new(());
        let parent = CancellationToken::new();
        let stop = parent.child_token();
        let load = async {
            let _turn = turn.try_lock().unwrap();
            stop.cancelled().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        };
        let begun = tokio::time::Instant::now();
        assert_eq!(run_until(load, std::future::ready("lost"), &stop).await, Err("lost"));
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        assert!(turn.try_lock().is_ok());
        // The run itself is not cancelled, so its outcome is saved.
        assert!(!parent.is_cancelled());
        let ended = run_until(std::future::ready(1), std::future::pending::<()>(), &parent).await;
        assert_eq!((ended, parent.is_cancelled()), (Ok(1), false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_ends_after_a_while_without_the_control_plane() {
        let (link, state_verified) = watch::channel(true);
        let end = disconnected(state_verified);
        tokio::pin!(end);
        let moment = Duration::from_secs(1);
        assert!(timeout(DISCONNECTED_MAX * 9, &mut end).await.is_err());
        for _ in 0..3 {
            // Each state that is verified in time starts the wait again.
            link.send_replace(false);
            assert!(timeout(DISCONNECTED_MAX - moment, &mut end).await.is_err());
            link.send_replace(true);
            assert!(timeout(moment, &mut end).await.is_err());
        }
        link.send_replace(false);
        assert!(timeout(DISCONNECTED_MAX + moment, &mut end).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_stops_ends_no_part() {
        let (link, state_verified) = watch::channel(false);
        drop(link);
        assert!(timeout(DISCONNECTED_MAX * 2, disconnected(state_verified)).await.is_err());
    }
}
