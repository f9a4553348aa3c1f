//! Send queue of one loop: collects small sends of many streams and passes them to the kernel in one system call
//! (io_uring). Invariant: the kernel has completed every send before `submit` returns.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::rc::Rc;

use io_uring::{IoUring, opcode, register::Restriction, types};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::event_loop::EventLoop;
use crate::source::Watch;

/// Largest send that is queued. The bytes are copied, which costs less than a system call up to about this size.
const SEND_BYTES_MAX: usize = 8 * 1024;
/// Number of entries of a ring: maximum number of sends in one system call.
const SENDS_MAX: usize = 32;
/// Number of queued sends that are submitted after the current turn, before the loop iteration ends. Peers then work while
/// the iteration goes on.
const SENDS_PER_BATCH: usize = 16;
/// Maximum cost of the turns, in bytes, that queued sends wait for: a few long turns must not delay other clients.
const WAIT_BYTES_MAX: usize = 256 * 1024;

/// io_uring of one loop that can only send. A confined thread can't make one, but can use one that another thread made.
pub struct SendRing(IoUring);

impl SendRing {
    /// Makes a ring. The kernel refuses every operation on it other than a send, and every later change to it.
    ///
    /// # Errors
    ///
    /// The kernel has no io_uring with restrictions (Linux before 5.10), or a container or `kernel.io_uring_disabled`
    /// forbids it.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::builder().setup_r_disabled().build(SENDS_MAX as u32)?;
        ring.submitter().register_restrictions(&mut [Restriction::sqe_op(opcode::Send::CODE)])?;
        ring.submitter().register_enable_rings()?;
        Ok(Self(ring))
    }

    /// Sends the bytes of all slots in one system call and sets their results. A slot without a result was not sent.
    ///
    /// # Errors
    ///
    /// The kernel refused the submit: the ring must not be used again.
    fn send(&mut self, slots: &mut [Slot], results: &mut [Option<SendResult>]) -> io::Result<()> {
        let queued = self.enqueue(slots)?;
        let mut pending = queued;
        // Sends that don't wait are complete when the call returns; the second round is only for a kernel that
        // postpones one.
        let mut wanted = 0;
        while pending > 0 {
            match self.0.submitter().submit_and_wait(wanted) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let unsubmitted = self.0.submission().len();
                    let submitted = queued - unsubmitted;
                    let taken = slots.iter_mut().zip(results).filter(|(slot, _)| slot.watch.is_some()).take(submitted);
                    for (slot, result) in taken.filter(|(_, result)| result.is_none()) {
                        // The kernel may still read the bytes.
                        std::mem::forget(std::mem::take(&mut slot.bytes));
                        *result = Some(Err(Errno::IO));
                    }
                    return Err(error);
                }
            }
            for completion in self.0.completion() {
                let result = completion.result();
                let result = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
                results[completion.user_data() as usize] = Some(result);
                pending -= 1;
            }
            wanted = pending;
        }
        Ok(())
    }

    /// Returns the number of sends in the ring: slots without a watch have none.
    #[allow(unsafe_code)]
    fn enqueue(&mut self, slots: &[Slot]) -> io::Result<usize> {
        // A full socket must not make the kernel wait for room.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let mut submission = self.0.submission();
        let mut queued = 0;
        for (index, Slot { watch, bytes }) in slots.iter().enumerate() {
            let Some(watch) = watch else { continue };
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let send = opcode::Send::new(types::Fd(watch.descriptor().as_raw_fd()), bytes.as_ptr(), length)
                .flags(flags.bits().cast_signed())
                .build()
                .user_data(index as u64);
            // SAFETY: `send` keeps the bytes unchanged until the kernel has completed the operation, or leaks them.
            unsafe { submission.push(&send) }.map_err(io::Error::other)?;
            queued += 1;
        }
        Ok(queued)
    }
}

impl fmt::Debug for SendRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendRing").field(&self.0.as_raw_fd()).finish()
    }
}

/// Number of bytes that a socket has taken.
pub(crate) type SendResult = Result<usize, Errno>;

/// Queued send of one stream. Without a watch, the slot is free.
#[derive(Default)]
struct Slot {
    watch: Option<Rc<Watch>>,
    bytes: Vec<u8>,
}

impl Slot {
    fn send(&self) -> SendResult {
        let Some(watch) = &self.watch else { return Ok(0) };
        send(watch.descriptor(), &self.bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }
}

/// Queued sends of a loop. A stream has at most one, so its bytes stay in order.
#[derive(Default)]
pub(crate) struct SendQueue {
    /// `None` where all sends are direct.
    ring: RefCell<Option<SendRing>>,
    slots: RefCell<Vec<Slot>>,
    /// Number of queued sends; they are in the first slots.
    queued: Cell<usize>,
    /// Cost of the turns since the first queued send.
    waited: Cell<usize>,
    is_open: Cell<bool>,
}

impl SendQueue {
    pub(crate) fn new(ring: Option<SendRing>) -> Self {
        let is_open = Cell::new(ring.is_some());
        let slots =
            if ring.is_some() { std::iter::repeat_with(Slot::default).take(SENDS_MAX).collect() } else { vec![] };
        Self { ring: RefCell::new(ring), slots: RefCell::new(slots), is_open, ..Self::default() }
    }

