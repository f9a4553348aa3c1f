//! One thread's event loop: sockets by epoll, tasks, timers. All that runs on a loop is its thread's alone: on the way from an event
//! to the task that waits for it nothing is locked and nothing is counted atomically. Other threads may wake a task, which is.
//! Owns readiness and turns. Never looks at a byte, and knows nothing of what runs on it.
//!
//! ```
//! let answer = fairlead_reactor::block_on(async {
//!     fairlead_reactor::sleep(std::time::Duration::from_millis(1)).await;
//!     42
//! });
//! assert_eq!(answer.unwrap(), 42);
//! ```

mod bell;
mod event_loop;
mod source;
mod stream;
mod task;
mod time;

pub use event_loop::block_on;
pub use source::Source;
pub use stream::{Listener, Stream};
pub use task::{Task, defer_turn, poll_turn, spawn, spend, yield_now};
pub use time::{Elapsed, Sleep, sleep, sleep_until, timeout};
