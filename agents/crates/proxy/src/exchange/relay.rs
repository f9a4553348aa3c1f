//! Bytes of one exchange, both ways at once: the request's body up, the response down, each held back when the other side
//! does not keep up. One poll moves all it can; deadlines are set by what it then waits for.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use fairlead_route::{BadResponse, ResponseFacts};

use super::{ClientError, Downstream, Exchange, ResponseView, Upload};
use crate::core::Alarm;
use crate::h1::{Body, fields, header_slots, parse_response};
use crate::limits::{BACKLOG_BYTES_MAX, INTERIMS_MAX};
use crate::upstream::{Slot, UpstreamConnection};

/// Why an exchange did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the client stopped sending its body")]
    BodyStalled,
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
}

impl Failure {
    /// The connection to the app was gone, as happens to one that idled.
    pub(crate) fn is_closed_connection(&self) -> bool {
        matches!(self, Self::Closed | Self::Io(_))
    }

    /// The client ended it: nothing is wrong with the app.
    pub(crate) fn is_the_clients(&self) -> bool {
        matches!(self, Self::Client(_) | Self::ClientStalled | Self::BodyStalled)
    }
}

/// The end of a whole exchange.
pub(crate) struct Relayed {
    /// How long the connection to the app may wait for its next exchange; `None` when it can't have one.
    pub(crate) keep_for: Option<Duration>,
}

enum Download {
    Head,
    Body(Body),
    Done,
}

/// What is waited for, and so how long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The rest of a response, which may take as long as it likes.
    Nothing,
    Client,
    Body,
    /// The app, to take what there is of the body.
    App,
    Response,
    Tunnel,
    HalfClosed,
}

impl Wait {
    /// The app is at work, or is to be: what its places are for.
    fn is_for_the_app(self) -> bool {
        matches!(self, Self::App | Self::Response)
    }
}

/// Since when what is waited for, in milliseconds of the core's clock.
struct Waiting {
    wait: Wait,
    since_ms: u64,
    /// Something moved last.
    moved_ms: u64,
    /// The app was no longer what is waited for.
    idle_app_ms: u64,
    /// When the present measurement of the upload's rate began, and with how many bytes.
    upload_from: (u64, u64),
}

impl Waiting {
    fn new(now_ms: u64) -> Self {
        Self { wait: Wait::Nothing, since_ms: now_ms, moved_ms: now_ms, idle_app_ms: now_ms, upload_from: (now_ms, 0) }
    }

    fn see(&mut self, wait: Wait, progressed: bool, uploaded: u64, now_ms: u64) {
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
pub(crate) struct Relay<'a, D> {
    exchange: &'a mut Exchange,
    downstream: &'a mut D,
    alarm: &'a Alarm,
    upstream: &'a mut UpstreamConnection,
    /// Given back when the app is no longer what is waited for: streams and slow clients must not starve others.
    slot: Option<Slot>,
    upload: Upload,
    download: Download,
    /// The part of a head that has arrived, or what came after the response.
    unread: Vec<u8>,
    received_any: bool,
    keep_for: Option<Duration>,
    tunnel: bool,
    /// Our half of an upgraded connection to the app is closed.
    upstream_shut: bool,
    client_half_closed: bool,
    interims: u32,
    waiting: Waiting,
}

impl<'a, D: Downstream> Relay<'a, D> {
    pub(crate) fn new(
        exchange: &'a mut Exchange,
        downstream: &'a mut D,
        alarm: &'a Alarm,
        upstream: &'a mut UpstreamConnection,
        slot: Slot,
    ) -> Self {
        Self {
            upload: Upload::new(exchange.body()),
            waiting: Waiting::new(exchange.core.alarms.now_ms()),
            exchange,
            downstream,
            alarm,
            upstream,
            slot: Some(slot),
            download: Download::Head,
            unread: Vec::new(),
            received_any: false,
            keep_for: None,
            tunnel: false,
            upstream_shut: false,
            client_half_closed: false,
            interims: 0,
        }
    }

    /// Nothing of the request's body was taken, not even its end, and none of a response came: another attempt sees the same request.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.received_any && self.upload.is_untouched()
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Relayed, Failure>> {
        let mut progressed = false;
        loop {
            let blocked = self.downstream.backlog() >= BACKLOG_BYTES_MAX;
            let moved = self.poll_upload(cx)? | self.poll_download(cx)?;
            progressed |= moved;
            let done = matches!(self.download, Download::Done);
            if done {
                self.slot = None;
            }
            if moved && !done {
                continue;
            }
            let waiting = self.downstream.backlog();
            let flushed = self.downstream.poll_flush(cx)?.is_ready();
            progressed |= self.downstream.backlog() < waiting;
            if done && flushed {
                return Poll::Ready(Ok(self.finish()));
            }
            // Nobody was asked for more while the client was behind; now somebody must be, or nobody would wake us.
            if !done && self.downstream.backlog() >= BACKLOG_BYTES_MAX {
                self.slot = None;
                break;
            }
            if done || !blocked {
                break;
            }
        }
        if !self.client_half_closed
            && self.upload.is_done()
            && let Poll::Ready(gone) = self.downstream.poll_gone(cx)
        {
            gone?;
            self.client_half_closed = true;
        }
        self.poll_deadline(cx, progressed)
    }

