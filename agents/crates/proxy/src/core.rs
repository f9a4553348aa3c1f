//! What one core shares among its connections: the snapshot in use, apps and instances, buffers, alarms, counters.
//! Owned by one thread; nothing here is locked, and nothing here is reached from another thread.

mod alarm;
mod buffers;
mod outbox;
mod stats;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use fairlead_route::{RequestIds, RouteMatch, pick};
use tokio::sync::Notify;

pub(crate) use alarm::{Alarm, Alarms};
pub(crate) use buffers::Buffers;
pub(crate) use outbox::Outbox;
pub(crate) use stats::{AppNumbers, AppStats, CoreStats};

use crate::limits::Limits;
use crate::snapshot::Snapshot;
use crate::upstream::Instance;

/// An app as this core serves it. Lives on while exchanges of it do, even when no route leads to it any more.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) key: Box<str>,
    measured: Cell<bool>,
    /// Instances that take new exchanges.
    ready: RefCell<Vec<Rc<Instance>>>,
    pub(crate) numbers: RefCell<AppNumbers>,
    pub(crate) in_flight: Cell<u32>,
}

impl App {
    /// An instance for a new exchange; `None` when the app has none that takes any. `not` is passed over if another will do.
    pub(crate) fn pick(&self, random: u64, not: Option<&Rc<Instance>>) -> Option<Rc<Instance>> {
        let ready = self.ready.borrow();
        let mut picked = pick(ready.len(), random, |index| ready[index].in_flight())?;
        if ready.len() > 1 && not.is_some_and(|not| Rc::ptr_eq(not, &ready[picked])) {
            picked = (picked + 1) % ready.len();
        }
        Some(Rc::clone(&ready[picked]))
    }
}

/// Where a request leads on this core.
pub(crate) enum Destination {
    App(Rc<App>),
    NoPath,
    NoHost,
}

/// The state of one core.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) limits: Limits,
    pub(crate) alarms: Rc<Alarms>,
    pub(crate) buffers: Buffers,
    pub(crate) ids: RequestIds,
    pub(crate) open_connections: Cell<u32>,
    pub(crate) malformed_requests: Cell<u64>,
    /// Told whenever a connection ends.
    pub(crate) connection_ended: Notify,
    draining: Cell<bool>,
    /// The port that plain HTTP is redirected to.
    pub(crate) https_port: Option<u16>,
    routes: RefCell<Routes>,
    /// Told when the first snapshot is in use.
    pub(crate) routes_ready: Notify,
}

#[derive(Debug, Default)]
struct Routes {
    snapshot: Option<Arc<Snapshot>>,
    /// Parallel to the snapshot's apps.
    apps: Vec<Rc<App>>,
    /// Apps and instances that are no longer in the snapshot but still in use or uncollected.
    retired_apps: Vec<Rc<App>>,
    instances: HashMap<Box<str>, Rc<Instance>>,
    retired_instances: Vec<Rc<Instance>>,
}

impl Core {
    pub(crate) fn new(limits: Limits, https_port: Option<u16>) -> Rc<Self> {
        Rc::new(Self {
            limits,
            alarms: Alarms::new(),
            buffers: Buffers::new(),
            ids: RequestIds::new(),
            open_connections: Cell::new(0),
            malformed_requests: Cell::new(0),
            connection_ended: Notify::new(),
            draining: Cell::new(false),
            https_port,
            routes: RefCell::default(),
            routes_ready: Notify::new(),
        })
    }

    /// Looks a host (lower case) and path up in the snapshot in use.
    pub(crate) fn find(&self, host: &[u8], path: &[u8]) -> Destination {
        let routes = self.routes.borrow();
        let found = routes.snapshot.as_ref().map_or(RouteMatch::NoHost, |snapshot| snapshot.table.find(host, path));
        match found {
            RouteMatch::Found(index) => match routes.apps.get(index as usize) {
                Some(app) => Destination::App(Rc::clone(app)),
                None => Destination::NoPath,
            },
            RouteMatch::NoPath => Destination::NoPath,
            RouteMatch::NoHost => Destination::NoHost,
        }
    }

    /// Whether any route has this host.
    pub(crate) fn knows(&self, host: &[u8]) -> bool {
        self.routes.borrow().snapshot.as_ref().is_some_and(|snapshot| snapshot.table.knows(host))
    }

    pub(crate) fn has_routes(&self) -> bool {
        self.routes.borrow().snapshot.is_some()
    }

    /// Takes a snapshot into use. Exchanges under way keep the app and instance they have.
    pub(crate) fn apply(&self, snapshot: Arc<Snapshot>) {
        let mut routes = self.routes.borrow_mut();
        let routes = &mut *routes;
        let mut old_apps: HashMap<Box<str>, Rc<App>> =
            routes.apps.drain(..).chain(routes.retired_apps.drain(..)).map(|app| (app.key.clone(), app)).collect();
        let mut old_instances = std::mem::take(&mut routes.instances);
        for spec in &snapshot.apps {
            let mut ready = Vec::new();
            for upstream in &spec.upstreams {
                let instance = match old_instances.remove(&upstream.instance) {
                    Some(instance) if instance.address == upstream.address => instance,
                    replaced => {
                        routes.retired_instances.extend(replaced);
                        Instance::new(&upstream.instance, upstream.address, &self.limits)
                    }
                };
                instance.set_draining(upstream.draining);
                if !upstream.draining {
                    ready.push(Rc::clone(&instance));
                }
                routes.instances.insert(upstream.instance.clone(), instance);
            }
            let app = old_apps.remove(&spec.key).unwrap_or_else(|| {
                Rc::new(App {
                    key: spec.key.clone(),
                    measured: Cell::new(false),
                    ready: RefCell::default(),
                    numbers: RefCell::default(),
                    in_flight: Cell::new(0),
                })
            });
            app.measured.set(spec.measured);
            app.ready.replace(ready);
            routes.apps.push(app);
        }
        routes.retired_instances.extend(old_instances.into_values());
        for instance in &routes.retired_instances {
            instance.set_draining(true);
        }
        for app in old_apps.into_values() {
            app.ready.borrow_mut().clear();
            routes.retired_apps.push(app);
        }
        routes.snapshot = Some(snapshot);
        self.routes_ready.notify_waiters();
    }

    /// Hands the numbers since the last collection over and forgets what is no longer in use.
    pub(crate) fn collect(&self) -> CoreStats {
        let mut routes = self.routes.borrow_mut();
        let apps = routes.apps.iter().chain(&routes.retired_apps).map(|app| AppStats {
            key: app.key.clone(),
            measured: app.measured.get(),
            numbers: app.numbers.take(),
            in_flight: app.in_flight.get(),
        });
        let apps = apps.collect();
        let instances = routes.instances.values().chain(&routes.retired_instances);
        let instances = instances.map(|instance| (instance.id.clone(), instance.in_flight())).collect();
        routes.retired_apps.retain(|app| app.in_flight.get() > 0);
        routes.retired_instances.retain(|instance| instance.in_flight() > 0);
        CoreStats {
            apps,
            instances,
            open_connections: self.open_connections.get(),
            malformed_requests: self.malformed_requests.take(),
        }
    }

    /// Closes connections to apps that have idled too long.
    pub(crate) fn sweep(&self) {
        let now_ms = self.alarms.now_ms();
        self.routes.borrow().instances.values().for_each(|instance| instance.sweep(now_ms));
    }

    /// From now on every connection ends with the exchange it is in.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        self.alarms.wake_all();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }
}
