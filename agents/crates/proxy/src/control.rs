//! Control plane of the proxy process: shared sockets, a channel of commands and events, supervision and replacement.

mod draining_proxies;
mod error;
mod keys;
mod link;
mod log_file;
mod merge;
mod process;
mod replace;
mod server;
mod sockets;
mod spawn;
mod supervisor;

pub use error::ProxyError;
pub(crate) use keys::ProxyKeys;
pub use replace::end_proxies;
pub(crate) use server::{ControlServer, ServeEnd, SupervisorChannel};
pub use sockets::{ListenerKind, OwnedListener, ProxySockets};
pub use supervisor::{ProxySupervisor, SupervisorOptions};
