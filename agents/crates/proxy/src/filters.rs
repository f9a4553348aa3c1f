//! Filters of a route and their order. Invariant: a check performs no I/O; the exchange awaits what a check cannot
//! decide at once.

mod address_rules;
mod basic_auth;
mod body_limit;
mod dot_segments;
mod error_pages;
mod forward_auth;
mod header_rules;
mod https_redirect;
mod maintenance;
mod path_rewrite;
mod redirect;
mod request_limits;
mod shared;
mod tls_policy;

use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use fairlead_model::{Redirect, RoutePolicy, TrafficError};
use fairlead_route::{RequestBody, RequestLine};
use fairlead_tls::TlsPolicy;

pub(crate) use basic_auth::PasswordCache;
pub(crate) use body_limit::BodyLimit;
pub(crate) use error_pages::{ErrorPages, PreparedPage};
pub(crate) use header_rules::HeaderEdits;
pub(crate) use https_redirect::{HttpsRedirect, challenge_token};
pub(crate) use path_rewrite::PathRewrite;
pub(crate) use request_limits::LimitGuard;
pub(crate) use shared::SharedPolicyState;

use crate::connection_tls::ConnectionTls;
use crate::exchange::Reply;
use crate::upstream::Connector;

/// Filters in the order in which a request passes them, each with the reason under which its rejections are counted.
/// Limits precede passwords, so that no client can have many checked. The HTTPS redirect precedes passwords, so that
/// none is sent in the clear. The TLS policy comes after it: over plain HTTP there is no handshake to check.
const ORDER: [FilterEntry; 10] = [
    FilterEntry::of::<address_rules::AddressFilter>("denied"),
    FilterEntry::of::<https_redirect::HttpsRedirect>("redirected"),
    FilterEntry::of::<tls_policy::TlsPolicyFilter>("tls_policy"),
    FilterEntry::of::<maintenance::Maintenance>("maintenance"),
    FilterEntry::of::<request_limits::RequestLimits>("rate_limited"),
    FilterEntry::of::<body_limit::BodyLimit>("body_too_large"),
    FilterEntry::of::<dot_segments::DotSegmentFilter>("ambiguous_path"),
    FilterEntry::of::<basic_auth::PasswordFilter>("unauthorized"),
    FilterEntry::of::<forward_auth::ForwardAuthFilter>("forward_auth"),
    FilterEntry::of::<redirect::RouteRedirect>("redirected"),
];

/// Number of filters.
pub(crate) const FILTERS: usize = ORDER.len();

/// Filter of one route, compiled from its policy.
pub(crate) trait Filter: fmt::Debug + Send + Sync {
    /// Compiles the filter; `None` if the route does not use it.
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError>
    where
        Self: Sized;

    /// Decides about a request.
    fn check(&self, request: &RequestContext<'_>) -> Decision;

    /// Returns the request headers that only the proxy may send to the app: those of the client are dropped.
    fn dropped_headers(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// Settings of a route, from which its filters are compiled.
pub(crate) struct RouteSettings<'a> {
    /// Host and path prefix, which is the key of its counters.
    pub(crate) key: &'a str,
    /// Length of the path prefix of the route in bytes.
    pub(crate) prefix_bytes: usize,
    pub(crate) policy: &'a RoutePolicy,
    pub(crate) redirect: Option<&'a Redirect>,
    /// True if the host has a certificate.
    pub(crate) has_certificate: bool,
    /// TLS policy of the host, if it has one.
    pub(crate) tls: Option<Arc<TlsPolicy>>,
    pub(crate) shared: &'a Arc<SharedPolicyState>,
    /// Returns the connectors of another app in the environment of the route; none if it has no instance here.
    pub(crate) connectors: &'a dyn Fn(&str) -> Vec<Arc<Connector>>,
}

/// Request that filters decide about.
pub(crate) struct RequestContext<'a> {
    /// Effective address of the client.
    pub(crate) address: IpAddr,
    /// True if the client uses TLS.
    pub(crate) is_secure: bool,
    /// Handshake of the connection, if its host has a TLS policy.
    pub(crate) tls: Option<&'a ConnectionTls>,
    /// HTTPS port if the request came over plain HTTP and HTTPS is available.
    pub(crate) https_port: Option<u16>,
    /// Host in lower case, without port.
    pub(crate) host: &'a [u8],
    pub(crate) line: &'a RequestLine<'a>,
    pub(crate) headers: &'a dyn RequestHeaders<'a>,
    /// Body framing of the request head.
    pub(crate) body: RequestBody,
    /// Time at which the head was complete.
    pub(crate) now: Instant,
    pub(crate) password_cache: &'a Rc<PasswordCache>,
}

/// Header fields of a request, which filters may read more than once.
pub(crate) trait RequestHeaders<'a> {
    /// Calls `visit` with the name and value of each field.
    fn each(&self, visit: &mut dyn FnMut(&'a [u8], &'a [u8]));
}

