//! Decisions of the proxy as pure functions: parsing of heads, routing, header rewriting, load balancing, retries and
//! limits. Most rules are from RFC 9110, 9112 and 7239. Invariant: no I/O, no clock, and no trust in a peer's bytes.

mod address;
mod admission;
mod balance;
mod circuit;
mod client;
mod cloudflare;
mod concurrency;
mod credentials;
mod encoding;
mod fair_queue;
mod framing;
mod grpc;
mod header;
mod health;
mod host;
mod limit;
mod malformed;
mod path;
mod proxy_protocol;
mod request;
mod request_id;
mod response;
mod retry;
mod rules;
mod sticky;
mod table;
mod target;
mod websocket;

pub use address::{AddressRules, AddressSet, client_key};
pub use admission::Admission;
pub use balance::{Balancer, RAMP_FULL, instance_key, ramp_weight, rendezvous};
pub use circuit::{Circuit, may_eject};
pub use client::{Client, TrustedProxies, forwarded_address};
pub use concurrency::{ConcurrencyLimit, InstanceLoad, LIMIT_MIN};
pub use credentials::Credentials;
pub use encoding::{Coding, has_token, is_compressible, negotiate, negotiate_among};
pub use fair_queue::FairQueue;
pub use framing::{RequestBody, ResponseBody, content_length};
pub use grpc::{grpc_status, grpc_timeout_ms, is_grpc};
pub use header::trailer_forwards;
pub use health::{HealthState, is_healthy_status};
pub use host::{Authority, HostName};
pub use limit::{ClientPermit, ClientRates, ClientsInFlight, Rate, SharedRate, TICKS_PER_SECOND, TooManyInFlight};
pub use malformed::Malformed;
pub use path::{
    StrippedPath, has_dot_segment, https_location, lenient_path, loose_path, redirect_location, strip_prefix,
};
pub use proxy_protocol::{BadProxyHeader, PROXY_HEADER_BYTES_MAX, ProxyHeader, parse_proxy_header};
pub use request::{HttpVersion, RequestEdit, RequestFacts, RequestLine, encode_request};
pub use request_id::{REQUEST_ID_BYTES_MAX, RequestIds, usable_request_id};
pub use response::{BadResponse, DownstreamBody, ResponseFacts, encode_response};
pub use retry::{Attempt, RetryBudget, may_retry};
pub use rules::HeaderRules;
pub use sticky::{cookie, sticky_cookie};
pub use table::{Guard, RouteMatch, RouteTable};
pub use target::RequestTarget;
pub use websocket::{CLOSE_FRAME, WebSocketFrames};
