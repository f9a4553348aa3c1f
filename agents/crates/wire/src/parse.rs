//! Parser of signed bytes to a desired state, which later code trusts. Invariant: one invalid field rejects the whole
//! state.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairlead_model::{
    AgentRelease, AppKey, AppSpec, AppTraffic, ArtifactKind, Autoscaling, BuildLimits, BuildOverrides, BuildSpec,
    Builder, Canary, DeploymentId, DesiredState, EncodedTraffic, HOST_BYTES_MAX, HealthCheck, Hook, ProcessSpec,
    ProxySettings, Redirect, ReleaseSpec, Rollout, Route, RouteError, RoutePolicy, RouteTarget, SealedSecrets,
    ServerId, StateError, TrafficPart, Uninstall, VolumeKey, VolumeMount, route_key, wildcard_of,
};
use prost::Message;

use crate::benchmark;
use crate::benchmark_gate::benchmark_gate;
use crate::certificate::certificates;
use crate::secret::is_name;
use crate::server_port;
use crate::volume_task::volume_tasks;
use crate::{CAPABILITIES, SECRETS_BYTES_MAX, agent};

/// Maximum size of an agent, with all symbols for a debugger.
const AGENT_BYTES_MAX: u64 = 2 << 30;
/// Longer than a signature file of minisign with the longest comment of a release.
const SIGNATURE_BYTES_MAX: usize = 2048;

const SERVER_PORTS_MAX: usize = 16;

/// Parses bytes with a verified signature. `server` is the id of this agent's server.
pub fn desired_state(bytes: &[u8], server: &ServerId) -> Result<DesiredState, StateError> {
    let message = agent::DesiredState::decode(bytes).map_err(|error| wrong("state", error.to_string()))?;
    if message.server_id != server.as_str() {
        return Err(StateError::Server { found: clip(&message.server_id), expected: server.clone() });
    }
    if let Some(capability) = message.requires.iter().find(|wanted| !CAPABILITIES.contains(&wanted.as_str())) {
        return Err(StateError::Capability { capability: clip(capability) });
    }
    let version = message.version.ok_or_else(|| wrong("version", "is missing"))?.into();
    let mut apps = BTreeMap::new();
    for (index, spec) in message.apps.into_iter().enumerate() {
        let at = format!("apps[{index}]");
        let spec = app(&at, spec)?;
        if apps.insert(spec.key.clone(), spec).is_some() {
            return Err(wrong(&at, "is the second of its app and environment"));
        }
    }
    let mut routes: Vec<Route> = Vec::with_capacity(message.routes.len());
    let mut taken = std::collections::HashSet::new();
    for (index, spec) in message.routes.into_iter().enumerate() {
        let at = format!("routes[{index}]");
        let route = route(&at, spec)?;
        // Applies the proxy's rule: one route that its table rejects would freeze every route of the server.
        let path = route_key(&route.host, &route.path_prefix).map_err(|error| match error {
            RouteError::Host { .. } => wrong(&format!("{at}.host"), error.to_string()),
            _ => wrong(&format!("{at}.path_prefix"), error.to_string()),
        })?;
        if !taken.insert((route.host.clone(), path.to_owned())) {
            return Err(wrong(&at, "is the second of its host and path"));
        }
        routes.push(route);
    }
    let mut builds = BTreeMap::new();
    for (index, spec) in message.builds.into_iter().enumerate() {
        let at = format!("builds[{index}]");
        let spec = build(&at, spec)?;
        if builds.insert(spec.deployment.clone(), spec).is_some() {
            return Err(wrong(&at, "is the second of its deployment"));
        }
    }
    let deleted = message.deleted_volumes.into_iter().enumerate();
    let deleted = deleted.map(|(index, volume)| volume_key(&format!("deleted_volumes[{index}]"), volume));
    let benchmarks = message.benchmarks.into_iter().enumerate();
    let benchmarks = benchmarks.map(|(index, plan)| benchmark::plan(&format!("benchmarks[{index}]"), plan));
    Ok(DesiredState {
        version,
        server: server.clone(),
        requires: message.requires,
        apps,
        routes,
        builds,
        benchmarks: benchmarks.collect::<Result<_, _>>()?,
        proxy: traffic::<ProxySettings>("state.proxy", message.proxy)?,
        kept_artifacts: message.kept_artifacts.into_iter().collect(),
        deleted_volumes: deleted.collect::<Result<_, _>>()?,
        agent: message.agent.map(agent_release).transpose()?,
        certificates: certificates(message.certificates, message.acme_accounts)?,
        volume_tasks: volume_tasks(message.volume_tasks)?,
        uninstall: message.uninstall.map(|spec| Uninstall { with_data: spec.with_data }),
    })
}

