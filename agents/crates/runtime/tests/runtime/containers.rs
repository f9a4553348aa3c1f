//! Integration tests of container instances with a real engine in a network of the test's own. The image has one static
//! program.

#[path = "../../../engine/tests/support/started.rs"]
mod started;

use std::process::{Command, Stdio};

use fairlead_engine::{ImageBuildRequest, OWNER_LABEL};
use fairlead_model::{ArtifactKind, VolumeMount};
use fairlead_runtime::{IMAGE_FILE, owner};
use rustix::thread::UnshareFlags;
use started::StartedEngine;

use super::*;

/// Busybox, and what it serves.
const DOCKERFILE: &str = "FROM scratch\nCOPY busybox /bin/busybox\nCOPY page /www/index.html\nENV PATH=/bin KIND=image\n\
    EXPOSE 9000/tcp 9100/tcp\nCMD [\"/bin/busybox\", \"httpd\", \"-f\", \"-p\", \"9000\", \"-h\", \"/www\"]\n";

/// A running engine that has the image.
pub(super) struct LoadedEngine {
    pub(super) engine: Engine,
    image: String,
}

impl LoadedEngine {
    async fn into(started: &StartedEngine) -> Self {
        let (engine, context_file) = (started.engine.clone(), started.folder.path().join("context"));
        let mut context = tar::Builder::new(std::fs::File::create(&context_file).unwrap());
        let mut add = |name: &str, mode: u32, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(mode);
            context.append_data(&mut header, name, bytes).unwrap();
        };
        add("Dockerfile", 0o644, DOCKERFILE.as_bytes());
        add("page", 0o644, b"from inside");
        add("busybox", 0o755, &std::fs::read("/bin/busybox").expect("Debian's busybox-static must be installed"));
        context.finish().unwrap();
        let order = ImageBuildRequest {
            context: &context_file,
            dockerfile: "Dockerfile",
            name: "fairlead/test:1",
            memory_bytes: 0,
            cpu_millis: 0,
            without_cache: false,
            network: None,
            arguments: &Default::default(),
        };
        engine.build(order, &mut |_| {}, &fairlead_base::CancellationToken::new()).await.unwrap();
        let image = engine.image("fairlead/test:1").await.unwrap().unwrap().id;
        Self { engine, image }
    }

    /// Returns all that `docker inspect` shows of an instance's container.
    async fn inspect(
        &self,
        folders: &Folders,
        status: &InstanceStatus,
    ) -> fairlead_engine::bollard::models::ContainerInspectResponse {
        let name = format!("fairlead-{}-{}", owner(folders), status.id);
        self.engine.api().await.unwrap().inspect_container(&name, None).await.unwrap()
    }
}

/// Writes the image id where the agent's own implementation would.
struct Images(String);

impl PrepareRelease for Images {
    fn prepare<'a>(
        &'a self,
        _release: &'a ReleaseSpec,
        folder: &'a Path,
        _fetching: &'a (dyn Fn() + Send + Sync + 'a),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(IMAGE_FILE), &self.0).unwrap();
            Ok(())
        })
    }
}

/// Runs a test with a server and an engine in a network of their own: a bridge and its rules affect no other test.
fn with_engine<F: Future<Output = ()>>(test: impl FnOnce(LoadedEngine, Server) -> F + Send + 'static) {
    with_engine_and(|_| (shared(), ()), test);
}

/// Runs a test with containers in the given networks, and holds a guard for as long as they exist.
pub(super) fn with_engine_and<F: Future<Output = ()>, H>(
    network: impl FnOnce(&Folders) -> (Result<OwnNetwork, String>, H) + Send + 'static,
    test: impl FnOnce(LoadedEngine, Server) -> F + Send + 'static,
) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let in_own_network = move || {
        // SAFETY: descriptors stay shared, as `FILES` is not given; the network is this thread's and its children's.
        #[allow(unsafe_code)]
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = temporary(0o755);
            let folders = Folders::new(folder.path()).unwrap();
            folders.create().unwrap();
            let (network, held) = network(&folders);
            // The engine is held here: it ends with its holder, and a test takes only the parts that it names.
            let started = StartedEngine::start().await;
            let loaded = LoadedEngine::into(&started).await;
            let prepare = Arc::new(Images(loaded.image.clone()));
            let (runtime, output) = start_with(&folders, network.clone(), prepare, loaded.engine.clone()).await;
            let gates = Arc::new(gate::TestGates::passing());
            test(loaded, Server { folders, runtime, output, network, rootless: None, gates, folder: Some(folder) })
                .await;
            drop((started, held));
        });
    };
    std::thread::spawn(in_own_network).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

