//! What one core shares among its connections: the snapshot in use, apps and instances, buffers, alarms, counters.
//! Owned by one thread; nothing here is locked, and nothing here is reached from another thread.

mod alarm;
mod app;
mod backlog;
mod buffers;
mod clients;
mod drain_schedule;
mod fd_reserve;
mod handshakes;
mod local_users;
mod outbox;
mod quota;
mod route_metrics;
mod siblings;
mod stats;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fairlead_route::{Client, RequestIds, RouteMatch, client_key};
use tokio::sync::{Notify, mpsc};

pub(crate) use alarm::{Alarm, Alarms, RemoteWaker};
pub(crate) use app::{
    AcquireResult, Affinity, App, InFlightRequest, InstanceRequest, InstanceState, Member, Permit, Refusal,
};
pub(crate) use backlog::{Backlog, Backlogs, StalledStream};
pub(crate) use buffers::Buffers;
use clients::Clients;
pub use drain_schedule::DrainOptions;
pub(crate) use drain_schedule::DrainWindow;
use fd_reserve::FdReserve;
pub(crate) use fd_reserve::is_out_of_descriptors;
pub(crate) use outbox::Outbox;
pub(crate) use quota::{AppPart, AppShare, Quota, Share};
pub(crate) use route_metrics::{RouteCounters, RouteMetrics};
use route_metrics::{RouteMetricsTable, collect_sides};
pub(crate) use siblings::{Sibling, Siblings};
pub(crate) use stats::{AppNumbers, AppStats, CoreStats, PolicyCounters, PolicyStats};

use drain_schedule::DrainSchedule;
use handshakes::Handshakes;
use local_users::LocalUsers;

use crate::access_log::AccessLog;
use crate::limits::Limits;
use crate::policy::{PasswordCache, Policy, Reason};
use crate::snapshot::{DRAIN_TIMEOUT, RouteEntry, Snapshot};
use crate::upstream::Instance;

/// How long a client may remember that HTTP/3 is spoken here.
const ALT_SVC_SECONDS: u32 = 24 * 60 * 60;
/// Maximum size of kept request heads: all those that wait in queues, and long ones until their responses end.
const HEAD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of connections to apps, however many descriptors there are.
const APP_CONNECTIONS_MAX: u32 = 8192;
/// Number of connections from this machine whose users are not looked up. Most servers never have so many.
const LOCAL_UNASKED_MAX: u32 = 64;
/// Keys of this machine's users among the keys of clients: in a reserved network, so no address has such a key.
const LOCAL_USERS: u64 = 1 << 33;
/// One local user gets at most one in `LOCAL_PARTS` of a core's places; any other client gets at most a half.
const LOCAL_PARTS: u32 = 4;
/// Root can end the proxy anyway, so a bound would guard nothing.
const ROOT: u32 = 0;
/// Idle connections that are closed at once to make room: one in `CLOSED_PARTS` places, and at most 16.
const CLOSED_PARTS: usize = 256;
const CLOSED_AFTER_MS: u64 = 1_000;
/// Handshakes that have been silent for so long go first; when most of a core's places are silent, those silent for `CLOSED_AFTER_MS`.
const SILENT_AFTER_MS: u64 = 5_000;

/// Where a request leads on this core.
pub(crate) enum Destination {
    /// The policy is `None` for a route with nothing but defaults, the numbers for one that is not reported.
    App(Rc<App>, Option<Arc<Policy>>, Option<Rc<RouteMetrics>>),
    Redirect(Arc<Policy>),
    NoPath,
    NoHost,
    /// By its spelling one route, by what an app may read another.
    Ambiguous,
}

/// The ports that clients are told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// Where plain HTTP is redirected to.
    pub(crate) https: Option<u16>,
    /// Where HTTP/3 is spoken.
    pub(crate) quic: Option<u16>,
}

