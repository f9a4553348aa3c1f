//! Messages of the agent link and of the local protocol, and their conversion to and from `model`. No I/O except on the
//! framed local channel.

mod benchmark;
mod benchmark_gate;
mod certificate;
mod channel;
mod parse;
mod render;
mod secret;
mod server_port;
mod volume_task;

/// Messages between an agent and the control plane, generated from `agent.proto`.
#[allow(missing_docs, clippy::all)]
pub mod agent {
    include!("gen/fairlead.agent.v1.rs");
}

/// Messages between `run`, `proxy` and `shim`, generated from `local.proto`.
#[allow(missing_docs, clippy::all)]
pub mod local {
    include!("gen/fairlead.local.v1.rs");
}

pub use certificate::{acme_account_key, certificate_key};
pub use channel::{ChannelError, LocalChannel, MESSAGE_BYTES_MAX};
pub use parse::{announced_keys, desired_state, inspected_source};
pub use render::{ReportParts, log_chunk, report, version};
pub use secret::{SECRETS_BYTES_MAX, secret_bundle};

/// Returns the encoding of the traffic policy in a snapshot.
pub fn traffic_encoding(snapshot: &local::ProxySnapshot) -> fairlead_model::TrafficEncoding {
    match snapshot.traffic_is_json {
        true => fairlead_model::TrafficEncoding::Json,
        false => fairlead_model::TrafficEncoding::Message,
    }
}

/// Version of the link protocol that this agent speaks.
pub const LINK_PROTOCOL: u32 = 1;

/// Version of the local protocol; each side also accepts the one before its own.
pub const LOCAL_PROTOCOL: u32 = 1;

/// True if this side accepts a peer's local protocol version.
pub fn local_protocol_accepted(version: u32) -> bool {
    version.abs_diff(LOCAL_PROTOCOL) <= 1 && version > 0
}

include!("gen/capabilities.rs");

/// Returns the proxy's key of an app.
pub fn app_key(key: &fairlead_model::AppKey) -> String {
    key.to_string()
}

/// Returns the proxy's key of a part of the control plane.
pub fn control_key(socket: &str) -> String {
    format!("control/{socket}")
}

impl From<agent::Version> for fairlead_model::Version {
    fn from(version: agent::Version) -> Self {
        Self { epoch: version.epoch, number: version.number }
    }
}
