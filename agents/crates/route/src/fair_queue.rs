//! Wait queue that is fair between clients: round robin over the clients of a priority, weighted turns between priorities. Places
//! are indexes into one vector that grows to the longest queue so far; every step takes constant time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use fairlead_model::Priority;

const NONE: u32 = u32::MAX;
/// Turns of the priorities when all of them wait: high gets four of seven, low one.
const TURNS: [Priority; 7] =
    [Priority::High, Priority::Normal, Priority::High, Priority::Low, Priority::High, Priority::Normal, Priority::High];

/// Queue of `T`. A place belongs to its holder until `free`, whether it still waits or not.
#[derive(Debug)]
pub struct FairQueue<T> {
    places: Vec<Place<T>>,
    unused: Vec<u32>,
    /// All waiting places, in the order of their arrival.
    arrivals: List,
    arrival_links: Links,
    flows: Vec<Flow>,
    unused_flows: Vec<u32>,
    flow_of: HashMap<(u64, u8), u32, RandomState>,
    /// Places of each flow.
    flow_links: Links,
    /// Flows of each priority; the front one has the next turn.
    rings: [List; 3],
    ring_links: Links,
    turn: usize,
    length: u32,
}

#[derive(Debug)]
struct Place<T> {
    value: Option<T>,
    /// Index of its flow; `NONE` if it does not wait.
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

/// Neighbours in a list, by index.
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
            places: Vec::new(),
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
    /// Returns how many wait.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Reports whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the place that has waited longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.arrivals.front != NONE).then_some(self.arrivals.front)
    }

    /// Returns the waiting place that arrived next after `place`; without one, the oldest.
    pub fn after(&self, place: Option<u32>) -> Option<u32> {
        let next = match place {
            None => self.arrivals.front,
            Some(place) => self.arrival_links.0.get(place as usize).map_or(NONE, |links| links.1),
        };
        (next != NONE).then_some(next)
    }

    /// Returns the value at a place, whether it still waits or not.
    pub fn value(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize).and_then(|place| place.value.as_mut())
    }

    /// Adds `value` for a client; returns its place.
    pub fn push(&mut self, client: u64, priority: Priority, value: T) -> u32 {
        let flow = match self.flow_of.get(&(client, priority as u8)) {
            Some(flow) => *flow,
            None => self.add_flow(client, priority),
        };
        let new = Place { value: Some(value), flow };
        let place = match self.unused.pop() {
            Some(place) => {
                self.places[place as usize] = new;
                place
            }
            None => {
                self.places.push(new);
                u32::try_from(self.places.len() - 1).unwrap_or(NONE)
            }
        };
        self.arrival_links.push_back(&mut self.arrivals, place);
        let flow = &mut self.flows[flow as usize];
        self.flow_links.push_back(&mut flow.waiting, place);
        flow.length += 1;
        self.length += 1;
        place
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

    /// Returns the place with the next turn among the clients that `may` have one.
    pub fn next(&self, may: impl Fn(u64) -> bool) -> Option<u32> {
        let first = TURNS[self.turn % TURNS.len()];
        [first, Priority::High, Priority::Normal, Priority::Low].into_iter().find_map(|priority| {
            let mut flows = self.ring_links.iter(self.rings[priority as usize]);
            let flow = flows.find(|flow| may(self.flows[*flow as usize].client))?;
            Some(self.flows[flow as usize].waiting.front)
        })
    }

    /// Uses a place's turn: its client goes to the end of the ring. Call it before the place leaves.
    pub fn take_turn(&mut self, place: u32) {
        let Some(flow) = self.places.get(place as usize).map(|place| place.flow).filter(|flow| *flow != NONE) else {
            return;
        };
        let ring = &mut self.rings[self.flows[flow as usize].priority as usize];
        self.ring_links.remove(ring, flow);
        self.ring_links.push_back(ring, flow);
        self.turn = self.turn.wrapping_add(1);
    }

    /// Reports whether any other client waits.
    pub fn has_others(&self, client: u64) -> bool {
        // A client has at most one flow in a ring.
        let others =
            |ring: &List| self.ring_links.iter(*ring).take(2).any(|flow| self.flows[flow as usize].client != client);
        self.rings.iter().any(others)
    }

    /// Returns how many requests of a client wait with a priority.
    pub fn len_of(&self, client: u64, priority: Priority) -> u32 {
        self.flow_of.get(&(client, priority as u8)).map_or(0, |flow| self.flows[*flow as usize].length)
    }

    /// Returns the last place of the client with the most waiting requests of a priority, and their number.
    pub fn last_of_longest(&self, priority: Priority) -> Option<(u32, u32)> {
        let flows = self.ring_links.iter(self.rings[priority as usize]).map(|flow| &self.flows[flow as usize]);
        flows.max_by_key(|flow| flow.length).map(|flow| (flow.waiting.back, flow.length))
    }

    /// Leaves the queue; the place keeps its value. Returns whether it still waited.
    pub fn leave(&mut self, place: u32) -> bool {
        let Some(leaving) = self.places.get_mut(place as usize).filter(|place| place.flow != NONE) else {
            return false;
        };
        let number = std::mem::replace(&mut leaving.flow, NONE);
        self.arrival_links.remove(&mut self.arrivals, place);
        let flow = &mut self.flows[number as usize];
        self.flow_links.remove(&mut flow.waiting, place);
        flow.length -= 1;
        if flow.length == 0 {
            self.ring_links.remove(&mut self.rings[flow.priority as usize], number);
            self.flow_of.remove(&(flow.client, flow.priority as u8));
            self.unused_flows.push(number);
        }
        self.length -= 1;
        true
    }

    /// Frees a place and returns its value; the place leaves the queue if it still waited.
    pub fn free(&mut self, place: u32) -> Option<T> {
        self.leave(place);
        let value = self.places.get_mut(place as usize)?.value.take();
        if value.is_some() {
            self.unused.push(place);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

    /// Serves the queue to its end; returns the values in the order of their turns.
    fn drain<T: Copy>(queue: &mut FairQueue<T>) -> Vec<T> {
        let mut served = Vec::new();
        while let Some(place) = queue.next(|_| true) {
            queue.take_turn(place);
            served.extend(queue.free(place));
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
        let place = queue.next(|client| client != 1).unwrap();
        queue.take_turn(place);
        assert_eq!(queue.free(place), Some(2));
        assert!(queue.has_others(1) && queue.has_others(3));
        assert_eq!(drain(&mut queue), [1, 3]);
        assert_eq!(queue.next(|_| true), None);
    }

    #[test]
    fn the_last_of_the_client_with_most_is_known() {
        let mut queue = FairQueue::default();
        let places: Vec<u32> = [1, 2, 2, 2, 1].iter().map(|client| queue.push(*client, Priority::Low, ())).collect();
        assert_eq!(queue.last_of_longest(Priority::Low), Some((places[3], 3)));
        assert_eq!(queue.last_of_longest(Priority::High), None);
        assert_eq!((queue.len_of(1, Priority::Low), queue.len_of(1, Priority::High)), (2, 0));
        assert!(!FairQueue::<()>::default().has_others(1));
    }

    proptest! {
        /// Compares with a model: a plain list that is searched from its front.
        #[test]
        fn anybody_may_leave_at_any_time(steps in prop::collection::vec((0u8..4, 0usize..64), 0..200)) {
            let (mut queue, mut model, mut out) = (FairQueue::default(), Vec::new(), Vec::new());
            for (number, (step, choice)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => {
                        let (client, priority) = ((choice % 5) as u64, ALL[choice % 3]);
                        model.push((queue.push(client, priority, number), number, client, priority));
                    }
                    2 if !model.is_empty() => {
                        let (place, value, ..) = model.remove(choice % model.len());
                        prop_assert!(queue.leave(place));
                        prop_assert!(!queue.leave(place));
                        out.push((place, value));
                    }
                    _ => {
                        let freed = if choice % 2 == 0 || model.is_empty() {
                            out.pop()
                        } else {
                            let (place, value, ..) = model.remove(0);
                            Some((place, value))
                        };
                        if let Some((place, value)) = freed {
                            prop_assert_eq!(queue.free(place), Some(value));
                            prop_assert_eq!(queue.free(place), None);
                        }
                    }
                }
                let order: Vec<u32> = std::iter::successors(queue.oldest(), |place| queue.after(Some(*place))).collect();
                let expected: Vec<u32> = model.iter().map(|(place, ..)| *place).collect();
                prop_assert_eq!(order, expected);
                prop_assert_eq!(queue.len() as usize, model.len());
                for (client, priority) in (0u64..5).flat_map(|client| ALL.map(|priority| (client, priority))) {
                    let of = model.iter().filter(|(.., c, p)| (*c, *p) == (client, priority)).count();
                    prop_assert_eq!(queue.len_of(client, priority) as usize, of);
                }
                for (place, value) in model.iter().map(|(place, value, ..)| (*place, *value)).chain(out.iter().copied()) {
                    prop_assert_eq!(queue.value(place), Some(&mut value.clone()));
                }
                let next = queue.next(|_| true);
                prop_assert_eq!(next.is_some(), !model.is_empty());
                if let Some(next) = next {
                    // It is the first of its client and priority.
                    let (_, _, client, priority) = model.iter().find(|(place, ..)| *place == next).unwrap();
                    let first = model.iter().find(|(.., c, p)| (c, p) == (client, priority)).unwrap();
                    prop_assert_eq!(first.0, next);
                }
            }
        }
    }
}
