//! Simulated cores that share the limits of an app: random schedules, in which any core runs between any two accesses
//! of another one to what they share. Each schedule follows from its number.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use fairlead_model::{AppTraffic, Priority, StickySessions};
use tokio::sync::mpsc;

use super::permit_pool::interleaving::set_hook;
use super::tests::{app_among, instance_with, outcome};
use super::*;
use crate::core::Sibling;
use crate::worker::CoreCommand;

/// Steps of one schedule before its requests end.
const STEPS: usize = 120;
/// One in `PREEMPTED` accesses to shared state lets another core run.
const PREEMPTED: u64 = 3;

/// Numbers that follow from a seed (SplitMix64).
#[derive(Debug)]
struct Dice(Cell<u64>);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.0.get() ^ (self.0.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick(&self, count: usize) -> usize {
        usize::try_from(self.roll(count as u64)).unwrap()
    }
}

struct SimulatedCore {
    app: Rc<App>,
    instances: Vec<Rc<Instance>>,
    messages: RefCell<mpsc::UnboundedReceiver<CoreCommand>>,
    /// Requests at the app, with their clients.
    served: RefCell<Vec<(u64, InFlightRequest, Permit)>>,
    /// Requests in the queue, with their clients.
    queued: RefCell<Vec<(u64, QueuedRequest)>>,
    /// True during a step, in which another core may run.
    runs: Cell<bool>,
}

struct Server {
    dice: Dice,
    limits: Arc<SharedLimits>,
    shared: Vec<Arc<SharedInstance>>,
    cores: Vec<SimulatedCore>,
    traffic: RefCell<AppTraffic>,
    refused: Cell<usize>,
    _commands: Vec<mpsc::UnboundedSender<CoreCommand>>,
}

impl Server {
    fn new(seed: u64, cores: usize, instances: usize, traffic: AppTraffic) -> Rc<Self> {
        let (limits, siblings) = (Arc::<SharedLimits>::default(), Siblings::default());
        let shared: Vec<Arc<SharedInstance>> = (0..instances).map(|_| Arc::default()).collect();
        let (commands, receivers): (Vec<_>, Vec<_>) = (0..cores).map(|_| mpsc::unbounded_channel()).unzip();
        siblings.introduce(commands.iter().map(|commands: &mpsc::UnboundedSender<CoreCommand>| Sibling {
            clients: Arc::<AtomicU32>::default(),
            commands: commands.downgrade(),
        }));
        let core = |(number, messages)| SimulatedCore {
            app: app_among(&limits, &siblings.seen_by(number)),
            instances: shared.iter().map(|shared| instance_with("ins", shared)).collect(),
            messages: RefCell::new(messages),
            served: RefCell::default(),
            queued: RefCell::default(),
            runs: Cell::new(false),
        };
        let cores: Vec<_> = receivers.into_iter().enumerate().map(core).collect();
        let server = Self {
            dice: Dice(Cell::new(seed)),
            limits: Arc::clone(&limits),
            shared,
            cores,
            traffic: RefCell::new(traffic),
            refused: Cell::new(0),
            _commands: commands,
        };
        (0..server.cores.len()).for_each(|core| server.apply(core));
        Rc::new(server)
    }

    /// Creates a server whose limits follow from the seed.
    fn random(seed: u64) -> Rc<Self> {
        let dice = Dice(Cell::new(seed));
        let number = |sides| u32::try_from(dice.roll(sides)).unwrap();
        let traffic = AppTraffic {
            in_flight_per_app: number(4),
            in_flight_per_instance: number(3),
            queue_length_max: number(8),
            sticky_sessions: (number(3) == 0).then_some(StickySessions::ClientAddress),
            ..AppTraffic::default()
        };
        Self::new(seed, 2 + dice.pick(4), 1 + dice.pick(3), traffic)
    }

    fn apply(&self, core: usize) {
        let SimulatedCore { app, instances, .. } = &self.cores[core];
        let member = |instance: &Rc<Instance>| WeightedInstance { instance: Rc::clone(instance), weight: 100 };
        app.set(true, &self.traffic.borrow(), instances.iter().map(member).collect());
        self.collect(core);
    }

    /// Lets other cores run between two accesses to shared state of the one that runs.
    fn interleave(self: &Rc<Self>) {
        let server = Rc::clone(self);
        set_hook(Some(Rc::new(move || {
            if server.dice.roll(PREEMPTED) == 0 {
                server.step();
            }
        })));
    }

    /// Runs one random step on a core that is not in the middle of one.
    fn step(&self) {
        let core = self.dice.pick(self.cores.len());
        match self.dice.roll(8) {
            0..=2 => self.ask_any(core),
            3..=4 => self.run(core, |core| self.end_one(core)).map_or((), drop),
            5..=6 => self.run(core, deliver_one).map_or((), drop),
            _ => self.run(core, |core| self.cancel_one(core)).unwrap_or_default(),
        }
        self.check();
    }

    /// Runs a step of a core, unless it is in the middle of one.
    fn run<T>(&self, core: usize, step: impl FnOnce(&SimulatedCore) -> T) -> Option<T> {
        let simulated = &self.cores[core];
        if simulated.runs.replace(true) {
            return None;
        }
        let result = step(simulated);
        self.collect(core);
        simulated.runs.set(false);
        Some(result)
    }

