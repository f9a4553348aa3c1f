//! Polls the container engine and reports to the control plane whether this server can run containers.

use std::time::Duration;

use fairlead_engine::Engine;
use fairlead_wire::CAPABILITIES;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Poll interval, and thus the delay until a newly started engine is reported.
const POLL_INTERVAL: Duration = Duration::from_secs(20);
/// Failed polls in a row before the engine counts as gone. An engine upgrade makes it unreachable for a moment while its
/// containers continue.
const MISSED_MAX: u32 = 6;

/// Returns this server's capabilities and the task that updates them.
pub(super) async fn watch(engine: Engine, upgrades: bool) -> (watch::Receiver<Vec<String>>, JoinHandle<()>) {
    let mut answers = engine.answers().await;
    let (sender, receiver) = watch::channel(capabilities(answers, upgrades));
    let task = tokio::spawn(async move {
        let mut missed = 0;
        loop {
            sleep(POLL_INTERVAL).await;
            missed = if engine.answers().await { 0 } else { missed + 1 };
            let now = missed == 0 || (answers && missed < MISSED_MAX);
            if now != answers {
                answers = now;
                tracing::info!(answers, "the container engine");
                sender.send_replace(capabilities(answers, upgrades));
            }
        }
    });
    (receiver, task)
}

fn capabilities(containers: bool, upgrades: bool) -> Vec<String> {
    let here = CAPABILITIES.iter().filter(|name| match **name {
        "container" => containers,
        "upgrade" => upgrades,
        _ => true,
    });
    here.map(|name| (*name).to_owned()).collect()
}