/// Returns the successors of the signing key that a state announces.
pub fn announced_keys(bytes: &[u8]) -> Result<Vec<agent::SigningKey>, StateError> {
    let message = agent::DesiredState::decode(bytes).map_err(|error| wrong("state", error.to_string()))?;
    Ok(message.signing_keys)
}

fn app(at: &str, spec: agent::AppSpec) -> Result<AppSpec, StateError> {
    let key = key(at, &spec.app_id, &spec.environment_id)?;
    within(at, "instances", u64::from(spec.instances), 1, 64)?;
    let live = spec.live.map(|live| release(&format!("{at}.live"), live)).transpose()?;
    let candidate = match spec.candidate {
        None => None,
        Some(rollout) => {
            let at = format!("{at}.candidate");
            within(&at, "start_timeout_ms", rollout.start_timeout_ms.into(), 1, 3_600_000)?;
            let found = rollout.release.ok_or_else(|| wrong(&format!("{at}.release"), "is missing"))?;
            Some(Rollout {
                deployment: id(&at, "deployment_id", &rollout.deployment_id)?,
                release: release(&format!("{at}.release"), found)?,
                start_timeout: milliseconds(rollout.start_timeout_ms),
                batch_size: rollout.batch_size,
                canary: rollout.canary.map(|spec| canary(&format!("{at}.canary"), spec)).transpose()?,
                release_command: hook(&format!("{at}.release_command"), rollout.release_command)?,
                post_release_command: hook(&format!("{at}.post_release_command"), rollout.post_release_command)?,
                benchmark_gate: rollout
                    .benchmark_gate
                    .map(|spec| benchmark_gate(&format!("{at}.benchmark_gate"), spec))
                    .transpose()?,
            })
        }
    };
    let traffic = traffic::<AppTraffic>(&format!("{at}.traffic"), spec.traffic)?;
    let autoscaling = spec.autoscaling.map(|spec| autoscaling(&format!("{at}.autoscaling"), spec)).transpose()?;
    let release_environment = match spec.release_environment_id.as_str() {
        "" => None,
        text => Some(id(at, "release_environment_id", text)?),
    };
    let (name, instances) = (spec.name, spec.instances);
    Ok(AppSpec { key, name, live, candidate, instances, traffic, autoscaling, release_environment })
}

/// Default wake timeout: how long a request waits for a sleeping app. Browsers and most clients wait longer.
const WAKE_TIMEOUT_MS: u32 = 30_000;

fn autoscaling(at: &str, spec: agent::Autoscaling) -> Result<Autoscaling, StateError> {
    within(at, "instances_max", spec.instances_max.into(), 1, 64)?;
    within(at, "instances_min", spec.instances_min.into(), 0, spec.instances_max.into())?;
    within(at, "idle_timeout_ms", spec.idle_timeout_ms.into(), 1_000, 86_400_000)?;
    let wake_timeout_ms = if spec.wake_timeout_ms == 0 { WAKE_TIMEOUT_MS } else { spec.wake_timeout_ms };
    within(at, "wake_timeout_ms", wake_timeout_ms.into(), 1_000, 120_000)?;
    Ok(Autoscaling {
        instances_min: spec.instances_min,
        instances_max: spec.instances_max,
        idle_timeout: milliseconds(spec.idle_timeout_ms),
        in_flight_target: spec.in_flight_target,
        cpu_millis_target: spec.cpu_millis_target,
        wake_timeout: milliseconds(wake_timeout_ms),
    })
}

fn canary(at: &str, spec: agent::Canary) -> Result<Canary, StateError> {
    let ascending = spec.step_percents.is_sorted_by(|a, b| a < b);
    if spec.step_percents.is_empty() || spec.step_percents.len() > 20 || !ascending {
        return Err(wrong(&format!("{at}.step_percents"), "is not one to twenty, ascending"));
    }
    for percent in &spec.step_percents {
        within(at, "step_percents", (*percent).into(), 1, 99)?;
    }
    within(at, "step_duration_ms", spec.step_duration_ms.into(), 100, 86_400_000)?;
    Ok(Canary {
        step_percents: spec.step_percents,
        step_duration: milliseconds(spec.step_duration_ms),
        error_increase_permille_max: spec.error_increase_permille_max,
        p99_ratio_permille_max: spec.p99_ratio_permille_max,
        requests_min: spec.requests_min,
    })
}

