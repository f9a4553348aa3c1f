//! Tasks of a loop: turns, panics, aborts, and wakes from other threads.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use fairlead_reactor::{block_on, sleep, sleep_until, spawn, timeout, yield_now};
use tokio::sync::{mpsc, oneshot};

struct Dropped(Rc<Cell<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn tasks_have_their_turns_in_order_and_one_that_yields_goes_behind() {
    let log: Rc<RefCell<Vec<&str>>> = Rc::default();
    block_on(async {
        for name in ["first", "second"] {
            let log = Rc::clone(&log);
            spawn(async move {
                log.borrow_mut().push(name);
                yield_now().await;
                log.borrow_mut().push(name);
            });
        }
        yield_now().await;
        yield_now().await;
    })
    .unwrap();
    assert_eq!(*log.borrow(), ["first", "second", "first", "second"]);
}

#[test]
fn a_panic_ends_its_task_alone_and_drops_what_it_held() {
    let dropped: Rc<Cell<u32>> = Rc::default();
    let served = block_on(async {
        let held = Dropped(Rc::clone(&dropped));
        spawn(async move {
            yield_now().await;
            let _held = held;
            panic!("as the test wants");
        });
        let (sender, receiver) = oneshot::channel();
        spawn(async move {
            for _ in 0..3 {
                yield_now().await;
            }
            sender.send(7).unwrap();
        });
        receiver.await.unwrap()
    });
    assert_eq!((served.unwrap(), dropped.get()), (7, 1));
}

#[test]
fn an_aborted_task_is_dropped_at_once_and_its_key_means_no_other() {
    let dropped: Rc<Cell<u32>> = Rc::default();
    block_on(async {
        let wait = |held: Dropped| async move {
            let _held = held;
            pending::<()>().await;
        };
        let first = spawn(wait(Dropped(Rc::clone(&dropped))));
        yield_now().await;
        first.abort();
        assert_eq!(dropped.get(), 1);
        // It reuses the slot of the first task, which the first handle must not reach.
        let _second = spawn(wait(Dropped(Rc::clone(&dropped))));
        yield_now().await;
        first.abort();
        assert_eq!(dropped.get(), 1);
    })
    .unwrap();
    assert_eq!(dropped.get(), 2, "the end of the loop ends what still waits");
}

#[test]
fn a_task_may_end_itself_in_its_own_turn() {
    let dropped: Rc<Cell<u32>> = Rc::default();
    block_on(async {
        let (handed, handle) = oneshot::channel();
        let held = Dropped(Rc::clone(&dropped));
        let task = spawn(async move {
            let _held = held;
            let task: fairlead_reactor::Task = handle.await.unwrap();
            task.abort();
            pending::<()>().await;
        });
        handed.send(task).unwrap();
        while dropped.get() == 0 {
            yield_now().await;
        }
    })
    .unwrap();
    assert_eq!(dropped.get(), 1);
}

#[test]
fn tasks_spawned_while_the_loop_ends_are_dropped_too() {
    struct Begins(Rc<Cell<u32>>);
    impl Drop for Begins {
        fn drop(&mut self) {
            let held = Dropped(Rc::clone(&self.0));
            spawn(async move {
                let _held = held;
                pending::<()>().await;
            });
        }
    }
    let dropped: Rc<Cell<u32>> = Rc::default();
    block_on(async {
        let begins = Begins(Rc::clone(&dropped));
        spawn(async move {
            let _begins = begins;
            pending::<()>().await;
        });
        yield_now().await;
    })
    .unwrap();
    assert_eq!(dropped.get(), 1);
}

#[test]
fn other_threads_wake_the_root_and_tasks_however_often() {
    const MESSAGES: u32 = 20_000;
    let sum = block_on(async {
        let (to_root, mut root) = mpsc::unbounded_channel();
        let (to_task, mut task) = mpsc::unbounded_channel();
        let threads = [to_root.clone(), to_task].map(|sender| {
            std::thread::spawn(move || (0..MESSAGES).for_each(|number| sender.send(u64::from(number)).unwrap()))
        });
        spawn(async move {
            while let Some(number) = task.recv().await {
                to_root.send(number).unwrap();
            }
        });
        let mut sum = 0;
        while let Some(number) = root.recv().await {
            sum += number;
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        sum
    });
    assert_eq!(sum.unwrap(), u64::from(MESSAGES) * u64::from(MESSAGES - 1));
}

/// Spawns a task that never completes; counts its turns and returns its waker.
async fn waits(turns: &Rc<Cell<u32>>) -> (fairlead_reactor::Task, Waker) {
    let (sender, receiver) = oneshot::channel();
    let (mut sender, turns) = (Some(sender), Rc::clone(turns));
    let task = spawn(poll_fn(move |cx| {
        turns.set(turns.get() + 1);
        if let Some(sender) = sender.take() {
            sender.send(cx.waker().clone()).unwrap();
        }
        Poll::Pending
    }));
    (task, receiver.await.unwrap())
}

#[test]
fn a_waker_that_outlives_its_task_or_its_loop_wakes_no_task() {
    let (stale, of_root) = block_on(async {
        let (first_turns, turns): (Rc<Cell<u32>>, Rc<Cell<u32>>) = Default::default();
        let (first, stale) = waits(&first_turns).await;
        first.abort();
        // It reuses the slot of the first task.
        let (_second, waker) = waits(&turns).await;
        stale.wake_by_ref();
        std::thread::scope(|scope| scope.spawn(|| stale.wake_by_ref()).join().unwrap());
        sleep(Duration::from_millis(1)).await;
        assert_eq!((first_turns.get(), turns.get()), (1, 1));
        waker.wake();
        yield_now().await;
        assert_eq!(turns.get(), 2);
        (stale, poll_fn(|cx| Poll::Ready(cx.waker().clone())).await)
    })
    .unwrap();
    stale.wake_by_ref();
    block_on(async {
        let turns: Rc<Cell<u32>> = Rc::default();
        let (_task, _) = waits(&turns).await;
        stale.wake();
        of_root.wake();
        yield_now().await;
        assert_eq!(turns.get(), 1, "another loop has other tasks");
    })
    .unwrap();
}

#[test]
fn a_task_that_is_woken_twice_has_one_turn() {
    let turns: Rc<Cell<u32>> = Rc::default();
    block_on(async {
        let counted = Rc::clone(&turns);
        spawn(poll_fn(move |cx| {
            counted.set(counted.get() + 1);
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let mut own_turns = 0;
        poll_fn(|cx| {
            own_turns += 1;
            cx.waker().wake_by_ref();
            if own_turns < 100 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        assert!((99..=100).contains(&turns.get()), "{} turns beside {own_turns}", turns.get());
    })
    .unwrap();
}

#[test]
fn timers_are_due_in_order_and_never_early() {
    let log: Rc<RefCell<Vec<u64>>> = Rc::default();
    let began = Instant::now();
    block_on(async {
        // Late enough that all tasks wait before the first timer is due.
        for ms in [330, 310, 320, 310] {
            let log = Rc::clone(&log);
            spawn(async move {
                sleep_until(began + Duration::from_millis(ms)).await;
                assert!(began.elapsed() >= Duration::from_millis(ms));
                log.borrow_mut().push(ms);
            });
        }
        let mut put_off = std::pin::pin!(sleep_until(began));
        put_off.as_mut().reset(began + Duration::from_millis(360));
        put_off.await;
        // A dropped timer wakes no task.
        let turns: Rc<Cell<u32>> = Rc::default();
        let (counted, mut kept) = (Rc::clone(&turns), None);
        spawn(poll_fn(move |cx| {
            counted.set(counted.get() + 1);
            let mut dropped = Box::pin(sleep(Duration::from_millis(1)));
            assert!(dropped.as_mut().poll(cx).is_pending());
            drop(dropped);
            kept.get_or_insert_with(|| Box::pin(sleep(Duration::from_secs(3600)))).as_mut().poll(cx)
        }));
        sleep(Duration::from_millis(5)).await;
        assert_eq!(turns.get(), 1);
    })
    .unwrap();
    assert!(began.elapsed() >= Duration::from_millis(360));
    assert_eq!(*log.borrow(), [310, 310, 320, 330]);
}

#[test]
fn a_limit_ends_what_takes_longer_and_nothing_else() {
    block_on(async {
        assert_eq!(timeout(Duration::from_secs(3600), async { 1 }).await, Ok(1));
        assert!(timeout(Duration::from_millis(1), pending::<()>()).await.is_err());
        assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
    })
    .unwrap();
}

#[test]
fn a_thread_runs_one_loop_at_a_time() {
    block_on(async { assert!(block_on(async {}).is_err()) }).unwrap();
    assert_eq!(block_on(async { 1 }).unwrap(), 1);
}
