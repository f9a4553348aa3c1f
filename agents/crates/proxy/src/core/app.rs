//! App as one core sees it: its instances, wait queue, limits and numbers. Decides which requests are admitted, in
//! which order and to which instance; performs no I/O. Invariant: all state belongs to this app, and to this core or to
//! counters that all cores share without a lock, so no app waits for another.

mod bounds;
mod hand_over;
mod load_balancer;
mod permit;
mod permit_pool;
mod queue_room;
mod shared_limits;
mod shares;
mod sleep;
mod wait_queue;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use fairlead_model::{AppTraffic, Priority};
use fairlead_route::{Admission, RequestIds, RetryBudget};

pub(crate) use bounds::AppLimits;
pub(crate) use hand_over::AppMessage;
pub(crate) use load_balancer::{Affinity, InstanceHealth, WeightedInstance};
pub(crate) use permit::{InFlightRequest, Permit};
pub(crate) use permit_pool::PermitPool;
pub(crate) use shared_limits::{SharedInstance, SharedLimits, SharedLimitsTable};
pub(crate) use wait_queue::QueuedRequest;

use super::{Alarms, AppNumbers, AppPart, AppShare, AppStats, Quota, Siblings};
use crate::upstream::Instance;
use hand_over::HandOver;
use load_balancer::{Choice, LoadBalancer};
use queue_room::{Place, RoomRequest};
use shares::Shares;
use sleep::SleepState;
use wait_queue::{QueueEntry, WaitQueue};

/// App on one core. Lives while it has exchanges in flight, even when no route leads to it.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) key: Box<str>,
    measured: Cell<bool>,
    pub(crate) numbers: RefCell<AppNumbers>,
    /// Exchanges in flight, queued ones included.
    pub(crate) in_flight: Cell<u32>,
    clock: Rc<Alarms>,
    random: RequestIds,
    bounds: Cell<AppLimits>,
    /// Limits that all cores share.
    pub(crate) limits: Arc<SharedLimits>,
    siblings: Siblings,
    hand_over: HandOver,
    /// Use of the quota of connections to apps.
    connections: Rc<AppPart>,
    /// Use of the quota of kept request heads.
    heads: Rc<AppPart>,
    load_balancer: RefCell<LoadBalancer>,
    /// Number of permits in use.
    busy: Cell<u32>,
    wait_queue: RefCell<WaitQueue>,
    /// Permits held by each client.
    shares: RefCell<Shares>,
    /// Length of the wait queue, cached for the hot path.
    queue_length: Cell<u32>,
    /// Number of queued requests that count against the queue length of all cores.
    queue_places: Cell<u32>,
    /// Number of requests for room in the queues of other cores so far.
    room_requests: Cell<u64>,
    admission: Cell<Admission>,
    budget: Cell<RetryBudget>,
    /// Set if the app may sleep, which means that it has no instance while no requests arrive.
    sleep: RefCell<Option<SleepState>>,
}

/// Request for an instance of an app.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceRequest {
    /// Key of the address of the client.
    pub(crate) client: u64,
    pub(crate) priority: Priority,
    pub(crate) affinity: Affinity,
    /// Instance that just failed the request; avoided if another one is available.
    pub(crate) avoid: Option<Rc<Instance>>,
}

/// Result of a request for an instance.
pub(crate) enum AcquireResult {
    Granted(InFlightRequest, Permit),
    Queued(QueuedRequest),
    Refused(Refusal),
}

/// Reason why a request gets no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the app has no instance")]
    NoInstance,
    #[error("too many requests wait for the app")]
    QueueFull,
    #[error("the app does not keep up, and others matter more")]
    Shed,
    #[error("no instance was free in time")]
    QueueTimeout,
    #[error("too many bytes of requests are kept already")]
    HeadQuota,
}

impl App {
    pub(crate) fn new(
        key: &str,
        clock: &Rc<Alarms>,
        (connections, heads): (&Rc<Quota>, &Rc<Quota>),
        (limits, siblings): (&Arc<SharedLimits>, &Siblings),
    ) -> Rc<Self> {
        Rc::new(Self {
            key: key.into(),
            limits: Arc::clone(limits),
            siblings: siblings.clone(),
            hand_over: HandOver::new(limits.clients.lead_ms(clock.started())),
            queue_places: Cell::new(0),
            room_requests: Cell::new(0),
            measured: Cell::new(false),
            numbers: RefCell::default(),
            in_flight: Cell::new(0),
            clock: Rc::clone(clock),
            random: RequestIds::new(),
            bounds: Cell::new(AppLimits::of(&AppTraffic::default())),
            connections: AppPart::new(connections),
            heads: AppPart::new(heads),
            load_balancer: RefCell::default(),
            busy: Cell::new(0),
            wait_queue: RefCell::default(),
            shares: RefCell::default(),
            queue_length: Cell::new(0),
            admission: Cell::default(),
            budget: Cell::default(),
            sleep: RefCell::default(),
        })
    }

