//! Header rules of a route, for requests and responses.

use fairlead_model::RoutePolicy;
use fairlead_route::HeaderRules;

use crate::exchange::Reply;

/// Header rules of both directions.
#[derive(Debug)]
pub(crate) struct HeaderEdits {
    pub(crate) requests: Option<HeaderRules>,
    pub(crate) responses: Option<HeaderRules>,
}

impl HeaderEdits {
    /// Compiles the rules; the app gets none of the client's `dropped` request headers.
    pub(crate) fn compile(policy: &RoutePolicy, dropped: &[&str]) -> Self {
        Self {
            requests: HeaderRules::of_requests(&policy.request_headers, dropped),
            responses: HeaderRules::of_responses(&policy.response_headers),
        }
    }

    /// Applies the rules for responses to a reply of the proxy.
    pub(crate) fn dress(&self, reply: Reply) -> Reply {
        match &self.responses {
            Some(rules) => reply.under(rules),
            None => reply,
        }
    }
}
