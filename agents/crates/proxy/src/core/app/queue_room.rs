//! Places in the queue of an app, which all cores share. If the queue is full, a request of higher priority, or of a
//! client with fewer requests, gets the place of another one, whichever core that one waits on.

use std::rc::Rc;
use std::sync::Arc;

use fairlead_model::Priority;

use super::permit_pool::next_core;
use super::wait_queue::WaitQueue;
use super::{App, InstanceRequest, PermitPool, Refusal};

/// Maximum number of requests of one core that wait for other cores to make room. Their answers come at once.
const ASKED_MAX: u32 = 16;

/// Result of a request for a place in the queue.
pub(super) enum Place {
    Taken,
    /// Another core may make room; the number of the request for it.
    Asked(u64),
    None,
}

/// Request to the other cores with a queue, one after the other, to refuse one of their requests for a better one.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoomRequest {
    /// Core of the better request, its place there, and the number of this request.
    pub(super) core: usize,
    pub(super) place: u32,
    pub(super) number: u64,
    pub(super) client: u64,
    pub(super) priority: Priority,
    /// Number of requests that the client has in the queues asked so far.
    pub(super) own: u32,
}

/// Answer to a `RoomRequest`. With `room`, it passes on a place in that queue, put back if the core it is for has ended.
#[derive(Debug)]
pub(super) struct RoomAnswer {
    place: u32,
    number: u64,
    room: Option<Arc<PermitPool>>,
}

impl Drop for RoomAnswer {
    fn drop(&mut self) {
        self.room.take().iter().for_each(|queue| queue.put_back(1));
    }
}

impl App {
    /// Takes a place in the queue for a request; in a full queue, that of a lesser request.
    pub(super) fn take_place(&self, wait_queue: &mut WaitQueue, request: &InstanceRequest) -> Place {
        if self.limits.queue.try_take() {
            self.queue_places.set(self.queue_places.get() + 1);
            return Place::Taken;
        }
        let own = wait_queue.len_of(request.client, request.priority);
        if wait_queue.make_room(request.priority, own, |refusal| self.count_refusal(refusal)) {
            return Place::Taken;
        }
        let is_asked = self.bounds.get().queue_length_max > 0 && wait_queue.without_place() < ASKED_MAX;
        match self.next_queue(self.siblings.own()) {
            Some(_) if is_asked => {
                let number = self.room_requests.get() + 1;
                self.room_requests.set(number);
                Place::Asked(number)
            }
            _ => Place::None,
        }
    }

    /// Asks the next core with a queue to make room.
    pub(super) fn ask_for_room(&self, request: RoomRequest) {
        match self.next_queue(request.core) {
            Some(core) => self.send_room_request(core, request),
            None => self.send_room_answer(request.core, RoomAnswer::to(request, None)),
        }
    }

    /// Makes room for a request of another core, or asks the next one.
    pub(super) fn make_room_for(self: &Rc<Self>, request: RoomRequest) {
        let mut wait_queue = self.wait_queue.borrow_mut();
        let own = request.own + wait_queue.len_of(request.client, request.priority);
        let has_room = wait_queue.make_room(request.priority, own, |refusal| self.count_refusal(refusal));
        if has_room {
            // The place goes with the answer.
            self.queue_places.set(self.queue_places.get() - 1);
        }
        self.wait_queue_changed(&wait_queue);
        drop(wait_queue);
        match self.next_queue(request.core).filter(|_| !has_room) {
            Some(core) => self.send_room_request(core, RoomRequest { own, ..request }),
            None => self.send_room_answer(
                request.core,
                RoomAnswer::to(request, has_room.then(|| Arc::clone(&self.limits.queue))),
            ),
        }
    }

    /// Gives a request the place that another core has made, or refuses it.
    pub(super) fn take_room(&self, mut answer: RoomAnswer) {
        let mut wait_queue = self.wait_queue.borrow_mut();
        // A place may have come free in the meantime.
        let has_place = answer.room.take().is_some() || self.limits.queue.try_take();
        let waits = wait_queue.found_place(answer.place, answer.number);
        match (waits, has_place) {
            (true, true) => {
                self.queue_places.set(self.queue_places.get() + 1);
                self.numbers.borrow_mut().queued += 1;
            }
            (true, false) => {
                wait_queue.settle(answer.place, Err(Refusal::QueueFull), 0);
                self.count_refusal(Refusal::QueueFull);
            }
            (false, true) => self.limits.queue.put_back(1),
            (false, false) => {}
        }
        self.wait_queue_changed(&wait_queue);
    }

    /// Puts the places of requests back that have left the queue.
    pub(super) fn put_back_places(&self, wait_queue: &WaitQueue) {
        let (own, waiting) = (self.siblings.own(), &self.limits.queue.waiting);
        match wait_queue.len() {
            0 => waiting.remove(own),
            _ if !waiting.contains(own) => waiting.insert(own),
            _ => {}
        }
        let places = wait_queue.len() - wait_queue.without_place();
        let before = self.queue_places.replace(places);
        if before > places {
            self.limits.queue.put_back(before - places);
        }
    }

    /// Returns the next core with a queue, in a circle that starts and ends at `first`.
    fn next_queue(&self, first: usize) -> Option<usize> {
        let own = self.siblings.own();
        let waiting = &self.limits.queue.waiting;
        let way_from_first = |core: usize| core.wrapping_sub(first);
        next_core([waiting; 2], own).filter(|next| way_from_first(*next) > way_from_first(own))
    }

    fn count_refusal(&self, refusal: Refusal) {
        let mut numbers = self.numbers.borrow_mut();
        match refusal {
            Refusal::Shed => numbers.load_shed += 1,
            _ => numbers.queue_full += 1,
        }
    }
}

impl RoomAnswer {
    fn to(request: RoomRequest, room: Option<Arc<PermitPool>>) -> Self {
        Self { place: request.place, number: request.number, room }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_no_core_takes_puts_its_place_back() {
        let queue = Arc::new(PermitPool::default());
        assert!(queue.try_take());
        let request = RoomRequest { core: 0, place: 0, number: 1, client: 0, priority: Priority::Normal, own: 0 };
        drop(RoomAnswer::to(request, Some(Arc::clone(&queue))));
        assert_eq!(queue.taken(), 0);
    }
}
