//! Tests of rollouts in parts: commands, batches, canaries, restarts of the same release, and sleep.

use fairlead_model::{Autoscaling, Canary, Hook, Step};
use fairlead_telemetry::Histogram;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn hook(words: &[&str]) -> Option<Hook> {
    Some(Hook { command: words.iter().map(|word| (*word).to_owned()).collect(), timeout: MINUTE })
}

/// Lets release 1 serve with this number of instances, and release 2 follow.
fn candidate(instances: u32, change: impl FnOnce(&mut Rollout)) -> AppSpec {
    let mut spec = AppSpec { instances, ..spec(Some(1), Some(2)) };
    change(spec.candidate.as_mut().unwrap());
    spec
}

impl World {
    fn serving(instances: u32) -> Self {
        let mut world = Self::new(AppRecord::default());
        world.desire(AppSpec { instances, ..spec(Some(1), None) });
        world.bring_all_up();
        world.confirm();
        world
    }

    /// Starts all requested instances, healthy at once, and returns them.
    fn bring_all_up(&mut self) -> Vec<InstanceId> {
        let starts: Vec<InstanceId> = self.starting().map(|status| status.id).collect();
        for instance in &starts {
            let number: u16 = instance.as_str()["ins_".len()..].parse().unwrap();
            let (instance, port) = (instance.clone(), 20_000 + number);
            self.event(RolloutEvent::Started { instance: instance.clone(), pid: 7, port, started_unix_ms: 5 });
            let address = at(port);
            self.event(RolloutEvent::HealthChecked { instance, result: Ok(address) });
        }
        starts
    }

    fn starting(&self) -> impl Iterator<Item = fairlead_model::InstanceStatus> {
        self.state().instances().into_iter().filter(|one| one.state == InstanceState::Starting && one.pid == 0)
    }

    /// Ends draining instances, which have nothing in flight.
    fn drain(&mut self) {
        self.confirm();
        self.at += Duration::from_secs(1);
        let leaving = self.state().instances().into_iter().filter(|one| one.state == InstanceState::Draining);
        for instance in leaving.map(|status| status.id).collect::<Vec<_>>() {
            self.in_flight(instance.clone(), 0);
            self.event(RolloutEvent::Exited { instance, exit: Exit { code: Some(0), ..Exit::default() } });
        }
    }

    /// Returns the number and the weight of active instances by release.
    fn active(&self) -> Vec<(String, usize, u32)> {
        let mut counts: BTreeMap<String, (usize, u32)> = BTreeMap::new();
        for upstream in self.state().upstreams().iter().filter(|upstream| !upstream.draining) {
            let all = self.state().instances();
            let status = all.iter().find(|status| status.id == upstream.instance).unwrap();
            let entry = counts.entry(status.release.to_string()).or_default();
            *entry = (entry.0 + 1, upstream.weight);
        }
        counts.into_iter().map(|(release, (count, weight))| (release, count, weight)).collect()
    }

    fn runs(&self) -> Vec<(InstanceId, HookKind)> {
        let run = |action: &RolloutAction| match action {
            RolloutAction::Run { instance, kind, .. } => Some((instance.clone(), *kind)),
            _ => None,
        };
        self.actions.iter().filter_map(run).collect()
    }

    fn ends(&mut self, instance: &InstanceId, code: i32) {
        let exit = Exit { code: Some(code), ..Exit::default() };
        self.event(RolloutEvent::Exited { instance: instance.clone(), exit });
    }

    /// Restarts the agent; running instances are adopted.
    fn restart(&mut self) {
        let record = self.state().record();
        let text = serde_json::to_string(&record).unwrap();
        let all = self.state().instances();
        let deployments: BTreeMap<InstanceId, Option<DeploymentId>> = self
            .actions
            .iter()
            .filter_map(|action| match action {
                RolloutAction::Start { instance, deployment, .. } => Some((instance.clone(), deployment.clone())),
                _ => None,
            })
            .collect();
        self.state = Some(AppState::new(key(), serde_json::from_str(&text).unwrap()));
        for status in all.into_iter().filter(|status| status.pid != 0) {
            self.event(RolloutEvent::Adopt(AdoptedInstance {
                instance: status.id.clone(),
                release: status.release,
                secrets: None,
                deployment: deployments[&status.id].clone(),
                pid: status.pid,
                address: Some(at(status.port)),
                started_unix_ms: status.started_unix_ms,
                restarts: 0,
                drain_timeout: Duration::from_secs(30),
                stop_timeout: Duration::from_secs(10),
            }));
        }
    }

