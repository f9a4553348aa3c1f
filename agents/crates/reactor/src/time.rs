//! Timers of tasks. Meant for few and rare ones: each is an entry in a tree.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::event_loop::EventLoop;

/// Time at which a timer is due, and a number that makes the key unique.
type TimerKey = (Instant, u64);

/// Pending timers by due time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BTreeMap<TimerKey, Waker>,
    last_number: u64,
}

impl Timers {
    pub(crate) fn are_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the time from `now` until the first timer is due; `None` without timers.
    pub(crate) fn due_in(&self, now: Instant) -> Option<Duration> {
        self.entries.first_key_value().map(|((at, _), _)| at.saturating_duration_since(now))
    }

    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(entry) = self.entries.first_entry()
            && entry.key().0 <= now
        {
            due.push(entry.remove());
        }
        due
    }

    fn insert(&mut self, at: Instant, waker: Waker) -> TimerKey {
        self.last_number += 1;
        self.entries.insert((at, self.last_number), waker);
        (at, self.last_number)
    }
}

/// Future that completes at a point in time.
#[derive(Debug)]
#[must_use = "nothing waits before it is polled"]
pub struct Sleep {
    at: Instant,
    entry: Option<TimerKey>,
    event_loop: Rc<EventLoop>,
}

impl Sleep {
    /// Changes the time at which it completes.
    pub fn reset(&mut self, at: Instant) {
        if self.at != at {
            self.leave();
            self.at = at;
        }
    }

    fn leave(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.event_loop.timers.borrow_mut().entries.remove(&entry);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.at <= Instant::now() {
            this.leave();
            return Poll::Ready(());
        }
        let mut timers = this.event_loop.timers.borrow_mut();
        match this.entry.and_then(|entry| timers.entries.get_mut(&entry)) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => this.entry = Some(timers.insert(this.at, cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Completes after `duration`.
///
/// # Panics
///
/// Outside of a loop.
pub fn sleep(duration: Duration) -> Sleep {
    let now = Instant::now();
    // A time beyond the clock's range is never reached; u32::MAX seconds stand for it.
    sleep_until(now.checked_add(duration).unwrap_or(now + Duration::from_secs(u32::MAX.into())))
}

/// Completes at `at`.
///
/// # Panics
///
/// Outside of a loop.
pub fn sleep_until(at: Instant) -> Sleep {
    Sleep { at, entry: None, event_loop: EventLoop::current() }
}

/// Error of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

/// Returns the output of `future` if it completes within `limit`.
///
/// # Errors
///
/// `Elapsed` if it does not; it is dropped then.
///
/// # Panics
///
/// Outside of a loop.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut sleep) = (pin!(future), pin!(sleep(limit)));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| Err(Elapsed)),
    })
    .await
}
