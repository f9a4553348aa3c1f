//! Sends the whole route table to the proxy whenever desired state or running instances change. Owns the timing; `routes` builds
//! the table.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairlead_base::Backoff;
use fairlead_link::AcceptedState;
use fairlead_model::{DesiredState, Version};
use fairlead_proxy::ProxySupervisor;
use fairlead_runtime::{Runtime, RuntimeView};
use fairlead_wire::local::{ProxyRoute, ProxySnapshot};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::certificates::Certificates;
use super::routes;

/// Interval of certificate checks; certificates are renewed weeks before they expire.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(6 * 3600);

/// Attempts to send a table before it counts as refused.
const SEND_ATTEMPTS: u32 = 3;
const SEND_PAUSE: Duration = Duration::from_millis(200);
/// Backoff bounds before a refused table is sent again.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(60);

/// Table that the proxy serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServedTable {
    /// Version of the desired state that it was built from.
    pub(crate) version: Version,
    /// Generation of the table in the proxy's statistics.
    pub(crate) generation: u64,
    /// Reason, as a sentence, why the newest table is not served.
    pub(crate) problem: Option<String>,
}

/// Last sent table, and the time of its next retry or renewal.
struct LastOffer {
    table: Option<(Version, u64)>,
    due_at: Instant,
    backoff: Backoff,
}

impl LastOffer {
    fn new() -> Self {
        Self { table: None, due_at: Instant::now(), backoff: Backoff::new(RETRY_FIRST, RETRY_MOST) }
    }

    fn is_due(&self, table: (Version, u64), now: Instant) -> bool {
        self.table != Some(table) || now >= self.due_at
    }

    /// Records the result. A refused table is retried soon: an instance may be unreachable until it is accepted.
    fn note(&mut self, table: (Version, u64), accepted: bool, now: Instant) {
        self.table = Some(table);
        self.due_at = if accepted {
            self.backoff.reset();
            now + CERTIFICATE_INTERVAL
        } else {
            now + self.backoff.pause()
        };
    }

    /// Completes when the last table is due again; never completes before the first one.
    async fn again(&self) {
        match self.table {
            Some(_) => sleep_until(self.due_at).await,
            None => std::future::pending().await,
        }
    }
}

/// True if the runtime has reported the apps' instances. A table built before that would remove the routes of apps that a former
/// run left serving.
fn are_upstreams_known(state: &DesiredState, view: &RuntimeView) -> bool {
    view.generation > 0 || state.apps.is_empty()
}

/// Route that a benchmark adds to the table and removes again, so that the proxy gets other tables while requests arrive. It
/// has the target of the first route and a host that no request names.
#[derive(Debug, Default)]
pub(crate) struct RouteVariation {
    has_extra_route: AtomicBool,
    changed: Notify,
}

impl RouteVariation {
    /// Host of the route. The top-level domain never exists (RFC 6761).
    const HOST: &str = "route-change.fairlead.invalid";

