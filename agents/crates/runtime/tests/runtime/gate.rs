//! Tests of the driver's part of a benchmark gate: the load begins at a real instance, its verdict decides, and it ends with its
//! rollout.

use std::sync::Mutex;

use fairlead_model::{
    BenchmarkGate, BenchmarkMetric, BenchmarkThreshold, GateProgress, ThresholdBound, UpstreamAddress,
};
use fairlead_runtime::MeasureGate;
use tokio::sync::watch;

use super::*;

/// Load that sends one request, then waits for the verdict of the test.
pub(crate) struct TestGates {
    answers: Mutex<Vec<String>>,
    /// Addresses of live instances to compare with.
    live: Mutex<Vec<UpstreamAddress>>,
    verdict: watch::Receiver<Option<Result<(), Failure>>>,
    /// Number of loads that run.
    running: watch::Sender<usize>,
}

impl TestGates {
    /// Passes every gate at once.
    pub(crate) fn passing() -> Self {
        Self::new(watch::channel(Some(Ok(()))).1)
    }

    fn new(verdict: watch::Receiver<Option<Result<(), Failure>>>) -> Self {
        Self { answers: Mutex::default(), live: Mutex::default(), verdict, running: watch::channel(0).0 }
    }
}

struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl MeasureGate for TestGates {
    fn measure<'a>(
        &'a self,
        _: &'a BenchmarkGate,
        address: &'a UpstreamAddress,
        live: Option<&'a UpstreamAddress>,
        _: &'a (dyn Fn(GateProgress) + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            self.running.send_modify(|running| *running += 1);
            let _running = Running(self.running.clone());
            let UpstreamAddress::Tcp { address, .. } = address else { panic!("{address:?}") };
            let answer = get(*address).await;
            self.answers.lock().unwrap().push(answer);
            if let Some(live) = live {
                self.live.lock().unwrap().push(live.clone());
            }
            let verdict = self.verdict.clone().wait_for(Option::is_some).await.unwrap().clone();
            verdict.unwrap()
        })
    }
}

fn gated(spec: AppSpec) -> AppSpec {
    let mut spec = with_candidate(spec, release(2, &["serve"]), Duration::from_secs(30));
    spec.candidate.as_mut().unwrap().benchmark_gate = Some(BenchmarkGate {
        host: "localhost".into(),
        path: "/".into(),
        concurrency: 1,
        rounds: 1,
        duration: Duration::from_millis(100),
        warmup: Duration::ZERO,
        thresholds: vec![BenchmarkThreshold {
            metric: BenchmarkMetric::P99Ms,
            bound: ThresholdBound::Max,
            thousandths: 1,
            relative: true,
        }],
    });
    spec
}

#[tokio::test]
async fn a_load_ends_with_its_rollout_and_its_verdict_decides() {
    let (decide, verdict) = watch::channel(None);
    let gates = Arc::new(TestGates::new(verdict));
    let mut running = gates.running.subscribe();
    let mut server = Server::new().await;
    server.gates = gates.clone();
    server.restart_agent().await;
    let serving = live(release(1, &["serve"]));
    server.desire([serving.clone()]);
    let old = server.healthy(1).await.remove(0);

    server.desire([gated(serving.clone())]);
    running.wait_for(|running| *running == 1).await.unwrap();
    let routes =
        server.output.view.borrow().upstreams.values().flatten().map(|each| each.instance.clone()).collect::<Vec<_>>();
    assert_eq!(routes, std::slice::from_ref(&old.id), "nothing is routed to what is measured");
    server.desire([serving.clone()]);
    running.wait_for(|running| *running == 0).await.unwrap();
    assert_eq!(server.finished("dep_2").await.state, WorkState::Cancelled);
    server.healthy(1).await;

    let missed = Failure { code: "benchmark.threshold_missed".into(), message: "Too slow.".into() };
    decide.send_replace(Some(Err(missed.clone())));
    let mut again = gated(serving.clone());
    again.candidate.as_mut().unwrap().deployment = DeploymentId::parse("dep_3").unwrap();
    server.desire([again]);
    assert_eq!(server.finished("dep_3").await.failure, Some(missed));
    assert_eq!(server.healthy(1).await.remove(0).id, old.id);
    assert_eq!(gates.answers.lock().unwrap().len(), 2);
    assert_eq!(gates.live.lock().unwrap().len(), 2, "each gate has the live instance to compare with");
    server.end().await;
}
