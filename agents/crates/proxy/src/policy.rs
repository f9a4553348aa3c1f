//! What a route does to its requests, compiled once a snapshot: who may come in, how much, where to, and with which fields.
//! A route with nothing but defaults has none, and costs its requests one branch. Never touches a socket: what is to be
//! answered goes back to the exchange, and what has to wait (passwords) is waited for there.

mod auth;
mod limiter;
mod page;
mod shared;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use fairlead_model::{PlainHttp, Priority, Redirect, RoutePolicy, TrafficError};
use fairlead_route::{
    AddressRules, HeaderRules, RequestBody, RequestEdit, RequestLine, https_location, redirect_location, strip_prefix,
};

pub(crate) use auth::{PasswordCache, PasswordCheck, PasswordResult};
pub(crate) use limiter::LimitGuard;
pub(crate) use page::Page;
pub(crate) use shared::SharedPolicyState;

use crate::exchange::Reply;
use auth::{Auth, AuthOutcome};
use limiter::Limiter;
use page::ErrorPages;

/// Let through on plain HTTP: certificate authorities ask there (RFC 8555, 8.3).
pub(crate) const ACME_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// A route's policy.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Host and path prefix: what its numbers are kept under.
    pub(crate) key: Box<str>,
    /// Bytes of a path that are the route's own prefix.
    prefix_bytes: usize,
    plain_http: PlainHttp,
    strips: bool,
    request_rules: Option<HeaderRules>,
    response_rules: Option<HeaderRules>,
    addresses: Option<AddressRules>,
    maintenance: Option<Page>,
    error_pages: ErrorPages,
    limiter: Option<Limiter>,
    auth: Option<Auth>,
    redirect: Option<Redirect>,
    /// Who goes first when not all can be served.
    pub(crate) priority: Priority,
    /// Answers may be compressed.
    pub(crate) compress: bool,
    /// Bytes that a request's body may have.
    pub(crate) body_bytes_max: u64,
}

/// Who asks, and over what.
pub(crate) struct RequestContext<'a> {
    /// Its effective address.
    pub(crate) address: IpAddr,
    /// Set when it speaks plain HTTP though HTTPS is offered at this port.
    pub(crate) https_port: Option<u16>,
    /// Host in lower case, without port.
    pub(crate) host: &'a [u8],
    /// What the head says of the body.
    pub(crate) body: RequestBody,
    /// When the head was there.
    pub(crate) now: Instant,
}

/// What becomes of a request at its route.
pub(crate) enum Decision {
    /// It goes on to the app; counted until `LimitGuard` is dropped, and after `PasswordCheck` has passed.
    Pass(Option<LimitGuard>, Option<Box<PasswordCheck>>),
    /// It is answered here.
    Answer(Reason, Reply),
}

/// Why a request is answered here; each is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    RateLimited,
    Denied,
    Redirected,
    Unauthorized,
    Maintenance,
    BodyTooLarge,
}

impl Policy {
    /// Compiles what a route says; `None` when that is nothing.
    pub(crate) fn compile(
        host: &str,
        path_prefix: &str,
        said: &RoutePolicy,
        redirect: Option<Redirect>,
        shared: &Arc<SharedPolicyState>,
    ) -> Result<Option<Self>, TrafficError> {
        if redirect.is_none() && *said == RoutePolicy::default() {
            return Ok(None);
        }
        if redirect.is_some() && said.basic_auth.is_some() {
            return Err(TrafficError::new("basic_auth", "can't be asked for by a redirect"));
        }
        let prefix = path_prefix.strip_suffix('/').unwrap_or(path_prefix);
        let key: Box<str> = format!("{host}{prefix}/").into();
        let consumed: &[&str] = if said.basic_auth.is_some() { &["authorization"] } else { &[] };
        Ok(Some(Self {
            prefix_bytes: prefix.len(),
            plain_http: said.http,
            strips: said.strip_prefix,
            request_rules: HeaderRules::of_requests(&said.request_headers, consumed),
            response_rules: HeaderRules::of_responses(&said.response_headers),
            addresses: AddressRules::new(&said.allow, &said.deny),
            maintenance: said.maintenance.as_ref().map(Page::new),
            error_pages: ErrorPages::new(&said.error_pages),
            limiter: Limiter::new(&key, &said.limits, shared),
            auth: said.basic_auth.as_ref().map(|auth| Auth::compile(auth, shared)).transpose()?,
            redirect,
            priority: said.priority,
            compress: said.compress,
            body_bytes_max: if said.request_body_bytes_max == 0 { u64::MAX } else { said.request_body_bytes_max },
            key,
        }))
    }

