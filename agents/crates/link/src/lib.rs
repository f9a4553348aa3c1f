//! Outgoing connection of an agent to its control plane: enrolment, hello, sync, report, push and its spool. Owns the trusted
//! keys and its files. Never applies a state; knows no app, proxy or build.

mod config;
mod dial;
mod enrol;
mod key;
mod link;
mod probe_control_plane;
mod session;
mod socket;
mod spool;
mod trust;

pub use config::{AgentConfig, SigningKey};
pub use dial::{DialError, Endpoint};
pub use enrol::{EnrolError, Enrolment, enrol};
pub use key::{AgentKey, KeyError, state_signature_valid};
pub use link::{AcceptedState, Link, LinkEnds, LinkError, LinkOptions, PushSender};
pub use probe_control_plane::{ProbeError, probe_control_plane};
pub use session::{InspectRequest, LogRequest, QueryRequest};
pub use socket::SocketError;
pub use spool::{Spool, SpoolLimits};
pub use trust::TrustError;

/// Returns errors for the link's damaged files.
pub fn damaged_files(
    config: Option<&AgentConfig>,
    folders: &fairlead_base::Folders,
) -> Vec<fairlead_base::StateFileError> {
    trust::Trust::damaged(config, folders)
}
