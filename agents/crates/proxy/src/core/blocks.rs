//! Pool of read buffers (blocks) of one core. A codec that sends a body later keeps the block instead of a copy.
//! Invariant: bytes in a `BodyQueue` hold at most six times their size.

use std::cell::RefCell;

use bytes::Bytes;

/// Size of a block: 64 KiB, and a TLS record with its header, which may be carried over in front of a read.
pub(super) const BLOCK_BYTES: usize = 81 * 1024;
/// Minimum number of bytes that keep a block; fewer are copied.
const FILLED_BYTES_MIN: usize = BLOCK_BYTES / 2;
/// Minimum size of a part that keeps a block, from its start and after some of it was sent; smaller ones are copied.
pub(super) const PART_BYTES_MIN: usize = BLOCK_BYTES / 6;

/// Blocks ready for reuse.
#[derive(Default)]
struct UnusedBlocks {
    /// The last one was used most recently, so it may be in the processor's cache.
    blocks: Vec<Box<[u8]>>,
    /// Smallest number of them since the last sweep.
    fewest: usize,
}

thread_local! {
    /// Each core has a thread. The drop of a `FilledBlock` finds its core here.
    static UNUSED: RefCell<UnusedBlocks> = RefCell::default();
}

/// Block with bytes. Its memory returns to the pool when the last `Bytes` of it is dropped.
struct FilledBlock {
    memory: Box<[u8]>,
    filled: usize,
}

impl AsRef<[u8]> for FilledBlock {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.filled]
    }
}

impl Drop for FilledBlock {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        // A thread that ends has no pool any more, so the memory is freed.
        UNUSED.try_with(|unused| unused.borrow_mut().blocks.push(memory)).ok();
    }
}

/// Returns an unused block, or a new one.
pub(super) fn block() -> Box<[u8]> {
    let unused = UNUSED.with_borrow_mut(|unused| {
        let block = unused.blocks.pop();
        unused.fewest = unused.fewest.min(unused.blocks.len());
        block
    });
    unused.unwrap_or_else(|| vec![0; BLOCK_BYTES].into())
}

/// Keeps the first `filled` bytes of `block` without a copy and replaces it by another block. Returns `None` if the
/// bytes are so few that the caller must copy them.
pub(crate) fn keep_block(block: &mut Box<[u8]>, filled: usize) -> Option<Bytes> {
    let is_kept = filled >= FILLED_BYTES_MIN;
    is_kept.then(|| Bytes::from_owner(FilledBlock { memory: std::mem::replace(block, self::block()), filled }))
}

/// Copies the rest of a block if it is small: a client that takes all but a few bytes must not hold the whole block.
pub(crate) fn copy_small_rest(rest: &mut Bytes) {
    if rest.len() < PART_BYTES_MIN {
        *rest = Bytes::copy_from_slice(rest);
    }
}

/// Frees the blocks of this core that were not used since the last call.
pub(super) fn free_unused_blocks() {
    UNUSED.with_borrow_mut(|unused| {
        unused.blocks.drain(..unused.fewest);
        unused.fewest = unused.blocks.len();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused() -> usize {
        UNUSED.with_borrow(|unused| unused.blocks.len())
    }

    #[test]
    fn a_well_filled_block_is_kept_and_used_again() {
        let mut read = block();
        let memory = read.as_ptr();
        read[0] = b'k';
        assert_eq!(keep_block(&mut read, FILLED_BYTES_MIN - 1), None);
        let kept = keep_block(&mut read, FILLED_BYTES_MIN).unwrap();
        assert_eq!((kept.as_ptr(), kept.len(), kept[0]), (memory, FILLED_BYTES_MIN, b'k'));
        assert_ne!(read.as_ptr(), memory);
        let part = kept.slice(9..);
        drop(kept);
        assert_eq!(unused(), 0, "a part of it is in use");
        drop(part);
        assert_eq!(unused(), 1);
        let again = block();
        assert_eq!(again.as_ptr(), memory);
    }

    #[test]
    fn a_small_rest_does_not_hold_its_block() {
        let kept = || keep_block(&mut block(), BLOCK_BYTES).unwrap();
        let mut rest = kept().slice(BLOCK_BYTES - PART_BYTES_MIN..);
        copy_small_rest(&mut rest);
        assert_eq!(unused(), 0, "a large rest is not copied");
        let mut small = rest.slice(1..);
        drop(rest);
        copy_small_rest(&mut small);
        assert_eq!((unused(), small.len()), (1, PART_BYTES_MIN - 1));
    }

    #[test]
    fn blocks_unused_since_the_last_sweep_are_freed() {
        let filled = |_| keep_block(&mut block(), BLOCK_BYTES).unwrap();
        let burst: Vec<_> = (0..5).map(filled).collect();
        drop(burst);
        let after_burst = unused();
        free_unused_blocks();
        assert_eq!(unused(), after_burst, "all blocks were in use");
        drop(filled(0));
        free_unused_blocks();
        assert_eq!(unused(), 1, "one block was in use");
        free_unused_blocks();
        assert_eq!(unused(), 0);
    }
}
