//! Queue of response bytes that wait for a client. Small parts are copied; large ones stay in the block that a read
//! filled.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::blocks::{PART_BYTES_MIN, copy_small_rest};

/// Factor by which the memory of the copied bytes may exceed their number.
const TAIL_MEMORY_FACTOR: usize = 6;

/// Pending bytes in order.
#[derive(Debug, Default)]
pub(crate) struct BodyQueue {
    parts: VecDeque<Bytes>,
    /// Copied bytes behind all parts.
    tail: BytesMut,
    /// Memory that `tail` may hold: taken bytes share it.
    tail_memory: usize,
    bytes: usize,
}

impl BodyQueue {
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn extend_from_slice(&mut self, data: &[u8]) {
        self.tail.extend_from_slice(data);
        self.tail_memory = self.tail_memory.max(self.tail.capacity());
        self.bytes += data.len();
    }

    /// Appends `part` and keeps its memory, unless it is small.
    pub(crate) fn push(&mut self, part: Bytes) {
        if part.len() < PART_BYTES_MIN {
            return self.extend_from_slice(&part);
        }
        if !self.tail.is_empty() {
            let tail = self.take_tail(usize::MAX);
            self.parts.push_back(tail);
        }
        self.bytes += part.len();
        self.parts.push_back(part);
    }

    /// Removes and returns at most `most` bytes from the front. They come from one part.
    pub(crate) fn take(&mut self, most: usize) -> Bytes {
        let taken = match self.parts.front_mut() {
            Some(part) if part.len() > most => {
                let taken = part.split_to(most);
                copy_small_rest(part);
                taken
            }
            Some(_) => self.parts.pop_front().unwrap_or_default(),
            None => self.take_tail(most),
        };
        self.bytes -= taken.len();
        taken
    }

    /// Removes at most `most` copied bytes. Copies a small rest, so that a client which takes all but a few bytes does not
    /// hold the memory of all.
    fn take_tail(&mut self, most: usize) -> Bytes {
        let taken = self.tail.split_to(most.min(self.tail.len())).freeze();
        if self.tail.is_empty() {
            self.tail = BytesMut::new();
            self.tail_memory = 0;
        } else if self.tail.len() * TAIL_MEMORY_FACTOR < self.tail_memory {
            self.tail = BytesMut::from(&self.tail[..]);
            self.tail_memory = self.tail.capacity();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_and_kept_parts_stay_in_order() {
        let large = Bytes::from(vec![b'l'; 64 * 1024]);
        let mut queue = BodyQueue::default();
        queue.extend_from_slice(b"ab");
        queue.push(Bytes::from_static(b"c"));
        queue.push(large.clone());
        queue.extend_from_slice(b"de");
        assert_eq!(queue.len(), large.len() + 5);
        assert_eq!(queue.take(usize::MAX), "abc");
        let start = queue.take(100);
        assert_eq!((start.len(), start.as_ptr()), (100, large.as_ptr()), "its memory is kept");
        assert_eq!(queue.take(usize::MAX), large.slice(100..));
        assert_eq!((queue.take(1), queue.take(9), queue.take(9)), ("d".into(), "e".into(), Bytes::new()));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_small_rest_of_copied_bytes_does_not_hold_the_memory_of_all() {
        let mut queue = BodyQueue::default();
        queue.extend_from_slice(&[b'c'; 40 * 1024]);
        let taken = queue.take(40 * 1024 - 1);
        // The only owner of memory can have it back as a whole.
        assert_eq!(taken.try_into_mut().map(|memory| memory.len()).unwrap(), 40 * 1024 - 1);
        assert_eq!((queue.len(), queue.take(9)), (1, "c".into()));
    }

    #[test]
    fn a_rest_of_more_than_a_sixth_is_not_copied() {
        let mut queue = BodyQueue::default();
        queue.extend_from_slice(&[b'c'; 40 * 1024]);
        let memory = queue.tail.as_ptr();
        queue.take(20 * 1024);
        assert_eq!(queue.tail.as_ptr(), memory.wrapping_add(20 * 1024));
    }
}