    /// Adds the route, or removes it.
    pub(crate) fn toggle(&self) {
        self.has_extra_route.fetch_xor(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Removes the route.
    pub(crate) fn end(&self) {
        self.has_extra_route.store(false, Ordering::Relaxed);
        self.changed.notify_one();
    }

    fn apply(&self, snapshot: &mut ProxySnapshot) {
        let first = snapshot.routes.first().filter(|_| self.has_extra_route.load(Ordering::Relaxed));
        let extra = first.map(|first| ProxyRoute { host: Self::HOST.to_owned(), ..first.clone() });
        snapshot.routes.extend(extra);
    }
}

/// Inputs and outputs of the router.
pub(crate) struct Router {
    pub(crate) supervisor: Arc<ProxySupervisor>,
    pub(crate) runtime: Runtime,
    pub(crate) desired: watch::Receiver<AcceptedState>,
    pub(crate) view: watch::Receiver<Arc<RuntimeView>>,
    /// Asks for another table.
    pub(crate) variation: Arc<RouteVariation>,
    pub(crate) routed: watch::Sender<ServedTable>,
    pub(crate) certificates: Certificates,
    /// Path of the proxy's access log.
    pub(crate) access_log: PathBuf,
    /// Folder of the control plane's Unix sockets, where it runs on this server.
    pub(crate) control_sockets: PathBuf,
}

impl Router {
    /// Runs until the link or the runtime ends.
    pub(crate) async fn run(mut self) {
        let mut offered = LastOffer::new();
        loop {
            let state = self.desired.borrow_and_update().state.clone();
            let view = self.view.borrow_and_update().clone();
            if let Some(state) = state
                && are_upstreams_known(&state, &view)
                && offered.is_due((state.version, view.generation), Instant::now())
            {
                let accepted = self.send(&state, &view).await;
                offered.note((state.version, view.generation), accepted, Instant::now());
                // State and instances may have changed during the update.
                continue;
            }
            let goes_on = tokio::select! {
                changed = self.desired.changed() => changed.is_ok(),
                changed = self.view.changed() => changed.is_ok(),
                () = offered.again() => true,
                () = self.variation.changed.notified() => {
                    offered.due_at = Instant::now();
                    true
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Sends the table. Returns true if the proxy serves it.
    async fn send(&mut self, state: &DesiredState, view: &RuntimeView) -> bool {
        let (certificates, certificate_problem) = self.certificates.of(&state.certificates, &routes::own_hosts(state));
        let access_log_path = self.access_log.to_string_lossy().into_owned();
        let mut snapshot = ProxySnapshot {
            access_log_path,
            ..routes::snapshot(state, &view.upstreams, certificates, &self.control_sockets)
        };
        self.variation.apply(&mut snapshot);
        let outcome = self.offer(&snapshot).await;
        let accepted = outcome.is_ok();
        let problem = match outcome {
            Ok(generation) => {
                tracing::info!(version = %state.version, generation = view.generation, "routes applied");
                self.runtime.routes_applied(view.generation);
                self.routed.send_modify(|routed| (routed.version, routed.generation) = (state.version, generation));
                certificate_problem
            }
            Err(reason) => {
                tracing::error!(version = %state.version, reason, "the proxy refused the routes; it serves the last good ones");
                self.runtime.routes_refused(view.generation, reason.clone());
                Some(reason)
            }
        };
        self.routed.send_if_modified(|routed| {
            let changed = routed.problem != problem;
            routed.problem = problem;
            changed
        });
        accepted
    }

    /// Retries, because the supervisor replaces a proxy that dies during an update.
    async fn offer(&self, snapshot: &ProxySnapshot) -> Result<u64, String> {
        let mut refused = String::new();
        for _ in 0..SEND_ATTEMPTS {
            match self.supervisor.apply(snapshot.clone()).await {
                Ok(generation) => return Ok(generation),
                Err(reason) => refused = reason,
            }
            sleep(SEND_PAUSE).await;
        }
        Err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_alternates_between_two_tables_and_leaves_the_first() {
        let variation = RouteVariation::default();
        let own = ProxyRoute { host: "shop.example.com".to_owned(), ..ProxyRoute::default() };
        let hosts = || {
            let mut snapshot = ProxySnapshot { routes: vec![own.clone()], ..ProxySnapshot::default() };
            variation.apply(&mut snapshot);
            snapshot.routes.into_iter().map(|route| route.host).collect::<Vec<_>>()
        };
        assert_eq!(hosts(), ["shop.example.com"]);
        variation.toggle();
        assert_eq!(hosts(), ["shop.example.com", RouteVariation::HOST]);
        variation.toggle();
        assert_eq!(hosts(), ["shop.example.com"]);
        variation.toggle();
        variation.end();
        assert_eq!(hosts(), ["shop.example.com"]);
    }

    #[test]
    fn a_refused_table_is_retried_with_backoff_and_an_accepted_one_when_certificates_are_due() {
        let (mut offered, mut now) = (LastOffer::new(), Instant::now());
        let table = (Version { epoch: 1, number: 7 }, 3);
        assert!(offered.is_due(table, now));
        let mut pauses = Vec::new();
        for _ in 0..10 {
            offered.note(table, false, now);
            assert!(!offered.is_due(table, now));
            assert!(offered.is_due((table.0, 4), now), "another one never waits");
            pauses.push(offered.due_at - now);
            now = offered.due_at;
            assert!(offered.is_due(table, now));
        }
        assert!(
            pauses[0] <= RETRY_FIRST && pauses[9] > RETRY_MOST / 3 && pauses.iter().all(|pause| *pause <= RETRY_MOST)
        );
        offered.note(table, true, now);
        assert!(!offered.is_due(table, now + CERTIFICATE_INTERVAL / 2));
        assert!(offered.is_due(table, now + CERTIFICATE_INTERVAL));
    }
}
