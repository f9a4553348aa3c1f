//! The real binary with a saved state and no control plane: it serves, and goes on serving when parts of it are killed.

#![cfg(test)]

#[path = "harness/agent.rs"]
mod agent;
#[path = "harness/client.rs"]
mod client;

use std::path::Path;

use agent::Server;
use base64::Engine;
use client::{Client, Flow};
use fairlead_wire::agent::SealedSecrets;

#[test]
fn after_a_power_cut_the_app_and_its_worker_come_back_by_themselves_and_what_they_wrote_is_kept() {
    let server = Server::prepare();
    let client = Client::new(&server);
    let mut run = server.start();
    let (first, worker) = (run.until_served(&client), server.until_works(None));
    run.kill_with_all(&server);
    assert!(server.processes().is_empty());
    let mut run = server.start();
    assert_ne!(run.until_served(&client).pid, first.pid);
    server.until_works(Some(worker));
    let kept = server.folders.app_logs().join("app_a-env_p/queue");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 2, "what the first one wrote outlives it");
    run.terminate();
}

#[test]
fn an_app_is_served_from_the_saved_state_without_a_control_plane_and_again_after_a_restart() {
    let server = Server::prepare();
    let mut run = server.start();
    let client = Client::new(&server);
    let first = run.until_served(&client);
    let worker = server.until_works(None);
    assert_eq!(client.get("/hello?x=1").unwrap().path, "/hello?x=1");
    run.terminate();
    let meanwhile = client.get("/").expect("the app is served while `run` is away");
    assert_eq!(meanwhile.pid, first.pid);
    let mut run = server.start();
    run.until_serving();
    assert_eq!(run.until_served(&client).pid, first.pid, "the instance was adopted, not started anew");
    assert_eq!(server.until_works(None), worker);
    assert!(server.processes().iter().any(|(pid, _)| *pid == worker), "the worker was adopted as well");
    run.terminate();
    let mut last = server.start_with(&["--stop-apps-on-exit"]);
    last.until_serving();
    last.terminate();
    assert!(client.get("/").is_err(), "nothing listens any more");
    assert!(server.processes().is_empty(), "processes are left: {:?}", server.processes());
}

/// Sealed by the control plane's own library (the contract's fixture) to the key that this server has.
#[test]
fn an_app_comes_back_with_its_secrets_after_a_power_cut_without_a_control_plane() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/sealing.json");
    let fixture: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let sealed = base64::engine::general_purpose::STANDARD.decode(fixture["sealed"].as_str().unwrap()).unwrap();
    let server = Server::prepare_with(Some(SealedSecrets { sealed, version: "v1".into() }));
    std::fs::write(server.folders.sealing_key(), (1..=32).collect::<Vec<u8>>()).unwrap();
    let client = Client::new(&server);
    let mut run = server.start();
    let first = run.until_served(&client);
    assert_eq!(client.get("/secret").unwrap().path, "correct-horse-battery-staple");
    run.kill_with_all(&server);
    let mut run = server.start();
    assert_ne!(run.until_served(&client).pid, first.pid);
    assert_eq!(client.get("/secret").unwrap().path, "correct-horse-battery-staple");
    run.terminate();
}

#[test]
fn no_request_fails_when_run_is_killed_and_a_new_one_takes_over() {
    let server = Server::prepare();
    let mut run = server.start();
    let client = Client::new(&server);
    let first = run.until_served(&client);
    for _ in 0..3 {
        let flow = Flow::start(&client, 4);
        flow.wait_for(200);
        run.kill();
        flow.wait_for(600);
        run = server.start();
        run.until_serving();
        flow.wait_for(1_000);
        let outcome = flow.stop();
        assert_eq!(outcome.failures, Vec::<String>::new());
        assert_eq!(outcome.pids.into_iter().collect::<Vec<_>>(), [first.pid], "one instance served throughout");
    }
    assert_eq!(run.until_served(&client).pid, first.pid);
}

#[test]
fn no_connection_is_refused_when_the_proxy_is_killed_and_only_requests_in_flight_fail() {
    const CLIENTS: usize = 4;
    let server = Server::prepare();
    let mut run = server.start();
    let client = Client::new(&server);
    run.until_served(&client);
    for _ in 0..3 {
        let flow = Flow::start(&client, CLIENTS);
        flow.wait_for(100);
        let killed = run.kill_proxy();
        flow.wait_for(400);
        let outcome = flow.stop();
        assert!(outcome.failures.len() <= CLIENTS, "more than those in flight failed: {:?}", outcome.failures);
        assert!(outcome.failures.iter().all(|failure| !failure.contains("refused")), "{:?}", outcome.failures);
        assert_ne!(run.proxy(), killed);
    }
}

#[test]
fn two_agents_never_share_a_data_folder() {
    let server = Server::prepare();
    let mut run = server.start();
    run.until_serving();
    let second = server.command(&[]).output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("an agent runs already"));
}
