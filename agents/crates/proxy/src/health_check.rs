//! Health probes: each instance of an app that wants them is asked again and again, once for the whole proxy, by a
//! thread of its own; the cores are told verdicts only. What `run` checks before it switches to a new instance is its own matter.

mod request;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_model::HealthProbe;
use fairlead_reactor::{Task, block_on, sleep_until, spawn};
use fairlead_route::{Health, instance_key};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::snapshot::Snapshot;
use crate::upstream::Connector;
use crate::worker::CoreCommand;

type Cores = Arc<[UnboundedSender<CoreCommand>]>;

/// All probes of one proxy; they end with it.
#[derive(Debug)]
pub(crate) struct HealthChecks {
    cores: Cores,
    /// By instance.
    checked: HashMap<Box<str>, CheckedInstance>,
    /// To the thread that asks; there is none before somebody is to be asked.
    commands: Option<UnboundedSender<CheckCommand>>,
}

/// Who is asked, and how.
#[derive(Debug, Clone)]
struct CheckedInstance {
    connector: Arc<Connector>,
    probe: HealthProbe,
}

/// What the thread that asks is told.
#[derive(Debug)]
enum CheckCommand {
    /// Instead of how the instance was asked before.
    Start(Box<str>, CheckedInstance),
    Stop(Box<str>),
}

impl HealthChecks {
    pub(crate) fn new(cores: impl IntoIterator<Item = UnboundedSender<CoreCommand>>) -> Self {
        Self { cores: cores.into_iter().collect(), checked: HashMap::new(), commands: None }
    }

    /// Asks whom a snapshot says, once the cores have it. Those that are asked already go on, with what is known of them.
    pub(crate) fn set(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.checked);
        for app in &snapshot.apps {
            let Some(probe) = &app.traffic.health else { continue };
            for upstream in app.upstreams.iter().filter(|upstream| !upstream.draining) {
                let same =
                    |checked: &CheckedInstance| checked.probe == *probe && checked.connector == upstream.connector;
                let checked = match before.remove(&upstream.instance) {
                    Some(checked) if same(&checked) => Some(checked),
                    _ => self.start(&upstream.instance, &upstream.connector, probe),
                };
                self.checked.extend(checked.map(|checked| (upstream.instance.clone(), checked)));
            }
        }
        for instance in before.into_keys() {
            self.command(CheckCommand::Stop(instance));
        }
    }

    /// `None` when it can't be asked; the next snapshot tries again.
    fn start(&mut self, instance: &str, connector: &Arc<Connector>, probe: &HealthProbe) -> Option<CheckedInstance> {
        let checked = CheckedInstance { connector: Arc::clone(connector), probe: probe.clone() };
        self.command(CheckCommand::Start(instance.into(), checked.clone())).then_some(checked)
    }

    /// Whether somebody heard it.
    fn command(&mut self, command: CheckCommand) -> bool {
        let commands = match self.commands.take().map_or_else(|| begin(&self.cores), Ok) {
            Ok(commands) => commands,
            Err(error) => {
                tracing::error!(%error, "the health probes have no thread: no instance is asked");
                return false;
            }
        };
        if let Err(unheard) = commands.send(command) {
            // Its thread has ended, and said why: what nobody asks counts as healthy, and is asked anew by another thread.
            let (CheckCommand::Start(instance, _) | CheckCommand::Stop(instance)) = unheard.0;
            tell(&self.cores, &instance, true);
            self.checked.clear();
            return false;
        }
        self.commands = Some(commands);
        true
    }
}

/// Begins a thread that asks as cores do.
fn begin(cores: &Cores) -> io::Result<UnboundedSender<CheckCommand>> {
    let (commands, received) = unbounded_channel();
    let cores = Arc::clone(cores);
    std::thread::Builder::new().name("health".to_owned()).spawn(move || {
        if let Err(error) = block_on(watch_all(received, cores)) {
            tracing::error!(%error, "the event loop of the health probes failed: no instance is asked any more");
        }
    })?;
    Ok(commands)
}

/// Asks whom it is told to, until there is nobody who tells.
async fn watch_all(mut commands: UnboundedReceiver<CheckCommand>, cores: Cores) {
    let mut asked: HashMap<Box<str>, Task> = HashMap::new();
    while let Some(command) = commands.recv().await {
        let (CheckCommand::Start(instance, _) | CheckCommand::Stop(instance)) = &command;
        if let Some(task) = asked.remove(instance) {
            task.abort();
        }
        // A verdict on what it was before is none on what it is now; and whom nobody asks any more, nobody would find healthy again.
        tell(&cores, instance, true);
        if let CheckCommand::Start(instance, checked) = command {
            let task = spawn(watch(instance.clone(), checked, Arc::clone(&cores)));
            asked.insert(instance, task);
        }
    }
}

/// Asks one instance for as long as it is in the table.
async fn watch(instance: Box<str>, CheckedInstance { connector, probe }: CheckedInstance, cores: Cores) {
    let interval = Duration::from_millis(u64::from(probe.interval_ms));
    // Spread out, so that a thousand instances are not asked at the same moment.
    let offset = Duration::from_millis(instance_key(&instance) % u64::from(probe.interval_ms.max(1)));
    let mut next = Instant::now() + offset;
    let mut health = Health::default();
    loop {
        sleep_until(next).await;
        let answer = request::send(&connector, &probe).await;
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
