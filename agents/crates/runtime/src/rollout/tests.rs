use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use fairlead_model::{
    AppId, AppKey, AppSpec, DeploymentId, EnvironmentId, Failure, HealthCheck, InstanceId, InstanceState, ReleaseId,
    ReleaseSpec, Rollout, RolloutStatus, StepState, StepStatus, UpstreamAddress, WorkState,
};

use super::*;

mod failures;
mod gate;
mod parts;
mod restarts;
mod secrets;

/// State machine with its own clock and all its actions so far.
struct World {
    state: Option<AppState>,
    at: Duration,
    made: u32,
    actions: Vec<RolloutAction>,
    /// True if artifacts have to be fetched.
    fetches: bool,
}

fn key() -> AppKey {
    AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() }
}

fn release(number: u64) -> ReleaseSpec {
    ReleaseSpec {
        id: ReleaseId::parse(&format!("rel_{number}")).unwrap(),
        number,
        artifact_digest: "sha256:00".into(),
        command: vec!["node".into(), "server.js".into()],
        variables: BTreeMap::new(),
        readiness_check: HealthCheck {
            path: "/healthz".into(),
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(2),
            command: Vec::new(),
        },
        drain_timeout: Duration::from_secs(30),
        stop_timeout: Duration::from_secs(10),
        memory_bytes_max: 0,
        secrets: None,
        artifact_kind: fairlead_model::ArtifactKind::Archive,
        workers: Vec::new(),
        liveness_check: None,
        cpu_millis_max: 0,
        processes_max: 0,
        toolchains: Vec::new(),
        volumes: Vec::new(),
        listens_on_socket: false,
        private_network: false,
        server_ports: Vec::new(),
    }
}

fn deployment(number: u64) -> DeploymentId {
    DeploymentId::parse(&format!("dep_{number}")).unwrap()
}

fn spec(live: Option<u64>, candidate: Option<u64>) -> AppSpec {
    AppSpec {
        key: key(),
        name: "hello".into(),
        live: live.map(release),
        candidate: candidate.map(|number| Rollout {
            deployment: deployment(number),
            release: release(number),
            start_timeout: Duration::from_secs(30),
            batch_size: 0,
            canary: None,
            release_command: None,
            post_release_command: None,
            benchmark_gate: None,
        }),
        instances: 1,
        traffic: Default::default(),
        autoscaling: None,
        release_environment: None,
    }
}

impl World {
    fn new(record: AppRecord) -> Self {
        Self {
            state: Some(AppState::new(key(), record)),
            at: Duration::from_secs(1000),
            made: 0,
            actions: Vec::new(),
            fetches: false,
        }
    }

    /// Creates an app with release 1 serving.
    fn serving_one() -> Self {
        let mut world = Self::new(AppRecord::default());
        world.desire(spec(Some(1), None));
        world.bring_up(1);
        world.confirm();
        world
    }

    fn state(&self) -> &AppState {
        self.state.as_ref().unwrap()
    }

    fn in_flight(&mut self, instance: InstanceId, count: u32) {
        self.event(RolloutEvent::InFlight { instance, count, at: self.at });
    }

    fn event(&mut self, event: RolloutEvent) {
        let made = &mut self.made;
        let mut new_instance = || {
            *made += 1;
            InstanceId::parse(&format!("ins_{made}")).unwrap()
        };
        let unix_ms = u64::try_from(self.at.as_millis()).unwrap();
        let now = Now { at: self.at, unix_ms };
        let mut context = RolloutContext { now, new_instance: &mut new_instance };
        let (state, actions) = step(self.state.take().unwrap(), event, &mut context);
        self.state = Some(state);
        for action in &actions {
            if let RolloutAction::Prepare(release) = action {
                self.actions.push(action.clone());
                if self.fetches {
                    self.event(RolloutEvent::Fetching(release.id.clone()));
                }
                self.event(RolloutEvent::Prepared(release.id.clone()));
                continue;
            }
            self.actions.push(action.clone());
        }
    }

