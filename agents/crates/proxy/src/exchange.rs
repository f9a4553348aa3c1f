//! One request and its response, whatever the client speaks: route, instance, queue, retry, headers, numbers.
//! All policy is here; the codecs on both sides only translate. In-flight counts are guards, so no codec can leak one.

mod downstream;
mod relay;
mod reply;
mod tally;
mod upload;

use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use fairlead_route::{Attempt, Client, Malformed, RequestBody, RequestFacts, RequestLine, encode_request, may_retry};

pub(crate) use downstream::{ClientError, Downstream, ResponseView};
pub(crate) use reply::Reply;
pub(crate) use upload::Upload;

use crate::core::{Alarm, App, Core, Destination};
use crate::upstream::{AcquireError, InFlight, Instance, Slot, UpstreamConnection};
use relay::{Failure, Relay, Relayed};
use tally::Tally;

/// Instances and connections tried for one request.
const ATTEMPTS_MAX: usize = 3;
/// Let through on plain HTTP: certificate authorities ask there (RFC 8555, 8.3).
const ACME_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// Who asks, the same for all requests of a connection.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) client: Client,
    pub(crate) secure: bool,
}

/// What becomes of a request.
pub(crate) enum Begun {
    /// It goes to an app.
    Forward(Exchange),
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
    tally: Tally,
}

/// Reads a request's head and decides where it goes. An error is the client's fault and ends its connection.
/// `headers` begins them anew: they are walked more than once.
pub(crate) fn begin<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Rc<Core>,
    origin: &Origin,
    line: &RequestLine<'a>,
    headers: impl Fn() -> H,
) -> Result<(Begun, RequestFacts<'a>), Malformed> {
    let facts = RequestFacts::gather(line, headers())?;
    let name = facts.authority.name();
    if let (false, Some(port)) = (origin.secure, core.https_port)
        && core.knows(name.as_bytes())
        && !line.target.path().starts_with(ACME_PATH)
    {
        let location = https_location(name.as_bytes(), port, line.target.path_and_query);
        return Ok((Begun::Answer(Reply::redirect(location)), facts));
    }
    let app = match core.find(name.as_bytes(), line.target.path()) {
        Destination::App(app) => app,
        Destination::NoPath | Destination::NoHost => return Ok((Begun::Answer(Reply::not_found()), facts)),
    };
    let mut head = Vec::new();
    core.buffers.lend(&mut head);
    let made_id = core.ids.next();
    let id = facts.request_id.unwrap_or(&made_id);
    encode_request(line, &facts, headers, &origin.client, id, &mut head);
    let id_start = memchr::memmem::rfind(&head, id).unwrap_or(0);
    let exchange = Exchange {
        core: Rc::clone(core),
        tally: Tally::begin(&app),
        app,
        method: 0..line.method.len(),
        id: id_start..id_start + id.len(),
        head,
        body: facts.body,
        is_head: line.method == b"HEAD",
        offers_upgrade: facts.upgrade.is_some(),
        expects_continue: facts.expects_continue,
    };
    Ok((Begun::Forward(exchange), facts))
}

fn https_location(host: &[u8], port: u16, path_and_query: &[u8]) -> String {
    let (host, path) = (String::from_utf8_lossy(host), String::from_utf8_lossy(path_and_query));
    if port == 443 { format!("https://{host}{path}") } else { format!("https://{host}:{port}{path}") }
}

impl Exchange {
    pub(crate) fn body(&self) -> RequestBody {
        self.body
    }

    /// Carries the exchange out. `alarm` is the stream's; it is left unset.
    pub(crate) async fn run<D: Downstream>(mut self, downstream: &mut D, alarm: &Alarm) -> Ended {
        alarm.clear();
        let ended = self.attempts(downstream, alarm).await;
        alarm.clear();
        self.head.clear();
        self.core.buffers.reclaim(&mut self.head);
        ended
    }

