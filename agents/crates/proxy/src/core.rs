//! State of one core, shared by its connections: snapshot, apps, instances, buffers, alarms and counters. Invariant:
//! only the thread of the core accesses it, so nothing is locked.

mod alarm;
mod app;
mod backlog;
mod blocks;
mod body_queue;
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
use fairlead_tls::TlsPolicy;
use tokio::sync::{Notify, mpsc};

pub(crate) use alarm::{Alarm, AlarmWaker, Alarms};
pub(crate) use app::{
    AcquireResult, Affinity, App, AppMessage, InFlightRequest, InstanceHealth, InstanceRequest, Permit, PermitPool,
    Refusal, SharedInstance, SharedLimits, SharedLimitsTable, WeightedInstance,
};
pub(crate) use backlog::{Backlog, Backlogs, StalledStream};
pub(crate) use blocks::{copy_small_rest, keep_block};
pub(crate) use body_queue::BodyQueue;
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
pub(crate) use stats::{AppNumbers, AppStats, CoreStats, RejectCounters};

use drain_schedule::DrainSchedule;
use handshakes::Handshakes;
use local_users::LocalUsers;

use crate::access_log::AccessLogger;
use crate::filters::{FilterId, PasswordCache};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::snapshot::{DRAIN_TIMEOUT, RouteEntry, Snapshot};
use crate::upstream::Instance;

/// Maximum age of an Alt-Svc entry that offers HTTP/3.
const ALT_SVC_SECONDS: u32 = 24 * 60 * 60;
/// Maximum size of kept request heads: all those that wait in queues, and long ones until their responses end.
const HEAD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of connections to apps, however many descriptors there are.
const APP_CONNECTIONS_MAX: u32 = 8192;
/// Number of local connections before their users are looked up; most servers never have more.
const LOCAL_UNASKED_MAX: u32 = 64;
/// Base of client keys for local users. It lies in a reserved network, so no address has such a key.
const LOCAL_USERS: u64 = 1 << 33;
/// One local user gets at most one in `LOCAL_PARTS` of a core's places; any other client gets at most a half.
const LOCAL_PARTS: u32 = 4;
/// Root can end the proxy anyway, so a limit would protect nothing.
const ROOT: u32 = 0;
/// Number of idle connections closed at once to make room: one in `CLOSED_PARTS` of the places, and at most 16.
const CLOSED_PARTS: usize = 256;
const CLOSED_AFTER_MS: u64 = 1_000;
/// Silent handshakes close after this time. If more than half the places are silent handshakes, they close after
/// `CLOSED_AFTER_MS`.
const SILENT_AFTER_MS: u64 = 5_000;

/// Result of a route lookup on this core.
pub(crate) enum RouteLookup {
    /// The policy is `None` for a route with only defaults, the metrics for an app that is not measured.
    App(Rc<App>, Option<Arc<Policy>>, Option<Rc<RouteMetrics>>),
    Redirect(Arc<Policy>),
    NoPath,
    NoHost,
    /// Matches one route as spelled and another one as an app may decode it.
    Ambiguous,
}

/// Ports announced to clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnnouncedPorts {
    /// Port that plain HTTP redirects to.
    pub(crate) https: Option<u16>,
    /// Port of HTTP/3.
    pub(crate) quic: Option<u16>,
}

/// State of one core.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) limits: Limits,
    pub(crate) alarms: Rc<Alarms>,
    pub(crate) buffers: Buffers,
    pub(crate) ids: RequestIds,
    pub(crate) access_log: AccessLogger,
    open_connections: Cell<u32>,
    /// Number of open connections, shared with the other cores.
    clients_open: Arc<AtomicU32>,
    pub(crate) siblings: Siblings,
    local_users: LocalUsers,
    /// Idle HTTP/3 connections close if they have idled since this time or longer.
    close_idle_before_ms: Cell<u64>,
    /// Notifies of a panic in a task that the whole core needs.
    pub(crate) failed: Notify,
    pub(crate) malformed_requests: Cell<u64>,
    pub(crate) clients: Clients,
    pub(crate) handshakes: Handshakes,
    pub(crate) backlogs: Rc<Backlogs>,
    /// Quota of bytes for kept request heads.
    heads: Rc<Quota>,
    /// Quota of connections to apps.
    app_connections: Rc<Quota>,
    pub(crate) fd_reserve: FdReserve,
    /// Number of pauses in accepting.
    pub(crate) accept_pauses: Cell<u32>,
    /// Number of connections refused by the limit of a client.
    pub(crate) rejected_connections: Cell<u32>,
    /// Number of connections that a panic ended.
    pub(crate) panics: Cell<u32>,
    /// Notifies when a connection ends.
    pub(crate) connection_ended: Notify,
    draining: Cell<Option<DrainSchedule>>,
    /// Value of Alt-Svc if QUIC listens.
    alt_svc: Option<Box<str>>,
    offers_http3: Cell<bool>,
    /// Port that plain HTTP redirects to.
    pub(crate) https_port: Option<u16>,
    trusts_any: Cell<bool>,
    pub(crate) password_cache: Rc<PasswordCache>,
    rejected: RefCell<HashMap<Box<str>, RejectCounters>>,
    routes: RefCell<Routes>,
    /// Notifies when the first snapshot is in use.
    pub(crate) routes_ready: Notify,
    /// Receives keys of sleeping apps that requests wait for.
    wakes: RefCell<Option<WakeRequests>>,
}

