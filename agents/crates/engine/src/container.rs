//! Creates, starts, attaches to, inspects and removes containers. Sets the restrictions of every container; labels name its
//! owner.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ExecConfig, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits,
    RestartPolicy, RestartPolicyNameEnum,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions, KillContainerOptionsBuilder,
    ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions, WaitContainerOptionsBuilder,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use crate::{Engine, EngineError};

/// Capabilities of root in a container. Entry points of common images need them to take over a folder, bind port 80, become
/// another user and end a child. None reaches past the container. Docker's default list also has MKNOD, NET_RAW, SYS_CHROOT,
/// SETFCAP, SETPCAP, FSETID and AUDIT_WRITE.
const CAPABILITIES: [&str; 7] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID"];
/// Limits of open files, and of processes of one user, on a server that can't raise them.
const LOW_LIMITS: [(&str, i64); 2] = [("nofile", 16_384), ("nproc", 8_192)];
/// Default maximum number of processes in a container.
pub(crate) const PIDS_MAX: u32 = 4096;
/// Label that marks a container as one of Fairlead's.
pub const OWNER_LABEL: &str = "dev.fairlead.owner";
/// Pause between two checks of a container that is about to end.
const PAUSE: Duration = Duration::from_millis(25);

/// Parameters of a new container.
#[derive(Debug, Clone, Default)]
pub struct ContainerRequest {
    /// Name; an existing container with this name is removed first.
    pub name: String,
    /// Id or name of a local image.
    pub image: String,
    /// Program and arguments; empty for the image's own.
    pub command: Vec<String>,
    /// Variables as `NAME=value`, in addition to the image's own.
    pub environment: Vec<String>,
    /// Labels; `OWNER_LABEL` names the owner.
    pub labels: BTreeMap<String, String>,
    /// Memory limit, without swap; zero for none.
    pub memory_bytes: u64,
    /// CPU limit, 1000 = one core; zero for none.
    pub cpu_millis: u32,
    /// Maximum number of processes; zero for 4096.
    pub processes: u32,
    /// Bind mounts from folders of this server.
    pub binds: Vec<BindMount>,
    /// Supplementary group, in addition to those of its user.
    pub group: Option<u32>,
    /// Name of its network; empty for the engine's default.
    pub network: String,
    /// True if the engine's init process reaps the app's orphaned processes.
    pub init: bool,
    /// True to limit open files and processes of a user to the defaults of a server that can't raise them; else the engine's
    /// maximum applies.
    pub low_limits: bool,
}

/// Bind mount of a folder of this server in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMount {
    /// Path on this server.
    pub from: PathBuf,
    /// Path in the container.
    pub to: String,
    /// True for a read-only mount.
    pub read_only: bool,
}

/// State of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerState {
    /// True while its first process runs.
    pub running: bool,
    /// Id from the engine.
    pub id: String,
    /// Process id of its first process in the server's PID namespace; zero when none runs.
    pub pid: u32,
    /// Exit code of its first process.
    pub code: i32,
    /// True if the kernel killed it at its memory limit.
    pub out_of_memory: bool,
    /// Address at which this server reaches it.
    pub address: Option<IpAddr>,
    /// Signal that asks it to stop, from the image.
    pub stop_signal: String,
}

/// Metadata of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// Id as `sha256:<hex>`.
    pub id: String,
    /// The lowest TCP port that it exposes.
    pub port: Option<u16>,
    /// Size on this server's disk.
    pub size_bytes: u64,
    /// True if the image has an entry point or a command.
    pub starts: bool,
}

/// Chunk of a container's output.
#[derive(Debug)]
pub struct OutputChunk {
    /// True for standard error, false for standard output.
    pub is_error: bool,
    /// Bytes as the container wrote them.
    pub bytes: Bytes,
}

/// Output of a container as a stream of chunks.
pub type OutputStream = Pin<Box<dyn Stream<Item = Result<OutputChunk, EngineError>> + Send>>;

impl Engine {
    /// Creates a container and removes an older one with that name.
    pub async fn create_container(&self, request: &ContainerRequest) -> Result<(), EngineError> {
        self.remove_container(&request.name).await?;
        let docker = self.api().await?;
        let image = found_or_none(docker.inspect_image(&request.image).await)?;
        let user = image.and_then(|image| image.config?.user).unwrap_or_default();
        let options = CreateContainerOptionsBuilder::new().name(&request.name).build();
        docker.create_container(Some(options), body(request, is_root(&user))).await?;
        Ok(())
    }

