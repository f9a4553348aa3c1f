//! Benchmark gate: traffic never switches without a verdict, and the load ends with its rollout.

use fairlead_model::{
    BenchmarkGate, BenchmarkMetric, BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, BenchmarkThreshold, Canary,
    GateProgress, ThresholdBound,
};
use std::collections::BTreeMap;

use super::*;

fn gate() -> BenchmarkGate {
    BenchmarkGate {
        host: "shop.example.test".into(),
        path: "/".into(),
        concurrency: 8,
        rounds: 3,
        duration: Duration::from_secs(2),
        warmup: Duration::from_millis(500),
        thresholds: vec![BenchmarkThreshold {
            metric: BenchmarkMetric::P99Ms,
            bound: ThresholdBound::Max,
            thousandths: 20_000,
            relative: false,
        }],
    }
}

fn gated(canary: Option<Canary>) -> AppSpec {
    let mut spec = spec(Some(1), Some(2));
    let rollout = spec.candidate.as_mut().unwrap();
    (rollout.benchmark_gate, rollout.canary) = (Some(gate()), canary);
    spec
}

fn row(round: u32) -> BenchmarkRow {
    BenchmarkRow {
        position: round,
        round,
        target: BenchmarkTarget::Direct,
        protocol: BenchmarkProtocol::Http1,
        network_path: None,
        concurrency: 8,
        duration: Duration::from_secs(2),
        requests: 100,
        errors: 0,
        latency: vec![(31, 100)],
        latency_sum_us: 3_100,
        proxy_cpu: Duration::ZERO,
        proxy_memory_bytes: 0,
        bytes_received: 0,
        phase: None,
        failures: BTreeMap::new(),
        generator_cpu: Duration::ZERO,
        generator_saturated: false,
        app_cpu: Duration::ZERO,
        clients: 8,
        latency_max_us: 0,
        unsent: 0,
        noise: None,
        probe: None,
        link: None,
        app_connections: 0,
        start_unix_us: None,
    }
}

fn missed() -> Failure {
    Failure { code: "benchmark.threshold_missed".into(), message: "p99 is 35 ms.".into() }
}

impl World {
    /// An app whose release 2 is under load.
    fn measuring() -> (Self, InstanceId) {
        let mut world = Self::serving_one();
        world.desire(gated(None));
        let new = world.bring_up(2);
        (world, new)
    }

    fn measured(&self) -> Vec<UpstreamAddress> {
        let load = |action: &RolloutAction| match action {
            RolloutAction::Measure { address, .. } => Some(address.clone()),
            _ => None,
        };
        self.actions.iter().filter_map(load).collect()
    }

    fn ended_loads(&self) -> usize {
        self.actions.iter().filter(|action| matches!(action, RolloutAction::EndMeasurement { .. })).count()
    }

    fn verdict(&mut self, verdict: Result<(), Failure>) {
        self.event(RolloutEvent::GateMeasured(deployment(2), verdict));
    }

    fn steps_of(&self, number: u64) -> Vec<(Step, StepState)> {
        self.rollout(number).steps.iter().map(|step| (step.step, step.state)).collect()
    }
}

#[test]
fn a_healthy_candidate_is_measured_before_it_gets_any_request() {
    let (mut world, _) = World::measuring();
    assert_eq!(world.measured(), [address(2)]);
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
    assert_eq!(world.steps_of(2).last(), Some(&(Step::Benchmark, StepState::Running)));
    world.event(RolloutEvent::GateProgress(deployment(2), Box::new(GateProgress::New(row(0)))));
    world.pass(Duration::from_secs(60));
    assert_eq!(world.routes(), (vec![address(1)], vec![]), "no verdict, no switch");
    assert_eq!(world.rollout(2).benchmark_rows, [row(0)]);

    world.verdict(Ok(()));
    assert_eq!(world.routes(), (vec![address(2)], vec![address(1)]));
    world.confirm();
    let steps: Vec<Step> = world.steps_of(2).into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, [Step::Start, Step::Health, Step::Benchmark, Step::Switch, Step::Drain]);
    assert_eq!(world.measured().len(), 1, "it is measured once");
    assert_eq!(world.ended_loads(), 0);
}

#[test]
fn a_missed_threshold_keeps_the_old_release_serving_and_stops_the_candidate() {
    let (mut world, new) = World::measuring();
    world.verdict(Err(missed()));
    assert_eq!(world.routes().0, [address(1)]);
    assert_eq!(world.stops(), [new]);
    let status = world.rollout(2);
    assert_eq!((status.state, status.failure), (WorkState::Failed, Some(missed())));
    assert_eq!(world.steps_of(2).last(), Some(&(Step::Benchmark, StepState::Failed)));
    world.pass(Duration::from_secs(3600));
    assert_eq!(world.measured().len(), 1);
}

