//! Readiness of a descriptor that a loop watches. Events are edge-triggered, so a descriptor counts as ready until an
//! operation would block.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::EventFlags;

use crate::event_loop::EventLoop;

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The peer ended its side or the socket failed: a read always returns something, even right after another one emptied
/// the socket.
const ENDED: u8 = 4;
/// Write events are registered too. Not from the start: a Unix socket reports each message that the peer took, which
/// would wake the loop for nothing.
const WATCHES_WRITING: u8 = 8;

/// Readiness of one descriptor and the wakers of tasks that wait for it.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Cell<u8>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
}

impl Watch {
    fn new(state: u8) -> Rc<Self> {
        Rc::new(Self { state: Cell::new(state), reader: RefCell::default(), writer: RefCell::default() })
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
    number: u64,
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
        let (event_loop, watch) = (EventLoop::current(), Watch::new(state));
        let number = event_loop.watch(&io, Rc::clone(&watch))?;
        Ok(Self { watch, number, event_loop, io })
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
                    self.watch_writing()?;
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// Registers for the event that reports room to write.
    #[cold]
    fn watch_writing(&self) -> io::Result<()> {
        self.watch.clear(WRITABLE);
        if !self.watch.is(WATCHES_WRITING) {
            self.watch.set(WATCHES_WRITING);
            self.event_loop.update_watch(&self.io, self.number, &self.watch)?;
        }
        Ok(())
    }
}

impl<T: AsFd> AsFd for Source<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl<T: AsFd> Drop for Source<T> {
    fn drop(&mut self) {
        self.event_loop.unwatch(&self.io, self.number);
    }
}
