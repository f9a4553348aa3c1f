//! Active health checks: one thread of the proxy checks each instance at its interval and sends changes to the cores.
//! Readiness checks of new instances in `run` are separate.

mod request;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_model::ActiveHealthCheck;
use fairlead_reactor::{Task, block_on, sleep_until, spawn};
use fairlead_route::{HealthState, instance_key};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::snapshot::Snapshot;
use crate::upstream::Connector;
use crate::worker::CoreCommand;

type Cores = Arc<[UnboundedSender<CoreCommand>]>;

/// Active health checks of one proxy.
#[derive(Debug)]
pub(crate) struct HealthChecks {
    cores: Cores,
    /// Checked instances by id.
    checked: HashMap<Box<str>, CheckedInstance>,
    /// Channel to the thread; `None` until the first check.
    commands: Option<UnboundedSender<CheckCommand>>,
}

/// Instance under health checks, with its settings.
#[derive(Debug, Clone)]
struct CheckedInstance {
    connector: Arc<Connector>,
    settings: ActiveHealthCheck,
}

/// Command to the health check thread.
#[derive(Debug)]
enum CheckCommand {
    /// Starts the checks of an instance; replaces earlier ones.
    Start(Box<str>, CheckedInstance),
    Stop(Box<str>),
}

impl HealthChecks {
    pub(crate) fn new(cores: impl IntoIterator<Item = UnboundedSender<CoreCommand>>) -> Self {
        Self { cores: cores.into_iter().collect(), checked: HashMap::new(), commands: None }
    }

    /// Applies a snapshot that the cores already have. Unchanged checks continue with their state.
    pub(crate) fn set(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.checked);
        for app in &snapshot.apps {
            let Some(settings) = &app.traffic.health_check else { continue };
            for upstream in app.upstreams.iter().filter(|upstream| !upstream.draining) {
                let same = |checked: &CheckedInstance| {
                    checked.settings == *settings && checked.connector == upstream.connector
                };
                let checked = match before.remove(&upstream.instance) {
                    Some(checked) if same(&checked) => Some(checked),
                    _ => self.start(&upstream.instance, &upstream.connector, settings),
                };
                self.checked.extend(checked.map(|checked| (upstream.instance.clone(), checked)));
            }
        }
        for instance in before.into_keys() {
            self.command(CheckCommand::Stop(instance));
        }
    }

    /// Returns `None` if the check cannot start; the next snapshot tries again.
    fn start(
        &mut self,
        instance: &str,
        connector: &Arc<Connector>,
        settings: &ActiveHealthCheck,
    ) -> Option<CheckedInstance> {
        let checked = CheckedInstance { connector: Arc::clone(connector), settings: settings.clone() };
        self.command(CheckCommand::Start(instance.into(), checked.clone())).then_some(checked)
    }

    /// Sends a command to the thread; returns true on success.
    fn command(&mut self, command: CheckCommand) -> bool {
        let commands = match self.commands.take().map_or_else(|| start_thread(&self.cores), Ok) {
            Ok(commands) => commands,
            Err(error) => {
                tracing::error!(%error, "the health checks have no thread: no instance is checked");
                return false;
            }
        };
        if let Err(unheard) = commands.send(command) {
            // The thread has ended and logged why. Instances without checks count as healthy until another thread
            // checks them.
            let (CheckCommand::Start(instance, _) | CheckCommand::Stop(instance)) = unheard.0;
            set_health(&self.cores, &instance, true);
            self.checked.clear();
            return false;
        }
        self.commands = Some(commands);
        true
    }
}

/// Starts the thread, with an event loop like that of a core.
fn start_thread(cores: &Cores) -> io::Result<UnboundedSender<CheckCommand>> {
    let (commands, received) = unbounded_channel();
    let cores = Arc::clone(cores);
    std::thread::Builder::new().name("health".to_owned()).spawn(move || {
        if let Err(error) = block_on(run_checks(received, cores)) {
            tracing::error!(%error, "the event loop of the health checks failed: no instance is checked any more");
        }
    })?;
    Ok(commands)
}

/// Runs health checks until the proxy shuts down.
async fn run_checks(mut commands: UnboundedReceiver<CheckCommand>, cores: Cores) {
    let mut asked: HashMap<Box<str>, Task> = HashMap::new();
    while let Some(command) = commands.recv().await {
        let (CheckCommand::Start(instance, _) | CheckCommand::Stop(instance)) = &command;
        if let Some(task) = asked.remove(instance) {
            task.abort();
        }
        // Resets the instance to healthy: an old result is wrong for new settings, and without checks nothing would
        // reset it.
        set_health(&cores, instance, true);
        if let CheckCommand::Start(instance, checked) = command {
            let task = spawn(check_instance(instance.clone(), checked, Arc::clone(&cores)));
            asked.insert(instance, task);
        }
    }
}

/// Checks one instance while it is in the table.
async fn check_instance(instance: Box<str>, CheckedInstance { connector, settings }: CheckedInstance, cores: Cores) {
    let interval = Duration::from_millis(u64::from(settings.interval_ms));
    // Offsets spread the checks of a thousand instances over the interval.
    let offset = Duration::from_millis(instance_key(&instance) % u64::from(settings.interval_ms.max(1)));
    let mut next = Instant::now() + offset;
    let mut health = HealthState::default();
    loop {
        sleep_until(next).await;
        let answer = request::send(&connector, &settings).await;
        if health.count(answer.is_ok(), &settings) {
            match answer {
                Ok(()) => tracing::info!(%instance, "an instance is healthy again"),
                Err(error) => tracing::warn!(%instance, %error, "an instance is unhealthy"),
            }
            set_health(&cores, &instance, health.is_healthy());
        }
        // The interval starts at the end of a check, so that checks of a slow instance do not pile up.
        next = Instant::now() + interval;
    }
}

fn set_health(cores: &Cores, instance: &str, healthy: bool) {
    for core in cores.iter() {
        // A core ends only with the whole proxy, which is handled elsewhere.
        if core.send(CoreCommand::Health { instance: instance.into(), healthy }).is_err() {
            tracing::debug!(instance, "a core ended before it was told of an instance's health");
        }
    }
}