    /// Moves the request's body; tells whether anything moved.
    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Result<bool, Failure> {
        let buffers = &self.exchange.core.buffers;
        let mut moved = false;
        if !self.upload.is_done() && self.upstream.outbox.len() < BACKLOG_BYTES_MAX {
            let out = self.upstream.outbox.buffer(buffers);
            if let Poll::Ready(progress) = self.downstream.poll_body(cx, &mut self.upload, out) {
                progress?;
                moved = true;
            }
        }
        let waiting = self.upstream.outbox.len();
        if waiting > 0 {
            match self.upstream.poll_flush(cx, buffers) {
                Poll::Ready(Ok(())) | Poll::Pending => moved |= self.upstream.outbox.len() < waiting,
                Poll::Ready(Err(_)) => {
                    // The app takes no more, but may have answered already (413, for one): its answer decides.
                    self.upload.abandon();
                    self.upstream.outbox.discard(buffers);
                    self.keep_for = None;
                    self.upstream_shut = true;
                    moved = true;
                }
            }
        }
        if self.tunnel && self.upload.is_done() && self.upstream.outbox.is_empty() && !self.upstream_shut {
            self.upstream_shut = true;
            // A connection that is gone already shows in the next read.
            self.upstream.shutdown().map_err(Failure::Io)?;
        }
        Ok(moved)
    }

    /// Moves the response; tells whether anything moved.
    fn poll_download(&mut self, cx: &mut Context<'_>) -> Result<bool, Failure> {
        if matches!(self.download, Download::Done) || self.downstream.backlog() >= BACKLOG_BYTES_MAX {
            return Ok(false);
        }
        let core = std::rc::Rc::clone(&self.exchange.core);
        let mut scratch = core.buffers.read();
        match self.upstream.poll_read(cx, &mut scratch) {
            Poll::Pending => Ok(false),
            Poll::Ready(Err(error)) => Err(Failure::Io(error)),
            Poll::Ready(Ok(0)) => {
                let Download::Body(Body::UntilClose) = self.download else { return Err(Failure::Closed) };
                self.end(&[])?;
                Ok(true)
            }
            Poll::Ready(Ok(count)) => {
                self.received_any = true;
                let bytes = &scratch[..count];
                if self.unread.is_empty() {
                    let used = self.consume(bytes)?;
                    self.unread.extend_from_slice(&bytes[used..]);
                } else {
                    let mut all = std::mem::take(&mut self.unread);
                    all.extend_from_slice(bytes);
                    let used = self.consume(&all)?;
                    all.drain(..used);
                    self.unread = all;
                }
                Ok(true)
            }
        }
    }

    /// Reads heads and body out of `input`; tells how much it is done with.
    fn consume(&mut self, input: &[u8]) -> Result<usize, Failure> {
        let mut at = 0;
        loop {
            match &mut self.download {
                Download::Done => return Ok(at),
                Download::Head => match self.consume_head(&input[at..])? {
                    None => return Ok(at),
                    Some(length) => at += length,
                },
                Download::Body(body) => {
                    let decoded = body.decode(&input[at..]).map_err(|_| BadResponse::Body)?;
                    at += decoded.consumed;
                    self.exchange.tally.bytes_sent += decoded.data.len() as u64;
                    self.downstream.body(decoded.data)?;
                    if let Some(trailers) = decoded.end {
                        self.end(&trailers)?;
                    } else if decoded.consumed == 0 {
                        return Ok(at);
                    }
                }
            }
        }
    }

    fn consume_head(&mut self, input: &[u8]) -> Result<Option<usize>, Failure> {
        let mut slots = header_slots();
        let Some(head) = parse_response(input, &mut slots, &self.exchange.core.limits)? else { return Ok(None) };
        let facts = ResponseFacts::gather(head.status, head.is_http_1_1, self.exchange.is_head, fields(head.headers))?;
        let view = ResponseView { status: head.status, reason: head.reason, facts: &facts, headers: head.headers };
        match head.status {
            101 if !self.exchange.offers_upgrade || facts.upgrade.is_none() => return Err(BadResponse::Upgrade.into()),
            // A 100 that nobody waits for is noise.
            100 if !self.exchange.expects_continue => {}
            100 | 102..200 => {
                // They pass by the client's backlog, which only the response itself respects.
                self.interims += 1;
                if self.interims > INTERIMS_MAX {
                    return Err(BadResponse::Interims.into());
                }
                self.downstream.interim(&view)?;
            }
            _ => self.begin_response(&view)?,
        }
        Ok(Some(head.length))
    }

