//! The agent's own programs. The one that was installed stays where it is and is started first, always: it reads which one of the
//! data folder should run, counts how often one on trial was started, and becomes it. So whatever a new program does, what
//! starts next is known to work and may decide against it. Owns starting them; what is fetched and when is `run`'s.

mod guard;
mod lead;
mod record;
mod trial;

use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::Folders;
use fairlead_model::Failure;

pub(crate) use guard::guard;
pub(crate) use lead::{is_possible, lead, own_digest, start_over};
pub(crate) use record::{Program, Record};
pub(crate) use trial::trial;

/// A new program has so long from each start to prove itself.
const TRIAL: Duration = Duration::from_secs(120);
/// Starts of a new program that ended before it proved itself.
const STARTS_MAX: u32 = 3;

/// What every program of the folder is called, as processes show.
const NAME: &str = "fairlead-agent";

/// Where a program lies, by the hex of its digest.
pub(crate) fn program_at(folders: &Folders, hex: &str) -> PathBuf {
    folders.agents().join(hex).join(NAME)
}

/// A failure of an upgrade, of the contract's table.
pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}
