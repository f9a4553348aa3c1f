//! What a request holds while it is at an instance: guards, so that however an exchange ends, nothing stays taken.

use std::rc::Rc;

use super::{App, AppShare};
use crate::upstream::Instance;

/// The right to have an instance work on a request. Given back early by exchanges that the app is no longer at work on.
#[derive(Debug)]
pub(crate) struct Permit {
    app: Rc<App>,
    instance: Rc<Instance>,
    client: u64,
}

impl Permit {
    pub(super) fn new(app: &Rc<App>, instance: Rc<Instance>, client: u64) -> Self {
        instance.take_permit();
        app.shares.borrow_mut().take(client);
        Self { app: Rc::clone(app), instance, client }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.instance.return_permit();
        self.app.busy.set(self.app.busy.get() - 1);
        self.app.shares.borrow_mut().give(self.client);
        if self.app.waiting.get() > 0 {
            self.app.dispatch();
        }
    }
}

/// An exchange at an instance, in flight until its very end, and what it shows about the instance.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    app: Rc<App>,
    instance: Rc<Instance>,
    trial: bool,
    judged: bool,
    client: u64,
    /// Its client's share, unless the instance's connections are shared by many requests.
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
        Self { app: Rc::clone(app), instance, trial, judged: false, client, connection }
    }

    pub(crate) fn instance(&self) -> &Rc<Instance> {
        &self.instance
    }

    /// A response has begun. Those of a gateway's kind count as failures; a trial is passed, however long the body takes.
    pub(crate) fn answered(&mut self, status: u16) {
        if matches!(status, 502..=504) {
            self.failed();
        } else if self.trial {
            self.succeeded();
        }
    }

    /// A response is whole, or will go on for hours.
    pub(crate) fn succeeded(&mut self) {
        if self.judged {
            return;
        }
        self.judged = true;
        let now_ms = self.app.clock.now_ms();
        if self.instance.state.succeeded(self.trial, now_ms) {
            tracing::info!(app = %self.app.key, instance = %self.instance.id, "an instance is back");
            self.changed();
        }
    }

    /// No connection, no response, a broken one, or one of a gateway's kind. The end of what was long a success says nothing:
    /// an app that starts again cuts all its streams at once.
    pub(crate) fn failed(&mut self) {
        if self.judged {
            return;
        }
        self.judged = true;
        let now_ms = self.app.clock.now_ms();
        let ejected = self.app.load_balancer.borrow_mut().failed(&self.instance, self.trial, now_ms);
        if ejected {
            self.app.numbers.borrow_mut().ejections += 1;
            tracing::warn!(app = %self.app.key, instance = %self.instance.id, "an instance that fails is passed over");
            // Who waited for it in particular may go elsewhere now.
            if self.app.waiting.get() > 0 {
                self.app.dispatch();
            }
        }
    }

    fn changed(&self) {
        self.app.load_balancer.borrow_mut().weigh(self.app.clock.now_ms());
        if self.app.waiting.get() > 0 {
            self.app.dispatch();
        }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.instance.end();
        if self.trial && !self.judged && self.instance.state.abandoned(true) {
            self.changed();
        }
        // Requests of a client at its share, or of an app at its part, wait for exactly this.
        let was_short = || !self.app.has_connection() || !self.app.may_connect(self.client);
        let was_wanted = self.app.waiting.get() > 0 && was_short();
        if self.connection.take().is_some() && was_wanted {
            self.app.dispatch();
        }
    }
}
