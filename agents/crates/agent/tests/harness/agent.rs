//! A data folder as enrolment and a sync would leave it, and the real `run` in it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use fairlead_base::Folders;
use fairlead_model::ServerId;
use fairlead_wire::agent as wire;
use prost::Message;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Answer, Client};

/// The host that the app is served under.
pub(crate) const HOST: &str = "hello.localhost";
const PATIENCE: Duration = Duration::from_secs(60);

const APP: &str = r"
require('node:http').createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  const path = request.url === '/secret' ? process.env.SESSION_KEY : request.url;
  setTimeout(() => response.end(JSON.stringify({ pid: process.pid, path })), Number(process.env.DELAY_MS ?? 0));
}).listen(process.env.FAIRLEAD_SOCKET ? { path: process.env.FAIRLEAD_SOCKET } : { port: Number(process.env.PORT), host: '127.0.0.1' });
";

/// The worker writes its pid and port to the app's home.
const WORKER: &str = r"
require('node:fs').writeFileSync(process.env.HOME + '/worker', `${process.pid} ${process.env.PORT ?? 'none'}`);
console.log('at work');
setInterval(() => {}, 60_000);
";

/// Server that was enrolled and synced once and has lost its control plane.
pub(crate) struct Server {
    _dir: tempfile::TempDir,
    pub(crate) folders: Folders,
    digest: String,
    pub(crate) https: SocketAddr,
    http: SocketAddr,
}

impl Server {
    pub(crate) fn prepare() -> Self {
        Self::prepare_with(None)
    }

    /// Prepares a server with these secrets in its app.
    pub(crate) fn prepare_with(secrets: Option<wire::SealedSecrets>) -> Self {
        Self::prepare_changed(|state| release_of(state).secrets = secrets)
    }

    /// Prepares a server with a changed state.
    pub(crate) fn prepare_changed(change: impl FnOnce(&mut wire::DesiredState)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Apps run as users of their own and must pass through.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let folders = Folders::new(&dir.path().join("data")).unwrap();
        folders.create().unwrap();
        let digest = pack_app(&folders.artifacts());
        enrolled(&folders);
        let server = Self { _dir: dir, folders, digest, https: free_address(), http: free_address() };
        server.sync(1, change);
        server
    }

    /// Saves a state as if the next `run` had received it in a sync.
    pub(crate) fn sync(&self, version: u64, change: impl FnOnce(&mut wire::DesiredState)) {
        let mut state = state(&self.digest, version);
        change(&mut state);
        std::fs::write(self.folders.desired_state(), signed(&state).encode_to_vec()).unwrap();
    }

    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlead-agent"));
        command.arg("run").arg("--data").arg(self.folders.root());
        command.args(["--https", &self.https.to_string(), "--http", &self.http.to_string()]).args(more);
        command.env("RUST_LOG", "info").stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&self) -> Run {
        self.start_with(&[])
    }

    pub(crate) fn start_with(&self, more: &[&str]) -> Run {
        let mut child = self.command(more).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                eprintln!("  agent: {line}");
                if sender.send(line).is_err() {
                    // The test is over; the pipe must be emptied all the same, or the agent's log would block.
                    continue;
                }
            }
        });
        Run { child, lines }
    }

    /// Waits until another worker than this one works, and returns its pid.
    pub(crate) fn until_works(&self, before: Option<i32>) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let told = std::fs::read_to_string(self.folders.homes().join("app_a-env_p/worker")).unwrap_or_default();
            if let Some((pid, port)) = told.split_once(' ')
                && let Ok(pid) = pid.parse()
                && Some(pid) != before
            {
                assert_eq!(port, "none", "a worker has no port");
                return pid;
            }
            assert!(Instant::now() < deadline, "no worker works");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a condition holds.
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}: not yet");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the live processes of this server, whatever their parent is.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let root = self.folders.root();
        let mine = |process: &Path| {
            let inside = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
            // An instance's folder is `/app` in its own mounts; its variables name its home.
            let names = |file: &str| contains(&std::fs::read(process.join(file)).unwrap_or_default(), root.as_os_str());
            inside || names("cmdline") || names("environ") || holds_port(process, self.https)
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let found = entries.filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let alive = !command.is_empty() && mine(&entry.path());
            alive.then(|| (pid, command.replace('\0', " ")))
        });
        found.collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Parents first would respawn their children: take everything twice.
        for _ in 0..2 {
            for (pid, _) in self.processes() {
                kill(pid, Signal::KILL);
            }
        }
    }
}

/// A `run` under test.
pub(crate) struct Run {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Run {
    /// Waits until the proxy is there and the routes are applied.
    pub(crate) fn until_serving(&mut self) {
        self.until_says("routes applied");
    }

