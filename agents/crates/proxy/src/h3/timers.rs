//! Timer queue for the QUIC timeouts of all connections. A postponed timeout keeps its earlier entry and is re-armed
//! when that fires, so datagrams add no entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Timeouts of connections, by their keys.
#[derive(Debug, Default)]
pub(super) struct QuicTimers(BinaryHeap<Reverse<(Instant, usize)>>);

impl QuicTimers {
    /// Arms the timer of a connection for `due`. `entered` is the time of its current entry, and is updated.
    pub(super) fn want(&mut self, key: usize, due: Option<Instant>, entered: &mut Option<Instant>) {
        let Some(due) = due.filter(|due| entered.is_none_or(|entered| *due < entered)) else { return };
        *entered = Some(due);
        self.0.push(Reverse((due, key)));
    }

    /// Returns the earliest timeout and its connection.
    pub(super) fn first(&self) -> Option<(Instant, usize)> {
        self.0.peek().map(|Reverse(first)| *first)
    }

    /// Removes the earliest timeout.
    pub(super) fn drop_first(&mut self) {
        self.0.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_moment_that_is_put_off_without_end_is_entered_once_and_an_earlier_one_at_once() {
        let (mut timers, begin, mut entered) = (QuicTimers::default(), Instant::now(), None);
        let at = |ms| begin + Duration::from_millis(ms);
        for ms in 0..10_000 {
            timers.want(7, Some(at(75_000 + ms)), &mut entered);
        }
        assert_eq!((timers.0.len(), entered, timers.first()), (1, Some(at(75_000)), Some((at(75_000), 7))));
        timers.want(7, Some(at(300)), &mut entered);
        timers.want(7, None, &mut entered);
        assert_eq!((timers.0.len(), entered, timers.first()), (2, Some(at(300)), Some((at(300), 7))));
        // The earlier entry fired and is re-armed with the current timeout.
        timers.drop_first();
        entered = None;
        timers.want(7, Some(at(85_000)), &mut entered);
        assert_eq!((entered, timers.first()), (Some(at(85_000)), Some((at(75_000), 7))));
    }
}
