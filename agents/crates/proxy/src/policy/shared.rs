//! What all cores count by, through all snapshots: a route that stays keeps its counters, whatever else changes.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use aws_lc_rs::hmac;
use fairlead_route::{ClientRates, ClientsInFlight, Window};

use super::auth::Verifier;

/// Counters of one whole route.
#[derive(Debug, Default)]
pub(super) struct RouteLimitCounters {
    pub(super) window: Window,
    pub(super) in_flight: AtomicU32,
}

/// Shared by the cores of one proxy. What no route asks for is never made.
pub(crate) struct SharedPolicyState {
    started: Instant,
    /// Secret, so that no client can choose whose counter it shares.
    hasher: RandomState,
    rates: OnceLock<ClientRates>,
    in_flight: OnceLock<ClientsInFlight>,
    /// By route. Locked only while a snapshot is compiled.
    gates: Mutex<HashMap<Box<str>, Weak<RouteLimitCounters>>>,
    /// Under which answers that were right are remembered; made anew with each process and kept by nobody.
    pub(super) credential_key: hmac::Key,
    verifier: OnceLock<Verifier>,
}

impl std::fmt::Debug for SharedPolicyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl SharedPolicyState {
    /// Fails only when the system gives no random bytes.
    pub(crate) fn new() -> Result<Arc<Self>, std::io::Error> {
        let credential_key = hmac::Key::generate(hmac::HMAC_SHA256, &aws_lc_rs::rand::SystemRandom::new());
        Ok(Arc::new(Self {
            started: Instant::now(),
            hasher: RandomState::new(),
            rates: OnceLock::new(),
            in_flight: OnceLock::new(),
            gates: Mutex::default(),
            credential_key: credential_key.map_err(|_| std::io::Error::other("no random bytes"))?,
            verifier: OnceLock::new(),
        }))
    }

    /// Nanoseconds from the beginning to `moment`.
    pub(super) fn nanos_at(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn hash(&self, what: &impl Hash) -> u64 {
        self.hasher.hash_one(what)
    }

    pub(super) fn rates(&self) -> &ClientRates {
        self.rates.get_or_init(ClientRates::default)
    }

    pub(super) fn in_flight(&self) -> &ClientsInFlight {
        self.in_flight.get_or_init(ClientsInFlight::default)
    }

    /// The verifier; `None` while no thread can be had.
    pub(super) fn verifier(&self) -> &Verifier {
        self.verifier.get_or_init(Verifier::start)
    }

    /// The counters of a route, the same as in the snapshot before.
    pub(super) fn gate(&self, route: &str) -> Arc<RouteLimitCounters> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(route).and_then(Weak::upgrade) {
            return gate;
        }
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::new(RouteLimitCounters::default());
        gates.insert(route.into(), Arc::downgrade(&gate));
        gate
    }
}
