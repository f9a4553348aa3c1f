//! Proxies whose successor serves: they drain. Heard until they end, because an instance they still use must not be stopped,
//! and told of new tables and keys until then. Dropped, they go on draining by themselves.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use fairlead_wire::local::{ProxyStats, proxy_command, proxy_event};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::keeper::drain;
use super::link::{self, Channel};
use super::merge::Share;
use super::process::Process;
use crate::core::DrainOrder;

/// From the end of a drain to the end of the process.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// A child that has ended is buried within this.
const BURIAL_TIMEOUT: Duration = Duration::from_millis(200);
/// Commands that may wait for a slow one; it misses more.
const COMMANDS_MAX: usize = 16;

/// Message to one retiring proxy.
enum Order {
    Command(proxy_command::Body),
    Log(Arc<File>),
}

/// What is heard of one.
pub(super) enum Heard {
    Stats(u32, ProxyStats),
    /// A request there waits for this app.
    Wake(String),
    Ended(u32),
}

/// A proxy, as it is handed to its retirement.
pub(super) struct Retired {
    pub(super) channel: Channel,
    pub(super) child: Option<Child>,
    pub(super) process: Process,
}

struct Old {
    pid: u32,
    commands: mpsc::Sender<Order>,
    share: Share,
    ended: bool,
}

/// All that drain.
pub(super) struct Retiring {
    all: Vec<Old>,
    sender: mpsc::UnboundedSender<Heard>,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Retiring {
    pub(super) fn new() -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        Self { all: Vec::new(), sender, heard }
    }

    /// Begins to drain one.
    pub(super) fn add(&mut self, retired: Retired, order: DrainOrder) {
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let pid = retired.process.pid;
        self.all.push(Old { pid, commands, share: Share::default(), ended: false });
        tokio::spawn(retire(retired, order, received, self.sender.clone()));
    }

    /// Tells all of them.
    pub(super) fn tell(&self, body: &proxy_command::Body) {
        self.order(|| Order::Command(body.clone()));
    }

    /// Passes the access log's file to all of them.
    pub(super) fn pass_log(&self, file: &Arc<File>) {
        self.order(|| Order::Log(Arc::clone(file)));
    }

    fn order(&self, order: impl Fn() -> Order) {
        for old in self.all.iter().filter(|old| !old.ended) {
            if old.commands.try_send(order()).is_err() {
                tracing::warn!(pid = old.pid, "a draining proxy takes no command");
            }
        }
    }

    /// The next word of any; never while there is none. Cancel-safe.
    pub(super) async fn hear(&mut self) -> Heard {
        match self.heard.recv().await {
            Some(heard) => heard,
            // This end holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Notes what was heard.
    pub(super) fn note(&mut self, heard: Heard) {
        let (Heard::Stats(pid, _) | Heard::Ended(pid)) = &heard else { return };
        let Some(old) = self.all.iter_mut().find(|old| old.pid == *pid) else { return };
        match heard {
            Heard::Wake(_) => {}
            Heard::Stats(_, frame) => old.share.add(frame),
            Heard::Ended(_) => {
                old.ended = true;
                old.share.end();
            }
        }
    }

    /// Adds to a frame of the one that serves what these did meanwhile.
    pub(super) fn give(&mut self, frame: &mut ProxyStats) {
        self.all.iter_mut().for_each(|old| old.share.give(frame));
        self.all.retain(|old| !old.ended);
    }

    /// Ready when all have ended.
    pub(super) async fn ended(&mut self) {
        while self.all.iter().any(|old| !old.ended) {
            let heard = self.hear().await;
            self.note(heard);
        }
    }
}

/// One proxy to its end.
async fn retire(
    retired: Retired,
    order: DrainOrder,
    mut commands: mpsc::Receiver<Order>,
    heard: mpsc::UnboundedSender<Heard>,
) {
    let Retired { mut channel, child, process } = retired;
    let pid = process.pid;
    let mut deadline = Instant::now() + order.patience + EXIT_TIMEOUT;
    if let Err(error) = link::command(&channel, drain(order)).await {
        tracing::warn!(pid, %error, "an old proxy can't be told to drain");
        deadline = Instant::now();
    }
    let mut keeper_lives = true;
    loop {
        tokio::select! {
            received = channel.receive_only_messages() => match received {
                Ok(Some(event)) => {
                    let told = match event.body {
                        Some(proxy_event::Body::Stats(frame)) => Some(Heard::Stats(pid, frame)),
                        Some(proxy_event::Body::Wake(wake)) => Some(Heard::Wake(wake.app_key)),
                        _ => None,
                    };
                    // Without a keeper nobody counts; it drains all the same.
                    told.map(|told| heard.send(told).ok());
                }
                // It closes the channel when it ends.
                Ok(None) | Err(_) => break,
            },
            command = commands.recv(), if keeper_lives => match command {
                Some(order) => {
                    if let Order::Command(proxy_command::Body::Drain(drain)) = &order {
                        deadline = Instant::now() + Duration::from_millis(u64::from(drain.timeout_ms)) + EXIT_TIMEOUT;
                    }
                    let told = match order {
                        Order::Command(body) => link::command(&channel, body).await,
                        Order::Log(file) => link::pass_log(&channel, &file).await,
                    };
                    if let Err(error) = told {
                        tracing::warn!(pid, %error, "a draining proxy can't be told anything");
                        break;
                    }
                }
                None => keeper_lives = false,
            },
            () = sleep_until(deadline) => {
                tracing::warn!(pid, "an old proxy did not end by its deadline and is ended");
                break;
            }
        }
    }
    bury(process, child).await;
    heard.send(Heard::Ended(pid)).ok();
}

async fn bury(process: Process, child: Option<Child>) {
    let pid = process.pid;
    if let Err(error) = process.end(EXIT_TIMEOUT).await {
        tracing::error!(pid, %error, "an old proxy can't be ended");
    }
    if let Some(mut child) = child
        && let Ok(Err(error)) = timeout(BURIAL_TIMEOUT, child.wait()).await
    {
        tracing::warn!(pid, %error, "an old proxy's exit can't be read");
    }
}
