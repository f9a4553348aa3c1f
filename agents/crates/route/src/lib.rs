//! The proxy's decisions as pure functions: what a head means, which route it takes, what is sent on, where, and whether again.
//! Owns rules, most of them from RFC 9110, 9112 and 7239. Never does I/O, reads no clock, and never trusts a byte a peer sent.

mod balance;
mod framing;
mod header;
mod host;
mod malformed;
mod request;
mod request_id;
mod response;
mod retry;
mod table;
mod target;

pub use balance::pick;
pub use framing::{RequestBody, ResponseBody, content_length};
pub use header::trailer_forwards;
pub use host::{Authority, HostName};
pub use malformed::Malformed;
pub use request::{Client, RequestFacts, RequestLine, Version, encode_request};
pub use request_id::{REQUEST_ID_BYTES_MAX, RequestIds, usable_request_id};
pub use response::{BadResponse, DownstreamBody, ResponseFacts, encode_response};
pub use retry::{Attempt, may_retry};
pub use table::{RouteMatch, RouteTable};
pub use target::Target;