impl Server {
    pub(super) async fn restart_agent_with(&mut self, loaded: &LoadedEngine) {
        let prepare = Arc::new(Images(loaded.image.clone()));
        let (runtime, output) = start_with(&self.folders, self.network.clone(), prepare, loaded.engine.clone()).await;
        (self.runtime, self.output) = (runtime, output);
    }

    fn upstream(&self) -> SocketAddr {
        self.output.view.borrow().upstreams[&key("app_a")][0].address.to_string().parse().unwrap()
    }

    /// Returns the log of the app so far.
    fn app_log(&self) -> String {
        fn read(folder: &Path, into: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    read(&entry.path(), into);
                } else {
                    into.push_str(&std::fs::read_to_string(entry.path()).unwrap_or_default());
                }
            }
        }
        let mut text = String::new();
        read(&self.folders.app_logs(), &mut text);
        text
    }
}

#[test]
fn no_container_reaches_another_ones_port_and_the_server_reaches_both() {
    with_engine(|_, mut server| async move {
        let other = AppSpec { key: key("app_b"), ..live(image(2, &[])) };
        server.desire([live(image(1, &[])), other]);
        let both = server.healthy(2).await;
        let addresses: Vec<SocketAddr> = {
            let view = server.output.view.borrow();
            let of = |app| view.upstreams[&key(app)][0].address.to_string().parse().unwrap();
            vec![of("app_a"), of("app_b")]
        };
        let second = both.iter().find(|status| status.key == key("app_b")).unwrap();
        // Connects from inside its network, by a program of this machine.
        let reaches = |address: SocketAddr| {
            let (ip, port) = (address.ip().to_string(), address.port().to_string());
            let inside = ["-n", "-t", &second.pid.to_string(), "timeout", "2"].map(str::to_owned);
            let connect = ["bash", "-c", "exec 3<>/dev/tcp/$0/$1", &ip, &port];
            Command::new("nsenter").args(inside).args(connect).stderr(Stdio::null()).status().unwrap().success()
        };
        for address in &addresses {
            assert!(get(*address).await.contains("from inside"));
        }
        assert!(reaches(addresses[1]), "it can ask, if it is let");
        assert!(!reaches(addresses[0]));
        server.end().await;
    });
}

/// Describes a release of the image; without words, the image's own command runs.
pub(super) fn image(number: u64, words: &[&str]) -> ReleaseSpec {
    ReleaseSpec {
        artifact_kind: ArtifactKind::Image,
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        readiness_check: HealthCheck { path: "/".into(), ..release(number, &[]).readiness_check },
        stop_timeout: Duration::from_secs(5),
        ..release(number, &[])
    }
}

pub(super) fn script(number: u64, script: &str) -> ReleaseSpec {
    image(number, &["/bin/busybox", "sh", "-c", script])
}

