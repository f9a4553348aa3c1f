//! The proxy's HTTP/1 codec, as it is there.

#[path = "../../crates/proxy/src/h1/chunked.rs"]
pub(crate) mod chunked;
#[path = "../../crates/proxy/src/h1/head.rs"]
pub(crate) mod head;
