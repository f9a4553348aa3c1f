//! Guards that a request holds while it is at an instance, so that every end of an exchange returns its permit,
//! counters and connection share.

use std::rc::Rc;

use fairlead_route::ClientPermit;

use super::{App, AppShare};
use crate::upstream::Instance;

/// Concurrency permit of an instance. Exchanges drop it early once the app no longer works on them.
#[derive(Debug)]
pub(crate) struct Permit {
    app: Rc<App>,
    instance: Rc<Instance>,
    client: u64,
    /// Its place among the permits of the client on all cores; `None` if the app shares none.
    shared: Option<ClientPermit>,
}

impl Permit {
    pub(super) fn new(app: &Rc<App>, instance: Rc<Instance>, client: u64) -> Self {
        instance.take_permit();
        app.shares.borrow_mut().take(client);
        let shared = if app.shares_permits() { app.limits.clients.take(client) } else { None };
        Self { app: Rc::clone(app), instance, client, shared }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.instance.return_permit();
        self.app.busy.set(self.app.busy.get() - 1);
        self.app.shares.borrow_mut().give(self.client);
        if let Some(permit) = self.shared.take()
            && self.app.limits.clients.put_back(permit)
        {
            self.app.wake_share_waiters();
        }
        self.app.hand_on(&self.instance);
    }
}

/// In-flight request at an instance until the end of the exchange. Reports its outcome to outlier ejection.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    app: Rc<App>,
    instance: Rc<Instance>,
    trial: bool,
    reported: bool,
    client: u64,
    /// Share of the connection quota; `None` if requests share the connections of the instance.
    connection: Option<AppShare>,
}

impl InFlightRequest {
    pub(super) fn new(
        app: &Rc<App>,
        instance: Rc<Instance>,
        trial: bool,
        client: u64,
        connection: Option<AppShare>,
    ) -> Self {
        instance.begin();
        Self { app: Rc::clone(app), instance, trial, reported: false, client, connection }
    }

    pub(crate) fn instance(&self) -> &Rc<Instance> {
        &self.instance
    }

    /// Records a response status. Gateway errors (502 to 504) count as failures; any other response passes a trial,
    /// however long the body takes.
    pub(crate) fn answered(&mut self, status: u16) {
        if matches!(status, 502..=504) {
            self.failed();
        } else if self.trial {
            self.succeeded();
        }
    }

    /// Records a success: a complete response, or one that will stream for hours.
    pub(crate) fn succeeded(&mut self) {
        if self.reported {
            return;
        }
        self.reported = true;
        let now_ms = self.app.clock.now_ms();
        if self.instance.state.succeeded(self.trial, now_ms) {
            tracing::info!(app = %self.app.key, instance = %self.instance.id, "an instance is back");
            self.changed();
        }
    }

    /// Records a failure: no connection, no response, a broken one or a gateway error. A broken end of a response that
    /// already counted as a success is ignored, because a restarting app cuts all its streams at once.
    pub(crate) fn failed(&mut self) {
        if self.reported {
            return;
        }
        self.reported = true;
        let now_ms = self.app.clock.now_ms();
        let ejected = self.app.load_balancer.borrow_mut().failed(&self.instance, self.trial, now_ms);
        if ejected {
            self.app.numbers.borrow_mut().ejections += 1;
            tracing::warn!(app = %self.app.key, instance = %self.instance.id, "an instance that fails is passed over");
            // Requests that waited for this instance may use another one now.
            if self.app.queue_length.get() > 0 {
                self.app.dispatch();
            }
        }
    }

    fn changed(&self) {
        self.app.load_balancer.borrow_mut().weigh(self.app.clock.now_ms());
        if self.app.queue_length.get() > 0 {
            self.app.dispatch();
        }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.instance.end();
        if self.trial && !self.reported && self.instance.state.abandoned(true) {
            self.changed();
        }
        // Requests of a client at its share, or of an app at its part of the quota, wait for exactly this.
        let was_short = || !self.app.has_connection() || !self.app.may_connect(self.client);
        let was_wanted = self.app.queue_length.get() > 0 && was_short();
        if self.connection.take().is_some() && was_wanted {
            self.app.dispatch();
        }
    }
}
