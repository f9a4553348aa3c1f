use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use fairlead_model::{OutlierEjection, StickySessions, UpstreamAddress, UpstreamProtocol};

use super::*;
use crate::upstream::Connector;

/// Connections of the core; a client may have a quarter.
const CONNECTIONS_MAX: usize = 4096;

struct Stage {
    clock: Rc<Alarms>,
    app: Rc<App>,
    instances: Vec<Rc<Instance>>,
}

/// Creates an app with `count` instances, which take one request each unless `change` says otherwise.
fn stage(count: usize, change: impl FnOnce(&mut AppTraffic)) -> Stage {
    let clock = Alarms::new();
    stage_on(&Quota::new(CONNECTIONS_MAX), clock, count, change)
}

/// Creates the same app on a core with these connections to apps.
fn stage_on(connections: &Rc<Quota>, clock: Rc<Alarms>, count: usize, change: impl FnOnce(&mut AppTraffic)) -> Stage {
    let app = app("app_a", &clock, connections, &Quota::new(usize::MAX));
    let instances: Vec<_> = (0..count).map(|number| instance(&format!("ins_{number}"))).collect();
    let stage = Stage { clock, app, instances };
    stage.set(&stage.instances, change);
    stage
}

/// Creates an app on a core that has no siblings.
fn app(key: &str, clock: &Rc<Alarms>, connections: &Rc<Quota>, heads: &Rc<Quota>) -> Rc<App> {
    App::new(key, clock, (connections, heads), (&Arc::default(), &Siblings::default()))
}

/// Creates an app on one of the cores that share its limits.
pub(super) fn app_among(limits: &Arc<SharedLimits>, siblings: &Siblings) -> Rc<App> {
    let quotas = (&Quota::new(CONNECTIONS_MAX), &Quota::new(usize::MAX));
    App::new("app_a", &Alarms::new(), quotas, (limits, siblings))
}

fn instance(id: &str) -> Rc<Instance> {
    instance_with(id, &Arc::default())
}

/// Creates an instance on one of the cores that share its limits.
pub(super) fn instance_with(id: &str, shared: &Arc<SharedInstance>) -> Rc<Instance> {
    let address = "127.0.0.1:1".parse::<UpstreamAddress>().unwrap();
    let connector = Connector::new(&address, UpstreamProtocol::Http1, None).unwrap();
    Instance::new(id, Arc::new(connector), Arc::clone(shared))
}

impl Stage {
    fn set(&self, instances: &[Rc<Instance>], change: impl FnOnce(&mut AppTraffic)) {
        let mut traffic = AppTraffic { connections_per_instance: 1, ..AppTraffic::default() };
        change(&mut traffic);
        let member = |instance: &Rc<Instance>| WeightedInstance { instance: Rc::clone(instance), weight: 100 };
        self.app.set(true, &traffic, instances.iter().map(member).collect());
    }

    fn ask(&self, request: InstanceRequest) -> AcquireResult {
        self.app.acquire(request)
    }

    fn here(&self) -> (InFlightRequest, Permit) {
        match self.ask(InstanceRequest::default()) {
            AcquireResult::Granted(serving, permit) => (serving, permit),
            _ => panic!("no instance is free"),
        }
    }

    fn later(&self, request: InstanceRequest) -> QueuedRequest {
        match self.ask(request) {
            AcquireResult::Queued(waiting) => waiting,
            _ => panic!("nobody waits"),
        }
    }

    fn refused(&self, request: InstanceRequest) -> Refusal {
        match self.ask(request) {
            AcquireResult::Refused(refusal) => refusal,
            _ => panic!("it is not refused"),
        }
    }

    /// Lets time pass until `passed`.
    fn until<T>(&self, mut passed: impl FnMut() -> Option<T>) -> T {
        loop {
            self.clock.tick();
            self.app.tick();
            if let Some(value) = passed() {
                return value;
            }
            std::thread::yield_now();
        }
    }
}

