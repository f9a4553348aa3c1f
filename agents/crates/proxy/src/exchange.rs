//! One request and its response, whatever the client speaks: route, instance, queue, retry, headers, numbers.
//! All policy is here; the codecs on both sides only translate. In-flight counts are guards, so no codec can leak one.

mod carry;
mod compressed;
mod download;
mod downstream;
mod entry;
mod farewell;
mod journal;
mod relay;
mod reply;
mod tally;
mod upload;
mod upstream;

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
    Client, Malformed, RequestBody, RequestEdit, RequestFacts, RequestLine, Version, client_key, encode_request,
    grpc_timeout_ms, may_retry,
};

pub(crate) use download::{Download, HeadKind};
pub(crate) use downstream::{ClientError, Downstream, Edit, ResponseView, trailer_fields};
pub(crate) use relay::Failure;
pub(crate) use reply::Reply;
pub(crate) use upload::Upload;
pub(crate) use upstream::Upstream;

use crate::core::{
    AcquireResult, Affinity, Alarm, App, AppShare, Core, InFlightRequest, InstanceRequest, Permit, Refusal,
    is_out_of_descriptors,
};
use crate::policy::{LimitGuard, PasswordCheck, PasswordResult, Policy, Reason};
use crate::upstream::{Instance, Link};
use entry::{Entered, enter};
use journal::Journal;
use tally::Tally;

/// Instances and connections tried for one request.
const ATTEMPTS_MAX: usize = 3;
/// Longest head that counts only while it waits.
const SHORT_HEAD_BYTES: usize = 8 * 1024;

/// Who asks, the same for all requests of a connection.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) client: Client,
}

/// What becomes of a request.
pub(crate) enum Begun {
    /// It goes to an app. In a box: it would be copied from hand to hand, and each idle connection would keep room for it.
    Forward(Box<Exchange>),
    /// It is answered here.
    Answer(Reply),
}

/// How an exchange ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client has the whole response.
    Complete,
    /// Nothing was sent to the client; this is to be.
    Answer(Reply),
    /// The response was cut, or the client left: the stream (HTTP/1: the connection) is of no more use.
    Broken,
    /// The app reset a call with this code of HTTP/2, which says more to its caller than any answer.
    Reset(u32),
}

/// A request that was accepted for an app.
pub(crate) struct Exchange {
    core: Rc<Core>,
    app: Rc<App>,
    /// As it is sent to the app; kept for a second attempt.
    head: Vec<u8>,
    method: Range<usize>,
    id: Range<usize>,
    body: RequestBody,
    is_head: bool,
    offers_upgrade: bool,
    expects_continue: bool,
    /// What proves that a WebSocket that this side asked for is one.
    websocket_accept: Option<Box<str>>,
    grpc: bool,
    /// How long a call's caller waits; zero when it does not say.
    call_timeout_ms: u32,
    priority: Priority,
    affinity: Affinity,
    /// Key of its client, by which it counts in the core's shares.
    client: u64,
    /// Its head's part of all kept heads.
    kept_head: Option<AppShare>,
    /// The client came over TLS.
    secure: bool,
    /// It is told where HTTP/3 is spoken: it speaks an older one, over TLS.
    takes_alt_svc: bool,
    /// The instance it is at.
    serving: Option<InFlightRequest>,
    journal: Journal,
    tally: Tally,
    /// What the route wants of the response; `None` when nothing.
    policy: Option<Arc<Policy>>,
    /// A password that must turn out right first.
    check: Option<Box<PasswordCheck>>,
    /// Its count in the route's limits.
    _admission: Option<LimitGuard>,
}

/// What a codec goes by after a request's head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framing {
    pub(crate) body: RequestBody,
    /// The client wants no request after this one.
    pub(crate) close: bool,
    /// A call of gRPC, whose outcome is told in trailers.
    pub(crate) grpc: bool,
}