    /// Lets any client send a request of any priority.
    fn ask_any(&self, core: usize) {
        let priority = [Priority::Low, Priority::Normal, Priority::High][self.dice.pick(3)];
        self.ask(core, self.dice.roll(4), priority);
    }

    fn ask(&self, core: usize, client: u64, priority: Priority) {
        self.run(core, |core| {
            let affinity = core.app.affinity([].into_iter(), || client);
            let request = InstanceRequest { client, priority, affinity, avoid: None };
            match core.app.acquire(request) {
                AcquireResult::Granted(serving, permit) => core.served.borrow_mut().push((client, serving, permit)),
                AcquireResult::Queued(queued) => core.queued.borrow_mut().push((client, queued)),
                AcquireResult::Refused(_) => self.refused.set(self.refused.get() + 1),
            }
        });
    }

    /// Ends a request that any core serves; `false` if there is none.
    fn end(&self) -> bool {
        let first = self.dice.pick(self.cores.len());
        (0..self.cores.len()).any(|core| {
            let core = (first + core) % self.cores.len();
            self.run(core, |core| self.end_one(core)).unwrap_or_default()
        })
    }

    fn end_one(&self, core: &SimulatedCore) -> bool {
        let count = core.served.borrow().len();
        let ended = (count > 0).then(|| core.served.borrow_mut().swap_remove(self.dice.pick(count)));
        ended.is_some()
    }

    /// Lets a client of a core leave the queue.
    fn cancel_one(&self, core: &SimulatedCore) {
        let count = core.queued.borrow().len();
        let left = (count > 0).then(|| core.queued.borrow_mut().swap_remove(self.dice.pick(count)));
        drop(left);
    }

    /// Takes what the queued requests of a core have been granted.
    fn collect(&self, core: usize) {
        let SimulatedCore { served, queued, .. } = &self.cores[core];
        queued.borrow_mut().retain_mut(|(client, waiting)| match outcome(waiting) {
            None => true,
            Some(Ok((serving, permit))) => {
                served.borrow_mut().push((*client, serving, permit));
                false
            }
            Some(Err(_)) => {
                self.refused.set(self.refused.get() + 1);
                false
            }
        });
    }

    /// Delivers all messages, so that no core has anything left to do.
    fn settle(&self) {
        while (0..self.cores.len()).any(|core| self.run(core, deliver_one).unwrap_or_default()) {}
    }

    fn served(&self) -> usize {
        self.cores.iter().map(|core| core.served.borrow().len()).sum()
    }

    fn queued(&self) -> usize {
        self.cores.iter().map(|core| core.queued.borrow().len()).sum()
    }

    fn busy(&self) -> u32 {
        self.cores.iter().map(|core| core.app.busy.get()).sum()
    }

    /// Asserts that no limit is exceeded.
    fn check(&self) {
        assert!(!self.has_too_many(), "{} in flight", self.busy());
        let most = self.traffic.borrow().queue_length_max;
        let queued: u32 = self.cores.iter().map(|core| core.app.queue_places.get()).sum();
        assert!(queued <= most && self.limits.queue.taken() <= most, "{queued} queued");
    }

    /// Reports whether more requests are in flight than a limit allows.
    fn has_too_many(&self) -> bool {
        let traffic = self.traffic.borrow();
        let exceeds = |busy: u32, limit: u32| limit > 0 && busy > limit;
        let at = |instance: usize| self.cores.iter().map(|core| core.instances[instance].busy()).sum();
        exceeds(self.busy(), traffic.in_flight_per_app)
            || (0..self.shared.len()).any(|instance| exceeds(at(instance), traffic.in_flight_per_instance))
    }

    /// Asserts that no request waits for a permit that is free.
    fn check_none_stranded(&self) {
        for (number, core) in self.cores.iter().enumerate() {
            let app = &core.app;
            let mut wait_queue = app.wait_queue.borrow_mut();
            let mut place = wait_queue.oldest();
            while let Some(waits) = place {
                let request = wait_queue.request(waits).unwrap();
                let may = app.may_be_served(request.client, app.clock.now_ms());
                assert!(!may || !app.awaits(request, &mut Vec::new()), "a request is stranded on core {number}");
                place = wait_queue.after(Some(waits));
            }
            assert_eq!(wait_queue.without_place(), 0, "a request waits for an answer that does not come");
        }
    }

    /// Ends all requests one by one. Asserts that each queued one is served without any tick.
    fn drain(&self) {
        self.settle();
        self.check_none_stranded();
        while self.end() {
            self.settle();
            self.check();
            self.check_none_stranded();
        }
        assert_eq!(self.queued(), 0);
        assert_eq!((self.limits.in_flight.taken(), self.limits.queue.taken()), (0, 0));
        let mut permits = self.shared.iter().map(|shared| &shared.permits);
        assert!(permits.all(|permits| permits.taken() == 0 && permits.waiting.is_empty()));
        assert!(self.limits.in_flight.waiting.is_empty() && self.limits.queue.waiting.is_empty());
    }
}

