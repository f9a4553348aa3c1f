//! Wait queue that is fair between clients: round robin over the clients of a priority, weighted turns between
//! priorities. Slots are indexes into one vector that grows to the longest queue; every operation takes constant time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use fairlead_model::Priority;

const NONE: u32 = u32::MAX;
/// Turns of the priorities if requests of all of them wait: high gets four of seven, low one.
const TURNS: [Priority; 7] =
    [Priority::High, Priority::Normal, Priority::High, Priority::Low, Priority::High, Priority::Normal, Priority::High];

/// Queue of `T`. A slot belongs to its holder until `free`, in the queue or not.
#[derive(Debug)]
pub struct FairQueue<T> {
    slots: Vec<QueueSlot<T>>,
    unused: Vec<u32>,
    /// Queued slots in the order of their arrival.
    arrivals: List,
    arrival_links: Links,
    flows: Vec<Flow>,
    unused_flows: Vec<u32>,
    flow_of: HashMap<(u64, u8), u32, RandomState>,
    /// Slots of each flow.
    flow_links: Links,
    /// Flows of each priority; the front one has the next turn.
    rings: [List; 3],
    ring_links: Links,
    turn: usize,
    length: u32,
}

#[derive(Debug)]
struct QueueSlot<T> {
    value: Option<T>,
    /// Index of its flow; `NONE` if the slot is not queued.
    flow: u32,
}

/// Requests of one client with one priority.
#[derive(Debug, Clone, Copy)]
struct Flow {
    client: u64,
    priority: Priority,
    waiting: List,
    length: u32,
}

#[derive(Debug, Clone, Copy)]
struct List {
    front: u32,
    back: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { front: NONE, back: NONE }
    }
}

/// Previous and next element of a linked list, by index.
#[derive(Debug, Default)]
struct Links(Vec<(u32, u32)>);

impl Links {
    fn push_back(&mut self, list: &mut List, number: u32) {
        let at = number as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, (NONE, NONE));
        }
        self.0[at] = (list.back, NONE);
        match list.back {
            NONE => list.front = number,
            back => self.0[back as usize].1 = number,
        }
        list.back = number;
    }

    fn remove(&mut self, list: &mut List, number: u32) {
        let (before, after) = self.0[number as usize];
        match before {
            NONE => list.front = after,
            before => self.0[before as usize].1 = after,
        }
        match after {
            NONE => list.back = before,
            after => self.0[after as usize].0 = before,
        }
    }

    fn iter(&self, list: List) -> impl Iterator<Item = u32> + '_ {
        let some = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(some(list.front), move |number| some(self.0[*number as usize].1))
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            unused: Vec::new(),
            arrivals: List::default(),
            arrival_links: Links::default(),
            flows: Vec::new(),
            unused_flows: Vec::new(),
            flow_of: HashMap::default(),
            flow_links: Links::default(),
            rings: [List::default(); 3],
            ring_links: Links::default(),
            turn: 0,
            length: 0,
        }
    }
}

impl<T> FairQueue<T> {
    /// Returns the number of queued requests.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the number of clients with queued requests; a client counts once for each priority.
    pub fn clients(&self) -> usize {
        self.flow_of.len()
    }