    fn desire(&mut self, spec: AppSpec) {
        self.event(RolloutEvent::Desired(Box::new(spec)));
    }

    fn pass(&mut self, time: Duration) {
        self.at += time;
        self.event(RolloutEvent::Tick);
    }

    fn confirm(&mut self) {
        let generation = self.state().generation();
        self.event(RolloutEvent::RoutesApplied(generation));
    }

    /// Returns the instance last requested for this release.
    fn instance(&self, number: u64) -> InstanceId {
        let wanted = release(number).id;
        let started = self.actions.iter().rev().find_map(|action| match action {
            RolloutAction::Start { instance, release, .. } if release.id == wanted => Some(instance.clone()),
            _ => None,
        });
        started.unwrap_or_else(|| panic!("release {number} was never started: {:?}", self.actions))
    }

    fn started(&mut self, number: u64) -> InstanceId {
        let instance = self.instance(number);
        let port = u16::try_from(20_000 + number).unwrap();
        self.event(RolloutEvent::Started { instance: instance.clone(), pid: 7, port, started_unix_ms: 5 });
        instance
    }

    fn healthy(&mut self, instance: &InstanceId, number: u64) {
        let address = address(number);
        self.event(RolloutEvent::HealthChecked { instance: instance.clone(), result: Ok(address) });
    }

    fn bring_up(&mut self, number: u64) -> InstanceId {
        let instance = self.started(number);
        self.healthy(&instance, number);
        instance
    }

    fn crash(&mut self, instance: &InstanceId) {
        let exit = Exit { code: Some(1), ..Exit::default() };
        self.event(RolloutEvent::Exited { instance: instance.clone(), exit });
    }

    fn stops(&self) -> Vec<InstanceId> {
        let stop = |action: &RolloutAction| match action {
            RolloutAction::Stop { instance, .. } => Some(instance.clone()),
            _ => None,
        };
        self.actions.iter().filter_map(stop).collect()
    }

    /// Returns the active and the draining addresses.
    fn routes(&self) -> (Vec<UpstreamAddress>, Vec<UpstreamAddress>) {
        let (draining, active): (Vec<_>, Vec<_>) = self.state().upstreams().iter().partition(|u| u.draining);
        (active.iter().map(|u| u.address.clone()).collect(), draining.iter().map(|u| u.address.clone()).collect())
    }

    fn rollout(&self, number: u64) -> RolloutStatus {
        self.state().rollouts().find(|status| status.deployment == deployment(number)).unwrap().clone()
    }
}

fn at(port: u16) -> UpstreamAddress {
    SocketAddr::from(([127, 0, 0, 1], port)).into()
}

fn address(number: u64) -> UpstreamAddress {
    at(u16::try_from(20_000 + number).unwrap())
}

#[test]
fn an_artifact_that_comes_from_elsewhere_is_a_step_of_its_own() {
    let mut world = World::serving_one();
    world.fetches = true;
    world.desire(spec(Some(1), Some(2)));
    let steps = |world: &World| -> Vec<(Step, StepState)> {
        world.rollout(2).steps.iter().map(|step| (step.step, step.state)).collect()
    };
    assert_eq!(steps(&world), [(Step::Fetch, StepState::Done), (Step::Start, StepState::Running)]);
    world.bring_up(2);
    let expected = [Step::Fetch, Step::Start, Step::Health, Step::Switch];
    assert_eq!(steps(&world).iter().map(|(step, _)| *step).collect::<Vec<_>>(), expected);
    let followed = |pair: &[StepStatus]| pair[0].finished_unix_ms == pair[1].started_unix_ms;
    assert!(world.rollout(2).steps.windows(2).all(followed), "{:?}", world.rollout(2).steps);

    // A failure during the fetch fails this step and the one that waited for it.
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let release = release(2).id;
    world.event(RolloutEvent::Fetching(release.clone()));
    let failure = Failure { code: "rollout.fetch_failed".into(), message: "The line is down.".into() };
    world.event(RolloutEvent::PrepareFailed(release, failure));
    assert_eq!(steps(&world), [(Step::Fetch, StepState::Failed), (Step::Start, StepState::Failed)]);
}

