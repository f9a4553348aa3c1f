//! Schedules TLS handshakes so that neither they nor other tasks of a core starve. One handshake takes a core as long
//! as dozens of requests, and many arrive at once when clients reconnect.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairlead_reactor::yield_now;
use tokio::sync::{Notify, Semaphore};

use super::{Alarm, AlarmWaker};

/// Minimum number of handshake steps in one round of the event loop: half a millisecond.
const STEPS_PER_ROUND_MIN: usize = 4;
/// Time of the most expensive step. While handshakes wait, a round allows one step for each such time that the last
/// round took.
const STEP: Duration = Duration::from_micros(150);

/// Handshake scheduler of one core.
#[derive(Debug)]
pub(crate) struct Handshakes {
    /// Steps left in this round; further handshakes queue.
    left: Semaphore,
    /// True if a step was taken in this round.
    counting: Cell<bool>,
    begun: Notify,
    /// Handshakes that wait for bytes from their clients, longest wait first.
    silent: RefCell<BTreeMap<u64, SilentHandshake>>,
    silent_last: Cell<u64>,
}

#[derive(Debug)]
struct SilentHandshake {
    remote_waker: AlarmWaker,
    since_ms: u64,
}

/// Guard that counts a handshake as silent, which means that it waits for bytes from its client.
#[derive(Debug)]
pub(crate) struct Silence<'a> {
    handshakes: &'a Handshakes,
    number: u64,
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        self.handshakes.silent.borrow_mut().remove(&self.number);
    }
}

impl Handshakes {
    pub(super) fn new() -> Self {
        Self {
            left: Semaphore::new(STEPS_PER_ROUND_MIN),
            counting: Cell::new(false),
            begun: Notify::new(),
            silent: RefCell::default(),
            silent_last: Cell::default(),
        }
    }

    /// Counts a handshake as silent until the guard drops. If `most` are silent already, ends the one that has been
    /// silent longest.
    pub(crate) fn wait_for_client(&self, alarm: &Alarm, most: usize) -> Silence<'_> {
        let mut silent = self.silent.borrow_mut();
        if silent.len() >= most
            && let Some((_, longest)) = silent.pop_first()
        {
            longest.remote_waker.wake();
        }
        let number = self.silent_last.get() + 1;
        self.silent_last.set(number);
        silent.insert(number, SilentHandshake { remote_waker: alarm.remote_waker(), since_ms: alarm.now_ms() });
        Silence { handshakes: self, number }
    }

    /// Returns the number of silent handshakes.
    pub(crate) fn silent(&self) -> usize {
        self.silent.borrow().len()
    }

    /// Ends the handshakes that have been silent longest: at most `count`, and only those silent since `before_ms` or
    /// longer. Returns true if there were any.
    pub(super) fn wake_longest_silent(&self, count: usize, before_ms: u64) -> bool {
        let mut silent = self.silent.borrow_mut();
        let mut woken = 0;
        while woken < count
            && let Some(longest) = silent.first_entry().filter(|longest| longest.get().since_ms <= before_ms)
        {
            longest.remove().remote_waker.wake();
            woken += 1;
        }
        woken > 0
    }

    /// Waits for permission to take one step, in the order of calls.
    pub(crate) async fn step(&self) {
        // The semaphore is never closed.
        if let Ok(step) = self.left.acquire().await {
            step.forget();
            if !self.counting.replace(true) {
                self.begun.notify_one();
            }
        }
    }

    /// Starts a new round whenever all tasks that were ready at the first step of the last one have run.
    pub(crate) async fn count_rounds(&self, now: impl Fn() -> Instant) {
        loop {
            self.begun.notified().await;
            let began = now();
            // Continues behind all tasks that the network made ready in the meantime.
            yield_now().await;
            self.counting.set(false);
            let left = self.left.available_permits();
            let steps = if left == 0 { steps(now() - began) } else { STEPS_PER_ROUND_MIN };
            self.left.forget_permits(left.saturating_sub(steps));
            self.left.add_permits(steps.saturating_sub(left));
        }
    }
}