#[test]
fn an_image_runs_with_its_limits_and_outlives_the_agent() {
    with_engine(|loaded, mut server| async move {
        let spec =
            live(ReleaseSpec { memory_bytes_max: 64 << 20, cpu_millis_max: 500, processes_max: 50, ..image(1, &[]) });
        server.desire([spec.clone()]);
        let before = server.healthy(1).await.remove(0);
        assert_eq!(before.port, 9000, "the lowest that the image exposes");
        assert!(get(server.upstream()).await.contains("from inside"));
        let made = loaded.inspect(&server.folders, &before).await;
        let host = made.host_config.unwrap();
        assert_eq!(
            (host.memory, host.memory_swap, host.nano_cpus),
            (Some(64 << 20), Some(64 << 20), Some(500_000_000))
        );
        let opened = host.port_bindings.unwrap_or_default().into_values().flatten().flatten().count();
        assert_eq!((host.pids_limit, host.privileged, opened), (Some(50), Some(false), 0));
        let status = std::fs::read_to_string(format!("/proc/{}/status", before.pid)).unwrap();
        for line in ["CapBnd:\t00000000000004eb", "NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "{line}: {status}");
        }
        let labels = made.config.unwrap().labels.unwrap();
        assert_eq!(labels["dev.fairlead.instance"], before.id.as_str());
        assert_eq!(labels[OWNER_LABEL], owner(&server.folders));
        let view = server.output.view.borrow().clone();
        assert!(view.processes[0].cgroup.is_some(), "what it uses is counted by the kernel");
        assert_eq!(i64::from(view.processes[0].pid), made.state.unwrap().pid.unwrap());

        server.restart_agent_with(&loaded).await;
        server.desire([spec]);
        let after = server.healthy(1).await.remove(0);
        assert_eq!((&after.id, after.pid, after.restarts), (&before.id, before.pid, 0), "adopted, not restarted");
        assert!(get(server.upstream()).await.contains("from inside"));

        let first = after.clone();
        let second = with_candidate(live(image(1, &[])), image(2, &[]), PATIENCE);
        server.desire([second]);
        let status = server.finished("dep_2").await;
        assert_eq!(status.state, WorkState::Succeeded, "{status:?}");
        server.healthy(1).await;
        let left = loaded.engine.containers_of(&owner(&server.folders)).await.unwrap();
        assert!(left.len() == 1 && !left[0].ends_with(first.id.as_str()), "{left:?}");
        let folders = server.folders.clone();
        server.end().await;
        assert_eq!(loaded.engine.containers_of(&owner(&folders)).await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn a_container_has_its_secrets_and_volumes_and_its_log_shows_no_secret() {
    with_engine(|loaded, mut server| async move {
        let says = "mkdir -p /www; echo \"url is $DATABASE_URL\"; echo err >&2; cat $FAIRLEAD_SECRETS/TLS_KEY > /www/key; \
            echo kept >> /data/notes; cat $FAIRLEAD_VOLUMES/notes/notes > /www/notes; echo $KIND $GREETING $PORT > /www/index.html; \
            exec httpd -f -p $PORT -h /www";
        let volumes = vec![VolumeMount { name: "notes".into(), path: "/data".into() }];
        let spec = live(ReleaseSpec { volumes, secrets: secrets::sealed("sealed", "v1"), ..script(1, says) });
        server.desire([spec]);
        let status = server.healthy(1).await.remove(0);
        assert!(get(server.upstream()).await.starts_with("image hello 9000"));
        let page = async |path: &str| {
            let mut stream = TcpStream::connect(server.upstream()).await.unwrap();
            stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer.split_once("\r\n\r\n").unwrap().1.to_owned()
        };
        assert_eq!(page("/key").await, secrets::value("TLS_KEY"));
        assert_eq!(page("/notes").await, "kept\n");
        let on_disk = server.folders.volumes().join("app_a-env_p/notes/notes");
        assert_eq!(std::fs::read_to_string(&on_disk).unwrap(), "kept\n");
        // A possible beginning of a secret waits a moment for the rest.
        let log = loop {
            let log = server.app_log();
            if log.contains("url is") && log.contains(" e err") {
                break log;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert!(log.contains("url is [redacted]"), "{log}");
        assert!(secrets::search(server.folders.root()) >= 3, "nothing of the agent's own shows one");
        let made = loaded.inspect(&server.folders, &status).await;
        let shown = format!("{:?} {:?}", made.args, made.config.unwrap().labels);
        assert!(!shown.contains(&secrets::value("DATABASE_URL")), "{shown}");
        let places: Vec<String> = made.mounts.unwrap().into_iter().filter_map(|mount| mount.source).collect();
        let in_memory = places.iter().find(|place| place.ends_with(status.id.as_str())).unwrap().clone();
        assert!(Path::new(&in_memory).join("TLS_KEY").exists());
        server.end().await;
        assert!(!Path::new(&in_memory).exists(), "they go with the container");
    });
}

#[test]
fn the_end_of_a_container_is_told_as_that_of_a_process() {
    with_engine(|loaded, mut server| async move {
        let first = live(image(1, &[]));
        server.desire([first.clone()]);
        let before = server.healthy(1).await.remove(0);
        // Long enough for a loaded machine to start a container and inspect it.
        let short = Duration::from_secs(10);
        for (number, release, limit, code, words) in [
            (2, script(2, "echo it broke; exit 3"), PATIENCE, "rollout.crash_loop", "exit code 3"),
            (3, script(3, "sleep 1000"), short, "rollout.not_listening", "listened on no port at all"),
            (4, script(4, "exec httpd -f -p 9001 -h /www"), short, "rollout.wrong_port", "It listened on 9001"),
            (5, image(5, &["nowhere"]), PATIENCE, "rollout.start_failed", "exit code 127"),
            (6, ReleaseSpec { memory_bytes_max: 24 << 20, ..script(6, "tail /dev/zero") }, PATIENCE, "", "memory"),
        ] {
            server.desire([with_candidate(first.clone(), release, limit)]);
            let failure = server.finished(&format!("dep_{number}")).await.failure.unwrap();
            assert!(failure.message.contains(words), "{number}: {}", failure.message);
            assert!(code.is_empty() || failure.code == code, "{number}: {}", failure.code);
            let text = server.log_text();
            assert!(number != 2 || text.contains("it broke"), "{text}");
        }
        server.desire([first]);
        let same = server.healthy(1).await.remove(0);
        assert_eq!((same.pid, same.restarts), (before.pid, 0), "what served was never touched");

        // The container must not outlive its killed shim beside its successor.
        let clients = std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            let is_shim =
                words.contains("\0shim\0") && !words.contains("--launch") && words.contains(before.id.as_str());
            is_shim.then(|| entry.file_name().to_str().unwrap().parse::<i32>().unwrap())
        });
        let shim = rustix::process::Pid::from_raw(clients.unwrap()).unwrap();
        rustix::process::kill_process(shim, rustix::process::Signal::KILL).unwrap();
        server.until("another start", |view| view.instances.iter().any(|s| s.restarts == 1).then_some(())).await;
        let again = server.healthy(1).await.remove(0);
        assert_ne!(again.pid, before.pid);
        gone(before.pid).await;
        assert_eq!(loaded.engine.containers_of(&owner(&server.folders)).await.unwrap().len(), 1);
        server.end().await;
    });
}

#[test]
fn commands_checks_and_workers_run_inside_and_what_nobody_knows_is_removed() {
    with_engine(|loaded, mut server| async move {
        let words = |script: &str| ["/bin/busybox", "sh", "-c", script].map(str::to_owned).to_vec();
        let volumes = vec![VolumeMount { name: "notes".into(), path: "/data".into() }];
        let release = ReleaseSpec {
            volumes,
            readiness_check: HealthCheck {
                command: words("test -e /data/migrated"),
                path: String::new(),
                ..image(1, &[]).readiness_check
            },
            workers: vec![fairlead_model::ProcessSpec {
                name: "clock".into(),
                command: words("echo tick from $FAIRLEAD_PROCESS; exec sleep 1000"),
                instances: 1,
                memory_bytes_max: 0,
                cpu_millis_max: 0,
                stays_awake: false,
            }],
            ..image(1, &[])
        };
        let mut spec = with_candidate(AppSpec { live: None, ..live(release.clone()) }, release, PATIENCE);
        let hook = fairlead_model::Hook { command: words("echo moving; touch /data/migrated"), timeout: PATIENCE };
        spec.candidate.as_mut().unwrap().release_command = Some(hook);
        server.desire([spec]);
        let status = server.finished("dep_1").await;
        assert_eq!(status.state, WorkState::Succeeded, "{status:?}");
        assert!(server.log_text().contains("moving"));
        server
            .until("the worker", |view| {
                view.instances.iter().any(|one| one.process == "clock" && one.pid != 0).then_some(())
            })
            .await;
        while !server.app_log().contains("tick from clock") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }

        // Leaves a container as an agent that was killed during a start would.
        let orphan = fairlead_engine::ContainerRequest {
            name: format!("fairlead-{}-ins_nobody", owner(&server.folders)),
            image: loaded.image.clone(),
            labels: [(OWNER_LABEL.to_owned(), owner(&server.folders))].into(),
            ..Default::default()
        };
        let foreign = fairlead_engine::ContainerRequest {
            name: "somebody-elses".into(),
            labels: Default::default(),
            ..orphan.clone()
        };
        loaded.engine.create_container(&orphan).await.unwrap();
        loaded.engine.create_container(&foreign).await.unwrap();
        server.restart_agent_with(&loaded).await;
        assert_eq!(loaded.engine.container(&orphan.name).await.unwrap(), None);
        assert!(loaded.engine.container(&foreign.name).await.unwrap().is_some());
        server.desire([]);
        server.until("the end of the app", |view| view.instances.is_empty().then_some(())).await;
        server.end().await;
    });
}