    /// Lets all adopted instances pass their checks.
    fn all_well(&mut self) {
        let all = self.state().instances().into_iter().filter(|status| status.pid != 0);
        for status in all.collect::<Vec<_>>() {
            let result = Ok(at(status.port));
            self.event(RolloutEvent::HealthChecked { instance: status.id, result });
        }
    }

    fn steps(&self) -> Vec<(&'static str, StepState)> {
        self.rollout(2).steps.iter().map(|step| (step.step.name(), step.state)).collect()
    }
}

fn traffic(requests: u64, errors: u64, us: u64) -> Traffic {
    let mut latency = Histogram::default();
    (0..requests).for_each(|_| latency.record(us));
    Traffic { requests, errors, latency }
}

#[test]
fn the_release_command_ends_before_the_first_new_instance_starts() {
    let mut world = World::serving(2);
    world.desire(candidate(2, |rollout| rollout.release_command = hook(&["migrate", "up"])));
    let [(command, HookKind::Release)] = &world.runs()[..] else { panic!("{:?}", world.actions) };
    let command = command.clone();
    assert_eq!((world.starting().count(), world.steps()), (0, vec![("release", StepState::Running)]));
    world.event(RolloutEvent::Started { instance: command.clone(), pid: 9, port: 0, started_unix_ms: 5 });
    world.pass(Duration::from_secs(30));
    assert_eq!(world.starting().count(), 0);
    assert!(world.state().instances().iter().all(|status| status.id != command), "a command is no instance");
    world.ends(&command, 0);
    assert_eq!(world.starting().count(), 2);
    world.bring_all_up();
    world.drain();
    let done = |name| (name, StepState::Done);
    assert_eq!(world.steps(), ["release", "start", "health", "switch", "drain"].map(done));
    assert_eq!((world.rollout(2).state, world.runs().len()), (WorkState::Succeeded, 1));
}

#[test]
fn a_release_command_that_fails_or_is_late_changes_nothing_and_says_so() {
    for late in [false, true] {
        let mut world = World::serving(1);
        world.desire(candidate(1, |rollout| rollout.release_command = hook(&["migrate"])));
        let (command, _) = world.runs().remove(0);
        world.event(RolloutEvent::Started { instance: command.clone(), pid: 9, port: 0, started_unix_ms: 5 });
        if late {
            world.pass(MINUTE);
            assert_eq!(world.stops(), std::slice::from_ref(&command));
        }
        world.ends(&command, 3);
        let failure = world.rollout(2).failure.unwrap();
        assert_eq!(failure.code, "rollout.command_failed");
        let words = if late { "did not end within 60 s" } else { "exit code 3" };
        assert!(
            failure.message.contains(words) && failure.message.contains("Live traffic is unaffected"),
            "{failure:?}"
        );
        assert_eq!((world.active(), world.starting().count()), (vec![("rel_1".into(), 1, 100)], 0));
        assert!(world.actions.contains(&RolloutAction::Forget { instance: command }));
        world.pass(MINUTE);
        assert_eq!(world.runs().len(), 1);
    }
}

