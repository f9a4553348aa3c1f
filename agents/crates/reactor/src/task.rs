//! Tasks of one loop, and the line of those that are ready.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::bell::Bell;
use crate::event_loop::EventLoop;

/// Which task, among all that a loop ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// What `block_on` runs.
    pub(crate) const ROOT: Self = Self { index: u32::MAX, generation: 0 };
}

/// What wakers lead to.
#[derive(Debug)]
struct Mark {
    key: Key,
    bell: Arc<Bell>,
}

impl Mark {
    fn waker(key: Key, bell: &Arc<Bell>) -> Waker {
        Waker::from(Arc::new(Self { key, bell: Arc::clone(bell) }))
    }
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !EventLoop::wake_here(&self.bell, self.key) {
            self.bell.ring(self.key);
        }
    }
}

struct Running {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    /// In line already.
    queued: bool,
    /// True if the task is deferred already.
    deferred: bool,
    /// Out while it has its turn.
    task: Option<Running>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    #[inline]
    fn of(&mut self, key: Key) -> Option<&mut Slot> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)
    }

    /// Nothing is known by this key any more; gives what had it.
    fn release(&mut self, key: Key) -> Option<Running> {
        let slot = self.of(key)?;
        slot.generation = slot.generation.wrapping_add(1);
        (slot.queued, slot.deferred) = (false, false);
        let task = slot.task.take();
        self.free.push(key.index);
        task
    }
}

/// All tasks of a loop.
pub(crate) struct Tasks {
    slots: RefCell<Slots>,
    ready: RefCell<VecDeque<Key>>,
    /// Tasks with a spent turn: they continue one at a time, each after a poll of the kernel.
    deferred: RefCell<VecDeque<Key>>,
    /// Task that has its turn, or had the last.
    running: Cell<Key>,
    root_queued: Cell<bool>,
    root_deferred: Cell<bool>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            slots: RefCell::default(),
            ready: RefCell::default(),
            deferred: RefCell::default(),
            running: Cell::new(Key::ROOT),
            root_queued: Cell::default(),
            root_deferred: Cell::default(),
        }
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("ready", &self.ready.borrow().len()).finish_non_exhaustive()
    }
}