    /// Decides about a request: address, plain HTTP, maintenance, limits, size, password, redirect, in this order. Limits go
    /// before passwords, so that nobody can have many checked; the way to HTTPS goes before them, so that none is sent in the clear.
    pub(crate) fn evaluate<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
        &self,
        context: &RequestContext<'_>,
        line: &RequestLine<'_>,
        headers: impl Fn() -> H,
        cache: &PasswordCache,
    ) -> Decision {
        let target = &line.target;
        if self.addresses.as_ref().is_some_and(|addresses| !addresses.admit(context.address)) {
            return self.answer(Reason::Denied, Reply::forbidden());
        }
        if let (Some(port), PlainHttp::Redirect) = (context.https_port, self.plain_http)
            && !target.path().starts_with(ACME_PATH)
        {
            let location = https_location(context.host, port, target.path_and_query);
            return self.answer(Reason::Redirected, Reply::to_https(location));
        }
        if let Some(page) = &self.maintenance {
            return self.answer(Reason::Maintenance, Reply::maintenance().with_page(page));
        }
        let admission = match self.limiter.as_ref().map(|limiter| limiter.admit(context.address, context.now)) {
            None => None,
            Some(Ok(admission)) => admission,
            Some(Err(wait)) => {
                return self.answer(Reason::RateLimited, Reply::too_many_requests(wait.retry_after_seconds));
            }
        };
        if matches!(context.body, RequestBody::Length(length) if length > self.body_bytes_max) {
            return self.answer(Reason::BodyTooLarge, Reply::content_too_large());
        }
        let check = match self.auth.as_ref().map(|auth| auth.authenticate(context.address, headers(), cache)) {
            None | Some(AuthOutcome::Cached) => None,
            Some(AuthOutcome::Unverified(check)) => Some(Box::new(check)),
            Some(AuthOutcome::Unauthenticated(challenge)) => {
                return self.answer(Reason::Unauthorized, Reply::unauthorized(challenge));
            }
        };
        if let Some(redirect) = &self.redirect {
            let location = redirect_location(redirect, target.path_and_query, self.prefix_bytes);
            return self.answer(Reason::Redirected, Reply::redirect(redirect.status, location));
        }
        Decision::Pass(admission, check)
    }

    fn answer(&self, reason: Reason, reply: Reply) -> Decision {
        Decision::Answer(reason, self.dress(reply))
    }

    /// What is changed of a request for the app.
    pub(crate) fn request_edit<'a>(&'a self, path_and_query: &'a [u8]) -> RequestEdit<'a> {
        let stripped = if self.strips { strip_prefix(path_and_query, self.prefix_bytes) } else { None };
        RequestEdit { rules: self.request_rules.as_ref(), stripped }
    }

    /// Changes to the fields of a request.
    pub(crate) fn request_rules(&self) -> Option<&HeaderRules> {
        self.request_rules.as_ref()
    }

    /// What is changed of the fields of a response.
    pub(crate) fn response_rules(&self) -> Option<&HeaderRules> {
        self.response_rules.as_ref()
    }

    /// The page that clients get instead of an app's own answer.
    pub(crate) fn page_instead(&self, status: u16) -> Option<&Page> {
        self.error_pages.instead_of_app(status)
    }

    /// An answer of the proxy's own as this route's clients get it: with its page, if there is one, and under its rules.
    pub(crate) fn dress(&self, reply: Reply) -> Reply {
        // Maintenance has its own page.
        let page = self.error_pages.of(reply.status).filter(|_| !reply.has_page());
        let reply = match page {
            Some(page) => reply.with_page(page),
            None => reply,
        };
        match &self.response_rules {
            Some(rules) => reply.under(rules),
            None => reply,
        }
    }

    /// What a client gets whose password was wrong, or could not be checked now.
    pub(crate) fn password_rejection(&self, proof: PasswordResult) -> (Reason, Reply) {
        let challenge = self.auth.as_ref().map(Auth::challenge).unwrap_or_default();
        match proof {
            PasswordResult::Busy => (Reason::RateLimited, self.dress(Reply::too_many_requests(1))),
            PasswordResult::Wrong | PasswordResult::Right => {
                (Reason::Unauthorized, self.dress(Reply::unauthorized(challenge)))
            }
        }
    }
}