/// The state of one core.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) limits: Limits,
    pub(crate) alarms: Rc<Alarms>,
    pub(crate) buffers: Buffers,
    pub(crate) ids: RequestIds,
    pub(crate) access_log: AccessLog,
    open_connections: Cell<u32>,
    /// The core's entry for the other cores.
    clients_open: Arc<AtomicU32>,
    pub(crate) siblings: Siblings,
    local_users: LocalUsers,
    /// HTTP/3 connections that have idled since then or longer are closed.
    close_idle_before_ms: Cell<u64>,
    /// Notifies that a task that the whole core needs has failed.
    pub(crate) failed: Notify,
    pub(crate) malformed_requests: Cell<u64>,
    pub(crate) clients: Clients,
    pub(crate) handshakes: Handshakes,
    pub(crate) backlogs: Rc<Backlogs>,
    /// Bytes of request heads.
    heads: Rc<Quota>,
    /// Connections to apps.
    app_connections: Rc<Quota>,
    pub(crate) fd_reserve: FdReserve,
    /// Times that accepting paused.
    pub(crate) accept_pauses: Cell<u32>,
    /// Connections beyond what one client may have.
    pub(crate) refused_connections: Cell<u32>,
    /// Connections that ended by a fault of ours.
    pub(crate) panics: Cell<u32>,
    /// Told whenever a connection ends.
    pub(crate) connection_ended: Notify,
    draining: Cell<Option<DrainSchedule>>,
    /// What Alt-Svc says, where QUIC listens.
    alt_svc: Option<Box<str>>,
    offers_http3: Cell<bool>,
    /// The port that plain HTTP is redirected to.
    pub(crate) https_port: Option<u16>,
    trusts_any: Cell<bool>,
    /// Passwords that were right.
    pub(crate) password_cache: PasswordCache,
    policy_counters: RefCell<HashMap<Box<str>, PolicyCounters>>,
    routes: RefCell<Routes>,
    /// Told when the first snapshot is in use.
    pub(crate) routes_ready: Notify,
    /// Who is told of requests that wait for an app that sleeps.
    wakes: RefCell<Option<WakeRequests>>,
}

/// Keys of apps that are to wake.
pub(crate) type WakeRequests = mpsc::UnboundedSender<Box<str>>;

#[derive(Debug, Default)]
struct Routes {
    snapshot: Option<Arc<Snapshot>>,
    /// Parallel to the snapshot's apps.
    apps: Vec<Rc<App>>,
    route_metrics: RouteMetricsTable,
    /// Apps and instances that are no longer in the snapshot but still in use or uncollected.
    retired_apps: Vec<Rc<App>>,
    instances: HashMap<Box<str>, Rc<Instance>>,
    retired_instances: Vec<Rc<Instance>>,
    /// Sides of canaries, and what was counted for them.
    sides: Vec<Rc<RouteMetrics>>,
}

impl Core {
    pub(crate) fn new(
        limits: Limits,
        ports: Ports,
        access_log: AccessLog,
        clients_open: Arc<AtomicU32>,
        siblings: Siblings,
    ) -> Rc<Self> {
        let alarms = Alarms::new();
        // Clients get two thirds of the descriptors, apps one third.
        let app_connections = (limits.connections_max / 2).min(APP_CONNECTIONS_MAX);
        Rc::new(Self {
            backlogs: Backlogs::new(&alarms),
            heads: Quota::new(HEAD_BYTES_MAX),
            app_connections: Quota::new(usize::try_from(app_connections).unwrap_or(usize::MAX)),
            alt_svc: ports.quic.map(|port| format!("h3=\":{port}\"; ma={ALT_SVC_SECONDS}").into()),
            offers_http3: Cell::new(true),
            limits,
            alarms,
            buffers: Buffers::new(),
            ids: RequestIds::new(),
            access_log,
            open_connections: Cell::new(0),
            clients_open,
            siblings,
            local_users: LocalUsers::new(),
            close_idle_before_ms: Cell::new(0),
            failed: Notify::new(),
            malformed_requests: Cell::new(0),
            clients: Clients::default(),
            handshakes: Handshakes::new(),
            fd_reserve: FdReserve::new(),
            accept_pauses: Cell::new(0),
            refused_connections: Cell::new(0),
            panics: Cell::new(0),
            connection_ended: Notify::new(),
            draining: Cell::new(None),
            https_port: ports.https,
            trusts_any: Cell::new(false),
            password_cache: PasswordCache::default(),
            policy_counters: RefCell::default(),
            routes: RefCell::default(),
            routes_ready: Notify::new(),
            wakes: RefCell::default(),
        })
    }

    /// Looks a host (lower case) and path up in the snapshot in use.
    pub(crate) fn find(&self, host: &[u8], path: &[u8]) -> Destination {
        let mut routes = self.routes.borrow_mut();
        let Routes { snapshot: Some(snapshot), apps, route_metrics, .. } = &mut *routes else {
            return Destination::NoHost;
        };
        match snapshot.table.find(host, path) {
            RouteMatch::Found(index) => {
                let RouteEntry { key, app, policy } = &snapshot.routes[index as usize];
                match (app, policy) {
                    (Some(app), policy) => {
                        let spec = &snapshot.apps[*app as usize];
                        let route_metrics =
                            if spec.measured { route_metrics.of(index as usize, key, &spec.key) } else { None };
                        Destination::App(Rc::clone(&apps[*app as usize]), policy.clone(), route_metrics)
                    }
                    (None, Some(policy)) => Destination::Redirect(Arc::clone(policy)),
                    (None, None) => Destination::NoPath,
                }
            }
            RouteMatch::NoPath => Destination::NoPath,
            RouteMatch::NoHost => Destination::NoHost,
            RouteMatch::Ambiguous => Destination::Ambiguous,
        }
    }

