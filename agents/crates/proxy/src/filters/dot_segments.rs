//! Rejects dot segments on routes whose policy depends on the path: behind a rewritten prefix or for an auth app,
//! `/public/../admin` is another path than the one that was matched.

use fairlead_model::TrafficError;
use fairlead_route::has_dot_segment;

use super::{Decision, Filter, RequestContext, RouteSettings};
use crate::exchange::Reply;

#[derive(Debug)]
pub(super) struct DotSegmentFilter;

impl Filter for DotSegmentFilter {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let policy = route.policy;
        Ok((policy.prefix_for_app().is_some() || policy.forward_auth.is_some()).then_some(Self))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        if has_dot_segment(request.line.target.path()) { Decision::Reject(Reply::ambiguous()) } else { Decision::Pass }
    }
}
