//! One core: a thread with its own runtime, listeners, connections and counters. Other threads reach it by messages only.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::client;
use crate::control::{ListenerKind, OwnedListener};
use crate::core::{Core, CoreStats};
use crate::limits::Limits;
use crate::snapshot::Snapshot;

const SWEEP: Duration = Duration::from_secs(1);
/// After an accept error of the machine, not of one client (file descriptors used up, for one).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the control thread asks of a core.
pub(crate) enum CoreCommand {
    /// Serve by this from now on.
    Apply(Arc<Snapshot>, oneshot::Sender<()>),
    /// Hand the numbers over.
    Collect(oneshot::Sender<CoreStats>),
    /// Accept nothing more; answer when the last connection has ended.
    Drain(oneshot::Sender<()>),
}

/// What a core is made with.
pub(crate) struct WorkerOptions {
    pub(crate) index: usize,
    pub(crate) limits: Limits,
    pub(crate) https_port: Option<u16>,
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) listeners: Vec<OwnedListener>,
}

/// A running core.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) commands: mpsc::UnboundedSender<CoreCommand>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn spawn(options: WorkerOptions) -> io::Result<Self> {
        let (commands, received) = mpsc::unbounded_channel();
        let (started, has_started) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("core-{}", options.index)).spawn(move || {
            // Looks for new events more often than every 61 polls, the default: a core's tasks are short.
            let runtime =
                Builder::new_current_thread().enable_all().event_interval(31).build_local(LocalOptions::default());
            let (runtime, outcome) = match runtime {
                Ok(runtime) => (Some(runtime), Ok(())),
                Err(error) => (None, Err(error)),
            };
            if let (Ok(()), Some(runtime)) = (started.send(outcome), runtime) {
                runtime.block_on(serve(options, received));
            }
        })?;
        // A thread that ended without a word panicked.
        has_started.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { commands, thread })
    }

    /// Whether the thread has ended, which it never does by itself.
    pub(crate) fn is_dead(&self) -> bool {
        self.thread.is_finished()
    }
}

async fn serve(options: WorkerOptions, mut commands: mpsc::UnboundedReceiver<CoreCommand>) {
    let core = Core::new(options.limits, options.https_port);
    tokio::task::spawn_local(tick(Rc::clone(&core)));
    let mut accepting = Vec::new();
    for listener in options.listeners {
        let tls = (listener.kind == ListenerKind::Https).then(|| Arc::clone(&options.tls));
        accepting.push(tokio::task::spawn_local(accept(Rc::clone(&core), listener, tls)));
    }
    while let Some(command) = commands.recv().await {
        match command {
            CoreCommand::Apply(snapshot, applied) => {
                core.apply(snapshot);
                tell(applied, ());
            }
            CoreCommand::Collect(stats) => tell(stats, core.collect()),
            CoreCommand::Drain(drained) => {
                accepting.drain(..).for_each(|task| task.abort());
                core.drain();
                tokio::task::spawn_local(tell_when_empty(Rc::clone(&core), drained));
            }
        }
    }
}

/// Answers. Whoever asked may have given up waiting; what was asked for is done all the same.
pub(crate) fn tell<T>(answer: oneshot::Sender<T>, value: T) {
    if answer.send(value).is_err() {
        tracing::debug!("nobody waited for an answer");
    }
}

async fn tell_when_empty(core: Rc<Core>, drained: oneshot::Sender<()>) {
    loop {
        let ended = core.connection_ended.notified();
        if core.open_connections.get() == 0 {
            tell(drained, ());
            return;
        }
        ended.await;
    }
}

async fn tick(core: Rc<Core>) {
    let mut ticks = interval(core.limits.tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sweep_at_ms = 0;
    loop {
        ticks.tick().await;
        core.alarms.tick();
        if core.alarms.now_ms() >= sweep_at_ms {
            sweep_at_ms = core.alarms.now_ms() + u64::try_from(SWEEP.as_millis()).unwrap_or(u64::MAX);
            core.sweep();
        }
    }
}

/// Accepts once there is something to serve: before that, clients wait in the kernel's queue and miss nothing.
async fn accept(core: Rc<Core>, listener: OwnedListener, tls: Option<Arc<ServerConfig>>) {
    let address = listener.address;
    let listener = match listener.into_tcp().and_then(TcpListener::from_std) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%address, %error, "can't listen"),
    };
    loop {
        let ready = core.routes_ready.notified();
        if core.has_routes() {
            break;
        }
        ready.await;
    }
    let mut failing = false;
    loop {
        loop {
            let ended = core.connection_ended.notified();
            if core.open_connections.get() < core.limits.connections_max {
                break;
            }
            ended.await;
        }
        match listener.accept().await {
            Ok((socket, peer)) => {
                if std::mem::take(&mut failing) {
                    tracing::warn!(%address, "accepting again");
                }
                tokio::task::spawn_local(client::serve(Rc::clone(&core), socket, peer, tls.clone()));
            }
            // The client left before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%address, %error, "accepting pauses");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
