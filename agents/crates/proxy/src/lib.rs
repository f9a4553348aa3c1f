//! The data plane: listeners, TLS, HTTP/1.1 and HTTP/2 clients, HTTP/1.1 apps; one worker a core, one exchange layer with all policy.
//! Owns what serves. Never decides what should run: routes, instances and certificates come whole from `run`, over the control
//! socket. docs: `run` starts and keeps it with `ProxyKeeper`; the `proxy` subcommand is `run`.
//!
//! Trailers are passed on both ways, less those that frame, route or authenticate; an HTTP/1.0 client or a body with a known
//! length has no place for them, and there they end here. Via is not added: some servers switch compression off for it.

mod client;
mod control;
mod core;
mod exchange;
mod h1;
mod h2;
mod limits;
mod run;
mod snapshot;
mod transport;
mod upstream;
mod worker;

pub use control::{KeeperOptions, ListenerKind, OwnedListener, ProxyError, ProxyKeeper, Sockets};
pub use limits::Limits;
pub use run::{run, serve};
