//! Tasks of one loop, and the line of those that are ready.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// What wakers lead to. Loads and stores suffice: only the loop's thread ever touches `queued`.
#[derive(Debug)]
struct Mark {
    key: Key,
    /// In line already.
    queued: AtomicBool,
    bell: Arc<Bell>,
}

impl Mark {
    fn new(key: Key, bell: &Arc<Bell>) -> Arc<Self> {
        Arc::new(Self { key, queued: AtomicBool::new(false), bell: Arc::clone(bell) })
    }

    /// Notes that it is in line; whether it was.
    fn queue(&self) -> bool {
        let queued = self.queued.load(Ordering::Relaxed);
        if !queued {
            self.queued.store(true, Ordering::Relaxed);
        }
        queued
    }

    fn begin(&self) {
        self.queued.store(false, Ordering::Relaxed);
    }
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !EventLoop::make_ready(&self.bell, self.key, || self.queue()) {
            self.bell.ring(self.key);
        }
    }
}

struct Running {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
    mark: Arc<Mark>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    /// Out while it has its turn.
    task: Option<Box<Running>>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    fn of(&mut self, key: Key) -> Option<&mut Slot> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)
    }

    /// Nothing is known by this key any more; gives what had it.
    fn release(&mut self, key: Key) -> Option<Box<Running>> {
        let slot = self.of(key)?;
        slot.generation = slot.generation.wrapping_add(1);
        let task = slot.task.take();
        self.free.push(key.index);
        task
    }
}

/// All tasks of a loop.
pub(crate) struct Tasks {
    slots: RefCell<Slots>,
    ready: RefCell<VecDeque<Key>>,
    root: Arc<Mark>,
    bell: Arc<Bell>,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("ready", &self.ready.borrow().len()).finish_non_exhaustive()
    }
}

impl Tasks {
    /// None yet but the root, with what wakes it.
    pub(crate) fn new(bell: &Arc<Bell>) -> (Self, Waker) {
        let root = Mark::new(Key::ROOT, bell);
        let waker = Waker::from(Arc::clone(&root));
        (Self { slots: RefCell::default(), ready: RefCell::default(), root, bell: Arc::clone(bell) }, waker)
    }

    fn add(&self, future: Pin<Box<dyn Future<Output = ()>>>) -> Key {
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
        let mark = Mark::new(key, &self.bell);
        mark.queue();
        slot.task = Some(Box::new(Running { future, waker: Waker::from(Arc::clone(&mark)), mark }));
        self.push(key);
        key
    }

    pub(crate) fn push(&self, key: Key) {
        self.ready.borrow_mut().push_back(key);
    }

    pub(crate) fn next(&self) -> Option<Key> {
        self.ready.borrow_mut().pop_front()
    }

    pub(crate) fn are_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// As another thread asked.
    pub(crate) fn wake(&self, key: Key) {
        let queued = if key == Key::ROOT {
            self.root.queue()
        } else {
            let mut slots = self.slots.borrow_mut();
            // One that has ended meanwhile needs nothing.
            slots.of(key).and_then(|slot| slot.task.as_ref()).is_none_or(|task| task.mark.queue())
        };
        if !queued {
            self.push(key);
        }
    }

    pub(crate) fn begin_root(&self) {
        self.root.begin();
    }

    /// Gives a task its turn. A panic ends it alone.
    pub(crate) fn run(&self, key: Key) {
        let Some(mut task) = self.slots.borrow_mut().of(key).and_then(|slot| slot.task.take()) else { return };
        task.mark.begin();
        let Running { future, waker, .. } = &mut *task;
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker))));
        let mut slots = self.slots.borrow_mut();
        if let Ok(Poll::Pending) = polled {
            // Ended by itself or another, in its own turn.
            let Some(slot) = slots.of(key) else {
                drop(slots);
                return end(task);
            };
            slot.task = Some(task);
            return;
        }
        slots.release(key);
        drop(slots);
        end(task);
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
fn end(task: Box<Running>) {
    let ended: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(|| drop(task)));
    if ended.is_err() {
        tracing::error!("a task panicked as it ended");
    }
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
    let key = event_loop.tasks.add(Box::pin(future));
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