fn hook(at: &str, spec: Option<agent::Hook>) -> Result<Option<Hook>, StateError> {
    let Some(spec) = spec else { return Ok(None) };
    command(at, &spec.command)?;
    within(at, "timeout_ms", spec.timeout_ms.into(), 1, 86_400_000)?;
    Ok(Some(Hook { command: spec.command, timeout: milliseconds(spec.timeout_ms) }))
}

fn command(at: &str, command: &[String]) -> Result<(), StateError> {
    if command.first().is_none_or(String::is_empty) || command.iter().any(|word| word.contains('\0')) {
        return Err(wrong(&format!("{at}.command"), "has no program, or a NUL"));
    }
    Ok(())
}

pub(crate) fn digest(at: &str, found: &str) -> Result<(), StateError> {
    let digits = found.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Err(wrong(at, "is not `sha256:` and 64 hexadecimal digits"));
    }
    Ok(())
}

/// Checks a name that becomes a folder name: of a volume or a process.
fn plain_name(at: &str, name: &str) -> Result<(), StateError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 40 || name.starts_with('-') || !name.bytes().all(plain) {
        return Err(wrong(at, "is not 1 to 40 lower-case letters, digits and hyphens"));
    }
    Ok(())
}

/// Checks that a path is relative and does not leave its folder.
fn below(at: &str, folder: &str) -> Result<(), StateError> {
    if folder.starts_with('/') || folder.split('/').any(|part| part == "..") || has_controls(folder) {
        return Err(wrong(at, "leaves the repository"));
    }
    Ok(())
}

fn process(at: &str, spec: agent::ProcessSpec) -> Result<ProcessSpec, StateError> {
    plain_name(&format!("{at}.name"), &spec.name)?;
    if spec.name == "web" {
        return Err(wrong(&format!("{at}.name"), "is `web`, which the release itself is"));
    }
    command(at, &spec.command)?;
    within(at, "instances", spec.instances.into(), 0, 64)?;
    Ok(ProcessSpec {
        name: spec.name,
        command: spec.command,
        instances: spec.instances,
        memory_bytes_max: spec.memory_bytes_max,
        cpu_millis_max: spec.cpu_millis_max,
        stays_awake: spec.stays_awake,
    })
}

fn volume(at: &str, mount: agent::VolumeMount) -> Result<VolumeMount, StateError> {
    plain_name(&format!("{at}.name"), &mount.name)?;
    let climbs = mount.path.split('/').any(|part| part == "..");
    if !mount.path.starts_with('/') || mount.path == "/" || climbs || has_controls(&mount.path) {
        return Err(wrong(&format!("{at}.path"), "is not an absolute folder"));
    }
    Ok(VolumeMount { name: mount.name, path: mount.path })
}

pub(crate) fn volume_key(at: &str, volume: agent::VolumeKey) -> Result<VolumeKey, StateError> {
    plain_name(&format!("{at}.name"), &volume.name)?;
    Ok(VolumeKey { key: key(at, &volume.app_id, &volume.environment_id)?, name: volume.name })
}

fn agent_release(spec: agent::AgentRelease) -> Result<AgentRelease, StateError> {
    digest("agent.digest", &spec.digest)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    if spec.version.is_empty() || spec.version.len() > 64 || !spec.version.bytes().all(plain) {
        return Err(wrong("agent.version", "is not a version"));
    }
    within("agent", "size_bytes", spec.size_bytes, 1, AGENT_BYTES_MAX)?;
    if spec.signature.len() > SIGNATURE_BYTES_MAX {
        return Err(wrong("agent.signature", "is no signature file of minisign"));
    }
    Ok(AgentRelease {
        version: spec.version,
        digest: spec.digest,
        size_bytes: spec.size_bytes,
        attempt: spec.attempt,
        signature: spec.signature,
    })
}

fn health_check(at: &str, health: agent::HealthCheck) -> Result<HealthCheck, StateError> {
    within(at, "interval_ms", health.interval_ms.into(), 10, 600_000)?;
    within(at, "timeout_ms", health.timeout_ms.into(), 10, 600_000)?;
    if !health.path.is_empty() {
        path(&format!("{at}.path"), &health.path)?;
    }
    if !health.command.is_empty() {
        command(at, &health.command)?;
    }
    Ok(HealthCheck {
        path: health.path,
        interval: milliseconds(health.interval_ms),
        timeout: milliseconds(health.timeout_ms),
        command: health.command,
    })
}

