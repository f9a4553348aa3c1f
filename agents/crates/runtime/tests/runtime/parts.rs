//! Integration tests of rollouts in parts: commands that run once, batches, restarts of the same release, and sleep.

use fairlead_model::{Autoscaling, Hook, Step, StepState};
use fairlead_runtime::rollout::Load;

use super::*;

fn command(arguments: &[&str], timeout: Duration) -> Option<Hook> {
    Some(Hook { command: release(0, arguments).command, timeout })
}

fn migrations(server: &Server) -> String {
    std::fs::read_to_string(server.folders.homes().join("app_a-env_p/migrations")).unwrap_or_default()
}

fn candidate(spec: AppSpec, release: ReleaseSpec, change: impl FnOnce(&mut Rollout)) -> AppSpec {
    let mut spec = with_candidate(spec, release, PATIENCE);
    change(spec.candidate.as_mut().unwrap());
    spec
}

fn step(status: &RolloutStatus, step: Step) -> Option<StepState> {
    status.steps.iter().find(|one| one.step == step).map(|one| one.state)
}

impl Server {
    /// Returns the log of one step.
    fn log_of(&mut self, step: Step) -> String {
        let lines = std::iter::from_fn(|| self.output.log.try_recv().ok());
        lines.filter(|(_, line)| line.step == step).map(|(_, line)| line.text + "\n").collect()
    }
}

#[tokio::test]
async fn the_release_command_runs_once_as_the_app_and_its_output_is_in_the_log() {
    let mut server = Server::new().await;
    let first = live(release(1, &["serve", "one"]));
    server.desire([first.clone()]);
    server.healthy(1).await;
    let rolling = candidate(first, release(2, &["serve", "two"]), |rollout| {
        rollout.release_command = command(&["migrate", "up"], PATIENCE);
        rollout.post_release_command = command(&["migrate", "after"], PATIENCE);
    });
    server.desire([rolling.clone()]);
    let status = server.finished("dep_2").await;
    assert_eq!(status.state, WorkState::Succeeded, "{status:?}");
    assert_eq!([Step::Release, Step::After].map(|one| step(&status, one)), [Some(StepState::Done); 2]);
    assert_eq!(migrations(&server), "up\nafter\n");
    let log = server.log_of(Step::Release);
    let identities = Identities::open(&server.folders).unwrap();
    let user = identities.user_for("run/app_a/env_p").unwrap();
    let user = user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    assert!(log.contains(&format!("migrating as {user} with hello, port \"\"")), "{log}");
    // A restarted agent does not run anything again.
    server.restart_agent().await;
    server.desire([rolling]);
    server.healthy(1).await;
    assert_eq!(migrations(&server), "up\nafter\n");
    server.end().await;
}

#[tokio::test]
async fn a_release_command_that_fails_or_takes_too_long_leaves_everything_as_it_was() {
    let mut server = Server::new().await;
    let first = live(release(1, &["serve", "one"]));
    server.desire([first.clone()]);
    let old = server.healthy(1).await.remove(0);
    let short = Duration::from_millis(700);
    for (number, word, limit, words) in
        [(2, "fails", PATIENCE, "exit code 4"), (3, "waits", short, "did not end within 0.7 s")]
    {
        server.desire([candidate(first.clone(), release(number, &["serve", "new"]), |rollout| {
            rollout.release_command = command(&["migrate", word], limit);
        })]);
        let failure = server.finished(&format!("dep_{number}")).await.failure.unwrap();
        assert_eq!(failure.code, "rollout.command_failed");
        assert!(failure.message.contains(words), "{}", failure.message);
        let log = server.log_of(Step::Release);
        assert!(log.contains("migrating as"), "{log}");
    }
    server.desire([first]);
    let same = server.healthy(1).await.remove(0);
    assert_eq!((same.id, same.pid), (old.id, old.pid));
    server.end().await;
}

