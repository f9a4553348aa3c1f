//! Hand-over of permits between cores: a permit that comes back goes to the core whose queue has the next turn. Without
//! a queue it goes back to the pool, and no core hears of it. Invariant: a core that waits for a pool is in its
//! `waiting`, and looks at the pool once more after it has joined.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::permit_pool::next_core;
use super::queue_room::{RoomAnswer, RoomRequest};
use super::{App, AppLimits, InstanceRequest, PermitPool};
use crate::upstream::Instance;
use crate::worker::CoreCommand;

/// Maximum number of permits that a core keeps in a row while others wait.
const KEPT_MAX: usize = 16;
/// A core keeps at most one in `KEPT_PARTS` of its even share of the permits in a row.
const KEPT_PARTS: usize = 4;

/// Message to the same app on another core.
#[derive(Debug)]
pub(crate) struct AppMessage {
    /// Number of the limits of the app.
    pub(crate) limits: u64,
    body: HandOverBody,
}

#[derive(Debug)]
enum HandOverBody {
    Offer(PermitOffer),
    /// A permit of this pool is free; without a pool, the share of a client.
    Free(Option<Arc<PermitPool>>),
    /// These connections to an instance are more than allowed.
    CloseIdle(Arc<PermitPool>),
    RoomRequest(RoomRequest),
    RoomAnswer(RoomAnswer),
}

/// Permits on their way to a core, put back if that core has ended.
#[derive(Debug, Default)]
struct PermitOffer {
    app: Option<Arc<PermitPool>>,
    instance: Option<Arc<PermitPool>>,
}

impl Drop for PermitOffer {
    fn drop(&mut self) {
        [self.app.take(), self.instance.take()].iter().flatten().for_each(|pool| pool.put_back(1));
    }
}

/// State of the hand-over of an app's permits on one core.
#[derive(Debug)]
pub(super) struct HandOver {
    /// True if all cores share permits of the whole app, or any permits; cached for the hot path.
    shares_app_permits: Cell<bool>,
    shares_permits: Cell<bool>,
    /// Milliseconds by which the clock of this core leads that of the shares of clients.
    lead_ms: i64,
    /// True while this core has a permit of the app that no request uses yet.
    has_offer: Cell<bool>,
    /// Pools that this core waits for.
    awaited: RefCell<Vec<Arc<PermitPool>>>,
    /// True if this core waits for the share of a client.
    awaits_share: Cell<bool>,
    /// Number of permits that this core has kept in a row while others waited.
    kept: Cell<usize>,
}

impl HandOver {
    pub(super) fn new(lead_ms: i64) -> Self {
        Self {
            shares_app_permits: Cell::new(false),
            shares_permits: Cell::new(false),
            lead_ms,
            has_offer: Cell::new(false),
            awaited: RefCell::default(),
            awaits_share: Cell::new(false),
            kept: Cell::new(0),
        }
    }
}

impl App {
    /// Applies limits. Requests in flight count for a new shared limit from now on.
    pub(super) fn set_bounds(&self, bounds: AppLimits) {
        self.bounds.set(bounds);
        self.hand_over.shares_permits.set(bounds.shares_permits());
        let before = self.hand_over.shares_app_permits.replace(bounds.shares_app_permits());
        self.limits.queue.set_max(bounds.queue_length_max);
        let in_flight = &self.limits.in_flight;
        in_flight.set_max(bounds.permits_max);
        match (before, bounds.shares_app_permits()) {
            (false, true) => in_flight.take_anyway(self.busy.get()),
            (true, false) => in_flight.put_back(self.busy.get()),
            (false, false) | (true, true) => {}
        }
    }

    /// True if all cores share any permits.
    pub(super) fn shares_permits(&self) -> bool {
        self.hand_over.shares_permits.get()
    }

    /// True if a permit of the app is free.
    pub(super) fn has_app_permit(&self) -> bool {
        !self.hand_over.shares_app_permits.get() || self.hand_over.has_offer.get() || self.limits.in_flight.has_room()
    }

    /// True if the permits that a client has on all cores leave it one more.
    pub(super) fn has_shared_share(&self, client: u64, now_ms: u64) -> bool {
        !self.shares_permits() || self.limits.clients.may(client, self.shared_ms(now_ms))
    }

    /// True if clients have only their share of the permits of all cores.
    pub(super) fn shares_by_client(&self, now_ms: u64) -> bool {
        self.shares_permits() && self.limits.clients.are_shared(self.shared_ms(now_ms))
    }

