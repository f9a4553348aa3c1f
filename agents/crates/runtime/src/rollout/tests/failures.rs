//! Releases that don't start: their failure, and that the old release keeps serving.

use super::*;

#[test]
fn a_candidate_that_never_listens_fails_with_a_sentence_and_the_live_release_keeps_serving() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    let result = Err(HealthCheckFailure::Refused { listening: vec![8080] });
    world.event(RolloutEvent::HealthChecked { instance: new.clone(), result });
    world.pass(Duration::from_secs(30));
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "rollout.wrong_port");
    assert!(failure.message.contains("didn't listen on port 20002 within 30 s. It listened on 8080"), "{failure:?}");
    assert!(failure.message.contains("PORT"));
    assert_eq!(world.stops(), std::slice::from_ref(&new));
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
    assert!(
        world.actions.iter().any(|action| matches!(action, RolloutAction::Tail { instance, .. } if *instance == new))
    );

    let started = world.actions.len();
    world.event(RolloutEvent::Exited { instance: new, exit: Exit::default() });
    world.pass(Duration::from_secs(60));
    let later = &world.actions[started..];
    assert!(
        !later.iter().any(|action| matches!(action, RolloutAction::Start { .. })),
        "a failed rollout isn't tried again"
    );
}

#[test]
fn a_candidate_that_settles_on_other_ports_fails_before_its_time_is_over() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    let probe = |world: &mut World, result| world.event(RolloutEvent::HealthChecked { instance: new.clone(), result });
    let elsewhere = || Err(HealthCheckFailure::Elsewhere { ports: vec![8080] });
    for _ in 0..5 {
        probe(&mut world, elsewhere());
    }
    assert_eq!(world.rollout(2).state, WorkState::Running, "it may still open its own");
    world.pass(Duration::from_secs(4));
    probe(&mut world, Err(HealthCheckFailure::Refused { listening: vec![] }));
    world.pass(Duration::from_secs(4));
    probe(&mut world, elsewhere());
    probe(&mut world, elsewhere());
    probe(&mut world, elsewhere());
    assert_eq!(world.rollout(2).state, WorkState::Running, "these are counted anew");
    world.pass(Duration::from_secs(5));
    probe(&mut world, elsewhere());
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "rollout.wrong_port");
    assert!(failure.message.contains("listens on 8080 instead of port 20002"), "{failure:?}");
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
}

#[test]
fn a_candidate_that_was_refused_another_port_fails_at_once() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    let exit = Exit { code: Some(1), port_refused: true, ..Exit::default() };
    world.event(RolloutEvent::Exited { instance: new, exit });
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "rollout.wrong_port");
    assert!(failure.message.contains("another port than 20002"), "{failure:?}");
}

#[test]
fn every_reason_not_to_be_healthy_has_its_own_sentence() {
    for (probe, code, words) in [
        (HealthCheckFailure::Refused { listening: vec![] }, "rollout.not_listening", "no port at all"),
        (HealthCheckFailure::Refused { listening: vec![20002] }, "rollout.wrong_port", "not where Fairlead asks"),
        (HealthCheckFailure::Elsewhere { ports: vec![8080] }, "rollout.wrong_port", "It listened on 8080"),
        (HealthCheckFailure::Foreign, "rollout.port_taken", "Another program on this server"),
        (HealthCheckFailure::TimedOut, "rollout.unhealthy", "did not answer GET /healthz"),
        (HealthCheckFailure::Status(503), "rollout.unhealthy", "with 503"),
        (HealthCheckFailure::Broken, "rollout.unhealthy", "plain HTTP"),
    ] {
        let mut world = World::serving_one();
        world.desire(spec(Some(1), Some(2)));
        let new = world.started(2);
        world.event(RolloutEvent::HealthChecked { instance: new, result: Err(probe) });
        world.pass(Duration::from_secs(30));
        let failure = world.rollout(2).failure.unwrap();
        assert_eq!(failure.code, code);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[test]
fn a_crash_loop_fails_the_rollout_after_six_crashes_and_says_how_the_app_ended() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    for crash in 1..=6 {
        let new = world.started(2);
        world.crash(&new);
        if crash < 6 {
            assert_eq!(world.rollout(2).state, WorkState::Running, "crash {crash}");
            world.pass(Duration::from_secs(3));
        }
    }
    let status = world.rollout(2);
    assert_eq!(status.state, WorkState::Failed);
    assert_eq!(status.steps.last().unwrap().state, StepState::Failed);
    let failure = status.failure.unwrap();
    assert_eq!(failure.code, "rollout.crash_loop");
    assert!(failure.message.contains("exit code 1"), "{failure:?}");
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
}

fn ends(world: &mut World, instance: InstanceId, code: i32) {
    let exit = Exit { code: Some(code), ..Exit::default() };
    world.event(RolloutEvent::Exited { instance, exit });
}

#[test]
fn a_program_that_exits_with_0_twice_without_listening_is_no_server() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    ends(&mut world, new, 0);
    assert_eq!(world.rollout(2).state, WorkState::Running, "it may have prepared something");
    world.pass(Duration::from_secs(1));
    let again = world.started(2);
    let nothing = Err(HealthCheckFailure::Refused { listening: vec![] });
    world.event(RolloutEvent::HealthChecked { instance: again.clone(), result: nothing });
    ends(&mut world, again, 0);
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "rollout.ended");
    for words in ["exit code 0", "never listened", "Settings → Runtime → Workers", "release command", "start command `"]
    {
        assert!(failure.message.contains(words), "{failure:?}");
    }
    assert_eq!(world.routes(), (vec![address(1)], vec![]));
}

