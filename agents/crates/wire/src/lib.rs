//! The messages of the link and of the local protocol, and their parsing into `model`.
//! Owns what bytes mean. Never acts on them: no sockets but the framed local channel, no files, no clocks.

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
