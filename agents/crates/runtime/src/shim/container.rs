//! Launcher of a container instance: it runs as the engine's client in place of the app's process. It passes on output,
//! SIGTERM and the exit.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use fairlead_base::handover;
use fairlead_engine::{
    BindMount, ContainerRequest, ContainerState, Engine, EngineError, OWNER_LABEL, OutputStream, OwnBridge,
};
use fairlead_model::{InstanceId, Secret, SecretDelivery};
use fairlead_network::{current, set_group};
use futures_util::StreamExt;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit, setsid};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::READY;
use crate::instance::{ContainerRecord, ContainerSpec, InstanceFolder, InstanceSpec, NetworkLink, WEB};
use crate::secrets;

/// Folders in a container: its secrets that are files, and its volumes by their names.
pub(crate) const SECRETS: &str = "/fairlead/secrets";
pub(crate) const VOLUMES: &str = "/fairlead/volumes";
/// Port to listen on if the image defines none.
const PORT: u16 = 8080;
/// Maximum wait for the last output of a container.
const LAST_OUTPUT_LIMIT: Duration = Duration::from_secs(2);
/// Pause before an output stream that ended too early is reopened.
const ATTACH_PAUSE: Duration = Duration::from_secs(5);
/// Timeout of the shim's answer to the container's network.
const SHIM_TIMEOUT: Duration = Duration::from_secs(20);
/// Time by which the command inside ends before the caller's timeout, which kills the check.
const CHECK_SLACK: Duration = Duration::from_millis(100);

/// Runs the container to its end and returns its exit code. The error is a sentence. Passes the container's network, if
/// it has one of its own, to the shim at the other end of `parent`.
///
/// The engine owns the container. The agent that follows the instance removes it after this process has ended.
pub(super) fn run(
    folder: &InstanceFolder,
    spec: &InstanceSpec,
    container: &ContainerSpec,
    secrets: &[Secret],
    parent: &UnixStream,
) -> Result<i32, String> {
    let failed = |what: &str, error: io::Error| format!("The app could not be started: {what} failed ({error}).");
    let shim = rustix::process::getppid();
    setsid().map_err(|error| failed("making its session", error.into()))?;
    // A core dump of this process might contain a secret.
    let no_core = Rlimit { current: Some(1), maximum: Some(1) };
    setrlimit(Resource::Core, no_core).map_err(|error| failed("limiting core files", error.into()))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("tying it to its shim", error.into()))?;
    if rustix::process::getppid() != shim {
        return Err("The app could not be started: its shim was killed meanwhile.".to_owned());
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if let Some(path) = &container.secrets {
        write_secrets(path, secrets).map_err(|error| failed("making the folder of its secrets", error))?;
    }
    in_runtime(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed("listening for signals", error))?;
        // A stop request during the start takes effect after it: an engine always finishes a request.
        let started = start(folder, spec, container, secrets, parent).await?;
        let asked = async {
            while terminate.recv().await.is_some() {
                if let Err(error) = started.engine.signal_container(&started.name, &started.stop_signal).await {
                    // The message goes into the shim's own log. The container ends when its stop timeout expires.
                    writeln!(io::stderr(), "the container could not be asked to end: {error}").ok();
                }
            }
            std::future::pending::<()>().await;
        };
        let heard = forward_output(&started.engine, &started.name, started.words);
        tokio::pin!(heard);
        tokio::select! {
            () = asked => {}
            () = &mut heard => {}
            () = started.engine.wait_for_exit(&started.name) => {
                // The last output is on its way. Processes that it left running may hold its pipes open.
                tokio::time::timeout(LAST_OUTPUT_LIMIT, &mut heard).await.ok();
            }
        }
        match started.engine.container(&started.name).await {
            Ok(Some(state)) => {
                if state.out_of_memory {
                    File::create(folder.out_of_memory()).map_err(|error| failed("noting its end", error))?;
                }
                Ok(state.code)
            }
            Ok(None) => Err("The app's container was removed by somebody else on this server.".to_owned()),
            Err(error) => Err(format!("How the app's container ended can't be told: {error}.")),
        }
    })
}

