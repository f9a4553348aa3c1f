//! Metrics of one exchange. Invariant: dropping them adds them to the app and the route exactly once.

use std::rc::Rc;
use std::time::Instant;

use crate::core::{App, RouteMetrics};
use crate::upstream::Instance;

/// Counts one exchange as in flight until dropped.
#[derive(Debug)]
pub(crate) struct ExchangeMetrics {
    app: Rc<App>,
    route_metrics: Option<Rc<RouteMetrics>>,
    /// Metrics of the canary side that serves the request.
    side: Option<Rc<RouteMetrics>>,
    began: Instant,
    status: Option<u16>,
    /// Set at the head of a long-lived response: its duration says nothing about the app.
    latency_us: Option<u64>,
    /// True if the exchange does not count for the app.
    void: bool,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
}

impl ExchangeMetrics {
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

    /// Sets the instance of the current attempt.
    pub(crate) fn at(&mut self, instance: &Instance) {
        self.side = instance.side();
    }

    /// Sets the status that the client gets.
    pub(crate) fn status(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// Excludes the exchange from the metrics: it was answered before it reached the app.
    pub(crate) fn void(&mut self) {
        self.void = true;
    }

    /// Returns the status that was sent to the client, if any.
    pub(crate) fn logged_status(&self) -> Option<u16> {
        self.status
    }

    /// True if a response has started.
    pub(crate) fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// Records a failure after the head: counts as 502, whatever status was sent.
    pub(crate) fn cut(&mut self) {
        self.status = Some(502);
    }

    /// Sets the latency to the time until the head.
    pub(crate) fn is_long_lived(&mut self) {
        self.latency_us = Some(self.elapsed_us());
    }

    /// Returns the time since the request head was read, in microseconds.
    pub(crate) fn elapsed_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for ExchangeMetrics {
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