fn release(at: &str, spec: agent::ReleaseSpec) -> Result<ReleaseSpec, StateError> {
    digest(&format!("{at}.artifact_digest"), &spec.artifact_digest)?;
    let artifact_kind = match agent::ArtifactKind::try_from(spec.artifact_kind) {
        Ok(agent::ArtifactKind::Unspecified) => ArtifactKind::Archive,
        Ok(agent::ArtifactKind::Image) => ArtifactKind::Image,
        Err(_) => return Err(wrong(&format!("{at}.artifact_kind"), "is unknown here")),
    };
    // An image may define its own start command.
    if artifact_kind == ArtifactKind::Archive || !spec.command.is_empty() {
        command(at, &spec.command)?;
    }
    variables(&format!("{at}.variables"), &spec.variables)?;
    let secrets = spec.secrets.map(|secrets| sealed(&format!("{at}.secrets"), secrets)).transpose()?;
    let check = spec.readiness_check.ok_or_else(|| wrong(&format!("{at}.readiness_check"), "is missing"))?;
    let readiness_check = health_check(&format!("{at}.readiness_check"), check)?;
    let liveness_check =
        spec.liveness_check.map(|check| health_check(&format!("{at}.liveness_check"), check)).transpose()?;
    let mut workers: Vec<ProcessSpec> = Vec::with_capacity(spec.workers.len());
    for (index, worker) in spec.workers.into_iter().enumerate() {
        let (at, worker) = (format!("{at}.workers[{index}]"), worker);
        let worker = process(&at, worker)?;
        if workers.iter().any(|other| other.name == worker.name) {
            return Err(wrong(&format!("{at}.name"), "is there twice"));
        }
        workers.push(worker);
    }
    let volumes = spec.volumes.into_iter().enumerate();
    let volumes = volumes.map(|(index, mount)| volume(&format!("{at}.volumes[{index}]"), mount));
    let volumes: Vec<VolumeMount> = volumes.collect::<Result<_, _>>()?;
    if spec.listens_on_socket && artifact_kind == ArtifactKind::Image {
        return Err(wrong(&format!("{at}.listens_on_socket"), "is not for an image"));
    }
    let server_ports = server_ports(&format!("{at}.server_ports"), &spec.server_ports)?;
    within(at, "drain_timeout_ms", spec.drain_timeout_ms.into(), 0, 86_400_000)?;
    within(at, "stop_timeout_ms", spec.stop_timeout_ms.into(), 0, 3_600_000)?;
    Ok(ReleaseSpec {
        id: id(at, "release_id", &spec.release_id)?,
        number: spec.number,
        artifact_digest: spec.artifact_digest,
        command: spec.command,
        variables: spec.variables,
        readiness_check,
        drain_timeout: milliseconds(spec.drain_timeout_ms),
        stop_timeout: milliseconds(spec.stop_timeout_ms),
        memory_bytes_max: spec.memory_bytes_max,
        secrets,
        artifact_kind,
        workers,
        liveness_check,
        cpu_millis_max: spec.cpu_millis_max,
        processes_max: spec.processes_max,
        toolchains: spec.toolchains,
        volumes,
        listens_on_socket: spec.listens_on_socket,
        private_network: spec.private_network,
        server_ports,
    })
}

fn variables(at: &str, all: &BTreeMap<String, String>) -> Result<(), StateError> {
    match all.iter().find(|(name, value)| !is_name(name) || value.contains('\0')) {
        Some((name, _)) => Err(wrong(&format!("{at}.{}", clip(name)), "is not a variable")),
        None => Ok(()),
    }
}

fn server_ports(at: &str, values: &[String]) -> Result<Vec<SocketAddr>, StateError> {
    if values.len() > SERVER_PORTS_MAX {
        return Err(wrong(at, format!("are {}, more than {SERVER_PORTS_MAX}", values.len())));
    }
    let mut ports: Vec<SocketAddr> = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let port = value.parse().map_err(|_| wrong(&at, format!("{:?} is not an IP address and port", clip(value))))?;
        if let Some(reason) = server_port::refusal(port) {
            return Err(wrong(&at, format!("{port} {reason}")));
        }
        if ports.contains(&port) {
            return Err(wrong(&at, format!("{port} is there twice")));
        }
        ports.push(port);
    }
    Ok(ports)
}

