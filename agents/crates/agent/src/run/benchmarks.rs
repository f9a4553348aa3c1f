//! Runs the benchmarks of desired state: one at a time, each once. Owns their queue and their status reports.

use std::future::Future;
use std::io;
use std::pin::Pin;

use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, MeasurementTurns, Targets, rows_total, run_gate, run_plan};
use fairlead_model::{
    BenchmarkGate, BenchmarkPlan, BenchmarkRow, BenchmarkStatus, DesiredState, Failure, RunId, UpstreamAddress,
    WorkState,
};
use fairlead_runtime::MeasureGate;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::local_state::LocalState;

/// Event of the running benchmark.
#[derive(Debug)]
pub(crate) enum BenchmarkEvent {
    /// A row was measured.
    Row(BenchmarkRow),
    /// The run ended, with its rows or its error.
    Finished(Result<Vec<BenchmarkRow>, BenchError>),
}

#[derive(Debug)]
struct RunningBenchmark {
    status: BenchmarkStatus,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// Queue of benchmark runs; at most one runs at a time.
#[derive(Debug)]
pub(crate) struct Benchmarks {
    running: Option<RunningBenchmark>,
    turns: MeasurementTurns,
    events: mpsc::UnboundedSender<BenchmarkEvent>,
}

impl Benchmarks {
    /// Creates an idle queue and the receiver of the events of its runs.
    pub(crate) fn new(turns: MeasurementTurns) -> (Self, mpsc::UnboundedReceiver<BenchmarkEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { running: None, turns, events }, receiver)
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
            if !desired.benchmarks.iter().any(|plan| plan.run == running.status.run) {
                running.cancel.cancel();
            }
            return;
        }
        if let Some(plan) = desired.benchmarks.iter().find(|plan| local.benchmark(&plan.run).is_none()) {
            self.running = Some(self.start(plan.clone(), targets(plan)));
        }
    }

    /// Applies one event. Invariant: the outcome is on disk before it is reported.
    pub(crate) fn take(&mut self, event: BenchmarkEvent, local: &mut LocalState) -> io::Result<()> {
        match event {
            BenchmarkEvent::Row(row) => {
                if let Some(running) = &mut self.running {
                    running.status.rows.push(row);
                }
                Ok(())
            }
            BenchmarkEvent::Finished(outcome) => {
                let Some(finished) = self.running.take() else { return Ok(()) };
                if finished.cancel.is_cancelled() {
                    return Ok(());
                }
                local.save_benchmark(concluded(finished.status, outcome))
            }
        }
    }

    /// Returns the status of every run in desired state. A queued run counts as running, without rows.
    pub(crate) fn statuses(&self, desired: &DesiredState, local: &LocalState) -> Vec<BenchmarkStatus> {
        let status = |plan: &BenchmarkPlan| match (&self.running, local.benchmark(&plan.run)) {
            (_, Some(finished)) => finished.clone(),
            (Some(running), None) if running.status.run == plan.run => running.status.clone(),
            (_, None) => started(plan.run.clone(), rows_total(plan)),
        };
        desired.benchmarks.iter().map(status).collect()
    }

    /// Cancels the running benchmark; a restarted agent runs it again.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.cancel.cancel();
            if let Err(error) = running.task.await {
                tracing::error!(%error, "the benchmark under way did not end in order");
            }
        }
    }

    fn start(&self, plan: BenchmarkPlan, targets: Targets) -> RunningBenchmark {
        let status = started(plan.run.clone(), rows_total(&plan));
        let cancel = CancellationToken::new();
        let (events, token, turns) = (self.events.clone(), cancel.clone(), self.turns.clone());
        let task = tokio::spawn(async move {
            let rows = events.clone();
            let on_row = move |row: &BenchmarkRow| send_event(&rows, BenchmarkEvent::Row(row.clone()));
            let outcome = run_plan(&plan, &targets, &turns, token, on_row).await;
            send_event(&events, BenchmarkEvent::Finished(outcome));
        });
        RunningBenchmark { status, cancel, task }
    }
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
        on_row: &'a (dyn Fn(BenchmarkRow) + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move { run_gate(gate, address, &self.turns, on_row).await.map_err(|error| error.failure()) })
    }
}

fn started(run: RunId, rows_total: u32) -> BenchmarkStatus {
    BenchmarkStatus { run, state: WorkState::Running, rows: Vec::new(), rows_total, failure: None }
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

fn send_event(events: &mpsc::UnboundedSender<BenchmarkEvent>, event: BenchmarkEvent) {
    if events.send(event).is_err() {
        tracing::debug!("a benchmark spoke after the agent had ended");
    }
}
