//! Workers, checks and volumes with real processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::Trash;
use fairlead_model::{
    AppSpec, HealthCheck, InstanceState, InstanceStatus, ProcessSpec, ReleaseSpec, VolumeKey, VolumeMount, WorkState,
};
use fairlead_runtime::{set_aside_volume, volumes_used};
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Server, address, alive, get, gone, key, live, release, with_candidate};

fn with_workers(number: u64) -> ReleaseSpec {
    let web = release(number, &["serve", "web"]);
    let program = web.command[0].clone();
    let worker = ProcessSpec {
        name: "queue".into(),
        command: vec![program, "worker".into()],
        instances: 2,
        memory_bytes_max: 0,
        cpu_millis_max: 0,
        stays_awake: false,
    };
    ReleaseSpec { workers: vec![worker], ..web }
}

fn home(server: &Server) -> PathBuf {
    server.folders.homes().join("app_a-env_p")
}

/// Returns the content of a file that an app is about to write.
async fn content(path: &Path) -> String {
    let found = timeout(PATIENCE, async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) => return text,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    });
    found.await.unwrap_or_else(|_| panic!("{} was not written", path.display()))
}

fn workers(statuses: &[InstanceStatus]) -> Vec<u32> {
    let mut pids: Vec<u32> =
        statuses.iter().filter(|status| status.process == "queue").map(|status| status.pid).collect();
    pids.sort_unstable();
    pids
}

#[tokio::test]
async fn workers_follow_the_release_that_serves_and_outlive_the_agent() {
    let mut server = Server::new().await;
    let first = live(with_workers(1));
    server.desire([first.clone()]);
    let statuses = server.healthy(3).await;
    let old = workers(&statuses);
    assert_eq!(old.len(), 2);
    assert!(statuses.iter().all(|status| (status.port == 0) == (status.process == "queue")));
    let routed = server.output.view.borrow().upstreams[&key("app_a")].len();
    assert_eq!(routed, 1, "no request goes to a worker");
    for pid in &old {
        assert_eq!(content(&home(&server).join(format!("works-rel_1-{pid}"))).await, "", "a worker has no port");
    }

    // A failed rollout leaves them alone.
    server.desire([with_candidate(first.clone(), release(2, &["crash"]), PATIENCE)]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Failed);
    server.desire([first.clone()]);
    assert_eq!(workers(&server.healthy(3).await), old);

    // A restarted agent adopts them.
    server.restart_agent().await;
    server.desire([first.clone()]);
    let adopted = server.healthy(3).await;
    assert_eq!(workers(&adopted), old);
    assert!(adopted.iter().all(|status| status.restarts == 0));

    // A worker that dies is restarted; the other keeps running.
    let pid = rustix::process::Pid::from_raw(old[0].cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    server.until("the crash", |view| view.instances.iter().any(|status| status.restarts == 1).then_some(())).await;
    let again = workers(&server.healthy(3).await);
    assert!(!again.contains(&old[0]) && again.contains(&old[1]));
    // Removes what the killed one could not clean up.
    std::fs::remove_file(home(&server).join(format!("works-rel_1-{}", old[0]))).unwrap();

    server.desire([with_candidate(first, with_workers(3), PATIENCE)]);
    assert_eq!(server.finished("dep_3").await.state, WorkState::Succeeded);
    let new = server
        .until("the new release's workers", |view| {
            let new = view.instances.iter().filter(|status| status.release.as_str() == "rel_3");
            let new: Vec<InstanceStatus> =
                new.filter(|status| status.state == InstanceState::Healthy).cloned().collect();
            (new.len() == 3).then_some(new)
        })
        .await;
    assert!(again.iter().all(|pid| !alive(*pid)), "the old ones have ended before");
    for pid in workers(&new) {
        content(&home(&server).join(format!("works-rel_3-{pid}"))).await;
    }
    assert!(!home(&server).join("overlap").exists(), "no two releases worked at once");
    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    for pid in workers(&new) {
        gone(pid).await;
    }
    server.end().await;
}

fn check(path: &str, command: &[String]) -> HealthCheck {
    HealthCheck {
        path: path.into(),
        interval: Duration::from_millis(100),
        timeout: Duration::from_millis(400),
        command: command.to_vec(),
    }
}

#[tokio::test]
async fn an_instance_that_runs_but_answers_no_more_is_ended_and_started_again() {
    let mut server = Server::new().await;
    let freezes = ReleaseSpec { liveness_check: Some(check("/", &[])), ..release(1, &["freezes"]) };
    server.desire([live(freezes)]);
    let first = server.healthy(1).await.remove(0);
    std::fs::write(home(&server).join("frozen"), "").unwrap();
    let why = server
        .until("the restart", |view| {
            view.instances.iter().find(|s| s.restarts == 1).map(|status| status.detail.clone())
        })
        .await;
    let second = server.healthy(1).await.remove(0);
    assert_ne!(second.pid, first.pid);
    assert!(why.contains("liveness check three times"), "{why}");
    assert_eq!(get(address(&second)).await, "warm");
    server.end().await;
}

#[tokio::test]
async fn a_command_of_the_release_decides_when_it_is_ready_with_the_rights_of_the_app() {
    let mut server = Server::new().await;
    let ready = home(&server).join("ready");
    let command = ["/usr/bin/test".into(), "-O".into(), ready.to_str().unwrap().to_owned()];
    let waits = |number| ReleaseSpec { readiness_check: check("", &command), ..release(number, &["serve", "one"]) };
    let none = AppSpec { live: None, ..live(release(1, &[])) };
    server.desire([with_candidate(none.clone(), waits(1), Duration::from_millis(1500))]);
    let failure = server.finished("dep_1").await.failure.unwrap();
    assert_eq!(failure.code, "rollout.unhealthy");
    assert!(failure.message.contains("its health command ended with 1"), "{}", failure.message);

    // `-O` tests whether the file belongs to the user that runs the command.
    std::fs::write(&ready, "").unwrap();
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::{MetadataExt, chown};
        let owner = std::fs::metadata(home(&server)).unwrap().uid();
        assert_ne!(owner, 0);
        chown(&ready, Some(owner), Some(owner)).unwrap();
    }
    server.desire([with_candidate(none, waits(2), PATIENCE)]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Succeeded);
    server.end().await;
}

#[tokio::test]
async fn a_volume_outlives_releases_and_the_app_and_goes_only_when_it_is_named() {
    let mut server = Server::new().await;
    let keeps = |number| ReleaseSpec {
        volumes: vec![VolumeMount { name: "data".into(), path: "/data".into() }],
        ..release(number, &["keeps"])
    };
    server.desire([live(keeps(1))]);
    assert_eq!(get(address(&server.healthy(1).await[0])).await, "x");
    server.desire([with_candidate(live(keeps(1)), keeps(2), PATIENCE)]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Succeeded);
    assert_eq!(get(address(&server.healthy(1).await[0])).await, "xx");
    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    let volume = VolumeKey { key: key("app_a"), name: "data".into() };
    let names = |server: &Server| {
        let used = volumes_used(&server.folders).unwrap();
        used.into_iter().map(|(volume, _)| volume).collect::<Vec<_>>()
    };
    assert_eq!(names(&server), std::slice::from_ref(&volume), "an app that is gone leaves its data");
    let trash = Trash::new(&server.folders);
    assert!(set_aside_volume(&server.folders, &trash, &volume).unwrap());
    assert!(names(&server).is_empty());
    server.end().await;
}