impl Tasks {
    /// Takes a task in, at the end of the line.
    fn add(&self, future: Pin<Box<dyn Future<Output = ()>>>, bell: &Arc<Bell>) -> Key {
        let mut slots = self.slots.borrow_mut();
        let index = match slots.free.pop() {
            Some(index) => index,
            None => {
                slots.slots.push(Slot::default());
                u32::try_from(slots.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let slot = &mut slots.slots[index as usize];
        let key = Key { index, generation: slot.generation };
        slot.task = Some(Running { future, waker: Mark::waker(key, bell) });
        drop(slots);
        self.wake(key);
        key
    }

    /// Puts a task in line, once. One that has ended needs nothing.
    #[inline]
    pub(crate) fn wake(&self, key: Key) {
        let was_queued = if key == Key::ROOT {
            self.root_queued.replace(true)
        } else {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.of(key) else { return };
            std::mem::replace(&mut slot.queued, true)
        };
        if !was_queued {
            self.ready.borrow_mut().push_back(key);
        }
    }

    pub(crate) fn next(&self) -> Option<Key> {
        self.ready.borrow_mut().pop_front()
    }

    pub(crate) fn are_ready(&self) -> bool {
        !self.ready.borrow().is_empty() || !self.deferred.borrow().is_empty()
    }

    /// Gives the task that has its turn another one, behind all that were deferred before it.
    pub(crate) fn defer(&self) {
        let key = self.running.get();
        let was_deferred = if key == Key::ROOT {
            self.root_deferred.replace(true)
        } else {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.of(key) else { return };
            std::mem::replace(&mut slot.deferred, true)
        };
        if !was_deferred {
            self.deferred.borrow_mut().push_back(key);
        }
    }

    /// Queues the first deferred task.
    #[inline]
    pub(crate) fn resume_one(&self) {
        loop {
            let Some(key) = self.deferred.borrow_mut().pop_front() else { return };
            let was_deferred = if key == Key::ROOT {
                self.root_deferred.replace(false)
            } else {
                // A task that has ended by now gets no turn.
                self.slots.borrow_mut().of(key).is_some_and(|slot| std::mem::take(&mut slot.deferred))
            };
            if was_deferred {
                return self.wake(key);
            }
        }
    }

    /// Gives the root its turn.
    pub(crate) fn run_root<F: Future>(&self, future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
        self.root_queued.set(false);
        self.running.set(Key::ROOT);
        future.poll(&mut Context::from_waker(waker))
    }

    /// Gives a task its turn. A panic ends it alone.
    pub(crate) fn run(&self, key: Key) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.of(key) else { return };
        slot.queued = false;
        let Some(mut task) = slot.task.take() else { return };
        drop(slots);
        self.running.set(key);
        let Running { future, waker } = &mut task;
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker))));
        let mut slots = self.slots.borrow_mut();
        match slots.of(key) {
            Some(slot) if matches!(polled, Ok(Poll::Pending)) => slot.task = Some(task),
            // It has ended, or was ended in its own turn.
            _ => {
                slots.release(key);
                drop(slots);
                end(task);
            }
        }
    }

    fn abort(&self, key: Key) {
        let task = self.slots.borrow_mut().release(key);
        task.into_iter().for_each(end);
    }

    /// Ends all, and those that ends begin.
    pub(crate) fn end_all(&self) {
        loop {
            let mut slots = self.slots.borrow_mut();
            let tasks: Vec<_> = slots.slots.iter_mut().filter_map(|slot| slot.task.take()).collect();
            drop(slots);
            if tasks.is_empty() {
                return;
            }
            tasks.into_iter().for_each(end);
        }
    }
}

/// Drops what a task owned. A panic there has been told of, and concerns no other.
fn end(task: Running) {
    let ended: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(|| drop(task)));
    if ended.is_err() {
        tracing::error!("a task panicked as it ended");
    }
}

/// What wakes the root of the loop with this bell.
pub(crate) fn root_waker(bell: &Arc<Bell>) -> Waker {
    Mark::waker(Key::ROOT, bell)
}

/// A task of this thread's loop.
#[derive(Debug)]
pub struct Task {
    key: Key,
    event_loop: Rc<EventLoop>,
}

impl Task {
    /// Drops it where it is; nothing happens when it has ended.
    pub fn abort(&self) {
        self.event_loop.tasks.abort(self.key);
    }
}

/// Runs `future` beside what runs already. It goes on when its `Task` is dropped; a panic ends it and nothing else.
///
/// # Panics
///
/// Outside of a loop.
pub fn spawn(future: impl Future<Output = ()> + 'static) -> Task {
    let event_loop = EventLoop::current();
    let key = event_loop.tasks.add(Box::pin(future), event_loop.bell());
    Task { key, event_loop }
}

/// Lets all that is ready, and all that has happened by then, have its turn first.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        EventLoop::current().wake_after_look(cx.waker().clone());
        Poll::Pending
    })
    .await;
}

/// Charges the turn of the running task for work, as the number of bytes that costs about as much to move.
///
/// # Panics
///
/// Outside of a loop.
pub fn spend(bytes: usize) {
    EventLoop::current().spend(bytes);
}

/// Completes while the running task's turn is not spent. A spent turn defers the task until the kernel was polled for events.
///
/// # Panics
///
/// Outside of a loop.
pub fn poll_turn() -> Poll<()> {
    let event_loop = EventLoop::current();
    if !event_loop.is_turn_spent() {
        return Poll::Ready(());
    }
    event_loop.tasks.defer();
    Poll::Pending
}

/// Continues the running task in another turn, once the kernel was polled for events.
///
/// # Panics
///
/// Outside of a loop.
pub fn defer_turn() {
    EventLoop::current().tasks.defer();
}
