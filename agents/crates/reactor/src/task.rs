//! Tasks of one loop and its queue of ready tasks.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::event_loop::EventLoop;
use crate::remote_waker::RemoteWaker;

/// TaskKey of a task, unique among all tasks that a loop ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskKey {
    index: u32,
    generation: u32,
}

impl TaskKey {
    /// TaskKey of the future that `block_on` runs.
    pub(crate) const ROOT: Self = Self { index: u32::MAX, generation: 0 };
}

/// Target of a task's waker.
#[derive(Debug)]
struct TaskWaker {
    key: TaskKey,
    remote_waker: Arc<RemoteWaker>,
}

impl TaskWaker {
    fn waker(key: TaskKey, remote_waker: &Arc<RemoteWaker>) -> Waker {
        Waker::from(Arc::new(Self { key, remote_waker: Arc::clone(remote_waker) }))
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !EventLoop::wake_here(&self.remote_waker, self.key) {
            self.remote_waker.wake(self.key);
        }
    }
}

struct TaskFuture {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
}

#[derive(Default)]
struct TaskSlot {
    generation: u32,
    /// True if the task is in the ready queue.
    queued: bool,
    /// True if the task is in the deferred queue.
    deferred: bool,
    /// The task; `None` during its turn.
    task: Option<TaskFuture>,
}

#[derive(Default)]
struct TaskSlots {
    slots: Vec<TaskSlot>,
    free: Vec<u32>,
}

impl TaskSlots {
    #[inline]
    fn get(&mut self, key: TaskKey) -> Option<&mut TaskSlot> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)
    }

    /// Frees the slot and returns its task. The key becomes invalid.
    fn release(&mut self, key: TaskKey) -> Option<TaskFuture> {
        let slot = self.get(key)?;
        slot.generation = slot.generation.wrapping_add(1);
        (slot.queued, slot.deferred) = (false, false);
        let task = slot.task.take();
        self.free.push(key.index);
        task
    }
}

