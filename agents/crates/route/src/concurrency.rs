//! Adaptive concurrency limit: the number of requests that a core keeps in flight at one instance, without
//! configuration. Invariant: it refuses no request and never falls below `LIMIT_MIN`; requests beyond it wait in the
//! queue.

/// Initial and lowest limit.
pub const LIMIT_MIN: u32 = 64;
const LIMIT_MAX: u32 = 10_000;
/// Maximum limit to which an interval without completions grows: a slow app is served at once, a stalled one gets no
/// more.
const UNANSWERED_MAX: u32 = 1_024;
/// Shortest time between two decisions, in milliseconds.
const INTERVAL_MS: u64 = 200;
/// Shortest and longest pause after a failed trial, in milliseconds: it doubles from the first to the second.
const HOLD_MS: (u64, u64) = (1_000, 8_000);
/// Longest service time that a trial waits for.
const SERVICE_MS_MAX: u64 = 30_000;
/// Percentage of the previous throughput that a trial must reach.
const GROWTH_PERCENT: u64 = 120;
const SHRINK_PERCENT: u64 = 90;

/// Load of one instance on one core, as a decision sees it.
#[derive(Debug, Clone, Copy)]
pub struct InstanceLoad {
    /// Requests that the instance works on now.
    pub busy: u32,
    /// Requests that it has finished since the core began; wraps around.
    pub completed: u32,
    /// True if requests wait in the queue of the app.
    pub queued: bool,
}

/// Limit of one instance on one core.
///
/// A fast app has a higher throughput if its requests wait here instead of one connection each. A slow app that waits
/// for other services gains from each request that it gets. So the limit grows while requests wait. Each growth is a
/// trial, undone if it does not raise the throughput. An app that responds less than once per connection and interval
/// can't show that in time. Its limit keeps growing, up to `UNANSWERED_MAX` without any response.
#[derive(Debug, Clone, Copy)]
pub struct ConcurrencyLimit {
    limit: u32,
    since_ms: u64,
    completed: u32,
    /// Smoothed number of completions per thousand seconds.
    rate: u64,
    /// Mean service time in microseconds at a concurrency that the app handles; zero until one is known.
    natural_us: u64,
    trial: Option<LimitTrial>,
    hold_until_ms: u64,
    hold_ms: u64,
    /// True if requests waited for this limit at the end of the last interval too, so this one was loaded throughout.
    bound: bool,
}

/// Trial of another limit. Compares its throughput with that of the previous limit.
#[derive(Debug, Clone, Copy)]
struct LimitTrial {
    from: u32,
    rate: u64,
    /// Time before which the instance completes requests that began under the previous limit.
    measured_from_ms: u64,
    ends_ms: u64,
    completed: u64,
}

/// Interval between two decisions.
struct Interval {
    now_ms: u64,
    elapsed_ms: u64,
    completed: u32,
    load: InstanceLoad,
    /// True if requests waited for this limit at its beginning and at its end.
    binds: bool,
    /// Mean time of a request.
    service_us: u64,
}

impl Default for ConcurrencyLimit {
    fn default() -> Self {
        Self {
            limit: LIMIT_MIN,
            since_ms: 0,
            completed: 0,
            rate: 0,
            natural_us: 0,
            trial: None,
            hold_until_ms: 0,
            hold_ms: HOLD_MS.0,
            bound: false,
        }
    }
}

impl ConcurrencyLimit {
    /// Returns the number of requests that may be in flight at the instance.
    pub fn get(&self) -> u32 {
        self.limit
    }

    /// Makes a decision if an interval is over. Reads no clock: `now_ms` only has to grow.
    pub fn step(&mut self, now_ms: u64, load: InstanceLoad) {
        let elapsed_ms = now_ms.saturating_sub(self.since_ms);
        if elapsed_ms < INTERVAL_MS {
            return;
        }
        let completed = load.completed.wrapping_sub(self.completed);
        (self.since_ms, self.completed) = (now_ms, load.completed);
        self.rate = (self.rate * 3 + rate(completed.into(), elapsed_ms)) / 4;
        // Little's law.
        let service_us = elapsed_ms * 1000 * u64::from(load.busy.max(1)) / u64::from(completed.max(1));
        if completed > load.busy && load.busy <= LIMIT_MIN && (self.natural_us == 0 || service_us < self.natural_us) {
            self.natural_us = service_us;
        }
        // The fair share may keep the last quarter from a client while others share the app.
        let bound = load.queued && load.busy >= self.limit - self.limit / 4;
        let binds = std::mem::replace(&mut self.bound, bound) && bound;
        let interval = Interval { now_ms, elapsed_ms, completed, load, binds, service_us };
        match self.trial {
            Some(trial) => self.judge(trial, &interval),
            None => self.choose(&interval),
        }
    }

