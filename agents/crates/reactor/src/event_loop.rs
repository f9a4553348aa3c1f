//! Event loop of one thread: runs ready tasks, then polls the kernel for events.

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

use crate::remote_waker::RemoteWaker;
use crate::send_queue::{SendQueue, SendResult, SendRing};
use crate::source::{Watch, Watches};
use crate::task::{TaskKey, Tasks, root_waker};
use crate::time::Timers;

/// Maximum number of turns between two polls. Few, so that new events are soon seen.
const TURNS_PER_POLL: usize = 31;
/// Maximum number of events that one poll returns.
const EVENTS_MAX: usize = 1024;
/// Bytes that a task may read and write in one turn, before other tasks get theirs. Bytes of a download count twice:
/// each byte is read and written.
const TURN_BYTES: usize = 512 * 1024;
/// Cost of one operation in bytes, even if it moves fewer.
pub(crate) const OPERATION_BYTES: usize = 4 * 1024;
/// Number of the remote waker in epoll's event data; no watch has this number.
const REMOTE_WAKER: u64 = u64::MAX;

thread_local! {
    static CURRENT: RefCell<Option<Rc<EventLoop>>> = const { RefCell::new(None) };
}

/// Event loop of one thread.
pub(crate) struct EventLoop {
    epoll: OwnedFd,
    events: RefCell<Vec<epoll::Event>>,
    watches: RefCell<Watches>,
    pub(crate) tasks: Tasks,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) sends: SendQueue,
    /// Tasks that yielded; they wake after the next poll.
    yielded: RefCell<Vec<Waker>>,
    /// Remaining bytes that the current turn may move.
    budget: Cell<usize>,
    remote_waker: Arc<RemoteWaker>,
}

/// Runs `future` and everything that it spawns on this thread until `future` completes. Drops tasks that have not
/// completed by then.
///
/// # Errors
///
/// The system has no descriptor for the loop, epoll fails, or the thread already runs a loop.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    block_on_with(None, future)
}

