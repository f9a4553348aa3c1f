//! The numbers of one exchange, added to its app and its route when the exchange ends, however it ends.

use std::rc::Rc;
use std::time::Instant;

use crate::core::{App, RouteMetrics};
use crate::upstream::Instance;

/// Counts one exchange while it lives.
#[derive(Debug)]
pub(crate) struct Tally {
    app: Rc<App>,
    /// Its route's numbers.
    route_metrics: Option<Rc<RouteMetrics>>,
    /// Those of the side of a canary that it is at.
    side: Option<Rc<RouteMetrics>>,
    began: Instant,
    status: Option<u16>,
    /// Set early for responses that stay open for hours, whose end says nothing about the app.
    latency_us: Option<u64>,
    /// It never was the app's.
    void: bool,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
}

impl Tally {
    pub(crate) fn begin(app: &Rc<App>, route_metrics: Option<Rc<RouteMetrics>>, now: Instant) -> Self {
        app.in_flight.set(app.in_flight.get() + 1);
        let app = Rc::clone(app);
        Self {
            app,
            route_metrics,
            side: None,
            began: now,
            status: None,
            latency_us: None,
            void: false,
            bytes_received: 0,
            bytes_sent: 0,
        }
    }

    /// The instance that it is at now.
    pub(crate) fn at(&mut self, instance: &Instance) {
        self.side = instance.side();
    }

    /// The status that the client gets.
    pub(crate) fn status(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// The request was answered before the app's turn: it is none of the app's numbers.
    pub(crate) fn void(&mut self) {
        self.void = true;
    }

    /// The status the client got, as far as it got any.
    pub(crate) fn logged_status(&self) -> Option<u16> {
        self.status
    }

    /// Whether a response has begun.
    pub(crate) fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// The response broke off after its head: the client saw a failure, whatever the status said.
    pub(crate) fn cut(&mut self) {
        self.status = Some(502);
    }

    /// The latency is that of the head.
    pub(crate) fn is_long_lived(&mut self) {
        self.latency_us = Some(self.elapsed_us());
    }

    /// Since its head was read.
    pub(crate) fn elapsed_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.app.in_flight.set(self.app.in_flight.get() - 1);
        if self.void {
            return;
        }
        let latency_us = self.status.map(|_| self.latency_us.unwrap_or_else(|| self.elapsed_us()));
        for route_metrics in self.route_metrics.iter().chain(&self.side) {
            route_metrics.count(self.status, latency_us);
        }
        let mut numbers = self.app.numbers.borrow_mut();
        numbers.count(self.status, latency_us);
        numbers.bytes_received += self.bytes_received;
        numbers.bytes_sent += self.bytes_sent;
    }
}
