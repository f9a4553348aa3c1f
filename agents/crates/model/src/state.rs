//! Desired state as one value: parsed once at the border, then trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    AppId, AppKey, AppTraffic, BenchmarkPlan, DeploymentId, ProxySettings, Redirect, ReleaseId, RoutePolicy,
    SealedSecrets, ServerId,
};

/// A version of desired state; ordered by epoch, then number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Version {
    /// Grows when an operator restores the control plane from a backup.
    pub epoch: u32,
    /// Grows with every change.
    pub number: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}

/// Everything one server should do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredState {
    /// This state's version.
    pub version: Version,
    /// The server it is for.
    pub server: ServerId,
    /// Capabilities the agent must have to apply it.
    pub requires: Vec<String>,
    /// Apps by key.
    pub apps: BTreeMap<AppKey, AppSpec>,
    /// Routes; no two have the same host and path prefix.
    pub routes: Vec<Route>,
    /// Builds to do once.
    pub builds: BTreeMap<DeploymentId, BuildSpec>,
    /// Benchmark runs to do once.
    pub benchmarks: Vec<BenchmarkPlan>,
    /// What holds for the whole proxy.
    pub proxy: ProxySettings,
}

/// An app as it should live on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppSpec {
    /// App and environment.
    pub key: AppKey,
    /// The app's name, for people.
    pub name: String,
    /// The last known good release.
    pub live: Option<ReleaseSpec>,
    /// The release to roll out beside it.
    pub candidate: Option<Rollout>,
    /// Copies to run, at least one.
    pub instances: u32,
    /// How requests reach them.
    pub traffic: AppTraffic,
}

/// A release to be made live by one deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// The deployment that asked.
    pub deployment: DeploymentId,
    /// What to run.
    pub release: ReleaseSpec,
    /// Time from start to healthy.
    pub health_timeout: Duration,
}

/// How to run one release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSpec {
    /// The release.
    pub id: ReleaseId,
    /// Its number in its app.
    pub number: u64,
    /// `sha256:<hex>` of the artifact.
    pub artifact_digest: String,
    /// Program and arguments; the program is looked up in the app's PATH.
    pub command: Vec<String>,
    /// Variables beside those the agent sets (`PORT`, `HOME`, `PATH`).
    pub environment: BTreeMap<String, String>,
    /// When it counts as healthy.
    pub health: HealthCheck,
    /// How long exchanges in flight may take after the switch.
    pub drain_timeout: Duration,
    /// SIGTERM to SIGKILL.
    pub stop_grace: Duration,
    /// Memory limit in bytes; zero for none.
    pub memory_bytes_max: u64,
    /// Beside its environment, what nobody may read; sealed.
    #[serde(default)]
    pub secrets: Option<SealedSecrets>,
}

/// When an instance counts as healthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// HTTP path that must answer 2xx or 3xx; empty: a TCP connect is enough.
    pub path: String,
    /// Pause between attempts.
    pub interval: Duration,
    /// Limit of one attempt.
    pub timeout: Duration,
}

/// Host and path prefix to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Lower-case host name, without port; with a first label `*` all names below it.
    pub host: String,
    /// Starts with `/`.
    pub path_prefix: String,
    /// Where it leads.
    pub target: RouteTarget,
    /// What happens to its requests.
    pub policy: RoutePolicy,
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteTarget {
    /// An app on this server.
    App(AppKey),
    /// A fixed address, used for the control plane itself.
    Address(SocketAddr),
    /// Somewhere else.
    Redirect(Redirect),
}

/// A build to do once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSpec {
    /// The deployment it is for.
    pub deployment: DeploymentId,
    /// The app.
    pub app: AppId,
    /// `https://` or `http://`, without credentials.
    pub repository_url: String,
    /// Branch, tag or full commit hash.
    pub git_ref: String,
    /// Relative folder inside the repository; empty for the top.
    pub root_folder: String,
    /// Limit of the whole build.
    pub timeout: Duration,
}

/// Why a desired state can't be used. The agent refuses the whole and keeps what it has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A field is missing or not of its form.
    #[error("{field}: {reason}")]
    Field {
        /// Path of the field, like `apps[2].live.command`.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It asks for what this agent can't do.
    #[error("this agent lacks `{capability}`: upgrade the agent")]
    Capability {
        /// The capability it lacks.
        capability: String,
    },
    /// It is for another server.
    #[error("the state is for server {found}, this one is {expected}")]
    Server {
        /// Whose it is.
        found: String,
        /// Who this is.
        expected: ServerId,
    },
    /// It is not newer than what was accepted before.
    #[error("version {found} is older than {current}, which this agent has")]
    Older {
        /// The version offered.
        found: Version,
        /// The version held.
        current: Version,
    },
    /// Its signature is not by a pinned key.
    #[error("the signature by key `{key_id}` is not valid")]
    Signature {
        /// The key it names.
        key_id: String,
    },
}