    /// Attaches to the output that the container writes from now on. Call it before the container starts.
    pub async fn attach(&self, name: &str) -> Result<OutputStream, EngineError> {
        let options = AttachContainerOptionsBuilder::new().stdout(true).stderr(true).stream(true).build();
        let attached = self.api().await?.attach_container(name, Some(options)).await?;
        Ok(Box::pin(attached.output.map(|said| {
            Ok(match said? {
                LogOutput::StdErr { message } => OutputChunk { is_error: true, bytes: message },
                LogOutput::StdOut { message } | LogOutput::Console { message } | LogOutput::StdIn { message } => {
                    OutputChunk { is_error: false, bytes: message }
                }
            })
        })))
    }

    /// Starts a container that exists.
    pub async fn start_container(&self, name: &str) -> Result<(), EngineError> {
        Ok(self.api().await?.start_container(name, None::<StartContainerOptions>).await?)
    }

    /// Returns the state of a container; `None` if there is none with that name.
    pub async fn container(&self, name: &str) -> Result<Option<ContainerState>, EngineError> {
        let found = self.api().await?.inspect_container(name, None::<InspectContainerOptions>).await;
        let Some(found) = found_or_none(found)? else { return Ok(None) };
        let state = found.state.unwrap_or_default();
        let networks = found.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
        let addresses = networks.into_values().filter_map(|network| network.ip_address?.parse().ok());
        Ok(Some(ContainerState {
            id: found.id.unwrap_or_default(),
            running: state.running.unwrap_or_default(),
            pid: state.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default(),
            code: state.exit_code.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
            out_of_memory: state.oom_killed.unwrap_or_default(),
            address: addresses.min(),
            stop_signal: found
                .config
                .and_then(|config| config.stop_signal)
                .filter(|signal| !signal.is_empty())
                .unwrap_or_else(|| "SIGTERM".to_owned()),
        }))
    }

