//! Images by a real engine: Debian's Docker, started by the test on a socket and in folders of its own.

#[path = "../../../engine/tests/support/world.rs"]
mod world;

use std::process::{Child, Command, Stdio};

use fairlead_engine::Engine;
use fairlead_model::{ArtifactKind, Builder};
use fairlead_network::{OwnNetwork, PublicPorts};
use rustix::thread::UnshareFlags;
use world::{INTERNET, METADATA, PRIVATE, RESOLVER, SERVER, World};

use super::*;

/// A running engine; it ends with the test.
struct Docker {
    _folder: tempfile::TempDir,
    process: Child,
    engine: Engine,
}

impl Docker {
    async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("fd").tempdir_in("/var/tmp").unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        let socket = folder.path().join("s");
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut process = Command::new("/usr/sbin/dockerd")
            .args(["--data-root", &place("data"), "--exec-root", &place("exec"), "-p", &place("pid")])
            .args(["-H", &format!("unix://{}", socket.display()), "--exec-opt", "native.cgroupdriver=cgroupfs"])
            .args(["--default-ulimit", "nofile=16384:16384", "--storage-driver", "vfs"])
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .expect("Debian's docker.io must be installed");
        let engine = loop {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "{}", std::fs::read_to_string(folder.path().join("log")).unwrap());
            tokio::time::sleep(Duration::from_millis(50)).await;
            let engine = Engine::at(&socket);
            if engine.answers().await {
                break engine;
            }
        };
        Self { _folder: folder, process, engine }
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.process.wait().ok();
    }
}

const DOCKERFILE: &str = "FROM scratch\nCOPY busybox /bin/busybox\nRUN [\"/bin/busybox\", \"echo\", \"built inside\"]\n\
    COPY page /page\nCMD [\"/bin/busybox\", \"cat\", \"/page\"]\n";

#[tokio::test]
async fn a_dockerfile_becomes_an_image_that_is_saved_by_its_content_and_loads_again() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let docker = Docker::start().await;
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.engine = Some(docker.engine.clone());
    let repository = host.repository(
        "image.git",
        &[("Dockerfile", DOCKERFILE), ("page", "hello"), (".dockerignore", "ignored\n"), ("ignored", "x")],
    );
    repository.copy("/bin/busybox", "busybox");
    let mut ears = Ears::default();
    let made = server.build(&spec(host.url("image.git"), "main"), &mut ears).await;
    let made = made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
    assert_eq!((made.artifact.kind, made.artifact.runtime.as_str()), (ArtifactKind::Image, "docker"));
    assert!(ears.lines.iter().any(|line| line == "built inside"), "{:#?}", ears.lines);
    let path = artifact_path(&server.options.artifacts, &made.artifact.digest).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), made.artifact.size_bytes);

    let archive = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let name = docker.engine.load(std::io::Cursor::new(archive), &CancellationToken::new()).await.unwrap();
    assert!(name.starts_with("fairlead.invalid/build-0a/app_a:dep_"), "{name}");
    let inspected = docker.engine.api().await.unwrap().inspect_image(&name).await.unwrap();
    let command = inspected.config.clone().unwrap().cmd.unwrap();
    assert_eq!(command, ["/bin/busybox", "cat", "/page"]);
    std::fs::remove_dir_all(&server.options.artifacts).unwrap();
    std::fs::create_dir(&server.options.artifacts).unwrap();

    // A day later its name goes, unless it is being built; another agent's stays.
    docker.engine.tag(&name, "fairlead.invalid/build-0b/app_a", "dep_1").await.unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let (day, building) = (24 * 60 * 60, DeploymentId::parse(name.rsplit(':').next().unwrap()).unwrap());
    let left = async |owner, building: &[DeploymentId], now| {
        prune_images(&docker.engine, owner, building, now).await.unwrap();
        docker.engine.images_below("fairlead.invalid/build-").await.unwrap().len()
    };
    assert_eq!(left("0a", &[], now).await, 2, "it was made just now");
    assert_eq!(left("0a", &[building], now + day + 60).await, 2, "a build may be about to save it");
    assert_eq!(left("0a", &[], now + day + 60).await, 1);
    assert!(docker.engine.image("fairlead.invalid/build-0b/app_a:dep_1").await.unwrap().is_some());

    host.repository("broken.git", &[("Dockerfile", "FROM scratch\nCOPY absent /absent\n")]);
    server
        .fails(&spec(host.url("broken.git"), "main"), "build.container_failed", "could not be built from Dockerfile")
        .await;
    host.repository("wrong.git", &[("Dockerfile", "FORM scratch\n")]);
    server.fails(&spec(host.url("wrong.git"), "main"), "build.container_failed", "FORM").await;
    // Files that the engine itself would fetch, over the server's network.
    let download = "FROM scratch\nADD http://127.0.0.1:1/secret /secret\n";
    let inherited = "FROM scratch AS base\nCOPY page /page\nONBUILD ADD page /other\nFROM base\nCMD [\"/page\"]\n";
    for (name, dockerfile, words) in [
        ("download.git", download, "has an ADD from `http://"),
        ("inherited.git", inherited, "has ONBUILD instructions"),
    ] {
        host.repository(name, &[("Dockerfile", dockerfile), ("page", "x")]);
        server.fails(&spec(host.url(name), "main"), "build.container_failed", words).await;
    }
    let absent =
        BuildSpec { builder: Builder::Image, image: "127.0.0.1:1/nothing:1".into(), ..spec(String::new(), "") };
    server.fails(&absent, "build.container_failed", "could not be pulled").await;
}