/// Reads a request's head and decides where it goes. An error is the client's fault and ends its connection.
/// `headers` begins them anew: they are walked more than once.
pub(crate) fn begin<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Rc<Core>,
    origin: &Origin,
    line: &RequestLine<'a>,
    headers: impl Fn() -> H,
) -> Result<(Begun, Framing), Malformed> {
    let facts = RequestFacts::gather(line, headers())?;
    let framing = Framing { body: facts.body, close: facts.close, grpc: facts.grpc };
    let behind = if core.trusts_any() { core.client_behind(&origin.client, headers()) } else { None };
    let client = behind.as_ref().unwrap_or(&origin.client);
    let begun = decide(core, client, line, &facts, headers);
    if let Begun::Answer(reply) = &begun {
        journal::log_answer(core, client, line, facts.authority.text, reply);
    }
    Ok((begun, framing))
}

/// Where a request goes that `client` makes.
fn decide<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Rc<Core>,
    client: &Client,
    line: &RequestLine<'a>,
    facts: &RequestFacts<'a>,
    headers: impl Fn() -> H,
) -> Begun {
    let folded;
    let name = match facts.authority.plain_name() {
        Some(name) => name,
        None => {
            folded = facts.authority.name();
            folded.as_bytes()
        }
    };
    // One look at the clock for all that goes by it.
    let now = Instant::now();
    let entered = enter(core, client, name, line, facts.body, &headers, now);
    let Entered { app, policy, admission, route_metrics, check } = match entered {
        Ok(entered) => entered,
        Err(reply) => return Begun::Answer(reply),
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
        tally: Tally::begin(&app, route_metrics, now),
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
        takes_alt_svc: client.is_secure() && line.version != Version::Http3,
        serving: None,
        policy,
        check,
        _admission: admission,
        journal: Journal { client: client.ip(), version: line.version, secure: client.is_secure(), instance: None },
    });
    Begun::Forward(exchange)
}

impl Exchange {
    pub(crate) fn body(&self) -> RequestBody {
        self.body
    }

    /// From the end of the request to the head of its response. A call may take as long as its caller says it waits.
    fn response_timeout(&self) -> Duration {
        self.app.bounds().response_timeout.max(Duration::from_millis(u64::from(self.call_timeout_ms)))
    }

    /// Bytes that the request's body may have.
    fn body_bytes_max(&self) -> u64 {
        self.policy.as_ref().map_or(u64::MAX, |policy| policy.body_bytes_max)
    }

    /// For a client whose protocol opens tunnels otherwise: anything but a WebSocket with this proof is the app's mistake.
    pub(crate) fn require_websocket(&mut self, accept: String) {
        self.websocket_accept = Some(accept.into());
    }

    /// Carries the exchange out. `alarm` is the stream's; it is left unset.
    pub(crate) async fn run<D: Downstream>(mut self: Box<Self>, downstream: &mut D, alarm: &Alarm) -> Ended {
        alarm.clear();
        let refused = match self.check.take() {
            None => None,
            // Its state is large, and few requests have one.
            Some(check) => Box::pin(self.check_password(*check, downstream)).await,
        };
        let ended = match refused {
            Some(ended) => ended,
            None => self.attempts(downstream, alarm).await,
        };
        alarm.clear();
        self.log();
        self.head.clear();
        self.core.buffers.reclaim(&mut self.head);
        ended
    }

    /// Waits until a password has been checked; tells how the exchange ends when it was not right.
    async fn check_password<D: Downstream>(&mut self, check: PasswordCheck, downstream: &mut D) -> Option<Ended> {
        let core = Rc::clone(&self.core);
        let proved = while_there(downstream, self.body, check.run(&core.password_cache)).await;
        if matches!(proved, Ok(PasswordResult::Right)) {
            return None;
        }
        self.tally.void();
        let (Ok(proof), Some(policy)) = (proved, &self.policy) else { return Some(Ended::Broken) };
        let (reason, reply) = policy.password_rejection(proof);
        core.count(&policy.key, reason);
        Some(Ended::Answer(reply))
    }

