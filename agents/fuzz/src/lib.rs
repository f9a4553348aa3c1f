//! Fuzz targets, each a function of bytes that panics if an invariant breaks. Includes the proxy's sources by path: its
//! codec is private, and a build of the whole proxy (TLS, QUIC) would take minutes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
#[path = "../../crates/proxy/src/limits.rs"]
mod limits;
#[allow(dead_code)]
mod h1;
mod bodies;
mod heads;
mod policies;
mod proxy_headers;
mod reference;
mod routes;

pub use bodies::chunked;
pub use heads::{request_head, response_head};
pub use policies::policy;
pub use proxy_headers::proxy_protocol;
pub use routes::routing;
