//! The one outgoing connection of an agent: enrolment, hello, sync, report, push and its spool.
//! Owns what is trusted and what is kept on disk for it. Never applies a state; knows no app, proxy or build.

mod config;
mod dial;
mod enrol;
mod key;
mod knock;
mod link;
mod session;
mod socket;
mod spool;
mod trust;

pub use config::{AgentConfig, SigningKey};
pub use dial::{DialError, Endpoint};
pub use enrol::{EnrolError, Enrolment, enrol};
pub use key::{AgentKey, KeyError, state_signature_valid};
pub use knock::{KnockError, knock};
pub use link::{Desired, Link, LinkEnds, LinkError, LinkOptions, PushSender};
pub use session::{InspectRequest, LogRequest, Request};
pub use socket::SocketError;
pub use spool::{Spool, SpoolLimits};
pub use trust::TrustError;

/// Saved files of the link that are damaged.
pub fn damaged_files(
    config: Option<&AgentConfig>,
    folders: &fairlead_base::Folders,
) -> Vec<fairlead_base::StateFileError> {
    trust::Trust::damaged(config, folders)
}
