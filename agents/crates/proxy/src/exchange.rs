//! One request and its response over any protocol: route match, load balancing, queue, retries, headers and metrics.
//! Invariant: in-flight counts are guards, so no codec can leak one.

mod access_log_entry;
mod carry;
mod compressed;
mod download;
mod downstream;
mod exchange_metrics;
mod match_route;
mod relay;
mod reply;
mod upload;
mod upstream;
mod websocket_close;

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use fairlead_model::Priority;
use fairlead_route::{
    Client, HttpVersion, Malformed, RequestBody, RequestEdit, RequestFacts, RequestLine, client_key, encode_request,
    grpc_timeout_ms, may_retry,
};

pub(crate) use download::{Download, HeadKind};
pub(crate) use downstream::{ClientError, Downstream, Edit, ResponseView, trailer_fields};
pub(crate) use relay::RelayError;
pub(crate) use reply::Reply;
pub(crate) use upload::Upload;
pub(crate) use upstream::Upstream;

use crate::connection_tls::ConnectionTls;
use crate::core::{
    AcquireResult, Affinity, Alarm, App, AppShare, Core, InFlightRequest, InstanceRequest, Permit, Refusal,
    is_out_of_descriptors,
};
use crate::filters::{BodyLimit, CheckResult, LimitGuard, PendingCheck};
use crate::policy::{Policy, PolicyAdmission};
use crate::upstream::{ConnectionLease, Instance};
use access_log_entry::AccessLogEntry;
use exchange_metrics::ExchangeMetrics;
use match_route::{AdmittedRequest, match_route};

/// Maximum number of attempts for one request, over instances and connections.
const ATTEMPTS_MAX: usize = 3;
/// Maximum size of a request head that counts against the head quota only while it is queued.
const SHORT_HEAD_BYTES: usize = 8 * 1024;

/// Client of a connection, the same for all of its requests.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) client: Client,
    /// Handshake with a host that has a TLS policy; `None` for all others.
    pub(crate) tls: Option<Box<ConnectionTls>>,
}

/// Route decision for a request.
pub(crate) enum RequestDispatch {
    /// Forwards the request to an app. Boxed: otherwise each idle connection would reserve space for it.
    Forward(Box<Exchange>),
    /// The proxy answers by itself.
    Answer(Reply),
}

/// Outcome of an exchange, from which the codec ends the stream.
#[derive(Debug)]
pub(crate) enum ExchangeOutcome {
    /// The client has the whole response.
    Complete,
    /// Nothing was sent to the client yet; the codec sends this reply.
    Answer(Reply),
    /// The response was cut or the client left: the stream (HTTP/1: the connection) is no longer usable.
    Broken,
    /// The app reset a gRPC call with this HTTP/2 error code, which the caller receives in place of a reply.
    Reset(u32),
}

/// Request that is forwarded to an app.
pub(crate) struct Exchange {
    core: Rc<Core>,
    app: Rc<App>,
    /// Request head as it is sent to the app. Retained for retries.
    head: Vec<u8>,
    method: Range<usize>,
    id: Range<usize>,
    body: RequestBody,
    is_head: bool,
    offers_upgrade: bool,
    expects_continue: bool,
    /// Expected `Sec-WebSocket-Accept` of a handshake with a key that this proxy generated.
    websocket_accept: Option<Box<str>>,
    grpc: bool,
    /// Deadline of a gRPC call (`grpc-timeout`); zero if the caller sets none.
    call_timeout_ms: u32,
    priority: Priority,
    affinity: Affinity,
    /// Client key for per-client queue and head quotas.
    client: u64,
    /// Share of the head quota that a queued request uses.
    kept_head: Option<AppShare>,
    /// True if the client connected over TLS.
    secure: bool,
    /// True if the response advertises HTTP/3 in Alt-Svc: the client uses TLS and an older version.
    takes_alt_svc: bool,
    /// In-flight count on the current instance.
    serving: Option<InFlightRequest>,
    log_entry: AccessLogEntry,
    metrics: ExchangeMetrics,
    /// Route policy for the response; `None` if it changes nothing.
    policy: Option<Arc<Policy>>,
    /// Checks that must pass before the request is forwarded.
    checks: Vec<PendingCheck>,
    /// Counts the request in the limits of its route.
    _guard: Option<LimitGuard>,
}

