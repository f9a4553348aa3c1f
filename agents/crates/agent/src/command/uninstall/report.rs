//! Report to the control plane that the agent is gone, or why it is not. The control plane then deletes the server.

use std::error::Error;
use std::time::Duration;

use fairlead_base::{CancellationToken, Folders, config};
use fairlead_link::{AgentConfig, Link, LinkOptions, SpoolLimits};
use fairlead_runtime::Isolation;
use fairlead_wire::agent::{Failure, UninstallStatus, WorkState};
use fairlead_wire::{CAPABILITIES, ReportParts};
use tokio::sync::watch;
use tokio::time::timeout;

use super::sentence;
use crate::host_info;
use crate::run::open_sealing_key;

/// Maximum wait for a control plane that is away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time for the link to close its connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns once the control plane has stored the report. Fails if it does not in time.
pub(super) async fn send(folders: &Folders, problems: &[String]) -> Result<(), Box<dyn Error>> {
    let config: AgentConfig = config::read(&folders.config())?;
    let isolation =
        Isolation::detect(folders, Err::<fairlead_network::OwnNetwork, _>("the agent is uninstalled".to_owned()));
    let host = host_info::read(folders, &isolation)?;
    isolation.groups().remove()?;
    let (_capabilities, capabilities) = watch::channel(CAPABILITIES.iter().map(|name| (*name).to_owned()).collect());
    let (link, ends) = Link::open(LinkOptions {
        config,
        folders: folders.clone(),
        agent_version: crate::VERSION.into(),
        host,
        capabilities,
        sealing_recipient: open_sealing_key(folders)?.recipient(),
        spool: SpoolLimits::default(),
    })?;
    let applied = ends.desired.borrow().state.as_ref().map(|state| state.version).unwrap_or_default();
    let failure =
        (!problems.is_empty()).then(|| Failure { code: "uninstall.incomplete".into(), message: sentence(problems) });
    let state = if failure.is_some() { WorkState::Failed } else { WorkState::Succeeded };
    let uninstall = Some(UninstallStatus { state: state.into(), failure });
    ends.report.send_replace(Some(fairlead_wire::report(ReportParts { applied, uninstall, ..ReportParts::default() })));
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(link.run(shutdown.clone()));
    let mut reported = ends.reported.clone();
    let stored = timeout(ANSWER_TIMEOUT, reported.wait_for(|stored| *stored)).await.is_ok();
    shutdown.cancel();
    // A connection that does not close in time ends with this process.
    timeout(CLOSE_TIMEOUT, running).await.ok();
    if stored { Ok(()) } else { Err("it did not answer in time".into()) }
}