#[tokio::test]
async fn a_dockerfile_gets_the_variables_that_it_declares() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let docker = Docker::start().await;
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.engine = Some(docker.engine.clone());
    let dockerfile = "FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\nENV PATH=/bin\n\
        ARG VITE_API=none\nARG FAIRLEAD_GIT_BRANCH\n\
        RUN echo \"api=$VITE_API branch=$FAIRLEAD_GIT_BRANCH other=$OTHER\"\nCMD [\"/bin/busybox\"]\n";
    host.repository("arguments.git", &[("Dockerfile", dockerfile)]).copy("/bin/busybox", "busybox");
    let set = [("VITE_API", "https://a.example/?b=c&d=%20e"), ("OTHER", "x")];
    let variables = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut ears = Ears::default();
    let made = server.build(&BuildSpec { variables, ..spec(host.url("arguments.git"), "main") }, &mut ears).await;
    made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
    let wanted = "api=https://a.example/?b=c&d=%20e branch=main other=";
    assert!(ears.lines.iter().any(|line| line == wanted), "{:#?}", ears.lines);
    let told = "Variables given as build arguments: FAIRLEAD_GIT_BRANCH, VITE_API.";
    assert!(ears.lines.iter().any(|line| line == told), "{:#?}", ears.lines);
}

/// Builds as an engine does when it need not ask registries.
async fn build_with_local_images(docker: &Docker, dockerfile: &str) -> bool {
    use fairlead_engine::bollard::{body_full, query_parameters::BuildImageOptionsBuilder};
    let mut context = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(dockerfile.len() as u64);
    context.append_data(&mut header, "Dockerfile", dockerfile.as_bytes()).unwrap();
    let (api, context) = (docker.engine.api().await.unwrap(), context.into_inner().unwrap());
    let options = BuildImageOptionsBuilder::new().t("attack:1").build();
    let mut words = std::pin::pin!(api.build_image(options, None, Some(body_full(context.into()))));
    let mut built = true;
    while let Some(said) = futures_util::StreamExt::next(&mut words).await {
        built &= said.is_ok_and(|said| said.error_detail.is_none());
    }
    built
}

#[tokio::test]
async fn a_dockerfile_gets_nothing_of_an_image_that_another_app_has_on_the_server() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let docker = Docker::start().await;
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.engine = Some(docker.engine.clone());
    let victim = host.repository("victim.git", &[("Dockerfile", DOCKERFILE), ("page", "secret")]);
    victim.copy("/bin/busybox", "busybox");
    server.build(&spec(host.url("victim.git"), "main"), &mut Ears::default()).await.unwrap();
    std::fs::remove_dir_all(&server.options.artifacts).unwrap();
    std::fs::create_dir(&server.options.artifacts).unwrap();
    let name = docker.engine.images_below("fairlead.invalid/build-0a/").await.unwrap().remove(0).name;
    let id = docker.engine.image(&name).await.unwrap().unwrap().id;
    let short = id.strip_prefix("sha256:").unwrap()[..12].to_owned();
    let (repository, tag) = name.rsplit_once(':').unwrap();
    let attacks = [
        format!("FROM {name}\n"),
        format!("FROM {short}\n"),
        format!("ARG TAG={tag}\nFROM {repository}:${{TAG}}\n"),
        format!("FROM scratch\nCOPY --from={name} /page /page\n"),
        format!("FROM {name} AS theirs\nFROM scratch\nCOPY --from=theirs /page /page\n"),
    ];
    for (number, attack) in attacks.iter().enumerate() {
        assert!(build_with_local_images(&docker, attack).await, "the engine alone does it: {attack}");
        let repository = format!("attack-{number}.git");
        host.repository(&repository, &[("Dockerfile", attack)]);
        server.fails(&spec(host.url(&repository), "main"), "build.container_failed", "could not be built").await;
    }
    // Stages of the Dockerfile are no images of others.
    let own = "FROM scratch AS one\nCOPY page /page\nFROM scratch\nCOPY --from=one /page /page\nCMD [\"/page\"]\n";
    host.repository("own.git", &[("Dockerfile", own), ("page", "mine")]);
    server.build(&spec(host.url("own.git"), "main"), &mut Ears::default()).await.unwrap();
}

