//! Buffers of one core. Idle connections own none: they borrow one when bytes arrive and give it back when it is empty.

use std::cell::{RefCell, RefMut};

use super::blocks::{BLOCK_BYTES, block};

/// Minimum and maximum capacity of a pooled buffer.
const POOLED_BYTES_MIN: usize = 4096;
const POOLED_BYTES_MAX: usize = 128 * 1024;
const POOLED_MAX: usize = 64;

/// Scratch buffers and pool of one core.
#[derive(Debug)]
pub(crate) struct Buffers {
    read: RefCell<Box<[u8]>>,
    seal: RefCell<Box<[u8]>>,
    pool: RefCell<Vec<Vec<u8>>>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self { read: RefCell::new(block()), seal: RefCell::new(vec![0; BLOCK_BYTES].into()), pool: RefCell::default() }
    }

    /// Returns the scratch buffer for one read from a socket. Invariant: it is held only while nothing else runs.
    pub(crate) fn read(&self) -> RefMut<'_, Box<[u8]>> {
        self.read.borrow_mut()
    }

    /// Returns the scratch buffer for TLS records that are sent at once.
    pub(crate) fn seal(&self) -> RefMut<'_, Box<[u8]>> {
        self.seal.borrow_mut()
    }

    /// Gives `buffer` memory from the pool if it has none.
    #[inline]
    pub(crate) fn lend(&self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0 {
            *buffer = self.pool.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(POOLED_BYTES_MIN));
        }
    }

    /// Returns the memory of an empty buffer to the pool.
    #[inline]
    pub(crate) fn reclaim(&self, buffer: &mut Vec<u8>) {
        // Usually there is none, so the check is the only cost.
        if buffer.is_empty() && buffer.capacity() > 0 {
            self.keep(std::mem::take(buffer));
        }
    }

    fn keep(&self, memory: Vec<u8>) {
        let mut pool = self.pool.borrow_mut();
        if (POOLED_BYTES_MIN..=POOLED_BYTES_MAX).contains(&memory.capacity()) && pool.len() < POOLED_MAX {
            pool.push(memory);
        }
    }
}
