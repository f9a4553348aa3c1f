//! Relays one exchange in both directions with back-pressure and deadlines. Each poll moves all it can, then sets the
//! alarm for the side it waits for.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use fairlead_route::{Attempt, BadResponse};

use super::download::Download;
use super::{ClientError, Downstream, Exchange, Upload, Upstream};
use crate::core::{Alarm, Permit, StalledStream};
use crate::limits::BACKLOG_BYTES_MAX;
use crate::upstream::Instance;

/// Failure that ends an exchange early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RelayError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the client stopped sending its body")]
    BodyStalled,
    #[error("the request's body outgrew its route's bound")]
    BodyTooLarge,
    #[error("the client stopped taking the response")]
    ClientStalled,
    #[error("the app did not answer in time")]
    ResponseTimeout,
    #[error("the app stopped taking the request's body")]
    AppStalled,
    #[error("the app closed the connection before its response ended")]
    Closed,
    #[error("the connection to the app failed: {0}")]
    Io(#[source] io::Error),
    #[error(transparent)]
    BadResponse(#[from] BadResponse),
    #[error("the request can't be said in the app's protocol")]
    Unspeakable,
    #[error("the response could not be compressed: {0}")]
    Compression(#[from] io::Error),
    #[error("the app refused the request before it looked at it")]
    Refused,
    #[error("the app reset the stream with code {0}")]
    Reset(u32),
}

impl RelayError {
    /// Returns the stage of the failed attempt for the retry decision; `None` if a retry can't help.
    pub(crate) fn attempt(&self, reused: bool) -> Option<Attempt> {
        match self {
            Self::Refused => Some(Attempt::Unsent),
            // Common for a reused idle connection.
            Self::Closed | Self::Io(_) if reused => Some(Attempt::SentOnReused),
            Self::Closed | Self::Io(_) => Some(Attempt::Processed),
            _ => None,
        }
    }

    /// True if the failure counts against the instance, for outlier ejection.
    pub(crate) fn is_the_instances(&self) -> bool {
        !self.is_the_clients() && !matches!(self, Self::Unspeakable | Self::Compression(_))
    }

    /// True if the client caused the failure.
    pub(crate) fn is_the_clients(&self) -> bool {
        matches!(self, Self::Client(_) | Self::ClientStalled | Self::BodyStalled | Self::BodyTooLarge)
    }
}

/// Result of a completed exchange.
pub(crate) struct RelayResult {
    /// Time that the upstream connection may stay idle; `None` if it can't be reused.
    pub(crate) keep_for: Option<Duration>,
}

/// Party that the relay waits for, which selects the timeout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The rest of a response, without a time limit.
    Nothing,
    Client,
    Body,
    /// The app, to accept more of the request body.
    App,
    Response,
    Tunnel,
    HalfClosed,
}

impl Wait {
    /// True while the app processes the request, which needs a concurrency permit.
    fn is_for_the_app(self) -> bool {
        matches!(self, Self::App | Self::Response)
    }
}

/// Timestamps of the current wait, in milliseconds of the core clock.
struct WaitState {
    wait: Wait,
    since_ms: u64,
    /// Time of the last progress.
    moved_ms: u64,
    /// Time at which the relay stopped waiting for the app.
    idle_app_ms: u64,
    /// Start of the current upload rate measurement, and the byte count then.
    upload_from: (u64, u64),
    /// Time for which the client was behind during the current response rate measurement, and the bytes that it took.
    behind_ms: u64,
    taken: u64,
    /// Bytes held for the client at the last poll: a shared queue drains them between two polls.
    held: usize,
    seen_ms: u64,
}

impl WaitState {
    fn new(now_ms: u64) -> Self {
        Self {
            wait: Wait::Nothing,
            since_ms: now_ms,
            moved_ms: now_ms,
            idle_app_ms: now_ms,
            upload_from: (now_ms, 0),
            behind_ms: 0,
            taken: 0,
            held: 0,
            seen_ms: now_ms,
        }
    }

    fn see(&mut self, wait: Wait, progressed: bool, uploaded: u64, now_ms: u64) {
        if self.wait == Wait::Client {
            self.behind_ms += now_ms.saturating_sub(self.seen_ms);
        }
        self.seen_ms = now_ms;
        if wait == self.wait {
            if progressed {
                self.moved_ms = now_ms;
            }
            return;
        }
        if self.wait.is_for_the_app() {
            self.idle_app_ms = now_ms;
        }
        if wait == Wait::Body {
            self.upload_from = (now_ms, uploaded);
        }
        (self.wait, self.since_ms, self.moved_ms) = (wait, now_ms, now_ms);
    }
}

/// One attempt of one exchange.
pub(crate) struct ExchangeRelay<'a, D, U> {
    alarm: &'a Alarm,
    upstream: &'a mut U,
    /// Concurrency permit, returned when the app no longer works: streams and slow clients must not block others.
    permit: Option<Permit>,
    upload: Upload,
    download: Download<'a, D>,
    /// True if the app accepts no more bytes: a write failed, or the proxy closed its half of a tunnel.
    upstream_shut: bool,
    client_half_closed: bool,
    /// Set while the client stays behind for longer than a moment.
    stalled: Option<StalledStream>,
    /// Time after which client disconnects are polled. Most exchanges end earlier, and each poll costs as much as a
    /// read.
    watch_after_ms: u64,
    waiting: WaitState,
}

