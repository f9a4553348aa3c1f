//! Wait queue of an app: requests that wait for an instance, fair between clients, without a timer for each. A request
//! that leaves drops its `QueuedRequest`, which frees its place or the permit that it had just been granted.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use fairlead_model::Priority;
use fairlead_route::FairQueue;

use super::{App, InFlightRequest, InstanceRequest, Permit, Refusal};

type Outcome = Result<(InFlightRequest, Permit), Refusal>;

/// Queued request, or one that has an outcome and has not polled it yet.
#[derive(Debug)]
pub(super) struct QueueEntry {
    request: InstanceRequest,
    since_ms: u64,
    waker: Option<Waker>,
    outcome: Option<Outcome>,
}

impl QueueEntry {
    pub(super) fn new(request: InstanceRequest, since_ms: u64) -> Self {
        Self { request, since_ms, waker: None, outcome: None }
    }
}

/// Queued requests of an app.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    queue: FairQueue<QueueEntry>,
}

impl WaitQueue {
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

    pub(super) fn request(&mut self, place: u32) -> Option<&InstanceRequest> {
        self.queue.value(place).map(|entry| &entry.request)
    }

    /// Returns since when the oldest request has waited.
    pub(super) fn oldest_since_ms(&mut self) -> Option<u64> {
        let oldest = self.queue.oldest()?;
        self.queue.value(oldest).map(|entry| entry.since_ms)
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        self.queue.oldest()
    }

    pub(super) fn since_ms(&mut self, place: u32) -> Option<u64> {
        self.queue.value(place).map(|entry| entry.since_ms)
    }

    pub(super) fn push(&mut self, entry: QueueEntry) -> u32 {
        self.queue.push(entry.request.client, entry.request.priority, entry)
    }

    /// Grants a permit to a request, which uses the turn of its client; returns how long it had waited.
    pub(super) fn serve(&mut self, place: u32, permit: (InFlightRequest, Permit), now_ms: u64) -> u64 {
        self.queue.take_turn(place);
        self.settle(place, Ok(permit), now_ms)
    }

    /// Sets the outcome of a request and removes it from the queue; returns how long it had waited.
    pub(super) fn settle(&mut self, place: u32, outcome: Outcome, now_ms: u64) -> u64 {
        self.queue.leave(place);
        let Some(entry) = self.queue.value(place) else { return 0 };
        entry.outcome = Some(outcome);
        if let Some(waker) = entry.waker.take() {
            waker.wake();
        }
        now_ms.saturating_sub(entry.since_ms)
    }

    /// Makes room for a request in a full queue by refusing another; `None` if it can refuse none. Requests of the
    /// lowest priority below are refused first, then requests of the same priority from a client with more of them.
    /// The request is always taken from the client with the most.
    pub(super) fn make_room(&mut self, request: &InstanceRequest) -> Option<Refusal> {
        let lesser = [Priority::Low, Priority::Normal].into_iter().filter(|lesser| *lesser < request.priority);
        let lesser = lesser.filter_map(|lesser| self.queue.last_of_longest(lesser)).next();
        let (place, refusal) = match lesser {
            Some((place, _)) => (place, Refusal::Shed),
            None => {
                let (place, length) = self.queue.last_of_longest(request.priority)?;
                let own = self.queue.len_of(request.client, request.priority);
                (length > own + 1).then_some((place, Refusal::QueueFull))?
            }
        };
        self.settle(place, Err(refusal), 0);
        Some(refusal)
    }
}

/// Place of a request in the queue.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    app: Rc<App>,
    /// `None` once its outcome was taken.
    place: Option<u32>,
}

impl QueuedRequest {
    pub(super) fn new(app: &Rc<App>, place: u32) -> Self {
        Self { app: Rc::clone(app), place: Some(place) }
    }
}

#[cfg(test)]
impl QueuedRequest {
    pub(super) fn is_settled(&self) -> bool {
        self.place.is_none()
    }
}

impl Future for QueuedRequest {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(place) = self.place else { return Poll::Pending };
        let mut wait_queue = self.app.wait_queue.borrow_mut();
        let Some(entry) = wait_queue.queue.value(place) else { return Poll::Pending };
        let Some(outcome) = entry.outcome.take() else {
            if !entry.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                entry.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        wait_queue.queue.free(place);
        drop(wait_queue);
        self.place = None;
        Poll::Ready(outcome)
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let entry = {
            let mut wait_queue = self.app.wait_queue.borrow_mut();
            let entry = wait_queue.queue.free(place);
            self.app.wait_queue_changed(&wait_queue);
            entry
        };
        // A permit that it had been granted goes to the next request, which borrows the queue again.
        drop(entry);
    }
}
