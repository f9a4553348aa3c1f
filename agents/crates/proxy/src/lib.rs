//! The data plane: listeners, TLS, HTTP/1.1, HTTP/2 and HTTP/3 clients, HTTP/1.1 apps; one worker a core, one exchange layer with all policy.
//! Owns what serves. Never decides what should run: routes, instances and certificates come whole from `run`, over the control
//! socket. docs: `run` starts and keeps it with `ProxySupervisor`; the `proxy` subcommand is `run`.
//!
//! Trailers are passed on both ways, less those that frame, route or authenticate; an HTTP/1.0 client or a body with a known
//! length has no place for them, and there they end here. Via is not added: some servers switch compression off for it.

mod access_log;
mod client;
mod compress;
mod confine;
mod control;
mod core;
mod exchange;
mod flood;
mod h1;
mod h2;
mod h3;
mod health_check;
mod limits;
mod policy;
mod proxy_protocol;
mod run;
mod snapshot;
mod transport;
mod upstream;
mod websocket;
mod worker;

pub use self::core::DrainOptions;
pub use confine::confine;
pub use control::{ListenerKind, OwnedListener, ProxyError, ProxySupervisor, Sockets, SupervisorOptions};
pub use limits::Limits;
pub use run::{run, serve};
pub use snapshot::check;
