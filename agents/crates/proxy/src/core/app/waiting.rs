//! Wait queue of an app: requests that wait for an instance, fair between clients, without a timer for each.
//! A client that leaves drops its `Waiting`, which gives up its place, or what it had just been given.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use fairlead_model::Priority;
use fairlead_route::FairQueue;

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

/// Waiting requests of an app.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    queue: FairQueue<Waiter>,
}

impl Waiters {
    pub(super) fn len(&self) -> u32 {
        self.queue.len()
    }

    /// Returns the place with the next turn among the clients that `may` have one.
    pub(super) fn next(&self, may: impl Fn(u64) -> bool) -> Option<u32> {
        self.queue.next(may)
    }

    /// Returns the place that came after this one; without one, the oldest place.
    pub(super) fn after(&self, place: Option<u32>) -> Option<u32> {
        self.queue.after(place)
    }

    pub(super) fn has_others(&self, client: u64) -> bool {
        self.queue.has_others(client)
    }

    pub(super) fn asks(&mut self, place: u32) -> Option<&Asks> {
        self.queue.value(place).map(|waiter| &waiter.asks)
    }

    /// Returns since when the oldest request has waited.
    pub(super) fn oldest_since_ms(&mut self) -> Option<u64> {
        let oldest = self.queue.oldest()?;
        self.queue.value(oldest).map(|waiter| waiter.since_ms)
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        self.queue.oldest()
    }

    pub(super) fn since_ms(&mut self, place: u32) -> Option<u64> {
        self.queue.value(place).map(|waiter| waiter.since_ms)
    }

    pub(super) fn push(&mut self, waiter: Waiter) -> u32 {
        self.queue.push(waiter.asks.client, waiter.asks.priority, waiter)
    }

    /// Gives a request what it waits for, which uses its client's turn; returns how long it had waited.
    pub(super) fn serve(&mut self, place: u32, seat: (Serving, Slot), now_ms: u64) -> u64 {
        self.queue.take_turn(place);
        self.settle(place, Ok(seat), now_ms)
    }

    /// Sends a request its outcome and removes it from the queue; returns how long it had waited.
    pub(super) fn settle(&mut self, place: u32, outcome: Outcome, now_ms: u64) -> u64 {
        self.queue.leave(place);
        let Some(waiter) = self.queue.value(place) else { return 0 };
        waiter.outcome = Some(outcome);
        if let Some(waker) = waiter.waker.take() {
            waker.wake();
        }
        now_ms.saturating_sub(waiter.since_ms)
    }

    /// Makes room for a request in a full queue by refusing another; `None` if it can refuse none. The lowest priority below
    /// loses a request first, then a client of the same priority with more requests; always the client with most of them.
    pub(super) fn make_room(&mut self, asks: &Asks) -> Option<Refusal> {
        let lesser = [Priority::Low, Priority::Normal].into_iter().filter(|lesser| *lesser < asks.priority);
        let lesser = lesser.filter_map(|lesser| self.queue.last_of_longest(lesser)).next();
        let (place, refusal) = match lesser {
            Some((place, _)) => (place, Refusal::Shed),
            None => {
                let (place, length) = self.queue.last_of_longest(asks.priority)?;
                let own = self.queue.len_of(asks.client, asks.priority);
                (length > own + 1).then_some((place, Refusal::Full))?
            }
        };
        self.settle(place, Err(refusal), 0);
        Some(refusal)
    }
}

/// Place of a request in the queue.
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

#[cfg(test)]
impl Waiting {
    pub(super) fn is_told(&self) -> bool {
        self.place.is_none()
    }
}

impl Future for Waiting {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(place) = self.place else { return Poll::Pending };
        let mut waiters = self.app.waiters.borrow_mut();
        let Some(waiter) = waiters.queue.value(place) else { return Poll::Pending };
        let Some(outcome) = waiter.outcome.take() else {
            if !waiter.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                waiter.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        waiters.queue.free(place);
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
            let waiter = waiters.queue.free(place);
            self.app.waiters_changed(&waiters);
            waiter
        };
        // What it had been given goes to the next in line, which asks for the line again.
        drop(waiter);
    }
}
