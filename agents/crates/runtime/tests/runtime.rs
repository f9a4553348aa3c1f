//! Integration tests of the runtime with real processes: the real shim, and apps that work or misbehave.
#![cfg(test)]

#[path = "runtime/container_network.rs"]
mod container_network;
#[path = "runtime/containers.rs"]
mod containers;
#[path = "runtime/gate.rs"]
mod gate;
#[path = "runtime/layer_bound.rs"]
mod layer_bound;
#[path = "runtime/measure.rs"]
mod measure;
#[path = "runtime/network.rs"]
mod network;
#[path = "runtime/parts.rs"]
mod parts;
#[path = "runtime/processes.rs"]
mod processes;
#[path = "runtime/release_copy.rs"]
mod release_copy;
#[path = "runtime/rootless_network.rs"]
mod rootless_network;
#[path = "runtime/sandbox.rs"]
mod sandbox;
#[path = "runtime/secrets.rs"]
mod secrets;
#[path = "runtime/shared_network.rs"]
mod shared_network;
#[path = "runtime/socket.rs"]
mod socket;
#[path = "runtime/view.rs"]
mod view;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_base::{Folders, Trash};
use fairlead_engine::Engine;
use fairlead_model::{
    AppId, AppKey, AppSpec, DeploymentId, EnvironmentId, Failure, HealthCheck, InstanceState, InstanceStatus,
    ReleaseId, ReleaseSpec, Rollout, RolloutStatus, WorkState,
};
use fairlead_network::{AppNetwork, OwnNetwork, RootlessNetwork};
use fairlead_runtime::{
    Identities, Isolation, LayerBounds, MeasureGate, PrepareRelease, Runtime, RuntimeOptions, RuntimeOutput,
    RuntimeView,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Timeout of slow steps: an engine is slow on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Variable with the working folder, when this test runs itself as another user.
const FOLDER: &str = "FAIRLEAD_TEST_FOLDER";

/// Makes a folder outside /tmp, which apps don't share.
fn temporary(mode: u32) -> tempfile::TempDir {
    let parent = std::env::var(FOLDER).unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
    let folder = tempfile::Builder::new().prefix("fl").tempdir_in(parent).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
    folder
}

/// Makes empty folders, which suffice as releases for a program elsewhere.
struct EmptyFolders;

impl PrepareRelease for EmptyFolders {
    fn prepare<'a>(
        &'a self,
        release: &'a ReleaseSpec,
        folder: &'a Path,
        _fetching: &'a (dyn Fn() + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            if release.artifact_digest == "missing" {
                return Err(Failure { code: "rollout.artifact_missing".into(), message: "It is gone.".into() });
            }
            std::fs::create_dir_all(folder).unwrap();
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
            Ok(())
        })
    }
}

struct Server {
    folders: Folders,
    runtime: Runtime,
    output: RuntimeOutput,
    network: Result<OwnNetwork, String>,
    /// Set instead of `network`.
    rootless: Option<RootlessNetwork>,
    gates: Arc<dyn MeasureGate>,
    folder: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts a server with apps in the network of the tests, which can reach them there.
    async fn new() -> Self {
        Self::with_network(|_| shared()).await
    }

    async fn with_network(network: impl FnOnce(&Folders) -> Result<OwnNetwork, String>) -> Self {
        let folder = temporary(0o755);
        let folders = Folders::new(folder.path()).unwrap();
        folders.create().unwrap();
        let network = network(&folders);
        let (runtime, output) = start(&folders, network.clone()).await;
        let gates = Arc::new(gate::TestGates::passing());
        Self { folders, runtime, output, network, rootless: None, gates, folder: Some(folder) }
    }

    async fn without_root(network: RootlessNetwork) -> Self {
        let mut server = Self::new().await;
        server.rootless = Some(network);
        server.restart_agent().await;
        server
    }