    /// Returns the slot that has waited longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.arrivals.front != NONE).then_some(self.arrivals.front)
    }

    /// Returns the queued slot that arrived next after `slot`; without one, the oldest.
    pub fn after(&self, slot: Option<u32>) -> Option<u32> {
        let next = match slot {
            None => self.arrivals.front,
            Some(slot) => self.arrival_links.0.get(slot as usize).map_or(NONE, |links| links.1),
        };
        (next != NONE).then_some(next)
    }

    /// Returns the value of a slot, queued or not.
    pub fn value(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize).and_then(|slot| slot.value.as_mut())
    }

    /// Queues `value` for a client; returns its slot.
    pub fn push(&mut self, client: u64, priority: Priority, value: T) -> u32 {
        let flow = match self.flow_of.get(&(client, priority as u8)) {
            Some(flow) => *flow,
            None => self.add_flow(client, priority),
        };
        let new = QueueSlot { value: Some(value), flow };
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
            }
        };
        self.arrival_links.push_back(&mut self.arrivals, slot);
        let flow = &mut self.flows[flow as usize];
        self.flow_links.push_back(&mut flow.waiting, slot);
        flow.length += 1;
        self.length += 1;
        slot
    }

    fn add_flow(&mut self, client: u64, priority: Priority) -> u32 {
        let new = Flow { client, priority, waiting: List::default(), length: 0 };
        let flow = match self.unused_flows.pop() {
            Some(flow) => {
                self.flows[flow as usize] = new;
                flow
            }
            None => {
                self.flows.push(new);
                u32::try_from(self.flows.len() - 1).unwrap_or(NONE)
            }
        };
        self.flow_of.insert((client, priority as u8), flow);
        self.ring_links.push_back(&mut self.rings[priority as usize], flow);
        flow
    }

    /// Returns the slot with the next turn among the clients that `may` have one.
    pub fn next(&self, may: impl Fn(u64) -> bool) -> Option<u32> {
        let first = TURNS[self.turn % TURNS.len()];
        [first, Priority::High, Priority::Normal, Priority::Low].into_iter().find_map(|priority| {
            let mut flows = self.ring_links.iter(self.rings[priority as usize]);
            let flow = flows.find(|flow| may(self.flows[*flow as usize].client))?;
            Some(self.flows[flow as usize].waiting.front)
        })
    }

    /// Uses a slot's turn: its client goes to the end of the ring. Call it before the slot leaves.
    pub fn take_turn(&mut self, slot: u32) {
        let Some(flow) = self.slots.get(slot as usize).map(|slot| slot.flow).filter(|flow| *flow != NONE) else {
            return;
        };
        let ring = &mut self.rings[self.flows[flow as usize].priority as usize];
        self.ring_links.remove(ring, flow);
        self.ring_links.push_back(ring, flow);
        self.turn = self.turn.wrapping_add(1);
    }

    /// True if requests of any other client are queued.
    pub fn has_others(&self, client: u64) -> bool {
        // A client has at most one flow in a ring.
        let others =
            |ring: &List| self.ring_links.iter(*ring).take(2).any(|flow| self.flows[flow as usize].client != client);
        self.rings.iter().any(others)
    }

    /// Returns the number of queued requests of a client with a priority.
    pub fn len_of(&self, client: u64, priority: Priority) -> u32 {
        self.flow_of.get(&(client, priority as u8)).map_or(0, |flow| self.flows[*flow as usize].length)
    }

    /// Returns the last slot of the client with the most queued requests of a priority, and their number.
    pub fn last_of_longest(&self, priority: Priority) -> Option<(u32, u32)> {
        let flows = self.ring_links.iter(self.rings[priority as usize]).map(|flow| &self.flows[flow as usize]);
        flows.max_by_key(|flow| flow.length).map(|flow| (flow.waiting.back, flow.length))
    }

    /// Removes a slot from the queue; it keeps its value. Returns true if it was still queued.
    pub fn leave(&mut self, slot: u32) -> bool {
        let Some(leaving) = self.slots.get_mut(slot as usize).filter(|slot| slot.flow != NONE) else {
            return false;
        };
        let number = std::mem::replace(&mut leaving.flow, NONE);
        self.arrival_links.remove(&mut self.arrivals, slot);
        let flow = &mut self.flows[number as usize];
        self.flow_links.remove(&mut flow.waiting, slot);
        flow.length -= 1;
        if flow.length == 0 {
            self.ring_links.remove(&mut self.rings[flow.priority as usize], number);
            self.flow_of.remove(&(flow.client, flow.priority as u8));
            self.unused_flows.push(number);
        }
        self.length -= 1;
        true
    }

    /// Frees a slot and returns its value; removes it from the queue if it was still queued.
    pub fn free(&mut self, slot: u32) -> Option<T> {
        self.leave(slot);
        let value = self.slots.get_mut(slot as usize)?.value.take();
        if value.is_some() {
            self.unused.push(slot);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

    /// Takes all turns; returns the values in their order.
    fn drain<T: Copy>(queue: &mut FairQueue<T>) -> Vec<T> {
        let mut served = Vec::new();
        while let Some(slot) = queue.next(|_| true) {
            queue.take_turn(slot);
            served.extend(queue.free(slot));
        }
        served
    }

    #[test]
    fn clients_of_a_priority_take_turns_however_many_requests_each_has() {
        let mut queue = FairQueue::default();
        for number in 0..2_560 {
            queue.push(1, Priority::Normal, ('a', number));
        }
        for number in 0..3 {
            queue.push(2, Priority::Normal, ('b', number));
        }
        let served = drain(&mut queue);
        assert_eq!(served[..7], [('a', 0), ('b', 0), ('a', 1), ('b', 1), ('a', 2), ('b', 2), ('a', 3)]);
        assert_eq!(served.len(), 2_563);
        assert!(queue.is_empty() && queue.flow_of.is_empty());
    }

    #[test]
    fn a_higher_priority_gets_more_turns_and_a_lower_one_is_not_forgotten() {
        let mut queue = FairQueue::default();
        for priority in ALL {
            for _ in 0..70 {
                queue.push(1, priority, priority);
            }
        }
        let served = drain(&mut queue);
        let of = |priority: Priority| served[..70].iter().filter(|other| **other == priority).count();
        assert_eq!((of(Priority::High), of(Priority::Normal), of(Priority::Low)), (40, 20, 10));
    }

    #[test]
    fn a_client_that_may_not_is_passed_over_and_keeps_its_turn() {
        let mut queue = FairQueue::default();
        for client in [1, 2, 3] {
            queue.push(client, Priority::Normal, client);
        }
        let slot = queue.next(|client| client != 1).unwrap();
        queue.take_turn(slot);
        assert_eq!(queue.free(slot), Some(2));
        assert!(queue.has_others(1) && queue.has_others(3));
        assert_eq!(queue.clients(), 2);
        assert_eq!(drain(&mut queue), [1, 3]);
        assert_eq!(queue.next(|_| true), None);
    }

    #[test]
    fn the_last_of_the_client_with_most_is_known() {
        let mut queue = FairQueue::default();
        let slots: Vec<u32> = [1, 2, 2, 2, 1].iter().map(|client| queue.push(*client, Priority::Low, ())).collect();
        assert_eq!(queue.last_of_longest(Priority::Low), Some((slots[3], 3)));
        assert_eq!(queue.last_of_longest(Priority::High), None);
        assert_eq!((queue.len_of(1, Priority::Low), queue.len_of(1, Priority::High)), (2, 0));
        assert!(!FairQueue::<()>::default().has_others(1));
    }

    proptest! {
        /// Compares with a model: a plain list that is searched from its front.
        #[test]
        fn any_slot_may_leave_at_any_time(steps in prop::collection::vec((0u8..4, 0usize..64), 0..200)) {
            let (mut queue, mut model, mut out) = (FairQueue::default(), Vec::new(), Vec::new());
            for (number, (step, choice)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => {
                        let (client, priority) = ((choice % 5) as u64, ALL[choice % 3]);
                        model.push((queue.push(client, priority, number), number, client, priority));
                    }
                    2 if !model.is_empty() => {
                        let (slot, value, ..) = model.remove(choice % model.len());
                        prop_assert!(queue.leave(slot));
                        prop_assert!(!queue.leave(slot));
                        out.push((slot, value));
                    }
                    _ => {
                        let freed = if choice % 2 == 0 || model.is_empty() {
                            out.pop()
                        } else {
                            let (slot, value, ..) = model.remove(0);
                            Some((slot, value))
                        };
                        if let Some((slot, value)) = freed {
                            prop_assert_eq!(queue.free(slot), Some(value));
                            prop_assert_eq!(queue.free(slot), None);
                        }
                    }
                }
                let order: Vec<u32> = std::iter::successors(queue.oldest(), |slot| queue.after(Some(*slot))).collect();
                let expected: Vec<u32> = model.iter().map(|(slot, ..)| *slot).collect();
                prop_assert_eq!(order, expected);
                prop_assert_eq!(queue.len() as usize, model.len());
                for (client, priority) in (0u64..5).flat_map(|client| ALL.map(|priority| (client, priority))) {
                    let of = model.iter().filter(|(.., c, p)| (*c, *p) == (client, priority)).count();
                    prop_assert_eq!(queue.len_of(client, priority) as usize, of);
                }
                for (slot, value) in model.iter().map(|(slot, value, ..)| (*slot, *value)).chain(out.iter().copied()) {
                    prop_assert_eq!(queue.value(slot), Some(&mut value.clone()));
                }
                let next = queue.next(|_| true);
                prop_assert_eq!(next.is_some(), !model.is_empty());
                if let Some(next) = next {
                    // The slot is the first of its client and priority.
                    let (_, _, client, priority) = model.iter().find(|(slot, ..)| *slot == next).unwrap();
                    let first = model.iter().find(|(.., c, p)| (c, p) == (client, priority)).unwrap();
                    prop_assert_eq!(first.0, next);
                }
            }
        }
    }
}
