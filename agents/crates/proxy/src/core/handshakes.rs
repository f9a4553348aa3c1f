//! Whose handshake goes on: one takes a core as long as dozens of requests, and many come at once when clients come back.
//! Owns how many steps of handshakes are taken before whoever else is ready has had a turn; never looks at their bytes.

use std::cell::Cell;

use tokio::sync::{Notify, Semaphore};
use tokio::task::yield_now;

/// Steps of handshakes in one lap of the core's tasks: half a millisecond of its time.
const STEPS_A_LAP: usize = 4;

/// The handshakes of one core.
#[derive(Debug)]
pub(crate) struct Handshakes {
    /// Steps left in this lap; whoever finds none waits in line.
    left: Semaphore,
    taken: Cell<usize>,
    first: Notify,
}

impl Handshakes {
    pub(super) fn new() -> Self {
        Self { left: Semaphore::new(STEPS_A_LAP), taken: Cell::new(0), first: Notify::new() }
    }

    /// Ready when one step may be taken, in the order of asking.
    pub(crate) async fn step(&self) {
        // It is never closed.
        if let Ok(step) = self.left.acquire().await {
            step.forget();
            if self.taken.replace(self.taken.get() + 1) == 0 {
                self.first.notify_one();
            }
        }
    }

    /// Begins a new lap whenever all that was ready has had its turn since the first step of the last.
    pub(crate) async fn count_laps(&self) {
        loop {
            self.first.notified().await;
            // Goes on behind everything that the network made ready meanwhile.
            yield_now().await;
            self.left.add_permits(self.taken.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use tokio::runtime::{Builder, LocalOptions};
    use tokio::task::spawn_local;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Ran {
        Request,
        Handshake(usize),
    }

    #[test]
    fn between_two_turns_of_a_request_only_so_many_handshakes_go_on_and_in_order() {
        const STORM: usize = 100;
        let runtime = Builder::new_current_thread().event_interval(31).build_local(LocalOptions::default()).unwrap();
        let log: Rc<RefCell<Vec<Ran>>> = Rc::default();
        runtime.block_on(async {
            let handshakes = Rc::new(Handshakes::new());
            let laps = Rc::clone(&handshakes);
            spawn_local(async move { laps.count_laps().await });
            let storm: Vec<_> = (0..STORM)
                .map(|number| {
                    let (handshakes, log) = (Rc::clone(&handshakes), Rc::clone(&log));
                    spawn_local(async move {
                        handshakes.step().await;
                        log.borrow_mut().push(Ran::Handshake(number));
                    })
                })
                .collect();
            let requests = Rc::clone(&log);
            spawn_local(async move {
                loop {
                    requests.borrow_mut().push(Ran::Request);
                    yield_now().await;
                }
            });
            for handshake in storm {
                handshake.await.unwrap();
            }
        });
        let log = log.borrow();
        let order: Vec<_> = log.iter().filter(|ran| **ran != Ran::Request).copied().collect();
        assert_eq!(order, (0..STORM).map(Ran::Handshake).collect::<Vec<_>>());
        let most = log.split(|ran| *ran == Ran::Request).map(<[Ran]>::len).max();
        // A lap may end between two of the request's.
        assert!(most.is_some_and(|most| (1..=2 * STEPS_A_LAP).contains(&most)), "{most:?}");
    }

    #[test]
    fn one_that_leaves_the_line_takes_nothing_with_it() {
        let runtime = Builder::new_current_thread().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let handshakes = Rc::new(Handshakes::new());
            for _ in 0..STEPS_A_LAP {
                handshakes.step().await;
            }
            let (waits, leaves) = (Rc::clone(&handshakes), Rc::clone(&handshakes));
            let leaves = spawn_local(async move { leaves.step().await });
            let waits = spawn_local(async move { waits.step().await });
            yield_now().await;
            leaves.abort();
            let laps = spawn_local(async move { handshakes.count_laps().await });
            waits.await.unwrap();
            laps.abort();
        });
    }
}
