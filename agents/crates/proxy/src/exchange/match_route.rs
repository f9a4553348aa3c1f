//! Route match and policy evaluation of a request, before it reaches an app.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use fairlead_route::{Client, RequestBody, RequestLine};

use super::Reply;
use crate::connection_tls::ConnectionTls;
use crate::core::{App, Core, RouteLookup, RouteMetrics};
use crate::filters::{HttpsRedirect, RequestContext, challenge_token};
use crate::policy::{Policy, PolicyAdmission};

/// Request that its route admits.
pub(super) struct AdmittedRequest {
    pub(super) app: Rc<App>,
    /// `None` for a route without a policy.
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) admission: PolicyAdmission,
    pub(super) route_metrics: Option<Rc<RouteMetrics>>,
}

/// Matches the route of a request and evaluates its policy. An error is the reply to send.
pub(super) fn match_route<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(
    core: &Core,
    (client, tls): (&Client, Option<&ConnectionTls>),
    host: &[u8],
    line: &RequestLine<'_>,
    body: RequestBody,
    headers: impl Fn() -> H,
    now: Instant,
) -> Result<AdmittedRequest, Reply> {
    let https_port = if client.is_secure() { None } else { core.https_port };
    if !client.is_secure()
        && let Some(token) = challenge_token(line.target.path())
        && let Some(answer) = core.key_authorization(host, token)
    {
        return Err(Reply::challenge(answer));
    }
    let (app, policy, route_metrics) = match core.find(host, line.target.path()) {
        RouteLookup::App(app, None, route_metrics) => {
            return match to_https(core, https_port, host, line) {
                None => Ok(AdmittedRequest { app, policy: None, admission: PolicyAdmission::default(), route_metrics }),
                Some(reply) => Err(reply),
            };
        }
        RouteLookup::App(app, Some(policy), route_metrics) => (Some(app), policy, route_metrics),
        RouteLookup::Redirect(policy) => (None, policy, None),
        RouteLookup::NoPath => return Err(to_https(core, https_port, host, line).unwrap_or_else(Reply::not_found)),
        RouteLookup::NoHost => return Err(Reply::not_found()),
        RouteLookup::Ambiguous => return Err(Reply::ambiguous()),
    };
    let request = RequestContext {
        address: client.ip(),
        is_secure: client.is_secure(),
        tls,
        https_port,
        host,
        line,
        headers: &headers,
        body,
        now,
        password_cache: &core.password_cache,
    };
    let admission = policy.admit(&request).map_err(|(filter, reply)| {
        core.count(&policy.key, filter);
        reply
    })?;
    match app {
        Some(app) => Ok(AdmittedRequest { app, policy: Some(policy), admission, route_metrics }),
        None => Err(Reply::not_found()),
    }
}

/// Returns the reply to a request over plain HTTP on a route without a policy; `None` if HTTPS is off.
fn to_https(core: &Core, https_port: Option<u16>, host: &[u8], line: &RequestLine<'_>) -> Option<Reply> {
    let reply = HttpsRedirect::reply(core.has_certificate(host), host, https_port?, line)?;
    core.count("", HttpsRedirect::ID);
    Some(reply)
}
