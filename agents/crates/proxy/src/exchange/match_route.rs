//! Route match and policy evaluation of a request, before it reaches an app.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use fairlead_route::{Client, RequestBody, RequestLine, https_location};

use super::Reply;
use crate::core::{App, Core, RouteLookup, RouteMetrics};
use crate::policy::{ACME_PATH, Decision, LimitGuard, PasswordCheck, Policy, RejectReason, RequestContext};

/// Request that its route admits.
pub(super) struct AdmittedRequest {
    pub(super) app: Rc<App>,
    /// `None` for a route without a policy.
    pub(super) policy: Option<Arc<Policy>>,
    /// Counts the request in the limits of its route until dropped.
    pub(super) admission: Option<LimitGuard>,
    pub(super) route_metrics: Option<Rc<RouteMetrics>>,
    /// Password check that must pass before the request is forwarded.
    pub(super) check: Option<Box<PasswordCheck>>,
}

/// Matches the route of a request and evaluates its policy. An error is the reply to send.
pub(super) fn match_route<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Core,
    client: &Client,
    host: &[u8],
    line: &RequestLine<'_>,
    body: RequestBody,
    headers: impl Fn() -> H,
    now: Instant,
) -> Result<AdmittedRequest, Reply> {
    let https_port = if client.is_secure() { None } else { core.https_port };
    let (app, policy, route_metrics) = match core.find(host, line.target.path()) {
        RouteLookup::App(app, None, route_metrics) => {
            return match to_https(core, https_port, host, line) {
                None => Ok(AdmittedRequest { app, policy: None, admission: None, route_metrics, check: None }),
                Some(reply) => Err(reply),
            };
        }
        RouteLookup::App(app, Some(policy), route_metrics) => (Some(app), policy, route_metrics),
        RouteLookup::Redirect(policy) => (None, policy, None),
        RouteLookup::NoPath => return Err(to_https(core, https_port, host, line).unwrap_or_else(Reply::not_found)),
        RouteLookup::NoHost => return Err(Reply::not_found()),
        RouteLookup::Ambiguous => return Err(Reply::ambiguous()),
    };
    let context = RequestContext { address: client.ip(), https_port, host, body, now };
    match policy.evaluate(&context, line, headers, &core.password_cache) {
        Decision::Answer(reason, reply) => {
            core.count(&policy.key, reason);
            Err(reply)
        }
        Decision::Pass(admission, check) => match app {
            Some(app) => Ok(AdmittedRequest { app, policy: Some(policy), admission, route_metrics, check }),
            None => Err(Reply::not_found()),
        },
    }
}

/// Returns the redirect to HTTPS for a request over plain HTTP; `None` if HTTPS is off or the path is an ACME
/// challenge.
fn to_https(core: &Core, https_port: Option<u16>, host: &[u8], line: &RequestLine<'_>) -> Option<Reply> {
    let port = https_port.filter(|_| !line.target.path().starts_with(ACME_PATH))?;
    core.count("", RejectReason::Redirected);
    Some(Reply::to_https(https_location(host, port, line.target.path_and_query)))
}
