//! How `run` and `proxy` keep each other: sockets both hold, a channel of commands and events, and who follows whom.

mod error;
mod keeper;
mod link;
mod process;
mod server;
mod sockets;

pub use error::ProxyError;
pub use keeper::{KeeperOptions, ProxyKeeper};
pub(crate) use server::{ControlServer, ServeEnd};
pub use sockets::{ListenerKind, OwnedListener, Sockets};