    fn choose(&mut self, interval: &Interval) {
        let Interval { now_ms, completed, load, binds, .. } = *interval;
        if !load.queued && load.busy < self.limit / 2 {
            // Decays an unused limit: the next burst may be of another kind.
            self.limit = (self.limit - self.limit / 8).max(LIMIT_MIN);
            return;
        }
        if binds && completed == 0 {
            self.limit = grown(self.limit, completed);
            return;
        }
        if now_ms < self.hold_until_ms {
            return;
        }
        // Only if a few hundred milliseconds show the outcome: for a slow app a wrong trial would cost too much.
        let suffers = completed > load.busy && interval.service_us > self.natural_us.saturating_mul(2);
        if suffers && self.limit > LIMIT_MIN {
            self.begin(interval, (self.limit.min(load.busy) / 4 * 3).max(LIMIT_MIN));
        } else if binds && completed < self.limit {
            self.begin(interval, doubled(self.limit));
        } else if binds {
            self.begin(interval, (self.limit + self.limit / 2).min(LIMIT_MAX));
        }
    }

    fn begin(&mut self, interval: &Interval, limit: u32) {
        let rate = self.rate.max(rate(interval.completed.into(), interval.elapsed_ms));
        // Little's law again, for the recent service time.
        let service_ms = (u64::from(self.limit) * 1_000_000 / rate.max(1)).min(SERVICE_MS_MAX);
        let measured_from_ms = interval.now_ms + service_ms.max(INTERVAL_MS);
        let ends_ms = measured_from_ms + service_ms.max(2 * INTERVAL_MS);
        self.trial = Some(LimitTrial { from: self.limit, rate, measured_from_ms, ends_ms, completed: 0 });
        self.limit = limit;
    }

    fn judge(&mut self, mut trial: LimitTrial, interval: &Interval) {
        let Interval { now_ms, elapsed_ms, completed, load, binds, service_us } = *interval;
        let grows = self.limit > trial.from;
        if now_ms - elapsed_ms >= trial.measured_from_ms {
            trial.completed += u64::from(completed);
        } else if now_ms >= trial.measured_from_ms {
            // The measurement lasts as long as planned, starting with the next interval.
            trial.ends_ms += now_ms - trial.measured_from_ms;
            trial.measured_from_ms = now_ms;
        }
        if now_ms < trial.ends_ms {
            let is_first = self.hold_ms == HOLD_MS.0;
            if grows && is_first && binds && completed < self.limit {
                self.limit = grown(self.limit, completed);
            }
            self.trial = Some(trial);
            return;
        }
        self.trial = None;
        let reached = rate(trial.completed, now_ms - trial.measured_from_ms);
        let passed = if grows {
            // One step of growth that empties the queue shows that the app did not cause it.
            reached * 100 >= trial.rate * GROWTH_PERCENT || !load.queued && self.limit <= doubled(trial.from)
        } else {
            reached * 100 >= trial.rate * SHRINK_PERCENT
        };
        if passed {
            self.hold_ms = HOLD_MS.0;
            return;
        }
        if !grows {
            // The app needs the larger limit, so its service time under that limit is no sign of overload.
            self.natural_us = service_us;
        }
        self.limit = trial.from;
        self.hold_until_ms = now_ms + self.hold_ms;
        self.hold_ms = (self.hold_ms * 2).min(HOLD_MS.1);
    }
}

/// Returns the number of completions per thousand seconds.
fn rate(completed: u64, elapsed_ms: u64) -> u64 {
    completed * 1_000_000 / elapsed_ms.max(1)
}

/// Limit after another interval of growth.
fn grown(limit: u32, completed: u32) -> u32 {
    let most = if completed == 0 { UNANSWERED_MAX.max(limit) } else { LIMIT_MAX };
    doubled(limit).min(most)
}