    async fn attempts<D: Downstream>(&mut self, downstream: &mut D, alarm: &Alarm) -> Ended {
        let mut failed: Option<Rc<Instance>> = None;
        for attempt in 1..=ATTEMPTS_MAX {
            let Some(instance) = self.app.pick(self.core.ids.random(), failed.as_ref()) else {
                return self.answer(Reply::unavailable(self.id()));
            };
            let in_flight = instance.begin();
            let connected = while_there(downstream, self.body, self.connect(&instance, failed.is_some())).await;
            let (connection, slot) = match connected {
                Ok(Ok(connected)) => connected,
                Err(gone) => return self.fail(&Failure::Client(gone), &instance),
                Ok(Err(error)) => match error {
                    AcquireError::Draining => continue,
                    AcquireError::Busy => return self.answer(Reply::unavailable(self.id())),
                    AcquireError::Connect(error) => {
                        tracing::debug!(instance = %instance.id, %error, "can't connect");
                        failed = Some(instance);
                        continue;
                    }
                },
            };
            let reused = connection.reused;
            match self.relay(downstream, alarm, connection, slot, in_flight).await {
                Ok(()) => return Ended::Complete,
                Err((failure, untouched)) => {
                    let kind = if reused { Attempt::SentOnReused } else { Attempt::Processed };
                    let again = untouched && may_retry(&self.head[self.method.clone()], false, kind);
                    if !(again && failure.is_closed_connection() && attempt < ATTEMPTS_MAX) {
                        return self.fail(&failure, &instance);
                    }
                    failed = Some(instance);
                }
            }
        }
        self.answer(Reply::bad_gateway(self.id()))
    }

    /// A connection and the right to use it. A second attempt never takes a connection that may be as dead as the first.
    async fn connect(&self, instance: &Rc<Instance>, fresh: bool) -> Result<(UpstreamConnection, Slot), AcquireError> {
        let slot = instance.slot(&self.core.limits).await?;
        if !fresh && let Some(connection) = instance.reuse(self.core.alarms.now_ms()) {
            return Ok((connection, slot));
        }
        Ok((instance.dial(&self.core.limits).await?, slot))
    }

    async fn relay<D: Downstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        mut connection: UpstreamConnection,
        slot: Slot,
        in_flight: InFlight,
    ) -> Result<(), (Failure, bool)> {
        connection.outbox.buffer(&self.core.buffers).extend_from_slice(&self.head);
        let mut relay = Relay::new(self, downstream, alarm, &mut connection, slot);
        let result = poll_fn(|cx| relay.poll(cx)).await;
        let untouched = relay.is_untouched();
        match result {
            Ok(Relayed { keep_for }) => {
                if let Some(keep_for) = keep_for {
                    let until_ms = self.core.alarms.now_ms() + u64::try_from(keep_for.as_millis()).unwrap_or(u64::MAX);
                    in_flight.instance().keep(connection, until_ms);
                }
                Ok(())
            }
            Err(failure) => Err((failure, untouched)),
        }
    }

    /// Turns a failure into what the client gets to see.
    fn fail(&mut self, failure: &Failure, instance: &Instance) -> Ended {
        tracing::debug!(instance = %instance.id, request = self.id(), %failure, "exchange failed");
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
            Failure::ResponseTimeout | Failure::AppStalled => self.answer(Reply::gateway_timeout(self.id())),
            Failure::Closed | Failure::Io(_) | Failure::BadResponse(_) | Failure::ClientStalled => {
                self.answer(Reply::bad_gateway(self.id()))
            }
        }
    }

    fn answer(&mut self, reply: Reply) -> Ended {
        self.tally.status(reply.status);
        Ended::Answer(reply)
    }

    fn id(&self) -> &str {
        std::str::from_utf8(&self.head[self.id.clone()]).unwrap_or_default()
    }
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
        if look && let Poll::Ready(gone) = downstream.poll_gone(cx) {
            // One that only sends nothing more still waits for its response.
            gone?;
            look = false;
        }
        connecting.as_mut().poll(cx).map(Ok)
    })
    .await
}