/// The secrets stay sealed here; the agent opens them when an app that needs them starts.
fn sealed(at: &str, secrets: agent::SealedSecrets) -> Result<SealedSecrets, StateError> {
    within(at, "sealed.length", secrets.sealed.len() as u64, 1, SECRETS_BYTES_MAX as u64)?;
    within(at, "version.length", secrets.version.len() as u64, 1, 128)?;
    Ok(SealedSecrets { sealed: secrets.sealed, version: secrets.version })
}

fn route(at: &str, spec: agent::RouteSpec) -> Result<Route, StateError> {
    // Only a control plane may have an IPv6 address, written as in a URL.
    let is_control = matches!(spec.target, Some(agent::route_spec::Target::ControlSocket(_)));
    if !(is_control && is_ipv6_host(&spec.host)) {
        host(&format!("{at}.host"), &spec.host)?;
    }
    path(&format!("{at}.path_prefix"), &spec.path_prefix)?;
    let target = match spec.target {
        Some(agent::route_spec::Target::App(app)) => RouteTarget::App(key(at, &app.app_id, &app.environment_id)?),
        Some(agent::route_spec::Target::ControlSocket(name)) => {
            // The name becomes a file name.
            if name != "web" && name != "gateway" {
                return Err(wrong(&format!("{at}.control_socket"), "is neither web nor gateway"));
            }
            RouteTarget::ControlSocket(name)
        }
        Some(agent::route_spec::Target::Redirect(to)) => {
            RouteTarget::Redirect(traffic::<Redirect>(&format!("{at}.redirect"), to)?)
        }
        None => return Err(wrong(&format!("{at}.target"), "is missing")),
    };
    let policy = traffic::<RoutePolicy>(&format!("{at}.policy"), spec.policy)?;
    Ok(Route { host: spec.host, path_prefix: spec.path_prefix, target, policy })
}