/// Message framing that a codec uses after a request head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framing {
    pub(crate) body: RequestBody,
    /// True if the client closes the connection after this request.
    pub(crate) close: bool,
    /// True for a gRPC call, which reports its status in trailers.
    pub(crate) grpc: bool,
}

/// Parses a request head and decides its route. An error is a client error and ends the connection. `headers` returns
/// a new iterator each time: they are read more than once.
pub(crate) fn begin<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Rc<Core>,
    origin: &Origin,
    line: &RequestLine<'a>,
    headers: impl Fn() -> H,
) -> Result<(RequestDispatch, Framing), Malformed> {
    let facts = RequestFacts::gather(line, headers())?;
    let framing = Framing { body: facts.body, close: facts.close, grpc: facts.grpc };
    let behind = if core.trusts_any() { core.client_behind(&origin.client, headers()) } else { None };
    let client = behind.as_ref().unwrap_or(&origin.client);
    let dispatch = decide(core, client, origin.tls.as_deref(), line, &facts, headers);
    if let RequestDispatch::Answer(reply) = &dispatch {
        access_log_entry::log_reply(core, client, line, facts.authority.text, reply);
    }
    Ok((dispatch, framing))
}

/// Matches the route of a request and evaluates its policy.
fn decide<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Rc<Core>,
    client: &Client,
    tls: Option<&ConnectionTls>,
    line: &RequestLine<'a>,
    facts: &RequestFacts<'a>,
    headers: impl Fn() -> H,
) -> RequestDispatch {
    let folded;
    let name = match facts.authority.plain_name() {
        Some(name) => name,
        None => {
            folded = facts.authority.name();
            folded.as_bytes()
        }
    };
    // Reads the clock once for all time checks of the request.
    let now = Instant::now();
    let admitted = match_route(core, (client, tls), name, line, facts.body, &headers, now);
    let AdmittedRequest { app, policy, admission: PolicyAdmission { guard, checks }, route_metrics } = match admitted {
        Ok(admitted) => admitted,
        Err(reply) => return RequestDispatch::Answer(reply),
    };
    let edit =
        policy.as_deref().map_or_else(RequestEdit::default, |policy| policy.request_edit(line.target.path_and_query));
    let affinity = app.affinity(cookies(headers()), || client_key(client.ip()));
    let mut head = Vec::new();
    core.buffers.lend(&mut head);
    let made_id = core.ids.next();
    let id = facts.request_id.unwrap_or(&made_id);
    let id = encode_request(line, facts, &headers, client, id, &edit, &mut head);
    let exchange = Box::new(Exchange {
        core: Rc::clone(core),
        metrics: ExchangeMetrics::begin(&app, route_metrics, now),
        app,
        method: 0..line.method.len(),
        id,
        head,
        body: facts.body,
        is_head: line.method == b"HEAD",
        offers_upgrade: facts.upgrade.is_some(),
        expects_continue: facts.expects_continue,
        websocket_accept: None,
        grpc: facts.grpc,
        call_timeout_ms: if facts.grpc { call_timeout_ms(headers()) } else { 0 },
        priority: policy.as_ref().map_or_else(Priority::default, |policy| policy.priority),
        affinity,
        client: core.client_key(client.ip()),
        kept_head: None,
        secure: client.is_secure(),
        takes_alt_svc: client.is_secure()
            && line.version != HttpVersion::Http3
            && policy.as_ref().is_none_or(|policy| policy.serves_http3),
        serving: None,
        policy,
        checks,
        _guard: guard,
        log_entry: AccessLogEntry {
            client: client.ip(),
            version: line.version,
            secure: client.is_secure(),
            instance: None,
        },
    });
    RequestDispatch::Forward(exchange)
}

