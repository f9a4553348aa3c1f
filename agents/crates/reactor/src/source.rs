//! A descriptor that a loop watches, and what is known of its readiness. Events are told once (edge-triggered), so a descriptor
//! counts as ready until an operation finds that it is not.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::EventFlags;

use crate::event_loop::EventLoop;

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The peer sends nothing more, or it failed: reading is never in vain, even where it has just emptied the socket.
const ENDED: u8 = 4;
/// Writing is watched too. Not from the beginning: a Unix socket tells at every message that its bytes were taken, and each word
/// would wake the loop for nothing.
const WATCHES_WRITING: u8 = 8;

/// What is known of one descriptor, and who waits for it.
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

    /// Wakes whom this is news to. Each event tells all that is so, and nobody waits for what was known.
    fn happened(&self, flags: EventFlags) {
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

/// It stays: most wait for the same again and again. Whoever has left meanwhile has a turn for nothing, once.
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

/// All that one loop watches.
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
    pub(crate) fn happened(&self, number: u64, flags: EventFlags) {
        if let Some(Some(watch)) = self.watches.get(number as usize) {
            watch.happened(flags);
        }
    }
}

/// Something with a descriptor that does not block, watched by this thread's loop.
#[derive(Debug)]
pub struct Source<T: AsFd> {
    watch: Rc<Watch>,
    number: u64,
    event_loop: Rc<EventLoop>,
    io: T,
}

impl<T: AsFd> Source<T> {
    /// Watches `io`, which must not block. It counts as writable until it is not.
    ///
    /// # Errors
    ///
    /// When the kernel does not watch it.
    ///
    /// # Panics
    ///
    /// Outside of a loop.
    pub fn new(io: T) -> io::Result<Self> {
        Self::watched(io, WRITABLE)
    }

    /// For one that is only on its way to being writable.
    pub(crate) fn connecting(io: T) -> io::Result<Self> {
        Self::watched(io, WATCHES_WRITING)
    }

    fn watched(io: T, state: u8) -> io::Result<Self> {
        let (event_loop, watch) = (EventLoop::current(), Watch::new(state));
        let number = event_loop.watch(&io, Rc::clone(&watch))?;
        Ok(Self { watch, number, event_loop, io })
    }

    /// What is watched.
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.io
    }

    /// Ready when reading may find something. A task that is ready too often has to let others have their turn.
    #[inline]
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.watch.is(READABLE) {
            wait(&self.watch.reader, cx);
            return Poll::Pending;
        }
        if self.event_loop.may_go_on() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when there may be room to write.
    #[inline]
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.watch.is(WRITABLE) {
            wait(&self.watch.writer, cx);
            return Poll::Pending;
        }
        if self.event_loop.may_go_on() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Reads by `read`, if the loop has seen something happen.
    ///
    /// # Errors
    ///
    /// What `read` fails with; `WouldBlock` also without a call, while nothing has come.
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

    /// Charges the turn of the running task for bytes that were moved.
    #[inline]
    pub fn spend(&self, bytes: usize) {
        self.event_loop.spend(bytes);
    }

    /// A read brought less than there was room for: what comes next is told.
    #[inline]
    pub fn mark_drained(&self) {
        if !self.watch.is(ENDED) {
            self.watch.clear(READABLE);
        }
    }

    /// Writes by `write`, if there may be room.
    ///
    /// # Errors
    ///
    /// What `write` fails with; `WouldBlock` also without a call, while there is no room.
    #[inline]
    pub fn try_write_by<R>(&self, mut write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        if !self.watch.is(WRITABLE) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match write(&self.io) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.await_room()?;
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// From now on it is told when there is room.
    #[cold]
    fn await_room(&self) -> io::Result<()> {
        self.watch.clear(WRITABLE);
        if !self.watch.is(WATCHES_WRITING) {
            self.watch.set(WATCHES_WRITING);
            self.event_loop.watch_anew(&self.io, self.number, &self.watch)?;
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
        self.event_loop.forget(&self.io, self.number);
    }
}
