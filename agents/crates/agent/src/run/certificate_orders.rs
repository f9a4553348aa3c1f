//! Runs the orders of certificates in desired state, each once. Owns their status reports; `fairlead_acme` does the work.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fairlead_acme::{Account, IssuedChain, Order, OrderError, OrderProgress, place_order};
use fairlead_model::{
    AcmeOrder, AcmeProof, AcmeStep, CertificateId, CertificateSpec, CertificateStatus, DesiredState, Failure, WorkState,
};
use fairlead_secret::SealingKey;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::local_state::LocalState;

/// Maximum number of orders at a time.
const ORDERS_MAX: usize = 4;

/// Event of an order.
#[derive(Debug)]
pub(crate) struct OrderEvent {
    certificate: CertificateId,
    attempt: u32,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Running(OrderProgress),
    Finished(Result<IssuedChain, OrderError>),
}

#[derive(Debug)]
struct RunningOrder {
    status: CertificateStatus,
    proofs_in_place: watch::Sender<Vec<AcmeProof>>,
    task: JoinHandle<()>,
}

/// Orders of this server.
#[derive(Debug)]
pub(crate) struct CertificateOrders {
    sealing: Arc<SealingKey>,
    running: BTreeMap<CertificateId, RunningOrder>,
    events: mpsc::UnboundedSender<OrderEvent>,
}

impl CertificateOrders {
    /// Creates an idle set and the receiver of the events of its orders.
    pub(crate) fn new(sealing: Arc<SealingKey>) -> (Self, mpsc::UnboundedReceiver<OrderEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { sealing, running: BTreeMap::new(), events }, receiver)
    }

    /// Cancels orders that desired state no longer lists and starts further ones. The proxy must serve this state already:
    /// it answers the challenges.
    pub(crate) fn reconcile(&mut self, desired: &DesiredState, local: &LocalState) {
        self.running.retain(|id, running| {
            let is_listed =
                orders(desired).any(|(spec, order)| spec.id == *id && order.attempt == running.status.attempt);
            if !is_listed {
                running.task.abort();
            }
            is_listed
        });
        for (spec, order) in orders(desired) {
            if let Some(running) = self.running.get(&spec.id) {
                running.proofs_in_place.send_replace(order.proofs_in_place.clone());
                continue;
            }
            let is_known = local.certificate(&spec.id, order.attempt).is_some();
            if !is_known && self.running.len() < ORDERS_MAX {
                let running = self.start(spec, order);
                self.running.insert(spec.id.clone(), running);
            }
        }
    }

    /// Applies one event. Invariant: the outcome is on disk before it is reported.
    pub(crate) fn take(&mut self, event: OrderEvent, local: &mut LocalState) -> io::Result<()> {
        let OrderEvent { certificate, attempt, progress } = event;
        // An event of an order that was cancelled in the meantime.
        let Some(running) = self.running.get_mut(&certificate).filter(|running| running.status.attempt == attempt)
        else {
            return Ok(());
        };
        match progress {
            Progress::Running(OrderProgress::Step(step)) => {
                running.status.step = step;
                Ok(())
            }
            Progress::Running(OrderProgress::Proofs(proofs)) => {
                running.status.proofs = proofs;
                Ok(())
            }
            Progress::Finished(outcome) => {
                let status = concluded(running.status.clone(), outcome);
                self.running.remove(&certificate);
                local.save_certificate(status)
            }
        }
    }

    /// Returns the status of every order in desired state. A queued order counts as running.
    pub(crate) fn statuses(&self, desired: &DesiredState, local: &LocalState) -> Vec<CertificateStatus> {
        let status = |(spec, order): (&CertificateSpec, &AcmeOrder)| {
            let finished = local.certificate(&spec.id, order.attempt).cloned();
            let running = || self.running.get(&spec.id).map(|running| running.status.clone());
            finished.or_else(running).unwrap_or_else(|| begun(spec, order))
        };
        orders(desired).map(status).collect()
    }

    /// Cancels all orders; a restarted agent places them again.
    pub(crate) fn stop(&mut self) {
        self.running.values().for_each(|running| running.task.abort());
        self.running.clear();
    }

    fn start(&self, spec: &CertificateSpec, order: &AcmeOrder) -> RunningOrder {
        let (certificate, attempt) = (spec.id.clone(), order.attempt);
        let opened = self.open(spec, order);
        let events = self.events.clone();
        let tell = move |progress| {
            let event = OrderEvent { certificate: certificate.clone(), attempt, progress };
            if events.send(event).is_err() {
                tracing::debug!("an order ended after the agent had");
            }
        };
        let hosts = spec.hosts.join(", ");
        let (proofs_in_place, in_place) = watch::channel(order.proofs_in_place.clone());
        let task = tokio::spawn(async move {
            let outcome = match opened {
                Ok(order) => place_order(&order, in_place, |progress| tell(Progress::Running(progress))).await,
                Err(reason) => Err(OrderError {
                    failure: Failure { code: "certificate.key".into(), message: reason },
                    retry_after_unix_ms: 0,
                }),
            };
            match &outcome {
                Ok(_) => tracing::info!(hosts, "certificate issued"),
                Err(error) => tracing::warn!(hosts, %error, "no certificate"),
            }
            tell(Progress::Finished(outcome));
        });
        RunningOrder { status: begun(spec, order), proofs_in_place, task }
    }

    fn open(&self, spec: &CertificateSpec, order: &AcmeOrder) -> Result<Order, String> {
        let account = &order.account;
        let account_key = self.sealing.open(&account.sealed_key.0).map_err(|error| error.to_string())?;
        let key = self.sealing.open(&order.sealed_key.0).map_err(|error| error.to_string())?;
        Ok(Order {
            account: Account {
                directory_url: account.directory_url.clone(),
                directory_ca_pem: account.directory_ca_pem.clone(),
                email: account.email.clone(),
                key_der: fairlead_wire::acme_account_key(&account_key, &account.id)
                    .map_err(|error| error.to_string())?,
            },
            hosts: spec.hosts.clone(),
            challenge: order.challenge,
            key_der: fairlead_wire::certificate_key(&key, &spec.id).map_err(|error| error.to_string())?,
            replaced_chain_der: spec.issued.as_ref().map(|issued| issued.chain_der.clone()).unwrap_or_default(),
        })
    }
}

fn orders(desired: &DesiredState) -> impl Iterator<Item = (&CertificateSpec, &AcmeOrder)> {
    desired.certificates.iter().filter_map(|spec| Some((spec, spec.order.as_ref()?)))
}

fn begun(spec: &CertificateSpec, order: &AcmeOrder) -> CertificateStatus {
    CertificateStatus {
        id: spec.id.clone(),
        attempt: order.attempt,
        state: WorkState::Running,
        step: AcmeStep::Account,
        failure: None,
        chain_der: Vec::new(),
        retry_after_unix_ms: 0,
        renew_unix_ms: 0,
        proofs: Vec::new(),
    }
}

fn concluded(mut status: CertificateStatus, outcome: Result<IssuedChain, OrderError>) -> CertificateStatus {
    status.proofs = Vec::new();
    match outcome {
        Ok(issued) => {
            status.state = WorkState::Succeeded;
            status.chain_der = issued.chain_der;
            status.renew_unix_ms = issued.renew_unix_ms;
        }
        Err(error) => {
            status.state = WorkState::Failed;
            status.failure = Some(error.failure);
            status.retry_after_unix_ms = error.retry_after_unix_ms;
        }
    }
    status
}