#[test]
fn a_healthy_candidate_takes_the_routes_and_the_old_instance_is_drained_before_it_is_stopped() {
    let mut world = World::serving_one();
    let old = world.instance(1);
    world.desire(spec(Some(1), Some(2)));
    assert_eq!(world.routes(), (vec![address(1)], vec![]), "the candidate starts beside what serves");
    let new = world.started(2);
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
    world.healthy(&new, 2);
    assert_eq!(world.routes(), (vec![address(2)], vec![address(1)]));
    world.in_flight(old.clone(), 0);
    assert_eq!(world.stops(), [], "the count is of before the switch");
    assert_eq!(world.state().record().serving.unwrap().0.number, 1, "until it is confirmed, release 1 would come back");

    world.confirm();
    assert_eq!(world.state().record().serving.unwrap().0.number, 2);
    let confirmed = world.at;
    world.at += Duration::from_secs(1);
    world.event(RolloutEvent::InFlight { instance: old.clone(), count: 0, at: confirmed });
    assert_eq!(world.stops(), [], "the report waited, and is of before the switch");
    world.in_flight(old.clone(), 3);
    assert_eq!(world.stops(), []);
    assert_eq!(world.rollout(2).state, WorkState::Running);
    world.in_flight(old.clone(), 0);
    assert_eq!(world.stops(), std::slice::from_ref(&old));
    world.event(RolloutEvent::Exited { instance: old.clone(), exit: Exit { code: Some(0), ..Exit::default() } });

    let status = world.rollout(2);
    assert_eq!(status.state, WorkState::Succeeded);
    let steps: Vec<_> = status.steps.iter().map(|step| (step.step.name(), step.state)).collect();
    let done = |name| (name, StepState::Done);
    assert_eq!(steps, [done("start"), done("health"), done("switch"), done("drain")]);
    assert!(world.actions.contains(&RolloutAction::Forget { instance: old }));
    world.desire(spec(Some(2), None));
    assert_eq!(world.stops(), [world.instance(1)], "the promoted release goes on without a restart");
    assert_eq!(world.routes(), (vec![address(2)], vec![]));
}

#[test]
fn an_exchange_that_never_ends_does_not_keep_the_old_instance_past_its_drain_timeout() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    world.bring_up(2);
    world.confirm();
    let due = world.state().next_deadline().unwrap();
    assert_eq!(due, world.at + Duration::from_secs(30));
    world.pass(Duration::from_secs(30));
    assert_eq!(world.stops(), [world.instance(1)]);
}

#[test]
fn a_candidate_removed_midway_is_stopped_and_reported_as_cancelled() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    world.desire(spec(Some(1), None));
    assert_eq!(world.stops(), [new]);
    assert_eq!(world.rollout(2).state, WorkState::Cancelled);
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
}

#[test]
fn a_newer_candidate_replaces_the_one_under_way() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let first = world.started(2);
    world.desire(spec(Some(1), Some(3)));
    assert_eq!(world.stops(), [first]);
    world.bring_up(3);
    assert_eq!(world.routes(), (vec![address(3)], vec![address(1)]));
}

#[test]
fn a_candidate_removed_during_the_switch_gives_the_routes_back_to_the_old_instance() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    world.bring_up(2);
    world.desire(spec(Some(1), None));
    assert_eq!(world.routes(), (vec![address(1)], vec![address(2)]));
    assert_eq!(world.rollout(2).state, WorkState::Cancelled);
    world.confirm();
    world.at += Duration::from_secs(1);
    world.in_flight(world.instance(2), 0);
    assert_eq!(world.stops(), [world.instance(2)]);
}