    /// Returns a time of this core's clock on the clock of the shares of clients.
    fn shared_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(-self.hand_over.lead_ms)
    }

    /// Takes the permits for a request at `instance` that all cores share; `false` if one of them is not free.
    pub(super) fn take_shared_permits(&self, instance: &Instance) -> bool {
        let shares_app_permits = self.hand_over.shares_app_permits.get();
        if shares_app_permits && !self.hand_over.has_offer.replace(false) && !self.limits.in_flight.try_take() {
            return false;
        }
        let is_taken = instance.take_shared_permit();
        if !is_taken && shares_app_permits {
            self.put_back(&self.limits.in_flight);
        }
        is_taken
    }

    /// Hands on the permits of a request that has ended at `instance`, or puts them back if no core waits for them.
    pub(super) fn hand_on(self: &Rc<Self>, instance: &Rc<Instance>) {
        let app = self.hand_over.shares_app_permits.get().then_some(&self.limits.in_flight);
        let pools = [app, instance.shared_permits()];
        if let [None, None] = pools {
            if self.queue_length.get() > 0 {
                self.dispatch();
            }
            return;
        }
        let mut taken = pools.iter().flatten();
        let is_awaited = taken.clone().any(|pool| !pool.waiting.is_empty()) && !taken.any(|pool| pool.is_over());
        match if is_awaited { self.next_turn(pools) } else { None } {
            None => pools.into_iter().flatten().for_each(|pool| self.put_back(pool)),
            Some(core) if core == self.siblings.own() => {
                self.hand_over.has_offer.set(app.is_some());
                if pools[1].is_some() {
                    instance.offer_permit();
                }
                self.dispatch();
                return self.withdraw_offer(Some(instance));
            }
            Some(core) => {
                let [app, instance] = pools.map(|pool| pool.map(Arc::clone));
                self.send(core, HandOverBody::Offer(PermitOffer { app, instance }));
            }
        }
        if self.queue_length.get() > 0 {
            self.dispatch();
        }
    }

    /// Returns the core that gets the next permit of these pools. A core keeps a permit for as many turns as it has
    /// clients in its queue, or for a batch of a large limit, before another core that waits gets one.
    fn next_turn(&self, pools: [Option<&Arc<PermitPool>>; 2]) -> Option<usize> {
        let some = pools[0].or(pools[1])?;
        let sets = pools.map(|pool| &pool.unwrap_or(some).waiting);
        let own = self.siblings.own();
        let waits = sets.iter().any(|set| set.contains(own));
        let kept = self.hand_over.kept.get();
        if waits && kept < self.kept_max(pools) {
            self.hand_over.kept.set(kept + 1);
            return Some(own);
        }
        self.hand_over.kept.set(0);
        let last = self.limits.turn.load(Ordering::Relaxed);
        let next = next_core(sets, last)?;
        let next = if next == own { next_core(sets, own)? } else { next };
        self.limits.turn.store(next, Ordering::Relaxed);
        Some(next)
    }

    /// Returns how many permits in a row this core may keep.
    fn kept_max(&self, pools: [Option<&Arc<PermitPool>>; 2]) -> usize {
        let permits = pools.into_iter().flatten().map(|pool| pool.max() / pool.waiting.len().max(1)).min().unwrap_or(0);
        let batch = usize::try_from(permits).unwrap_or(KEPT_MAX) / KEPT_PARTS;
        self.wait_queue.borrow().clients().max(batch).clamp(1, KEPT_MAX)
    }

    /// Puts a permit back to its pool, and wakes a core that waits for it.
    fn put_back(&self, pool: &Arc<PermitPool>) {
        pool.put_back(1);
        self.wake_for(pool);
    }

    /// Wakes a core that waits for a pool if a permit is free there.
    fn wake_for(&self, pool: &Arc<PermitPool>) {
        if !pool.waiting.is_empty()
            && pool.has_room()
            && let Some(core) = next_core([&pool.waiting; 2], self.siblings.own())
        {
            self.send(core, HandOverBody::Free(Some(Arc::clone(pool))));
        }
    }

    /// Wakes the other cores that wait for the share of a client.
    pub(super) fn wake_share_waiters(&self) {
        let others = self.limits.clients.waiting.iter().filter(|core| *core != self.siblings.own());
        others.for_each(|core| self.send(core, HandOverBody::Free(None)));
    }

    /// Lets other cores close idle connections to an instance that has more than allowed.
    pub(crate) fn close_idle_elsewhere(&self, connections: &Arc<PermitPool>) {
        for core in self.siblings.others() {
            self.send(core, HandOverBody::CloseIdle(Arc::clone(connections)));
        }
    }

    /// Puts permits back that were offered to this core and that no request has used.
    fn withdraw_offer(&self, instance: Option<&Rc<Instance>>) {
        if self.hand_over.has_offer.replace(false) {
            self.put_back(&self.limits.in_flight);
        }
        if let Some(permits) = instance.and_then(|instance| instance.withdraw_offer()) {
            self.put_back(permits);
        }
    }

    /// Executes a message of another core.
    pub(crate) fn receive(self: &Rc<Self>, message: AppMessage) {
        match message.body {
            HandOverBody::Offer(offer) => self.take_offer(offer),
            HandOverBody::Free(pool) => {
                self.dispatch();
                // There may be more than this core needs, or it waits for something else by now.
                pool.iter().for_each(|pool| self.wake_for(pool));
            }
            HandOverBody::CloseIdle(connections) => {
                let instance = self.load_balancer.borrow().instance_with(&connections);
                instance.iter().for_each(|instance| instance.close_surplus());
            }
            HandOverBody::RoomRequest(request) => self.make_room_for(request),
            HandOverBody::RoomAnswer(answer) => self.take_room(answer),
        }
    }

    fn take_offer(self: &Rc<Self>, mut offer: PermitOffer) {
        let [app, permits] = [offer.app.take(), offer.instance.take()];
        let known = permits.as_ref().and_then(|permits| self.load_balancer.borrow().instance_with(permits));
        match (&known, &permits) {
            (Some(instance), Some(permits)) if !permits.is_over() => instance.offer_permit(),
            (_, Some(permits)) => self.put_back(permits),
            (_, None) => {}
        }
        match &app {
            Some(app) if app.is_over() => self.put_back(app),
            app => self.hand_over.has_offer.set(app.is_some()),
        }
        self.dispatch();
        self.withdraw_offer(known.as_ref());
    }

    /// Adds the pools that a request waits for to `awaited`. Returns true if it need not wait: another core has put a
    /// permit back in between.
    pub(super) fn awaits(&self, request: &InstanceRequest, awaited: &mut Vec<Arc<PermitPool>>) -> bool {
        if !self.shares_permits() || !self.has_connection() || !self.may_connect(request.client) {
            return false;
        }
        if self.has_app_permit() {
            return self.load_balancer.borrow().awaits(request, awaited);
        }
        awaited.push(Arc::clone(&self.limits.in_flight));
        false
    }

    /// Waits for exactly these pools, and for the share of a client or no longer. Returns true if this core did not
    /// wait for one of them before.
    pub(super) fn wait_for(&self, awaited: Vec<Arc<PermitPool>>, awaits_share: bool) -> bool {
        let own = self.siblings.own();
        let mut before = self.hand_over.awaited.borrow_mut();
        before.iter().filter(|pool| !has(&awaited, pool)).for_each(|pool| pool.waiting.remove(own));
        let mut is_new = false;
        for pool in awaited.iter().filter(|pool| !has(&before, pool)) {
            pool.waiting.insert(own);
            is_new = true;
        }
        *before = awaited;
        is_new | self.wait_for_share(awaits_share)
    }

    /// Waits for the share of a client, or no longer. Returns true if this core did not wait for one before.
    fn wait_for_share(&self, awaits: bool) -> bool {
        let (before, waiting) = (self.hand_over.awaits_share.replace(awaits), &self.limits.clients.waiting);
        match (before, awaits) {
            (false, true) => waiting.insert(self.siblings.own()),
            (true, false) => waiting.remove(self.siblings.own()),
            (false, false) | (true, true) => {}
        }
        !before && awaits
    }

    /// Begins to wait for what the request at this place in the queue needs. If a permit came free in between, serves
    /// the queue.
    pub(super) fn began_to_wait(self: &Rc<Self>, place: u32, has_others: bool, now_ms: u64) {
        if !self.shares_permits() {
            return;
        }
        let must_look_again = {
            let mut wait_queue = self.wait_queue.borrow_mut();
            let Some(request) = wait_queue.request(place) else { return };
            let shared_ms = self.shared_ms(now_ms);
            self.limits.clients.waits(request.client, has_others, shared_ms);
            if !self.has_shared_share(request.client, now_ms) {
                self.wait_for_share(true)
            } else {
                let mut awaited = Vec::new();
                self.awaits(request, &mut awaited)
                    || !awaited.iter().all(|pool| has(&self.hand_over.awaited.borrow(), pool))
            }
        };
        if must_look_again {
            self.dispatch();
        }
    }

    fn send(&self, core: usize, body: HandOverBody) {
        self.siblings.send(core, CoreCommand::App(AppMessage { limits: self.limits.id, body }));
    }

    pub(super) fn send_room_request(&self, core: usize, request: RoomRequest) {
        self.send(core, HandOverBody::RoomRequest(request));
    }

    pub(super) fn send_room_answer(&self, core: usize, answer: RoomAnswer) {
        self.send(core, HandOverBody::RoomAnswer(answer));
    }
}

fn has(pools: &[Arc<PermitPool>], pool: &Arc<PermitPool>) -> bool {
    pools.iter().any(|known| Arc::ptr_eq(known, pool))
}