    async fn attempts<D: Downstream>(&mut self, downstream: &mut D, alarm: &Alarm) -> Ended {
        self.app.add_retry_budget();
        let (mut failed, mut fresh): (Option<Rc<Instance>>, bool) = (None, false);
        for attempt in 1..=ATTEMPTS_MAX {
            let (mut serving, permit) = match self.acquire(downstream, failed.as_ref()).await {
                Ok(Ok(acquired)) => acquired,
                Ok(Err(refusal)) => {
                    tracing::debug!(app = %self.app.key, request = self.id(), %refusal, "request refused");
                    return self.answer(Reply::unavailable(self.id()));
                }
                Err(gone) => return self.fail(&Failure::Client(gone)),
            };
            let instance = Rc::clone(serving.instance());
            self.tally.at(&instance);
            self.journal.instance = Some(Rc::clone(&instance));
            let mut link = match while_there(downstream, self.body, self.connect(&instance, fresh)).await {
                Ok(Ok(link)) => link,
                Err(gone) => return self.fail(&Failure::Client(gone)),
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
                    if let (Link::Http1(connection), Some(keep_for)) = (link, keep_for) {
                        instance.keep(connection, relay::after(self.core.alarms.now_ms(), keep_for));
                    }
                    return Ended::Complete;
                }
            };
            drop(link);
            tracing::debug!(instance = %instance.id, request = self.id(), %failure, "exchange failed");
            let method = &self.head[self.method.clone()];
            let again = failure.attempt(reused).is_some_and(|kind| may_retry(method, !untouched, kind));
            // An idle connection that ends just as it is used again is nobody's failure.
            if !again && failure.is_the_instances() {
                serving.into_iter().for_each(|mut serving| serving.failed());
            }
            if !again || attempt == ATTEMPTS_MAX || !self.app.may_retry() {
                return self.fail(&failure);
            }
            // The instance may be well: a client that is tied to it stays.
            fresh = true;
        }
        self.answer(Reply::bad_gateway(self.id()))
    }

    /// An instance, for which the request may have to wait in line.
    async fn acquire<D: Downstream>(
        &mut self,
        downstream: &mut D,
        not: Option<&Rc<Instance>>,
    ) -> Result<Result<(InFlightRequest, Permit), Refusal>, ClientError> {
        if self.head.len() > SHORT_HEAD_BYTES && !self.keep_head() {
            return Ok(Err(Refusal::HeadQuota));
        }
        let (client, priority) = (self.client, self.priority);
        let request = InstanceRequest { client, priority, affinity: self.affinity.clone(), not: not.cloned() };
        match self.app.acquire(request) {
            AcquireResult::Granted(serving, permit) => Ok(Ok((serving, permit))),
            AcquireResult::Refused(refusal) => Ok(Err(refusal)),
            AcquireResult::Queued(waiting) => {
                if !self.keep_head() {
                    return Ok(Err(Refusal::HeadQuota));
                }
                // Thousands may wait: none keeps more memory than its head has bytes.
                let exact = Vec::from(self.head.as_slice());
                self.head.clear();
                self.core.buffers.reclaim(&mut self.head);
                self.head = exact;
                while_there(downstream, self.body, waiting).await
            }
        }
    }

    /// Counts the head's bytes; `false` if its client, its app, or all together, keep too many.
    fn keep_head(&mut self) -> bool {
        if self.kept_head.is_none() {
            self.kept_head = self.app.keep_head(self.client, self.head.len());
        }
        self.kept_head.is_some()
    }

    /// A connection. A second attempt never takes one that may be as dead as the first.
    async fn connect(&self, instance: &Instance, fresh: bool) -> io::Result<Link> {
        loop {
            let connected = instance.connect(fresh, self.core.alarms.now_ms(), &self.core.limits).await;
            // Whoever waits to be accepted goes without, not whoever is served already.
            if !connected.as_ref().is_err_and(is_out_of_descriptors) || !self.core.fd_reserve.release() {
                return connected;
            }
        }
    }

    /// The app's response has begun.
    fn answered(&mut self, status: u16) {
        self.tally.status(status);
        if let Some(serving) = &mut self.serving {
            serving.answered(status);
        }
    }

    /// What ties the client to the instance that answers it.
    fn sticky_cookie(&self) -> Option<String> {
        self.app.sticky_cookie(self.serving.as_ref()?.instance(), &self.affinity, self.secure)
    }

    /// The response may stay open for hours: what it tells about the app is told now.
    fn is_long_lived(&mut self) {
        self.tally.is_long_lived();
        if let Some(serving) = &mut self.serving {
            serving.succeeded();
        }
    }

    /// Turns a failure into what the client gets to see.
    fn fail(&mut self, failure: &Failure) -> Ended {
        if let Failure::Reset(code) = failure
            && self.grpc
        {
            self.tally.cut();
            return Ended::Reset(*code);
        }
        if self.tally.has_status() {
            if !failure.is_the_clients() {
                self.tally.cut();
            }
            return Ended::Broken;
        }
        match failure {
            Failure::Client(ClientError::Gone) => Ended::Broken,
            Failure::Client(ClientError::BadBody) => self.answer(Reply::malformed(Malformed::Body)),
            Failure::BodyStalled => self.answer(Reply::request_timeout()),
            Failure::BodyTooLarge => {
                if let Some(policy) = &self.policy {
                    self.core.count(&policy.key, Reason::BodyTooLarge);
                }
                self.answer(Reply::content_too_large())
            }
            Failure::ResponseTimeout | Failure::AppStalled => self.answer(Reply::gateway_timeout(self.id())),
            Failure::Refused => self.answer(Reply::unavailable(self.id())),
            Failure::Closed
            | Failure::Io(_)
            | Failure::BadResponse(_)
            | Failure::Reset(_)
            | Failure::Unspeakable
            | Failure::Compression(_)
            | Failure::ClientStalled => self.answer(Reply::bad_gateway(self.id())),
        }
    }

    fn answer(&mut self, reply: Reply) -> Ended {
        self.tally.status(reply.status);
        Ended::Answer(match &self.policy {
            None => reply,
            Some(policy) => policy.dress(reply),
        })
    }

    fn id(&self) -> &str {
        std::str::from_utf8(&self.head[self.id.clone()]).unwrap_or_default()
    }
}

