//! Keeps the proxy's table true: whenever desired state or the running instances change, the whole table goes out again.
//! Owns when; `routes` owns what.

use std::sync::Arc;
use std::time::Duration;

use fairlead_link::Desired;
use fairlead_model::{DesiredState, Version};
use fairlead_proxy::ProxyKeeper;
use fairlead_runtime::{Runtime, View};
use fairlead_tls::LocalAuthority;
use fairlead_wire::local::ProxySnapshot;
use tokio::sync::watch;
use tokio::time::sleep;

use super::certificates::Certificates;
use super::routes;

/// Certificates are looked at again this often; they are renewed weeks before they end.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(6 * 3600);

/// How often a table is offered before it counts as refused.
const OFFERS: u32 = 3;
const OFFER_PAUSE: Duration = Duration::from_millis(200);

/// What the proxy serves by now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Routed {
    /// The state whose routes are served.
    pub(crate) version: Version,
    /// Why the newest table is not, in a sentence.
    pub(crate) problem: Option<String>,
}

/// Whether the runtime has said where the apps are. Right after a start it has not, and a table made then would
/// take the routes away from apps that a former run left serving.
fn told(state: &DesiredState, view: &View) -> bool {
    view.generation > 0 || state.apps.is_empty()
}

/// What the router listens to and speaks to.
pub(crate) struct Router {
    pub(crate) keeper: Arc<ProxyKeeper>,
    pub(crate) authority: Arc<LocalAuthority>,
    pub(crate) runtime: Runtime,
    pub(crate) desired: watch::Receiver<Desired>,
    pub(crate) view: watch::Receiver<Arc<View>>,
    pub(crate) routed: watch::Sender<Routed>,
    pub(crate) certificates: Certificates,
}

impl Router {
    /// Runs until the link or the runtime has ended.
    pub(crate) async fn run(mut self) {
        let mut sent = None;
        loop {
            let state = self.desired.borrow_and_update().state.clone();
            let view = self.view.borrow_and_update().clone();
            if let Some(state) = state
                && told(&state, &view)
                && sent != Some((state.version, view.generation))
            {
                self.send(&state, &view).await;
                sent = Some((state.version, view.generation));
                // Both may have changed while the proxy was busy.
                continue;
            }
            let goes_on = tokio::select! {
                changed = self.desired.changed() => changed.is_ok(),
                changed = self.view.changed() => changed.is_ok(),
                () = sleep(CERTIFICATE_INTERVAL) => { sent = None; true }
            };
            if !goes_on {
                return;
            }
        }
    }

    async fn send(&mut self, state: &DesiredState, view: &View) {
        let hosts = routes::local_hosts(state);
        let (certificates, certificate_problem) = self.certificates.of(&self.authority, &hosts);
        let snapshot = routes::snapshot(state, &view.upstreams, certificates);
        let problem = match self.offer(&snapshot).await {
            Ok(()) => {
                tracing::info!(version = %state.version, generation = view.generation, "routes applied");
                self.runtime.routes_applied(view.generation);
                self.routed.send_modify(|routed| routed.version = state.version);
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
    }

    /// A proxy that dies while it takes a table is followed by another one, which may take it.
    async fn offer(&self, snapshot: &ProxySnapshot) -> Result<(), String> {
        let mut refused = String::new();
        for _ in 0..OFFERS {
            match self.keeper.apply(snapshot.clone()).await {
                Ok(()) => return Ok(()),
                Err(reason) => refused = reason,
            }
            sleep(OFFER_PAUSE).await;
        }
        Err(refused)
    }
}