#[test]
fn a_proxy_that_refuses_or_never_confirms_the_routes_leaves_the_old_release_serving() {
    for refuse in [true, false] {
        let mut world = World::serving_one();
        world.desire(spec(Some(1), Some(2)));
        world.bring_up(2);
        if refuse {
            let generation = world.state().generation();
            world.event(RolloutEvent::RoutesRefused(generation, "no memory".into()));
        } else {
            world.pass(SWITCH_TIMEOUT);
        }
        let failure = world.rollout(2).failure.unwrap();
        assert_eq!(failure.code, "rollout.internal");
        assert_eq!(world.routes(), (vec![address(1)], vec![address(2)]));
        assert_eq!(world.state().record().serving.unwrap().0.number, 1);
    }
}

#[test]
fn a_live_instance_that_crashes_leaves_the_routes_and_is_restarted_with_growing_pauses() {
    let mut world = World::serving_one();
    let mut pauses = Vec::new();
    for _ in 0..7 {
        let instance = world.instance(1);
        world.crash(&instance);
        assert_eq!(world.routes(), (vec![], vec![]));
        let due = world.state().next_deadline().unwrap();
        pauses.push((due - world.at).as_millis());
        let before = world.actions.len();
        world.pass(due - world.at);
        assert!(world.actions.len() > before, "it is started again");
        assert_eq!(world.started(1), instance, "it stays the same instance");
        world.healthy(&instance, 1);
    }
    assert_eq!(pauses, [100, 500, 2_000, 8_000, 30_000, 60_000, 60_000]);
    assert_eq!(world.state().instances()[0].restarts, 7);
    world.at += Duration::from_secs(60);
    let instance = world.instance(1);
    world.crash(&instance);
    assert_eq!(world.state().next_deadline().unwrap() - world.at, Duration::from_millis(100), "it had run well");
}

#[test]
fn one_failed_check_is_no_verdict_and_the_last_instance_keeps_its_route_even_when_unhealthy() {
    let mut world = World::serving_one();
    let instance = world.instance(1);
    for failures in 1..=3 {
        let result = Err(HealthCheckFailure::TimedOut);
        world.event(RolloutEvent::HealthChecked { instance: instance.clone(), result });
        let expected = if failures < 3 { InstanceState::Healthy } else { InstanceState::Unhealthy };
        assert_eq!(world.state().instances()[0].state, expected);
    }
    assert_eq!(world.routes(), (vec![address(1)], vec![]), "a slow answer is better than none");
    assert!(!world.state().instances()[0].detail.is_empty());
    world.healthy(&instance, 1);
    assert_eq!(world.state().instances()[0].detail, "");
}

#[test]
fn a_live_release_changed_without_a_deployment_is_brought_up_beside_the_old_one() {
    let mut world = World::serving_one();
    world.desire(spec(Some(3), None));
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
    world.bring_up(3);
    assert_eq!(world.routes(), (vec![address(3)], vec![address(1)]));
    world.confirm();
    assert_eq!(world.state().rollouts().count(), 0);
}

#[test]
fn more_copies_are_added_and_surplus_ones_are_drained() {
    let mut world = World::serving_one();
    world.desire(AppSpec { instances: 3, ..spec(Some(1), None) });
    let starts = world.actions.iter().filter(|action| matches!(action, RolloutAction::Start { .. })).count();
    assert_eq!(starts, 3);
    world.desire(spec(Some(1), None));
    assert_eq!(world.routes(), (vec![address(1)], vec![]), "the healthy copy is the one that stays");
}

#[test]
fn the_oldest_healthy_copy_is_the_last_to_go() {
    let mut world = World::serving_one();
    let spec_of = |instances| AppSpec { instances, ..spec(Some(1), None) };
    for count in 2..=4 {
        world.desire(spec_of(count));
        let (instance, port) = (world.instance(1), 30_000 + u16::try_from(count).unwrap());
        let started_unix_ms = 100 + u64::from(count);
        world.event(RolloutEvent::Started { instance: instance.clone(), pid: 7, port, started_unix_ms });
        world.healthy(&instance, u64::from(count));
    }
    assert_eq!(world.routes().0.len(), 4);
    for count in (1..=3).rev() {
        world.desire(spec_of(count));
        let left: Vec<_> = (1..=u64::from(count)).map(address).collect();
        let mut routed = world.routes().0;
        routed.sort_by_key(|each| left.iter().position(|address| address == each));
        assert_eq!(routed, left);
    }
}