    /// Tells of requests for apps that sleep there.
    pub(crate) fn set_wake_requests(&self, calls: WakeRequests) {
        self.wakes.replace(Some(calls));
    }

    /// Whether any proxy in front is trusted.
    pub(crate) fn trusts_any(&self) -> bool {
        self.trusts_any.get()
    }

    /// Whether `peer` is one whose PROXY protocol header counts; `None` when connections begin without.
    pub(crate) fn proxy_header_trust(&self, peer: IpAddr) -> Option<bool> {
        let routes = self.routes.borrow();
        let snapshot = routes.snapshot.as_ref().filter(|snapshot| snapshot.settings.proxy_protocol)?;
        Some(snapshot.trust.as_ref().is_some_and(|trust| trust.trusts(peer)))
    }

    /// The client that a trusted proxy speaks for; `None` when `peer` is the client itself.
    pub(crate) fn client_behind<'a>(
        &self,
        peer: &Client,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Option<Client> {
        self.routes.borrow().snapshot.as_ref()?.trust.as_ref()?.client(peer, headers)
    }

    /// Counts a request that was answered for a route instead of its app. Routes with nothing but defaults share the empty name.
    pub(crate) fn count(&self, route: &str, reason: Reason) {
        let mut numbers = self.policy_counters.borrow_mut();
        match numbers.get_mut(route) {
            Some(numbers) => numbers.count(reason),
            None => numbers.entry(route.into()).or_default().count(reason),
        }
    }

    /// Ready once there is a snapshot to serve by.
    pub(crate) async fn wait_for_routes(&self) {
        loop {
            let ready = self.routes_ready.notified();
            if self.has_routes() {
                return;
            }
            ready.await;
        }
    }

    fn has_routes(&self) -> bool {
        self.routes.borrow().snapshot.is_some()
    }

    /// Takes a snapshot into use. Exchanges under way keep the app and instance they have.
    pub(crate) fn apply(&self, snapshot: Arc<Snapshot>) {
        self.offers_http3.set(snapshot.settings.http3);
        let mut routes = self.routes.borrow_mut();
        let routes = &mut *routes;
        let mut old_apps: HashMap<Box<str>, Rc<App>> =
            routes.apps.drain(..).chain(routes.retired_apps.drain(..)).map(|app| (app.key.clone(), app)).collect();
        let mut old_instances = std::mem::take(&mut routes.instances);
        let now_ms = self.alarms.now_ms();
        self.app_connections.set_apps(snapshot.apps.len());
        self.heads.set_apps(snapshot.apps.len());
        let mut told = false;
        for spec in &snapshot.apps {
            let mut members = Vec::new();
            for upstream in &spec.upstreams {
                let instance = match old_instances.remove(&upstream.instance) {
                    Some(instance) if instance.is_reached_by(&upstream.connector) => instance,
                    replaced => {
                        routes.retired_instances.extend(replaced);
                        Instance::new(&upstream.instance, Arc::clone(&upstream.connector))
                    }
                };
                instance.set_draining(upstream.draining);
                instance.set_side(side(&mut routes.sides, &upstream.side));
                told |= instance
                    .tell_within(upstream.draining.then(|| DrainWindow::for_tunnels(now_ms, upstream.drain_timeout)));
                if !upstream.draining {
                    members.push(Member { instance: Rc::clone(&instance), weight: upstream.weight });
                }
                routes.instances.insert(upstream.instance.clone(), instance);
            }
            let app = old_apps
                .remove(&spec.key)
                .unwrap_or_else(|| App::new(&spec.key, &self.alarms, &self.app_connections, &self.heads));
            app.may_sleep(spec.wake_timeout, &self.wakes.borrow());
            app.set(spec.measured, &spec.traffic, members);
            routes.apps.push(app);
        }
        routes.retired_instances.extend(old_instances.into_values());
        for instance in &routes.retired_instances {
            instance.set_draining(true);
            told |= instance.tell_within(Some(DrainWindow::for_tunnels(now_ms, DRAIN_TIMEOUT)));
        }
        for app in old_apps.into_values() {
            app.retire();
            routes.retired_apps.push(app);
        }
        self.trusts_any.set(snapshot.trust.is_some());
        routes.route_metrics.apply(&snapshot);
        self.access_log.set(&snapshot.settings.access_log, &snapshot.access_log_path);
        routes.snapshot = Some(snapshot);
        self.routes_ready.notify_waiters();
        if told {
            self.alarms.wake_all();
        }
    }

