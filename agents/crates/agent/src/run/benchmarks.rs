//! Runs the benchmarks of desired state: one at a time, each once. Owns their queue and their status reports.

use std::future::Future;
use std::io;
use std::pin::Pin;

use fairlead_base::CancellationToken;
use fairlead_bench::{
    BenchError, MeasurementTurns, RunObserver, Targets, rows_measurable, rows_total, run_gate, run_plan,
};
use fairlead_lab::{Lab, LabError, LabSetup};
use fairlead_model::{
    BenchmarkGate, BenchmarkPlan, BenchmarkProgram, BenchmarkRow, BenchmarkScenario, BenchmarkStatus, DesiredState,
    Failure, GateProgress, RunId, UpstreamAddress, WorkState,
};
use fairlead_runtime::MeasureGate;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::local_state::LocalState;

/// Event of the running benchmark.
#[derive(Debug)]
pub(crate) enum BenchmarkEvent {
    /// The lab has started its programs, or failed to. The number is that of the rows that can be measured.
    Programs(Vec<BenchmarkProgram>, u32),
    /// A row was measured.
    Row(BenchmarkRow),
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
    task: JoinHandle<()>,
}

/// Queue of benchmark runs; at most one runs at a time.
#[derive(Debug)]
pub(crate) struct Benchmarks {
    running: Option<RunningBenchmark>,
    turns: MeasurementTurns,
    events: mpsc::UnboundedSender<BenchmarkEvent>,
    lab: LabSetup,
}

impl Benchmarks {
    /// Creates an idle queue and the receiver of the events of its runs.
    pub(crate) fn new(turns: MeasurementTurns, lab: LabSetup) -> (Self, mpsc::UnboundedReceiver<BenchmarkEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { running: None, turns, events, lab }, receiver)
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
            BenchmarkEvent::Programs(programs, rows_total) => {
                if let Some(running) = &mut self.running {
                    (running.status.programs, running.status.rows_total) = (programs, rows_total);
                }
                Ok(())
            }
            BenchmarkEvent::Begins(scenario) => {
                if let Some(running) = &mut self.running
                    && scenario == BenchmarkScenario::Deploy
                {
                    running.status.events_due += 1;
                }
                Ok(())
            }
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
            (_, None) => started(plan.run.clone(), rows_total(plan)),
        };
        desired.benchmarks.iter().map(status).collect()
    }

    /// Returns a sender for what happens outside a run.
    pub(crate) fn events(&self) -> mpsc::UnboundedSender<BenchmarkEvent> {
        self.events.clone()
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
        let (events, token) = (self.events.clone(), cancel.clone());
        let (setup, turns) = (self.lab.clone(), self.turns.clone());
        let task = tokio::spawn(async move {
            let mut reporter = Reporter { events: events.clone() };
            let outcome = match plan.lab {
                None => run_plan(&plan, &targets, &turns, token, &mut reporter).await,
                Some(app) => match Lab::start(&setup, app, &plan.targets, &token).await {
                    Err(LabError::Cancelled) => Err(BenchError::Cancelled),
                    Err(error) => Err(BenchError::Lab(error.to_string())),
                    Ok(lab) => {
                        let rows = rows_measurable(&plan, &lab.targets);
                        send_event(&events, BenchmarkEvent::Programs(lab.programs.clone(), rows));
                        run_plan(&plan, &lab.targets, &turns, token, &mut reporter).await
                    }
                },
            };
            send_event(&events, BenchmarkEvent::Finished(outcome));
        });
        RunningBenchmark { status, cancel, fault: None, task }
    }
}

/// Reports the progress of a run to the event loop.
struct Reporter {
    events: mpsc::UnboundedSender<BenchmarkEvent>,
}

impl RunObserver for Reporter {
    fn row(&mut self, row: &BenchmarkRow) {
        send_event(&self.events, BenchmarkEvent::Row(row.clone()));
    }

    fn event_begins(&mut self, scenario: BenchmarkScenario) {
        send_event(&self.events, BenchmarkEvent::Begins(scenario));
    }

    fn event_ends(&mut self) {
        send_event(&self.events, BenchmarkEvent::Ends);
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
    }
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