/// Runs a check of the release inside the container and returns its exit code.
pub(super) fn check(
    container: &ContainerSpec,
    instance: &InstanceId,
    command: &[String],
    limit: Duration,
) -> Result<i32, String> {
    setsid().map_err(|error| error.to_string())?;
    let engine = Engine::at(&container.socket);
    let name = name(container, instance);
    in_runtime(async {
        match engine.exec(&name, command, limit.saturating_sub(CHECK_SLACK)).await {
            Ok(Some(code)) => Ok(i32::try_from(code).unwrap_or(i32::MAX)),
            // The timeout has passed: the caller kills this process and reports it.
            Ok(None) => std::future::pending().await,
            Err(error) => Err(error.to_string()),
        }
    })
}

/// Returns the name of an instance's container.
pub(crate) fn name(container: &ContainerSpec, instance: &InstanceId) -> String {
    format!("fairlead-{}-{instance}", container.owner)
}

/// Container that the engine has started, with its output.
struct RunningContainer {
    engine: Engine,
    name: String,
    stop_signal: String,
    words: OutputStream,
}

async fn start(
    folder: &InstanceFolder,
    spec: &InstanceSpec,
    container: &ContainerSpec,
    secrets: &[Secret],
    parent: &UnixStream,
) -> Result<RunningContainer, String> {
    let failed = |error: EngineError| format!("The app could not be started: the container engine said: {error}.");
    let engine = Engine::at(&container.socket);
    let image = engine.image(&container.image).await.map_err(failed)?.ok_or(
        "The app could not be started: its image is no longer on this server. Deploy again, which brings it back.",
    )?;
    if spec.command.is_empty() && !image.starts {
        return Err(
            "The image says nothing about what it starts. Set a start command in the settings of the app.".to_owned()
        );
    }
    let has_port = spec.process == WEB && spec.hook.is_none();
    let port = if has_port { image.port.unwrap_or(PORT) } else { 0 };
    let server_ports = spec.network.iter().flat_map(|network| &network.server_ports);
    if let Some(address) = server_ports.into_iter().find(|address| address.port() == port) {
        // The relay may listen there before the app does, and then the public would reach the server's port.
        return Err(format!(
            "The app could not be started: it listens on port {port}, which is also the port of {address} in *Server ports*. Let one of them listen on another port."
        ));
    }
    let app = format!("{}-{}", spec.key.app, spec.key.environment);
    // One start at a time: Docker makes two networks of one name for two simultaneous requests, and then starts nothing
    // in either. The lock lasts until the container has joined its network, because the agent removes empty ones.
    let instances = File::open(folder.path().join("..")).map_err(|error| failed(error.into()))?;
    flock(&instances, FlockOperation::LockExclusive).map_err(|error| failed(io::Error::from(error).into()))?;
    let request = request(spec, container, secrets, port);
    let (network, bridge) = match &spec.network {
        Some(own) => {
            // An older container would still use the network of this name.
            engine.remove_container(&request.name).await.map_err(failed)?;
            let NetworkLink::Devices(link) = &own.link else {
                return Err("The container could not be started: it can't have a network without root.".to_owned());
            };
            let bridge = OwnBridge { name: &request.name, owner: &container.owner, device_prefix: &link.prefix };
            let device = engine.make_own_bridge(bridge).await.map_err(failed)?;
            (request.name.clone(), Some(Bridge { device, group: link.group }))
        }
        None => (engine.closed_network(&container.owner, &app).await.map_err(failed)?, None),
    };
    let joined = |error: io::Error| {
        format!("The app could not be started: letting its network reach what it may reach failed ({error}).")
    };
    let early = bridge.as_ref().map(Bridge::join_group).transpose().map_err(joined)?.unwrap_or(true);
    let mut request = ContainerRequest { network, ..request };
    let mut made = begin(&engine, &request).await;
    while let Err(EngineError::Refused(why)) = &made
        && let Some(other) = without_refused_option(&request, why)
    {
        request = other;
        made = begin(&engine, &request).await;
    }
    drop(instances);
    let words = made.map_err(failed)?;
    let state = engine.container(&request.name).await.map_err(failed)?.ok_or("The app's container has gone.")?;
    let host = match &bridge {
        Some(bridge) => {
            if state.running && !early && !bridge.join_group().map_err(joined)? {
                return Err(joined(io::ErrorKind::NotFound.into()));
            }
            if state.running {
                give_network(parent, &state)?;
            }
            None
        }
        None => container_address(&state, has_port, &request.network)?,
    };
    folder
        .write_container_record(&ContainerRecord { pid: state.pid, host, port })
        .map_err(|error| format!("The app could not be started: noting its container failed ({error})."))?;
    Ok(RunningContainer { engine, name: request.name, stop_signal: state.stop_signal, words })
}