    /// Hands the numbers since the last collection over and forgets what is no longer in use.
    pub(crate) fn collect(&self) -> CoreStats {
        let mut routes = self.routes.borrow_mut();
        let apps = routes.apps.iter().chain(&routes.retired_apps).map(|app| app.collect()).collect();
        let instances = routes.instances.values().chain(&routes.retired_instances);
        let instances = instances.map(|instance| (instance.id.clone(), instance.in_flight())).collect();
        routes.retired_apps.retain(|app| app.in_flight.get() > 0);
        routes.retired_instances.retain(|instance| instance.in_flight() > 0);
        CoreStats {
            apps,
            instances,
            route_metrics: routes.route_metrics.collect(),
            sides: collect_sides(&mut routes.sides),
            routes: self
                .policy_counters
                .take()
                .into_iter()
                .map(|(key, numbers)| PolicyStats { key, numbers })
                .collect(),
            open_connections: self.open_connections(),
            malformed_requests: self.malformed_requests.take(),
            access_log_dropped: self.access_log.take_dropped(),
            accept_pauses: self.accept_pauses.take(),
            refused_connections: self.refused_connections.take(),
            panics: self.panics.take(),
        }
    }

    pub(crate) fn open_connections(&self) -> u32 {
        self.open_connections.get()
    }

    /// Counts another open connection.
    pub(crate) fn opened(&self) {
        self.set_open(self.open_connections.get() + 1);
    }

    /// Counts the end of a connection.
    pub(crate) fn closed(&self) {
        self.set_open(self.open_connections.get() - 1);
        self.connection_ended.notify_waiters();
    }

    fn set_open(&self, open: u32) {
        self.open_connections.set(open);
        self.clients_open.store(open, Ordering::Relaxed);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.open_connections.get() >= self.limits.connections_max
    }

    /// Closes silent handshakes, then the connections that have idled longest, so that others find room. Returns whether TCP
    /// connections were among them: their places are free in a moment. HTTP/3 connections are checked about once a second. No
    /// idle connection ends while silent handshakes hold most places.
    pub(crate) fn make_room(&self) -> bool {
        let places = self.limits.connections_max as usize;
        let before_ms = self.alarms.now_ms().saturating_sub(CLOSED_AFTER_MS);
        let count = (places / CLOSED_PARTS).clamp(1, 16);
        let is_silent = self.handshakes.silent() > places / 2;
        let silent_after_ms = if is_silent { CLOSED_AFTER_MS } else { SILENT_AFTER_MS };
        let silent_before_ms = self.alarms.now_ms().saturating_sub(silent_after_ms);
        if self.handshakes.wake_longest_silent(count, silent_before_ms) {
            return true;
        }
        if is_silent {
            return false;
        }
        let last_ms = self.alarms.wake_longest_idle(count, before_ms);
        self.close_idle_before_ms.set(last_ms.unwrap_or(before_ms));
        last_ms.is_some()
    }

    /// Reports whether an HTTP/3 connection that has idled since then must make room.
    pub(crate) fn wants_place_of(&self, idle_since_ms: u64) -> bool {
        idle_since_ms <= self.close_idle_before_ms.get()
    }

    /// Returns the key that a client's connection counts by and the client's bound; `None` for no bound. Local processes count by
    /// user, because they have as many addresses as they like. Trusted proxies elsewhere stand for many clients.
    pub(crate) fn connections_per_client(
        &self,
        client: IpAddr,
        user: impl FnOnce() -> Option<u32>,
    ) -> Option<(u64, u32)> {
        let client = client.to_canonical();
        let places = self.limits.connections_max;
        if client.is_loopback() && !self.limits.bounds_loopback {
            let unasked = self.client_key(client);
            if self.clients.open(unasked) < LOCAL_UNASKED_MAX {
                return Some((unasked, LOCAL_UNASKED_MAX));
            }
            let user = match user() {
                Some(ROOT) => return None,
                Some(user) => LOCAL_USERS | u64::from(user),
                None => LOCAL_USERS - 1,
            };
            return Some((user, (places / LOCAL_PARTS).max(1)));
        }
        let routes = self.routes.borrow();
        let snapshot = routes.snapshot.as_ref()?;
        let most = snapshot.settings.connections_per_client;
        let is_bounded = most > 0 && !snapshot.trust.as_ref().is_some_and(|trust| trust.trusts(client));
        is_bounded.then(|| (self.client_key(client), most.min((places / 2).max(1))))
    }

