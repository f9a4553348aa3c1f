//! Limits of apps that all cores share: permits, places in the queue, and the shares of clients. A table of them
//! outlives snapshots, so that counts stay right when settings change.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use fairlead_route::{ClientPermit, ClientsInFlight};

use super::permit_pool::{CoreSet, PermitPool};
use super::shares::{SHARED_MS, share_of};

/// Slot groups of the table of clients: 1,024 counters, 8 KiB for each app with a limit.
const CLIENT_GROUPS: usize = 128;
/// Shares are extended only when they expire within this time, because that looks at all clients.
const EXTENDED_MS: u64 = SHARED_MS - 500;

/// Limits of one app, shared by all cores.
#[derive(Debug)]
pub(crate) struct SharedLimits {
    /// Number that no other app of this process has.
    pub(crate) id: u64,
    /// Requests in flight.
    pub(super) in_flight: Arc<PermitPool>,
    /// Places in the queue. Its `waiting` are all cores with queued requests.
    pub(super) queue: Arc<PermitPool>,
    /// Core that got the last permit that another one handed over.
    pub(super) turn: AtomicUsize,
    pub(super) clients: SharedClients,
}

/// Limits of one instance, shared by all cores.
#[derive(Debug, Default)]
pub(crate) struct SharedInstance {
    /// Requests in flight.
    pub(crate) permits: Arc<PermitPool>,
    /// HTTP/1.1 connections, idle ones included.
    pub(crate) connections: Arc<PermitPool>,
}

/// Permits of each client on all cores. Not used for an app without limits.
#[derive(Debug)]
pub(super) struct SharedClients {
    /// Secret, so that no client can choose with which others it shares slots.
    hasher: RandomState,
    held: OnceLock<ClientsInFlight>,
    started: Instant,
    /// Milliseconds after `started` until which permits are shared.
    shared_until_ms: AtomicU64,
    /// Number of permits of the app.
    permits: AtomicU32,
    /// Cores with a request of a client that holds its share.
    pub(super) waiting: CoreSet,
}

impl Default for SharedLimits {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            in_flight: Arc::default(),
            queue: Arc::default(),
            turn: AtomicUsize::new(0),
            clients: SharedClients {
                hasher: RandomState::new(),
                held: OnceLock::new(),
                started: Instant::now(),
                shared_until_ms: AtomicU64::new(0),
                permits: AtomicU32::new(u32::MAX),
                waiting: CoreSet::default(),
            },
        }
    }
}

impl SharedClients {
    /// Returns the milliseconds that a clock started before the one of the shares; negative if it started later.
    pub(super) fn lead_ms(&self, clock_started: Instant) -> i64 {
        let ms = |from: Instant, to: Instant| to.saturating_duration_since(from).as_millis().try_into().unwrap_or(0);
        let (before, after): (i64, i64) = (ms(clock_started, self.started), ms(self.started, clock_started));
        before - after
    }

    pub(super) fn set_permits(&self, permits: u32) {
        self.permits.store(permits, Ordering::Relaxed);
    }

    /// Counts a permit of a client; `None` if there are too many clients to count this one.
    pub(super) fn take(&self, client: u64) -> Option<ClientPermit> {
        self.held().enter(self.hasher.hash_one(client), u32::MAX).ok().flatten()
    }

    /// Ends the count of a permit. Returns true if its client held its share and a request waits for that.
    pub(super) fn put_back(&self, permit: ClientPermit) -> bool {
        let held = self.held().leave(permit);
        // A core that begins to wait only now sees the count of after this.
        fence(Ordering::SeqCst);
        !self.waiting.is_empty() && held >= self.share()
    }

    /// True if a client may have one more permit at this time of the shared clock.
    pub(super) fn may(&self, client: u64, now_ms: u64) -> bool {
        !self.are_shared(now_ms) || self.held_by(client) < self.share()
    }

    /// True if clients have only their share at this time of the shared clock.
    pub(super) fn are_shared(&self, now_ms: u64) -> bool {
        now_ms < self.shared_until_ms.load(Ordering::SeqCst)
    }

    /// Records that a client has to wait; `others` is true if another client waits too.
    pub(super) fn waits(&self, client: u64, others: bool, now_ms: u64) {
        if self.shared_until_ms.load(Ordering::Relaxed) >= now_ms + EXTENDED_MS {
            return;
        }
        if others || self.held().has_others(self.hasher.hash_one(client)) {
            self.shared_until_ms.fetch_max(now_ms + SHARED_MS, Ordering::SeqCst);
        }
    }

    fn share(&self) -> u32 {
        share_of(self.permits.load(Ordering::Relaxed))
    }

    fn held_by(&self, client: u64) -> u32 {
        fence(Ordering::SeqCst);
        self.held().count(self.hasher.hash_one(client))
    }

    fn held(&self) -> &ClientsInFlight {
        self.held.get_or_init(|| ClientsInFlight::with_groups(CLIENT_GROUPS))
    }
}

/// Limits of all apps and instances. Locked only while a snapshot is read.
#[derive(Debug, Default)]
pub(crate) struct SharedLimitsTable {
    apps: LimitsTable<SharedLimits>,
    instances: LimitsTable<SharedInstance>,
}

type LimitsTable<T> = Mutex<HashMap<Box<str>, Weak<T>>>;

impl SharedLimitsTable {
    /// Returns the limits of an app: the same as long as a core or a snapshot has them.
    pub(crate) fn of_app(&self, key: &str) -> Arc<SharedLimits> {
        find_or_add(&self.apps, key)
    }

    /// Returns the limits of an instance: the same as long as its address stays, whatever protocol reaches it.
    pub(crate) fn of_instance(&self, id: &str, address: &str) -> Arc<SharedInstance> {
        find_or_add(&self.instances, &format!("{id} {address}"))
    }
}

fn find_or_add<T: Default>(table: &LimitsTable<T>, key: &str) -> Arc<T> {
    let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = table.get(key).and_then(Weak::upgrade) {
        return known;
    }
    // Grows by doubling only, so that a large first snapshot is not searched for each entry.
    if table.len() == table.capacity() {
        table.retain(|_, entry| entry.strong_count() > 0);
    }
    let new = Arc::<T>::default();
    table.insert(key.into(), Arc::downgrade(&new));
    new
}
