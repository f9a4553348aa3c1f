//! How `run` and `proxy` keep each other: sockets both hold, a channel of commands and events, and who follows whom.

mod error;
mod keys;
mod link;
mod log_file;
mod merge;
mod process;
mod replace;
mod retiring;
mod server;
mod sockets;
mod spawn;
mod supervisor;

pub use error::ProxyError;
pub(crate) use keys::ProxyKeys;
pub(crate) use server::{ControlServer, ServeEnd};
pub use sockets::{ListenerKind, OwnedListener, Sockets};
pub use supervisor::{ProxySupervisor, SupervisorOptions};
