//! How an app lives on a server: rollouts, the shim that parents each instance, cgroups, health, restart, logs.
//! Owns processes and their folders. Never routes a request itself, never speaks to the control plane, and runs
//! nothing through a shell.

mod health;
mod identity;
mod instance;
mod isolation;
mod listening;
mod output;
mod ports;
pub mod rollout;
mod runtime;
mod secrets;
pub mod shim;
mod supervisor;

pub use fairlead_base::cgroup::{CgroupFolders, Cgroups};
pub use health::{HealthTarget, probe};
pub use identity::Identities;
pub use instance::{ExitRecord, InstanceFolder, InstanceSpec};
pub use isolation::Isolation;
pub use runtime::{PrepareRelease, RunningProcess, Runtime, RuntimeError, RuntimeOptions, RuntimeOutput, View};
pub use secrets::redactor;