/// Runs `future` like `block_on`. With a ring, the loop collects small sends of its streams and submits them together.
///
/// # Errors
///
/// The system has no descriptor for the loop, epoll fails, or the thread already runs a loop.
pub fn block_on_with<F: Future>(send_ring: Option<SendRing>, future: F) -> io::Result<F::Output> {
    let event_loop = EventLoop::new(send_ring)?;
    let _guard = CurrentLoopGuard::enter(&event_loop)?;
    let (mut future, waker) = (pin!(future), root_waker(&event_loop.remote_waker));
    event_loop.tasks.wake(TaskKey::ROOT);
    loop {
        for _ in 0..TURNS_PER_POLL {
            let Some(key) = event_loop.tasks.next() else { break };
            event_loop.budget.set(TURN_BYTES);
            if key != TaskKey::ROOT {
                event_loop.tasks.run(key);
            } else if let Poll::Ready(output) = event_loop.tasks.run_root(future.as_mut(), &waker) {
                return Ok(output);
            }
            event_loop.sends.end_turn(&event_loop, TURN_BYTES - event_loop.budget.get());
        }
        event_loop.sends.submit(&event_loop);
        event_loop.poll_events()?;
    }
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").field("epoll", &self.epoll).field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl EventLoop {
    fn new(send_ring: Option<SendRing>) -> io::Result<Rc<Self>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let remote_waker = Arc::new(RemoteWaker::new()?);
        epoll::add(
            &epoll,
            &*remote_waker,
            epoll::EventData::new_u64(REMOTE_WAKER),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )?;
        Ok(Rc::new(Self {
            epoll,
            events: RefCell::new(Vec::with_capacity(EVENTS_MAX)),
            watches: RefCell::default(),
            tasks: Tasks::default(),
            timers: RefCell::default(),
            sends: SendQueue::new(send_ring),
            yielded: RefCell::default(),
            budget: Cell::new(TURN_BYTES),
            remote_waker,
        }))
    }

    /// Returns the loop of this thread.
    ///
    /// # Panics
    ///
    /// Outside of a loop, because nothing could ever become ready there.
    pub(crate) fn current() -> Rc<Self> {
        let current = CURRENT.with_borrow(Clone::clone);
        let Some(current) = current else { panic!("outside of an event loop") };
        current
    }

    pub(crate) fn remote_waker(&self) -> &Arc<RemoteWaker> {
        &self.remote_waker
    }

    /// Wakes a task if this thread runs the loop of this remote waker; returns `false` if it does not.
    pub(crate) fn wake_here(remote_waker: &Arc<RemoteWaker>, key: TaskKey) -> bool {
        // A thread that ends no longer has a loop.
        CURRENT
            .try_with(|current| match &*current.borrow() {
                Some(current) if Arc::ptr_eq(&current.remote_waker, remote_waker) => {
                    current.tasks.wake(key);
                    true
                }
                _ => false,
            })
            .unwrap_or(false)
    }

    /// Polls once for socket events, due timers and wakes from other threads. Blocks while no task is ready.
    fn poll_events(&self) -> io::Result<()> {
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
            if number == REMOTE_WAKER {
                self.remote_waker.take_due().into_iter().for_each(|key| self.tasks.wake(key));
            } else {
                watches.handle_event(number, flags);
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
        // Resumes only one task, so the next event waits for at most one long turn, however many tasks always have
        // work.
        self.tasks.resume_one();
        Ok(())
    }

    /// Wakes a task after the next poll.
    pub(crate) fn wake_after_poll(&self, waker: Waker) {
        self.yielded.borrow_mut().push(waker);
    }

    /// Charges the turn for one operation. Returns `false` when the turn is spent; the task then gets another after the next
    /// poll.
    #[inline]
    pub(crate) fn try_charge(&self) -> bool {
        if self.is_turn_spent() {
            self.tasks.defer();
            return false;
        }
        self.spend(OPERATION_BYTES);
        true
    }

    /// Charges the turn for moved bytes.
    #[inline]
    pub(crate) fn spend(&self, bytes: usize) {
        self.budget.set(self.budget.get().saturating_sub(bytes));
    }

    #[inline]
    pub(crate) fn is_turn_spent(&self) -> bool {
        self.budget.get() == 0
    }

    /// Registers a descriptor for the events that its watch wants.
    pub(crate) fn watch(&self, descriptor: impl AsFd, watch: Rc<Watch>) -> io::Result<()> {
        let flags = watch.interest();
        let number = self.watches.borrow_mut().insert(Rc::clone(&watch));
        watch.set_number(number);
        let added = epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(number), flags);
        if added.is_err() {
            self.watches.borrow_mut().remove(number);
        }
        Ok(added?)
    }

    /// Registers a full socket for the event that reports room to write. If there is room already, the kernel reports it at
    /// once.
    #[cold]
    pub(crate) fn watch_writing(&self, watch: &Watch) -> Result<(), Errno> {
        if watch.mark_full() {
            let data = epoll::EventData::new_u64(watch.number());
            epoll::modify(&self.epoll, watch.descriptor(), data, watch.interest())?;
        }
        Ok(())
    }

    /// Takes the result of a queued send.
    pub(crate) fn complete_send(&self, watch: &Watch, bytes: &[u8], result: SendResult) {
        if !watch.complete_send(bytes, result)
            && let Err(error) = self.watch_writing(watch)
        {
            // The rest of the bytes could never be sent.
            watch.fail(error);
        }
    }

    pub(crate) fn unwatch(&self, descriptor: impl AsFd, watch: &Watch) {
        // Another process or a duplicate may share the descriptor: closing ours would not remove it from epoll.
        if let Err(error) = epoll::delete(&self.epoll, descriptor) {
            tracing::debug!(%error, "a descriptor was not watched");
        }
        self.watches.borrow_mut().remove(watch.number());
    }
}

/// Guard of the thread's current loop: sets it on creation and removes it on drop.
struct CurrentLoopGuard(Rc<EventLoop>);

impl CurrentLoopGuard {
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

impl Drop for CurrentLoopGuard {
    fn drop(&mut self) {
        // Dropping a task's values may abort other tasks or spawn some.
        self.0.tasks.end_all();
        // A stream may outlive the loop.
        self.0.sends.close(&self.0);
        let left = CURRENT.with_borrow_mut(Option::take);
        drop(left);
    }
}
