//! Health probes: each instance of an app that wants them is asked again and again, once for the whole proxy, by a
//! thread of its own; the cores are told verdicts only. What `run` checks before it switches to a new instance is its own matter.

mod probe;

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
pub(crate) struct Probes {
    cores: Cores,
    /// By instance.
    probed: HashMap<Box<str>, Probed>,
    /// To the thread that asks; there is none before somebody is to be asked.
    orders: Option<UnboundedSender<Order>>,
}

/// Who is asked, and how.
#[derive(Debug, Clone)]
struct Probed {
    connector: Arc<Connector>,
    probe: HealthProbe,
}

/// What the thread that asks is told.
#[derive(Debug)]
enum Order {
    /// Instead of how the instance was asked before.
    Ask(Box<str>, Probed),
    Leave(Box<str>),
}

impl Probes {
    pub(crate) fn new(cores: impl IntoIterator<Item = UnboundedSender<CoreCommand>>) -> Self {
        Self { cores: cores.into_iter().collect(), probed: HashMap::new(), orders: None }
    }

    /// Asks whom a snapshot says, once the cores have it. Those that are asked already go on, with what is known of them.
    pub(crate) fn set(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.probed);
        for app in &snapshot.apps {
            let Some(probe) = &app.traffic.health else { continue };
            for upstream in app.upstreams.iter().filter(|upstream| !upstream.draining) {
                let same = |probed: &Probed| probed.probe == *probe && probed.connector == upstream.connector;
                let probed = match before.remove(&upstream.instance) {
                    Some(probed) if same(&probed) => Some(probed),
                    _ => self.start(&upstream.instance, &upstream.connector, probe),
                };
                self.probed.extend(probed.map(|probed| (upstream.instance.clone(), probed)));
            }
        }
        for instance in before.into_keys() {
            self.order(Order::Leave(instance));
        }
    }

    /// `None` when it can't be asked; the next snapshot tries again.
    fn start(&mut self, instance: &str, connector: &Arc<Connector>, probe: &HealthProbe) -> Option<Probed> {
        let probed = Probed { connector: Arc::clone(connector), probe: probe.clone() };
        self.order(Order::Ask(instance.into(), probed.clone())).then_some(probed)
    }

    /// Whether somebody heard it.
    fn order(&mut self, order: Order) -> bool {
        let orders = match self.orders.take().map_or_else(|| begin(&self.cores), Ok) {
            Ok(orders) => orders,
            Err(error) => {
                tracing::error!(%error, "the health probes have no thread: no instance is asked");
                return false;
            }
        };
        if let Err(unheard) = orders.send(order) {
            // Its thread has ended, and said why: what nobody asks counts as healthy, and is asked anew by another thread.
            let (Order::Ask(instance, _) | Order::Leave(instance)) = unheard.0;
            tell(&self.cores, &instance, true);
            self.probed.clear();
            return false;
        }
        self.orders = Some(orders);
        true
    }
}

/// Begins a thread that asks as cores do.
fn begin(cores: &Cores) -> io::Result<UnboundedSender<Order>> {
    let (orders, received) = unbounded_channel();
    let cores = Arc::clone(cores);
    std::thread::Builder::new().name("health".to_owned()).spawn(move || {
        if let Err(error) = block_on(watch_all(received, cores)) {
            tracing::error!(%error, "the event loop of the health probes failed: no instance is asked any more");
        }
    })?;
    Ok(orders)
}

/// Asks whom it is told to, until there is nobody who tells.
async fn watch_all(mut orders: UnboundedReceiver<Order>, cores: Cores) {
    let mut asked: HashMap<Box<str>, Task> = HashMap::new();
    while let Some(order) = orders.recv().await {
        let (Order::Ask(instance, _) | Order::Leave(instance)) = &order;
        if let Some(task) = asked.remove(instance) {
            task.abort();
        }
        // A verdict on what it was before is none on what it is now; and whom nobody asks any more, nobody would find healthy again.
        tell(&cores, instance, true);
        if let Order::Ask(instance, probed) = order {
            let task = spawn(watch(instance.clone(), probed, Arc::clone(&cores)));
            asked.insert(instance, task);
        }
    }
}

/// Asks one instance for as long as it is in the table.
async fn watch(instance: Box<str>, Probed { connector, probe }: Probed, cores: Cores) {
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