/// Delivers the next message to a core; `false` if there is none.
fn deliver_one(core: &SimulatedCore) -> bool {
    let message = core.messages.borrow_mut().try_recv();
    let Ok(CoreCommand::App(message)) = message else { return false };
    core.app.receive(message);
    true
}

#[test]
fn no_schedule_exceeds_a_limit_or_strands_a_request() {
    let mut queued = 0;
    for seed in 0..3_000 {
        let server = Server::random(seed);
        server.interleave();
        for _ in 0..STEPS {
            server.step();
        }
        set_hook(None);
        queued += server.queued();
        server.drain();
    }
    // The control: the schedules do fill queues.
    assert!(queued > 3_000, "{queued}");
}

#[test]
fn no_schedule_loses_count_when_limits_change() {
    for seed in 0..1_000 {
        let server = Server::random(seed);
        (0..STEPS).for_each(|_| server.step());
        for (in_flight_per_app, in_flight_per_instance) in [(0, 0), (1, 0), (0, 2), (3, 1)] {
            let changed = AppTraffic { in_flight_per_app, in_flight_per_instance, ..server.traffic.borrow().clone() };
            server.traffic.replace(changed);
            // Messages and requests come between the updates of the cores.
            for core in 0..server.cores.len() {
                server.apply(core);
                server.run(server.dice.pick(server.cores.len()), deliver_one);
                server.ask_any(server.dice.pick(server.cores.len()));
            }
            server.settle();
            server.check_none_stranded();
            // Requests beyond a lowered limit end; from then on it holds.
            while server.has_too_many() {
                assert!(server.end());
                server.settle();
            }
            for _ in 0..20 {
                server.ask_any(server.dice.pick(server.cores.len()));
                server.settle();
                server.check();
            }
            let counted = if in_flight_per_app == 0 { 0 } else { server.busy() };
            assert_eq!(server.limits.in_flight.taken(), counted, "seed {seed}");
        }
        server.drain();
    }
}

#[test]
fn a_limit_of_one_lets_one_request_in_on_four_cores() {
    let traffic = AppTraffic { in_flight_per_app: 1, queue_length_max: 5, ..AppTraffic::default() };
    let server = Server::new(1, 4, 1, traffic);
    for number in 0..12 {
        server.ask(number % 4, number as u64, Priority::Normal);
        server.settle();
    }
    assert_eq!((server.served(), server.queued(), server.refused.get()), (1, 5, 6));
    server.drain();
}

/// Sends 200 requests of `crowd` clients to one core, and two of another client to another. Returns how many requests
/// end before those two are served.
fn turns_until_served(crowd: u64) -> usize {
    let traffic = AppTraffic { in_flight_per_app: 1, ..AppTraffic::default() };
    let server = Server::new(1, 3, 1, traffic);
    (0..200).for_each(|number| server.ask(0, 1 + number % crowd, Priority::Normal));
    (0..2).for_each(|_| server.ask(1, 0, Priority::Normal));
    let mut turns = 0;
    while !server.cores[1].queued.borrow().is_empty() {
        assert!(server.end());
        server.settle();
        turns += 1;
    }
    server.drain();
    turns
}

#[test]
fn cores_take_turns_however_many_requests_each_has() {
    // One client of two, then one of three, then one of a crowd.
    let turns = [1, 2, 200].map(turns_until_served);
    assert!(turns[0] <= 6 && turns[1] <= 8 && (20..=40).contains(&turns[2]), "{turns:?}");
}

#[test]
fn a_client_gets_three_quarters_of_all_cores_permits_while_another_waits() {
    let traffic = AppTraffic { in_flight_per_app: 8, ..AppTraffic::default() };
    let server = Server::new(1, 4, 1, traffic);
    (0..40).for_each(|number| server.ask(number % 4, 1, Priority::Normal));
    assert_eq!(server.served(), 8, "alone it has all");
    server.ask(2, 2, Priority::Normal);
    for _ in 0..20 {
        assert!(server.end());
        server.settle();
    }
    let of_first = |core: &SimulatedCore| core.served.borrow().iter().filter(|served| served.0 == 1).count();
    assert_eq!(server.cores.iter().map(of_first).sum::<usize>(), 6);
    assert!(server.queued() > 0);
    server.drain();
}

#[test]
fn a_client_that_fills_the_queue_on_one_core_makes_room_on_another() {
    let traffic = AppTraffic { in_flight_per_app: 1, queue_length_max: 8, ..AppTraffic::default() };
    let server = Server::new(1, 3, 1, traffic);
    (0..9).for_each(|_| server.ask(0, 1, Priority::Normal));
    assert_eq!((server.queued(), server.refused.get()), (8, 0));
    server.ask(1, 1, Priority::Normal);
    server.settle();
    assert_eq!((server.queued(), server.refused.get()), (8, 1), "its own requests make no room for more");
    server.ask(1, 2, Priority::Normal);
    server.settle();
    assert_eq!((server.queued(), server.refused.get()), (8, 2));
    assert_eq!(server.cores[1].queued.borrow().len(), 1);
    server.drain();
}