impl Exchange {
    pub(crate) fn body(&self) -> RequestBody {
        self.body
    }

    /// Returns the maximum time from the end of the request to the response head. The deadline of a gRPC call can
    /// extend it.
    fn response_timeout(&self) -> Duration {
        self.app.bounds().response_timeout.max(Duration::from_millis(u64::from(self.call_timeout_ms)))
    }

    /// Returns the maximum size of the request body in bytes.
    fn body_bytes_max(&self) -> u64 {
        self.policy.as_ref().map_or(u64::MAX, |policy| policy.body_bytes_max)
    }

    /// Requires a WebSocket response with this accept value: for clients that open tunnels without a key. Any other
    /// success is an app error.
    pub(crate) fn require_websocket(&mut self, accept: String) {
        self.websocket_accept = Some(accept.into());
    }

    /// Runs the exchange to its end. `alarm` is the alarm of the stream; it is cleared on return.
    pub(crate) async fn run<D: Downstream>(mut self: Box<Self>, downstream: &mut D, alarm: &Alarm) -> ExchangeOutcome {
        alarm.clear();
        let rejected = match self.checks.is_empty() {
            true => None,
            // Boxed: few requests have one.
            false => Box::pin(self.run_checks(downstream)).await,
        };
        let ended = match rejected {
            Some(ended) => ended,
            None => self.attempts(downstream, alarm).await,
        };
        alarm.clear();
        self.log();
        self.head.clear();
        self.core.buffers.reclaim(&mut self.head);
        ended
    }

    /// Waits for the pending checks; returns the outcome of the exchange if one does not let it pass.
    async fn run_checks<D: Downstream>(&mut self, downstream: &mut D) -> Option<ExchangeOutcome> {
        for check in std::mem::take(&mut self.checks) {
            let result = while_there(downstream, self.body, check).await;
            if let Ok(CheckResult::Pass(lines)) = &result {
                self.add_header_lines(lines);
                continue;
            }
            self.metrics.void();
            let (Ok(CheckResult::Reject(filter, reply)), Some(policy)) = (result, &self.policy) else {
                return Some(ExchangeOutcome::Broken);
            };
            self.core.count(&policy.key, filter);
            return Some(ExchangeOutcome::Answer(policy.dress(reply, self.secure)));
        }
        None
    }

    /// Adds header lines at the end of the head for the app.
    fn add_header_lines(&mut self, lines: &[u8]) {
        // The head ends with an empty line.
        let end = self.head.len().saturating_sub(2);
        self.head.splice(end..end, lines.iter().copied());
    }

