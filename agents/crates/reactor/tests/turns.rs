//! Turns of a loop's tasks: a task that always has work does not keep others from new events.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;
use std::task::Poll;

use fairlead_reactor::{Stream, block_on, defer_turn, poll_turn, spawn, spend, yield_now};

/// More than a task may read in one turn.
const TURN_BYTES_MAX: usize = 512 * 1024;
const READ_BYTES: usize = 16 * 1024;
/// Bytes queued in a busy task's socket at all times: each read fills its buffer.
const QUEUED_BYTES: usize = 64 * 1024;
const QUESTIONS: usize = 20;
/// Bytes moved before the first question: new tasks all have their first turns before the same poll.
const WARMUP_BYTES: usize = 16 * TURN_BYTES_MAX;

/// Returns both ends of a connection on which written bytes arrive at once.
fn connection() -> (UnixStream, Stream) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let watched = Stream::connect_unix(&path).unwrap();
    (listener.accept().unwrap().0, watched)
}

/// Questions that busy tasks ask an idle one, and the bytes moved until it saw each.
struct Questions {
    moved: Cell<usize>,
    asked_at: Cell<Option<usize>>,
    seen_after: RefCell<Vec<usize>>,
    asker: UnixStream,
}

impl Questions {
    /// Counts moved bytes, and asks a question unless one is pending.
    fn moved(&self, bytes: usize) {
        self.moved.set(self.moved.get() + bytes);
        if self.moved.get() > WARMUP_BYTES && self.asked_at.get().is_none() {
            self.asked_at.set(Some(self.moved.get()));
            (&self.asker).write_all(b"?").unwrap();
        }
    }

    /// Reads questions until it has seen enough; returns the bytes moved before it saw each.
    async fn answer(self: Rc<Self>, asked: Stream) -> Vec<usize> {
        let mut question = [0; 8];
        while self.seen_after.borrow().len() < QUESTIONS {
            assert_eq!(poll_fn(|cx| asked.poll_read_slice(cx, &mut question)).await.unwrap(), 1);
            let asked_at = self.asked_at.take().unwrap();
            self.seen_after.borrow_mut().push(self.moved.get() - asked_at);
        }
        self.seen_after.take()
    }
}

/// Reads without end; counts its bytes in `own` as well.
async fn download(questions: Rc<Questions>, own: Rc<Cell<usize>>) {
    let (mut source, sink) = connection();
    let (piece, mut buffer) = (vec![0; QUEUED_BYTES], vec![0; READ_BYTES]);
    let mut queued = 0;
    loop {
        while queued < QUEUED_BYTES {
            source.write_all(&piece).unwrap();
            queued += piece.len();
        }
        let count = poll_fn(|cx| sink.poll_read_slice(cx, &mut buffer)).await.unwrap();
        assert_eq!(count, READ_BYTES, "it never runs dry");
        queued -= count;
        own.set(own.get() + count);
        questions.moved(count);
    }
}

fn questions() -> (Rc<Questions>, Stream) {
    let (asker, asked) = connection();
    let questions = Questions { moved: Cell::new(0), asked_at: Cell::new(None), seen_after: RefCell::default(), asker };
    (Rc::new(questions), asked)
}

#[test]
fn an_event_waits_for_one_turn_however_many_tasks_never_run_out_of_work() {
    for downloads in [1, 8] {
        let own: Vec<Rc<Cell<usize>>> = (0..downloads).map(|_| Rc::default()).collect();
        let seen_after = block_on(async {
            let (questions, asked) = questions();
            for own in &own {
                spawn(download(Rc::clone(&questions), Rc::clone(own)));
            }
            questions.answer(asked).await
        })
        .unwrap();
        let worst = seen_after.iter().max().unwrap();
        assert!(*worst <= TURN_BYTES_MAX, "{downloads} downloads moved {worst} bytes before an event was seen");
        // Each task had its share.
        let (least, most) = (own.iter().min().unwrap().get(), own.iter().max().unwrap().get());
        assert!(most > 0 && least + 4 * TURN_BYTES_MAX >= most, "{least} to {most}");
    }
}

#[test]
fn a_task_that_wakes_itself_keeps_an_event_waiting() {
    // Control of the test above: the same work without a limit on turns.
    let worst = block_on(async {
        let (questions, asked) = questions();
        let (mut source, mut sink) = UnixStream::pair().unwrap();
        let (piece, mut buffer) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let moving = Rc::clone(&questions);
        spawn(poll_fn(move |cx| {
            for _ in 0..2 * TURN_BYTES_MAX / READ_BYTES {
                source.write_all(&piece).unwrap();
                sink.read_exact(&mut buffer).unwrap();
                moving.moved(READ_BYTES);
            }
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        questions.answer(asked).await.into_iter().max()
    });
    assert!(worst.unwrap() > Some(8 * TURN_BYTES_MAX));
}

#[test]
fn work_that_moves_no_bytes_ends_its_turn_by_what_it_says_that_it_costs() {
    let (steps, others): (Rc<Cell<u32>>, Rc<Cell<u32>>) = Default::default();
    block_on(async {
        let counted = Rc::clone(&steps);
        spawn(async move {
            loop {
                poll_fn(|_| poll_turn()).await;
                counted.set(counted.get() + 1);
                spend(TURN_BYTES_MAX / 4);
            }
        });
        let counted = Rc::clone(&others);
        spawn(poll_fn(move |cx| {
            counted.set(counted.get() + 1);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        // The root is deferred like any other task.
        for _ in 0..100 {
            let mut deferred = false;
            poll_fn(|_| {
                if std::mem::replace(&mut deferred, true) {
                    return Poll::Ready(());
                }
                defer_turn();
                Poll::Pending
            })
            .await;
        }
    })
    .unwrap();
    assert!((200..=800).contains(&steps.get()), "{} steps in turns that alternate with the root's 100", steps.get());
    assert!(others.get() >= 100, "{} turns of a task that is always ready", others.get());
}

#[test]
fn a_deferred_task_that_ends_does_not_block_the_next_turn() {
    let turns: Rc<Cell<u32>> = Rc::default();
    block_on(async {
        let defers = |turns: &Rc<Cell<u32>>| {
            let turns = Rc::clone(turns);
            spawn(poll_fn(move |_| {
                turns.set(turns.get() + 1);
                defer_turn();
                defer_turn();
                Poll::<()>::Pending
            }))
        };
        let first = defers(&turns);
        yield_now().await;
        first.abort();
        let before = turns.get();
        let _second = defers(&turns);
        for _ in 0..10 {
            yield_now().await;
        }
        let own = turns.get() - before;
        assert!((8..=11).contains(&own), "{own} turns in 10 looks");
    })
    .unwrap();
}