/// What a call's `grpc-timeout` says; zero for none that can be used.
fn call_timeout_ms<'a>(mut headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> u32 {
    let said = headers.find(|(name, _)| name.eq_ignore_ascii_case(b"grpc-timeout"));
    said.and_then(|(_, value)| grpc_timeout_ms(value)).unwrap_or(0)
}

/// The Cookie fields among a request's headers.
fn cookies<'a>(headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> impl Iterator<Item = &'a [u8]> {
    headers.filter(|(name, _)| name.eq_ignore_ascii_case(b"cookie")).map(|(_, value)| value)
}

/// Waits for `connecting` for as long as the client does: a place in line is nobody's once its client is gone.
/// While a body is due the client's next bytes are not ours to look at, so it is asked only then, and gets its deadlines later.
async fn while_there<D: Downstream, T>(
    downstream: &mut D,
    body: RequestBody,
    connecting: impl Future<Output = T>,
) -> Result<T, ClientError> {
    let mut connecting = pin!(connecting);
    let mut look = D::SEES_LEAVING_IN_BODY || matches!(body, RequestBody::None | RequestBody::Length(0));
    poll_fn(|cx| {
        // Most find an idle connection at once, and need not ask the client anything.
        if let Poll::Ready(connected) = connecting.as_mut().poll(cx) {
            return Poll::Ready(Ok(connected));
        }
        if look && let Poll::Ready(gone) = downstream.poll_gone(cx) {
            // One that only sends nothing more still waits for its response.
            gone?;
            look = false;
        }
        Poll::Pending
    })
    .await
}
