//! Tests the real binary with a saved state and without a control plane: it serves, also when parts of it are killed.

#![cfg(test)]

#[path = "harness/agent.rs"]
mod agent;
#[path = "harness/client.rs"]
mod client;

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::Path;

use agent::Server;
use base64::Engine;
use client::{Client, Flow};
use fairlead_base::Trash;
use fairlead_link::AgentConfig;
use fairlead_wire::agent::SealedSecrets;
use rustix::fs::{CWD, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, mkdirat, openat};

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

/// The control plane's library sealed the secrets (the contract's fixture) to this server's key.
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

/// Makes nested folders, as `mkdir` and `cd` in a loop make them.
fn nest(folder: &Path, levels: u32) {
    std::fs::create_dir_all(folder).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, folder, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = openat(&at, "d", flags, Mode::empty()).unwrap();
    }
}

/// Depth at which a recursive removal overflows a thread's stack is some 13,000 levels (`fairlead_base::tree` shows it).
#[test]
fn folders_of_any_depth_that_a_former_run_left_neither_end_the_agent_nor_hold_up_its_start() {
    // The long form sets a hundred thousand (CONTRIBUTING.md).
    let levels = std::env::var("FAIRLEAD_REMOVAL_LEVELS").map_or(15_000, |levels| levels.parse().unwrap());
    let server = Server::prepare();
    let folders = &server.folders;
    let mut config: AgentConfig = fairlead_base::config::read(&folders.config()).unwrap();
    let control_plane = TcpListener::bind("127.0.0.1:0").unwrap();
    control_plane.set_nonblocking(true).unwrap();
    config.control_url = format!("http://{}", control_plane.local_addr().unwrap());
    fairlead_base::config::write(&folders.config(), &config).unwrap();
    let build = folders.builds().join("dep_gone");
    nest(&build.join("home"), levels);
    nest(&folders.instances().join("ins_gone/tmp"), levels);
    for left in [
        folders.releases().join("rel_gone.partial"),
        folders.volumes().join(".trash-0123456789abcdef"),
        folders.trash().join("app_gone-env_p.x"),
    ] {
        nest(&left, 300);
    }
    if rustix::process::geteuid().is_root() {
        chown(build.join("home"), Some(71_999), Some(71_999)).unwrap();
    }
    // An entry that nothing can remove, where the test can make one.
    let stuck = folders.builds().join("dep_stuck/source");
    std::fs::create_dir_all(&stuck).unwrap();
    let file = std::fs::File::create(stuck.join("fixed")).unwrap();
    let flags = ioctl_getflags(&file).unwrap_or(IFlags::empty());
    let is_stuck = ioctl_setflags(&file, flags | IFlags::IMMUTABLE).is_ok();

    let client = Client::new(&server);
    let mut run = server.start();
    server.until("the agent dials its control plane", || control_plane.accept().is_ok());
    run.until_served(&client);
    for name in ["builds/dep_gone", "builds/dep_stuck", "instances/ins_gone", "releases/rel_gone.partial"] {
        server.until("it leaves its place", || !folders.root().join(name).exists());
    }
    let trash = Trash::new(folders);
    if is_stuck {
        let line = run.until_says("can't be removed");
        assert!(line.contains("dep_stuck") && line.contains("source/fixed (Operation not permitted"), "{line}");
        ioctl_setflags(&file, flags).unwrap();
    }
    let left = || trash.entries().unwrap().into_iter().filter(|entry| !entry.to_string_lossy().contains("stuck"));
    server.until("the trash is emptied", || left().next().is_none());
    run.terminate();
    // The next start finds the rest.
    let mut run = server.start();
    server.until("the rest is removed", || trash.entries().unwrap().is_empty());
    run.terminate();
}

#[test]
fn a_damaged_file_of_the_state_is_named_at_the_start_and_the_agent_serves_again_after_the_repair() {
    let server = Server::prepare();
    let client = Client::new(&server);
    let mut run = server.start();
    let first = run.until_served(&client);
    run.terminate();
    let users = server.folders.state().join("users.json");
    let before = std::fs::read(&users).ok();
    let root = server.folders.root().to_str().unwrap();
    for name in ["users.json", "apps.json", "trust.toml"] {
        std::fs::write(server.folders.state().join(name), "{half").unwrap();
        let said = server.command(&[]).output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(&format!("{name} is damaged")) && said.contains("check --repair"), "{said}");
        let agent = env!("CARGO_BIN_EXE_fairlead-agent");
        let check = std::process::Command::new(agent).args(["check", "--repair", "--data", root]).output().unwrap();
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(said.contains("repaired") && said.contains(&format!("{name}: renamed to")), "{said}");
    }
    let mut run = server.start();
    run.until_serving();
    assert_eq!(run.until_served(&client).pid, first.pid, "the instance was adopted, not started anew");
    if let Some(before) = before {
        let parse =
            |bytes: &[u8]| -> std::collections::BTreeMap<String, u32> { serde_json::from_slice(bytes).unwrap() };
        let after = parse(&std::fs::read(&users).unwrap());
        for (name, user) in parse(&before) {
            assert_eq!(after.get(&name), Some(&user), "{name} keeps its user");
        }
    }
    run.terminate();
}