    async fn attempts<D: Downstream>(&mut self, downstream: &mut D, alarm: &Alarm) -> ExchangeOutcome {
        self.app.add_retry_budget();
        let (mut failed, mut fresh): (Option<Rc<Instance>>, bool) = (None, false);
        for attempt in 1..=ATTEMPTS_MAX {
            let (mut serving, permit) = match self.acquire(downstream, failed.as_ref()).await {
                Ok(Ok(acquired)) => acquired,
                Ok(Err(refusal)) => {
                    tracing::debug!(app = %self.app.key, request = self.id(), %refusal, "request refused");
                    return self.answer(Reply::unavailable(self.id()));
                }
                Err(gone) => return self.fail(&RelayError::Client(gone)),
            };
            let instance = Rc::clone(serving.instance());
            self.metrics.at(&instance);
            self.log_entry.instance = Some(Rc::clone(&instance));
            let mut link = match while_there(downstream, self.body, self.connect(&instance, fresh)).await {
                Ok(Ok(link)) => link,
                Err(gone) => return self.fail(&RelayError::Client(gone)),
                Ok(Err(error)) => {
                    if !is_out_of_descriptors(&error) {
                        serving.failed();
                    }
                    tracing::debug!(instance = %instance.id, %error, "can't connect");
                    if attempt == ATTEMPTS_MAX || !self.app.may_retry() {
                        break;
                    }
                    (failed, fresh) = (Some(instance), true);
                    continue;
                }
            };
            let reused = link.is_reused();
            self.serving = Some(serving);
            let result = self.carry(downstream, alarm, &mut link, permit, &instance).await;
            let serving = self.serving.take();
            let (failure, untouched) = match result {
                Err(failed) => failed,
                Ok(keep_for) => {
                    serving.into_iter().for_each(|mut serving| serving.succeeded());
                    if let (ConnectionLease::Http1(connection), Some(keep_for)) = (link, keep_for) {
                        instance.keep(connection, relay::after(self.core.alarms.now_ms(), keep_for));
                    }
                    return ExchangeOutcome::Complete;
                }
            };
            drop(link);
            tracing::debug!(instance = %instance.id, request = self.id(), %failure, "exchange failed");
            let method = &self.head[self.method.clone()];
            let again = failure.attempt(reused).is_some_and(|kind| may_retry(method, !untouched, kind));
            // An idle connection that closes while it is reused says nothing about the instance.
            if !again && failure.is_the_instances() {
                serving.into_iter().for_each(|mut serving| serving.failed());
            }
            if !again || attempt == ATTEMPTS_MAX || !self.app.may_retry() {
                return self.fail(&failure);
            }
            // The instance may be healthy, so a sticky client stays on it.
            fresh = true;
        }
        self.answer(Reply::bad_gateway(self.id()))
    }

    /// Selects an instance; waits in the queue if none has a free permit.
    async fn acquire<D: Downstream>(
        &mut self,
        downstream: &mut D,
        avoid: Option<&Rc<Instance>>,
    ) -> Result<Result<(InFlightRequest, Permit), Refusal>, ClientError> {
        if self.head.len() > SHORT_HEAD_BYTES && !self.keep_head() {
            return Ok(Err(Refusal::HeadQuota));
        }
        let (client, priority) = (self.client, self.priority);
        let request = InstanceRequest { client, priority, affinity: self.affinity.clone(), avoid: avoid.cloned() };
        match self.app.acquire(request) {
            AcquireResult::Granted(serving, permit) => Ok(Ok((serving, permit))),
            AcquireResult::Refused(refusal) => Ok(Err(refusal)),
            AcquireResult::Queued(waiting) => {
                if !self.keep_head() {
                    return Ok(Err(Refusal::HeadQuota));
                }
                // Thousands of requests may be queued, so each one holds no more memory than its head needs.
                let exact = Vec::from(self.head.as_slice());
                self.head.clear();
                self.core.buffers.reclaim(&mut self.head);
                self.head = exact;
                while_there(downstream, self.body, waiting).await
            }
        }
    }

    /// Counts the head against the quota; returns `false` if the quota of the client, of the app or of the core is
    /// exceeded.
    fn keep_head(&mut self) -> bool {
        if self.kept_head.is_none() {
            self.kept_head = self.app.keep_head(self.client, self.head.len());
        }
        self.kept_head.is_some()
    }

    /// Opens a connection or reuses an idle one. Retries set `fresh` and never reuse an idle HTTP/1 connection, which
    /// may be closed too.
    async fn connect(&self, instance: &Instance, fresh: bool) -> io::Result<ConnectionLease> {
        loop {
            let is_over = |connections: &Arc<_>| self.app.close_idle_elsewhere(connections);
            let connected = instance.connect(fresh, self.core.alarms.now_ms(), &self.core.limits, is_over).await;
            // Releases the descriptor reserve: new clients wait in the accept queue, while current requests continue.
            if !connected.as_ref().is_err_and(is_out_of_descriptors) || !self.core.fd_reserve.release() {
                return connected;
            }
        }
    }

    /// Records the status of the response when its head arrives.
    fn answered(&mut self, status: u16) {
        self.metrics.status(status);
        if let Some(serving) = &mut self.serving {
            serving.answered(status);
        }
    }

