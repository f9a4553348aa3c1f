//! Policy of a route, compiled once for each snapshot: access control, limits, redirects and header rules. Invariant:
//! it performs no I/O; the exchange sends its responses and waits for password checks.

mod auth;
mod limiter;
mod page;
mod shared;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use fairlead_model::{Priority, Redirect, RoutePolicy, TrafficError};
use fairlead_route::{
    AddressRules, HeaderRules, RequestBody, RequestEdit, RequestLine, https_location, redirect_location, strip_prefix,
};

pub(crate) use auth::{PasswordCache, PasswordCheck, PasswordResult};
pub(crate) use limiter::LimitGuard;
pub(crate) use page::PreparedPage;
pub(crate) use shared::SharedPolicyState;

use crate::exchange::Reply;
use auth::{Auth, AuthOutcome};
use limiter::Limiter;
use page::ErrorPages;

/// Path prefix that is allowed on plain HTTP, where certificate authorities send challenges (RFC 8555, 8.3).
pub(crate) const ACME_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// Compiled policy of a route; routes with only defaults have none.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Host and path prefix, which is the key of its counters.
    pub(crate) key: Box<str>,
    /// Length of the path prefix of the route in bytes.
    prefix_bytes: usize,
    serve_plain_http: bool,
    strips: bool,
    request_rules: Option<HeaderRules>,
    response_rules: Option<HeaderRules>,
    addresses: Option<AddressRules>,
    maintenance: Option<PreparedPage>,
    error_pages: ErrorPages,
    limiter: Option<Limiter>,
    auth: Option<Auth>,
    redirect: Option<Redirect>,
    /// Priority in the wait queue and in load shedding.
    pub(crate) priority: Priority,
    /// True if responses may be compressed.
    pub(crate) compress: bool,
    /// Maximum length of a request body in bytes.
    pub(crate) body_bytes_max: u64,
}

/// Request context of a policy evaluation.
pub(crate) struct RequestContext<'a> {
    /// Effective address of the client.
    pub(crate) address: IpAddr,
    /// HTTPS port if the request came over plain HTTP and HTTPS is available.
    pub(crate) https_port: Option<u16>,
    /// Host in lower case, without port.
    pub(crate) host: &'a [u8],
    /// Body framing of the request head.
    pub(crate) body: RequestBody,
    /// Time at which the head was complete.
    pub(crate) now: Instant,
}

/// Decision about a request.
pub(crate) enum Decision {
    /// Forwards the request to the app, after the password check if there is one. The guard counts it while it lives.
    Pass(Option<LimitGuard>, Option<Box<PasswordCheck>>),
    /// Answers the request without the app.
    Answer(RejectReason, Reply),
}

/// Reason why the proxy answers a request; each is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectReason {
    RateLimited,
    Denied,
    Redirected,
    Unauthorized,
    Maintenance,
    BodyTooLarge,
}

impl Policy {
    /// Compiles the policy of a route; `None` if it has only defaults.
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
            serve_plain_http: said.serve_plain_http,
            strips: said.strip_prefix,
            request_rules: HeaderRules::of_requests(&said.request_headers, consumed),
            response_rules: HeaderRules::of_responses(&said.response_headers),
            addresses: AddressRules::new(&said.allow, &said.deny),
            maintenance: said.maintenance.as_ref().map(PreparedPage::new),
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

    /// Evaluates a request: address, plain HTTP, maintenance, limits, body size, password and redirect, in this order.
    /// Limits precede passwords, so that no client can have many checked. The HTTPS redirect precedes them, so that
    /// none is sent in the clear.
    pub(crate) fn evaluate<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
        &self,
        context: &RequestContext<'_>,
        line: &RequestLine<'_>,
        headers: impl Fn() -> H,
        cache: &PasswordCache,
    ) -> Decision {
        let target = &line.target;
        if self.addresses.as_ref().is_some_and(|addresses| !addresses.admit(context.address)) {
            return self.answer(RejectReason::Denied, Reply::forbidden());
        }
        if let Some(port) = context.https_port
            && !self.serve_plain_http
            && !target.path().starts_with(ACME_PATH)
        {
            let location = https_location(context.host, port, target.path_and_query);
            return self.answer(RejectReason::Redirected, Reply::to_https(location));
        }
        if let Some(page) = &self.maintenance {
            return self.answer(RejectReason::Maintenance, Reply::maintenance().with_page(page));
        }
        let admission = match self.limiter.as_ref().map(|limiter| limiter.admit(context.address, context.now)) {
            None => None,
            Some(Ok(admission)) => admission,
            Some(Err(wait)) => {
                return self.answer(RejectReason::RateLimited, Reply::too_many_requests(wait.retry_after_seconds));
            }
        };
        if matches!(context.body, RequestBody::Length(length) if length > self.body_bytes_max) {
            return self.answer(RejectReason::BodyTooLarge, Reply::content_too_large());
        }
        let check = match self.auth.as_ref().map(|auth| auth.authenticate(context.address, headers(), cache)) {
            None | Some(AuthOutcome::Cached) => None,
            Some(AuthOutcome::Unverified(check)) => Some(Box::new(check)),
            Some(AuthOutcome::Unauthenticated(challenge)) => {
                return self.answer(RejectReason::Unauthorized, Reply::unauthorized(challenge));
            }
        };
        if let Some(redirect) = &self.redirect {
            let location = redirect_location(redirect, target.path_and_query, self.prefix_bytes);
            return self.answer(RejectReason::Redirected, Reply::redirect(redirect.status, location));
        }
        Decision::Pass(admission, check)
    }

    fn answer(&self, reason: RejectReason, reply: Reply) -> Decision {
        Decision::Answer(reason, self.dress(reply))
    }

    /// Returns the changes to a request for the app.
    pub(crate) fn request_edit<'a>(&'a self, path_and_query: &'a [u8]) -> RequestEdit<'a> {
        let stripped = if self.strips { strip_prefix(path_and_query, self.prefix_bytes) } else { None };
        RequestEdit { rules: self.request_rules.as_ref(), stripped }
    }

    /// Returns the header rules for requests.
    pub(crate) fn request_rules(&self) -> Option<&HeaderRules> {
        self.request_rules.as_ref()
    }

    /// Returns the header rules for responses.
    pub(crate) fn response_rules(&self) -> Option<&HeaderRules> {
        self.response_rules.as_ref()
    }

    /// Returns the error page that replaces the response of an app.
    pub(crate) fn page_instead(&self, status: u16) -> Option<&PreparedPage> {
        self.error_pages.instead_of_app(status)
    }

    /// Applies the error page and the response header rules of the route to a reply of the proxy.
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

    /// Returns the reply to a wrong password, or to one that could not be checked now.
    pub(crate) fn password_rejection(&self, proof: PasswordResult) -> (RejectReason, Reply) {
        let challenge = self.auth.as_ref().map(Auth::challenge).unwrap_or_default();
        match proof {
            PasswordResult::Busy => (RejectReason::RateLimited, self.dress(Reply::too_many_requests(1))),
            PasswordResult::Wrong | PasswordResult::Right => {
                (RejectReason::Unauthorized, self.dress(Reply::unauthorized(challenge)))
            }
        }
    }
}
