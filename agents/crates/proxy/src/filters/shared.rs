//! Policy state that all cores and snapshots share: a route that stays in the table keeps its counters.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use aws_lc_rs::hmac;
use fairlead_route::{ClientRates, ClientsInFlight, SharedRate};

use super::basic_auth::Verifier;
use crate::core::SharedLimitsTable;

/// Limit counters of one route.
#[derive(Debug, Default)]
pub(super) struct RouteLimitCounters {
    pub(super) window: SharedRate,
    pub(super) in_flight: AtomicU32,
}

/// Policy state of one proxy. Parts that no route uses are not created.
pub(crate) struct SharedPolicyState {
    started: Instant,
    /// Hasher with a secret key, so that no client can choose to share the counter of another.
    hasher: RandomState,
    rates: OnceLock<ClientRates>,
    in_flight: OnceLock<ClientsInFlight>,
    /// Counters by route. Locked only while a snapshot is compiled.
    gates: Mutex<HashMap<Box<str>, Weak<RouteLimitCounters>>>,
    /// Key of the password cache; generated for each process and stored nowhere else.
    pub(super) credential_key: hmac::Key,
    verifier: OnceLock<Verifier>,
    /// Limits of apps and instances.
    pub(crate) app_limits: SharedLimitsTable,
}

impl std::fmt::Debug for SharedPolicyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl SharedPolicyState {
    /// Returns an error only if the system has no random bytes.
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
            app_limits: SharedLimitsTable::default(),
        }))
    }

    /// Returns nanoseconds from the start of the process to `moment`.
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

    /// Returns the password verifier, and starts its thread at the first call.
    pub(super) fn verifier(&self) -> &Verifier {
        self.verifier.get_or_init(Verifier::start)
    }

    /// Returns the counters of a route; the same ones as in the previous snapshot.
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
