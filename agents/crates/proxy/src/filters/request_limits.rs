//! Limits of a route on request rate and concurrency, for each client and in total. Invariant: counters are shared by
//! all cores.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fairlead_model::TrafficError;
use fairlead_route::{ClientPermit, Rate, TICKS_PER_SECOND, client_key};

use super::shared::{RouteLimitCounters, SharedPolicyState};
use super::{Decision, Filter, FilterId, RequestContext, RouteSettings};
use crate::exchange::Reply;

/// Filter under which rejections because of too many requests are counted.
pub(super) const ID: FilterId = FilterId::of("rate_limited");

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Maximum value of Retry-After in seconds.
const RETRY_AFTER_MAX_S: u64 = 3600;

/// Limits of one route.
#[derive(Debug)]
pub(super) struct RequestLimits {
    shared: Arc<SharedPolicyState>,
    gate: Arc<RouteLimitCounters>,
    /// Hash of the route in the keys of client counters.
    route: u64,
    client_rate: Option<Rate>,
    client_in_flight: u32,
    rate: Option<Rate>,
    in_flight: u32,
}

/// Refusal of a request that exceeds a limit.
#[derive(Debug, PartialEq, Eq)]
struct LimitExceeded {
    retry_after_seconds: u64,
}

/// Guard that counts a request as in flight while it lives.
#[derive(Debug, Default)]
pub(crate) struct LimitGuard {
    gate: Option<Arc<RouteLimitCounters>>,
    client: Option<(Arc<SharedPolicyState>, ClientPermit)>,
}

impl Drop for LimitGuard {
    fn drop(&mut self) {
        if let Some(gate) = &self.gate {
            gate.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some((shared, occupied)) = &self.client {
            shared.in_flight().leave(*occupied);
        }
    }
}

impl Filter for RequestLimits {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let (limits, shared) = (&route.policy.limits, route.shared);
        let found = Self {
            shared: Arc::clone(shared),
            gate: Arc::default(),
            route: shared.hash(&route.key),
            client_rate: Rate::new(limits.client_requests_per_second, limits.client_burst, TICKS_PER_SECOND),
            client_in_flight: limits.client_in_flight,
            rate: Rate::new(limits.requests_per_second, limits.burst, NANOS_PER_SECOND),
            in_flight: limits.in_flight,
        };
        let any =
            found.client_rate.is_some() || found.rate.is_some() || found.client_in_flight > 0 || found.in_flight > 0;
        Ok(any.then(|| Self { gate: shared.gate(route.key), ..found }))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        match self.admit(request.address, request.now) {
            Ok(None) => Decision::Pass,
            Ok(Some(guard)) => Decision::Count(guard),
            Err(wait) => Decision::Reject(Reply::too_many_requests(wait.retry_after_seconds)),
        }
    }
}

impl RequestLimits {
    /// Counts a request, or refuses it. The limits of the client apply first, so that a refused request takes nothing
    /// from other clients.
    fn admit(&self, client: IpAddr, now: Instant) -> Result<Option<LimitGuard>, LimitExceeded> {
        let now_ns = self.shared.nanos_at(now);
        let hash = match (&self.client_rate, self.client_in_flight) {
            (None, 0) => 0,
            _ => self.shared.hash(&(self.route, client_key(client))),
        };
        if let Some(rate) = &self.client_rate {
            // The time is never zero, which marks an unused counter.
            let now = now_ns / (NANOS_PER_SECOND / TICKS_PER_SECOND) + 1;
            self.shared.rates().take(hash, rate, now).map_err(|early| after(early, TICKS_PER_SECOND))?;
        }
        let mut admission = None;
        if self.client_in_flight > 0 {
            let entered = self.shared.in_flight().enter(hash, self.client_in_flight);
            if let Some(occupied) = entered.map_err(|_| LimitExceeded { retry_after_seconds: 1 })? {
                admission = Some(LimitGuard { gate: None, client: Some((Arc::clone(&self.shared), occupied)) });
            }
        }
        if self.in_flight > 0 {
            if self.gate.in_flight.fetch_add(1, Ordering::Relaxed) >= self.in_flight {
                self.gate.in_flight.fetch_sub(1, Ordering::Relaxed);
                return Err(LimitExceeded { retry_after_seconds: 1 });
            }
            admission.get_or_insert_default().gate = Some(Arc::clone(&self.gate));
        }
        if let Some(rate) = &self.rate {
            self.gate.window.take(rate, now_ns).map_err(|early| after(early, NANOS_PER_SECOND))?;
        }
        Ok(admission)
    }
}

