//! `trial`: checks that a new program starts, can read this server's folder, and reaches the control plane. Changes nothing.

use std::process::ExitCode;

use fairlead_base::{Folders, config};
use fairlead_link::AgentConfig;
use fairlead_wire::CAPABILITIES;

use crate::cli::TrialArgs;
use crate::command::{CommandResult, block_on};

pub(crate) fn trial(args: TrialArgs) -> CommandResult {
    let folders = Folders::new(&args.data)?;
    let config: AgentConfig = config::read(&folders.config())?;
    block_on(fairlead_link::probe_control_plane(&config, &folders, crate::VERSION, &CAPABILITIES))??;
    Ok(ExitCode::SUCCESS)
}