/// Returns the number of steps of the round after one that took this long.
fn steps(round: Duration) -> usize {
    let affordable = round.as_micros() / STEP.as_micros();
    usize::try_from(affordable).unwrap_or(usize::MAX).clamp(STEPS_PER_ROUND_MIN, Semaphore::MAX_PERMITS / 2)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::poll_fn;
    use std::rc::Rc;
    use std::task::Poll;

    use fairlead_reactor::{Task, block_on, spawn};

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Ran {
        Request,
        Handshake(usize),
    }

    /// Waits for `count` permits.
    async fn all(given: &Semaphore, count: usize) {
        given.acquire_many(u32::try_from(count).unwrap()).await.unwrap().forget();
    }

    /// Takes a step in another task, and adds a permit to `through` afterwards.
    fn take_step(handshakes: &Rc<Handshakes>, through: &Rc<Semaphore>) -> Task {
        let (handshakes, through) = (Rc::clone(handshakes), Rc::clone(through));
        spawn(async move {
            handshakes.step().await;
            through.add_permits(1);
        })
    }

    #[test]
    fn handshakes_between_two_turns_of_a_request_are_limited_and_in_order() {
        const STORM: usize = 100;
        let log: Rc<RefCell<Vec<Ran>>> = Rc::default();
        block_on(async {
            let handshakes = Rc::new(Handshakes::new());
            let (rounds, began) = (Rc::clone(&handshakes), Instant::now());
            spawn(async move { rounds.count_rounds(|| began).await });
            let left = Rc::new(Semaphore::new(0));
            for number in 0..STORM {
                let (handshakes, log, left) = (Rc::clone(&handshakes), Rc::clone(&log), Rc::clone(&left));
                spawn(async move {
                    handshakes.step().await;
                    log.borrow_mut().push(Ran::Handshake(number));
                    left.add_permits(1);
                });
            }
            let requests = Rc::clone(&log);
            spawn(async move {
                loop {
                    requests.borrow_mut().push(Ran::Request);
                    yield_now().await;
                }
            });
            all(&left, STORM).await;
        })
        .unwrap();
        let log = log.borrow();
        let order: Vec<_> = log.iter().filter(|ran| **ran != Ran::Request).copied().collect();
        assert_eq!(order, (0..STORM).map(Ran::Handshake).collect::<Vec<_>>());
        let most = log.split(|ran| *ran == Ran::Request).map(<[Ran]>::len).max();
        // A round may end between two turns of the request.
        assert!(most.is_some_and(|most| (1..=2 * STEPS_PER_ROUND_MIN).contains(&most)), "{most:?}");
    }

    #[test]
    fn handshakes_progress_however_many_requests_are_ready() {
        const HANDSHAKES: usize = 1000;
        const REQUESTS: usize = 2000;
        const TURN: Duration = Duration::from_micros(15);
        let turns: Rc<Cell<u32>> = Rc::default();
        block_on(async {
            let handshakes = Rc::new(Handshakes::new());
            let (rounds, passed, began) = (Rc::clone(&handshakes), Rc::clone(&turns), Instant::now());
            // Time passes as requests have their turns, and by nothing else.
            spawn(async move { rounds.count_rounds(|| began + TURN * passed.get()).await });
            for _ in 0..REQUESTS {
                let turns = Rc::clone(&turns);
                // Ready again immediately, behind all others.
                spawn(poll_fn(move |cx| {
                    turns.set(turns.get() + 1);
                    cx.waker().wake_by_ref();
                    Poll::<()>::Pending
                }));
            }
            let through = Rc::new(Semaphore::new(0));
            for _ in 0..HANDSHAKES {
                take_step(&handshakes, &through);
            }
            all(&through, HANDSHAKES).await;
        })
        .unwrap();
        // A round of 2,000 turns is worth 200 steps, so 1,000 handshakes take 5 such rounds, not 250 rounds of 4
        // steps. Each handshake passes the queue three times.
        let most = u32::try_from(3 * REQUESTS * (HANDSHAKES / 200 + 2)).unwrap();
        assert!(turns.get() < most, "{} of {most}", turns.get());
    }

    #[test]
    fn a_round_has_as_many_steps_as_it_can_afford() {
        for (round_us, expected) in [(0, STEPS_PER_ROUND_MIN), (600, 4), (750, 5), (150_000, 1000)] {
            assert_eq!(steps(Duration::from_micros(round_us)), expected);
        }
        assert_eq!(steps(Duration::MAX), Semaphore::MAX_PERMITS / 2);
    }

    #[test]
    fn a_canceled_handshake_takes_no_step() {
        block_on(async {
            let handshakes = Rc::new(Handshakes::new());
            for _ in 0..STEPS_PER_ROUND_MIN {
                handshakes.step().await;
            }
            let (through, left) = (Rc::new(Semaphore::new(0)), Rc::new(Semaphore::new(0)));
            let leaves = take_step(&handshakes, &left);
            for _ in 0..STEPS_PER_ROUND_MIN {
                take_step(&handshakes, &through);
            }
            yield_now().await;
            leaves.abort();
            let (rounds, began) = (Rc::clone(&handshakes), Instant::now());
            spawn(async move { rounds.count_rounds(|| began).await });
            all(&through, STEPS_PER_ROUND_MIN).await;
            assert_eq!(left.available_permits(), 0);
        })
        .unwrap();
    }
}
