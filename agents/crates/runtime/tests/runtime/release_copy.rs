//! Tests of copies of live releases: they run beside their app, are none of its instances, and leave nothing behind.

use std::os::fd::AsFd;

use fairlead_model::VolumeMount;
use fairlead_network::run_inside;

use super::network::{devices, isolated};
use super::*;

/// Returns the number of folders of instances.
fn folders(server: &Server) -> usize {
    std::fs::read_dir(server.folders.instances()).unwrap().count()
}

#[tokio::test]
async fn a_copy_runs_beside_its_app_and_leaves_nothing() {
    let mut server = Server::new().await;
    let serving = release(1, &["serve", "one"]);
    server.desire([live(serving.clone())]);
    let app = server.healthy(1).await.remove(0);
    let copy = server.runtime.start_copy(key("app_a"), serving.id.clone()).await.unwrap();
    assert_ne!((copy.address, copy.pid), (address(&app), app.pid));
    assert!(copy.network.is_none());
    assert_eq!(get(copy.address).await, "one");
    let environment = std::fs::read_to_string(format!("/proc/{}/environ", copy.pid)).unwrap();
    for variable in ["GREETING=hello", "FAIRLEAD_BENCHMARK_COPY=1", &format!("PORT={}", copy.address.port())] {
        assert!(environment.split('\0').any(|each| each == variable), "{environment}");
    }
    assert!(!environment.contains(app.id.as_str()));
    let view = server.output.view.borrow().clone();
    assert_eq!((view.instances.len(), view.processes.len()), (1, 1), "it is no instance of the app");
    assert_eq!(view.upstreams[&key("app_a")].len(), 1, "it is not routed");
    assert!(!server.runtime.has_stopped(key("app_a")).await);
    assert_eq!(folders(&server), 2);

    let pid = copy.pid;
    copy.stop().await;
    gone(pid).await;
    assert_eq!(folders(&server), 1);
    let dropped = server.runtime.start_copy(key("app_a"), serving.id).await.unwrap();
    let pid = dropped.pid;
    drop(dropped);
    gone(pid).await;
    let same = server.healthy(1).await.remove(0);
    assert_eq!((same.pid, same.restarts), (app.pid, 0));
    server.end().await;
}

#[tokio::test]
async fn a_copy_that_ends_or_can_not_run_says_why() {
    let mut server = Server::new().await;
    let with_volume = VolumeMount { name: "data".into(), path: "/data".into() };
    let volumes = ReleaseSpec { volumes: vec![with_volume], ..release(2, &["serve"]) };
    let socket = ReleaseSpec { listens_on_socket: true, ..release(3, &["serve-socket"]) };
    let crashing = release(4, &["crash"]);
    let spec = |name, release: &ReleaseSpec| AppSpec { key: key(name), ..live(release.clone()) };
    server.desire([spec("app_b", &volumes), spec("app_c", &socket), spec("app_d", &crashing)]);
    let crashed = |view: &RuntimeView| {
        view.instances.iter().any(|status| status.key == key("app_d") && status.restarts > 0).then_some(())
    };
    server.until("a crash", crashed).await;
    for (app, release, words) in [
        ("app_z", "rel_1", "the app does not run on this server"),
        ("app_d", "rel_1", "another release went live before the run began"),
        ("app_b", "rel_2", "the app has volumes"),
        ("app_c", "rel_3", "the app listens on a Unix socket"),
        ("app_d", "rel_4", "it ended with 3; it wrote: "),
    ] {
        let copy = server.runtime.start_copy(key(app), ReleaseId::parse(release).unwrap()).await;
        let reason = copy.unwrap_err();
        assert!(reason.starts_with(words), "{reason}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_new_agent_ends_the_copies_of_the_last_one() {
    let mut server = Server::new().await;
    let serving = release(1, &["serve", "one"]);
    server.desire([live(serving.clone())]);
    let app = server.healthy(1).await.remove(0);
    let copy = server.runtime.start_copy(key("app_a"), serving.id.clone()).await.unwrap();
    server.restart_agent().await;
    gone(copy.pid).await;
    assert_eq!(folders(&server), 1);
    server.desire([live(serving)]);
    let same = server.healthy(1).await.remove(0);
    assert_eq!(same.pid, app.pid);
    server.end().await;
}

#[tokio::test]
async fn a_copy_has_a_network_that_other_programs_can_enter() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = isolated(&[]).await;
    let serving = release(1, &["serve", "one"]);
    server.desire([live(serving.clone())]);
    server.healthy(1).await;
    let copy = server.runtime.start_copy(key("app_a"), serving.id).await.unwrap();
    assert_eq!(devices(&server), 2);
    let network = copy.network.clone().unwrap();
    run_inside(network.as_fd(), || std::net::TcpStream::connect(copy.address)).unwrap();
    assert!(std::net::TcpStream::connect(copy.address).is_err());
    copy.stop().await;
    assert_eq!(devices(&server), 1);
    server.end().await;
}
