//! `lab`: one process of the benchmark lab, which the agent starts for the time of a run.

use std::process::ExitCode;

use fairlead_base::accounts::User;

use super::CommandResult;
use crate::cli::{LabArgs, LabProcess};

pub(crate) fn lab(args: LabArgs) -> CommandResult {
    if let Some(network) = &args.network {
        fairlead_lab::enter_network(network)?;
    }
    match args.process {
        LabProcess::App { settings } => fairlead_lab::run_app(serde_json::from_str(&settings)?, None)?,
        LabProcess::Floor { certificate, app, workers } => fairlead_lab::run_floor(&certificate, app, workers)?,
        LabProcess::Link => fairlead_lab::run_link()?,
        LabProcess::Guard { parent, group } => fairlead_lab::run_guard(parent, group)?,
        LabProcess::Peer { user, group, program, arguments } => {
            let user = user.zip(group).map(|(uid, gid)| User { uid, gid });
            return Ok(fairlead_lab::run_peer(&program, &arguments, user)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
