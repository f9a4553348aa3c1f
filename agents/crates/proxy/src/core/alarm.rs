//! Deadlines without a timer for each: every connection owns one alarm, and one tick checks all of them. Setting an
//! alarm stores a number and reads no clock; its precision is one tick.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// All alarms of one core.
#[derive(Debug)]
pub(crate) struct Alarms {
    started: Instant,
    now_ms: Cell<u64>,
    slots: RefCell<AlarmSlots>,
}

#[derive(Debug, Default)]
struct AlarmSlots {
    entries: Vec<Option<Rc<AlarmEntry>>>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct AlarmEntry {
    /// Deadline on the core clock; zero if none is set.
    deadline_ms: Cell<u64>,
    /// Start of the idle time; zero if the owner is not an idle connection.
    idle_since_ms: Cell<u64>,
    /// True if another client needs the place of the owner.
    is_wanted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Alarms {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self { started: Instant::now(), now_ms: Cell::new(1), slots: RefCell::default() })
    }

    /// Returns the moment at which this clock started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Returns milliseconds since the core started, as of the last tick.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    /// Returns milliseconds since the core started; reads the clock.
    pub(crate) fn exact_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    #[cfg(test)]
    pub(super) fn set_now_ms(&self, now_ms: u64) {
        self.now_ms.set(now_ms);
    }

    /// Wakes the owners of all expired alarms.
    pub(crate) fn tick(&self) {
        let now = self.exact_ms();
        self.now_ms.set(now);
        for entry in self.slots.borrow().entries.iter().flatten() {
            if (1..=now).contains(&entry.deadline_ms.get())
                && let Some(waker) = entry.waker.take()
            {
                waker.wake();
            }
        }
    }

    /// Wakes all owners whatever their deadlines, after a change that concerns all.
    pub(crate) fn wake_all(&self) {
        for entry in self.slots.borrow().entries.iter().flatten() {
            if let Some(waker) = entry.waker.take() {
                waker.wake();
            }
        }
    }

    /// Wakes the connections that have idled longest to close them: at most `count`, and only those idle since
    /// `before_ms` or longer. Returns since when the last of them has idled.
    pub(crate) fn wake_longest_idle(&self, count: usize, before_ms: u64) -> Option<u64> {
        let slots = self.slots.borrow();
        let idle = slots.entries.iter().flatten().filter(|entry| (1..=before_ms).contains(&entry.idle_since_ms.get()));
        let mut idle: Vec<_> = idle.collect();
        if idle.len() > count {
            idle.select_nth_unstable_by_key(count, |entry| entry.idle_since_ms.get());
            idle.truncate(count);
        }
        let mut last = None;
        for entry in idle {
            last = last.max(Some(entry.idle_since_ms.take()));
            entry.deadline_ms.set(1);
            entry.is_wanted.set(true);
            if let Some(waker) = entry.waker.take() {
                waker.wake();
            }
        }
        last
    }

    /// Creates an alarm without a deadline.
    pub(crate) fn alarm(self: &Rc<Self>) -> Alarm {
        let entry = Rc::new(AlarmEntry::default());
        let mut slots = self.slots.borrow_mut();
        let slot = match slots.free.pop() {
            Some(slot) => {
                slots.entries[slot] = Some(Rc::clone(&entry));
                slot
            }
            None => {
                slots.entries.push(Some(Rc::clone(&entry)));
                slots.entries.len() - 1
            }
        };
        Alarm { alarms: Rc::clone(self), entry, slot }
    }
}

/// Alarm with one deadline at a time; removed when dropped.
#[derive(Debug)]
pub(crate) struct Alarm {
    alarms: Rc<Alarms>,
    entry: Rc<AlarmEntry>,
    slot: usize,
}

impl Alarm {
    /// Sets the deadline to `delay` from now, in place of any former one.
    pub(crate) fn set(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.entry.deadline_ms.set(self.alarms.now_ms().saturating_add(delay));
    }

    /// Returns milliseconds of the core's clock, as of the last tick.
    pub(crate) fn now_ms(&self) -> u64 {
        self.alarms.now_ms()
    }

    /// Marks the owner as an idle connection from now on, which may close to make room.
    pub(crate) fn idles(&self) {
        self.entry.idle_since_ms.set(self.alarms.now_ms());
    }

    /// Marks the owner as not idle.
    pub(crate) fn works(&self) {
        self.entry.idle_since_ms.set(0);
    }

    /// True if the alarm fired because another client needs the place of the owner.
    pub(crate) fn is_wanted(&self) -> bool {
        self.entry.is_wanted.get()
    }

    /// Sets the deadline to a moment of the core clock; `None` clears it.
    pub(crate) fn set_at(&self, at_ms: Option<u64>) {
        self.entry.deadline_ms.set(at_ms.map_or(0, |at| at.max(1)));
    }

    /// Returns a waker for other tasks.
    pub(crate) fn remote_waker(&self) -> AlarmWaker {
        AlarmWaker(Rc::clone(&self.entry))
    }

    pub(crate) fn clear(&self) {
        self.entry.deadline_ms.set(0);
    }

    /// Ready once the deadline has passed; otherwise the task is woken when it does.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.entry.deadline_ms.get();
        if deadline != 0 && deadline <= self.alarms.now_ms() {
            return Poll::Ready(());
        }
        let mut waker = self.entry.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Fires an alarm from another task, before its deadline.
#[derive(Debug)]
pub(crate) struct AlarmWaker(Rc<AlarmEntry>);

impl AlarmWaker {
    pub(crate) fn wake(&self) {
        self.0.deadline_ms.set(1);
        if let Some(waker) = self.0.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let mut slots = self.alarms.slots.borrow_mut();
        slots.entries[self.slot] = None;
        slots.free.push(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_expired_deadline_wakes_once() {
        let alarms = Alarms::new();
        let (due, later) = (alarms.alarm(), alarms.alarm());
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        due.set(Duration::ZERO);
        later.set(Duration::from_secs(1000));
        assert!(due.poll(&mut cx).is_ready());
        due.set(Duration::from_millis(1));
        assert!(due.poll(&mut cx).is_pending() && later.poll(&mut cx).is_pending());
        while due.poll(&mut cx).is_pending() {
            alarms.tick();
        }
        alarms.tick();
        assert!(later.poll(&mut cx).is_pending());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn only_the_longest_idle_connections_are_woken() {
        let alarms = Alarms::new();
        let idle = |since| {
            let alarm = alarms.alarm();
            alarm.set(Duration::from_secs(75));
            alarm.entry.idle_since_ms.set(since);
            alarm
        };
        let (second, first, works, late) = (idle(20), idle(10), idle(0), idle(500));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(alarms.wake_longest_idle(1, 100), Some(10));
        assert_eq!([&first, &second].map(|alarm| alarm.poll(&mut cx).is_ready()), [true, false]);
        assert_eq!(alarms.wake_longest_idle(8, 100), Some(20));
        assert_eq!(alarms.wake_longest_idle(8, 100), None);
        assert_eq!([&second, &works, &late].map(|alarm| alarm.poll(&mut cx).is_ready()), [true, false, false]);
    }

    #[test]
    fn slots_are_reused() {
        let alarms = Alarms::new();
        for _ in 0..100 {
            let (_a, _b) = (alarms.alarm(), alarms.alarm());
        }
        assert_eq!(alarms.slots.borrow().entries.len(), 2);
    }
}
