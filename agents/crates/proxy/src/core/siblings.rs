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

/// All cores, once they have started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Siblings(Arc<OnceLock<Vec<Sibling>>>);

impl Siblings {
    /// Sets the cores; only the first call counts.
    pub(crate) fn introduce(&self, cores: impl IntoIterator<Item = Sibling>) {
        self.0.get_or_init(|| cores.into_iter().collect());
    }

    /// Hands the result of `command` to the core with the fewest clients, if it has fewer than `most`. Runs `command` only then.
    pub(crate) fn hand_over(&self, most: u32, command: impl FnOnce() -> Option<CoreCommand>) -> bool {
        let cores = self.0.get().map_or(&[][..], Vec::as_slice);
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
        self.0.get().is_some_and(|cores| cores.iter().any(|core| core.clients.load(Ordering::Relaxed) < most))
    }
}
