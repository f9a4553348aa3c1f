//! The line in which requests wait: first in, first out, and anybody may leave from anywhere.
//! Places are numbers into one vector that grows to the longest line there was: waiting allocates nothing once it has been that long.

const NONE: u32 = u32::MAX;

/// A line of `T`. A place stays its holder's until `free`, whether it still stands in line or not.
#[derive(Debug)]
pub struct Line<T> {
    places: Vec<Place<T>>,
    unused: Vec<u32>,
    front: u32,
    back: u32,
    length: u32,
}

#[derive(Debug)]
struct Place<T> {
    value: Option<T>,
    before: u32,
    after: u32,
    stands: bool,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { places: Vec::new(), unused: Vec::new(), front: NONE, back: NONE, length: 0 }
    }
}

impl<T> Line<T> {
    /// How many stand in line.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Nobody stands in line.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The place that has stood longest.
    pub fn front(&self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    /// The place that came last.
    pub fn back(&self) -> Option<u32> {
        (self.back != NONE).then_some(self.back)
    }

    /// Who came next after one that stands in line.
    pub fn after(&self, place: u32) -> Option<u32> {
        self.places.get(place as usize).map(|place| place.after).filter(|after| *after != NONE)
    }

    /// Who came before one that stands in line.
    pub fn before(&self, place: u32) -> Option<u32> {
        self.places.get(place as usize).map(|place| place.before).filter(|before| *before != NONE)
    }

    /// What stands or stood at a place.
    pub fn value(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize).and_then(|place| place.value.as_mut())
    }

    /// Puts `value` at the back; tells its place.
    pub fn push(&mut self, value: T) -> u32 {
        let new = Place { value: Some(value), before: self.back, after: NONE, stands: true };
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
        match self.back {
            NONE => self.front = place,
            back => self.places[back as usize].after = place,
        }
        self.back = place;
        self.length += 1;
        place
    }

    /// Steps out of the line; the place keeps its value. Tells whether it still stood there.
    pub fn leave(&mut self, place: u32) -> bool {
        let Some(leaving) = self.places.get_mut(place as usize).filter(|place| place.stands) else { return false };
        leaving.stands = false;
        let (before, after) = (leaving.before, leaving.after);
        match before {
            NONE => self.front = after,
            before => self.places[before as usize].after = after,
        }
        match after {
            NONE => self.back = before,
            after => self.places[after as usize].before = before,
        }
        self.length -= 1;
        true
    }

    /// Gives a place up and its value back; it leaves the line if it stood there.
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
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The model is a plain queue that is searched from its front.
        #[test]
        fn a_line_is_a_queue_that_anybody_may_leave(steps in prop::collection::vec((0u8..4, 0usize..64), 0..200)) {
            let (mut line, mut model, mut out) = (Line::default(), VecDeque::new(), Vec::new());
            for (number, (step, choice)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => model.push_back((line.push(number), number)),
                    2 if !model.is_empty() => {
                        let (place, value) = model.remove(choice % model.len()).unwrap();
                        prop_assert!(line.leave(place));
                        prop_assert!(!line.leave(place));
                        out.push((place, value));
                    }
                    _ => {
                        let freed = if choice % 2 == 0 { out.pop() } else { model.pop_front() };
                        if let Some((place, value)) = freed {
                            prop_assert_eq!(line.free(place), Some(value));
                            prop_assert_eq!(line.free(place), None);
                        }
                    }
                }
                let forth: Vec<u32> = std::iter::successors(line.front(), |place| line.after(*place)).collect();
                let mut back: Vec<u32> = std::iter::successors(line.back(), |place| line.before(*place)).collect();
                back.reverse();
                let expected: Vec<u32> = model.iter().map(|(place, _)| *place).collect();
                prop_assert_eq!(&forth, &expected);
                prop_assert_eq!(&back, &expected);
                prop_assert_eq!(line.len() as usize, model.len());
                for (place, value) in model.iter().chain(&out) {
                    prop_assert_eq!(line.value(*place), Some(&mut value.clone()));
                }
            }
        }
    }
}