fn after(ticks: u64, ticks_per_second: u64) -> LimitExceeded {
    LimitExceeded { retry_after_seconds: ticks.div_ceil(ticks_per_second).clamp(1, RETRY_AFTER_MAX_S) }
}

#[cfg(test)]
mod tests {
    use fairlead_model::{RouteLimits, RoutePolicy};

    use super::*;

    fn compile(key: &str, limits: &RouteLimits, shared: &Arc<SharedPolicyState>) -> Option<RequestLimits> {
        let policy = RoutePolicy { limits: limits.clone(), ..RoutePolicy::default() };
        let route = RouteSettings {
            key,
            prefix_bytes: 0,
            policy: &policy,
            redirect: None,
            has_certificate: true,
            tls: None,
            shared,
            connectors: &|_| Vec::new(),
        };
        RequestLimits::compile(&route).unwrap()
    }

    fn limiter(limits: &RouteLimits) -> RequestLimits {
        compile("a.test/", limits, &SharedPolicyState::new().unwrap()).unwrap()
    }

    #[test]
    fn concurrency_is_limited_for_each_client_and_in_total() {
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let limits = RouteLimits { client_in_flight: 1, in_flight: 2, ..RouteLimits::default() };
        let limiter = limiter(&limits);
        let first = limiter.admit(one, Instant::now()).unwrap();
        assert!(first.is_some());
        assert_eq!(limiter.admit(one, Instant::now()).unwrap_err(), LimitExceeded { retry_after_seconds: 1 });
        let second = limiter.admit(other, Instant::now()).unwrap();
        assert!(limiter.admit("192.0.2.3".parse().unwrap(), Instant::now()).is_err());
        drop((first, second));
        let third = limiter.admit(one, Instant::now()).unwrap();
        assert_eq!(limiter.gate.in_flight.load(Ordering::Relaxed), 1);
        drop(third);
    }

    #[test]
    fn a_client_over_its_rate_gets_a_retry_after() {
        let limits = RouteLimits { client_requests_per_second: 1, client_burst: 2, ..RouteLimits::default() };
        let limiter = limiter(&limits);
        let (one, same) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        for client in [one, same, one] {
            assert!(limiter.admit(client, Instant::now()).is_ok());
        }
        assert_eq!(limiter.admit(same, Instant::now()).unwrap_err(), LimitExceeded { retry_after_seconds: 1 });
        assert!(limiter.admit("2001:db8:0:1::1".parse().unwrap(), Instant::now()).is_ok());
        assert!(compile("a.test/", &RouteLimits::default(), &SharedPolicyState::new().unwrap()).is_none());
    }

    #[test]
    fn a_route_keeps_its_counters_through_snapshots() {
        let shared = SharedPolicyState::new().unwrap();
        let limits = RouteLimits { requests_per_second: 1, ..RouteLimits::default() };
        let client = "192.0.2.1".parse().unwrap();
        let before = compile("a.test/", &limits, &shared).unwrap();
        assert!(before.admit(client, Instant::now()).is_ok());
        let after = compile("a.test/", &limits, &shared).unwrap();
        assert!(after.admit(client, Instant::now()).is_err());
        assert!(compile("b.test/", &limits, &shared).unwrap().admit(client, Instant::now()).is_ok());
    }
}
