//! Signed bytes to a desired state: parsed once here, then trusted everywhere. Refuses the whole when one field is wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use fairlead_model::{
    AppKey, AppSpec, BenchmarkPlan, BenchmarkProtocol, BenchmarkTarget, BuildSpec, DesiredState, HOST_BYTES_MAX,
    HealthCheck, ReleaseSpec, Rollout, Route, RouteError, RouteTarget, SealedSecrets, ServerId, StateError,
    TrafficError, route_key, wildcard_of,
};
use prost::Message;

use crate::secret::is_name;
use crate::{CAPABILITIES, SECRETS_BYTES_MAX, agent, app_traffic, proxy_settings, redirect, route_policy};

/// Parses the bytes whose signature was checked. `server` is who this agent is.
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
        // The proxy's own rule: a table that it refuses would freeze every route of the server.
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
    let benchmarks = message.benchmarks.into_iter().enumerate();
    let benchmarks = benchmarks.map(|(index, plan)| benchmark(&format!("benchmarks[{index}]"), plan));
    Ok(DesiredState {
        version,
        server: server.clone(),
        requires: message.requires,
        apps,
        routes,
        builds,
        benchmarks: benchmarks.collect::<Result<_, _>>()?,
        proxy: traffic("state", "proxy", proxy_settings(message.proxy.as_ref()))?,
    })
}

/// The successors of the signing key that a state announces.
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
            within(&at, "health_timeout_ms", rollout.health_timeout_ms.into(), 1, 3_600_000)?;
            let found = rollout.release.ok_or_else(|| wrong(&format!("{at}.release"), "is missing"))?;
            Some(Rollout {
                deployment: id(&at, "deployment_id", &rollout.deployment_id)?,
                release: release(&format!("{at}.release"), found)?,
                health_timeout: milliseconds(rollout.health_timeout_ms),
            })
        }
    };
    let traffic = traffic(at, "traffic", app_traffic(spec.traffic.as_ref()))?;
    Ok(AppSpec { key, name: spec.name, live, candidate, instances: spec.instances, traffic })
}

fn release(at: &str, spec: agent::ReleaseSpec) -> Result<ReleaseSpec, StateError> {
    let digest = spec.artifact_digest.strip_prefix("sha256:").unwrap_or_default();
    if digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Err(wrong(&format!("{at}.artifact_digest"), "is not `sha256:` and 64 hexadecimal digits"));
    }
    if spec.command.first().is_none_or(String::is_empty) || spec.command.iter().any(|word| word.contains('\0')) {
        return Err(wrong(&format!("{at}.command"), "has no program, or a NUL"));
    }
    for (name, value) in &spec.environment {
        if !is_name(name) || value.contains('\0') {
            return Err(wrong(&format!("{at}.environment.{}", clip(name)), "is not a variable"));
        }
    }
    let secrets = spec.secrets.map(|secrets| sealed(&format!("{at}.secrets"), secrets)).transpose()?;
    let health = spec.health.ok_or_else(|| wrong(&format!("{at}.health"), "is missing"))?;
    within(at, "health.interval_ms", health.interval_ms.into(), 10, 600_000)?;
    within(at, "health.timeout_ms", health.timeout_ms.into(), 10, 600_000)?;
    if !health.path.is_empty() {
        path(&format!("{at}.health.path"), &health.path)?;
    }
    within(at, "drain_timeout_ms", spec.drain_timeout_ms.into(), 0, 86_400_000)?;
    within(at, "stop_grace_ms", spec.stop_grace_ms.into(), 0, 3_600_000)?;
    Ok(ReleaseSpec {
        id: id(at, "release_id", &spec.release_id)?,
        number: spec.number,
        artifact_digest: spec.artifact_digest,
        command: spec.command,
        environment: spec.environment,
        health: HealthCheck {
            path: health.path,
            interval: milliseconds(health.interval_ms),
            timeout: milliseconds(health.timeout_ms),
        },
        drain_timeout: milliseconds(spec.drain_timeout_ms),
        stop_grace: milliseconds(spec.stop_grace_ms),
        memory_bytes_max: spec.memory_bytes_max,
        secrets,
    })
}

/// Looked at no further here: it is opened when an app that needs it starts.
fn sealed(at: &str, secrets: agent::SealedSecrets) -> Result<SealedSecrets, StateError> {
    within(at, "sealed.length", secrets.sealed.len() as u64, 1, SECRETS_BYTES_MAX as u64)?;
    within(at, "version.length", secrets.version.len() as u64, 1, 128)?;
    Ok(SealedSecrets { sealed: secrets.sealed, version: secrets.version })
}

fn route(at: &str, spec: agent::RouteSpec) -> Result<Route, StateError> {
    host(&format!("{at}.host"), &spec.host)?;
    path(&format!("{at}.path_prefix"), &spec.path_prefix)?;
    let target = match spec.target {
        Some(agent::route_spec::Target::App(app)) => RouteTarget::App(key(at, &app.app_id, &app.environment_id)?),
        Some(agent::route_spec::Target::Address(address)) => RouteTarget::Address(
            address.parse().map_err(|_| wrong(&format!("{at}.address"), "is not an IP address and port"))?,
        ),
        Some(agent::route_spec::Target::Redirect(to)) => RouteTarget::Redirect(traffic(at, "redirect", redirect(&to))?),
        None => return Err(wrong(&format!("{at}.target"), "is missing")),
    };
    let policy = traffic(at, "policy", route_policy(&spec.policy.unwrap_or_default()))?;
    Ok(Route { host: spec.host, path_prefix: spec.path_prefix, target, policy })
}