#[test]
fn a_command_never_runs_twice_wherever_the_agent_dies() {
    let desired = || candidate(1, |rollout| rollout.release_command = hook(&["migrate"]));
    for (outcome, state) in [
        (Some(HookOutcome::Running { started_unix_ms: 1 }), WorkState::Running),
        (Some(HookOutcome::Ended(Exit { code: Some(0), ..Exit::default() })), WorkState::Running),
        (Some(HookOutcome::Ended(Exit { code: Some(1), ..Exit::default() })), WorkState::Failed),
        (Some(HookOutcome::Lost), WorkState::Failed),
        // No trace of it is left: it never started.
        (None, WorkState::Running),
    ] {
        let mut world = World::serving(1);
        world.desire(desired());
        let (command, kind) = world.runs().remove(0);
        world.restart();
        if let Some(outcome) = outcome.clone() {
            world.event(RolloutEvent::AdoptHook(AdoptedHook {
                instance: command.clone(),
                release: release(2).id,
                deployment: deployment(2),
                kind,
                stop_timeout: Duration::from_secs(1),
                outcome,
            }));
        }
        world.actions.retain(|action| !matches!(action, RolloutAction::Run { .. }));
        world.desire(desired());
        assert_eq!(world.runs().len(), usize::from(outcome.is_none()), "{outcome:?}");
        assert_eq!(world.rollout(2).state, state, "{outcome:?}");
        let running = matches!(outcome, None | Some(HookOutcome::Running { .. }));
        if running {
            assert_eq!(world.starting().count(), 0);
            world.ends(&command, 0);
        }
        assert_eq!(world.starting().count(), usize::from(state == WorkState::Running), "{outcome:?}");
        // Restart again after its end.
        world.restart();
        world.desire(desired());
        assert!(world.runs().len() <= 1 && world.rollout(2).state == state);
    }
}

#[test]
fn the_command_after_the_release_is_told_of_and_changes_nothing() {
    for code in [0, 1] {
        let mut world = World::serving(1);
        world.desire(candidate(1, |rollout| rollout.post_release_command = hook(&["warm-up"])));
        world.bring_all_up();
        assert!(world.runs().is_empty(), "not before it is live");
        world.drain();
        let [(command, HookKind::After)] = &world.runs()[..] else { panic!("{:?}", world.actions) };
        let command = command.clone();
        assert_eq!(world.rollout(2).state, WorkState::Running);
        world.ends(&command, code);
        assert_eq!((world.rollout(2).state, world.active()), (WorkState::Succeeded, vec![("rel_2".into(), 1, 100)]));
        let outcome = if code == 0 { StepState::Done } else { StepState::Failed };
        assert_eq!(world.steps().last(), Some(&("after", outcome)));
        let told = |action: &RolloutAction| matches!(action, RolloutAction::Log { text, .. } if text.contains("is live all the same"));
        assert_eq!(world.actions.iter().any(told), code != 0);
    }
}

#[test]
fn a_cancelled_rollout_ends_its_command() {
    let mut world = World::serving(1);
    world.desire(candidate(1, |rollout| rollout.release_command = hook(&["migrate"])));
    let (command, _) = world.runs().remove(0);
    world.event(RolloutEvent::Started { instance: command.clone(), pid: 9, port: 0, started_unix_ms: 5 });
    world.desire(spec(Some(1), None));
    assert_eq!((world.stops(), world.rollout(2).state), (vec![command], WorkState::Cancelled));
}

#[test]
fn instances_are_replaced_some_at_a_time_and_never_fewer_serve_than_before() {
    let mut world = World::serving(5);
    let rolling = || candidate(5, |rollout| rollout.batch_size = 2);
    world.desire(rolling());
    let mut seen = Vec::new();
    for part in 0..3 {
        let started = world.bring_all_up().len();
        let active = || world.active().iter().map(|(_, count, _)| count).sum::<usize>();
        assert!(active() >= 5, "{part}: {:?}", world.active());
        seen.push((started, world.active()));
        world.confirm();
        assert!(world.active().iter().map(|(_, count, _)| count).sum::<usize>() >= 5, "{part}: {:?}", world.active());
        assert_eq!(world.starting().count(), 0, "the next ones wait for those that leave");
        if part == 1 {
            // The agent may restart in the middle.
            world.restart();
            world.desire(rolling());
            world.all_well();
            assert_eq!(world.active(), [("rel_1".into(), 1, 100), ("rel_2".into(), 4, 100)]);
        }
        world.drain();
    }
    let both = |old, new| vec![("rel_1".to_owned(), old, 100), ("rel_2".to_owned(), new, 100)];
    assert_eq!(seen, [(2, both(5, 2)), (2, both(3, 4)), (1, vec![("rel_2".to_owned(), 5, 100)])]);
    assert_eq!(world.rollout(2).state, WorkState::Succeeded);
    let done = |name| (name, StepState::Done);
    assert!(world.steps().ends_with(&["switch", "drain"].map(done)), "{:?}", world.steps());
}

