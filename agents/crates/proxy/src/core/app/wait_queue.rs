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
    /// Number of its request for a place in the queue, while another core may still make room for it.
    room_request: Option<u64>,
}

impl QueueEntry {
    pub(super) fn new(request: InstanceRequest, since_ms: u64) -> Self {
        Self { request, since_ms, waker: None, outcome: None, room_request: None }
    }

    /// Marks that it has no place in the queue yet.
    pub(super) fn with_room_request(self, number: Option<u64>) -> Self {
        Self { room_request: number, ..self }
    }
}

/// Queued requests of an app.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    queue: FairQueue<QueueEntry>,
    /// Number of queued requests for which another core may still make room.
    without_place: u32,
}

impl WaitQueue {
    pub(super) fn len(&self) -> u32 {
        self.queue.len()
    }

    /// Returns the number of queued requests for which another core may still make room.
    pub(super) fn without_place(&self) -> u32 {
        self.without_place
    }

    /// Returns the number of clients with queued requests.
    pub(super) fn clients(&self) -> usize {
        self.queue.clients()
    }

    /// Returns the number of queued requests of a client with a priority.
    pub(super) fn len_of(&self, client: u64, priority: Priority) -> u32 {
        self.queue.len_of(client, priority)
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
        self.without_place += u32::from(entry.room_request.is_some());
        self.queue.push(entry.request.client, entry.request.priority, entry)
    }

    /// Ends the wait of a request for a place in the queue; `false` if it no longer waits for one.
    pub(super) fn found_place(&mut self, place: u32, number: u64) -> bool {
        let entry = self.queue.value(place).filter(|entry| entry.room_request == Some(number));
        let is_found = entry.is_some_and(|entry| entry.room_request.take().is_some());
        self.without_place -= u32::from(is_found);
        is_found
    }

    /// Takes a request out of the queue.
    fn leave(&mut self, place: u32) {
        self.queue.leave(place);
        let had_no_place = self.queue.value(place).is_some_and(|entry| entry.room_request.take().is_some());
        self.without_place -= u32::from(had_no_place);
    }

    /// Grants a permit to a request, which uses the turn of its client; returns how long it had waited.
    pub(super) fn serve(&mut self, place: u32, permit: (InFlightRequest, Permit), now_ms: u64) -> u64 {
        self.queue.take_turn(place);
        self.settle(place, Ok(permit), now_ms)
    }

    /// Sets the outcome of a request and removes it from the queue; returns how long it had waited.
    pub(super) fn settle(&mut self, place: u32, outcome: Outcome, now_ms: u64) -> u64 {
        self.leave(place);
        let Some(entry) = self.queue.value(place) else { return 0 };
        entry.outcome = Some(outcome);
        if let Some(waker) = entry.waker.take() {
            waker.wake();
        }
        now_ms.saturating_sub(entry.since_ms)
    }

    /// Makes room for a request of a client that has `own` other queued ones by refusing another request, with the
    /// reasons in `refused`; `false` if it can refuse none that has a place. Requests of the lowest priority below are
    /// refused first, then requests of the same priority from a client with more of them. The request is always taken
    /// from the client with the most.
    pub(super) fn make_room(&mut self, priority: Priority, own: u32, mut refused: impl FnMut(Refusal)) -> bool {
        loop {
            let lesser = [Priority::Low, Priority::Normal].into_iter().filter(|lesser| *lesser < priority);
            let lesser = lesser.filter_map(|lesser| self.queue.last_of_longest(lesser)).next();
            let (place, refusal) = match (lesser, self.queue.last_of_longest(priority)) {
                (Some((place, _)), _) => (place, Refusal::Shed),
                (None, Some((place, length))) if length > own + 1 => (place, Refusal::QueueFull),
                (None, _) => return false,
            };
            let had_place = self.queue.value(place).is_some_and(|entry| entry.room_request.is_none());
            self.settle(place, Err(refusal), 0);
            refused(refusal);
            if had_place {
                return true;
            }
        }
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
            wait_queue.leave(place);
            let entry = wait_queue.queue.free(place);
            self.app.wait_queue_changed(&wait_queue);
            entry
        };
        // A permit that it had been granted goes to the next request, which borrows the queue again.
        drop(entry);
    }
}