#[test]
fn a_cancelled_rollout_ends_its_load_and_ignores_a_late_verdict() {
    let (mut world, new) = World::measuring();
    world.desire(spec(Some(1), None));
    assert_eq!(world.ended_loads(), 1);
    assert_eq!(world.stops(), [new]);
    assert_eq!(world.rollout(2).state, WorkState::Cancelled);
    world.verdict(Ok(()));
    assert_eq!(world.routes().0, [address(1)]);

    let (mut world, _) = World::measuring();
    world.event(RolloutEvent::Removed);
    assert_eq!(world.ended_loads(), 1);
}

#[test]
fn an_instance_that_ends_under_load_fails_the_rollout() {
    let (mut world, new) = World::measuring();
    world.crash(&new);
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "benchmark.gate_failed");
    assert!(failure.message.contains("exit code 1"), "{}", failure.message);
    assert_eq!(world.ended_loads(), 1);
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
}

#[test]
fn a_load_without_a_verdict_fails_the_rollout_in_bounded_time() {
    let (mut world, _) = World::measuring();
    let due = world.state().next_deadline().unwrap();
    assert_eq!(due, world.at + gate().load_time() + Duration::from_secs(600));
    world.pass(due - world.at);
    assert_eq!(world.rollout(2).failure.unwrap().code, "benchmark.gate_failed");
    assert_eq!(world.ended_loads(), 1);
    assert_eq!(world.routes().0, [address(1)]);
}

#[test]
fn an_agent_restart_under_load_measures_again_and_one_after_it_does_not() {
    let (world, _) = World::measuring();
    let restart = |world: &World| {
        let instances: Vec<_> = world.state().instances();
        let mut next = World::new(world.state().record());
        for status in instances {
            let number = if status.release == release(1).id { 1 } else { 2 };
            next.event(RolloutEvent::Adopt(AdoptedInstance {
                instance: status.id,
                release: status.release,
                secrets: None,
                deployment: (number == 2).then(|| deployment(2)),
                pid: 7,
                address: Some(address(number)),
                started_unix_ms: 5,
                restarts: 0,
                drain_timeout: Duration::from_secs(30),
                stop_timeout: Duration::from_secs(10),
            }));
        }
        next
    };
    let mut again = restart(&world);
    again.desire(gated(None));
    assert_eq!(again.routes(), (vec![address(1)], vec![]));
    again.healthy(&world.instance(2), 2);
    assert_eq!(again.measured(), [address(2)]);
    again.verdict(Ok(()));
    assert_eq!(again.routes(), (vec![address(2)], vec![address(1)]));

    // In a canary step, the gate has passed already.
    let canary = Canary {
        step_percents: vec![10],
        step_duration: Duration::from_secs(60),
        error_increase_permille_max: 10,
        p99_ratio_permille_max: 0,
        requests_min: 1,
    };
    let mut world = World::serving_one();
    world.desire(gated(Some(canary.clone())));
    world.bring_up(2);
    assert_eq!(world.routes(), (vec![address(1)], vec![]), "no canary before the verdict");
    world.event(RolloutEvent::GateProgress(deployment(2), Box::new(GateProgress::New(row(0)))));
    world.verdict(Ok(()));
    assert_eq!(world.routes().0, [address(1), address(2)]);
    let mut again = restart(&world);
    again.desire(gated(Some(canary)));
    again.healthy(&world.instance(2), 2);
    assert_eq!(again.measured(), []);
    assert_eq!(again.rollout(2).benchmark_rows, [row(0)]);
    assert!(again.steps_of(2).contains(&(Step::Benchmark, StepState::Done)));
}

#[test]
fn an_instance_that_is_unhealthy_after_the_load_gets_no_request() {
    let (mut world, new) = World::measuring();
    for _ in 0..3 {
        let result = Err(HealthCheckFailure::TimedOut);
        world.event(RolloutEvent::HealthChecked { instance: new.clone(), result });
    }
    world.verdict(Ok(()));
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
    world.pass(Duration::from_secs(30));
    assert_eq!(world.rollout(2).state, WorkState::Failed);
    assert_eq!(world.measured().len(), 1);
}

#[test]
fn a_relative_gate_compares_with_a_live_instance_and_keeps_both_rows() {
    let mut world = World::serving_one();
    let mut spec = gated(None);
    let gate = spec.candidate.as_mut().unwrap().benchmark_gate.as_mut().unwrap();
    gate.thresholds[0].relative = true;
    world.desire(spec);
    world.bring_up(2);
    let live = world.actions.iter().find_map(|action| match action {
        RolloutAction::Measure { live, .. } => Some(live.clone()),
        _ => None,
    });
    assert_eq!(live, Some(Some(address(1))));
    let mut progress = |progress| world.event(RolloutEvent::GateProgress(deployment(2), Box::new(progress)));
    progress(GateProgress::New(row(0)));
    progress(GateProgress::Live(row(0)));
    let status = world.rollout(2);
    assert_eq!((status.benchmark_rows.len(), status.live_benchmark_rows.len()), (1, 1));
    world
        .event(RolloutEvent::GateProgress(deployment(2), Box::new(GateProgress::NotComparable("it ended".to_owned()))));
    assert_eq!(world.rollout(2).live_benchmark_rows, []);
}
