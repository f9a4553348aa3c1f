//! Requests that wait for an instance: one line an app, first come first served, without a timer for each.
//! A client that leaves drops its `Waiting`, which gives up its place, or what it had just been given.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use fairlead_model::Priority;
use fairlead_route::Line;

use super::{App, Asks, Refusal, Serving, Slot};

type Outcome = Result<(Serving, Slot), Refusal>;

/// One that waits, or has been told and not looked yet.
#[derive(Debug)]
pub(super) struct Waiter {
    asks: Asks,
    since_ms: u64,
    waker: Option<Waker>,
    outcome: Option<Outcome>,
}

impl Waiter {
    pub(super) fn new(asks: Asks, since_ms: u64) -> Self {
        Self { asks, since_ms, waker: None, outcome: None }
    }
}

/// An app's line, and how many of each priority stand in it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    line: Line<Waiter>,
    of_priority: [u32; 3],
}

impl Waiters {
    pub(super) fn len(&self) -> u32 {
        self.line.len()
    }

    pub(super) fn front(&self) -> Option<u32> {
        self.line.front()
    }

    pub(super) fn after(&self, place: u32) -> Option<u32> {
        self.line.after(place)
    }

    pub(super) fn asks(&mut self, place: u32) -> Option<&Asks> {
        self.line.value(place).map(|waiter| &waiter.asks)
    }

    /// Since when the first in line has waited.
    pub(super) fn oldest_since_ms(&mut self) -> Option<u64> {
        let front = self.line.front()?;
        self.line.value(front).map(|waiter| waiter.since_ms)
    }

    pub(super) fn push(&mut self, waiter: Waiter) -> u32 {
        self.of_priority[waiter.asks.priority as usize] += 1;
        self.line.push(waiter)
    }

    /// Tells one its outcome, which takes it out of the line; how long it had waited.
    pub(super) fn settle(&mut self, place: u32, outcome: Outcome, now_ms: u64) -> u64 {
        let stood = self.line.leave(place);
        let Some(waiter) = self.line.value(place) else { return 0 };
        waiter.outcome = Some(outcome);
        if let Some(waker) = waiter.waker.take() {
            waker.wake();
        }
        let (priority, since_ms) = (waiter.asks.priority, waiter.since_ms);
        if stood {
            self.of_priority[priority as usize] -= 1;
        }
        now_ms.saturating_sub(since_ms)
    }

    /// Refuses the last to come of the least priority below this one; `false` when there is none.
    pub(super) fn refuse_lesser(&mut self, priority: Priority) -> bool {
        let lesser =
            [Priority::Low, Priority::Normal].into_iter().find(|lesser| self.of_priority[*lesser as usize] > 0);
        let Some(lesser) = lesser.filter(|lesser| *lesser < priority) else { return false };
        let mut at = self.line.back();
        while let Some(place) = at {
            if self.line.value(place).is_some_and(|waiter| waiter.asks.priority == lesser) {
                self.settle(place, Err(Refusal::Shed), 0);
                return true;
            }
            at = self.line.before(place);
        }
        false
    }

    fn free(&mut self, place: u32) -> Option<Waiter> {
        let stood = self.line.leave(place);
        let waiter = self.line.free(place)?;
        if stood {
            self.of_priority[waiter.asks.priority as usize] -= 1;
        }
        Some(waiter)
    }
}

/// A request's place in line.
#[derive(Debug)]
pub(crate) struct Waiting {
    app: Rc<App>,
    /// `None` once its outcome was taken.
    place: Option<u32>,
}

impl Waiting {
    pub(super) fn new(app: &Rc<App>, place: u32) -> Self {
        Self { app: Rc::clone(app), place: Some(place) }
    }
}

impl Future for Waiting {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(place) = self.place else { return Poll::Pending };
        let mut waiters = self.app.waiters.borrow_mut();
        let Some(waiter) = waiters.line.value(place) else { return Poll::Pending };
        let Some(outcome) = waiter.outcome.take() else {
            if !waiter.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                waiter.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        waiters.free(place);
        drop(waiters);
        self.place = None;
        Poll::Ready(outcome)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let waiter = {
            let mut waiters = self.app.waiters.borrow_mut();
            let waiter = waiters.free(place);
            self.app.waiters_changed(&waiters);
            waiter
        };
        // What it had been given goes to the next in line, which asks for the line again.
        drop(waiter);
    }
}