    /// Restarts the agent after a crash.
    async fn restart_agent(&mut self) {
        let network = match &self.rootless {
            Some(network) => Ok(AppNetwork::Rootless(network.clone())),
            None => self.network.clone().map(AppNetwork::Own),
        };
        let engine = Engine::at(Path::new("/nowhere"));
        let options = options(&self.folders, network, Arc::new(EmptyFolders), engine);
        let options = RuntimeOptions { gates: self.gates.clone(), ..options };
        let (runtime, output) = Runtime::start(options).await.unwrap();
        (self.runtime, self.output) = (runtime, output);
    }

    fn desire(&self, specs: impl IntoIterator<Item = AppSpec>) {
        self.runtime.apply(specs.into_iter().map(|spec| (spec.key.clone(), spec)).collect());
    }

    /// Waits until the view matches; confirms every generation meanwhile, as the agent and the proxy would.
    async fn until<T>(&mut self, what: &str, mut seen: impl FnMut(&RuntimeView) -> Option<T>) -> T {
        let waited = timeout(PATIENCE, async {
            loop {
                let view = self.output.view.borrow_and_update().clone();
                if let Some(found) = seen(&view) {
                    return found;
                }
                self.runtime.routes_applied(view.generation);
                let counts = view.instances.iter().map(|status| (status.id.clone(), 0)).collect::<Vec<_>>();
                let pause = if view.instances.iter().any(|status| status.state == InstanceState::Draining) {
                    Duration::from_millis(50)
                } else {
                    PATIENCE
                };
                if timeout(pause, self.output.view.changed()).await.is_err() {
                    self.runtime.in_flight(counts);
                }
            }
        });
        match waited.await {
            Ok(found) => found,
            Err(_) => panic!("{what} did not happen: {:#?}", self.output.view.borrow()),
        }
    }

    async fn healthy(&mut self, count: usize) -> Vec<InstanceStatus> {
        self.until("healthy instances", |view| {
            let healthy = view.instances.iter().filter(|status| status.state == InstanceState::Healthy);
            let healthy: Vec<InstanceStatus> = healthy.cloned().collect();
            (healthy.len() == count && view.instances.len() == count).then_some(healthy)
        })
        .await
    }

    async fn finished(&mut self, deployment: &str) -> RolloutStatus {
        self.until("the end of the rollout", |view| {
            let found = view.rollouts.iter().find(|status| status.deployment.as_str() == deployment);
            found.filter(|status| status.state != WorkState::Running).cloned()
        })
        .await
    }

