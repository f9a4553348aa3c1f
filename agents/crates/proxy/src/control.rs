//! How `run` and `proxy` keep each other: sockets both hold, a channel of commands and events, and who follows whom.

mod error;
mod keeper;
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

pub use error::ProxyError;
pub use keeper::{KeeperOptions, ProxyKeeper};
pub(crate) use keys::ProxyKeys;
pub(crate) use server::{ControlServer, ServeEnd};
pub use sockets::{ListenerKind, OwnedListener, Sockets};