impl<'a, D: Downstream, U: Upstream> ExchangeRelay<'a, D, U> {
    pub(crate) fn new(
        exchange: &'a mut Exchange,
        downstream: &'a mut D,
        instance: &'a Instance,
        alarm: &'a Alarm,
        upstream: &'a mut U,
        permit: Permit,
    ) -> Self {
        let now_ms = exchange.core.alarms.now_ms();
        Self {
            upload: upstream.upload(exchange.body()).under(&exchange.policy),
            waiting: WaitState::new(now_ms),
            watch_after_ms: now_ms,
            download: Download::new(exchange, downstream, instance),
            alarm,
            upstream,
            permit: Some(permit),
            upstream_shut: false,
            client_half_closed: false,
            stalled: None,
        }
    }

    /// True if no request body and no response byte was consumed, so that a retry sends the same request.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.download.has_received() && self.upload.is_untouched()
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<RelayResult, RelayError>> {
        let taken = self.waiting.held.saturating_sub(self.download.downstream.held());
        self.waiting.taken += taken as u64;
        let mut progressed = taken > 0;
        if self.download.downstream.connection_backlog().is_some_and(|backlog| backlog.is_cut()) {
            return Poll::Ready(Err(RelayError::ClientStalled));
        }
        if self.download.close_at().is_some_and(|at| at <= self.download.exchange.core.alarms.now_ms()) {
            self.download.close_websocket()?;
        }
        loop {
            let blocked = self.is_behind();
            let sent = self.poll_upload(cx)?;
            let received = self.poll_download(cx)?;
            progressed |= sent | received;
            // After everything was sent, the app was already polled.
            let moved = received || sent && (!self.upload.is_done() || self.upstream.owes(&self.upload));
            let done = self.download.is_done();
            if done {
                self.permit = None;
            }
            let ends_turn = self.download.ends_turn();
            if moved && !done && !ends_turn {
                continue;
            }
            if ends_turn {
                fairlead_reactor::defer_turn();
            } else if !done {
                self.download.settle()?;
            }
            let downstream = &mut *self.download.downstream;
            let waiting = downstream.held();
            let flushed = downstream.poll_flush(cx)?.is_ready();
            let taken = waiting.saturating_sub(downstream.held());
            self.waiting.taken += taken as u64;
            progressed |= taken > 0;
            if done && flushed {
                return Poll::Ready(Ok(self.finish()));
            }
            // No side was polled for input while the client was behind. One must be polled now, or nothing would wake
            // this task.
            if !done && self.is_behind() {
                self.permit = None;
                break;
            }
            if done || !blocked || ends_turn {
                break;
            }
        }
        if !self.client_half_closed
            && self.upload.is_done()
            && self.watch_after_ms < self.download.exchange.core.alarms.now_ms()
            && let Poll::Ready(gone) = self.download.downstream.poll_gone(cx)
        {
            gone?;
            self.client_half_closed = true;
        }
        self.poll_deadline(cx, progressed)
    }