    fn log_text(&mut self) -> String {
        let mut text = String::new();
        while let Ok((_, line)) = self.output.log.try_recv() {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }

    /// Stops everything; no trace of any instance may remain.
    async fn end(mut self) {
        self.runtime.stop_all().await;
        // A shim removes its socket after it has told the agent of its end.
        let began = Instant::now();
        while std::fs::read_dir(self.folders.run()).unwrap().count() > 0 {
            assert!(began.elapsed() < PATIENCE, "a shim's socket remains");
            sleep(Duration::from_millis(10)).await;
        }
        self.folder.take().unwrap().close().unwrap();
    }
}

impl Drop for Server {
    /// Kills the shims of a failed test: their command lines name the folder.
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid =
                entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid
                && String::from_utf8_lossy(&command).contains(folder.path().to_str().unwrap())
            {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
    }
}

fn shared() -> Result<OwnNetwork, String> {
    Err("a test wants it so".to_owned())
}

async fn start(folders: &Folders, network: Result<impl Into<AppNetwork>, String>) -> (Runtime, RuntimeOutput) {
    start_with(folders, network, Arc::new(EmptyFolders), Engine::at(Path::new("/nowhere"))).await
}

async fn start_isolated(
    folders: &Folders,
    isolation: Isolation,
    prepare: Arc<dyn PrepareRelease>,
) -> (Runtime, RuntimeOutput) {
    let engine = Engine::at(Path::new("/nowhere"));
    Runtime::start(RuntimeOptions { isolation, ..options(folders, shared(), prepare, engine) }).await.unwrap()
}

async fn start_with(
    folders: &Folders,
    network: Result<impl Into<AppNetwork>, String>,
    prepare: Arc<dyn PrepareRelease>,
    engine: Engine,
) -> (Runtime, RuntimeOutput) {
    Runtime::start(options(folders, network, prepare, engine)).await.unwrap()
}

fn options(
    folders: &Folders,
    network: Result<impl Into<AppNetwork>, String>,
    prepare: Arc<dyn PrepareRelease>,
    engine: Engine,
) -> RuntimeOptions {
    RuntimeOptions {
        folders: folders.clone(),
        trash: Trash::new(folders),
        program: PathBuf::from(env!("CARGO_BIN_EXE_fairlead-test-shim")),
        ports: 21_000..=29_999,
        path: "/usr/bin:/bin".into(),
        isolation: Isolation::detect(folders, network),
        layer_bounds: LayerBounds::default(),
        identities: Arc::new(Identities::open(folders).unwrap()),
        sealing: Arc::new(secrets::sealing_key()),
        prepare,
        gates: Arc::new(gate::TestGates::passing()),
        engine,
    }
}

fn key(app: &str) -> AppKey {
    AppKey { app: AppId::parse(app).unwrap(), environment: EnvironmentId::parse("env_p").unwrap() }
}

fn release(number: u64, arguments: &[&str]) -> ReleaseSpec {
    let program = env!("CARGO_BIN_EXE_fairlead-test-app");
    ReleaseSpec {
        id: ReleaseId::parse(&format!("rel_{number}")).unwrap(),
        number,
        artifact_digest: "sha256:00".into(),
        command: std::iter::once(program).chain(arguments.iter().copied()).map(str::to_owned).collect(),
        variables: BTreeMap::from([("GREETING".into(), "hello".into())]),
        readiness_check: HealthCheck {
            path: "/healthz".into(),
            interval: Duration::from_millis(200),
            timeout: Duration::from_secs(5),
            command: Vec::new(),
        },
        drain_timeout: Duration::from_secs(20),
        stop_timeout: Duration::from_millis(700),
        memory_bytes_max: 0,
        secrets: None,
        artifact_kind: fairlead_model::ArtifactKind::Archive,
        workers: Vec::new(),
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

fn live(release: ReleaseSpec) -> AppSpec {
    AppSpec {
        key: key("app_a"),
        name: "a".into(),
        live: Some(release),
        candidate: None,
        instances: 1,
        traffic: Default::default(),
        autoscaling: None,
        release_environment: None,
    }
}

fn with_candidate(spec: AppSpec, release: ReleaseSpec, start_timeout: Duration) -> AppSpec {
    let deployment = DeploymentId::parse(&format!("dep_{}", release.number)).unwrap();
    AppSpec {
        candidate: Some(Rollout {
            deployment,
            release,
            start_timeout,
            batch_size: 0,
            canary: None,
            release_command: None,
            post_release_command: None,
            benchmark_gate: None,
        }),
        ..spec
    }
}

async fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.rsplit("\r\n").next().unwrap().to_owned()
}

fn address(status: &InstanceStatus) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], status.port))
}

fn alive(pid: u32) -> bool {
    // A zombie that its new parent hasn't reaped yet counts as dead.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Returns when the process has ended.
async fn gone(pid: u32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Ok(pidfd) = pidfd_open(Pid::from_raw(pid.cast_signed()).unwrap(), PidfdFlags::empty()) else { return };
    let ended = tokio::task::spawn_blocking(move || {
        let limit = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)).unwrap()
    });
    assert_eq!(ended.await.unwrap(), 1, "process {pid} still runs");
}

#[tokio::test]
async fn a_deploy_goes_live_beside_the_old_release_which_is_stopped_afterwards() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "one"]))]);
    let old = server.healthy(1).await.remove(0);
    assert_eq!(get(address(&old)).await, "one");

    let second = release(2, &["serve", "two"]);
    server.desire([with_candidate(live(release(1, &["serve", "one"])), second.clone(), PATIENCE)]);
    let status = server.finished("dep_2").await;
    assert_eq!(status.state, WorkState::Succeeded, "{status:?}");
    let new = server.healthy(1).await.remove(0);
    assert_ne!(new.id, old.id);
    assert_eq!(get(address(&new)).await, "two");
    assert!(!alive(old.pid));
    let routed = server.output.view.borrow().upstreams[&key("app_a")].clone();
    assert_eq!(routed.iter().map(|upstream| &upstream.instance).collect::<Vec<_>>(), [&new.id]);
    assert!(server.log_text().contains("live"));
    server.end().await;
}

