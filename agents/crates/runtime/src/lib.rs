//! Runs apps on a server: rollouts, shims, control groups, health checks, restarts and logs. Never routes a request
//! itself, never speaks to the control plane, and runs nothing through a shell.

mod app_logs;
mod container;
mod crash;
mod end_instances;
mod health_check;
mod identity;
mod instance;
mod isolation;
mod layer;
mod layer_bound;
mod listener;
mod listening;
mod output;
mod ports;
mod restart;
pub mod rollout;
mod runtime;
mod secrets;
mod shared_network;
pub mod shim;
mod socket;
mod supervisor;
mod volume_restore;
mod volumes;
mod workers;

pub use app_logs::{AppLogLine, LogFilter, LogFilterError, LogFollower, LogLevel, tidy_app_logs};
pub use container::owner;
pub use end_instances::{EndError, end_instances};
pub use fairlead_base::cgroup::{CgroupFolders, Cgroups};
pub use health_check::{HealthCheckKind, HealthCommand, HealthTarget, run_check};
pub use identity::{APP_USERS, Identities, RebuiltUsers};
pub use instance::{ExitRecord, InstanceFolder, InstanceSpec, SandboxSpec};
pub use isolation::Isolation;
pub use layer_bound::{FREE_BYTES_RESERVE, LayerBounds};
pub use listener::Owner;
pub use runtime::{
    IMAGE_FILE, MeasureGate, PrepareRelease, ReleaseCopy, RunningProcess, Runtime, RuntimeError, RuntimeOptions,
    RuntimeOutput, RuntimeView, Wakes, damaged_files,
};
pub use secrets::redactor;
pub use volume_restore::{
    adopt_restored, is_restored, set_aside_replaced_volumes, set_aside_staged, staging_folder, volume_path,
};
pub use volumes::{bytes_below, set_aside_renamed_volumes, set_aside_volume, volumes_used};
