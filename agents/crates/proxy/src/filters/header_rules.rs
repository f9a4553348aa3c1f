//! Header rules of a route, for requests and responses.

use fairlead_model::{HeaderAction, HeaderRule, RoutePolicy};
use fairlead_route::HeaderRules;

use crate::exchange::Reply;

/// Header rules of both directions.
#[derive(Debug)]
pub(crate) struct HeaderEdits {
    pub(crate) requests: Option<HeaderRules>,
    pub(crate) responses: Option<HeaderRules>,
    /// Rules for responses over HTTPS.
    pub(crate) secure_responses: Option<HeaderRules>,
}

impl HeaderEdits {
    /// Compiles the rules; the app gets none of the client's `dropped` request headers.
    pub(crate) fn compile(policy: &RoutePolicy, dropped: &[&str]) -> Self {
        Self {
            requests: HeaderRules::of_requests(&policy.request_headers, dropped),
            responses: HeaderRules::of_responses(&policy.response_headers),
            secure_responses: HeaderRules::of_responses(&secure_rules(policy)),
        }
    }

    /// Returns the rules for responses; those over HTTPS set Strict-Transport-Security too.
    pub(crate) fn of_responses(&self, is_secure: bool) -> Option<&HeaderRules> {
        if is_secure { self.secure_responses.as_ref() } else { self.responses.as_ref() }
    }

    /// Applies the rules for responses to a reply of the proxy.
    pub(crate) fn dress(&self, reply: Reply, is_secure: bool) -> Reply {
        match self.of_responses(is_secure) {
            Some(rules) => reply.under(rules),
            None => reply,
        }
    }
}

/// Returns the rules of the route with that of Strict-Transport-Security, which browsers ignore over plain HTTP
/// (RFC 6797, 7.2). It comes last, so it replaces the app's header and those of other rules.
fn secure_rules(policy: &RoutePolicy) -> Vec<HeaderRule> {
    let mut rules = policy.response_headers.clone();
    rules.extend(policy.hsts.as_ref().map(|hsts| {
        let mut value = format!("max-age={}", hsts.max_age_seconds);
        if hsts.include_subdomains {
            value.push_str("; includeSubDomains");
        }
        if hsts.preload {
            value.push_str("; preload");
        }
        HeaderRule { action: HeaderAction::Set, name: "strict-transport-security".to_owned(), value }
    }));
    rules
}
