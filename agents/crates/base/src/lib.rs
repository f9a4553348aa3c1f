//! Foundations of every crate of the agent: clock, folders, files that are whole or absent, walks of hostile folder trees,
//! back-off, shutdown, descriptors, control groups, sandboxes, root file systems of confined programs.
//! Owns mechanisms only. Never knows what the agent is for: no ids, no messages, no desired state.

pub mod accounts;
pub mod backoff;
pub mod cgroup;
pub mod clock;
pub mod config;
pub mod descriptor;
pub mod error;
pub mod excerpt;
pub mod file;
pub mod folders;
pub mod handover;
pub mod random;
pub mod root_view;
pub mod sandbox;
pub mod shutdown;
pub mod sock_diag;
pub mod state_file;
pub mod trash;
pub mod tree;

pub use backoff::Backoff;
pub use folders::Folders;
pub use state_file::StateFileError;
pub use tokio_util::sync::CancellationToken;
pub use trash::Trash;
