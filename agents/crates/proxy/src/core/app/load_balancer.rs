//! Load balancer over the instances of an app: weights, slow start, outlier ejection, health checks and sticky
//! sessions. If every instance is ejected or unhealthy, all are used, because a wrong judgement about all is more
//! likely.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_model::{AppTraffic, LoadBalancing, OutlierEjection, StickySessions};
use fairlead_route::{Balancer, Circuit, RAMP_FULL, cookie, may_eject, ramp_weight, rendezvous, sticky_cookie};

use super::{AppLimits, InstanceRequest, PermitPool};
use crate::upstream::Instance;

/// Length of the instance token in a cookie in bytes, which is written as hexadecimal.
const TOKEN_BYTES: usize = 12;

/// Instance of the current snapshot.
#[derive(Debug, Clone)]
pub(crate) struct WeightedInstance {
    pub(crate) instance: Rc<Instance>,
    /// Weight of the instance for new requests; zero for none.
    pub(crate) weight: u32,
}

/// Session affinity of a client.
#[derive(Debug, Clone, Default)]
pub(crate) enum Affinity {
    #[default]
    Any,
    /// Instance of the sticky session cookie.
    Instance(Rc<Instance>),
    /// Key of the client address, which selects an instance by rendezvous hashing.
    Client(u64),
}

/// Health of an instance on this core.
#[derive(Debug, Default)]
pub(crate) struct InstanceHealth {
    circuit: Cell<Circuit>,
    unhealthy: Cell<bool>,
    /// Start of the slow start; `None` if the instance is not new.
    joined_ms: Cell<Option<u64>>,
}

impl InstanceHealth {
    pub(crate) fn is_healthy(&self) -> bool {
        !self.unhealthy.get()
    }

    pub(crate) fn is_out(&self) -> bool {
        self.circuit.get().is_out()
    }

    fn is_available(&self) -> bool {
        self.is_healthy() && self.circuit.get().takes()
    }

    /// Starts a request; returns whether it is a trial of an ejected instance, and whether the weights change.
    pub(super) fn begin(&self) -> (bool, bool) {
        self.change(|circuit| circuit.begin())
    }

    pub(super) fn succeeded(&self, trial: bool, now_ms: u64) -> bool {
        self.change(|circuit| circuit.succeeded(trial, now_ms)).0
    }

    pub(super) fn abandoned(&self, trial: bool) -> bool {
        self.change(|circuit| circuit.abandoned(trial)).0
    }

    /// Applies `step` to the circuit breaker. Returns its result, and true if the availability of the instance
    /// changed.
    fn change(&self, step: impl FnOnce(&mut Circuit) -> bool) -> (bool, bool) {
        let mut circuit = self.circuit.get();
        let before = circuit.takes();
        let result = step(&mut circuit);
        self.circuit.set(circuit);
        (result, before != circuit.takes())
    }
}

/// Result of a choice.
pub(super) enum Choice {
    Instance(Rc<Instance>),
    /// All instances that the request may use are busy.
    Wait,
    NoInstance,
}

/// Load balancer of one app.
#[derive(Debug, Default)]
pub(super) struct LoadBalancer {
    members: Vec<WeightedInstance>,
    balancer: Balancer,
    load_balancing: LoadBalancing,
    outlier_ejection: OutlierEjection,
    slow_start_ms: u32,
    sticky_sessions: Option<StickySessions>,
    /// Cookie tokens of the members; empty without cookie-based sticky sessions.
    tokens: Vec<String>,
    /// True if an instance is ejected or in its slow start, so that weights change with time.
    unsettled: bool,
}

impl LoadBalancer {
    pub(super) fn set(&mut self, app_key: &str, traffic: &AppTraffic, members: Vec<WeightedInstance>, now_ms: u64) {
        let known = |instance: &Rc<Instance>| self.members.iter().any(|member| Rc::ptr_eq(&member.instance, instance));
        for member in members.iter().filter(|member| !known(&member.instance)) {
            let joined_ms = (!self.members.is_empty()).then_some(now_ms);
            member.instance.state.joined_ms.set(joined_ms);
        }
        self.sticky_sessions.clone_from(&traffic.sticky_sessions);
        self.tokens = match &self.sticky_sessions {
            Some(StickySessions::Cookie(_)) => {
                members.iter().map(|member| token(app_key, &member.instance.id)).collect()
            }
            Some(StickySessions::ClientAddress) | None => Vec::new(),
        };
        self.members = members;
        self.load_balancing = traffic.load_balancing;
        self.outlier_ejection = traffic.outlier_ejection.clone();
        self.slow_start_ms = traffic.slow_start_ms;
        self.weigh(now_ms);
    }

    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.tokens.clear();
        self.weigh(0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.balancer.is_empty()
    }