impl<'a, 'h: 'a, F, H> RequestHeaders<'a> for F
where
    F: Fn() -> H,
    H: Iterator<Item = (&'h [u8], &'h [u8])>,
{
    fn each(&self, visit: &mut dyn FnMut(&'a [u8], &'a [u8])) {
        self().for_each(|(name, value)| visit(name, value));
    }
}

/// Decision of a filter about a request.
pub(crate) enum Decision {
    /// Lets the request pass to the next filter.
    Pass,
    /// Lets it pass; the guard counts it while it lives.
    Count(LimitGuard),
    /// Lets it pass if this check does. The exchange runs it once all filters have decided.
    Await(PendingCheck),
    /// Answers the request without the app.
    Reject(Reply),
}

/// Check that takes time, such as of a password. Dropped if the client leaves first.
pub(crate) type PendingCheck = Pin<Box<dyn Future<Output = CheckResult>>>;

/// Result of a pending check.
#[derive(Debug)]
pub(crate) enum CheckResult {
    /// Lets the request pass, with these header lines added for the app.
    Pass(Vec<u8>),
    /// Answers the request without the app.
    Reject(FilterId, Reply),
}

/// Position of a filter in the order, which is the index of its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterId(usize);

impl FilterId {
    /// Returns the first filter of this reason. Without one, a constant of it does not compile.
    pub(crate) const fn of(reason: &str) -> Self {
        let mut index = 0;
        while !is_equal(ORDER[index].reason.as_bytes(), reason.as_bytes()) {
            index += 1;
        }
        Self(index)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Returns the reasons of all filters, in their order. Two filters can have the same one.
pub(crate) fn reasons() -> [&'static str; FILTERS] {
    ORDER.map(|entry| entry.reason)
}

/// Compiles the filters that a route uses, in their order.
pub(crate) fn compile(route: &RouteSettings<'_>) -> Result<CompiledFilters, TrafficError> {
    let compiled = |(index, entry): (usize, &FilterEntry)| {
        let filter = (entry.compile)(route).transpose()?;
        Some(filter.map(|filter| (FilterId(index), filter)))
    };
    ORDER.iter().enumerate().filter_map(compiled).collect()
}

/// Filters of one route, in their order.
pub(crate) type CompiledFilters = Box<[(FilterId, Box<dyn Filter>)]>;

#[derive(Clone, Copy)]
struct FilterEntry {
    reason: &'static str,
    compile: Compile,
}

type Compile = fn(&RouteSettings<'_>) -> Result<Option<Box<dyn Filter>>, TrafficError>;

impl FilterEntry {
    const fn of<F: Filter + 'static>(reason: &'static str) -> Self {
        Self { reason, compile: |route| Ok(F::compile(route)?.map(|filter| Box::new(filter) as Box<dyn Filter>)) }
    }
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