#[tokio::test]
async fn a_failed_deploy_says_why_shows_the_output_and_leaves_the_live_release_alone() {
    let mut server = Server::new().await;
    let first = live(release(1, &["serve", "one"]));
    server.desire([first.clone()]);
    let old = server.healthy(1).await.remove(0);
    let short = Duration::from_millis(1500);
    for (number, arguments, limit, code, words) in [
        (2, vec!["crash"], PATIENCE, "rollout.crash_loop", "exit code 3: `something broke on purpose`"),
        (3, vec!["never-listens"], short, "rollout.not_listening", "listened on no port at all"),
        (4, vec!["wrong-port"], short, "rollout.wrong_port", "It listened on "),
        (5, vec!["sick"], short, "rollout.unhealthy", "with 503"),
        (7, vec!["ends"], PATIENCE, "rollout.ended", "never listened on a port"),
    ] {
        server.desire([with_candidate(first.clone(), release(number, &arguments), limit)]);
        let status = server.finished(&format!("dep_{number}")).await;
        let failure = status.failure.unwrap();
        assert_eq!(failure.code, code);
        assert!(failure.message.contains(words), "{}", failure.message);
        let text = server.log_text();
        assert!(text.contains(&failure.message), "{text}");
        if number == 2 {
            assert!(text.contains("something broke on purpose"), "{text}");
        }
    }
    let mut nowhere = release(6, &[]);
    nowhere.command = vec!["nodee".into(), "server.js".into()];
    server.desire([with_candidate(first.clone(), nowhere, PATIENCE)]);
    let failure = server.finished("dep_6").await.failure.unwrap();
    assert_eq!(failure.code, "rollout.start_failed");
    assert!(failure.message.contains("no program `nodee`"), "{}", failure.message);

    server.desire([first]);
    let same = server.healthy(1).await.remove(0);
    assert_eq!((same.pid, same.restarts), (old.pid, 0));
    assert_eq!(get(address(&old)).await, "one");
    server.end().await;
}

#[tokio::test]
async fn a_crashed_app_comes_back_on_the_same_address() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "one"]))]);
    let first = server.healthy(1).await.remove(0);
    let pid = rustix::process::Pid::from_raw(first.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    server.until("the crash", |view| view.instances.iter().any(|s| s.restarts == 1).then_some(())).await;
    let second = server.healthy(1).await.remove(0);
    assert_eq!((second.id.clone(), second.port, second.restarts), (first.id.clone(), first.port, 1));
    assert_ne!(second.pid, first.pid);
    server.end().await;
}

#[tokio::test]
async fn apps_outlive_the_agent_and_are_adopted_with_their_checks_and_their_end() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "one"]))]);
    let before = server.healthy(1).await.remove(0);
    server.restart_agent().await;
    assert_eq!(get(address(&before)).await, "one");
    assert_eq!(server.output.view.borrow().generation, 0, "nothing is told before it is known what should run");
    server.desire([live(release(1, &["serve", "one"]))]);
    timeout(PATIENCE, server.output.view.changed()).await.unwrap().unwrap();
    let first = server.output.view.borrow_and_update().upstreams[&key("app_a")].clone();
    assert_eq!(first.iter().map(|upstream| &upstream.instance).collect::<Vec<_>>(), [&before.id], "routes never empty");
    let after = server.healthy(1).await.remove(0);
    assert_eq!((&after.id, after.pid, after.started_unix_ms), (&before.id, before.pid, before.started_unix_ms));

    server.desire([]);
    server.until("the end of the app", |view| view.instances.is_empty().then_some(())).await;
    gone(before.pid).await;
    server.end().await;
}

