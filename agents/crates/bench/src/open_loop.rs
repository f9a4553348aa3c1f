//! Open-loop client: sends at scheduled times, whatever the server does. A late client sends at once and keeps its
//! schedule; latency counts from the schedule, so a slow response also counts for the requests that it delays.

use std::time::Instant;

use crate::client::{SharedRef, pause_after_failure};
use crate::failure::RequestError;
use crate::response::Response;
use crate::schedule::{Lateness, Ramp, Schedule};

/// Client that sends one request at a time.
pub(crate) trait Requester {
    /// Sends a request and reads its complete response, on a new connection if there is none.
    /// `request` is its position in the plan.
    async fn ask(&mut self, shared: &SharedRef, request: usize) -> Result<Response, RequestError>;
}

/// Rate of all clients of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenLoop {
    pub(crate) requests_per_second: f64,
    /// Rate at the end of the measured time, to which it changes evenly.
    pub(crate) last_requests_per_second: f64,
    /// Number of clients of all workers.
    pub(crate) clients: u32,
}

impl OpenLoop {
    /// Returns the highest requests per second of a part of the clients.
    pub(crate) fn share_of(self, clients: u32) -> f64 {
        self.requests_per_second.max(self.last_requests_per_second) * f64::from(clients)
            / f64::from(self.clients.max(1))
    }
}

/// Sends the requests of one client. Ends when the last request sent within the measured time has ended.
pub(crate) async fn run(shared: SharedRef, open_loop: OpenLoop, client: u32, mut requester: impl Requester) {
    open(&shared, &mut requester).await;
    shared.announced().await;
    let Some(window) = *shared.announcement.borrow() else { return };
    // The worker may not have seen the announcement yet, and the first request must count.
    shared.window.set(Some(window));
    let timer = shared.pacer.register();
    let mut idle_since = window.announced;
    let OpenLoop { requests_per_second: first, last_requests_per_second: last, .. } = open_loop;
    let rate = Ramp { first, last, hold: window.start - window.announced, length: window.end - window.start };
    let schedule = Schedule::new(window.announced, rate, open_loop.clients, client);
    for (place, scheduled) in schedule.take_while(|(_, scheduled)| *scheduled < window.end) {
        shared.pacer.wait(timer, scheduled).await;
        let now = Instant::now();
        if now >= window.end {
            if shared.counts(scheduled) {
                shared.tally.borrow_mut().open_loop.skip();
            }
            continue;
        }
        if shared.counts(scheduled) {
            shared.tally.borrow_mut().open_loop.send(Lateness::of(scheduled, idle_since, now));
        }
        shared.busy.borrow_mut().start(now);
        idle_since = match requester.ask(&shared, shared.order.at(place)).await {
            Ok(response) => shared.answered_scheduled(scheduled, &response),
            Err(error) => {
                shared.failed_at(&error, scheduled);
                Instant::now()
            }
        };
        let all_busy = shared.busy.borrow_mut().end(idle_since, window);
        shared.tally.borrow_mut().open_loop.all_busy += all_busy;
    }
}

/// Sends requests until the first response or the announcement of the measured time.
async fn open(shared: &SharedRef, requester: &mut impl Requester) {
    let Ok(_opening) = shared.openings.acquire().await else { return };
    while shared.announcement.borrow().is_none() {
        match requester.ask(shared, shared.order.take()).await {
            Ok(response) => {
                shared.answered(Instant::now(), &response);
                shared.ready(&mut false);
                return;
            }
            Err(error) => {
                shared.failed(&error);
                pause_after_failure().await;
            }
        }
    }
}