/// Tasks of a loop.
pub(crate) struct Tasks {
    slots: RefCell<TaskSlots>,
    ready: RefCell<VecDeque<TaskKey>>,
    /// Tasks that have spent their turn. They continue one at a time, one after each poll of the kernel.
    deferred: RefCell<VecDeque<TaskKey>>,
    /// Task of the current turn, or of the last one.
    running: Cell<TaskKey>,
    root_queued: Cell<bool>,
    root_deferred: Cell<bool>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            slots: RefCell::default(),
            ready: RefCell::default(),
            deferred: RefCell::default(),
            running: Cell::new(TaskKey::ROOT),
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
    /// Adds a task at the end of the ready queue.
    fn add(&self, future: Pin<Box<dyn Future<Output = ()>>>, remote_waker: &Arc<RemoteWaker>) -> TaskKey {
        let mut slots = self.slots.borrow_mut();
        let index = match slots.free.pop() {
            Some(index) => index,
            None => {
                slots.slots.push(TaskSlot::default());
                u32::try_from(slots.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let slot = &mut slots.slots[index as usize];
        let key = TaskKey { index, generation: slot.generation };
        slot.task = Some(TaskFuture { future, waker: TaskWaker::waker(key, remote_waker) });
        drop(slots);
        self.wake(key);
        key
    }

    /// Adds a task to the ready queue unless it is there already. Ignores a completed task.
    #[inline]
    pub(crate) fn wake(&self, key: TaskKey) {
        let was_queued = if key == TaskKey::ROOT {
            self.root_queued.replace(true)
        } else {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.get(key) else { return };
            std::mem::replace(&mut slot.queued, true)
        };
        if !was_queued {
            self.ready.borrow_mut().push_back(key);
        }
    }

    pub(crate) fn next(&self) -> Option<TaskKey> {
        self.ready.borrow_mut().pop_front()
    }

    pub(crate) fn are_ready(&self) -> bool {
        !self.ready.borrow().is_empty() || !self.deferred.borrow().is_empty()
    }

    /// Adds the running task to the end of the deferred queue.
    pub(crate) fn defer(&self) {
        let key = self.running.get();
        let was_deferred = if key == TaskKey::ROOT {
            self.root_deferred.replace(true)
        } else {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.get(key) else { return };
            std::mem::replace(&mut slot.deferred, true)
        };
        if !was_deferred {
            self.deferred.borrow_mut().push_back(key);
        }
    }

    /// Moves the first deferred task to the ready queue.
    #[inline]
    pub(crate) fn resume_one(&self) {
        loop {
            let Some(key) = self.deferred.borrow_mut().pop_front() else { return };
            let was_deferred = if key == TaskKey::ROOT {
                self.root_deferred.replace(false)
            } else {
                // Skips a task that has completed in the meantime.
                self.slots.borrow_mut().get(key).is_some_and(|slot| std::mem::take(&mut slot.deferred))
            };
            if was_deferred {
                return self.wake(key);
            }
        }
    }

    /// Polls the root future.
    pub(crate) fn run_root<F: Future>(&self, future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
        self.root_queued.set(false);
        self.running.set(TaskKey::ROOT);
        future.poll(&mut Context::from_waker(waker))
    }

    /// Polls a task. A panic ends only this task.
    pub(crate) fn run(&self, key: TaskKey) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get(key) else { return };
        slot.queued = false;
        let Some(mut task) = slot.task.take() else { return };
        drop(slots);
        self.running.set(key);
        let TaskFuture { future, waker } = &mut task;
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker))));
        let mut slots = self.slots.borrow_mut();
        match slots.get(key) {
            Some(slot) if matches!(polled, Ok(Poll::Pending)) => slot.task = Some(task),
            // It completed, panicked, or was aborted during its own turn.
            _ => {
                slots.release(key);
                drop(slots);
                end(task);
            }
        }
    }

    fn abort(&self, key: TaskKey) {
        let task = self.slots.borrow_mut().release(key);
        task.into_iter().for_each(end);
    }

    /// Drops all tasks, and those that are spawned by the drops.
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

/// Drops a task. A panic in its destructor is logged and affects no other task.
fn end(task: TaskFuture) {
    let ended: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(|| drop(task)));
    if ended.is_err() {
        tracing::error!("a task panicked as it ended");
    }
}

/// Returns the waker of the root future.
pub(crate) fn root_waker(remote_waker: &Arc<RemoteWaker>) -> Waker {
    TaskWaker::waker(TaskKey::ROOT, remote_waker)
}

/// Handle of a task on this thread's loop.
#[derive(Debug)]
pub struct Task {
    key: TaskKey,
    event_loop: Rc<EventLoop>,
}

impl Task {
    /// Drops the task; does nothing if it has completed.
    pub fn abort(&self) {
        self.event_loop.tasks.abort(self.key);
    }
}

/// Spawns `future` on this thread's loop. Dropping its `Task` does not stop it; a panic ends only this task.
///
/// # Panics
///
/// Outside of a loop.
pub fn spawn(future: impl Future<Output = ()> + 'static) -> Task {
    let event_loop = EventLoop::current();
    let key = event_loop.tasks.add(Box::pin(future), event_loop.remote_waker());
    Task { key, event_loop }
}

/// Yields to all ready tasks and to all events up to the next poll.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        EventLoop::current().wake_after_poll(cx.waker().clone());
        Poll::Pending
    })
    .await;
}

/// Charges the turn of the running task for work: the number of bytes that cost about as much to move.
///
/// # Panics
///
/// Outside of a loop.
pub fn spend(bytes: usize) {
    EventLoop::current().spend(bytes);
}

/// Completes while the running task's turn is not spent. Otherwise defers the task until after the next poll of the
/// kernel.
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

/// Continues the running task in another turn, after the next poll of the kernel.
///
/// # Panics
///
/// Outside of a loop.
pub fn defer_turn() {
    EventLoop::current().tasks.defer();
}