#[test]
fn a_program_that_exits_with_0_after_an_error_fails_with_that_error() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    for _ in 0..2 {
        let instance = world.started(2);
        let crash =
            Crash { reason: Some(CrashReason::WriteDenied), line: "EACCES: permission denied, rmdir 'dist'".into() };
        world.event(RolloutEvent::Exited {
            instance,
            exit: Exit { code: Some(0), crash: Some(crash), ..Exit::default() },
        });
        world.pass(Duration::from_secs(1));
    }
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(failure.code, "rollout.write_denied");
    assert!(failure.message.contains("exit code 0: `EACCES: permission denied, rmdir 'dist'`."), "{failure:?}");
}

#[test]
fn a_server_that_exits_with_0_is_tried_as_often_as_one_that_crashes() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    for end in 1..=6 {
        let new = world.started(2);
        let elsewhere = Err(HealthCheckFailure::Refused { listening: vec![8080] });
        world.event(RolloutEvent::HealthChecked { instance: new.clone(), result: elsewhere });
        // An exit after listening resets the count of silent exits.
        ends(&mut world, new, 0);
        if end < 6 {
            assert_eq!(world.rollout(2).state, WorkState::Running, "end {end}");
            world.pass(Duration::from_secs(3));
        }
    }
    assert_eq!(world.rollout(2).failure.unwrap().code, "rollout.crash_loop");
}

#[test]
fn a_program_that_exits_with_0_shortly_before_the_deadline_is_no_server() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let new = world.started(2);
    world.pass(Duration::from_secs(29));
    ends(&mut world, new, 0);
    world.instance(2);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.rollout(2).failure.unwrap().code, "rollout.ended");
}

#[test]
fn a_crash_quotes_the_line_of_the_app_and_names_the_next_step() {
    let line = "listen tcp :80: bind: permission denied";
    for (reason, code, words) in [
        (None, "rollout.crash_loop", "in the log"),
        (Some(CrashReason::PortDenied), "rollout.wrong_port", "PORT variable"),
        (Some(CrashReason::PortTaken), "rollout.port_taken", "one server"),
        (Some(CrashReason::Variable("API_KEY".into())), "rollout.variable_missing", "needs `API_KEY`"),
        (Some(CrashReason::Module), "rollout.module_missing", "dependencies"),
        (Some(CrashReason::WriteDenied), "rollout.write_denied", "its own folder"),
        (Some(CrashReason::Service), "rollout.service_unreachable", "DATABASE_URL"),
        (Some(CrashReason::Program), "rollout.start_failed", "The start command `"),
    ] {
        let mut world = World::serving_one();
        world.desire(spec(Some(1), Some(2)));
        for _ in 1..=6 {
            let instance = world.started(2);
            let crash = Some(Crash { reason: reason.clone(), line: line.into() });
            world.event(RolloutEvent::Exited { instance, exit: Exit { code: Some(1), crash, ..Exit::default() } });
            world.pass(Duration::from_secs(3));
        }
        let failure = world.rollout(2).failure.unwrap();
        assert_eq!(failure.code, code, "{failure:?}");
        assert!(failure.message.contains(&format!("with exit code 1: `{line}`.")), "{failure:?}");
        assert!(failure.message.contains(words), "{failure:?}");
    }
}

#[test]
fn a_program_that_is_not_there_fails_the_rollout_at_once() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let instance = world.instance(2);
    let exit = Exit { start_error: Some("There is no program `nodee`.".into()), ..Exit::default() };
    world.event(RolloutEvent::Exited { instance, exit });
    let failure = world.rollout(2).failure.unwrap();
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("rollout.start_failed", "There is no program `nodee`.")
    );
}

#[test]
fn a_start_that_the_disk_has_no_room_for_has_a_code_of_its_own() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let instance = world.instance(2);
    let exit = Exit { start_error: Some("No room.".into()), disk_full: true, ..Exit::default() };
    world.event(RolloutEvent::Exited { instance, exit });
    assert_eq!(world.rollout(2).failure.unwrap().code, "rollout.disk_full");
}

#[test]
fn an_artifact_that_is_missing_fails_the_rollout_with_what_the_store_said() {
    let mut state = AppState::new(key(), AppRecord::default());
    let now = Now { at: Duration::from_secs(1), unix_ms: 1 };
    let mut new_instance = || InstanceId::parse("ins_1").unwrap();
    let mut context = RolloutContext { now, new_instance: &mut new_instance };
    let failure = Failure { code: "rollout.artifact_missing".into(), message: "gone".into() };
    for event in [
        RolloutEvent::Desired(Box::new(spec(None, Some(2)))),
        RolloutEvent::PrepareFailed(release(2).id, failure.clone()),
    ] {
        (state, _) = step(state, event, &mut context);
    }
    assert_eq!(state.rollouts().next().unwrap().failure, Some(failure));
    assert!(state.instances().is_empty());
}
