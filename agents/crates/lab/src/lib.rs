//! Benchmark lab: an app of its own, a null proxy, and other proxies that run beside Fairlead's for the time of a run.

mod app;
mod certificate;
mod floor;
mod folder;
mod grpc_app;
mod lab;
mod link;
mod peer;
mod probe_app;
mod process;
mod program;
mod server;
mod user;

pub use certificate::{HOST, LabCertificate, issue};
pub use lab::{Lab, LabCopy, LabError, LabSetup};
pub use link::run_link;
pub use process::{Serving, enter_network, run_app, run_floor, run_guard, run_peer};
