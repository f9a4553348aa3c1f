//! Readiness of a descriptor that a loop watches. Events are edge-triggered, so a descriptor counts as ready until an
//! operation would block.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::event_loop::EventLoop;

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The peer ended its side or the socket failed: a read always returns something, even right after another one emptied
/// the socket.
const ENDED: u8 = 4;
/// Write events are registered too. Not from the start: a Unix socket reports each message that the peer took, which
/// would wake the loop for nothing.
const WATCHES_WRITING: u8 = 8;
/// The socket was full once. Its sends are direct from then on, so the writer knows at once what the socket takes.
const WAS_FULL: u8 = 16;
/// `leftover` is set.
const HAS_LEFTOVER: u8 = 32;

/// Value of `Watch::slot` without a queued send.
const NO_SLOT: u16 = u16::MAX;

/// Result of a queued send that its stream has not handled yet.
#[derive(Debug)]
enum SendLeftover {
    /// The socket had no room for the bytes from `sent` on; the loop sends them when it has.
    Unsent { bytes: Vec<u8>, sent: usize },
    /// Error that the stream's next write, flush or shutdown returns.
    Failed(Errno),
}

/// Readiness of one descriptor, the wakers of tasks that wait for it, and its queued send.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Cell<u8>,
    /// Slot of the queued send in the loop's send queue.
    slot: Cell<u16>,
    /// Invariant: open while the loop knows this watch. The source removes the watch before it closes the descriptor.
    descriptor: RawFd,
    /// Number in event data.
    number: Cell<u64>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
    leftover: RefCell<Option<Box<SendLeftover>>>,
}

impl Watch {
    fn new(state: u8, descriptor: RawFd) -> Rc<Self> {
        Rc::new(Self {
            state: Cell::new(state),
            slot: Cell::new(NO_SLOT),
            descriptor,
            number: Cell::default(),
            reader: RefCell::default(),
            writer: RefCell::default(),
            leftover: RefCell::default(),
        })
    }

    #[inline]
    fn is(&self, state: u8) -> bool {
        self.state.get() & state != 0
    }

    fn set(&self, state: u8) {
        self.state.set(self.state.get() | state);
    }

    fn clear(&self, state: u8) {
        self.state.set(self.state.get() & !state);
    }

    #[allow(unsafe_code)]
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: only the loop calls this, while it knows this watch, and the descriptor is open that long.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number.get()
    }

    pub(crate) fn set_number(&self, number: u64) {
        self.number.set(number);
    }

    #[inline]
    pub(crate) fn slot(&self) -> Option<usize> {
        Some(self.slot.get()).filter(|slot| *slot != NO_SLOT).map(usize::from)
    }

    pub(crate) fn set_slot(&self, slot: Option<usize>) {
        self.slot.set(slot.and_then(|slot| u16::try_from(slot).ok()).unwrap_or(NO_SLOT));
    }

    fn keep(&self, leftover: SendLeftover) {
        self.leftover.replace(Some(Box::new(leftover)));
        self.set(HAS_LEFTOVER);
    }

    /// Takes the result of a queued send. Returns false if the socket has no room for the rest of its bytes.
    pub(crate) fn complete_send(&self, bytes: &[u8], result: Result<usize, Errno>) -> bool {
        self.set_slot(None);
        let rest = match result {
            Ok(sent) => &bytes[sent..],
            Err(Errno::AGAIN | Errno::INTR) => bytes,
            Err(error) => {
                self.fail(error);
                return true;
            }
        };
        if rest.is_empty() {
            return true;
        }
        self.keep(SendLeftover::Unsent { bytes: rest.to_vec(), sent: 0 });
        self.send_leftover()
    }

    /// Keeps an error for the stream.
    #[cold]
    pub(crate) fn fail(&self, error: Errno) {
        self.keep(SendLeftover::Failed(error));
        self.set(WRITABLE);
        wake(&self.writer);
    }

    /// Sends unsent bytes. Returns false while the socket has no room for all of them.
    #[cold]
    fn send_leftover(&self) -> bool {
        let Some(mut leftover) = self.leftover.take() else { return true };
        while let SendLeftover::Unsent { bytes, sent } = &mut *leftover {
            match send(self.descriptor(), &bytes[*sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) if *sent + count == bytes.len() => {
                    self.clear(HAS_LEFTOVER);
                    return true;
                }
                Ok(count) => *sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.leftover.replace(Some(leftover));
                    return false;
                }
                Err(error) => *leftover = SendLeftover::Failed(error),
            }
        }
        self.leftover.replace(Some(leftover));
        true
    }

    /// Marks the socket as full. Returns true if write events are not registered yet.
    pub(crate) fn mark_full(&self) -> bool {
        let registers = !self.is(WATCHES_WRITING);
        self.clear(WRITABLE);
        self.set(WATCHES_WRITING | WAS_FULL);
        registers
    }

    pub(crate) fn interest(&self) -> EventFlags {
        let reading = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        if self.is(WATCHES_WRITING) { reading | EventFlags::OUT } else { reading }
    }

    /// Wakes the tasks for which the event is new. An event reports the whole state, and no task waits for a known
    /// state.
    fn handle_event(&self, flags: EventFlags) {
        let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let failed = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        if ended {
            self.set(ENDED);
        }
        if (ended || flags.contains(EventFlags::IN)) && !self.is(READABLE) {
            self.set(READABLE);
            wake(&self.reader);
        }
        if (failed || flags.contains(EventFlags::OUT)) && !self.is(WRITABLE) {
            if self.is(HAS_LEFTOVER) && !self.send_leftover() {
                return;
            }
            self.set(WRITABLE);
            wake(&self.writer);
        }
    }
}