#[tokio::test]
async fn a_rollout_ends_live_wherever_the_agent_dies_in_it() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "1"]))]);
    server.healthy(1).await;
    for changes in 0..8u64 {
        let number = changes + 2;
        let (old, new) = (release(changes + 1, &["serve", "old"]), release(number, &["serve", "new"]));
        let spec = with_candidate(live(old), new.clone(), PATIENCE);
        let deployment = format!("dep_{number}");
        server.desire([spec.clone()]);
        // The agent dies after this number of changes; a faster rollout has ended already.
        let ended = |view: &RuntimeView| {
            let found = view.rollouts.iter().find(|status| status.deployment.as_str() == deployment);
            found.is_some_and(|status| status.state != WorkState::Running)
        };
        let mut seen = 0;
        server
            .until("some changes", |view| {
                seen += 1;
                (seen > changes || ended(view)).then_some(())
            })
            .await;
        server.restart_agent().await;
        server.desire([spec]);
        let status = server.finished(&deployment).await;
        assert_eq!(status.state, WorkState::Succeeded, "{changes}: {status:?}");
        server.desire([live(new)]);
        let status = server.healthy(1).await.remove(0);
        assert_eq!(status.release.as_str(), format!("rel_{number}"));
        assert_eq!(get(address(&status)).await, "new");
    }
    server.end().await;
}

#[tokio::test]
async fn an_app_whose_shim_is_killed_dies_with_it_and_is_started_again() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["family"]))]);
    let first = server.healthy(1).await.remove(0);
    let grandchild: u32 = get(address(&first)).await.parse().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", first.pid)).unwrap();
    let shim: i32 = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(shim).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    gone(first.pid).await;
    server.until("the restart", |view| view.instances.iter().any(|s| s.restarts == 1).then_some(())).await;
    let second = server.healthy(1).await.remove(0);
    assert_ne!(second.pid, first.pid);
    if rustix::process::geteuid().is_root() {
        gone(grandchild).await;
    }
    server.end().await;
    if alive(grandchild) {
        let pid = rustix::process::Pid::from_raw(grandchild.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[tokio::test]
async fn stopping_an_app_ends_everything_it_started_even_what_left_its_group() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["family"]))]);
    let status = server.healthy(1).await.remove(0);
    let grandchild: u32 = get(address(&status)).await.parse().unwrap();
    assert!(alive(grandchild));
    server.desire([]);
    server.until("the end of the app", |view| view.instances.is_empty().then_some(())).await;
    gone(grandchild).await;
    server.end().await;
}

#[tokio::test]
async fn an_app_that_ignores_sigterm_is_killed_after_its_grace() {
    let mut server = Server::new().await;
    let mut stubborn = release(1, &["stubborn"]);
    stubborn.stop_timeout = Duration::from_millis(300);
    server.desire([live(stubborn)]);
    let status = server.healthy(1).await.remove(0);
    server.desire([]);
    server.until("the end of the app", |view| view.instances.is_empty().then_some(())).await;
    gone(status.pid).await;
    server.end().await;
}

/// Stops a shim for longer than a new agent waits for its answer, as on a server that swaps.
#[tokio::test]
async fn an_app_whose_shim_does_not_answer_a_new_agent_goes_on_and_is_followed_once_it_does() {
    use rustix::process::{Pid, Signal, kill_process};
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve"]))]);
    let before = server.healthy(1).await.remove(0);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", before.pid)).unwrap();
    let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let shim = Pid::from_raw(parent).unwrap();
    kill_process(shim, Signal::STOP).unwrap();
    server.restart_agent().await;
    server.desire([live(release(1, &["serve"]))]);
    let after = server.healthy(1).await.remove(0);
    assert_eq!((&after.id, after.pid), (&before.id, before.pid));
    kill_process(shim, Signal::CONT).unwrap();
    server.desire([]);
    server.until("the end of the app", |view| view.instances.is_empty().then_some(())).await;
    gone(before.pid).await;
    server.end().await;
}

