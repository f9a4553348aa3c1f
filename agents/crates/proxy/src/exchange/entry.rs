//! A request's way in: its route, and what the route says before any app hears of it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use fairlead_route::{Client, RequestBody, RequestLine, https_location};

use super::Reply;
use crate::core::{App, Core, Destination, RouteMetrics};
use crate::policy::{ACME_PATH, Decision, LimitGuard, PasswordCheck, Policy, Reason, RequestContext};

/// What a request that may go on has.
pub(super) struct Entered {
    pub(super) app: Rc<App>,
    /// `None` for a route that changes nothing.
    pub(super) policy: Option<Arc<Policy>>,
    /// Counted in its limits for as long as this is held.
    pub(super) admission: Option<LimitGuard>,
    /// Its route's numbers.
    pub(super) route_metrics: Option<Rc<RouteMetrics>>,
    /// To be passed first.
    pub(super) check: Option<Box<PasswordCheck>>,
}

/// Finds a request's route and asks it; an error is the answer that the request gets at once.
pub(super) fn enter<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Core,
    client: &Client,
    host: &[u8],
    line: &RequestLine<'_>,
    body: RequestBody,
    headers: impl Fn() -> H,
    now: Instant,
) -> Result<Entered, Reply> {
    let https_port = if client.is_secure() { None } else { core.https_port };
    let (app, policy, route_metrics) = match core.find(host, line.target.path()) {
        Destination::App(app, None, route_metrics) => {
            return match to_https(core, https_port, host, line) {
                None => Ok(Entered { app, policy: None, admission: None, route_metrics, check: None }),
                Some(reply) => Err(reply),
            };
        }
        Destination::App(app, Some(policy), route_metrics) => (Some(app), policy, route_metrics),
        Destination::Redirect(policy) => (None, policy, None),
        Destination::NoPath => return Err(to_https(core, https_port, host, line).unwrap_or_else(Reply::not_found)),
        Destination::NoHost => return Err(Reply::not_found()),
        Destination::Ambiguous => return Err(Reply::ambiguous()),
    };
    let context = RequestContext { address: client.ip(), https_port, host, body, now };
    match policy.evaluate(&context, line, headers, &core.password_cache) {
        Decision::Answer(reason, reply) => {
            core.count(&policy.key, reason);
            Err(reply)
        }
        Decision::Pass(admission, check) => match app {
            Some(app) => Ok(Entered { app, policy: Some(policy), admission, route_metrics, check }),
            None => Err(Reply::not_found()),
        },
    }
}

/// The way to HTTPS for a request over plain HTTP, when there is one.
fn to_https(core: &Core, https_port: Option<u16>, host: &[u8], line: &RequestLine<'_>) -> Option<Reply> {
    let port = https_port.filter(|_| !line.target.path().starts_with(ACME_PATH))?;
    core.count("", Reason::Redirected);
    Some(Reply::to_https(https_location(host, port, line.target.path_and_query)))
}