/// The waker stays registered: most tasks wait for the same event again. A task that no longer waits gets one needless
/// turn.
#[inline]
fn wake(waiting: &RefCell<Option<Waker>>) {
    if let Some(waker) = &*waiting.borrow() {
        waker.wake_by_ref();
    }
}

#[inline]
fn wait(waiting: &RefCell<Option<Waker>>, cx: &Context<'_>) {
    let mut waiting = waiting.borrow_mut();
    if !waiting.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *waiting = Some(cx.waker().clone());
    }
}

/// Watches of one loop by number.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    watches: Vec<Option<Rc<Watch>>>,
    free: Vec<u64>,
}

impl Watches {
    pub(crate) fn insert(&mut self, watch: Rc<Watch>) -> u64 {
        if let Some(number) = self.free.pop() {
            self.watches[number as usize] = Some(watch);
            return number;
        }
        self.watches.push(Some(watch));
        self.watches.len() as u64 - 1
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.watches[number as usize] = None;
        self.free.push(number);
    }

    #[inline]
    pub(crate) fn handle_event(&self, number: u64, flags: EventFlags) {
        if let Some(Some(watch)) = self.watches.get(number as usize) {
            watch.handle_event(flags);
        }
    }
}

/// Non-blocking descriptor that this thread's loop watches.
#[derive(Debug)]
pub struct Source<T: AsFd> {
    watch: Rc<Watch>,
    event_loop: Rc<EventLoop>,
    io: T,
}

