//! HTTP/1 codec of the proxy, included by path.

#[path = "../../crates/proxy/src/h1/chunked.rs"]
pub(crate) mod chunked;
#[path = "../../crates/proxy/src/h1/head.rs"]
pub(crate) mod head;
