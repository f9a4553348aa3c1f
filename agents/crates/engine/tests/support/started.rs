// Owns a container engine of a test's own, on a socket and in folders of its own: Debian's Docker, or its Podman where
// FAIRLEAD_TEST_ENGINE says so (`npm run check:podman`). Never touches what an engine of the machine has.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairlead_engine::Engine;

/// A running engine; it ends with the test.
pub(crate) struct StartedEngine {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) engine: Engine,
    is_podman: bool,
    process: Child,
}

impl StartedEngine {
    /// Starts an engine in the network of the caller. That must be a test's own network, so no other program sees the engine's bridges.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("fd").tempdir_in("/var/tmp").unwrap();
        let is_podman = std::env::var("FAIRLEAD_TEST_ENGINE").is_ok_and(|name| name == "podman");
        let socket = folder.path().join("s");
        let listen = format!("unix://{}", socket.display());
        let mut command = if is_podman { podman(folder.path()) } else { docker(folder.path()) };
        if is_podman {
            command.args(["system", "service", "--time=0", &listen]);
        } else {
            command.args(["-H", &listen]);
        }
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut process = command.spawn().expect("Debian's docker.io, or podman and runc, must be installed");
        let engine = Engine::at(&socket);
        while !engine.answers().await {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "{}", std::fs::read_to_string(folder.path().join("log")).unwrap());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self { folder, engine, is_podman, process }
    }
}

impl Drop for StartedEngine {
    fn drop(&mut self) {
        if self.is_podman {
            // Its containers are not its children: they would outlive it.
            podman(self.folder.path()).args(["rm", "--all", "--force", "--time=0"]).status().ok();
        }
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.process.wait().ok();
        if self.is_podman {
            // The engine keeps this mounted beside its containers.
            Command::new("umount").arg(self.folder.path().join("data/overlay")).stderr(Stdio::null()).status().ok();
        }
        // With it goes what no `TempDir` could remove while it was mounted.
        std::fs::remove_dir_all(self.folder.path()).ok();
    }
}

fn docker(folder: &Path) -> Command {
    let place = |name: &str| folder.join(name).display().to_string();
    let mut command = Command::new("/usr/sbin/dockerd");
    command
        .args(["--data-root", &place("data"), "--exec-root", &place("exec"), "-p", &place("pid")])
        .args(["--exec-opt", "native.cgroupdriver=cgroupfs", "--storage-driver", "vfs"])
        .args(["--default-ulimit", "nofile=16384:16384"]);
    command
}

/// Without systemd, with runc, with limits that a machine without CAP_SYS_RESOURCE can set, and with nothing of its own
/// outside of the folder.
fn podman(folder: &Path) -> Command {
    let place = |name: &str| folder.join(name).display().to_string();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let engine = write(
        "containers.conf",
        format!(
            "[containers]\ndefault_ulimits = [\"nofile=16384:16384\", \"nproc=8192:8192\"]\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\nlock_type = \"file\"\n\
             tmp_dir = \"{}\"\n[network]\nnetwork_backend = \"netavark\"\nnetwork_config_dir = \"{}\"\n",
            place("tmp"),
            place("networks"),
        ),
    );
    let storage =
        format!("[storage]\ndriver = \"overlay\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n", place("data"), place("run"));
    let mut command = Command::new("/usr/bin/podman");
    command
        .env("CONTAINERS_CONF", engine)
        .env("CONTAINERS_STORAGE_CONF", write("storage.conf", storage))
        .env("TMPDIR", folder);
    command
}
