//! Redirect of a whole route, which has no app.

use fairlead_model::{Redirect, TrafficError};
use fairlead_route::redirect_location;

use super::{Decision, Filter, RequestContext, RouteSettings};
use crate::exchange::Reply;

#[derive(Debug)]
pub(super) struct RouteRedirect {
    redirect: Redirect,
    prefix_bytes: usize,
}

impl Filter for RouteRedirect {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let filter = |redirect: &Redirect| Self { redirect: redirect.clone(), prefix_bytes: route.prefix_bytes };
        Ok(route.redirect.map(filter))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        let location = redirect_location(&self.redirect, request.line.target.path_and_query, self.prefix_bytes);
        Decision::Reject(Reply::redirect(self.redirect.status, location))
    }
}
