//! Operating-system mechanisms for every crate of the agent: files, processes, cgroups, sandboxes and sockets. Invariant: knows
//! no ids, no messages and no desired state.

pub mod accounts;
pub mod backoff;
pub mod busy_program;
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