fn doubled(limit: u32) -> u32 {
    limit.saturating_mul(2).min(LIMIT_MAX)
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::{BinaryHeap, VecDeque};

    use super::*;

    const TICK_US: u64 = 250_000;

    /// Simulated app: service time of each client's requests, and number of workers.
    struct App {
        service_us: fn(client: usize) -> u64,
        workers: usize,
    }

    /// Closed-loop clients on one core in virtual time: each sends its next request right after a response.
    struct Simulation {
        limit: ConcurrencyLimit,
        now_us: u64,
        completed: u32,
        /// Times at which each client's request was sent and left the queue.
        asked_us: Vec<u64>,
        queue: VecDeque<usize>,
        busy: u32,
        /// Requests that the app has accepted but not begun.
        backlog: VecDeque<usize>,
        idle_workers: usize,
        events: BinaryHeap<Reverse<(u64, usize)>>,
        limits: Vec<u32>,
        waits_us: Vec<(usize, u64)>,
        bounded: bool,
    }

    const TICK: usize = usize::MAX;

    impl Simulation {
        fn new() -> Self {
            Self {
                limit: ConcurrencyLimit::default(),
                now_us: 0,
                completed: 0,
                asked_us: Vec::new(),
                queue: VecDeque::new(),
                busy: 0,
                backlog: VecDeque::new(),
                idle_workers: 0,
                events: BinaryHeap::from([Reverse((TICK_US, TICK))]),
                limits: Vec::new(),
                waits_us: Vec::new(),
                bounded: true,
            }
        }

        /// Control without a limit.
        fn unbounded() -> Self {
            Self { bounded: false, ..Self::new() }
        }

        fn dispatch(&mut self, app: &App) {
            while !self.bounded || self.busy < self.limit.get() {
                let Some(client) = self.queue.pop_front() else { break };
                self.busy += 1;
                self.waits_us.push((client, self.now_us - self.asked_us[client]));
                self.backlog.push_back(client);
            }
            while self.idle_workers > 0 {
                let Some(client) = self.backlog.pop_front() else { break };
                self.idle_workers -= 1;
                self.events.push(Reverse((self.now_us + (app.service_us)(client), client)));
            }
        }

        /// Simulates `seconds` with this app and `clients`; returns the number of responses.
        fn run(&mut self, app: &App, clients: usize, seconds: u64) -> usize {
            let until_us = self.now_us + seconds * 1_000_000;
            let before = self.completed;
            self.asked_us = vec![self.now_us; clients];
            self.queue = (0..clients).collect();
            self.idle_workers = app.workers;
            (self.limits, self.waits_us) = (Vec::new(), Vec::new());
            self.dispatch(app);
            while let Some(Reverse((at_us, client))) = self.events.pop().filter(|event| event.0.0 <= until_us) {
                self.now_us = at_us;
                if client == TICK {
                    let load =
                        InstanceLoad { busy: self.busy, completed: self.completed, queued: !self.queue.is_empty() };
                    self.limit.step(self.now_us / 1000, load);
                    self.limits.push(self.limit.get());
                    self.events.push(Reverse((self.now_us + TICK_US, TICK)));
                } else {
                    self.busy -= 1;
                    self.idle_workers += 1;
                    self.completed += 1;
                    self.asked_us[client] = self.now_us;
                    self.queue.push_back(client);
                }
                self.dispatch(app);
            }
            for client in self.queue.drain(..) {
                self.waits_us.push((client, self.now_us - self.asked_us[client]));
            }
            // Drops the app's remaining requests with the load.
            self.events = BinaryHeap::from([Reverse((self.now_us + TICK_US, TICK))]);
            (self.busy, self.now_us) = (0, until_us);
            self.backlog.clear();
            (self.completed - before) as usize
        }

        fn longest_wait_ms(&self, of: impl Fn(usize) -> bool) -> u64 {
            self.waits_us.iter().filter(|(client, _)| of(*client)).map(|(_, us)| us / 1000).max().unwrap_or(0)
        }
    }

    fn slow(service_us: fn(usize) -> u64) -> App {
        App { service_us, workers: usize::MAX / 2 }
    }

    /// Four workers at a quarter of a millisecond a request: 16,000 requests a second, however many are sent.
    const FAST: App = App { service_us: |_| 250, workers: 4 };

    #[test]
    fn an_app_that_waits_for_something_else_gets_all_requests_within_a_second_or_two() {
        for (app, clients, seconds) in [(slow(|_| 1_000_000), 400, 20), (slow(|_| 5_000_000), 1000, 30)] {
            let control = Simulation::unbounded().run(&app, clients, seconds);
            let mut bounded = Simulation::new();
            let answers = bounded.run(&app, clients, seconds);
            assert!(bounded.longest_wait_ms(|_| true) <= 1_500, "{} ms", bounded.longest_wait_ms(|_| true));
            assert!(answers * 100 >= control * 80, "{answers} of {control}");
        }
    }

    #[test]
    fn an_app_that_answers_nothing_gets_no_more_than_a_slow_one_may_need() {
        let mut bounded = Simulation::new();
        bounded.run(&slow(|_| u64::MAX / 4), 10_000, 60);
        assert_eq!(bounded.limits.iter().max(), Some(&UNANSWERED_MAX));
        // An app that responded and then stalls keeps the limit that it has proved.
        let mut bounded = Simulation::new();
        bounded.run(&slow(|_| 2_000_000), 4_000, 20);
        let before = bounded.limit.get();
        assert!(before > UNANSWERED_MAX, "{before}");
        bounded.run(&slow(|_| u64::MAX / 4), 10_000, 60);
        assert!(bounded.limit.get() <= before);
    }

    #[test]
    fn long_polls_beyond_that_wait_no_longer_than_one_takes() {
        let mut bounded = Simulation::new();
        bounded.run(&slow(|client| 25_000_000 + client as u64 % 100 * 50_000), 3_000, 120);
        assert!(bounded.longest_wait_ms(|_| true) < 40_000, "{} ms", bounded.longest_wait_ms(|_| true));
    }

    #[test]
    fn answers_that_take_a_random_time_grow_the_limit_too() {
        // Service times of 0.1 to 9.9 s, as of a language model.
        let app = slow(|client| 100_000 + (client as u64 * 7_919 % 99) * 100_000);
        let control = Simulation::unbounded().run(&app, 600, 60);
        let mut bounded = Simulation::new();
        let answers = bounded.run(&app, 600, 60);
        assert!(bounded.longest_wait_ms(|_| true) <= 5_000, "{} ms", bounded.longest_wait_ms(|_| true));
        assert!(answers * 100 >= control * 80, "{answers} of {control}");
    }

    #[test]
    fn an_app_of_some_milliseconds_gets_what_it_can_serve() {
        let app = slow(|_| 20_000);
        let control = Simulation::unbounded().run(&app, 200, 30);
        let mut bounded = Simulation::new();
        let answers = bounded.run(&app, 200, 30);
        assert!(answers * 100 >= control * 90, "{answers} of {control}");
    }

    #[test]
    fn a_fast_app_keeps_few_connections_however_many_clients_it_has() {
        for clients in [200, 1_000, 5_000] {
            let mut bounded = Simulation::new();
            bounded.run(&FAST, clients, 60);
            let mean = bounded.limits.iter().sum::<u32>() as usize / bounded.limits.len();
            let most = bounded.limits.iter().max().copied().unwrap_or_default();
            assert!(mean <= 80 && most <= 128, "mean {mean}, most {most} with {clients} clients");
        }
    }

    #[test]
    fn a_limit_that_grew_for_slow_requests_shrinks_under_fast_ones() {
        let mut bounded = Simulation::new();
        bounded.run(&slow(|_| 2_000_000), 2_000, 10);
        assert!(bounded.limit.get() >= 1_024);
        bounded.run(&FAST, 1_000, 60);
        assert!(bounded.limit.get() <= 144, "{}", bounded.limit.get());
    }

    #[test]
    fn an_app_that_is_busy_itself_is_not_sent_everything() {
        // One worker at 50 ms a request: more requests in flight only move the queue into the app.
        let app = App { service_us: |_| 50_000, workers: 1 };
        let mut bounded = Simulation::new();
        bounded.run(&app, 1_000, 300);
        let last = &bounded.limits[bounded.limits.len() / 2..];
        let mean = last.iter().sum::<u32>() as usize / last.len();
        assert!(mean < 1_000, "{mean}");
    }

    #[test]
    fn fast_requests_pass_slow_ones_of_the_same_app() {
        // Requests of 200 of the 600 clients take one millisecond.
        let app = slow(|client| if client % 3 == 0 { 1_000 } else { 5_000_000 });
        let mut bounded = Simulation::new();
        bounded.run(&app, 600, 30);
        let late = bounded.waits_us.iter().filter(|(client, us)| client % 3 == 0 && *us > 1_000_000).count();
        assert!(bounded.longest_wait_ms(|_| true) <= 3_000, "{} ms", bounded.longest_wait_ms(|_| true));
        assert!(late * 100 <= bounded.waits_us.len(), "{late} of {}", bounded.waits_us.len());
    }

    #[test]
    fn an_unused_limit_is_forgotten() {
        let mut bounded = Simulation::new();
        bounded.run(&slow(|_| 1_000_000), 400, 5);
        assert!(bounded.limit.get() >= 256);
        bounded.run(&slow(|_| 1_000_000), 1, 10);
        assert_eq!(bounded.limit.get(), LIMIT_MIN);
    }
}