impl<T: AsFd> Source<T> {
    /// Watches `io`, which must not block. It counts as writable until a write would block.
    ///
    /// # Errors
    ///
    /// The kernel can't watch it.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn new(io: T) -> io::Result<Self> {
        Self::watched(io, WRITABLE)
    }

    /// Watches a socket that is still connecting, so it is not writable yet.
    pub(crate) fn connecting(io: T) -> io::Result<Self> {
        Self::watched(io, WATCHES_WRITING)
    }

    fn watched(io: T, state: u8) -> io::Result<Self> {
        let (event_loop, watch) = (EventLoop::current(), Watch::new(state, io.as_fd().as_raw_fd()));
        event_loop.watch(&io, Rc::clone(&watch))?;
        Ok(Self { watch, event_loop, io })
    }

    /// Returns the watched descriptor.
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.io
    }

    /// Completes when reading may succeed. Defers the task instead when its turn is spent.
    #[inline]
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.watch.is(READABLE) {
            wait(&self.watch.reader, cx);
            return Poll::Pending;
        }
        if self.event_loop.try_charge() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Completes when writing may succeed. Defers the task instead when its turn is spent.
    #[inline]
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.watch.is(WRITABLE) {
            wait(&self.watch.writer, cx);
            return Poll::Pending;
        }
        if self.event_loop.try_charge() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Reads with `read` if the descriptor may be readable.
    ///
    /// # Errors
    ///
    /// The error of `read`; `WouldBlock` also without a call while nothing has arrived.
    #[inline]
    pub fn try_read_by<R>(&self, mut read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        if !self.watch.is(READABLE) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match read(&self.io) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.watch.clear(READABLE | ENDED);
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// Charges the turn of the running task for moved bytes.
    #[inline]
    pub fn spend(&self, bytes: usize) {
        self.event_loop.spend(bytes);
    }

    /// Marks the descriptor as not readable after a read that did not fill its buffer: the kernel reports later data as
    /// an event.
    #[inline]
    pub fn mark_drained(&self) {
        if !self.watch.is(ENDED) {
            self.watch.clear(READABLE);
        }
    }

    /// Writes with `write` if the descriptor may be writable.
    ///
    /// # Errors
    ///
    /// The error of `write`; `WouldBlock` also without a call while there is no room.
    #[inline]
    pub fn try_write_by<R>(&self, mut write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        if !self.watch.is(WRITABLE) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match write(&self.io) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.event_loop.watch_writing(&self.watch)?;
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// Queues bytes for the next submit of the loop. Returns false if they must be written directly, after `take_queued`.
    #[inline]
    pub(crate) fn try_queue(&self, parts: &[IoSlice<'_>]) -> bool {
        self.watch.is(WRITABLE)
            && !self.watch.is(WAS_FULL)
            && self.event_loop.sends.push(&self.event_loop, &self.watch, parts)
    }

    /// Removes and returns the queued bytes. The caller must send them at once and pass the result to `complete_send`.
    #[inline]
    pub(crate) fn take_queued(&self) -> Option<Vec<u8>> {
        self.event_loop.sends.take(&self.watch)
    }

    pub(crate) fn complete_send(&self, bytes: &[u8], result: Result<usize, Errno>) {
        self.event_loop.complete_send(&self.watch, bytes, result);
    }

    /// Sends the queued bytes now.
    #[inline]
    pub(crate) fn send_queued(&self) {
        if let Some(bytes) = self.take_queued() {
            self.complete_send(&bytes, send(&self.io, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT));
        }
    }

    /// Returns the number of bytes that were queued and then not taken by the socket.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        if !self.watch.is(HAS_LEFTOVER) {
            return 0;
        }
        match self.watch.leftover.borrow().as_deref() {
            Some(SendLeftover::Unsent { bytes, sent }) => bytes.len() - sent,
            _ => 0,
        }
    }

    /// Returns the error of a queued send, once.
    ///
    /// # Errors
    ///
    /// The send failed.
    #[inline]
    pub(crate) fn take_failure(&self) -> io::Result<()> {
        if !self.watch.is(HAS_LEFTOVER) {
            return Ok(());
        }
        let failed = self.watch.leftover.borrow_mut().take_if(|leftover| matches!(**leftover, SendLeftover::Failed(_)));
        if let Some(SendLeftover::Failed(error)) = failed.as_deref() {
            self.watch.clear(HAS_LEFTOVER);
            return Err((*error).into());
        }
        Ok(())
    }

    /// Completes when the socket has taken all bytes of earlier queued sends. Does not wait for bytes that are still queued:
    /// the loop sends them before it polls.
    #[inline]
    pub(crate) fn poll_unsent(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.take_failure()?;
        if self.watch.is(HAS_LEFTOVER) {
            wait(&self.watch.writer, cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsFd> AsFd for Source<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl<T: AsFd> Drop for Source<T> {
    fn drop(&mut self) {
        // The descriptor's number may soon name another socket.
        self.send_queued();
        self.event_loop.unwatch(&self.io, &self.watch);
    }
}
