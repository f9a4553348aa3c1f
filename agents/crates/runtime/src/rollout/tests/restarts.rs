//! Tests of an agent that restarts with or without running instances.

use super::*;

fn adopted(instance: &InstanceId, number: u64, by: Option<u64>) -> RolloutEvent {
    RolloutEvent::Adopt(AdoptedInstance {
        secrets: None,
        instance: instance.clone(),
        release: release(number).id,
        deployment: by.map(deployment),
        pid: 7,
        address: Some(address(number)),
        started_unix_ms: 5,
        restarts: 0,
        drain_timeout: Duration::from_secs(30),
        stop_timeout: Duration::from_secs(10),
    })
}

/// Restarts the agent with the record and the instances that still run.
fn restart(world: &World, running: &[(&InstanceId, u64, Option<u64>)]) -> World {
    let mut next = World::new(world.state().record());
    (next.made, next.at) = (100, world.at + Duration::from_secs(5));
    for (instance, number, by) in running {
        next.event(adopted(instance, *number, *by));
    }
    next
}

#[test]
fn an_agent_that_restarts_adopts_what_runs_and_starts_nothing() {
    let world = World::serving_one();
    let mut next = restart(&world, &[(&world.instance(1), 1, None)]);
    next.desire(spec(Some(1), None));
    assert_eq!(next.actions, []);
    assert_eq!(next.routes(), (vec![address(1)], vec![]), "it serves before its first check");
}

#[test]
fn an_agent_that_restarts_midway_goes_on_with_the_same_candidate() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let (old, new) = (world.instance(1), world.started(2));
    let mut next = restart(&world, &[(&old, 1, None), (&new, 2, Some(2))]);
    next.desire(spec(Some(1), Some(2)));
    assert!(
        !next.actions.iter().any(|action| matches!(action, RolloutAction::Start { .. } | RolloutAction::Stop { .. }))
    );
    next.healthy(&new, 2);
    next.confirm();
    assert_eq!(next.routes(), (vec![address(2)], vec![address(1)]));
    next.at += Duration::from_secs(1);
    next.in_flight(old.clone(), 0);
    next.event(RolloutEvent::Exited { instance: old, exit: Exit::default() });
    assert_eq!(next.rollout(2).state, WorkState::Succeeded);
}

#[test]
fn an_agent_that_restarts_after_the_switch_does_not_bring_the_old_release_back() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    let (old, new) = (world.instance(1), world.bring_up(2));
    world.confirm();
    let mut next = restart(&world, &[(&old, 1, None), (&new, 2, Some(2))]);
    next.desire(spec(Some(1), Some(2)));
    assert_eq!(next.routes(), (vec![address(2)], vec![address(1)]));
    next.confirm();
    next.pass(Duration::from_secs(31));
    assert_eq!(next.stops(), std::slice::from_ref(&old));
    next.event(RolloutEvent::Exited { instance: old, exit: Exit::default() });
    assert_eq!(next.rollout(2).state, WorkState::Succeeded);
}

#[test]
fn a_rollout_that_had_failed_before_a_restart_is_not_tried_again() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    world.started(2);
    world.pass(Duration::from_secs(31));
    let mut next = restart(&world, &[(&world.instance(1), 1, None)]);
    next.desire(spec(Some(1), Some(2)));
    assert_eq!(next.actions, []);
    assert_eq!(next.rollout(2).state, WorkState::Failed);
}

#[test]
fn after_a_reboot_the_promoted_release_starts_although_desired_state_does_not_know_it_yet() {
    let mut world = World::serving_one();
    world.desire(spec(Some(1), Some(2)));
    world.bring_up(2);
    world.confirm();
    let mut next = restart(&world, &[]);
    next.desire(spec(Some(1), Some(2)));
    next.instance(2);
    assert!(!next.actions.iter().any(|a| matches!(a, RolloutAction::Start { release, .. } if release.number == 1)));
}