fn build(at: &str, spec: agent::BuildSpec) -> Result<BuildSpec, StateError> {
    let authority = ["https://", "http://"].iter().find_map(|scheme| spec.repository_url.strip_prefix(scheme));
    let authority = authority.map(|rest| rest.split('/').next().unwrap_or_default());
    if authority.is_none_or(|host| host.is_empty() || host.contains('@')) || has_controls(&spec.repository_url) {
        return Err(wrong(&format!("{at}.repository_url"), "is not an http or https URL without credentials"));
    }
    if spec.r#ref.is_empty() || spec.r#ref.starts_with('-') || has_controls(&spec.r#ref) {
        return Err(wrong(&format!("{at}.ref"), "is not a branch, tag or commit"));
    }
    let climbs = spec.root_folder.split('/').any(|part| part == "..");
    if spec.root_folder.starts_with('/') || climbs || has_controls(&spec.root_folder) {
        return Err(wrong(&format!("{at}.root_folder"), "leaves the repository"));
    }
    within(at, "timeout_ms", spec.timeout_ms.into(), 1, 86_400_000)?;
    Ok(BuildSpec {
        deployment: id(at, "deployment_id", &spec.deployment_id)?,
        app: id(at, "app_id", &spec.app_id)?,
        repository_url: spec.repository_url,
        git_ref: spec.r#ref,
        root_folder: spec.root_folder,
        timeout: milliseconds(spec.timeout_ms),
    })
}

fn benchmark(at: &str, spec: agent::BenchmarkSpec) -> Result<BenchmarkPlan, StateError> {
    host(&format!("{at}.host"), &spec.host)?;
    path(&format!("{at}.path"), &spec.path)?;
    let targets = spec.targets.iter().map(|target| match agent::BenchmarkTarget::try_from(*target) {
        Ok(agent::BenchmarkTarget::Proxy) => Ok(BenchmarkTarget::Proxy),
        Ok(agent::BenchmarkTarget::Direct) => Ok(BenchmarkTarget::Direct),
        _ => Err(wrong(&format!("{at}.targets"), "holds one unknown here")),
    });
    let protocols = spec.protocols.iter().map(|protocol| match agent::BenchmarkProtocol::try_from(*protocol) {
        Ok(agent::BenchmarkProtocol::Http1) => Ok(BenchmarkProtocol::Http1),
        Ok(agent::BenchmarkProtocol::Http2) => Ok(BenchmarkProtocol::Http2),
        Ok(agent::BenchmarkProtocol::Http3) => Ok(BenchmarkProtocol::Http3),
        _ => Err(wrong(&format!("{at}.protocols"), "holds one unknown here")),
    });
    let (targets, protocols) = (targets.collect::<Result<Vec<_>, _>>()?, protocols.collect::<Result<Vec<_>, _>>()?);
    if targets.is_empty() || protocols.is_empty() || spec.concurrency.is_empty() {
        return Err(wrong(at, "has no target, protocol or concurrency"));
    }
    for clients in &spec.concurrency {
        within(at, "concurrency", u64::from(*clients), 1, 4096)?;
    }
    within(at, "repeats", spec.repeats.into(), 1, 100)?;
    // All rows travel in one report, which must fit a frame of the link.
    let cells = (targets.len() * protocols.len() * spec.concurrency.len()) as u64;
    within(at, "rows", cells.saturating_mul(spec.repeats.into()), 1, 400)?;
    within(at, "duration_ms", spec.duration_ms.into(), 1, 600_000)?;
    within(at, "warmup_ms", spec.warmup_ms.into(), 0, 600_000)?;
    Ok(BenchmarkPlan {
        run: id(at, "run_id", &spec.run_id)?,
        key: key(at, &spec.app_id, &spec.environment_id)?,
        host: spec.host,
        path: spec.path,
        targets,
        protocols,
        concurrency: spec.concurrency,
        repeats: spec.repeats,
        duration: milliseconds(spec.duration_ms),
        warmup: milliseconds(spec.warmup_ms),
    })
}

/// Tells where in the state a policy's field is.
fn traffic<T>(at: &str, name: &str, parsed: Result<T, TrafficError>) -> Result<T, StateError> {
    parsed.map_err(|error| wrong(&format!("{at}.{name}.{}", error.field), error.reason))
}

fn key(at: &str, app: &str, environment: &str) -> Result<AppKey, StateError> {
    Ok(AppKey { app: id(at, "app_id", app)?, environment: id(at, "environment_id", environment)? })
}

pub(crate) fn id<T: TryFrom<String, Error = fairlead_model::IdError>>(
    at: &str,
    name: &str,
    value: &str,
) -> Result<T, StateError> {
    T::try_from(value.to_owned()).map_err(|error| wrong(&format!("{at}.{name}"), error.to_string()))
}

fn within(at: &str, name: &str, value: u64, least: u64, most: u64) -> Result<(), StateError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(wrong(&format!("{at}.{name}"), format!("is {value}, not within {least} and {most}")))
}

fn host(at: &str, value: &str) -> Result<(), StateError> {
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

fn path(at: &str, value: &str) -> Result<(), StateError> {
    if value.starts_with('/') && value.len() <= 2048 && value.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(wrong(at, "is not a path that starts with `/`"))
}

fn has_controls(value: &str) -> bool {
    value.len() > 2048 || value.chars().any(|c| c.is_control() || c == ' ')
}

fn milliseconds(value: u32) -> Duration {
    Duration::from_millis(value.into())
}

/// Foreign text is shortened before it reaches a message that is logged and reported.
pub(crate) fn clip(value: &str) -> String {
    value.chars().take(80).collect()
}

pub(crate) fn wrong(field: &str, reason: impl Into<String>) -> StateError {
    StateError::Field { field: field.to_owned(), reason: reason.into() }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