/// Device of a container's own network, and its interface group for the firewall.
struct Bridge {
    device: String,
    group: u32,
}

impl Bridge {
    /// Moves the device to its group. False: the device does not exist yet, as with Podman before the container starts.
    fn join_group(&self) -> io::Result<bool> {
        match set_group(&self.device, self.group) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Passes the network of a running container to the shim, and waits until the shim serves in it. Does nothing if the
/// container has ended meanwhile.
fn give_network(mut parent: &UnixStream, state: &ContainerState) -> Result<(), String> {
    let failed = |error: io::Error| format!("The app could not be started: entering its network failed ({error}).");
    let Some(namespace) = network_of(state).map_err(failed)? else { return Ok(()) };
    parent.set_read_timeout(Some(SHIM_TIMEOUT)).map_err(failed)?;
    handover::answer(parent, Ok(&[namespace.as_fd()])).map_err(failed)?;
    let mut answer = String::new();
    parent.read_to_string(&mut answer).map_err(failed)?;
    if answer == READY { Ok(()) } else { Err(format!("The app could not be started: {answer}.")) }
}

/// Opens the network namespace of a container's first process; `None` if it has ended. The kernel may have given its
/// number to another process, so both files are opened below one folder of /proc, and the control group must be the
/// container's.
fn network_of(state: &ContainerState) -> io::Result<Option<OwnedFd>> {
    let open = || -> io::Result<(OwnedFd, String)> {
        let process = openat(CWD, format!("/proc/{}", state.pid), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let opened = |name: &str| openat(&process, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut groups = String::new();
        File::from(opened("cgroup")?).read_to_string(&mut groups)?;
        Ok((opened("ns/net")?, groups))
    };
    let (namespace, groups) = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => return Ok(None),
        opened => opened?,
    };
    let (own, its) = (fstat(current()?)?, fstat(&namespace)?);
    if state.id.is_empty() || !groups.contains(&state.id) || (own.st_dev, own.st_ino) == (its.st_dev, its.st_ino) {
        return Err(io::Error::other("the process that its engine names is not in its container"));
    }
    Ok(Some(namespace))
}

/// Returns the container's own address. Never guesses one: at another address, checks and visitors would reach another
/// program. A container that has ended has none; its exit follows.
fn container_address(state: &ContainerState, has_port: bool, network: &str) -> Result<Option<IpAddr>, String> {
    if has_port && state.running && state.address.is_none() {
        return Err(format!(
            "The app could not be started: the container engine gave its container no address in the network {network}. Check that network with `docker network inspect {network}`, then deploy again."
        ));
    }
    Ok(state.address)
}

/// Returns the same order without the option that the engine refused; `None` if there is no alternative.
fn without_refused_option(request: &ContainerRequest, why: &str) -> Option<ContainerRequest> {
    // Some engines lack the init program that would be the container's first process.
    let lacks_init = ["docker-init", "catatonit", "container-init"].iter().any(|name| why.contains(name));
    if request.init && lacks_init {
        return Some(ContainerRequest { init: false, ..request.clone() });
    }
    // Podman adds limits of its own to the given ones, and a server that is itself a container can't raise them.
    if !request.low_limits && why.contains("setting rlimit") {
        return Some(ContainerRequest { low_limits: true, ..request.clone() });
    }
    None
}

async fn begin(engine: &Engine, request: &ContainerRequest) -> Result<OutputStream, EngineError> {
    engine.create_container(request).await?;
    let words = engine.attach(&request.name).await?;
    engine.start_container(&request.name).await?;
    Ok(words)
}

fn request(spec: &InstanceSpec, container: &ContainerSpec, secrets: &[Secret], port: u16) -> ContainerRequest {
    let mut environment: Vec<String> = spec
        .environment
        .iter()
        .filter(|(name, _)| *name != "PORT")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let variables = secrets.iter().filter(|one| one.delivery == SecretDelivery::Environment);
    environment.extend(
        variables
            .filter(|one| !secrets::is_own(&one.name))
            .map(|one| format!("{}={}", one.name, String::from_utf8_lossy(&one.value))),
    );
    if port > 0 {
        environment.push(format!("PORT={port}"));
    }
    let labels = [
        (OWNER_LABEL, container.owner.clone()),
        ("dev.fairlead.app", spec.key.app.to_string()),
        ("dev.fairlead.environment", spec.key.environment.to_string()),
        ("dev.fairlead.process", spec.process.clone()),
        ("dev.fairlead.release", spec.release.to_string()),
        ("dev.fairlead.instance", spec.instance.to_string()),
        ("dev.fairlead.deployment", spec.deployment.as_ref().map(ToString::to_string).unwrap_or_default()),
    ];
    let volumes = container.volumes.iter().flat_map(|(from, places)| {
        places.iter().map(|to| BindMount { from: from.clone(), to: to.clone(), read_only: false })
    });
    let files =
        container.secrets.iter().map(|from| BindMount { from: from.clone(), to: SECRETS.into(), read_only: true });
    ContainerRequest {
        name: name(container, &spec.instance),
        image: container.image.clone(),
        command: spec.command.clone(),
        environment,
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        memory_bytes: container.memory_bytes,
        cpu_millis: container.cpu_millis,
        processes: container.processes,
        binds: volumes.chain(files).collect(),
        group: spec.user,
        network: String::new(),
        init: true,
        low_limits: false,
    }
}

/// Passes on the container's output. Never returns: the container's end stops it.
async fn forward_output(engine: &Engine, name: &str, mut words: OutputStream) {
    loop {
        while let Some(Ok(written)) = words.next().await {
            // A failed write means that the shim is gone, and this process is about to end.
            if written.is_error {
                io::stderr().write_all(&written.bytes).ok();
            } else {
                let mut out = io::stdout();
                out.write_all(&written.bytes).and_then(|()| out.flush()).ok();
            }
        }
        // The container closed its output, or the engine restarted.
        tokio::time::sleep(ATTACH_PAUSE).await;
        if let Ok(again) = engine.attach(name).await {
            words = again;
        }
    }
}

/// Writes the secrets into memory, in a folder that only root may enter. In the container every user may read them,
/// because only the app runs there.
fn write_secrets(folder: &Path, secrets: &[Secret]) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    fairlead_base::tree::remove(folder)?;
    DirBuilder::new().mode(0o755).create(folder)?;
    for secret in secrets.iter().filter(|secret| secret.delivery == SecretDelivery::File) {
        let path = folder.join(&secret.name);
        OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?.write_all(&secret.value)?;
    }
    Ok(())
}

fn in_runtime<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("The app could not be started: {error}."))?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_without_an_address_is_never_at_the_loopback() {
        let running = ContainerState { running: true, ..ContainerState::default() };
        let refused = container_address(&running, true, "fairlead-x").unwrap_err();
        assert!(refused.contains("no address in the network fairlead-x"), "{refused}");
        assert_eq!(container_address(&running, false, "fairlead-x"), Ok(None), "a worker needs none");
        assert_eq!(container_address(&ContainerState::default(), true, "fairlead-x"), Ok(None), "one that has ended");
        let address: IpAddr = "172.17.0.2".parse().unwrap();
        let reached = ContainerState { address: Some(address), ..running };
        assert_eq!(container_address(&reached, true, "fairlead-x"), Ok(Some(address)));
    }

    #[test]
    fn where_an_agent_of_an_older_version_found_a_container_is_still_known() {
        let old = r#"{"pid":7,"host":"172.17.0.2","port":9000}"#;
        let host = Some("172.17.0.2".parse().unwrap());
        assert_eq!(serde_json::from_str::<ContainerRecord>(old).unwrap(), ContainerRecord { pid: 7, host, port: 9000 });
    }
}