#[test]
fn a_removed_app_is_drained_stopped_and_then_gone() {
    let mut world = World::serving_one();
    let instance = world.instance(1);
    world.event(RolloutEvent::Removed);
    assert_eq!(world.routes(), (vec![], vec![address(1)]));
    world.confirm();
    world.at += Duration::from_secs(1);
    world.in_flight(instance.clone(), 0);
    assert_eq!(world.stops(), std::slice::from_ref(&instance));
    assert!(!world.state().is_gone());
    world.event(RolloutEvent::Exited { instance, exit: Exit::default() });
    assert!(world.state().is_gone());
    assert_eq!(world.state().record().serving, None);
}

/// Tests random orders of events: while the live release's process is fine, an instance takes new exchanges; nothing
/// starts twice; and every rollout ends.
#[test]
fn no_order_of_events_leaves_a_healthy_app_without_a_route() {
    for seed in 1..400u64 {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut next = move |bound: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % bound
        };
        let mut world = World::serving_one();
        let (mut candidate, mut live) = (1u64, 1u64);
        for _ in 0..60 {
            world.at += Duration::from_millis(next(4000));
            let statuses = world.state().instances();
            let pick = statuses.get(usize::try_from(next(8)).unwrap()).cloned();
            let serving = world.state().record().serving.unwrap().0.id;
            match (next(10), pick) {
                (0, _) => {
                    candidate += 1;
                    world.desire(spec(Some(live), Some(candidate)));
                }
                (1, _) => world.desire(spec(Some(live), None)),
                (2, _) => world.confirm(),
                (3, Some(status)) if status.state == InstanceState::Draining => {
                    world.event(RolloutEvent::Exited { instance: status.id, exit: Exit::default() });
                }
                (4, Some(status)) if status.release != serving && status.state != InstanceState::Draining => {
                    world.crash(&status.id);
                }
                (5..=7, Some(status)) => {
                    let number = status.release.as_str().trim_start_matches("rel_").parse().unwrap();
                    let instance = status.id;
                    if status.pid == 0 {
                        let port = u16::try_from(20_000 + number).unwrap();
                        world.event(RolloutEvent::Started { instance, pid: 7, port, started_unix_ms: 5 });
                    } else if status.port != 0 {
                        world.healthy(&instance, number);
                    }
                }
                (8, Some(status)) => world.in_flight(status.id, 0),
                _ => world.event(RolloutEvent::Tick),
            }
            let succeeded = world.state().rollouts().find(|status| status.state == WorkState::Succeeded);
            if let Some(status) = succeeded {
                live = status.deployment.as_str().trim_start_matches("dep_").parse().unwrap();
                world.desire(spec(Some(live), None));
            }
            assert!(!world.routes().0.is_empty(), "seed {seed}: {:#?}", world.state());
        }
        for _ in 0..40 {
            world.pass(Duration::from_secs(15));
            for status in world.state().instances() {
                if status.state == InstanceState::Draining {
                    world.event(RolloutEvent::Exited { instance: status.id, exit: Exit::default() });
                }
            }
        }
        let running = world.state().rollouts().filter(|status| status.state == WorkState::Running).count();
        assert_eq!(running, 0, "seed {seed}: {:#?}", world.state());
    }
}

#[test]
fn a_release_that_an_older_agent_saved_is_read() {
    let mut saved = serde_json::to_value(release(1)).unwrap();
    let fields = saved.as_object_mut().unwrap();
    for (old, new) in [
        ("environment", "variables"),
        ("health", "readiness_check"),
        ("stop_grace", "stop_timeout"),
        ("liveness", "liveness_check"),
    ] {
        let value = fields.remove(new).unwrap();
        fields.insert(old.to_owned(), value);
    }
    assert_eq!(serde_json::from_value::<ReleaseSpec>(saved).unwrap(), release(1));
}