/// Returns when the end of any instance is recorded.
async fn recorded_exit(server: &Server) {
    let ended = || {
        let mut folders = std::fs::read_dir(server.folders.instances()).unwrap().flatten();
        folders.any(|folder| folder.path().join("exit.json").exists())
    };
    while !ended() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns when this number of shims is left that an agent could reach.
async fn sockets(server: &Server, count: usize) {
    let left = || std::fs::read_dir(server.folders.run()).unwrap().count();
    while left() > count {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_instance_that_ends_before_the_first_state_is_started_again() {
    let mut server = Server::new().await;
    let spec = live(release(1, &["serve", "one"]));
    server.desire([spec.clone()]);
    let first = server.healthy(1).await.remove(0);
    server.restart_agent().await;
    let pid = rustix::process::Pid::from_raw(first.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    recorded_exit(&server).await;
    sockets(&server, 0).await;
    server.desire([spec]);
    server.until("the restart", |view| view.instances.iter().any(|one| one.restarts == 1).then_some(())).await;
    let second = server.healthy(1).await.remove(0);
    assert_ne!(second.pid, first.pid);
    server.end().await;
}

#[tokio::test]
async fn a_release_command_outlives_the_agent_and_is_not_run_again() {
    let mut server = Server::new().await;
    let first = live(release(1, &["serve", "one"]));
    server.desire([first.clone()]);
    server.healthy(1).await;
    let other = Server::new().await;
    for (number, ends) in [(2, "without an agent"), (3, "before the first state"), (4, "later")] {
        let rolling = candidate(first.clone(), release(number, &["serve", "new"]), |rollout| {
            rollout.release_command = command(&["migrate", "waits", &number.to_string()], PATIENCE);
        });
        let go_on = server.folders.homes().join("app_a-env_p/go-on");
        server.desire([rolling.clone()]);
        let wanted = format!("waits {number}\n");
        while !migrations(&server).ends_with(&wanted) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Dropping the last handle ends the task.
        server.runtime = other.runtime.clone();
        while server.output.view.changed().await.is_ok() {}
        if ends == "without an agent" {
            std::fs::write(&go_on, "").unwrap();
            recorded_exit(&server).await;
        }
        server.restart_agent().await;
        if ends == "before the first state" {
            std::fs::write(&go_on, "").unwrap();
            recorded_exit(&server).await;
            sockets(&server, 1).await;
        }
        std::fs::write(&go_on, "").unwrap();
        server.desire([rolling]);
        let status = server.finished(&format!("dep_{number}")).await;
        assert_eq!(status.state, WorkState::Succeeded, "{ends}: {status:?}");
        assert_eq!(migrations(&server).matches(&wanted).count(), 1);
        server.desire([live(release(number, &["serve", "new"]))]);
        server.healthy(1).await;
        std::fs::remove_file(&go_on).unwrap();
    }
    other.end().await;
    server.end().await;
}

#[tokio::test]
async fn instances_are_replaced_one_by_one_and_the_same_release_can_be_started_again() {
    let mut server = Server::new().await;
    let first = AppSpec { instances: 2, ..live(release(1, &["serve", "one"])) };
    server.desire([first.clone()]);
    let old = server.healthy(2).await;
    // The same release: a restart.
    let mut again = candidate(first.clone(), release(1, &["serve", "one"]), |rollout| rollout.batch_size = 1);
    again.candidate.as_mut().unwrap().deployment = DeploymentId::parse("dep_again").unwrap();
    server.desire([again]);
    let mut fewest = usize::MAX;
    let status = server
        .until("the end of the rollout", |view| {
            let routed = view.upstreams[&key("app_a")].iter().filter(|upstream| !upstream.draining).count();
            fewest = fewest.min(routed);
            view.rollouts.iter().find(|one| one.state != WorkState::Running).cloned()
        })
        .await;
    assert_eq!((status.state, fewest), (WorkState::Succeeded, 2), "{status:?}");
    server.desire([first]);
    let new = server.healthy(2).await;
    assert!(new.iter().all(|one| old.iter().all(|other| other.id != one.id)), "{old:?} {new:?}");
    for one in &old {
        gone(one.pid).await;
    }
    server.end().await;
}

#[tokio::test]
async fn an_app_that_nobody_asks_sleeps_also_over_a_restart_and_a_call_wakes_it() {
    let mut server = Server::new().await;
    let scale = Autoscaling {
        instances_min: 0,
        instances_max: 2,
        idle_timeout: Duration::from_millis(200),
        in_flight_target: 0,
        cpu_millis_target: 0,
        wake_timeout: Duration::from_secs(30),
    };
    let mut with_worker = release(1, &["serve", "one"]);
    with_worker.workers = vec![fairlead_model::ProcessSpec {
        name: "queue".into(),
        command: vec![with_worker.command[0].clone(), "worker".into()],
        instances: 1,
        memory_bytes_max: 0,
        cpu_millis_max: 0,
        stays_awake: false,
    }];
    let spec = AppSpec { autoscaling: Some(scale), ..live(with_worker) };
    let web = |statuses: Vec<InstanceStatus>| statuses.into_iter().find(|status| status.process == "web").unwrap();
    server.desire([spec.clone()]);
    let both = server.healthy(2).await;
    let worker = both.iter().find(|status| status.process == "queue").unwrap().pid;
    let before = web(both);
    server.runtime.autoscale_input(vec![(key("app_a"), Load { requests: 1, ..Load::default() })]);
    tokio::time::sleep(Duration::from_millis(250)).await;
    server.runtime.autoscale_input(vec![(key("app_a"), Load::default())]);
    let asleep = |view: &RuntimeView| {
        let [one] = &view.instances[..] else { return None };
        (one.state == InstanceState::Asleep && view.upstreams[&key("app_a")].is_empty()).then(|| one.id.clone())
    };
    let id = server.until("sleep", asleep).await;
    gone(before.pid).await;
    gone(worker).await;
    server.restart_agent().await;
    server.desire([spec.clone()]);
    server.until("sleep after a restart", asleep).await;
    server.runtime.wake(key("app_a"));
    let woken = web(server.healthy(2).await);
    assert_ne!(woken.id, before.id, "{id}");
    assert_eq!(get(address(&woken)).await, "one");
    server
        .until("the time it took", |view| view.wakes.get(&key("app_a")).filter(|wakes| wakes.count == 1).copied())
        .await;
    assert!(server.runtime.sleep(key("app_a")).await);
    server.until("sleep of a benchmark", asleep).await;
    let kept = spec.autoscaling.clone().map(|scale| Autoscaling { instances_min: 1, ..scale });
    server.desire([AppSpec { autoscaling: kept, ..spec }]);
    server.healthy(2).await;
    assert!(!server.runtime.sleep(key("app_a")).await, "its minimum of instances is 1");
    server.end().await;
}