#[test]
fn a_part_that_fails_brings_the_old_instances_back_before_the_new_ones_go() {
    for crash in [true, false] {
        let mut world = World::serving(4);
        world.desire(candidate(4, |rollout| rollout.batch_size = 2));
        let first = world.bring_all_up();
        world.drain();
        assert_eq!(world.active(), [("rel_1".into(), 2, 100), ("rel_2".into(), 2, 100)]);
        assert_eq!(world.starting().count(), 2);
        let mut left = 2;
        if crash {
            world.crash(&first[0]);
            left = 1;
        } else {
            world.pass(Duration::from_secs(30));
        }
        assert_eq!(world.rollout(2).state, WorkState::Failed);
        assert_eq!(
            world.active(),
            [("rel_1".into(), 2, 100), ("rel_2".into(), left, 100)],
            "nobody else may serve yet"
        );
        world.bring_all_up();
        assert_eq!(world.active(), [("rel_1".into(), 4, 100)]);
        world.drain();
        assert!(world.state().instances().iter().all(|status| status.release == release(1).id));
    }
}

#[test]
fn a_refused_or_unconfirmed_part_leaves_all_old_instances_in_place() {
    for refuse in [true, false] {
        let mut world = World::serving(3);
        world.desire(candidate(3, |rollout| rollout.batch_size = 1));
        world.bring_all_up();
        if refuse {
            world.event(RolloutEvent::RoutesRefused(world.state().generation(), "no memory".into()));
        } else {
            world.pass(SWITCH_TIMEOUT);
        }
        assert_eq!((world.rollout(2).state, world.active()), (WorkState::Failed, vec![("rel_1".into(), 3, 100)]));
    }
}

fn trying(step_percents: &[u32]) -> Canary {
    Canary {
        step_percents: step_percents.to_vec(),
        step_duration: Duration::from_secs(30),
        error_increase_permille_max: 10,
        p99_ratio_permille_max: 2000,
        requests_min: 20,
    }
}

#[test]
fn a_canary_gets_its_shares_one_after_another_and_then_everything() {
    let mut world = World::serving(2);
    world.desire(candidate(2, |rollout| rollout.canary = Some(trying(&[10, 50]))));
    world.bring_all_up();
    for (percent, weights) in [(10, (180, 20)), (50, (100, 100))] {
        assert_eq!(world.active(), [("rel_1".into(), 2, weights.0), ("rel_2".into(), 2, weights.1)], "{percent} %");
        world.pass(Duration::from_secs(10));
        world.confirm();
        // The hold counts from the proxy's confirmation of the share.
        assert_eq!(world.state().next_deadline(), Some(world.at + Duration::from_secs(30)));
        world.event(RolloutEvent::Traffic("dep_2/old".into(), traffic(200, 0, 1000)));
        world.event(RolloutEvent::Traffic("dep_2/new".into(), traffic(200, 2, 1000)));
        world.pass(Duration::from_secs(29));
        assert_eq!(world.active().len(), 2);
        if percent == 50 {
            world.restart();
            world.desire(candidate(2, |rollout| rollout.canary = Some(trying(&[10, 50]))));
            assert_eq!(
                world.active(),
                [("rel_1".into(), 2, 100), ("rel_2".into(), 2, 100)],
                "it goes on with that share"
            );
            world.all_well();
            world.confirm();
            world.pass(Duration::from_secs(29));
        }
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.active(), [("rel_2".into(), 2, 100)]);
    world.drain();
    assert_eq!(world.rollout(2).state, WorkState::Succeeded);
    assert!(world.steps().contains(&("canary", StepState::Done)));
}