fn build(at: &str, spec: agent::BuildSpec) -> Result<BuildSpec, StateError> {
    let builder = match agent::Builder::try_from(spec.builder) {
        Ok(agent::Builder::Unspecified) => Builder::Detected,
        Ok(agent::Builder::Native) => Builder::Native,
        Ok(agent::Builder::Dockerfile) => Builder::Dockerfile,
        Ok(agent::Builder::Image) => Builder::Image,
        Err(_) => return Err(wrong(&format!("{at}.builder"), "is unknown here")),
    };
    let upload_digest = Some(spec.upload_digest).filter(|found| !found.is_empty());
    if let Some(found) = &upload_digest {
        digest(&format!("{at}.upload_digest"), found)?;
    } else if builder == Builder::Image {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/:@".contains(&byte);
        if spec.image.is_empty() || spec.image.len() > 512 || !spec.image.bytes().all(plain) {
            return Err(wrong(&format!("{at}.image"), "is not an image reference"));
        }
    } else {
        repository(at, &spec.repository_url, &spec.r#ref)?;
    }
    below(&format!("{at}.root_folder"), &spec.root_folder)?;
    below(&format!("{at}.output_folder"), &spec.output_folder)?;
    below(&format!("{at}.dockerfile"), &spec.dockerfile)?;
    for set in [&spec.install_command, &spec.build_command, &spec.start_command] {
        if !set.is_empty() {
            command(at, set)?;
        }
    }
    variables(&format!("{at}.variables"), &spec.variables)?;
    within(at, "timeout_ms", spec.timeout_ms.into(), 1, 86_400_000)?;
    let environment = Some(spec.environment_id).filter(|found| !found.is_empty());
    Ok(BuildSpec {
        deployment: id(at, "deployment_id", &spec.deployment_id)?,
        app: id(at, "app_id", &spec.app_id)?,
        repository_url: spec.repository_url,
        git_ref: spec.r#ref,
        root_folder: spec.root_folder,
        timeout: milliseconds(spec.timeout_ms),
        environment: environment.map(|found| id(at, "environment_id", &found)).transpose()?,
        builder,
        overrides: BuildOverrides {
            install_command: spec.install_command,
            build_command: spec.build_command,
            start_command: spec.start_command,
            output_folder: spec.output_folder,
            dockerfile: spec.dockerfile,
        },
        image: spec.image,
        upload_digest,
        without_cache: spec.without_cache,
        limits: BuildLimits {
            memory_bytes_max: spec.memory_bytes_max,
            cpu_millis_max: spec.cpu_millis_max,
            disk_bytes_max: spec.disk_bytes_max,
        },
        secrets: spec.secrets.map(|secrets| sealed(&format!("{at}.secrets"), secrets)).transpose()?,
        credentials: spec.credentials.map(|secrets| sealed(&format!("{at}.credentials"), secrets)).transpose()?,
        variables: spec.variables,
        run_commands: spec.run_commands,
    })
}

/// Parses the source of an inspection. It has no deployment: `stand_in` names its folder and its processes.
pub fn inspected_source(mut spec: agent::BuildSpec, stand_in: &DeploymentId) -> Result<BuildSpec, StateError> {
    if spec.builder == i32::from(agent::Builder::Image) || !spec.upload_digest.is_empty() {
        return Err(wrong("source", "is not a repository"));
    }
    spec.deployment_id = stand_in.to_string();
    if spec.app_id.is_empty() {
        spec.app_id = "app_new".to_owned();
    }
    build("source", spec)
}

/// Checks a repository URL: `http` or `https` without credentials, or `ssh://user@host/path`.
fn repository(at: &str, url: &str, git_ref: &str) -> Result<(), StateError> {
    let authority = |scheme| url.strip_prefix(scheme).map(|rest| rest.split('/').next().unwrap_or_default());
    let web = ["https://", "http://"].into_iter().find_map(authority).is_some_and(|host| !host.contains('@'));
    let ssh = authority("ssh://").is_some_and(|host| !host.starts_with('-') && !host.contains("@-"));
    let host = ["https://", "http://", "ssh://"].into_iter().find_map(authority).unwrap_or_default();
    if !(web || ssh) || host.is_empty() || has_controls(url) {
        return Err(wrong(&format!("{at}.repository_url"), "is not an http or https URL without credentials, or ssh"));
    }
    if git_ref.starts_with('-') || has_controls(git_ref) {
        return Err(wrong(&format!("{at}.ref"), "is not a branch, tag or commit"));
    }
    Ok(())
}

/// Adds the position in the state to a policy error's field.
fn traffic<T: TrafficPart>(at: &str, bytes: Vec<u8>) -> Result<EncodedTraffic, StateError> {
    EncodedTraffic::checked::<T>(bytes).map_err(|error| wrong(&format!("{at}.{}", error.field), error.reason))
}

pub(crate) fn key(at: &str, app: &str, environment: &str) -> Result<AppKey, StateError> {
    Ok(AppKey { app: id(at, "app_id", app)?, environment: id(at, "environment_id", environment)? })
}

pub(crate) fn id<T: TryFrom<String, Error = fairlead_model::IdError>>(
    at: &str,
    name: &str,
    value: &str,
) -> Result<T, StateError> {
    T::try_from(value.to_owned()).map_err(|error| wrong(&format!("{at}.{name}"), error.to_string()))
}

pub(crate) fn within(at: &str, name: &str, value: u64, least: u64, most: u64) -> Result<(), StateError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(wrong(&format!("{at}.{name}"), format!("is {value}, not within {least} and {most}")))
}

pub(crate) fn host(at: &str, value: &str) -> Result<(), StateError> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = wildcard_of(value).unwrap_or(value);
    if value.len() <= HOST_BYTES_MAX && name.split('.').all(label) {
        return Ok(());
    }
    Err(wrong(at, format!("{:?} is not a lower-case host name, or `*.` and one", clip(value))))
}

/// True for an IPv6 address as a URL writes it.
fn is_ipv6_host(value: &str) -> bool {
    let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok() && !inner.bytes().any(|b| b.is_ascii_uppercase()))
}

pub(crate) fn path(at: &str, value: &str) -> Result<(), StateError> {
    if value.starts_with('/') && value.len() <= 2048 && value.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(wrong(at, "is not a path that starts with `/`"))
}

fn has_controls(value: &str) -> bool {
    value.len() > 2048 || value.chars().any(|c| c.is_control() || c == ' ')
}

pub(crate) fn milliseconds(value: u32) -> Duration {
    Duration::from_millis(value.into())
}

/// Shortens untrusted text before it reaches a message that is logged and reported.
pub(crate) fn clip(value: &str) -> String {
    value.chars().take(80).collect()
}

pub(crate) fn wrong(field: &str, reason: impl Into<String>) -> StateError {
    StateError::Field { field: field.to_owned(), reason: reason.into() }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
