//! Buffers of one core. Idle connections own none: they borrow one when bytes arrive and give it back when it is empty.

use std::cell::{RefCell, RefMut};

/// Size of the buffer that every read of this core goes through.
pub(crate) const SCRATCH_BYTES: usize = 64 * 1024;
/// A TLS record and its header, which may be carried over in front of a read.
const CARRIED_BYTES: usize = 17 * 1024;
/// What a pooled buffer has at least, so that who borrows one need not grow it, and what it may grow to.
const POOLED_BYTES_MIN: usize = 4096;
const POOLED_BYTES_MAX: usize = 128 * 1024;
const POOLED_MAX: usize = 64;

/// The scratch buffers and the pool.
#[derive(Debug)]
pub(crate) struct Buffers {
    read: RefCell<Box<[u8]>>,
    seal: RefCell<Box<[u8]>>,
    pool: RefCell<Vec<Vec<u8>>>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            read: RefCell::new(vec![0; SCRATCH_BYTES + CARRIED_BYTES].into()),
            seal: RefCell::new(vec![0; SCRATCH_BYTES + CARRIED_BYTES].into()),
            pool: RefCell::default(),
        }
    }

    /// For one read from a socket. Held only while nothing else runs.
    pub(crate) fn read(&self) -> RefMut<'_, Box<[u8]>> {
        self.read.borrow_mut()
    }

    /// For records that are sent at once.
    pub(crate) fn seal(&self) -> RefMut<'_, Box<[u8]>> {
        self.seal.borrow_mut()
    }

    /// Makes sure that `buffer` has memory of its own.
    #[inline]
    pub(crate) fn lend(&self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0 {
            *buffer = self.pool.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(POOLED_BYTES_MIN));
        }
    }

    /// Takes an empty buffer's memory back.
    #[inline]
    pub(crate) fn reclaim(&self, buffer: &mut Vec<u8>) {
        // Mostly there is none, and the question is all that it costs.
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