    /// Reports whether the client must take something before more is read for it.
    fn is_behind(&self) -> bool {
        let downstream = &self.download.downstream;
        downstream.backlog() >= BACKLOG_BYTES_MAX
            || downstream.held() > 0 && downstream.connection_backlog().is_some_and(|backlog| backlog.is_short())
    }

    /// Relays the request body; returns true if anything moved.
    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Result<bool, RelayError> {
        let buffers = &self.download.exchange.core.buffers;
        let mut moved = false;
        if !self.upload.is_done() && self.upstream.backlog() < BACKLOG_BYTES_MAX {
            let out = self.upstream.buffer(buffers);
            if let Poll::Ready(progress) = self.download.downstream.poll_body(cx, &mut self.upload, out) {
                progress?;
                moved = true;
                // Refuses the body before the data is forwarded: the app never sees its end. A tunnel has no body.
                let most = self.download.exchange.body_bytes_max();
                if self.upload.bytes() > most && !self.download.is_tunnel() {
                    return Err(RelayError::BodyTooLarge);
                }
            }
        }
        if self.upstream.owes(&self.upload) {
            let waiting = self.upstream.backlog();
            match self.upstream.poll_flush(cx, buffers, &self.upload) {
                Poll::Ready(Ok(())) | Poll::Pending => moved |= self.upstream.backlog() < waiting,
                Poll::Ready(Err(_)) => {
                    // The app accepts no more bytes, but may have answered already (with 413, for example): its
                    // response decides.
                    self.upload.abandon();
                    self.upstream.discard(buffers);
                    self.upstream_shut = true;
                    moved = true;
                }
            }
        }
        if self.download.is_tunnel()
            && self.upload.is_done()
            && !self.upstream_shut
            && !self.upstream.owes(&self.upload)
            && let Poll::Ready(shut) = self.upstream.poll_shutdown(cx)
        {
            self.upstream_shut = true;
            match shut {
                // A failed queued write ends the tunnel like a write that fails at once.
                Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {}
                shut => shut.map_err(RelayError::Io)?,
            }
        }
        Ok(moved)
    }

    /// Relays the response; returns true if anything moved.
    fn poll_download(&mut self, cx: &mut Context<'_>) -> Result<bool, RelayError> {
        if self.download.is_done() || self.is_behind() {
            return Ok(false);
        }
        let core = Rc::clone(&self.download.exchange.core);
        let before_head = self.download.is_before_head();
        let Poll::Ready(moved) = self.upstream.poll_response(cx, &core, &mut self.download) else { return Ok(false) };
        moved?;
        if before_head && !self.download.is_before_head() {
            if self.download.is_tunnel() {
                self.upload = Upload::tunnel(self.upload.bytes());
            }
            if self.download.is_long_lived() {
                self.permit = None;
            }
            self.download.drop_rest();
        }
        Ok(true)
    }

    fn finish(&mut self) -> RelayResult {
        self.download.exchange.metrics.bytes_received += self.upload.bytes();
        // A connection with a partly sent request or with unsolicited bytes must not be reused.
        let clean = self.upload.is_done() && !self.upstream_shut && self.upstream.is_clean();
        RelayResult { keep_for: self.download.keep_for().filter(|_| clean) }
    }