pub(super) fn outcome(waiting: &mut QueuedRequest) -> Option<Result<(InFlightRequest, Permit), Refusal>> {
    match std::pin::Pin::new(waiting).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

fn of(priority: Priority) -> InstanceRequest {
    InstanceRequest { priority, ..InstanceRequest::default() }
}

#[test]
fn the_oldest_queued_request_gets_the_first_free_permit() {
    let stage = stage(2, |_| ());
    let (first, second) = (stage.here(), stage.here());
    let (mut third, mut fourth) = (stage.later(InstanceRequest::default()), stage.later(InstanceRequest::default()));
    let freed = Rc::clone(second.0.instance());
    // The exchange continues, as a stream does, and only its permit is free.
    drop(second.1);
    let (serving, _permit) = outcome(&mut third).unwrap().unwrap();
    assert!(Rc::ptr_eq(serving.instance(), &freed) && outcome(&mut fourth).is_none());
    assert_eq!((freed.in_flight(), freed.busy()), (2, 1));
    drop(first);
    assert!(outcome(&mut fourth).unwrap().is_ok());
    assert_eq!(stage.app.numbers.borrow().queued, 2);
}

#[test]
fn a_canceled_request_frees_its_place_or_its_permit() {
    let stage = stage(1, |_| ());
    let at_work = stage.here();
    let mut queue: Vec<_> = (0..4).map(|_| stage.later(InstanceRequest::default())).collect();
    drop(queue.remove(0));
    drop(at_work);
    // The second was given the instance and leaves before it knows.
    drop(queue.remove(0));
    let third = outcome(&mut queue[0]).unwrap().unwrap();
    assert!(outcome(&mut queue[1]).is_none());
    drop((queue, third));
    assert_eq!(
        (stage.instances[0].busy(), stage.instances[0].in_flight(), stage.app.collect().queue_length),
        (0, 0, 0)
    );
    stage.here();
}

#[test]
fn an_app_has_a_limit_of_its_own_beside_those_of_its_instances() {
    let stage = stage(3, |traffic| traffic.in_flight_per_app = 2);
    let _at_work = (stage.here(), stage.here());
    let mut waiting = stage.later(InstanceRequest::default());
    assert!(outcome(&mut waiting).is_none());
    // A snapshot that allows more lets it in.
    stage.set(&stage.instances, |_| ());
    assert!(outcome(&mut waiting).unwrap().is_ok());
}

#[test]
fn a_full_queue_refuses_requests_of_lower_priority_first() {
    let stage = stage(1, |traffic| traffic.queue_length_max = 3);
    let _at_work = stage.here();
    let (mut low, mut normal) = (stage.later(of(Priority::Low)), stage.later(of(Priority::Normal)));
    let mut last_low = stage.later(of(Priority::Low));
    assert_eq!(stage.refused(of(Priority::Low)), Refusal::QueueFull);
    let _high = stage.later(of(Priority::High));
    assert_eq!(outcome(&mut last_low).unwrap().unwrap_err(), Refusal::Shed);
    let _normal = stage.later(of(Priority::Normal));
    assert_eq!(outcome(&mut low).unwrap().unwrap_err(), Refusal::Shed);
    assert_eq!(stage.refused(of(Priority::Normal)), Refusal::QueueFull);
    let _other_high = stage.later(of(Priority::High));
    assert!(outcome(&mut normal).is_none(), "the last to come makes room, not the first");
    let numbers = stage.app.numbers.take();
    assert_eq!((numbers.load_shed, numbers.queue_full), (3, 2));
}

fn by(client: u64) -> InstanceRequest {
    InstanceRequest { client, ..InstanceRequest::default() }
}

/// Runs a client with 2,560 requests that reads none of the answers, and another client's one request. Returns how many slots
/// come free before that one is served.
fn permits_until_served(crowd: u64, polite: u64) -> usize {
    let stage = stage(1, |traffic| traffic.connections_per_instance = 4);
    let mut held: Vec<_> = (0..4)
        .map(|_| match stage.ask(by(crowd)) {
            AcquireResult::Granted(serving, permit) => (serving, permit),
            _ => panic!("no instance is free"),
        })
        .collect();
    let mut crowd: Vec<_> = (0..2_556).map(|_| stage.later(by(crowd))).collect();
    let mut polite = stage.later(by(polite));
    for freed in 1.. {
        drop(held.remove(0));
        if outcome(&mut polite).is_some() {
            return freed;
        }
        held.extend(crowd.iter_mut().filter_map(outcome).flatten());
        crowd.retain(|waiting| !waiting.is_settled());
    }
    unreachable!("it is served at last")
}

#[test]
fn a_client_with_thousands_of_requests_does_not_hold_up_another() {
    assert_eq!(permits_until_served(1, 2), 1);
    // The control: as one more request of the same client it waits behind all of them.
    assert_eq!(permits_until_served(1, 1), 2_557);
}

#[test]
fn a_client_that_fills_the_queue_makes_room_for_another() {
    let stage = stage(1, |traffic| traffic.queue_length_max = 8);
    let _at_work = stage.here();
    let mut crowd: Vec<_> = (0..8).map(|_| stage.later(by(1))).collect();
    assert_eq!(stage.refused(by(1)), Refusal::QueueFull);
    let _polite = stage.later(by(2));
    assert_eq!(outcome(&mut crowd[7]).unwrap().unwrap_err(), Refusal::QueueFull);
    assert!(crowd[..7].iter_mut().all(|waiting| outcome(waiting).is_none()));
}

#[test]
fn permits_are_shared_only_while_another_client_waits() {
    let stage = stage(1, |traffic| traffic.connections_per_instance = 8);
    let permits: Vec<_> = (0..8).map(|_| stage.ask(by(1))).collect();
    assert!(permits.iter().all(|acquired| matches!(acquired, AcquireResult::Granted(..))), "alone it has all");
    let mut more = stage.later(by(1));
    let _other = stage.later(by(2));
    drop(permits);
    // Now a quarter is reserved for others.
    assert!(outcome(&mut more).unwrap().is_ok());
    let permits: Vec<_> = (0..8).map(|_| stage.ask(by(1))).collect();
    assert_eq!(permits.iter().filter(|acquired| matches!(acquired, AcquireResult::Granted(..))).count(), 6);
    assert!(matches!(stage.ask(by(3)), AcquireResult::Granted(..)));
}

#[test]
fn queued_requests_time_out_and_end_with_the_app() {
    let stage = stage(1, |traffic| traffic.queue_timeout_ms = 1);
    let _at_work = stage.here();
    let mut waiting = stage.later(InstanceRequest::default());
    assert_eq!(stage.until(|| outcome(&mut waiting)).unwrap_err(), Refusal::QueueTimeout);
    assert_eq!(stage.app.numbers.borrow().queue_timeouts, 1);
    let mut waiting = stage.later(InstanceRequest::default());
    stage.app.retire();
    assert_eq!(outcome(&mut waiting).unwrap().unwrap_err(), Refusal::NoInstance);
    assert_eq!(stage.refused(InstanceRequest::default()), Refusal::NoInstance);
}

#[test]
fn a_stalled_queue_sheds_low_priority_and_never_high_priority() {
    let stage = stage(1, |traffic| {
        traffic.queue_timeout_ms = 2_000;
        traffic.load_shedding = true;
    });
    let _at_work = stage.here();
    let _waiting = stage.later(InstanceRequest::default());
    let refusal = stage.until(|| match stage.ask(of(Priority::Low)) {
        AcquireResult::Refused(refusal) => Some(refusal),
        _ => None,
    });
    assert_eq!(refusal, Refusal::Shed);
    stage.later(of(Priority::High));
}

fn fail(stage: &Stage, instance: usize) {
    loop {
        let (mut serving, _permit) = stage.here();
        if Rc::ptr_eq(serving.instance(), &stage.instances[instance]) {
            return serving.failed();
        }
        serving.succeeded();
    }
}

#[test]
fn a_failing_instance_is_ejected_and_returns_after_one_good_trial() {
    let ejection = OutlierEjection { consecutive_failures: 2, ejection_time_ms: 1, ejected_percent_max: 50 };
    let stage = stage(2, |traffic| traffic.outlier_ejection = ejection);
    fail(&stage, 0);
    fail(&stage, 0);
    assert_eq!(stage.app.collect().ejected, 1);
    // The other one alone would be all that is left: it stays.
    (0..10).for_each(|_| fail(&stage, 1));
    assert_eq!((stage.app.collect().ejected, stage.app.numbers.borrow().ejections), (1, 0));
    let (mut trial, _permit) = stage.until(|| match stage.ask(InstanceRequest::default()) {
        AcquireResult::Granted(serving, permit) if Rc::ptr_eq(serving.instance(), &stage.instances[0]) => {
            Some((serving, permit))
        }
        _ => None,
    });
    // During the trial no other request goes there.
    let other = stage.here();
    assert!(Rc::ptr_eq(other.0.instance(), &stage.instances[1]));
    trial.answered(200);
    assert_eq!(stage.app.collect().ejected, 0);
}

#[test]
fn an_app_with_only_ejected_instances_still_gets_requests() {
    let ejection = OutlierEjection { consecutive_failures: 1, ejection_time_ms: 1_000_000, ejected_percent_max: 100 };
    let stage = stage(2, |traffic| traffic.outlier_ejection = ejection);
    fail(&stage, 0);
    fail(&stage, 1);
    assert_eq!(stage.app.collect().ejected, 2);
    let (mut serving, _permit) = stage.here();
    serving.succeeded();
    assert_eq!(stage.app.collect().ejected, 1);
}

#[test]
fn an_unhealthy_instance_gets_nothing_unless_all_are() {
    let stage = stage(2, |traffic| traffic.connections_per_instance = 100);
    stage.app.set_health(&stage.instances[0], false);
    let permits: Vec<_> = (0..20).map(|_| stage.here()).collect();
    assert!(permits.iter().all(|(serving, _)| Rc::ptr_eq(serving.instance(), &stage.instances[1])));
    assert_eq!(stage.app.collect().unhealthy, 1);
    stage.app.set_health(&stage.instances[1], false);
    drop(permits);
    let _seats: Vec<_> = (0..20).map(|_| stage.here()).collect();
    assert!(stage.instances.iter().all(|instance| instance.in_flight() > 0));
}

#[test]
fn a_sticky_request_waits_for_its_instance_and_blocks_no_other() {
    let stage = stage(2, |traffic| traffic.sticky_sessions = Some(StickySessions::Cookie("fl".into())));
    let (first, second) = (stage.here(), stage.here());
    let home = Rc::clone(first.0.instance());
    let cookie = stage.app.sticky_cookie(&home, &Affinity::Any, true).unwrap();
    let value = cookie.split(';').next().unwrap().to_owned();
    let affinity = stage.app.affinity([value.as_bytes()].into_iter(), || 0);
    assert!(matches!(&affinity, Affinity::Instance(tied) if Rc::ptr_eq(tied, &home)));
    assert_eq!(stage.app.sticky_cookie(&home, &affinity, true), None);
    let mut tied = stage.later(InstanceRequest { affinity: affinity.clone(), ..InstanceRequest::default() });
    let mut any = stage.later(InstanceRequest::default());
    drop(second);
    let any = outcome(&mut any).unwrap().unwrap();
    assert!(outcome(&mut tied).is_none());
    drop(first);
    let (at_home, permit) = outcome(&mut tied).unwrap().unwrap();
    assert!(Rc::ptr_eq(at_home.instance(), &home));
    // Its instance goes: it is served by another, and tied to that.
    let mut tied = stage.later(InstanceRequest { affinity, ..InstanceRequest::default() });
    let rest: Vec<_> = stage.instances.iter().filter(|instance| !Rc::ptr_eq(instance, &home)).cloned().collect();
    stage.set(&rest, |traffic| traffic.sticky_sessions = Some(StickySessions::Cookie("fl".into())));
    drop(any);
    let (elsewhere, _permit) = outcome(&mut tied).unwrap().unwrap();
    assert!(Rc::ptr_eq(elsewhere.instance(), &rest[0]));
    drop((at_home, permit));
}

#[test]
fn a_client_s_address_leads_to_one_instance() {
    let stage = stage(4, |traffic| {
        traffic.sticky_sessions = Some(StickySessions::ClientAddress);
        traffic.connections_per_instance = 100;
    });
    let affinity = stage.app.affinity([].into_iter(), || 42);
    let permits: Vec<_> = (0..20)
        .map(|_| match stage.ask(InstanceRequest { affinity: affinity.clone(), ..InstanceRequest::default() }) {
            AcquireResult::Granted(serving, permit) => (serving, permit),
            _ => panic!("no instance is free"),
        })
        .collect();
    assert!(permits.iter().all(|(serving, _)| Rc::ptr_eq(serving.instance(), permits[0].0.instance())));
}

#[test]
fn a_new_instance_beside_older_ones_starts_slowly_and_a_new_app_does_not() {
    let slow = |traffic: &mut AppTraffic| {
        traffic.connections_per_instance = 1_000;
        traffic.slow_start_ms = 1_000_000;
    };
    let stage = stage(2, slow);
    let permits: Vec<_> = (0..200).map(|_| stage.here()).collect();
    assert!(stage.instances.iter().all(|instance| instance.in_flight() > 80));
    drop(permits);
    let newer = instance("ins_new");
    stage.set(&[Rc::clone(&stage.instances[0]), Rc::clone(&newer)], slow);
    let _seats: Vec<_> = (0..220).map(|_| stage.here()).collect();
    assert!((5..50).contains(&newer.in_flight()), "{}", newer.in_flight());
}

#[test]
fn retries_end_with_the_budget() {
    let stage = stage(1, |traffic| traffic.retry_budget_percent = 10);
    assert_eq!((0..100).filter(|_| stage.app.may_retry()).count(), 10);
    (0..10).for_each(|_| stage.app.add_retry_budget());
    assert!(stage.app.may_retry() && !stage.app.may_retry());
    assert_eq!(stage.app.numbers.borrow().retries, 11);
}

#[test]
fn a_retry_uses_another_instance_if_there_is_one() {
    let stage = stage(2, |traffic| traffic.connections_per_instance = 10);
    let avoid = Some(Rc::clone(&stage.instances[0]));
    for _ in 0..10 {
        let AcquireResult::Granted(serving, _permit) =
            stage.ask(InstanceRequest { avoid: avoid.clone(), ..InstanceRequest::default() })
        else {
            panic!()
        };
        assert!(Rc::ptr_eq(serving.instance(), &stage.instances[1]));
    }
    stage.set(&stage.instances[..1], |_| ());
    let AcquireResult::Granted(serving, _permit) = stage.ask(InstanceRequest { avoid, ..InstanceRequest::default() })
    else {
        panic!()
    };
    assert!(Rc::ptr_eq(serving.instance(), &stage.instances[0]));
}

#[test]
fn a_client_that_has_its_share_of_connections_waits_and_holds_up_no_other() {
    let stage = stage(1, |traffic| traffic.connections_per_instance = 2000);
    let of_client = |client| InstanceRequest { client, ..InstanceRequest::default() };
    let taken: Vec<_> = (0..CONNECTIONS_MAX / 4)
        .map(|_| match stage.ask(of_client(1)) {
            AcquireResult::Granted(serving, permit) => {
                drop(permit);
                serving
            }
            _ => panic!("its share is not used up"),
        })
        .collect();
    let mut first = stage.later(of_client(1));
    let mut second = stage.later(of_client(1));
    let AcquireResult::Granted(serving, permit) = stage.ask(of_client(2)) else { panic!("another client is held up") };
    drop((serving, permit));
    assert!(outcome(&mut first).is_none());
    let mut taken = taken.into_iter();
    drop(taken.next());
    let first = outcome(&mut first).unwrap().unwrap();
    assert!(outcome(&mut second).is_none(), "one connection serves one");
    drop(first);
    assert!(outcome(&mut second).unwrap().is_ok());
}

#[test]
fn those_that_wait_for_their_own_share_do_not_have_others_refused() {
    let stage = stage(1, |traffic| {
        traffic.connections_per_instance = 2000;
        traffic.load_shedding = true;
        traffic.queue_timeout_ms = 20;
    });
    let of_client = |client| InstanceRequest { client, ..InstanceRequest::default() };
    let _taken: Vec<_> = (0..CONNECTIONS_MAX / 4).map(|_| stage.ask(of_client(1))).collect();
    let _waiting = stage.later(of_client(1));
    assert_eq!(stage.app.permits_wanted_since_ms(), None);
}

/// Makes `clients` take as many connections of an app as they can; their responses never end.
fn stall(stage: &Stage, clients: u64) -> Vec<InFlightRequest> {
    let clients = (0..CONNECTIONS_MAX as u64).map(|number| number % clients);
    let served =
        clients.filter_map(|client| match stage.ask(InstanceRequest { client, ..InstanceRequest::default() }) {
            AcquireResult::Granted(serving, permit) => {
                drop(permit);
                Some(serving)
            }
            _ => None,
        });
    served.collect()
}

#[test]
fn an_app_that_never_answers_leaves_connections_to_another() {
    let connections = Quota::new(CONNECTIONS_MAX);
    let stage = || stage_on(&connections, Alarms::new(), 1, |traffic| traffic.connections_per_instance = 10_000);
    let (stalled, other) = (stage(), stage());
    connections.set_apps(2);
    let taken = stall(&stalled, 4096);
    assert_eq!(taken.len(), CONNECTIONS_MAX / 2);
    for client in 4_000..4_100 {
        let request = InstanceRequest { client, ..InstanceRequest::default() };
        assert!(matches!(other.ask(request), AcquireResult::Granted(..)), "client {client} has to wait");
    }
    // One that waits for the app's own share gets the next connection.
    let mut waiting = stalled.later(InstanceRequest { client: 5_000, ..InstanceRequest::default() });
    let mut taken = taken.into_iter();
    drop((taken.next(), taken.next()));
    assert!(outcome(&mut waiting).unwrap().is_ok());
}

#[test]
fn a_few_clients_that_hold_an_app_s_connections_leave_some_to_others() {
    let stage = stage(1, |traffic| traffic.connections_per_instance = 10_000);
    let taken = stall(&stage, 8);
    assert!(taken.len() < CONNECTIONS_MAX - 100, "{}", taken.len());
    let mut newcomers = (100..200).map(|client| stage.ask(InstanceRequest { client, ..InstanceRequest::default() }));
    assert!(newcomers.all(|acquired| matches!(acquired, AcquireResult::Granted(..))));
}

#[test]
fn long_heads_of_a_few_clients_refuse_no_other_client_s() {
    const MIB: usize = 1024 * 1024;
    let heads = Quota::new(32 * MIB);
    heads.set_apps(2);
    let app = |key| app(key, &Alarms::new(), &Quota::new(CONNECTIONS_MAX), &heads);
    let (first, second, third) = (app("app_a"), app("app_b"), app("app_c"));
    let flood = |app: &Rc<App>, clients: std::ops::Range<u64>| {
        let of_client = |client| (0..512).map_while(move |_| app.keep_head(client, 64 * 1024));
        clients.flat_map(of_client).collect::<Vec<_>>()
    };
    let newcomers_are_kept =
        |app: &Rc<App>| (100..200).filter_map(|client| app.keep_head(client, 8 * 1024)).count() == 100;
    // Four clients had all of it when each had a quarter, whatever was left.
    let _kept = flood(&first, 0..4);
    assert!([&first, &second, &third].into_iter().all(newcomers_are_kept));
    let _more = flood(&second, 4..8);
    assert!([&second, &third].into_iter().all(newcomers_are_kept));
}
