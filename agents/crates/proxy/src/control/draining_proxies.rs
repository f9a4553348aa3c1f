//! Draining proxies after an upgrade: receives their statistics and passes on snapshots and keys until they exit.
//! Invariant: an instance that they still use must not stop, and they drain even if this is dropped.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use fairlead_wire::local::{ProxyStats, proxy_command, proxy_event};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::link::{self, ProxyChannel};
use super::merge::DrainingShare;
use super::process::ProcessHandle;
use super::supervisor::drain;
use crate::core::DrainOptions;

/// Maximum time from the end of a drain to the exit of the process.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to reap a child that has exited.
const REAP_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum number of queued commands for a slow proxy; further ones are dropped.
const COMMANDS_MAX: usize = 16;

/// Message to one draining proxy.
enum ProxyMessage {
    Command(proxy_command::Body),
    Log(Arc<File>),
}

/// Event of one draining proxy.
pub(super) enum DrainingEvent {
    Stats(u32, ProxyStats),
    /// A request in that proxy waits for this app.
    Wake(String),
    Ended(u32),
}

/// Process and channel of a proxy that starts to drain.
pub(super) struct RetiredProxy {
    pub(super) channel: ProxyChannel,
    pub(super) child: Option<Child>,
    pub(super) process: ProcessHandle,
}

struct DrainingProxy {
    pid: u32,
    commands: mpsc::Sender<ProxyMessage>,
    share: DrainingShare,
    ended: bool,
}

/// Draining proxies of one supervisor.
pub(super) struct DrainingProxies {
    all: Vec<DrainingProxy>,
    sender: mpsc::UnboundedSender<DrainingEvent>,
    heard: mpsc::UnboundedReceiver<DrainingEvent>,
}

impl DrainingProxies {
    pub(super) fn new() -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        Self { all: Vec::new(), sender, heard }
    }

    /// Drains a proxy in a task of its own.
    pub(super) fn add(&mut self, retired: RetiredProxy, order: DrainOptions) {
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let pid = retired.process.pid;
        self.all.push(DrainingProxy { pid, commands, share: DrainingShare::default(), ended: false });
        tokio::spawn(retire(retired, order, received, self.sender.clone()));
    }

    /// Sends a command to all of them.
    pub(super) fn send_all(&self, body: &proxy_command::Body) {
        self.order(|| ProxyMessage::Command(body.clone()));
    }

    /// Passes the file of the access log to all of them.
    pub(super) fn pass_log(&self, file: &Arc<File>) {
        self.order(|| ProxyMessage::Log(Arc::clone(file)));
    }

    fn order(&self, order: impl Fn() -> ProxyMessage) {
        for old in self.all.iter().filter(|old| !old.ended) {
            if old.commands.try_send(order()).is_err() {
                tracing::warn!(pid = old.pid, "a draining proxy takes no command");
            }
        }
    }

    /// Returns the next event of any of them; pending while there is none. Cancel-safe.
    pub(super) async fn next_event(&mut self) -> DrainingEvent {
        match self.heard.recv().await {
            Some(heard) => heard,
            // This struct holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Applies an event to the statistics.
    pub(super) fn record(&mut self, heard: DrainingEvent) {
        let (DrainingEvent::Stats(pid, _) | DrainingEvent::Ended(pid)) = &heard else { return };
        let Some(old) = self.all.iter_mut().find(|old| old.pid == *pid) else { return };
        match heard {
            DrainingEvent::Wake(_) => {}
            DrainingEvent::Stats(_, frame) => old.share.add(frame),
            DrainingEvent::Ended(_) => {
                old.ended = true;
                old.share.end();
            }
        }
    }

    /// Adds the statistics of the draining proxies to a frame of the serving one.
    pub(super) fn add_to(&mut self, frame: &mut ProxyStats) {
        self.all.iter_mut().for_each(|old| old.share.add_to(frame));
        self.all.retain(|old| !old.ended);
    }

    /// Waits until all have exited.
    pub(super) async fn ended(&mut self) {
        while self.all.iter().any(|old| !old.ended) {
            let heard = self.next_event().await;
            self.record(heard);
        }
    }
}

/// Drains one proxy until it exits.
async fn retire(
    retired: RetiredProxy,
    order: DrainOptions,
    mut commands: mpsc::Receiver<ProxyMessage>,
    heard: mpsc::UnboundedSender<DrainingEvent>,
) {
    let RetiredProxy { mut channel, child, process } = retired;
    let pid = process.pid;
    let mut deadline = Instant::now() + order.timeout + EXIT_TIMEOUT;
    if let Err(error) = link::command(&channel, drain(order)).await {
        tracing::warn!(pid, %error, "an old proxy can't be told to drain");
        deadline = Instant::now();
    }
    let mut supervisor_lives = true;
    loop {
        tokio::select! {
            received = channel.receive_only_messages() => match received {
                Ok(Some(event)) => {
                    let sent = match event.body {
                        Some(proxy_event::Body::Stats(frame)) => Some(DrainingEvent::Stats(pid, frame)),
                        Some(proxy_event::Body::Wake(wake)) => Some(DrainingEvent::Wake(wake.app_key)),
                        _ => None,
                    };
                    // Without a supervisor the statistics are dropped; the proxy drains all the same.
                    sent.map(|sent| heard.send(sent).ok());
                }
                // The proxy closes the channel when it exits.
                Ok(None) | Err(_) => break,
            },
            command = commands.recv(), if supervisor_lives => match command {
                Some(order) => {
                    if let ProxyMessage::Command(proxy_command::Body::Drain(drain)) = &order {
                        deadline = Instant::now() + Duration::from_millis(u64::from(drain.timeout_ms)) + EXIT_TIMEOUT;
                    }
                    let sent = match order {
                        ProxyMessage::Command(body) => link::command(&channel, body).await,
                        ProxyMessage::Log(file) => link::pass_log(&channel, &file).await,
                    };
                    if let Err(error) = sent {
                        tracing::warn!(pid, %error, "a draining proxy can't be told anything");
                        break;
                    }
                }
                None => supervisor_lives = false,
            },
            () = sleep_until(deadline) => {
                tracing::warn!(pid, "an old proxy did not end by its deadline and is ended");
                break;
            }
        }
    }
    reap(process, child).await;
    heard.send(DrainingEvent::Ended(pid)).ok();
}

async fn reap(process: ProcessHandle, child: Option<Child>) {
    let pid = process.pid;
    if let Err(error) = process.end(EXIT_TIMEOUT).await {
        tracing::error!(pid, %error, "an old proxy can't be ended");
    }
    if let Some(mut child) = child
        && let Ok(Err(error)) = timeout(REAP_TIMEOUT, child.wait()).await
    {
        tracing::warn!(pid, %error, "an old proxy's exit can't be read");
    }
}