    /// Returns the sticky session cookie for the instance that answers.
    fn sticky_cookie(&self) -> Option<String> {
        self.app.sticky_cookie(self.serving.as_ref()?.instance(), &self.affinity, self.secure)
    }

    /// Counts the exchange as succeeded at the head: the response may stay open for hours.
    fn is_long_lived(&mut self) {
        self.metrics.is_long_lived();
        if let Some(serving) = &mut self.serving {
            serving.succeeded();
        }
    }

    /// Maps a failure to the outcome that the client gets.
    fn fail(&mut self, failure: &RelayError) -> ExchangeOutcome {
        if let RelayError::Reset(code) = failure
            && self.grpc
        {
            self.metrics.cut();
            return ExchangeOutcome::Reset(*code);
        }
        if self.metrics.has_status() {
            if !failure.is_the_clients() {
                self.metrics.cut();
            }
            return ExchangeOutcome::Broken;
        }
        match failure {
            RelayError::Client(ClientError::Gone) => ExchangeOutcome::Broken,
            RelayError::Client(ClientError::BadBody) => self.answer(Reply::malformed(Malformed::Body)),
            RelayError::BodyStalled => self.answer(Reply::request_timeout()),
            RelayError::BodyTooLarge => {
                if let Some(policy) = &self.policy {
                    self.core.count(&policy.key, BodyLimit::ID);
                }
                self.answer(Reply::content_too_large())
            }
            RelayError::ResponseTimeout | RelayError::AppStalled => self.answer(Reply::gateway_timeout(self.id())),
            RelayError::Refused => self.answer(Reply::unavailable(self.id())),
            RelayError::Closed
            | RelayError::Io(_)
            | RelayError::BadResponse(_)
            | RelayError::Reset(_)
            | RelayError::Unspeakable
            | RelayError::Compression(_)
            | RelayError::ClientStalled => self.answer(Reply::bad_gateway(self.id())),
        }
    }

    fn answer(&mut self, reply: Reply) -> ExchangeOutcome {
        self.metrics.status(reply.status);
        ExchangeOutcome::Answer(match &self.policy {
            None => reply,
            Some(policy) => policy.dress(reply, self.secure),
        })
    }

    fn id(&self) -> &str {
        std::str::from_utf8(&self.head[self.id.clone()]).unwrap_or_default()
    }
}

/// Parses `grpc-timeout` in milliseconds; returns zero if it is missing or invalid.
fn call_timeout_ms<'a>(mut headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> u32 {
    let said = headers.find(|(name, _)| name.eq_ignore_ascii_case(b"grpc-timeout"));
    said.and_then(|(_, value)| grpc_timeout_ms(value)).unwrap_or(0)
}

/// Returns the Cookie fields of a request.
fn cookies<'a>(headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> impl Iterator<Item = &'a [u8]> {
    headers.filter(|(name, _)| name.eq_ignore_ascii_case(b"cookie")).map(|(_, value)| value)
}

/// Waits for `connecting` until the client leaves, so that a closed client gives up its queue entry. While a body is
/// due, reading from the client would consume the body: the check starts only without one.
async fn while_there<D: Downstream, T>(
    downstream: &mut D,
    body: RequestBody,
    connecting: impl Future<Output = T>,
) -> Result<T, ClientError> {
    let mut connecting = pin!(connecting);
    let mut look = D::SEES_LEAVING_IN_BODY || matches!(body, RequestBody::None | RequestBody::Length(0));
    poll_fn(|cx| {
        // Most requests find an idle connection at once and need no check of the client.
        if let Poll::Ready(connected) = connecting.as_mut().poll(cx) {
            return Poll::Ready(Ok(connected));
        }
        if look && let Poll::Ready(gone) = downstream.poll_gone(cx) {
            // A client that only closed its sending side still waits for the response.
            gone?;
            look = false;
        }
        Poll::Pending
    })
    .await
}