#[test]
fn a_canary_that_fails_more_or_is_slower_gives_everything_back_with_the_figures() {
    for (new, words) in [
        (traffic(40, 2, 1000), "2 of 40 requests to the new release failed (5.0 %), against 0 of 500"),
        (traffic(40, 0, 9000), "the p99 of the new release is 8.9 ms over 40 requests, against 1.0 ms over 500"),
    ] {
        let mut world = World::serving(2);
        world.desire(candidate(2, |rollout| (rollout.batch_size, rollout.canary) = (1, Some(trying(&[5])))));
        let started = world.bring_all_up();
        assert_eq!(started.len(), 1, "as many as are replaced at a time");
        world.event(RolloutEvent::Traffic("dep_2/new".into(), traffic(40, 40, 1)));
        world.confirm();
        world.event(RolloutEvent::Traffic("dep_2/old".into(), traffic(500, 0, 1000)));
        assert_eq!(world.rollout(2).state, WorkState::Running, "what came before the share was confirmed says nothing");
        world.event(RolloutEvent::Traffic("dep_2/new".into(), new));
        let failure = world.rollout(2).failure.unwrap();
        assert_eq!(failure.code, "rollout.canary_failed");
        assert!(
            failure.message.starts_with("At 5 % of the requests, ") && failure.message.contains(words),
            "{failure:?}"
        );
        assert_eq!(world.active(), [("rel_1".into(), 2, 100)]);
        assert_eq!(world.stops(), [], "what it has in flight is finished");
        world.drain();
        assert_eq!(world.stops(), started);
    }
}

#[test]
fn too_few_requests_decide_nothing_and_the_log_says_so() {
    let mut world = World::serving(1);
    world.desire(candidate(1, |rollout| rollout.canary = Some(trying(&[5]))));
    world.bring_all_up();
    world.confirm();
    world.event(RolloutEvent::Traffic("dep_2/new".into(), traffic(19, 19, 1000)));
    world.pass(Duration::from_secs(30));
    assert_eq!(world.active(), [("rel_2".into(), 1, 100)]);
    let told = |action: &RolloutAction| matches!(action, RolloutAction::Log { step: Step::Canary, text, .. } if text.contains("too few"));
    assert!(world.actions.iter().any(told));
}

#[test]
fn the_same_release_again_replaces_its_instances_and_can_be_cancelled() {
    let again = || {
        let mut spec = spec(Some(1), Some(2));
        spec.candidate.as_mut().unwrap().release = release(1);
        spec
    };
    for cancel in [false, true] {
        let mut world = World::serving(1);
        world.desire(again());
        let (old, new) = (InstanceId::parse("ins_1").unwrap(), InstanceId::parse("ins_2").unwrap());
        world.restart();
        world.desire(again());
        world.all_well();
        if cancel {
            world.desire(spec(Some(1), None));
            world.drain();
            assert_eq!(world.rollout(2).state, WorkState::Cancelled);
        } else {
            world.bring_all_up();
            world.drain();
            assert_eq!((world.rollout(2).state, world.stops()), (WorkState::Succeeded, vec![old.clone()]));
            world.desire(spec(Some(1), None));
        }
        let left: Vec<InstanceId> = world.state().instances().into_iter().map(|status| status.id).collect();
        if cancel {
            assert_eq!(left, [old]);
        } else {
            assert!(left.len() == 1 && left != [old] && left >= vec![new]);
        }
    }
}

fn sleepy() -> AppSpec {
    let scale = Autoscaling {
        instances_min: 0,
        instances_max: 4,
        idle_timeout: Duration::from_secs(300),
        in_flight_target: 10,
        cpu_millis_target: 0,
        wake_timeout: Duration::from_secs(30),
    };
    AppSpec { autoscaling: Some(scale), ..spec(Some(1), None) }
}

fn busy(in_flight: u32) -> RolloutEvent {
    RolloutEvent::Load(Load { requests: 1, in_flight, ..Load::default() })
}

