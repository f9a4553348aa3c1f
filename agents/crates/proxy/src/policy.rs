//! Policy of a route, compiled once for each snapshot: its filters, and the settings that apply after them. Invariant:
//! it performs no I/O; the exchange sends its replies and awaits its checks.

use fairlead_model::{Priority, RoutePolicy, TrafficError};
use fairlead_route::{HeaderRules, RequestEdit};

use crate::exchange::Reply;
use crate::filters::{
    self, BodyLimit, CompiledFilters, Decision, ErrorPages, FilterId, HeaderEdits, LimitGuard, PathRewrite,
    PendingCheck, PreparedPage, RequestContext, RouteSettings,
};

/// Compiled policy of a route; routes with only defaults have none.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Host and path prefix, which is the key of its counters.
    pub(crate) key: Box<str>,
    filters: CompiledFilters,
    path_rewrite: Option<PathRewrite>,
    headers: HeaderEdits,
    error_pages: ErrorPages,
    /// Priority in the wait queue and in load shedding.
    pub(crate) priority: Priority,
    /// True if responses may be compressed.
    pub(crate) compress: bool,
    /// Maximum length of a request body in bytes.
    pub(crate) body_bytes_max: u64,
    /// False if the host asks for client certificates, which it does over TCP alone.
    pub(crate) serves_http3: bool,
}

/// Request that all filters let pass.
#[derive(Default)]
pub(crate) struct PolicyAdmission {
    /// Counts the request in the limits of its route.
    pub(crate) guard: Option<LimitGuard>,
    /// Checks that the request must still pass, in order.
    pub(crate) checks: Vec<PendingCheck>,
}

impl Policy {
    /// Compiles the policy of a route; `None` if it has only defaults.
    pub(crate) fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let policy = route.policy;
        if route.redirect.is_none() && route.tls.is_none() && *policy == RoutePolicy::default() {
            return Ok(None);
        }
        let filters = filters::compile(route)?;
        let dropped: Vec<&str> = filters.iter().flat_map(|(_, filter)| filter.dropped_headers()).collect();
        Ok(Some(Self {
            path_rewrite: PathRewrite::compile(route),
            headers: HeaderEdits::compile(policy, &dropped),
            error_pages: ErrorPages::compile(policy),
            priority: policy.priority,
            compress: policy.compress,
            body_bytes_max: BodyLimit::bytes_max(policy),
            serves_http3: !route.tls.as_ref().is_some_and(|tls| tls.asks_for_certificates()),
            filters,
            key: route.key.into(),
        }))
    }

    /// Runs the filters in their order. An error is the filter that rejects the request, and its reply.
    pub(crate) fn admit(&self, request: &RequestContext<'_>) -> Result<PolicyAdmission, (FilterId, Reply)> {
        let mut admission = PolicyAdmission::default();
        for (id, filter) in &self.filters {
            match filter.check(request) {
                Decision::Pass => {}
                Decision::Count(guard) => admission.guard = Some(guard),
                Decision::Await(check) => admission.checks.push(check),
                Decision::Reject(reply) => return Err((*id, self.dress(reply, request.is_secure))),
            }
        }
        Ok(admission)
    }

    /// Returns the changes to a request for the app.
    pub(crate) fn request_edit<'a>(&'a self, path_and_query: &'a [u8]) -> RequestEdit<'a> {
        let stripped = self.path_rewrite.as_ref().and_then(|rewrite| rewrite.apply(path_and_query));
        RequestEdit { rules: self.request_rules(), stripped }
    }

    /// Returns the header rules for requests.
    pub(crate) fn request_rules(&self) -> Option<&HeaderRules> {
        self.headers.requests.as_ref()
    }

    /// Returns the header rules for responses.
    pub(crate) fn response_rules(&self, is_secure: bool) -> Option<&HeaderRules> {
        self.headers.of_responses(is_secure)
    }

    /// Returns the error page that replaces the response of an app.
    pub(crate) fn page_instead(&self, status: u16) -> Option<&PreparedPage> {
        self.error_pages.instead_of_app(status)
    }

    /// Applies the error page and the response header rules of the route to a reply of the proxy.
    pub(crate) fn dress(&self, reply: Reply, is_secure: bool) -> Reply {
        self.headers.dress(self.error_pages.dress(reply), is_secure)
    }
}