    pub(crate) fn bounds(&self) -> AppLimits {
        self.bounds.get()
    }

    /// Applies a snapshot; `members` are the instances that take new exchanges.
    pub(crate) fn set(self: &Rc<Self>, measured: bool, traffic: &AppTraffic, members: Vec<WeightedInstance>) {
        self.measured.set(measured);
        self.set_bounds(AppLimits::of(traffic));
        let mut load_balancer = self.load_balancer.borrow_mut();
        load_balancer.set(&self.key, traffic, members, self.clock.now_ms());
        load_balancer.set_permits(self.bounds.get());
        drop(load_balancer);
        self.update_shares();
        self.dispatch();
    }

    /// Removes all instances, because no snapshot contains the app any more. Queued requests are refused.
    pub(crate) fn retire(self: &Rc<Self>) {
        self.load_balancer.borrow_mut().clear();
        self.update_shares();
        self.dispatch();
    }

    /// Applies a health check result if the instance belongs to this app.
    pub(crate) fn set_health(self: &Rc<Self>, instance: &Rc<Instance>, healthy: bool) {
        if self.load_balancer.borrow_mut().set_health(instance, healthy, self.clock.now_ms()) {
            self.dispatch();
        }
    }

    /// Returns the session affinity of a request; `cookies` are its Cookie fields, `client` is the key of its address.
    pub(crate) fn affinity<'a>(
        &self,
        cookies: impl Iterator<Item = &'a [u8]>,
        client: impl FnOnce() -> u64,
    ) -> Affinity {
        if !self.bounds.get().sticky_sessions {
            return Affinity::Any;
        }
        self.load_balancer.borrow().affinity(cookies, client)
    }

    /// Returns the Set-Cookie value that ties a client to `instance`. `None` without cookie-based sticky sessions, or
    /// if the client is tied to it already.
    pub(crate) fn sticky_cookie(&self, instance: &Rc<Instance>, affinity: &Affinity, secure: bool) -> Option<String> {
        if !self.bounds.get().sticky_sessions {
            return None;
        }
        self.load_balancer.borrow().sticky_cookie(instance, affinity, secure)
    }

    /// Returns an instance for a request, or queues it. With a free instance it neither allocates nor reads the clock.
    pub(crate) fn acquire(self: &Rc<Self>, request: InstanceRequest) -> AcquireResult {
        // This overtakes no queued request: none of them could use an instance that is free now.
        if !self.has_share(request.client, self.clock.now_ms()) {
            return self.enqueue(request);
        }
        match self.choose(&request) {
            Choice::Instance(instance) => {
                let (serving, permit) = self.grant(instance, request.client);
                AcquireResult::Granted(serving, permit)
            }
            Choice::NoInstance if !self.request_start() => AcquireResult::Refused(Refusal::NoInstance),
            Choice::NoInstance | Choice::Wait => self.enqueue(request),
        }
    }

    /// Counts a kept request head; `None` if its client, this app or the core keeps too many bytes.
    pub(crate) fn keep_head(&self, client: u64, bytes: usize) -> Option<AppShare> {
        self.heads.try_take(client, bytes)
    }

    /// True if the retry budget allows a retry, which is then counted.
    pub(crate) fn may_retry(&self) -> bool {
        let mut budget = self.budget.get();
        let may = budget.take(self.bounds.get().retry_budget_percent, self.clock.now_ms());
        self.budget.set(budget);
        self.numbers.borrow_mut().retries += u64::from(may);
        may
    }

    /// Adds the share of one request to the retry budget.
    pub(crate) fn add_retry_budget(&self) {
        let mut budget = self.budget.get();
        budget.add(self.bounds.get().retry_budget_percent);
        self.budget.set(budget);
    }

    /// Advances the time: ejections and slow starts progress, and queued requests time out.
    pub(crate) fn tick(self: &Rc<Self>) {
        self.load_balancer.borrow_mut().tick(self.clock.now_ms());
        let bounds = self.bounds.get();
        if bounds.adapts_concurrency {
            self.load_balancer.borrow().adapt(bounds, self.queue_length.get() > 0, self.clock.now_ms());
            self.update_shares();
        }
        if self.queue_length.get() > 0 {
            self.expire();
            self.dispatch();
        }
        if self.sleeps() {
            // A queue that waits for the first instance says nothing about the capacity of the app.
            return;
        }
        let mut admission = self.admission.get();
        if bounds.load_shedding && (self.queue_length.get() > 0 || !admission.is_open()) {
            let now_ms = self.clock.exact_ms();
            let oldest_ms = self.permits_wanted_since_ms().map(|since| now_ms.saturating_sub(since));
            admission.step(now_ms, oldest_ms, bounds.queue_timeout_ms);
            self.admission.set(admission);
        }
    }

    /// Returns the numbers since the last collection, and current gauges.
    pub(crate) fn collect(&self) -> AppStats {
        let load_balancer = self.load_balancer.borrow();
        AppStats {
            key: self.key.clone(),
            measured: self.measured.get(),
            numbers: self.numbers.take(),
            in_flight: self.in_flight.get(),
            queue_length: self.queue_places.get(),
            ejected: load_balancer.count(|state| state.is_out()),
            unhealthy: load_balancer.count(|state| !state.is_healthy()),
        }
    }

    /// Chooses an instance for a request and takes the permits that all cores share.
    fn choose(&self, request: &InstanceRequest) -> Choice {
        loop {
            if !self.has_app_permit() || !self.has_connection() || !self.may_connect(request.client) {
                return if self.load_balancer.borrow().is_empty() { Choice::NoInstance } else { Choice::Wait };
            }
            let choice = self.load_balancer.borrow_mut().choose(request, self.random.random());
            match &choice {
                // Another core has taken the last permit in between: another instance may have one.
                Choice::Instance(instance) if !self.take_shared_permits(instance) => {}
                _ => return choice,
            }
        }
    }

    /// True if this app may have another connection. Always true for HTTP/2, because its requests share a few
    /// connections.
    fn has_connection(&self) -> bool {
        self.bounds.get().shares_connections || self.connections.has_room(1)
    }

    /// True if a client may have another connection to an app.
    fn may_connect(&self, client: u64) -> bool {
        self.bounds.get().shares_connections || self.connections.has_room_for(client, 1)
    }

    /// True if a client has room in its shares of the permits of this app and of the connections to apps.
    fn may_be_served(&self, client: u64, now_ms: u64) -> bool {
        self.has_share(client, now_ms) && self.may_connect(client)
    }

    /// True if a client may have one more permit of this app.
    fn has_share(&self, client: u64, now_ms: u64) -> bool {
        self.shares.borrow().may(client, now_ms) && self.has_shared_share(client, now_ms)
    }

    /// Returns since when the oldest request that a free permit would serve has waited.
    fn permits_wanted_since_ms(&self) -> Option<u64> {
        let now_ms = self.clock.now_ms();
        let mut wait_queue = self.wait_queue.borrow_mut();
        let mut place = wait_queue.oldest();
        while let Some(waits) = place {
            if wait_queue.request(waits).is_some_and(|request| self.may_be_served(request.client, now_ms)) {
                return wait_queue.since_ms(waits);
            }
            place = wait_queue.after(Some(waits));
        }
        None
    }

    /// Sets the number of permits that clients share.
    fn update_shares(&self) {
        let permits = self.load_balancer.borrow().permits().min(self.bounds.get().permits_max);
        self.shares.borrow_mut().set_permits(permits);
        let shared_permits = self.load_balancer.borrow().shared_permits().min(self.bounds.get().permits_max);
        self.limits.clients.set_permits(shared_permits);
    }

    fn grant(self: &Rc<Self>, instance: Rc<Instance>, client: u64) -> (InFlightRequest, Permit) {
        let connection = (!self.bounds.get().shares_connections).then(|| self.connections.take(client, 1));
        let (trial, changed) = instance.state.begin();
        if changed {
            self.load_balancer.borrow_mut().weigh(self.clock.now_ms());
        }
        self.busy.set(self.busy.get() + 1);
        (
            InFlightRequest::new(self, Rc::clone(&instance), trial, client, connection),
            Permit::new(self, instance, client),
        )
    }

    fn enqueue(self: &Rc<Self>, request: InstanceRequest) -> AcquireResult {
        let bounds = self.bounds.get();
        if bounds.load_shedding && self.admission.get().sheds(request.priority) {
            self.numbers.borrow_mut().load_shed += 1;
            return AcquireResult::Refused(Refusal::Shed);
        }
        let mut wait_queue = self.wait_queue.borrow_mut();
        let room_request = match self.take_place(&mut wait_queue, &request) {
            Place::Taken => None,
            Place::Asked(number) => Some(number),
            Place::None => {
                self.numbers.borrow_mut().queue_full += 1;
                return AcquireResult::Refused(Refusal::QueueFull);
            }
        };
        self.numbers.borrow_mut().queued += u64::from(room_request.is_none());
        let (client, now_ms) = (request.client, self.clock.now_ms());
        let has_others = wait_queue.has_others(client);
        self.shares.borrow_mut().waits(client, has_others, now_ms);
        let own = room_request.map(|_| (request.priority, wait_queue.len_of(client, request.priority)));
        let entry = QueueEntry::new(request, self.clock.exact_ms()).with_room_request(room_request);
        let place = wait_queue.push(entry);
        self.wait_queue_changed(&wait_queue);
        drop(wait_queue);
        let queued = QueuedRequest::new(self, place);
        if let (Some(number), Some((priority, own))) = (room_request, own) {
            self.ask_for_room(RoomRequest { core: self.siblings.own(), place, number, client, priority, own });
        }
        self.began_to_wait(place, has_others, now_ms);
        AcquireResult::Queued(queued)
    }

    /// Grants free permits to queued requests in turn. A request that waits for a certain instance, or for the share
    /// of connections of its client, blocks no other.
    fn dispatch(self: &Rc<Self>) {
        // A core that put a permit back just before this one began to wait did not see it.
        while self.serve_queue() {}
    }

    /// Serves queued requests; returns true if this core waits for shared permits for which it did not wait before.
    fn serve_queue(self: &Rc<Self>) -> bool {
        let mut wait_queue = self.wait_queue.borrow_mut();
        let bounds = self.bounds.get();
        let now_ms = self.clock.now_ms();
        let mut awaited = Vec::new();
        // Sticky requests of a busy instance: each is checked once, in the order of arrival.
        let mut passing = false;
        let mut last = None;
        let looked_at_all = loop {
            let may = |client| self.may_be_served(client, now_ms);
            let next = if passing { wait_queue.after(last) } else { wait_queue.next(may) };
            let Some(place) = next else { break true };
            let before = last.replace(place);
            let Some(request) = wait_queue.request(place) else { break true };
            let client = request.client;
            if passing && !may(client) {
                continue;
            }
            match self.choose(request) {
                Choice::Instance(instance) => {
                    let permit = self.grant(instance, client);
                    let waited_ms = wait_queue.serve(place, permit, self.clock.exact_ms());
                    let mut admission = self.admission.get();
                    admission.waited(waited_ms);
                    self.admission.set(admission);
                    last = before;
                }
                Choice::NoInstance if self.request_start() => break false,
                Choice::NoInstance => {
                    wait_queue.settle(place, Err(Refusal::NoInstance), 0);
                    last = before;
                }
                Choice::Wait if self.awaits(request, &mut awaited) => last = before,
                Choice::Wait if bounds.sticky_sessions && self.has_app_permit() && self.has_connection() => {
                    if !passing {
                        (passing, last) = (true, None);
                    }
                }
                Choice::Wait => break false,
            }
        };
        self.wait_queue_changed(&wait_queue);
        // Those that are left wait for the shares of their clients, among others.
        let awaits_share = looked_at_all && wait_queue.len() > 0 && self.shares_by_client(now_ms);
        self.wait_for(awaited, awaits_share)
    }

    /// Refuses requests that have waited too long. They are first in the queue, because all have the same timeout.
    fn expire(&self) {
        let mut wait_queue = self.wait_queue.borrow_mut();
        let now_ms = self.clock.exact_ms();
        let timeout_ms = self.wait_ms();
        while let (Some(place), Some(since_ms)) = (wait_queue.oldest(), wait_queue.oldest_since_ms()) {
            if now_ms.saturating_sub(since_ms) < timeout_ms {
                break;
            }
            wait_queue.settle(place, Err(Refusal::QueueTimeout), now_ms);
            self.numbers.borrow_mut().queue_timeouts += 1;
        }
        self.wait_queue_changed(&wait_queue);
    }

    fn wait_queue_changed(&self, wait_queue: &WaitQueue) {
        let length = wait_queue.len();
        if length == 0 && self.queue_length.get() > 0 {
            let mut admission = self.admission.get();
            admission.record_empty();
            self.admission.set(admission);
        }
        self.queue_length.set(length);
        self.put_back_places(wait_queue);
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