    /// Waits for a log line that contains these words, and returns it.
    pub(crate) fn until_says(&mut self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(rest).unwrap_or_else(|_| panic!("the agent never says: {words}"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Requests the app until it answers, after each log line of the agent.
    pub(crate) fn until_served(&mut self, client: &Client) -> Answer {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match client.get("/") {
                Ok(answer) => return answer,
                Err(error) => assert!(Instant::now() < deadline, "never served: {error}"),
            }
            if let Err(mpsc::RecvTimeoutError::Disconnected) = self.lines.recv_timeout(Duration::from_millis(50)) {
                panic!("the agent ended: {:?}", self.child.wait());
            }
        }
    }

    /// Kills everything at once, as a power failure does.
    pub(crate) fn kill_with_all(&mut self, server: &Server) {
        self.kill();
        while let Some((pid, _)) = server.processes().first() {
            kill(*pid, Signal::KILL);
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub(crate) fn terminate(&mut self) {
        kill(i32::try_from(self.child.id()).unwrap(), Signal::TERM);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the agent ended with {status}");
    }

    /// Returns the pid of the proxy, a child of this `run`.
    pub(crate) fn proxy(&self) -> i32 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).unwrap();
        let is_proxy = |pid: &&str| {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            command.split(|byte| *byte == 0).nth(1) == Some(b"proxy".as_slice())
        };
        children.split_whitespace().find(is_proxy).expect("run has a proxy").parse().unwrap()
    }

    pub(crate) fn kill_proxy(&self) -> i32 {
        let pid = self.proxy();
        kill(pid, Signal::KILL);
        pid
    }
}

fn kill(pid: i32, signal: Signal) {
    match kill_process(Pid::from_raw(pid).unwrap(), signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("{pid} can't be signalled: {error}"),
    }
}

fn contains(haystack: &[u8], needle: &OsStr) -> bool {
    let needle = needle.as_encoded_bytes();
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// True if a process holds the listener of this test's proxy.
fn holds_port(process: &Path, address: SocketAddr) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let local = format!("0100007F:{:04X}", address.port());
    let inodes: Vec<String> = table
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // Field 3 is the state, 0A is LISTEN; field 9 the socket's inode (proc_net_tcp).
            (fields.get(1) == Some(&local.as_str()) && fields.get(3) == Some(&"0A"))
                .then(|| format!("socket:[{}]", fields[9]))
        })
        .collect();
    let Ok(open) = std::fs::read_dir(process.join("fd")) else { return false };
    open.flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|target| inodes.iter().any(|inode| target.as_os_str() == inode.as_str()))
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn signer() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn enrolled(folders: &Folders) {
    std::fs::write(folders.key(), [5u8; 32]).unwrap();
    let config = fairlead_link::AgentConfig {
        server_id: ServerId::parse("srv_test").unwrap(),
        server_name: "test".into(),
        // Port 1 is closed: the control plane is gone.
        control_url: "http://127.0.0.1:1".into(),
        control_ca_file: None,
        signing_keys: vec![fairlead_link::SigningKey {
            key_id: "key_test".into(),
            public_key: signer().public_key().as_ref().to_vec(),
        }],
    };
    fairlead_base::config::write(&folders.config(), &config).unwrap();
}

fn pack_app(artifacts: &Path) -> String {
    let mut archive = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    for (name, text) in [("server.js", APP), ("worker.js", WORKER)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let packed = archive.into_inner().unwrap().finish().unwrap();
    let hash = digest::digest(&digest::SHA256, &packed);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(artifacts.join(format!("{hex}.tar.zst")), packed).unwrap();
    hex
}

/// The live release of the state's app.
pub(crate) fn release_of(state: &mut wire::DesiredState) -> &mut wire::ReleaseSpec {
    state.apps[0].live.as_mut().unwrap()
}

fn state(digest: &str, number: u64) -> wire::DesiredState {
    let release = wire::ReleaseSpec {
        release_id: "rel_test".into(),
        number: 1,
        artifact_digest: format!("sha256:{digest}"),
        command: vec!["node".into(), "server.js".into()],
        readiness_check: Some(wire::HealthCheck {
            path: "/".into(),
            interval_ms: 100,
            timeout_ms: 2_000,
            ..Default::default()
        }),
        drain_timeout_ms: 5_000,
        stop_timeout_ms: 5_000,
        workers: vec![wire::ProcessSpec {
            name: "queue".into(),
            command: vec!["node".into(), "worker.js".into()],
            instances: 1,
            ..wire::ProcessSpec::default()
        }],
        ..wire::ReleaseSpec::default()
    };
    let target = wire::AppTarget { app_id: "app_a".into(), environment_id: "env_p".into() };
    wire::DesiredState {
        version: Some(wire::Version { epoch: 1, number }),
        server_id: "srv_test".into(),
        requires: vec!["app".into(), "route".into()],
        apps: vec![wire::AppSpec {
            app_id: "app_a".into(),
            environment_id: "env_p".into(),
            name: "hello".into(),
            live: Some(release),
            candidate: None,
            instances: 1,
            traffic: Vec::new(),
            ..Default::default()
        }],
        routes: vec![wire::RouteSpec {
            host: HOST.into(),
            path_prefix: "/".into(),
            target: Some(wire::route_spec::Target::App(target)),
            policy: Vec::new(),
        }],
        ..wire::DesiredState::default()
    }
}

fn signed(state: &wire::DesiredState) -> wire::SignedState {
    let state = state.encode_to_vec();
    let message = [b"fairlead-state-v1\n".as_slice(), &state].concat();
    wire::SignedState { signature: signer().sign(&message).as_ref().to_vec(), state, key_id: "key_test".into() }
}
