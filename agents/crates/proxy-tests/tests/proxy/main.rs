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
mod listener_owner;
mod policy;
mod proxy_protocol;
mod sleep;
mod upstream_http2;
mod websocket;
