//! Hosts that the server could not reach in the last ten minutes. A download tries them once, without retries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a host counts as unreachable.
const UNREACHABLE_TTL: Duration = Duration::from_mins(10);

/// Unreachable hosts with the time of their first failure.
#[derive(Debug, Clone, Default)]
pub(super) struct UnreachableHosts(Arc<Mutex<HashMap<String, Instant>>>);

impl UnreachableHosts {
    pub(super) fn contains(&self, host: &str) -> bool {
        self.hosts().get(host).is_some_and(|tried| tried.elapsed() < UNREACHABLE_TTL)
    }

    /// Records that a host could not be reached, or removes it.
    pub(super) fn record(&self, host: &str, is_unreachable: bool) {
        let is_known = self.contains(host);
        let mut hosts = self.hosts();
        if is_unreachable {
            // The time is not renewed, so the host gets all attempts again once it has passed.
            if !is_known {
                hosts.insert(host.to_owned(), Instant::now());
            }
        } else {
            hosts.remove(host);
        }
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
