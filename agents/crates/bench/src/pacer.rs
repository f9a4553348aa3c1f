//! Timer of one worker's open loop. Tokio's timers have a resolution of 1 ms, which would add to every latency; a timerfd has
//! that of the kernel. It expires early, and the thread polls until the send time, because an idle core wakes late.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;

/// Longest time between the expiry of the timer and the send time.
const LEAD_MAX: Duration = Duration::from_micros(200);
/// Maximum share of the time in which the thread polls.
const POLL_SHARE_MAX: f64 = 0.1;

/// Wakes clients at their send times.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// The timerfd. Like a pipe it is only polled and read, and a registered `AsyncFd` would need unsafe code.
    timer: Receiver,
    due: RefCell<BinaryHeap<Reverse<(Instant, u64)>>>,
    wakers: RefCell<Vec<Arc<Notify>>>,
    /// Announces a time before the earliest one.
    earlier: Notify,
    /// Time by which the timer expires early.
    lead: Duration,
}

impl Pacer {
    /// Creates a pacer for a mean rate of sends.
    pub(crate) fn new(sends_per_second: f64) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = Receiver::from_owned_fd_unchecked(timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
        let lead = LEAD_MAX.min(Duration::from_secs_f64(POLL_SHARE_MAX / sends_per_second.max(1.0)));
        Ok(Self { timer, due: RefCell::default(), wakers: RefCell::default(), earlier: Notify::new(), lead })
    }

    /// Registers a client; `wait` takes its number.
    pub(crate) fn register(&self) -> u64 {
        let mut wakers = self.wakers.borrow_mut();
        wakers.push(Arc::new(Notify::new()));
        wakers.len() as u64 - 1
    }

    /// Waits until `due`; returns at once if it has passed.
    pub(crate) async fn wait(&self, client: u64, due: Instant) {
        if due <= Instant::now() {
            return;
        }
        let waker = self.wakers.borrow()[client as usize].clone();
        let first = {
            let mut queue = self.due.borrow_mut();
            queue.push(Reverse((due, client)));
            queue.peek() == Some(&Reverse((due, client)))
        };
        if first {
            self.earlier.notify_one();
        }
        waker.notified().await;
    }

    /// Wakes clients until it is dropped.
    pub(crate) async fn run(&self) -> io::Result<()> {
        loop {
            let (woken, next) = self.wake_due(Instant::now());
            if woken {
                // The clients send before the timer is set again.
                tokio::task::yield_now().await;
            }
            let Some(next) = next else {
                self.earlier.notified().await;
                continue;
            };
            let left = next.saturating_duration_since(Instant::now());
            if left <= self.lead {
                // Serves the connections in between.
                tokio::task::yield_now().await;
                continue;
            }
            set(&self.timer, left - self.lead)?;
            tokio::select! {
                ready = self.timer.readable() => {
                    ready?;
                    self.drain()?;
                }
                () = self.earlier.notified() => {}
            }
        }
    }

    /// Reads the expirations, so that the timer is no longer readable.
    fn drain(&self) -> io::Result<()> {
        match self.timer.try_read(&mut [0; 8]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Wakes the clients whose time has come. Returns whether there were any, and the next time.
    fn wake_due(&self, now: Instant) -> (bool, Option<Instant>) {
        let mut queue = self.due.borrow_mut();
        let mut woken = false;
        while let Some(Reverse((due, client))) = queue.peek().copied() {
            if due > now {
                return (woken, Some(due));
            }
            queue.pop();
            self.wakers.borrow()[client as usize].notify_one();
            woken = true;
        }
        (woken, None)
    }
}

fn set(timer: impl AsFd, after: Duration) -> io::Result<()> {
    // Zero would disarm the timer.
    let after = after.max(Duration::from_nanos(1));
    let it_value = Timespec { tv_sec: after.as_secs() as i64, tv_nsec: after.subsec_nanos().into() };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_client_wakes_early() {
        let pacer = Pacer::new(300.0).unwrap();
        let start = Instant::now();
        let wait = async |ms| {
            let due = start + Duration::from_millis(ms);
            pacer.wait(pacer.register(), due).await;
            assert!(Instant::now() >= due);
        };
        tokio::select! {
            _ = async { tokio::join!(wait(12), wait(3), wait(7)) } => {}
            ended = pacer.run() => ended.unwrap(),
        }
    }

    #[tokio::test]
    async fn clients_wake_in_the_order_of_their_times() {
        let pacer = Pacer::new(300.0).unwrap();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        for ms in [12, 3, 7] {
            pacer.due.borrow_mut().push(Reverse((at(ms), pacer.register())));
        }
        assert_eq!(pacer.wake_due(at(2)), (false, Some(at(3))));
        assert_eq!(pacer.wake_due(at(3)), (true, Some(at(7))));
        assert_eq!(pacer.wake_due(at(12)), (true, None));
    }
}