/// Ends only when it sees the limits of its build.
const LIMITED: &str = "FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\n\
    RUN until [ \"$(/bin/busybox cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max)\" = 4096 ]; \
    do /bin/busybox sleep 0.1; done 2>/dev/null\n\
    RUN [ \"$(/bin/busybox cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null)\" = 3221225472 ]\n\
    CMD [\"/bin/busybox\"]\n";

#[tokio::test]
async fn a_dockerfile_runs_with_a_limit_of_processes_and_more_than_two_gibibytes_of_memory() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let docker = Docker::start().await;
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.engine = Some(docker.engine.clone());
    let repository = host.repository("limited.git", &[("Dockerfile", LIMITED)]);
    repository.copy("/bin/busybox", "busybox");
    let limits = BuildLimits { memory_bytes_max: 3 << 30, ..BuildLimits::default() };
    let spec = BuildSpec { limits, ..spec(host.url("limited.git"), "main") };
    let mut ears = Ears::default();
    let made = server.build(&spec, &mut ears).await;
    made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
}

/// Runs a test in its own network namespace, with a default route to another machine.
fn with_world<F: Future<Output = ()>>(test: impl FnOnce(World) -> F + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let inside = move || {
        // SAFETY: descriptors stay shared, as `FILES` is not given; the network is this thread's and its children's.
        #[allow(unsafe_code)]
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test(World::make()));
    };
    std::thread::spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn a_dockerfile_reaches_what_other_builds_reach_and_leaves_no_network() {
    const PUBLIC: u16 = 8443;
    const HIDDEN: u16 = 8081;
    with_world(|mut world| async move {
        world.serve(&[], PUBLIC);
        world.serve(&[], HIDDEN);
        let docker = Docker::start().await;
        let (host, mut server) = (GitHost::start(), Server::new());
        let folders = Folders::new(server.folder.path()).unwrap();
        let ports = PublicPorts { tcp: [PUBLIC].into(), udp: Default::default() };
        let network = OwnNetwork::open(&folders, &ports).expect("the package nftables must be installed");
        network.firewall().install_with(&ports, &[RESOLVER.parse().unwrap()].into()).unwrap();
        server.options.engine = Some(docker.engine.clone());
        let targets: Vec<String> =
            [(INTERNET, 80), (PRIVATE, 80), (METADATA, 80), (RESOLVER, 53), (SERVER, PUBLIC), (SERVER, HIDDEN)]
                .map(|(host, port)| format!("{host}:{port}"))
                .into();
        // Control: all of it answers here.
        for target in &targets {
            assert!(std::net::TcpStream::connect(target).is_ok(), "{target}");
        }
        let attempts = "for target in $TARGETS; do \
            busybox nc -w 2 ${target%:*} ${target#*:} </dev/null && echo reached $target; done; echo done";
        let dockerfile = format!(
            "FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\nENV PATH=/bin TARGETS=\"{}\"\n\
             RUN {attempts}\nRUN echo another step\nCMD [\"/bin/busybox\"]\n",
            targets.join(" ")
        );
        let repository = host.repository("reach.git", &[("Dockerfile", dockerfile.as_str())]);
        repository.copy("/bin/busybox", "busybox");
        for (private, expected) in [
            (false, vec![(INTERNET, 80), (RESOLVER, 53), (SERVER, PUBLIC)]),
            (true, vec![(INTERNET, 80), (PRIVATE, 80), (RESOLVER, 53), (SERVER, PUBLIC)]),
        ] {
            server.options.network = Some((network.clone(), private));
            let mut ears = Ears::default();
            let spec = BuildSpec { without_cache: true, ..spec(host.url("reach.git"), "main") };
            let made = server.build(&spec, &mut ears).await;
            made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
            let reached: Vec<&str> = ears.lines.iter().filter_map(|line| line.strip_prefix("reached ")).collect();
            let expected: Vec<String> = expected.iter().map(|(host, port)| format!("{host}:{port}")).collect();
            assert_eq!(reached, expected, "{:#?}", ears.lines);
        }

        // A cancelled build leaves none either.
        let slow = "FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\nRUN echo be''gun; /bin/busybox sleep 1000\n";
        let repository = host.repository("slow.git", &[("Dockerfile", slow)]);
        repository.copy("/bin/busybox", "busybox");
        let mut ears = Ears { cancel_at: Some(("begun", CancellationToken::new())), ..Ears::default() };
        assert!(server.build(&spec(host.url("slow.git"), "main"), &mut ears).await.is_err());
        let left = docker.engine.api().await.unwrap().list_networks(None).await.unwrap();
        let names: Vec<String> = left.into_iter().filter_map(|network| network.name).collect();
        assert!(!names.iter().any(|name| name.contains("build")), "{names:?}");
        let prefix = network.firewall().device_prefix();
        let has_devices = || {
            let devices = Command::new("ip").args(["-o", "link"]).output().unwrap().stdout;
            String::from_utf8(devices).unwrap().contains(&format!(": {prefix}"))
        };
        // The kernel takes namespaces down in its own time.
        let gone = async {
            while has_devices() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.expect("no device is left");
    });
}