    /// Waits until a container has ended or does not exist. Retries while the engine is unavailable.
    pub async fn wait_for_exit(&self, name: &str) {
        loop {
            match self.container(name).await {
                Ok(Some(state)) if state.running => {
                    let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
                    if let Ok(docker) = self.api().await {
                        // The next inspection reports the exit code: other codes than 0 are no error here.
                        let mut ends = std::pin::pin!(docker.wait_container(name, Some(options)));
                        ends.next().await;
                    }
                }
                Ok(_) => return,
                Err(error) => {
                    tracing::debug!(%error, container = name, "can't be asked for");
                    tokio::time::sleep(PAUSE * 40).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a signal, by its name. Does nothing if the container has ended.
    pub async fn signal_container(&self, name: &str, signal: &str) -> Result<(), EngineError> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        match self.api().await?.kill_container(name, Some(options)).await {
            // 409: it does not run.
            Err(error) if matches!(status(&error), Some(404 | 409)) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Kills and removes a container with its anonymous volumes. Does nothing if there is none.
    pub async fn remove_container(&self, name: &str) -> Result<(), EngineError> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        loop {
            match self.api().await?.remove_container(name, Some(options.clone())).await {
                Err(error) if status(&error) == Some(404) => return Ok(()),
                // Another request removes it at this moment.
                Err(error) if status(&error) == Some(409) => tokio::time::sleep(PAUSE).await,
                result => return Ok(result?),
            }
        }
    }

    /// Runs a command in a container to its end; returns the exit code.
    pub async fn exec(&self, name: &str, command: &[String], limit: Duration) -> Result<Option<i64>, EngineError> {
        let docker = self.api().await?;
        let config = ExecConfig {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let exec = docker.create_exec(name, config).await?.id;
        let run = async {
            if let StartExecResults::Attached { mut output, .. } =
                docker.start_exec(&exec, None::<StartExecOptions>).await?
            {
                while let Some(said) = output.next().await {
                    said?;
                }
            }
            loop {
                let state = docker.inspect_exec(&exec).await?;
                if state.running != Some(true) {
                    return Ok(state.exit_code);
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let ended = tokio::time::timeout(limit, run).await;
        if ended.is_err()
            && let Some(pid) = docker.inspect_exec(&exec).await?.pid.and_then(|pid| i32::try_from(pid).ok())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            // The engine's API can't end it. It may have ended by itself meanwhile.
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
        ended.unwrap_or(Ok(None))
    }

    /// Lists the names of an owner's containers, running or not.
    pub async fn containers_of(&self, owner: &str) -> Result<Vec<String>, EngineError> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{OWNER_LABEL}={owner}")])]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let found = self.api().await?.list_containers(Some(options)).await?;
        let names = found.into_iter().filter_map(|one| one.names?.into_iter().next());
        Ok(names.map(|name| name.trim_start_matches('/').to_owned()).collect())
    }

    /// Returns the metadata of a local image; `None` if there is none.
    pub async fn image(&self, name: &str) -> Result<Option<ImageFacts>, EngineError> {
        let Some(found) = found_or_none(self.api().await?.inspect_image(name).await)? else { return Ok(None) };
        let config = found.config.unwrap_or_default();
        let ports = config.exposed_ports.unwrap_or_default();
        let starts = [&config.entrypoint, &config.cmd].into_iter().flatten().any(|words| !words.is_empty());
        Ok(Some(ImageFacts {
            id: found.id.unwrap_or_default(),
            port: ports.iter().filter_map(|port| port.strip_suffix("/tcp")?.parse().ok()).min(),
            size_bytes: found.size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
            starts,
        }))
    }
}

/// True if an image's `user[:group]` is root, or empty, which means root.
fn is_root(user: &str) -> bool {
    matches!(user.split(':').next().unwrap_or_default(), "" | "0" | "root")
}

fn body(request: &ContainerRequest, is_root: bool) -> ContainerCreateBody {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let memory = (request.memory_bytes > 0).then(|| signed(request.memory_bytes));
    let mounts = request.binds.iter().map(|bind| Mount {
        typ: Some(MountType::BIND),
        source: Some(bind.from.to_string_lossy().into_owned()),
        target: Some(bind.to.clone()),
        read_only: Some(bind.read_only),
        ..Mount::default()
    });
    let host = HostConfig {
        memory,
        // As much as memory: no swap.
        memory_swap: memory,
        nano_cpus: (request.cpu_millis > 0).then(|| i64::from(request.cpu_millis) * 1_000_000),
        pids_limit: Some(i64::from(if request.processes == 0 { PIDS_MAX } else { request.processes })),
        mounts: Some(mounts.collect()),
        group_add: request.group.map(|group| vec![group.to_string()]),
        init: Some(request.init),
        network_mode: (!request.network.is_empty()).then(|| request.network.clone()),
        cap_drop: Some(vec!["ALL".to_owned()]),
        // An ordinary user has no use for them, and with Podman would have them in effect.
        cap_add: is_root.then(|| CAPABILITIES.map(str::to_owned).to_vec()),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        ulimits: Some(limits(request)),
        // The attached client redacts secrets from the output, so the engine must not keep a log.
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        restart_policy: Some(RestartPolicy { name: Some(RestartPolicyNameEnum::NO), maximum_retry_count: None }),
        ..HostConfig::default()
    };
    let (program, arguments) = match request.command.split_first() {
        Some((program, arguments)) => (Some(vec![program.clone()]), Some(arguments.to_vec())),
        None => (None, None),
    };
    ContainerCreateBody {
        image: Some(request.image.clone()),
        env: Some(request.environment.clone()),
        labels: Some(request.labels.clone().into_iter().collect()),
        entrypoint: program,
        cmd: arguments,
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}

fn limits(request: &ContainerRequest) -> Vec<ResourcesUlimits> {
    // One byte, not none: zero still lets a core handler that is a pipe see the memory (core(5)).
    let mut limits = vec![("core", 1)];
    if request.low_limits {
        limits.extend(LOW_LIMITS);
    }
    let limit = |(name, most): (&str, i64)| ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(most),
        hard: Some(most),
    };
    limits.into_iter().map(limit).collect()
}

pub(crate) fn status(error: &bollard::errors::Error) -> Option<u16> {
    match error {
        bollard::errors::Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

pub(crate) fn found_or_none<T>(result: Result<T, bollard::errors::Error>) -> Result<Option<T>, EngineError> {
    match result {
        Err(error) if status(&error) == Some(404) => Ok(None),
        result => Ok(Some(result?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_image_that_begins_as_root_is_granted_what_root_may() {
        for (user, granted) in [("", true), ("root:www-data", true), ("0:0", true), ("node", false), ("1000:0", false)]
        {
            let host = body(&ContainerRequest::default(), is_root(user)).host_config.unwrap();
            assert_eq!(host.cap_add.is_some(), granted, "{user}");
            assert_eq!(host.cap_drop.unwrap(), ["ALL"]);
        }
    }
}