/// Channel of keys of sleeping apps to start.
pub(crate) type WakeRequests = mpsc::UnboundedSender<Box<str>>;

#[derive(Debug, Default)]
struct Routes {
    snapshot: Option<Arc<Snapshot>>,
    /// Parallel to the snapshot's apps.
    apps: Vec<Rc<App>>,
    route_metrics: RouteMetricsTable,
    /// Apps that are in no snapshot but still have exchanges in flight or uncollected numbers.
    retired_apps: Vec<Rc<App>>,
    /// All apps, by the number of their limits.
    by_limits: HashMap<u64, Rc<App>>,
    instances: HashMap<Box<str>, Rc<Instance>>,
    retired_instances: Vec<Rc<Instance>>,
    /// Metrics of each side of a canary.
    sides: Vec<Rc<RouteMetrics>>,
}

impl Core {
    pub(crate) fn new(
        limits: Limits,
        ports: AnnouncedPorts,
        access_log: AccessLogger,
        clients_open: Arc<AtomicU32>,
        siblings: Siblings,
    ) -> Rc<Self> {
        let alarms = Alarms::new();
        // Clients get two thirds of the descriptors, apps get one third.
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
            rejected_connections: Cell::new(0),
            panics: Cell::new(0),
            connection_ended: Notify::new(),
            draining: Cell::new(None),
            https_port: ports.https,
            trusts_any: Cell::new(false),
            password_cache: Rc::default(),
            rejected: RefCell::default(),
            routes: RefCell::default(),
            routes_ready: Notify::new(),
            wakes: RefCell::default(),
        })
    }

    /// Finds the route of a host (lower case) and path in the current snapshot.
    pub(crate) fn find(&self, host: &[u8], path: &[u8]) -> RouteLookup {
        let mut routes = self.routes.borrow_mut();
        let Routes { snapshot: Some(snapshot), apps, route_metrics, .. } = &mut *routes else {
            return RouteLookup::NoHost;
        };
        match snapshot.table.find(host, path) {
            RouteMatch::Found(index) => {
                let RouteEntry { key, app, policy } = &snapshot.routes[index as usize];
                match (app, policy) {
                    (Some(app), policy) => {
                        let spec = &snapshot.apps[*app as usize];
                        let route_metrics =
                            if spec.measured { route_metrics.of(index as usize, key, &spec.key) } else { None };
                        RouteLookup::App(Rc::clone(&apps[*app as usize]), policy.clone(), route_metrics)
                    }
                    (None, Some(policy)) => RouteLookup::Redirect(Arc::clone(policy)),
                    (None, None) => RouteLookup::NoPath,
                }
            }
            RouteMatch::NoPath => RouteLookup::NoPath,
            RouteMatch::NoHost => RouteLookup::NoHost,
            RouteMatch::Ambiguous => RouteLookup::Ambiguous,
        }
    }

    /// True if a host (lower case) has a certificate.
    pub(crate) fn has_certificate(&self, host: &[u8]) -> bool {
        let routes = self.routes.borrow();
        let Some(snapshot) = &routes.snapshot else { return false };
        std::str::from_utf8(host).is_ok_and(|host| snapshot.certificates.has(host))
    }

    /// Returns the TLS policy of a host (lower case).
    pub(crate) fn tls_policy(&self, host: &str) -> Option<Arc<TlsPolicy>> {
        self.routes.borrow().snapshot.as_ref()?.certificates.policy(host)
    }

    /// Returns the answer to an HTTP-01 challenge of a host (lower case); `None` if no certificate is ordered for it.
    pub(crate) fn key_authorization(&self, host: &[u8], token: &[u8]) -> Option<String> {
        self.routes.borrow().snapshot.as_ref()?.challenges.key_authorization(host, token)
    }

    /// Sets the channel that reports requests for sleeping apps.
    pub(crate) fn set_wake_requests(&self, wake_requests: WakeRequests) {
        self.wakes.replace(Some(wake_requests));
    }

    /// True if any upstream proxy is trusted.
    pub(crate) fn trusts_any(&self) -> bool {
        self.trusts_any.get()
    }

    /// Returns whether the PROXY protocol header of `peer` is trusted; `None` if connections start without one.
    pub(crate) fn proxy_header_trust(&self, peer: IpAddr) -> Option<bool> {
        let routes = self.routes.borrow();
        let snapshot = routes.snapshot.as_ref().filter(|snapshot| snapshot.settings.proxy_protocol)?;
        Some(snapshot.trust.as_ref().is_some_and(|trust| trust.trusts(peer)))
    }

    /// Returns the client that a trusted proxy forwards for; `None` if `peer` is the client.
    pub(crate) fn client_behind<'a>(
        &self,
        peer: &Client,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Option<Client> {
        self.routes.borrow().snapshot.as_ref()?.trust.as_ref()?.client(peer, headers)
    }

    /// Counts a request that a filter rejected. Routes with only defaults share the empty key.
    pub(crate) fn count(&self, route: &str, filter: FilterId) {
        let mut rejected = self.rejected.borrow_mut();
        match rejected.get_mut(route) {
            Some(counters) => counters.count(filter),
            None => rejected.entry(route.into()).or_default().count(filter),
        }
    }

    /// Waits for the first snapshot.
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

    /// Applies a snapshot. Exchanges in flight keep their app and instance.
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
        let mut must_wake = false;
        for spec in &snapshot.apps {
            let mut members = Vec::new();
            for upstream in &spec.upstreams {
                let instance = match old_instances.remove(&upstream.instance) {
                    Some(instance) if instance.is_reached_by(&upstream.connector) => instance,
                    replaced => {
                        routes.retired_instances.extend(replaced);
                        let (connector, shared) = (Arc::clone(&upstream.connector), Arc::clone(&upstream.shared));
                        Instance::new(&upstream.instance, connector, shared)
                    }
                };
                instance.set_draining(upstream.draining);
                instance.set_side(side(&mut routes.sides, &upstream.side));
                must_wake |= instance.close_tunnels_within(
                    upstream.draining.then(|| DrainWindow::for_tunnels(now_ms, upstream.drain_timeout)),
                );
                if !upstream.draining {
                    members.push(WeightedInstance { instance: Rc::clone(&instance), weight: upstream.weight });
                }
                routes.instances.insert(upstream.instance.clone(), instance);
            }
            let app = old_apps.remove(&spec.key).unwrap_or_else(|| {
                let quotas = (&self.app_connections, &self.heads);
                App::new(&spec.key, &self.alarms, quotas, (&spec.limits, &self.siblings))
            });
            app.may_sleep(spec.wake_timeout, &self.wakes.borrow());
            app.set(spec.measured, &spec.traffic, members);
            routes.apps.push(app);
        }
        routes.retired_instances.extend(old_instances.into_values());
        for instance in &routes.retired_instances {
            instance.set_draining(true);
            must_wake |= instance.close_tunnels_within(Some(DrainWindow::for_tunnels(now_ms, DRAIN_TIMEOUT)));
        }
        for app in old_apps.into_values() {
            app.retire();
            routes.retired_apps.push(app);
        }
        let apps = routes.apps.iter().chain(&routes.retired_apps);
        routes.by_limits = apps.map(|app| (app.limits.id, Rc::clone(app))).collect();
        self.trusts_any.set(snapshot.trust.is_some());
        routes.route_metrics.apply(&snapshot);
        self.access_log.set(&snapshot.settings.access_log, &snapshot.access_log_path);
        routes.snapshot = Some(snapshot);
        self.routes_ready.notify_waiters();
        if must_wake {
            self.alarms.wake_all();
        }
    }

    /// Executes a message of an app on another core. The app may have ended here in the meantime.
    pub(crate) fn receive(&self, message: AppMessage) {
        let app = self.routes.borrow().by_limits.get(&message.limits).cloned();
        if let Some(app) = app {
            app.receive(message);
        }
    }

    /// Returns the numbers since the last collection and drops apps and instances that are no longer in use.
    pub(crate) fn collect(&self) -> CoreStats {
        let mut routes = self.routes.borrow_mut();
        let apps = routes.apps.iter().chain(&routes.retired_apps).map(|app| app.collect()).collect();
        let instances = routes.instances.values().chain(&routes.retired_instances);
        let instances = instances.map(|instance| (instance.id.clone(), instance.in_flight())).collect();
        let (used, unused) = routes.retired_apps.drain(..).partition(|app| app.in_flight.get() > 0);
        routes.retired_apps = used;
        let unused: Vec<Rc<App>> = unused;
        unused.iter().for_each(|app| drop(routes.by_limits.remove(&app.limits.id)));
        routes.retired_instances.retain(|instance| instance.in_flight() > 0);
        CoreStats {
            apps,
            instances,
            route_metrics: routes.route_metrics.collect(),
            sides: collect_sides(&mut routes.sides),
            rejected: self.rejected.take().into_iter().collect(),
            open_connections: self.open_connections(),
            malformed_requests: self.malformed_requests.take(),
            access_log_dropped: self.access_log.take_dropped(),
            accept_pauses: self.accept_pauses.take(),
            rejected_connections: self.rejected_connections.take(),
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

    /// Makes room for other clients: closes silent handshakes first, then the connections that have idled longest.
    /// Returns true if it closed TCP connections, because their places are free in a moment. HTTP/3 connections follow
    /// within about a second. No idle connection closes while silent handshakes hold most places.
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

    /// True if an HTTP/3 connection that has idled since then must close to make room.
    pub(crate) fn wants_place_of(&self, idle_since_ms: u64) -> bool {
        idle_since_ms <= self.close_idle_before_ms.get()
    }

    /// Returns the key and the connection limit of a client; `None` for no limit. Local processes count by user,
    /// because they have any number of addresses. Trusted proxies elsewhere stand for many clients and have no limit.
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

    /// True if the limit of a QUIC client allows another connection.
    pub(crate) fn may_enter(&self, client: IpAddr) -> bool {
        self.connections_per_client(client, || None).is_none_or(|(client, most)| self.clients.open(client) < most)
    }

    /// Returns the user of a local connection.
    pub(crate) fn local_user(&self, socket: impl AsFd, peer: SocketAddr) -> Option<u32> {
        self.local_users.user_of(socket, peer)
    }

    /// Returns the key of the client at an address. All addresses of this machine are one client, because a local
    /// process has millions of them.
    pub(crate) fn client_key(&self, client: IpAddr) -> u64 {
        let client = client.to_canonical();
        let is_local = client.is_loopback() && !self.limits.bounds_loopback;
        client_key(if is_local { Ipv6Addr::LOCALHOST.into() } else { client })
    }

    /// Opens the backlog of a connection from `peer`.
    pub(crate) fn backlog(&self, peer: IpAddr) -> Rc<Backlog> {
        let is_trusted = {
            let routes = self.routes.borrow();
            let trust = routes.snapshot.as_ref().and_then(|snapshot| snapshot.trust.as_ref());
            trust.is_some_and(|trust| trust.trusts(peer.to_canonical()))
        };
        self.backlogs.open((!is_trusted).then(|| self.client_key(peer)))
    }

    /// Closes expired idle connections to apps, and connections of clients that hold too much memory. Frees unused
    /// blocks.
    pub(crate) fn sweep(&self) {
        let now_ms = self.alarms.now_ms();
        blocks::free_unused_blocks();
        self.routes.borrow().instances.values().for_each(|instance| instance.sweep(now_ms, &self.limits));
        self.fd_reserve.refill();
        if self.backlogs.cut_slowest() {
            self.alarms.wake_all();
        }
    }

    /// Advances the timers of alarms, access log and apps.
    pub(crate) fn tick(&self) {
        self.alarms.tick();
        self.access_log.flush();
        self.routes.borrow().apps.iter().for_each(|app| app.tick());
    }

    /// Applies a health check result.
    pub(crate) fn set_health(&self, instance: &str, healthy: bool) {
        let routes = self.routes.borrow();
        if let Some(instance) = routes.instances.get(instance) {
            routes.apps.iter().for_each(|app| app.set_health(instance, healthy));
        }
    }

    /// Starts a drain: every connection closes after its exchange, idle ones over the `idle_window` of the options.
    pub(crate) fn drain(&self, order: DrainOptions) {
        self.draining.set(Some(DrainSchedule::begin(self.alarms.now_ms(), order)));
        self.alarms.wake_all();
    }

    /// True if the settings enable HTTP/3.
    pub(crate) fn offers_http3(&self) -> bool {
        self.offers_http3.get()
    }

    /// Returns the Alt-Svc value that announces HTTP/3 to TCP clients (RFC 7838).
    pub(crate) fn alt_svc(&self) -> Option<&[u8]> {
        self.alt_svc.as_deref().filter(|_| self.offers_http3.get()).map(str::as_bytes)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    /// Returns when an idle connection closes in a drain, at a random moment for each call; `None` without a drain.
    pub(crate) fn close_idle_at(&self) -> Option<u64> {
        self.draining.get().map(|draining| draining.close_idle_at(self.jitter()))
    }

    /// Returns when the WebSocket with this random `jitter` is asked to close in a drain; `None` without a drain.
    pub(crate) fn close_tunnel_at(&self, jitter: u16) -> Option<u64> {
        self.draining.get().map(|draining| draining.tunnels.moment(jitter))
    }

    /// Returns a random number that spreads an action over many connections.
    pub(crate) fn jitter(&self) -> u16 {
        // The lowest bits are as random as any.
        (self.ids.random() & 0xffff) as u16
    }
}

/// Returns the metrics of a side of a canary, and creates them if they are new.
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
