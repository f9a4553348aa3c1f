//! Other cores of one proxy: their numbers of clients and their command channels. The kernel distributes clients by
//! address, so one core may be full while another has room.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;

use crate::worker::CoreCommand;

/// Entry of one core.
#[derive(Debug, Clone)]
pub(crate) struct Sibling {
    pub(crate) clients: Arc<AtomicU32>,
    /// Weak: a core ends when its last sender is gone, and its siblings must not keep it.
    pub(crate) commands: mpsc::WeakUnboundedSender<CoreCommand>,
}

/// All cores, once they have started, as one of them sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Siblings {
    cores: Arc<OnceLock<Vec<Sibling>>>,
    own: usize,
}

impl Siblings {
    /// Returns the cores as the one with this number sees them.
    pub(crate) fn seen_by(&self, own: usize) -> Self {
        Self { cores: Arc::clone(&self.cores), own }
    }

    /// Returns the number of this core.
    pub(crate) fn own(&self) -> usize {
        self.own
    }

    /// Returns the numbers of the other cores.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (own, count) = (self.own, self.cores.get().map_or(0, Vec::len));
        (0..count).filter(move |core| *core != own)
    }

    /// Sends a command to a core; it is dropped if that core has ended.
    pub(crate) fn send(&self, core: usize, command: CoreCommand) {
        let commands = self.cores.get().and_then(|cores| cores.get(core)).and_then(|core| core.commands.upgrade());
        let is_sent = commands.is_some_and(|commands| commands.send(command).is_ok());
        if !is_sent {
            tracing::debug!(core, "a core that has ended got no message");
        }
    }

    /// Sets the cores; only the first call counts.
    pub(crate) fn introduce(&self, cores: impl IntoIterator<Item = Sibling>) {
        self.cores.get_or_init(|| cores.into_iter().collect());
    }

    /// Hands the result of `command` to the core with the fewest clients, if it has fewer than `most`. Runs `command` only then.
    pub(crate) fn hand_over(&self, most: u32, command: impl FnOnce() -> Option<CoreCommand>) -> bool {
        let cores = self.cores.get().map_or(&[][..], Vec::as_slice);
        let clients = |core: &&Sibling| core.clients.load(Ordering::Relaxed);
        let Some(core) = cores.iter().min_by_key(clients).filter(|core| clients(core) < most) else { return false };
        let Some(commands) = core.commands.upgrade() else { return false };
        let Some(command) = command() else { return false };
        // Counts it until the other core does: many may be handed over before that core has its turn.
        core.clients.fetch_add(1, Ordering::Relaxed);
        commands.send(command).is_ok()
    }

    /// Reports whether any core has fewer clients than `most`.
    pub(crate) fn have_room(&self, most: u32) -> bool {
        self.cores.get().is_some_and(|cores| cores.iter().any(|core| core.clients.load(Ordering::Relaxed) < most))
    }
}
