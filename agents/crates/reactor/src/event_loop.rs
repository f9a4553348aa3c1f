//! The loop itself: tasks that are ready have their turns, then the kernel is asked what has happened.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::bell::Bell;
use crate::source::{Watch, Watches};
use crate::task::{Key, Tasks, root_waker};
use crate::time::Timers;

/// Turns before the kernel is asked again: they are short, and what has happened meanwhile is to be seen soon.
const TURNS_A_LAP: usize = 31;
/// Told by one call.
const EVENTS_MAX: usize = 1024;
/// Bytes that a task may read and write in one turn, before the other tasks have theirs. A download's bytes count twice: each
/// byte is read and written.
const TURN_BYTES: usize = 512 * 1024;
/// Cost of one operation in bytes, however few it moves.
pub(crate) const OPERATION_BYTES: usize = 4 * 1024;
/// Among the kernel's data of events: no watch has this number.
const BELL: u64 = u64::MAX;

thread_local! {
    static CURRENT: RefCell<Option<Rc<EventLoop>>> = const { RefCell::new(None) };
}

/// One thread's loop.
pub(crate) struct EventLoop {
    epoll: OwnedFd,
    events: RefCell<Vec<epoll::Event>>,
    watches: RefCell<Watches>,
    pub(crate) tasks: Tasks,
    pub(crate) timers: RefCell<Timers>,
    /// Those that go on behind everything that has happened by then.
    yielded: RefCell<Vec<Waker>>,
    /// Bytes that the current turn may still move.
    budget: Cell<usize>,
    bell: Arc<Bell>,
}

/// Runs `future`, and all that it spawns, on this thread, until it has ended; tasks that have not are dropped.
///
/// # Errors
///
/// When the system has no descriptor for the loop, when epoll fails, and on a thread that runs a loop already.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let event_loop = EventLoop::new()?;
    let _entered = Entered::enter(&event_loop)?;
    let (mut future, waker) = (pin!(future), root_waker(&event_loop.bell));
    event_loop.tasks.wake(Key::ROOT);
    loop {
        for _ in 0..TURNS_A_LAP {
            let Some(key) = event_loop.tasks.next() else { break };
            event_loop.budget.set(TURN_BYTES);
            if key != Key::ROOT {
                event_loop.tasks.run(key);
            } else if let Poll::Ready(output) = event_loop.tasks.run_root(future.as_mut(), &waker) {
                return Ok(output);
            }
        }
        event_loop.look()?;
    }
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").field("epoll", &self.epoll).field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl EventLoop {
    fn new() -> io::Result<Rc<Self>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = Arc::new(Bell::new()?);
        epoll::add(&epoll, &*bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(Rc::new(Self {
            epoll,
            events: RefCell::new(Vec::with_capacity(EVENTS_MAX)),
            watches: RefCell::default(),
            tasks: Tasks::default(),
            timers: RefCell::default(),
            yielded: RefCell::default(),
            budget: Cell::new(TURN_BYTES),
            bell,
        }))
    }

    /// The loop of this thread.
    ///
    /// # Panics
    ///
    /// Outside of a loop, where nothing could ever become ready.
    pub(crate) fn current() -> Rc<Self> {
        let current = CURRENT.with_borrow(Clone::clone);
        let Some(current) = current else { panic!("outside of an event loop") };
        current
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Wakes a task of the loop with this bell; `false` when that is not this thread's.
    pub(crate) fn wake_here(bell: &Arc<Bell>, key: Key) -> bool {
        // A thread that ends has no loop any more.
        CURRENT
            .try_with(|current| match &*current.borrow() {
                Some(current) if Arc::ptr_eq(&current.bell, bell) => {
                    current.tasks.wake(key);
                    true
                }
                _ => false,
            })
            .unwrap_or(false)
    }

    /// Looks once: at the sockets, at the clock, at what other threads want. Waits while there is nothing to do.
    fn look(&self) -> io::Result<()> {
        let is_busy = self.tasks.are_ready() || !self.yielded.borrow().is_empty();
        let limit = if is_busy { Some(Duration::ZERO) } else { self.timers.borrow().due_in(Instant::now()) };
        let limit = limit.map(|limit| Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        let mut events = self.events.borrow_mut();
        match epoll::wait(&self.epoll, spare_capacity(&mut events), limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let watches = self.watches.borrow();
        for event in events.drain(..) {
            let (number, flags) = (event.data.u64(), event.flags);
            if number == BELL {
                self.bell.take().into_iter().for_each(|key| self.tasks.wake(key));
            } else {
                watches.happened(number, flags);
            }
        }
        drop(watches);
        if !self.timers.borrow().are_empty() {
            let due = self.timers.borrow_mut().take_due(Instant::now());
            due.into_iter().for_each(Waker::wake);
        }
        if !self.yielded.borrow().is_empty() {
            self.yielded.take().into_iter().for_each(Waker::wake);
        }
        // Runs only one: the next event then waits for one long turn, however many tasks never run out of work.
        self.tasks.resume_one();
        Ok(())
    }

    /// Wakes once the kernel has been asked.
    pub(crate) fn wake_after_look(&self, waker: Waker) {
        self.yielded.borrow_mut().push(waker);
    }

    /// Charges the turn for one operation. Returns `false` when the turn is spent; the task then gets another after the next
    /// poll.
    #[inline]
    pub(crate) fn may_go_on(&self) -> bool {
        if self.is_turn_spent() {
            self.tasks.defer();
            return false;
        }
        self.spend(OPERATION_BYTES);
        true
    }

    /// Charges the turn for bytes that were moved.
    #[inline]
    pub(crate) fn spend(&self, bytes: usize) {
        self.budget.set(self.budget.get().saturating_sub(bytes));
    }

    #[inline]
    pub(crate) fn is_turn_spent(&self) -> bool {
        self.budget.get() == 0
    }

    /// Watches a descriptor for what its watch wants; gives the number that its events are told by.
    pub(crate) fn watch(&self, descriptor: impl AsFd, watch: Rc<Watch>) -> io::Result<u64> {
        let flags = watch.interest();
        let mut watches = self.watches.borrow_mut();
        let number = watches.insert(watch);
        match epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(number), flags) {
            Ok(()) => Ok(number),
            Err(error) => {
                watches.remove(number);
                Err(error.into())
            }
        }
    }

    /// Watches it for what its watch wants by now. Tells at once what is so already.
    pub(crate) fn watch_anew(&self, descriptor: impl AsFd, number: u64, watch: &Watch) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, descriptor, epoll::EventData::new_u64(number), watch.interest())?)
    }

    pub(crate) fn forget(&self, descriptor: impl AsFd, number: u64) {
        // It may be shared with another process or a copy: closing ours would not end its watch.
        if let Err(error) = epoll::delete(&self.epoll, descriptor) {
            tracing::debug!(%error, "a descriptor was not watched");
        }
        self.watches.borrow_mut().remove(number);
    }
}

/// A thread within its loop.
struct Entered(Rc<EventLoop>);

impl Entered {
    fn enter(event_loop: &Rc<EventLoop>) -> io::Result<Self> {
        CURRENT.with_borrow_mut(|current| match current {
            Some(_) => Err(io::Error::other("this thread runs an event loop already")),
            None => {
                *current = Some(Rc::clone(event_loop));
                Ok(Self(Rc::clone(event_loop)))
            }
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // What they own may end other tasks, or begin some.
        self.0.tasks.end_all();
        let left = CURRENT.with_borrow_mut(Option::take);
        drop(left);
    }
}
