//! Health probes: each instance of an app that wants them is asked again and again, once for the whole proxy, by the control
//! thread; the cores are told verdicts only. What `run` checks before it switches to a new instance is its own matter.

mod probe;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fairlead_model::HealthProbe;
use fairlead_route::{Health, instance_key};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::snapshot::Snapshot;
use crate::upstream::Connector;
use crate::worker::CoreCommand;

type Cores = Arc<[UnboundedSender<CoreCommand>]>;

/// All probes of one proxy; they end with it.
#[derive(Debug)]
pub(crate) struct Probes {
    cores: Cores,
    /// By instance.
    probed: HashMap<Box<str>, Probed>,
}

#[derive(Debug)]
struct Probed {
    connector: Arc<Connector>,
    probe: HealthProbe,
    task: JoinHandle<()>,
}

impl Drop for Probed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Probes {
    pub(crate) fn new(cores: impl IntoIterator<Item = UnboundedSender<CoreCommand>>) -> Self {
        Self { cores: cores.into_iter().collect(), probed: HashMap::new() }
    }

    /// Asks whom a snapshot says, once the cores have it. Those that are asked already go on, with what is known of them.
    pub(crate) fn set(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.probed);
        for app in &snapshot.apps {
            let Some(probe) = &app.traffic.health else { continue };
            for upstream in app.upstreams.iter().filter(|upstream| !upstream.draining) {
                let same = |probed: &Probed| probed.probe == *probe && probed.connector == upstream.connector;
                let probed = match before.remove(&upstream.instance) {
                    Some(probed) if same(&probed) => probed,
                    _ => self.start(&upstream.instance, &upstream.connector, probe),
                };
                self.probed.insert(upstream.instance.clone(), probed);
            }
        }
        // Nobody asks them any more, so nobody would find them healthy again.
        before.into_keys().for_each(|instance| tell(&self.cores, &instance, true));
    }

    fn start(&self, instance: &str, connector: &Arc<Connector>, probe: &HealthProbe) -> Probed {
        // A verdict on what it was before is none on what it is now.
        tell(&self.cores, instance, true);
        let task = tokio::spawn(watch(instance.into(), Arc::clone(connector), probe.clone(), Arc::clone(&self.cores)));
        Probed { connector: Arc::clone(connector), probe: probe.clone(), task }
    }
}

/// Asks one instance for as long as it is in the table.
async fn watch(instance: Box<str>, connector: Arc<Connector>, probe: HealthProbe, cores: Cores) {
    let interval = Duration::from_millis(u64::from(probe.interval_ms));
    // Spread out, so that a thousand instances are not asked at the same moment.
    let offset = Duration::from_millis(instance_key(&instance) % u64::from(probe.interval_ms.max(1)));
    let mut next = Instant::now() + offset;
    let mut health = Health::default();
    loop {
        sleep_until(next).await;
        let answer = probe::ask(&connector, &probe).await;
        if health.count(answer.is_ok(), &probe) {
            match answer {
                Ok(()) => tracing::info!(%instance, "an instance is healthy again"),
                Err(error) => tracing::warn!(%instance, %error, "an instance is unhealthy"),
            }
            tell(&cores, &instance, health.is_healthy());
        }
        // From the end of one to the next: a slow instance is not asked more and more.
        next = Instant::now() + interval;
    }
}

fn tell(cores: &Cores, instance: &str, healthy: bool) {
    for core in cores.iter() {
        // A core ends only with the whole proxy, and that is noticed elsewhere.
        if core.send(CoreCommand::Health { instance: instance.into(), healthy }).is_err() {
            tracing::debug!(instance, "a core ended before it was told of an instance's health");
        }
    }
}
