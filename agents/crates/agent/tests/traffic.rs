//! Tests the real binary under requests: canaries receive a share of them, and an idle app sleeps until a request wakes it.

#![cfg(test)]

// Each test program uses its own part.
#[allow(dead_code)]
#[path = "harness/agent.rs"]
mod agent;
#[allow(dead_code)]
#[path = "harness/client.rs"]
mod client;

use std::time::{Duration, Instant};

use agent::{Run, Server, release_of};
use client::{Client, Flow};
use fairlead_wire::agent as wire;

const PATIENCE: Duration = Duration::from_secs(60);

/// Release 2 of the same artifact, to be tried on a share of the requests.
/// `p99_ratio_permille_max` of zero: only failures count.
fn candidate(state: &mut wire::DesiredState, number: u64, delay_ms: u32, p99_ratio_permille_max: u32) {
    let mut release = release_of(state).clone();
    (release.release_id, release.number) = (format!("rel_{number}"), number);
    release.variables.insert("DELAY_MS".into(), delay_ms.to_string());
    state.apps[0].candidate = Some(wire::Rollout {
        deployment_id: format!("dep_{number}"),
        release: Some(release),
        start_timeout_ms: 30_000,
        canary: Some(wire::Canary {
            step_percents: vec![25],
            step_duration_ms: if p99_ratio_permille_max > 0 { 30_000 } else { 2_000 },
            error_increase_permille_max: 10,
            p99_ratio_permille_max,
            requests_min: 8,
        }),
        ..wire::Rollout::default()
    });
}

/// Returns the duration of the deployment's switch from its steps.
fn switch_ms(server: &Server, deployment: &str) -> u64 {
    let record = std::fs::read(server.folders.state().join("apps.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    let rollouts = record[0]["record"]["rollouts"].as_array().unwrap();
    let rollout = rollouts.iter().find(|rollout| rollout["deployment"] == deployment).unwrap();
    let step = rollout["steps"].as_array().unwrap().iter().find(|step| step["step"] == "Switch").unwrap();
    step["finished_unix_ms"].as_u64().unwrap() - step["started_unix_ms"].as_u64().unwrap()
}

/// Returns the failure code of an ended deployment; empty when it went live.
fn outcome(server: &Server, deployment: &str) -> String {
    let began = Instant::now();
    loop {
        let record = std::fs::read(server.folders.state().join("apps.json")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let rollouts = record[0]["record"]["rollouts"].as_array().unwrap().clone();
        let found = rollouts.into_iter().find(|rollout| rollout["deployment"] == deployment);
        if let Some(ended) = found.filter(|rollout| rollout["state"] != "Running") {
            return ended["failure"]["message"].as_str().unwrap_or_default().to_owned();
        }
        assert!(began.elapsed() < PATIENCE, "{deployment} never ends");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_slow_canary_gives_its_share_back_and_a_good_one_goes_live_and_no_request_fails() {
    let server = Server::prepare();
    let mut run = server.start();
    let client = Client::new(&server);
    let first = run.until_served(&client).pid;
    let flow = Flow::start(&client, 4);
    flow.wait_for(100);

    run.kill();
    server.sync(2, |state| candidate(state, 2, 1_000, 2_000));
    run = server.start();
    let failure = outcome(&server, "dep_2");
    assert!(failure.contains("At 25 % of the requests, the p99 of the new release is "), "{failure}");
    run.kill();

    server.sync(3, |state| candidate(state, 3, 0, 0));
    run = server.start();
    assert_eq!(outcome(&server, "dep_3"), "");
    println!("switch: {} ms", switch_ms(&server, "dep_3"));
    let told = flow.stop();
    assert_eq!(told.failures, Vec::<String>::new());
    assert_eq!(told.pids.len(), 3, "both canaries had requests: {:?}", told.pids);
    assert_ne!(run.until_served(&client).pid, first);
}

#[test]
fn an_app_on_a_socket_is_served_by_it_and_a_roll_out_of_it_fails_no_request() {
    let server = Server::prepare_changed(|state| release_of(state).listens_on_socket = true);
    let mut run = server.start();
    let client = Client::new(&server);
    let first = run.until_served(&client).pid;
    let environment = std::fs::read(format!("/proc/{first}/environ")).unwrap();
    let given = |name: &str| environment.split(|byte| *byte == 0).any(|word| word.starts_with(name.as_bytes()));
    assert!(given("FAIRLEAD_SOCKET=/") && !given("PORT="));
    let flow = Flow::start(&client, 4);
    flow.wait_for(50);
    run.kill();
    server.sync(2, |state| {
        candidate(state, 2, 0, 0);
        state.apps[0].candidate.as_mut().unwrap().canary = None;
    });
    run = server.start();
    assert_eq!(outcome(&server, "dep_2"), "");
    let told = flow.stop();
    assert_eq!(told.failures, Vec::<String>::new());
    assert_ne!(run.until_served(&client).pid, first);
    run.terminate();
}

/// Waits until no process of the app is left.
fn until_asleep(server: &Server) {
    let began = Instant::now();
    while server.processes().iter().any(|(_, command)| command.contains("server.js")) {
        assert!(began.elapsed() < PATIENCE, "it never sleeps: {:?}", server.processes());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the duration of the request that wakes the app.
fn wakes(client: &Client, pids: &mut Vec<u32>) -> Duration {
    let began = Instant::now();
    let answer = client.get("/").expect("the request that wakes it is answered");
    assert!(!pids.contains(&answer.pid));
    pids.push(answer.pid);
    began.elapsed()
}

/// More than one for `npm run perf:wake`.
fn rounds() -> usize {
    std::env::var("FAIRLEAD_WAKES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

#[test]
fn an_idle_app_sleeps_and_the_next_request_wakes_it_also_after_restarts() {
    let server = Server::prepare_changed(|state| {
        state.apps[0].autoscaling = Some(wire::Autoscaling {
            instances_min: 0,
            instances_max: 2,
            idle_timeout_ms: 1_000,
            ..wire::Autoscaling::default()
        });
    });
    let mut run: Run = server.start();
    let client = Client::new(&server);
    let mut pids = vec![run.until_served(&client).pid];
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..rounds() {
        until_asleep(&server);
        took.push(wakes(&client, &mut pids));
    }
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_millis();
    println!("wake from zero: {} times, p50 {} ms, p99 {} ms", took.len(), at(50), at(99));
    until_asleep(&server);
    run.kill_proxy();
    wakes(&client, &mut pids);
    until_asleep(&server);
    run.kill();
    run = server.start();
    run.until_serving();
    assert!(!server.processes().iter().any(|(_, command)| command.contains("server.js")), "it sleeps on");
    wakes(&client, &mut pids);
    run.terminate();
}
