//! One instance of an app as one core sees it: its connections, how it stands, and what is in flight. Who gets to use it is the
//! app's to say.

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

use crate::core::{DrainWindow, InstanceState, RouteMetrics};
use crate::limits::Limits;
use connections::Connections;
pub(crate) use connections::{Link, UpstreamConnection};
pub(crate) use connector::{AppTls, Connector, ConnectorError};
pub(crate) use http2::Http2Lease;
pub(crate) use socket::UpstreamSocket;

/// An instance and this core's connections to it.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: Box<str>,
    /// What clients are led to it by.
    pub(crate) key: u64,
    pub(crate) state: InstanceState,
    in_flight: Cell<u32>,
    /// Of those in flight, the ones that it is at work on.
    busy: Cell<u32>,
    /// Requests that it has finished since the core began; wraps around.
    completed: Cell<u32>,
    /// Maximum number of requests that it works on.
    permits: Cell<u32>,
    concurrency: Cell<ConcurrencyLimit>,
    draining: Cell<bool>,
    /// When it drains: when its WebSockets are told.
    tunnel_close: Cell<Option<DrainWindow>>,
    connections: Connections,
    /// Of a canary: what its requests are counted in.
    side: RefCell<Option<Rc<RouteMetrics>>>,
}

impl Instance {
    pub(crate) fn new(id: &str, connector: Arc<Connector>) -> Rc<Self> {
        Rc::new(Self {
            id: id.into(),
            key: instance_key(id),
            state: InstanceState::default(),
            in_flight: Cell::new(0),
            busy: Cell::new(0),
            completed: Cell::new(0),
            permits: Cell::new(0),
            concurrency: Cell::default(),
            draining: Cell::new(false),
            tunnel_close: Cell::new(None),
            connections: Connections::new(connector),
            side: RefCell::default(),
        })
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// Counts a new exchange; `end` must follow.
    pub(crate) fn begin(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// An exchange is over.
    pub(crate) fn end(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }

    #[cfg(test)]
    pub(crate) fn busy(&self) -> u32 {
        self.busy.get()
    }

    /// Counts a request to work on; `return_permit` must follow.
    pub(crate) fn take_permit(&self) {
        self.busy.set(self.busy.get() + 1);
    }

    /// It works on one less.
    pub(crate) fn return_permit(&self) {
        self.busy.set(self.busy.get() - 1);
        self.completed.set(self.completed.get().wrapping_add(1));
    }

    /// Returns the maximum number of requests that it works on.
    pub(crate) fn permits(&self) -> u32 {
        self.permits.get()
    }

    /// Reports whether it may get another request.
    pub(crate) fn has_permit(&self) -> bool {
        self.busy.get() < self.permits.get()
    }

    /// Bounds its concurrent requests to `most`, and further to what it has shown to handle if it `adapts_concurrency`.
    pub(crate) fn set_permits(&self, most: u32, adapts_concurrency: bool) {
        self.permits.set(if adapts_concurrency { most.min(self.concurrency.get().get()) } else { most });
    }

    /// Advances the time: an adaptive limit may change.
    pub(crate) fn adapt(&self, now_ms: u64, most: u32, queued: bool) {
        let mut concurrency = self.concurrency.get();
        concurrency.step(now_ms, InstanceLoad { busy: self.busy.get(), completed: self.completed.get(), queued });
        self.concurrency.set(concurrency);
        self.set_permits(most, true);
    }

    /// A draining instance gets nothing new and keeps nothing idle.
    pub(crate) fn set_draining(&self, draining: bool) {
        self.draining.set(draining);
        if draining {
            self.connections.close_idle();
        }
    }

    /// From now on its requests are counted there too.
    pub(crate) fn set_side(&self, side: Option<Rc<RouteMetrics>>) {
        self.side.replace(side);
    }

    pub(crate) fn side(&self) -> Option<Rc<RouteMetrics>> {
        self.side.borrow().clone()
    }

    /// In a drain: when the WebSocket that drew `jitter` is to be told.
    pub(crate) fn close_tunnel_at(&self, jitter: u16) -> Option<u64> {
        self.tunnel_close.get().map(|window| window.moment(jitter))
    }

    /// Has its WebSockets told within `window`, of which the first one counts; `None`: it does not drain. Tells whether they have
    /// to be woken for it.
    pub(crate) fn close_tunnels_within(&self, window: Option<DrainWindow>) -> bool {
        let before = self.tunnel_close.get();
        self.tunnel_close.set(window.and(before).or(window));
        before.is_none() && window.is_some() && self.in_flight() > 0
    }

    /// A connection for one exchange. With `fresh` never one that may be as dead as the last.
    pub(crate) async fn connect(&self, fresh: bool, now_ms: u64, limits: &Limits) -> io::Result<Link> {
        self.connections.link(fresh, now_ms, limits).await
    }

    /// Whether it is reached over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.connections.are_secure()
    }

    /// Keeps a connection whose response has ended cleanly.
    pub(crate) fn keep(&self, connection: UpstreamConnection, until_ms: u64) {
        if !self.draining.get() {
            self.connections.keep(connection, until_ms);
        }
    }

    /// Closes idle connections that expired or that the app closed.
    pub(crate) fn sweep(&self, now_ms: u64, limits: &Limits) {
        self.connections.sweep(now_ms, limits);
    }

    /// Whether it is reached by `connector`, so that its connections are still right.
    pub(crate) fn is_reached_by(&self, connector: &Connector) -> bool {
        self.connections.lead_as(connector)
    }
}
