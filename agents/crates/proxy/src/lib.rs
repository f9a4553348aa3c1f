//! Data plane of Fairlead: a reverse proxy for HTTP/1.1, HTTP/2 and HTTP/3 over TLS, with one worker for each core.
//! Invariant: routes, instances and certificates come as whole snapshots from `run`, over the control socket.

mod access_log;
mod acme_responders;
mod client;
mod compress;
mod confine;
mod connection_tls;
mod control;
mod core;
// Trailers pass in both directions, except fields that frame, route or authenticate. HTTP/1.0 clients and bodies with a
// known length have no place for trailers, so the proxy drops them. It adds no Via, because some servers disable
// compression for it.
mod exchange;
mod filters;
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
/// `run` starts and restarts the proxy with `ProxySupervisor`; the `proxy` subcommand calls `run`.
pub use control::{
    ListenerKind, OwnedListener, ProxyError, ProxySockets, ProxySupervisor, SupervisorOptions, end_proxies,
};
pub use limits::Limits;
pub use run::{run, serve};
pub use snapshot::check;