#[tokio::test]
async fn an_app_has_its_own_user_its_own_tmp_and_no_way_to_more() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::new().await;
    server.desire([live(release(1, &["identity"]))]);
    let status = server.healthy(1).await.remove(0);
    let seen = get(address(&status)).await;
    let identities = Identities::open(&server.folders).unwrap();
    let [user, group] = ["run/app_a/env_p", "release/app_a"].map(|name| identities.user_for(name).unwrap().unwrap());
    let release = std::fs::metadata(server.folders.releases().join("rel_1")).unwrap();
    assert_eq!((release.uid(), release.mode() & 0o022), (0, 0), "its release is nobody's to write");
    let ids = [user; 4].map(|id| id.to_string()).join(",");
    assert_eq!(seen, format!("{ids} {ids} {group} 1 0000000000000000"));
    assert!(!Path::new("/tmp/of-this-app-only").exists(), "its /tmp is not the server's");
    assert!(server.folders.homes().join("app_a-env_p/kept").exists());
    let process = server.output.view.borrow().processes[0].clone();
    assert_eq!(process.pid, status.pid);
    server.end().await;
}

/// One byte, not zero: with zero a core handler that is a pipe still sees the memory (core(5)).
#[tokio::test]
async fn neither_an_app_nor_its_shim_leaves_its_memory_to_a_core_handler() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "one"]))]);
    let status = server.healthy(1).await.remove(0);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", status.pid)).unwrap();
    let shim: u32 = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    for pid in [status.pid, shim] {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().take(2).collect::<Vec<_>>(), ["1", "1"], "{limits}");
    }
    server.end().await;
}

#[tokio::test]
async fn an_app_over_its_memory_limit_is_ended_and_the_sentence_says_so() {
    let mut server = Server::new().await;
    let off = Isolation::detect(&server.folders, shared()).off().join("\n");
    if off.contains("memory") {
        return server.end().await;
    }
    let mut hungry = release(1, &["hungry"]);
    hungry.memory_bytes_max = 32 << 20;
    hungry.readiness_check.path = String::new();
    server.desire([live(hungry)]);
    let detail = server
        .until("the end by the kernel", |view| {
            view.instances.iter().find(|status| status.restarts > 0).map(|status| status.detail.clone())
        })
        .await;
    assert!(detail.contains("memory"), "{detail}");
    server.end().await;
}

#[tokio::test]
async fn a_shim_costs_little_memory() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["serve", "one"]))]);
    let status = server.healthy(1).await.remove(0);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", status.pid)).unwrap();
    let shim = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    let rollup = std::fs::read_to_string(format!("/proc/{shim}/smaps_rollup")).unwrap();
    let kib = |name: &str| -> u64 {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    // PSS would depend on how many other processes run the same program at the moment.
    let (own, mapped) = (kib("Pss_Anon:"), kib("Rss:"));
    assert!(own < 1024 && mapped < 12 * 1024, "a shim holds {own} KiB of its own and maps {mapped} KiB\n{rollup}");
    server.end().await;
}

/// Tests the same guarantees for an agent without root: this test runs itself again as another user.
#[tokio::test]
async fn an_agent_without_root_deploys_stops_and_says_what_is_off() {
    use std::os::unix::process::CommandExt;
    if rustix::process::geteuid().is_root() {
        let folder = temporary(0o777);
        let name = "an_agent_without_root_deploys_stops_and_says_what_is_off";
        let output = tokio::task::spawn_blocking(move || {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name, "--nocapture"])
                .env(FOLDER, folder.path())
                .current_dir("/")
                .uid(65_534)
                .gid(65_534)
                .output()
                .unwrap()
        });
        let output = output.await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let mut server = Server::new().await;
    let off = Isolation::detect(&server.folders, shared()).off().join("\n");
    assert!(off.contains("does not run as root"), "{off}");
    server.desire([live(release(1, &["family"]))]);
    let status = server.healthy(1).await.remove(0);
    let grandchild: u32 = get(address(&status)).await.parse().unwrap();
    server.desire([with_candidate(live(release(1, &["family"])), release(2, &["serve", "two"]), PATIENCE)]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Succeeded);
    gone(grandchild).await;
    server.end().await;
}