    /// Returns the party that blocks progress, from the state of the codecs and buffers.
    fn wait(&self) -> Wait {
        if self.download.downstream.backlog() > 0 || self.is_behind() {
            Wait::Client
        } else if self.download.is_tunnel() {
            if self.upload.is_done() { Wait::HalfClosed } else { Wait::Tunnel }
        } else if self.upstream.backlog() >= BACKLOG_BYTES_MAX {
            Wait::App
        } else if !self.upload.is_done() {
            // The next message of a gRPC call has no deadline.
            if self.download.is_conversation() { Wait::Tunnel } else { Wait::Body }
        } else if self.download.is_before_head() {
            Wait::Response
        } else if self.client_half_closed {
            Wait::HalfClosed
        } else {
            Wait::Nothing
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>, progressed: bool) -> Poll<Result<RelayResult, RelayError>> {
        let now = self.download.exchange.core.alarms.now_ms();
        self.waiting.held = self.download.downstream.held();
        let wait = self.wait();
        self.waiting.see(wait, progressed, self.upload.bytes(), now);
        if wait != Wait::Client {
            self.stalled = None;
        }
        loop {
            let limits = &self.download.exchange.core.limits;
            let (moved, since) = (self.waiting.moved_ms, self.waiting.since_ms);
            let stalled_at = match wait {
                Wait::Nothing => None,
                Wait::Client => Some(after(moved, limits.write_stall_timeout)),
                Wait::Body | Wait::App => Some(after(moved, limits.body_stall_timeout)),
                // Starts with the wait, whatever interim responses arrive.
                Wait::Response => Some(after(since, self.download.exchange.response_timeout())),
                Wait::Tunnel => Some(after(moved, limits.tunnel_idle_timeout)),
                Wait::HalfClosed => Some(after(moved, limits.half_closed_timeout)),
            };
            let may_yield = self.permit.is_some() && !wait.is_for_the_app();
            let permit_until = may_yield.then(|| after(self.waiting.idle_app_ms, limits.permit_timeout));
            // No rate limit once the response has started, or while the client waits for a 100 (Continue) from the
            // app.
            let invited =
                !self.download.exchange.expects_continue || self.download.had_interims() || !self.upload.is_untouched();
            let measured = wait == Wait::Body && invited && self.download.is_before_head();
            let measure_at = measured.then(|| after(self.waiting.upload_from.0, limits.body_rate_interval));
            let is_behind = wait == Wait::Client;
            let behind_for = |limit: Duration| after(now, limit).saturating_sub(self.waiting.behind_ms);
            let rate_at = is_behind.then(|| behind_for(limits.response_rate_interval));
            let is_counted = self.stalled.is_some() || self.download.downstream.connection_backlog().is_none();
            let stalled_from = (is_behind && !is_counted).then(|| after(since, limits.permit_timeout));
            let close_at = self.download.close_at();
            let watch_at = (self.watch_after_ms >= now).then_some(self.watch_after_ms + 1);
            let due = [stalled_at, permit_until, measure_at, rate_at, stalled_from, close_at, watch_at];
            let due = due.into_iter().flatten().min();
            self.alarm.set_at(due);
            ready!(self.alarm.poll(cx));
            let passed = |at: Option<u64>| at.is_some_and(|at| at <= now);
            if passed(stalled_at) {
                return Poll::Ready(Err(match wait {
                    Wait::Body => RelayError::BodyStalled,
                    Wait::App => RelayError::AppStalled,
                    Wait::Response => RelayError::ResponseTimeout,
                    Wait::Nothing | Wait::Client | Wait::Tunnel | Wait::HalfClosed => RelayError::ClientStalled,
                }));
            }
            if passed(close_at) {
                // The next poll sends the Close frame first.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if passed(permit_until) {
                self.permit = None;
            }
            if passed(stalled_from) {
                self.stalled = self.download.downstream.connection_backlog().map(|backlog| backlog.stall());
            }
            if passed(rate_at) {
                let stalled = self.download.downstream.connection_backlog().map_or(1, |backlog| backlog.stalled());
                let due = limits.response_rate_min.saturating_mul(self.waiting.behind_ms) / u64::from(stalled.max(1));
                if self.waiting.taken * 1000 < due {
                    return Poll::Ready(Err(RelayError::ClientStalled));
                }
                (self.waiting.behind_ms, self.waiting.taken) = (0, 0);
            }
            if passed(measure_at) {
                let (from_ms, from_bytes) = self.waiting.upload_from;
                let uploaded = self.upload.bytes() - from_bytes;
                if uploaded * 1000 < limits.body_rate_min.saturating_mul(now - from_ms) {
                    return Poll::Ready(Err(RelayError::BodyStalled));
                }
                self.waiting.upload_from = (now, self.upload.bytes());
            }
        }
    }
}

/// Adds a delay to a time of the core clock, in milliseconds.
pub(super) fn after(from_ms: u64, delay: Duration) -> u64 {
    from_ms.saturating_add(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
}
