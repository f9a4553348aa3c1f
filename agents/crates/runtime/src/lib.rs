//! How an app lives on a server: rollouts, the shim that parents each instance, cgroups, health, restart, logs.
//! Owns processes and their folders. Never routes a request itself, never speaks to the control plane, and runs
//! nothing through a shell.

pub mod rollout;