    fn begin_response(&mut self, view: &ResponseView<'_>) -> Result<(), Failure> {
        self.exchange.tally.status(view.status);
        self.downstream.head(view)?;
        if view.status == 101 {
            self.tunnel = true;
            self.upload = Upload::tunnel(self.upload.bytes());
            self.download = Download::Body(Body::UntilClose);
        } else {
            if view.facts.reusable && !self.upstream_shut {
                self.keep_for = keep_for(view.facts, self.exchange.core.limits.upstream_idle_timeout);
            }
            self.download = Download::Body(Body::of_response(view.facts.body));
        }
        if self.tunnel || view.facts.event_stream {
            self.slot = None;
            self.exchange.tally.is_long_lived();
        }
        if matches!(&self.download, Download::Body(body) if body.has_ended()) {
            self.end(&[])?;
        }
        Ok(())
    }

    fn end(&mut self, trailers: &[u8]) -> Result<(), Failure> {
        self.downstream.end(trailers)?;
        self.download = Download::Done;
        Ok(())
    }

    fn finish(&mut self) -> Relayed {
        self.exchange.tally.bytes_received += self.upload.bytes();
        // A connection with a half-sent request or with bytes nobody asked for must not serve another exchange.
        let clean = self.upload.is_done() && self.upstream.outbox.is_empty() && self.unread.is_empty();
        Relayed { keep_for: self.keep_for.filter(|_| clean) }
    }

    /// What cannot go on by itself, by what the codecs and buffers hold.
    fn wait(&self) -> Wait {
        if self.downstream.backlog() > 0 {
            Wait::Client
        } else if self.tunnel {
            if self.upload.is_done() { Wait::HalfClosed } else { Wait::Tunnel }
        } else if self.upstream.outbox.len() >= BACKLOG_BYTES_MAX {
            Wait::App
        } else if !self.upload.is_done() {
            Wait::Body
        } else if matches!(self.download, Download::Head) {
            Wait::Response
        } else if self.client_half_closed {
            Wait::HalfClosed
        } else {
            Wait::Nothing
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>, progressed: bool) -> Poll<Result<Relayed, Failure>> {
        let now = self.exchange.core.alarms.now_ms();
        let wait = self.wait();
        self.waiting.see(wait, progressed, self.upload.bytes(), now);
        loop {
            let limits = &self.exchange.core.limits;
            let (moved, since) = (self.waiting.moved_ms, self.waiting.since_ms);
            let stalled_at = match wait {
                Wait::Nothing => None,
                Wait::Client => Some(after(moved, limits.write_stall_timeout)),
                Wait::Body | Wait::App => Some(after(moved, limits.body_stall_timeout)),
                // Counted from its beginning, whatever comes before the response.
                Wait::Response => Some(after(since, limits.response_timeout)),
                Wait::Tunnel => Some(after(moved, limits.tunnel_idle_timeout)),
                Wait::HalfClosed => Some(after(moved, limits.half_closed_timeout)),
            };
            let patience = self.slot.is_some() && !wait.is_for_the_app();
            let slot_until = patience.then(|| after(self.waiting.idle_app_ms, limits.slot_patience));
            // A response that has begun makes it a conversation, which may be slow.
            // One that waits for the app's 100 does as it should.
            let invited = !self.exchange.expects_continue || self.interims > 0 || !self.upload.is_untouched();
            let measured = wait == Wait::Body && invited && matches!(self.download, Download::Head);
            let measure_at = measured.then(|| after(self.waiting.upload_from.0, limits.body_rate_interval));
            let due = [stalled_at, slot_until, measure_at].into_iter().flatten().min();
            self.alarm.set_at(due);
            ready!(self.alarm.poll(cx));
            let passed = |at: Option<u64>| at.is_some_and(|at| at <= now);
            if passed(stalled_at) {
                return Poll::Ready(Err(match wait {
                    Wait::Body => Failure::BodyStalled,
                    Wait::App => Failure::AppStalled,
                    Wait::Response => Failure::ResponseTimeout,
                    Wait::Nothing | Wait::Client | Wait::Tunnel | Wait::HalfClosed => Failure::ClientStalled,
                }));
            }
            if passed(slot_until) {
                self.slot = None;
            }
            if passed(measure_at) {
                let (from_ms, from_bytes) = self.waiting.upload_from;
                let uploaded = self.upload.bytes() - from_bytes;
                if uploaded * 1000 < limits.body_rate_min.saturating_mul(now - from_ms) {
                    return Poll::Ready(Err(Failure::BodyStalled));
                }
                self.waiting.upload_from = (now, self.upload.bytes());
            }
        }
    }
}

fn after(from_ms: u64, delay: Duration) -> u64 {
    from_ms.saturating_add(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
}

/// How long an idle connection is of use: less than the app said, so that we never send into its closing.
fn keep_for(facts: &ResponseFacts<'_>, most: Duration) -> Option<Duration> {
    match facts.keep_alive_seconds {
        None => Some(most),
        Some(0 | 1) => None,
        Some(seconds) => Some(most.min(Duration::from_secs(seconds - 1))),
    }
}
