//! Selection of the agent's program. Invariant: the installed program always starts first, counts starts of a program on trial,
//! and executes the selected one. A faulty new program can therefore not prevent a rollback.

mod exec_selected;
mod guard;
mod record;
mod signature;
mod trial;

use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::Folders;
use fairlead_model::Failure;

pub(crate) use exec_selected::{exec_installed, exec_selected, is_possible, own_digest};
pub(crate) use guard::guard;
pub(crate) use record::{Program, UpgradeRecord};
pub(crate) use signature::{OwnBuild, ReleaseKeys};
pub(crate) use trial::trial;

/// Time from each start within which a new program must prove itself.
const TRIAL: Duration = Duration::from_secs(120);
/// Maximum number of starts of a new program before it is proved.
const STARTS_MAX: u32 = 3;

/// File name of every program of the data folder, as process lists show it.
const NAME: &str = "fairlead-agent";

/// Returns the path of a program by the hex of its digest.
pub(crate) fn program_at(folders: &Folders, hex: &str) -> PathBuf {
    folders.agents().join(hex).join(NAME)
}

/// Creates a failure of an upgrade; codes are those of the contract's table.
pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}
