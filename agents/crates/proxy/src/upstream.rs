//! Instance of an app on one core: its connections, its state and its in-flight requests. The load balancer of the app
//! selects instances.

mod connections;
mod connector;
mod http2;
mod socket;
mod socket_pool;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use fairlead_route::{ConcurrencyLimit, InstanceLoad, instance_key};

use crate::core::{DrainWindow, InstanceHealth, PermitPool, RouteMetrics, SharedInstance};
use crate::limits::Limits;
use connections::Connections;
pub(crate) use connections::{ConnectionLease, UpstreamConnection};
pub(crate) use connector::{AppTls, Connector, ConnectorError};
pub(crate) use http2::Http2Lease;
pub(crate) use socket::UpstreamSocket;

/// Instance with the connections of this core.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: Box<str>,
    /// Hash of the id, for affinity.
    pub(crate) key: u64,
    pub(crate) state: InstanceHealth,
    in_flight: Cell<u32>,
    /// Number of in-flight requests that hold a concurrency permit.
    busy: Cell<u32>,
    /// Requests completed since the core started; wraps around.
    completed: Cell<u32>,
    /// Maximum number of concurrency permits on this core.
    permits: Cell<u32>,
    /// Limits that all cores share.
    shared: Arc<SharedInstance>,
    /// True if requests need a shared permit.
    shares_permits: Cell<bool>,
    /// True while this core has a shared permit that no request uses yet.
    has_offer: Cell<bool>,
    concurrency: Cell<ConcurrencyLimit>,
    draining: Cell<bool>,
    /// Time window for closing its WebSockets; set in a drain.
    tunnel_close: Cell<Option<DrainWindow>>,
    connections: Connections,
    /// Metrics of the canary side, for a canary instance.
    side: RefCell<Option<Rc<RouteMetrics>>>,
}

