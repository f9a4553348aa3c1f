//! Benchmark lab: an app of its own, a null proxy, and other proxies that run beside Fairlead's for the time of a run.

mod app;
mod certificate;
mod floor;
mod lab;
mod peer;
mod probe_app;
mod process;

pub use certificate::{HOST, LabCertificate, issue};
pub use lab::{Lab, LabError, LabSetup};
pub use process::{Serving, run_app, run_floor, run_peer};
