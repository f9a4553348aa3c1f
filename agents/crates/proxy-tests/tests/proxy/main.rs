//! The proxy over real sockets: one program, because each would compile the clients and apps of the tests anew.
#![cfg(test)]

#[path = "../quic/mod.rs"]
mod quic;
#[path = "../support/mod.rs"]
mod support;

mod access_log;
mod balance;
mod compression;
mod control;
mod fairness;
mod faults;
mod forward_auth;
mod grpc;
mod http1;
mod http2;
mod http3;
mod http3_conformance;
mod http3_connections;
mod limits;
mod listener_owner;
mod path_rewrite;
mod policy;
mod proxy_protocol;
mod sleep;
mod tls_alpn;
mod tls_policy;
mod tls_policy_foreign;
mod upstream_http2;
mod websocket;

use fairlead_model::TrafficPart;
use fairlead_wire::local::ProxyStats;

/// Encodes a part of traffic policy as a standalone proxy does.
fn encoded(part: &impl TrafficPart) -> Vec<u8> {
    serde_json::to_vec(part).unwrap()
}

/// Returns the number of responses of the proxy itself for this reason, over all routes.
fn rejected(stats: &ProxyStats, reason: &str) -> u32 {
    stats.route_responses.iter().map(|route| route.counts[reason]).sum()
}