impl Instance {
    pub(crate) fn new(id: &str, connector: Arc<Connector>, shared: Arc<SharedInstance>) -> Rc<Self> {
        Rc::new(Self {
            id: id.into(),
            key: instance_key(id),
            state: InstanceHealth::default(),
            in_flight: Cell::new(0),
            busy: Cell::new(0),
            completed: Cell::new(0),
            permits: Cell::new(0),
            shares_permits: Cell::new(false),
            has_offer: Cell::new(false),
            concurrency: Cell::default(),
            draining: Cell::new(false),
            tunnel_close: Cell::new(None),
            connections: Connections::new(connector, Arc::clone(&shared.connections)),
            shared,
            side: RefCell::default(),
        })
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// Counts a new in-flight exchange; `end` must follow.
    pub(crate) fn begin(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// Ends the count of an exchange.
    pub(crate) fn end(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }

    #[cfg(test)]
    pub(crate) fn busy(&self) -> u32 {
        self.busy.get()
    }

    /// Takes a concurrency permit; `return_permit` must follow.
    pub(crate) fn take_permit(&self) {
        self.busy.set(self.busy.get() + 1);
    }

    /// Returns a concurrency permit.
    pub(crate) fn return_permit(&self) {
        self.busy.set(self.busy.get() - 1);
        self.completed.set(self.completed.get().wrapping_add(1));
    }

    /// Returns the maximum number of concurrency permits.
    pub(crate) fn permits(&self) -> u32 {
        self.permits.get()
    }

    /// True if a concurrency permit is free.
    pub(crate) fn has_permit(&self) -> bool {
        self.has_own_permit() && (!self.shares_permits.get() || self.has_offer.get() || self.shared.permits.has_room())
    }

    /// True if a concurrency permit of this core is free.
    pub(crate) fn has_own_permit(&self) -> bool {
        self.busy.get() < self.permits.get()
    }

    /// Returns the permits that all cores share, if requests need one.
    pub(crate) fn shared_permits(&self) -> Option<&Arc<PermitPool>> {
        self.shares_permits.get().then_some(&self.shared.permits)
    }

    /// True if these are its shared permits or connections.
    pub(crate) fn has_pool(&self, pool: &Arc<PermitPool>) -> bool {
        Arc::ptr_eq(&self.shared.permits, pool) || Arc::ptr_eq(&self.shared.connections, pool)
    }

    /// Takes a shared permit, if requests need one; `false` if none is free.
    pub(crate) fn take_shared_permit(&self) -> bool {
        !self.shares_permits.get() || self.has_offer.replace(false) || self.shared.permits.try_take()
    }

    /// Adds a shared permit that the next request uses.
    pub(crate) fn offer_permit(&self) {
        self.has_offer.set(true);
    }

    /// Takes back the offer of a permit; returns the shared permits if no request used it.
    pub(crate) fn withdraw_offer(&self) -> Option<&Arc<PermitPool>> {
        self.has_offer.replace(false).then_some(&self.shared.permits)
    }

    /// Sets whether all cores share at most `most` permits. Requests in flight count from now on, or no longer.
    pub(crate) fn share_permits(&self, most: Option<u32>) {
        if let Some(most) = most {
            self.shared.permits.set_max(most);
        }
        match (self.shares_permits.replace(most.is_some()), most) {
            (false, Some(_)) => self.shared.permits.take_anyway(self.busy.get()),
            (true, None) => self.shared.permits.put_back(self.busy.get()),
            (false, None) | (true, Some(_)) => {}
        }
    }

    /// Sets the concurrency limit of this core to `most`; if it `adapts`, to at most the adaptive limit.
    pub(crate) fn set_permits(&self, most: u32, adapts_concurrency: bool) {
        self.permits.set(if adapts_concurrency { most.min(self.concurrency.get().get()) } else { most });
    }

    /// Updates the adaptive concurrency limit.
    pub(crate) fn adapt(&self, now_ms: u64, most: u32, queued: bool) {
        let mut concurrency = self.concurrency.get();
        concurrency.step(now_ms, InstanceLoad { busy: self.busy.get(), completed: self.completed.get(), queued });
        self.concurrency.set(concurrency);
        self.set_permits(most, true);
    }

    /// Starts or ends a drain: a draining instance gets no requests and closes idle connections.
    pub(crate) fn set_draining(&self, draining: bool) {
        self.draining.set(draining);
        if draining {
            self.connections.close_idle();
        }
    }

    /// Sets the canary side that also counts its requests.
    pub(crate) fn set_side(&self, side: Option<Rc<RouteMetrics>>) {
        self.side.replace(side);
    }

    pub(crate) fn side(&self) -> Option<Rc<RouteMetrics>> {
        self.side.borrow().clone()
    }

    /// Returns when the WebSocket with this random `jitter` must be closed; `None` without a drain.
    pub(crate) fn close_tunnel_at(&self, jitter: u16) -> Option<u64> {
        self.tunnel_close.get().map(|window| window.moment(jitter))
    }

    /// Schedules the close of its WebSockets within `window`; the first window stays. `None` cancels the drain.
    /// Returns true if the WebSockets must be woken.
    pub(crate) fn close_tunnels_within(&self, window: Option<DrainWindow>) -> bool {
        let before = self.tunnel_close.get();
        self.tunnel_close.set(window.and(before).or(window));
        before.is_none() && window.is_some() && self.in_flight() > 0
    }

    /// Opens or reuses a connection for one exchange. With `fresh`, never reuses an idle HTTP/1 connection. Calls
    /// `is_over` if there are more connections than allowed then.
    pub(crate) async fn connect(
        &self,
        fresh: bool,
        now_ms: u64,
        limits: &Limits,
        is_over: impl FnOnce(&Arc<PermitPool>),
    ) -> io::Result<ConnectionLease> {
        self.connections.link(fresh, now_ms, limits, is_over).await
    }

    /// Sets the maximum number of HTTP/1.1 connections of all cores.
    pub(crate) fn set_connections_max(&self, most: u32) {
        self.shared.connections.set_max(most);
    }

    /// Closes idle connections while all cores have more connections than allowed.
    pub(crate) fn close_surplus(&self) {
        self.connections.close_surplus();
    }

    /// True if it is reached over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.connections.are_secure()
    }

    /// Returns a clean connection to the idle pool.
    pub(crate) fn keep(&self, connection: UpstreamConnection, until_ms: u64) {
        if !self.draining.get() {
            self.connections.keep(connection, until_ms);
        }
    }

    /// Closes idle connections that expired or that the app closed.
    pub(crate) fn sweep(&self, now_ms: u64, limits: &Limits) {
        self.connections.sweep(now_ms, limits);
    }

    /// True if `connector` reaches the same instance, so that its connections stay valid.
    pub(crate) fn is_reached_by(&self, connector: &Connector) -> bool {
        self.connections.lead_as(connector)
    }
}