    /// Reports whether a client over QUIC may have another connection, once there is room.
    pub(crate) fn may_enter(&self, client: IpAddr) -> bool {
        self.connections_per_client(client, || None).is_none_or(|(client, most)| self.clients.open(client) < most)
    }

    /// Returns the user of a connection from this machine.
    pub(crate) fn local_user(&self, socket: impl AsFd, peer: SocketAddr) -> Option<u32> {
        self.local_users.user_of(socket, peer)
    }

    /// Returns the key of the client that an address counts for. All addresses of this machine count as one client, because a
    /// local process has millions of them.
    pub(crate) fn client_key(&self, client: IpAddr) -> u64 {
        let client = client.to_canonical();
        let is_local = client.is_loopback() && !self.limits.bounds_loopback;
        client_key(if is_local { Ipv6Addr::LOCALHOST.into() } else { client })
    }

    /// Opens the backlog of a connection of `peer`.
    pub(crate) fn backlog(&self, peer: IpAddr) -> Rc<Backlog> {
        let is_trusted = {
            let routes = self.routes.borrow();
            let trust = routes.snapshot.as_ref().and_then(|snapshot| snapshot.trust.as_ref());
            trust.is_some_and(|trust| trust.trusts(peer.to_canonical()))
        };
        self.backlogs.open((!is_trusted).then(|| self.client_key(peer)))
    }

    /// Closes connections to apps that have idled too long, and connections of clients that hold too much memory.
    pub(crate) fn sweep(&self) {
        let now_ms = self.alarms.now_ms();
        self.routes.borrow().instances.values().for_each(|instance| instance.sweep(now_ms, &self.limits));
        self.fd_reserve.refill();
        if self.backlogs.cut_slowest() {
            self.alarms.wake_all();
        }
    }

    /// Time has passed for every app.
    pub(crate) fn tick(&self) {
        self.alarms.tick();
        self.access_log.flush();
        self.routes.borrow().apps.iter().for_each(|app| app.tick());
    }

    /// Takes a verdict of the health probes into use.
    pub(crate) fn set_health(&self, instance: &str, healthy: bool) {
        let routes = self.routes.borrow();
        if let Some(instance) = routes.instances.get(instance) {
            routes.apps.iter().for_each(|app| app.set_health(instance, healthy));
        }
    }

    /// From now on every connection ends with the exchange it is in, and idle ones within the order's spread.
    pub(crate) fn drain(&self, order: DrainOptions) {
        self.draining.set(Some(DrainSchedule::begin(self.alarms.now_ms(), order)));
        self.alarms.wake_all();
    }

    /// Whether the settings let clients speak HTTP/3.
    pub(crate) fn offers_http3(&self) -> bool {
        self.offers_http3.get()
    }

    /// Where clients of TCP are told that HTTP/3 is spoken (RFC 7838).
    pub(crate) fn alt_svc(&self) -> Option<&[u8]> {
        self.alt_svc.as_deref().filter(|_| self.offers_http3.get()).map(str::as_bytes)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    /// In a drain: when an idle connection is to be closed. Another moment at each call.
    pub(crate) fn close_idle_at(&self) -> Option<u64> {
        self.draining.get().map(|draining| draining.close_idle_at(self.lot()))
    }

    /// In a drain: when the WebSocket that drew `lot` is to be told.
    pub(crate) fn tell_at(&self, lot: u16) -> Option<u64> {
        self.draining.get().map(|draining| draining.tunnels.moment(lot))
    }

    /// A place in whatever is done to many, one after another.
    pub(crate) fn lot(&self) -> u16 {
        // The lowest bits are as good as any.
        (self.ids.random() & 0xffff) as u16
    }
}

/// The numbers of a side; one that is known goes on counting.
fn side(sides: &mut Vec<Rc<RouteMetrics>>, name: &str) -> Option<Rc<RouteMetrics>> {
    if name.is_empty() {
        return None;
    }
    let known = sides.iter().find(|side| side.name() == name).cloned();
    Some(known.unwrap_or_else(|| {
        sides.push(RouteMetrics::side(name));
        Rc::clone(&sides[sides.len() - 1])
    }))
}
