//! Tests of the workers' state machine, without processes or clocks.

use super::*;
use fairlead_model::{AppId, ArtifactKind, EnvironmentId, HealthCheck};

fn release(id: &str, workers: &[(&str, u32)]) -> ReleaseSpec {
    let worker = |(name, instances): &(&str, u32)| ProcessSpec {
        name: (*name).into(),
        command: vec!["work".into()],
        instances: *instances,
        memory_bytes_max: 0,
        cpu_millis_max: 0,
        stays_awake: false,
    };
    ReleaseSpec {
        id: ReleaseId::parse(id).unwrap(),
        number: 1,
        artifact_digest: String::new(),
        command: vec!["serve".into()],
        variables: BTreeMap::new(),
        readiness_check: HealthCheck {
            path: String::new(),
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            command: Vec::new(),
        },
        drain_timeout: Duration::from_secs(1),
        stop_timeout: Duration::from_secs(5),
        memory_bytes_max: 0,
        secrets: None,
        artifact_kind: ArtifactKind::Archive,
        workers: workers.iter().map(worker).collect(),
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

struct World {
    workers: Workers,
    at: Duration,
    made: u32,
    sleeps: bool,
}

impl World {
    fn new() -> Self {
        Self { workers: Workers::default(), at: Duration::from_secs(100), made: 0, sleeps: false }
    }

    fn reconcile(&mut self, release: Option<&ReleaseSpec>, ready: bool) -> Vec<WorkerAction> {
        let made = &mut self.made;
        let mut new_instance = || {
            *made += 1;
            InstanceId::parse(&format!("ins_{made}")).unwrap()
        };
        let target = release.map(|release| WorkerTarget { release, deployment: None, sleeps: self.sleeps });
        self.workers.reconcile(target, ready, self.at, &mut new_instance)
    }

    fn start(&mut self, actions: &[WorkerAction]) -> Vec<InstanceId> {
        let mut started = Vec::new();
        for action in actions {
            if let WorkerAction::Start { instance, .. } = action {
                self.workers.started(instance, 7, 1, self.at);
                started.push(instance.clone());
            }
        }
        started
    }

    fn states(&self) -> Vec<InstanceState> {
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        self.workers.statuses(&key).iter().map(|status| status.state).collect()
    }
}

#[test]
fn every_process_runs_as_often_as_the_release_says_once_its_folder_is_there() {
    let mut world = World::new();
    let one = release("rel_1", &[("queue", 2), ("clock", 1)]);
    assert_eq!(world.reconcile(Some(&one), false), []);
    assert_eq!(world.workers.due(), None, "nothing to wait for but the folder");
    let actions = world.reconcile(Some(&one), true);
    assert_eq!(world.start(&actions).len(), 3);
    assert_eq!(world.states(), [InstanceState::Healthy; 3]);
    assert_eq!(world.reconcile(Some(&one), true), []);
}

#[test]
fn a_new_releases_workers_begin_once_the_old_ones_have_ended() {
    let mut world = World::new();
    let (one, two) = (release("rel_1", &[("queue", 1)]), release("rel_2", &[("queue", 1)]));
    let actions = world.reconcile(Some(&one), true);
    let old = world.start(&actions).remove(0);
    assert_eq!(
        world.reconcile(Some(&two), true),
        [WorkerAction::Stop { instance: old.clone(), stop_timeout: Duration::from_secs(5) }]
    );
    assert_eq!(world.states(), [InstanceState::Draining]);
    assert_eq!(world.reconcile(Some(&two), true), [], "not beside the old one");
    // An unconfirmed stop is requested again.
    world.at = world.workers.due().unwrap();
    assert_eq!(world.reconcile(Some(&two), true).len(), 1);
    let forgotten = world.workers.exited(&old, &Exit::default(), world.at);
    assert_eq!(forgotten, [WorkerAction::Forget { instance: old }]);
    let actions = world.reconcile(Some(&two), true);
    assert!(matches!(&actions[..], [WorkerAction::Start { release, .. }] if release.id == two.id));
}

#[test]
fn a_worker_that_ends_is_started_again_ever_later_and_given_up_in_the_end() {
    let mut world = World::new();
    let one = release("rel_1", &[("queue", 1)]);
    let actions = world.reconcile(Some(&one), true);
    let id = world.start(&actions).remove(0);
    let mut starts = 1;
    let exit = Exit { code: Some(3), ..Exit::default() };
    while !world.states().contains(&InstanceState::CrashLooping) {
        assert_eq!(world.workers.exited(&id, &exit, world.at), []);
        if world.states() == [InstanceState::CrashLooping] {
            break;
        }
        assert_eq!(world.states(), [InstanceState::Crashed]);
        assert_eq!(world.reconcile(Some(&one), true), [], "not before its pause is over");
        world.at = world.workers.due().unwrap();
        let actions = world.reconcile(Some(&one), true);
        starts += world.start(&actions).len();
    }
    assert_eq!(starts, 10);
    // A new deployment retries at once; without one the retry comes after a long pause.
    let two = release("rel_2", &[("queue", 1)]);
    let actions = world.reconcile(Some(&two), true);
    assert!(matches!(&actions[..], [WorkerAction::Forget { .. }, WorkerAction::Start { .. }]), "{actions:?}");
}

#[test]
fn workers_sleep_and_wake_with_their_app_but_for_those_that_stay_awake() {
    let mut world = World::new();
    let mut one = release("rel_1", &[("queue", 1), ("clock", 1)]);
    one.workers[1].stays_awake = true;
    let actions = world.reconcile(Some(&one), true);
    world.start(&actions);
    world.sleeps = true;
    let actions = world.reconcile(Some(&one), true);
    let [WorkerAction::Stop { instance: queue, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(world.reconcile(Some(&one), true), []);
    // The app wakes while its worker stops: a new one starts after that.
    world.sleeps = false;
    assert_eq!(world.reconcile(Some(&one), true), []);
    world.workers.exited(queue, &Exit::default(), world.at);
    let actions = world.reconcile(Some(&one), true);
    assert!(matches!(&actions[..], [WorkerAction::Start { process, .. }] if process.name == "queue"), "{actions:?}");
    world.start(&actions);
    // A worker that waits after a crash is not started while the app sleeps.
    let actions = world.start(&actions);
    world.workers.exited(&actions[0], &Exit::default(), world.at);
    world.sleeps = true;
    assert!(matches!(&world.reconcile(Some(&one), true)[..], [WorkerAction::Forget { .. }]));
    assert_eq!(world.states(), [InstanceState::Healthy], "the clock goes on");
}

#[test]
fn an_app_that_goes_takes_its_workers_with_it_and_fewer_copies_stop_those_that_wait_first() {
    let mut world = World::new();
    let actions = world.reconcile(Some(&release("rel_1", &[("queue", 2)])), true);
    let ids = world.start(&actions);
    world.workers.exited(&ids[0], &Exit::default(), world.at);
    let actions = world.reconcile(Some(&release("rel_1", &[("queue", 1)])), true);
    assert_eq!(actions, [WorkerAction::Forget { instance: ids[0].clone() }]);
    assert!(matches!(&world.reconcile(None, true)[..], [WorkerAction::Stop { instance, .. }] if *instance == ids[1]));
    world.workers.exited(&ids[1], &Exit::default(), world.at);
    assert!(world.workers.is_empty());
}