    /// Queues bytes behind those that the stream has queued already. Returns false if they must be sent directly.
    #[inline]
    pub(crate) fn push(&self, event_loop: &EventLoop, watch: &Rc<Watch>, parts: &[IoSlice<'_>]) -> bool {
        if !self.is_open.get() {
            return false;
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length == 0 || length > SEND_BYTES_MAX {
            return false;
        }
        let mut index = watch.slot();
        if index.is_none() && self.queued.get() == SENDS_MAX {
            self.submit(event_loop);
            // The submit may have closed the queue.
            if !self.is_open.get() {
                return false;
            }
        }
        let mut slots = self.slots.borrow_mut();
        if index.is_none() {
            let free = self.queued.get();
            self.queued.set(free + 1);
            slots[free].watch = Some(Rc::clone(watch));
            watch.set_slot(Some(free));
            index = Some(free);
        }
        let Some(Slot { bytes, .. }) = index.and_then(|index| slots.get_mut(index)) else { return false };
        if bytes.len() + length > SEND_BYTES_MAX {
            return false;
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        true
    }

    /// Ends a turn that cost this many bytes. Submits if enough is queued or has waited long enough.
    #[inline]
    pub(crate) fn end_turn(&self, event_loop: &EventLoop, cost: usize) {
        let queued = self.queued.get();
        if queued > 0 {
            self.waited.set(self.waited.get() + cost);
            if queued >= SENDS_PER_BATCH || self.waited.get() >= WAIT_BYTES_MAX {
                self.submit(event_loop);
            }
        }
    }

    /// Sends everything that is queued.
    pub(crate) fn submit(&self, event_loop: &EventLoop) {
        let queued = self.queued.replace(0);
        if queued == 0 {
            return;
        }
        self.waited.set(0);
        let mut slots = self.slots.borrow_mut();
        let slots = &mut slots[..queued];
        let mut results = [None; SENDS_MAX];
        if queued > 1 {
            self.submit_to_ring(slots, &mut results[..queued]);
        }
        for (slot, result) in slots.iter_mut().zip(results) {
            // A single send costs less without the ring.
            let result = result.unwrap_or_else(|| slot.send());
            if let Some(watch) = slot.watch.take() {
                event_loop.complete_send(&watch, &slot.bytes, result);
            }
            slot.bytes.clear();
        }
    }

    fn submit_to_ring(&self, slots: &mut [Slot], results: &mut [Option<SendResult>]) {
        let mut ring = self.ring.borrow_mut();
        if let Some(Err(error)) = ring.as_mut().map(|ring| ring.send(slots, results)) {
            tracing::warn!(%error, "io_uring failed: each send is a system call of its own from now on");
            self.is_open.set(false);
            *ring = None;
        }
    }

    /// Removes the queued send of a stream and returns its bytes.
    pub(crate) fn take(&self, watch: &Watch) -> Option<Vec<u8>> {
        let index = watch.slot()?;
        let last = self.queued.get() - 1;
        self.queued.set(last);
        let mut slots = self.slots.borrow_mut();
        slots.swap(index, last);
        if let Some(moved) = slots[index].watch.as_ref().filter(|_| index != last) {
            moved.set_slot(Some(index));
        }
        watch.set_slot(None);
        slots[last].watch = None;
        Some(std::mem::take(&mut slots[last].bytes))
    }

    /// Sends everything that is queued; further sends are direct.
    pub(crate) fn close(&self, event_loop: &EventLoop) {
        self.is_open.set(false);
        self.submit(event_loop);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Runs one operation on a ring; `None` where io_uring is forbidden.
    #[allow(unsafe_code)]
    fn run(operation: &io_uring::squeue::Entry) -> Option<i32> {
        let Ok(SendRing(mut ring)) = SendRing::new() else { return None };
        // SAFETY: the operations of the tests use no memory, or a constant.
        unsafe { ring.submission().push(operation) }.unwrap();
        ring.submit_and_wait(1).unwrap();
        ring.completion().next().map(|completion| completion.result())
    }

    #[test]
    fn slots_without_a_watch_are_not_waited_for() {
        let Ok(mut ring) = SendRing::new() else { return };
        let (mut slots, mut results) = ([Slot::default(), Slot::default()], [None; 2]);
        ring.send(&mut slots, &mut results).unwrap();
        assert_eq!(results, [None; 2]);
    }

    #[test]
    fn a_ring_sends_and_refuses_everything_else() {
        let (socket, _peer) = UnixStream::pair().unwrap();
        let (descriptor, refused) = (types::Fd(socket.as_raw_fd()), -Errno::ACCESS.raw_os_error());
        let bytes = b"sent".as_ptr();
        let send = opcode::Send::new(descriptor, bytes, 4).build();
        assert!(run(&send).is_none_or(|result| result == 4));
        let elsewhere = send.flags(io_uring::squeue::Flags::ASYNC);
        assert!(run(&elsewhere).is_none_or(|result| result == refused));
        for other in [
            opcode::Nop::new().build(),
            opcode::Write::new(descriptor, bytes, 4).build(),
            opcode::Shutdown::new(descriptor, 2).build(),
            opcode::Socket::new(1, 1, 0).build(),
            opcode::OpenAt::new(types::Fd(-100), c"/etc/passwd".as_ptr()).build(),
        ] {
            assert!(run(&other).is_none_or(|result| result == refused), "{other:?}");
        }
        if let Ok(SendRing(ring)) = SendRing::new() {
            assert!(ring.submitter().register_personality().is_err());
            assert!(ring.submitter().register_restrictions(&mut [Restriction::sqe_op(opcode::Nop::CODE)]).is_err());
        }
    }
}
