//! Maintenance mode: all requests get a page with status 503.

use fairlead_model::TrafficError;

use super::{Decision, Filter, PreparedPage, RequestContext, RouteSettings};
use crate::exchange::Reply;

#[derive(Debug)]
pub(super) struct Maintenance(PreparedPage);

impl Filter for Maintenance {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        Ok(route.policy.maintenance.as_ref().map(|page| Self(PreparedPage::new(page))))
    }

    fn check(&self, _: &RequestContext<'_>) -> Decision {
        Decision::Reject(Reply::maintenance().with_page(&self.0))
    }
}