#[test]
fn an_app_that_nobody_asks_sleeps_and_the_next_request_wakes_it_also_after_a_restart() {
    let mut world = World::new(AppRecord::default());
    world.desire(sleepy());
    world.bring_all_up();
    world.confirm();
    world.event(busy(1));
    for _ in 0..300 {
        world.at += Duration::from_secs(1);
        world.event(RolloutEvent::Load(Load::default()));
    }
    assert_eq!(world.active(), []);
    world.drain();
    let asleep = |world: &World| {
        let all = world.state().instances();
        assert!(matches!(&all[..], [one] if one.state == InstanceState::Asleep && one.pid == 0), "{all:?}");
        assert!(all[0].detail.contains("no request for 300 s"));
    };
    asleep(&world);
    assert_eq!(world.state().next_deadline(), None, "a sleeping app costs no tick");
    world.restart();
    world.desire(sleepy());
    asleep(&world);
    world.event(RolloutEvent::Load(Load::default()));
    asleep(&world);
    world.event(RolloutEvent::Wake);
    world.event(RolloutEvent::Wake);
    assert_eq!(world.starting().count(), 1);
    world.at += Duration::from_millis(420);
    world.bring_all_up();
    assert!(
        !world.actions.iter().any(|action| matches!(action, RolloutAction::Woken { .. })),
        "the proxy does not know yet"
    );
    world.confirm();
    let took = Duration::from_millis(420);
    assert_eq!(world.actions.iter().filter(|action| **action == RolloutAction::Woken { took }).count(), 1);
    assert_eq!(world.state().instances()[0].detail, "Woken by a request in 0.42 s.");
    world.event(RolloutEvent::Sleep);
    assert!(world.state().sleeps(), "a benchmark asked for it");
}

#[test]
fn an_app_with_a_minimum_of_instances_is_never_put_to_sleep() {
    let scale = sleepy().autoscaling.map(|scale| Autoscaling { instances_min: 2, ..scale });
    let mut world = World::new(AppRecord { scaled: Some(4), ..AppRecord::default() });
    world.desire(AppSpec { autoscaling: scale, ..sleepy() });
    world.bring_all_up();
    world.drain();
    let instances = |world: &World| world.active().iter().map(|(_, count, _)| *count).sum::<usize>();
    assert_eq!((instances(&world), world.state().may_sleep()), (4, false));
    world.event(RolloutEvent::Sleep);
    assert_eq!(instances(&world), 4);
}

#[test]
fn a_former_release_starts_with_a_request_and_sleeps_again_if_it_never_becomes_healthy() {
    let former = AppSpec { release_environment: Some(key().environment), ..sleepy() };
    let mut world = World::new(AppRecord::default());
    world.desire(former.clone());
    assert_eq!((world.starting().count(), world.state().sleeps()), (0, true));
    world.event(RolloutEvent::Wake);
    assert_eq!((world.starting().count(), world.state().sleeps()), (1, false));
    // Another version of the same state leaves it awake.
    world.desire(former);
    let mut pass = |seconds: u32| {
        for _ in 0..seconds {
            world.at += Duration::from_secs(1);
            world.event(RolloutEvent::Load(Load::default()));
        }
        world.state().sleeps()
    };
    assert_eq!([pass(300), pass(300)], [false, true]);
}

#[test]
fn a_release_that_is_deployed_while_the_app_sleeps_is_tried_all_the_same() {
    let mut world = World::new(AppRecord { scaled: Some(0), ..AppRecord::default() });
    world.desire(sleepy());
    assert_eq!(world.starting().count(), 0);
    world.desire(AppSpec { candidate: spec(None, Some(2)).candidate, ..sleepy() });
    world.bring_all_up();
    world.drain();
    assert_eq!((world.rollout(2).state, world.active()), (WorkState::Succeeded, vec![("rel_2".into(), 1, 100)]));
}

#[test]
fn instances_follow_the_load_and_the_record_keeps_their_number() {
    let mut world = World::new(AppRecord::default());
    world.desire(sleepy());
    world.bring_all_up();
    world.confirm();
    for _ in 0..4 {
        world.at += Duration::from_secs(1);
        world.event(busy(25));
    }
    world.bring_all_up();
    assert_eq!(world.active(), [("rel_1".into(), 3, 100)]);
    world.restart();
    world.desire(sleepy());
    assert_eq!((world.active(), world.starting().count()), (vec![("rel_1".into(), 3, 100)], 0));
    world.desire(spec(Some(1), None));
    assert_eq!(world.active(), [("rel_1".into(), 1, 100)], "without scaling it has what was set");
}
