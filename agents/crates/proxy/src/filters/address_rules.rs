//! Address rules: client addresses that a route admits.

use fairlead_model::TrafficError;
use fairlead_route::AddressRules;

use super::{Decision, Filter, RequestContext, RouteSettings};
use crate::exchange::Reply;

#[derive(Debug)]
pub(super) struct AddressFilter(AddressRules);

impl Filter for AddressFilter {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        Ok(AddressRules::new(&route.policy.allow, &route.policy.deny).map(Self))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        if self.0.admit(request.address) { Decision::Pass } else { Decision::Reject(Reply::forbidden()) }
    }
}
