//! Single-threaded event loop: sockets by epoll, tasks and timers. Invariant: tasks stay on the loop's thread, without locks
//! or atomics between an event and its task; only wakes from other threads use them.
//!
//! ```
//! let answer = fairlead_reactor::block_on(async {
//!     fairlead_reactor::sleep(std::time::Duration::from_millis(1)).await;
//!     42
//! });
//! assert_eq!(answer.unwrap(), 42);
//! ```

mod event_loop;
mod remote_waker;
mod send_queue;
mod source;
mod stream;
mod task;
mod time;

pub use event_loop::{block_on, block_on_with};
pub use send_queue::SendRing;
pub use source::Source;
pub use stream::{Listener, Stream};
pub use task::{Task, defer_turn, poll_turn, spawn, spend, yield_now};
pub use time::{Elapsed, Sleep, sleep, sleep_until, timeout};
