//! Queue of response bytes that wait for a client. Small parts are copied; large ones stay in the block that a read
//! filled.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::copy_small_rest;

/// Minimum size of a part that is not copied: the copy of a smaller one costs less than another part in the queue.
const PART_BYTES_MIN: usize = 4 * 1024;

/// Pending bytes in order.
#[derive(Debug, Default)]
pub(crate) struct BodyQueue {
    parts: VecDeque<Bytes>,
    /// Copied bytes behind all parts.
    tail: BytesMut,
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
        self.bytes += data.len();
    }

    /// Appends `part` and keeps its memory, unless it is small.
    pub(crate) fn push(&mut self, part: Bytes) {
        if part.len() < PART_BYTES_MIN {
            return self.extend_from_slice(&part);
        }
        if !self.tail.is_empty() {
            self.parts.push_back(self.tail.split().freeze());
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
            None => self.tail.split_to(most.min(self.tail.len())).freeze(),
        };
        self.bytes -= taken.len();
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
}
