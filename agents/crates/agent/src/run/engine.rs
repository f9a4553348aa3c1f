//! Whether this server runs containers: asked of its engine now and then, and told to the control plane when that changes.

use std::time::Duration;

use fairlead_engine::Engine;
use fairlead_wire::CAPABILITIES;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How soon an engine that was installed or started is known.
const ASK_PAUSE: Duration = Duration::from_secs(20);
/// An engine that is being upgraded is away for a moment: its apps go on, and nobody needs to know.
const MISSED_MAX: u32 = 6;

/// What this server can do, and the task that keeps it true.
pub(super) async fn watch(engine: Engine, upgrades: bool) -> (watch::Receiver<Vec<String>>, JoinHandle<()>) {
    let mut answers = engine.answers().await;
    let (told, receiver) = watch::channel(capabilities(answers, upgrades));
    let task = tokio::spawn(async move {
        let mut missed = 0;
        loop {
            sleep(ASK_PAUSE).await;
            missed = if engine.answers().await { 0 } else { missed + 1 };
            let now = missed == 0 || (answers && missed < MISSED_MAX);
            if now != answers {
                answers = now;
                tracing::info!(answers, "the container engine");
                told.send_replace(capabilities(answers, upgrades));
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