    /// True if the app has no instance, available or not.
    pub(super) fn has_no_members(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn count(&self, is: impl Fn(&InstanceHealth) -> bool) -> u32 {
        let counted = self.members.iter().filter(|member| is(&member.instance.state)).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }

    /// Recomputes the share of each instance, from its weight, health and slow start.
    pub(super) fn weigh(&mut self, now_ms: u64) {
        let (load_balancing, slow_start_ms) = (self.load_balancing, self.slow_start_ms);
        let mut unsettled = false;
        let weights = self.members.iter().map(|member| {
            let state = &member.instance.state;
            let age_ms = state.joined_ms.get().map(|joined| now_ms.saturating_sub(joined));
            let grows = age_ms.is_some_and(|age| age < u64::from(slow_start_ms));
            unsettled |= grows || state.is_out();
            if state.is_available() { ramp_weight(member.weight, age_ms, slow_start_ms) } else { 0 }
        });
        self.balancer.set(load_balancing, weights);
        self.unsettled = unsettled;
        if self.balancer.is_empty() {
            self.balancer
                .set(load_balancing, self.members.iter().map(|member| member.weight.saturating_mul(RAMP_FULL)));
        }
    }

    pub(super) fn tick(&mut self, now_ms: u64) {
        if !self.unsettled {
            return;
        }
        for member in &self.members {
            member.instance.state.change(|circuit| circuit.step(now_ms));
        }
        self.weigh(now_ms);
    }

    /// Applies a health check result; returns true if the instance is a member.
    pub(super) fn set_health(&mut self, instance: &Rc<Instance>, healthy: bool, now_ms: u64) -> bool {
        let is_member = self.members.iter().any(|member| Rc::ptr_eq(&member.instance, instance));
        if is_member {
            let state = &instance.state;
            if healthy
                && state.unhealthy.get()
                && self.members.iter().any(|member| member.instance.state.is_available())
            {
                // It may have started again: as cold as a new one.
                state.joined_ms.set(Some(now_ms));
            }
            state.unhealthy.set(!healthy);
            self.weigh(now_ms);
        }
        is_member
    }

    /// Counts a failure of an instance; returns true if that ejects it.
    pub(super) fn failed(&mut self, instance: &Rc<Instance>, trial: bool, now_ms: u64) -> bool {
        let taking = || self.members.iter().filter(|member| member.weight > 0);
        let may = || {
            let is_out =
                |member: &&WeightedInstance| !member.instance.state.is_healthy() || member.instance.state.is_out();
            taking().any(|member| Rc::ptr_eq(&member.instance, instance))
                && may_eject(taking().count(), taking().filter(is_out).count(), &self.outlier_ejection)
        };
        let (ejected, changed) =
            instance.state.change(|circuit| circuit.failed(trial, now_ms, &self.outlier_ejection, may));
        if changed || ejected {
            self.weigh(now_ms);
        }
        ejected
    }

    /// Sets the concurrency limit of each instance.
    pub(super) fn set_permits(&self, bounds: AppLimits) {
        for member in &self.members {
            member.instance.set_connections_max(bounds.connections_max);
            member.instance.share_permits(bounds.shares_instance_permits.then_some(bounds.permits_per_instance));
            member.instance.set_permits(bounds.permits_per_instance, bounds.adapts_concurrency);
        }
    }

    /// Returns the sum of the limits that all cores share, of all instances; `u32::MAX` without such a limit.
    pub(super) fn shared_permits(&self) -> u32 {
        let of = |member: &WeightedInstance| member.instance.shared_permits().map_or(u32::MAX, |permits| permits.max());
        match &self.members[..] {
            [] => u32::MAX,
            members => members.iter().fold(0, |sum, member| sum.saturating_add(of(member))),
        }
    }

    /// Returns the instance with these shared permits or connections.
    pub(super) fn instance_with(&self, pool: &Arc<PermitPool>) -> Option<Rc<Instance>> {
        self.members.iter().map(|member| &member.instance).find(|instance| instance.has_pool(pool)).cloned()
    }

    /// Adds the shared permits that a request waits for to `awaited`. Returns true if one of its instances has a permit
    /// now, because another core has put it back.
    pub(super) fn awaits(&self, request: &InstanceRequest, awaited: &mut Vec<Arc<PermitPool>>) -> bool {
        let is_avoided = |member: &usize| {
            request.avoid.as_ref().is_some_and(|avoid| Rc::ptr_eq(avoid, &self.members[*member].instance))
        };
        let sticky_member = self.sticky_member(&request.affinity).filter(|member| !is_avoided(member));
        let all = self.balancer.entries().map(|(member, _)| member).filter(|_| sticky_member.is_none());
        for member in sticky_member.into_iter().chain(all) {
            let instance = &self.members[member].instance;
            if instance.has_permit() {
                return true;
            }
            if let Some(permits) = instance.shared_permits().filter(|_| instance.has_own_permit())
                && !awaited.iter().any(|known| Arc::ptr_eq(known, permits))
            {
                awaited.push(Arc::clone(permits));
            }
        }
        false
    }

    /// Returns the sum of the concurrency limits of all instances on this core.
    pub(super) fn permits(&self) -> u32 {
        self.members.iter().fold(0, |sum, member| sum.saturating_add(member.instance.permits()))
    }

    /// Updates adaptive concurrency limits; `queued` is true if requests wait.
    pub(super) fn adapt(&self, bounds: AppLimits, queued: bool, now_ms: u64) {
        for member in &self.members {
            member.instance.adapt(now_ms, bounds.permits_per_instance, queued);
        }
    }

    pub(super) fn choose(&mut self, request: &InstanceRequest, random: u64) -> Choice {
        let members = &self.members;
        let load = |index: usize| {
            let instance = &members.get(index)?.instance;
            instance.has_permit().then(|| instance.in_flight())
        };
        let is_not =
            |index: usize| request.avoid.as_ref().is_some_and(|avoid| Rc::ptr_eq(avoid, &members[index].instance));
        if let Some(sticky_member) =
            self.sticky_member(&request.affinity).filter(|sticky_member| !is_not(*sticky_member))
        {
            return load(sticky_member)
                .map_or(Choice::Wait, |_| Choice::Instance(Rc::clone(&members[sticky_member].instance)));
        }
        if self.balancer.is_empty() {
            return Choice::NoInstance;
        }
        let mut picked = None;
        if request.avoid.is_some() {
            picked = self.balancer.pick(random, |index| if is_not(index) { None } else { load(index) });
        }
        let picked = picked.or_else(|| self.balancer.pick(random, load));
        picked.map_or(Choice::Wait, |index| Choice::Instance(Rc::clone(&members[index].instance)))
    }

    /// Returns the index of the member that a request is tied to, if it is available. A member with weight zero keeps
    /// its sticky sessions.
    fn sticky_member(&self, affinity: &Affinity) -> Option<usize> {
        match affinity {
            Affinity::Any => None,
            Affinity::Instance(instance) => {
                let sticky_member = self.members.iter().position(|member| Rc::ptr_eq(&member.instance, instance))?;
                (instance.state.is_available() || self.balancer.contains(sticky_member)).then_some(sticky_member)
            }
            // Uses full weights: a slow start must not move clients to and fro.
            Affinity::Client(client) => {
                let entry = |(index, _): (usize, u32)| {
                    let member = &self.members[index];
                    (index, member.instance.key, member.weight)
                };
                rendezvous(*client, self.balancer.entries().map(entry))
            }
        }
    }

    pub(super) fn affinity<'a>(
        &self,
        mut cookies: impl Iterator<Item = &'a [u8]>,
        client: impl FnOnce() -> u64,
    ) -> Affinity {
        match &self.sticky_sessions {
            None => Affinity::Any,
            Some(StickySessions::ClientAddress) => Affinity::Client(client()),
            Some(StickySessions::Cookie(name)) => {
                let value = cookies.find_map(|field| cookie(field, name.as_bytes()));
                let sticky_member =
                    value.and_then(|value| self.tokens.iter().position(|token| token.as_bytes() == value));
                sticky_member.map_or(Affinity::Any, |sticky_member| {
                    Affinity::Instance(Rc::clone(&self.members[sticky_member].instance))
                })
            }
        }
    }

    pub(super) fn sticky_cookie(&self, instance: &Rc<Instance>, affinity: &Affinity, secure: bool) -> Option<String> {
        let Some(StickySessions::Cookie(name)) = &self.sticky_sessions else { return None };
        if matches!(affinity, Affinity::Instance(tied) if Rc::ptr_eq(tied, instance)) {
            return None;
        }
        let index = self.members.iter().position(|member| Rc::ptr_eq(&member.instance, instance))?;
        Some(sticky_cookie(name, &self.tokens[index], secure))
    }
}

/// Returns the cookie token of an instance: the same on every core and after an upgrade, and without an internal name.
/// It is not secret: a client that guesses one only chooses among instances that serve all clients.
fn token(app_key: &str, instance: &str) -> String {
    let mut context = Context::new(&SHA256);
    for part in ["fairlead sticky 1", app_key, instance] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let digest = context.finish();
    digest.as_ref().iter().take(TOKEN_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
