//! Body size limit. The filter rejects a request by its Content-Length; the relay counts a body without one.

use fairlead_model::{RoutePolicy, TrafficError};
use fairlead_route::RequestBody;

use super::{Decision, Filter, FilterId, RequestContext, RouteSettings};
use crate::exchange::Reply;

/// Body size limit of a route in bytes.
#[derive(Debug)]
pub(crate) struct BodyLimit(u64);

impl BodyLimit {
    pub(crate) const ID: FilterId = FilterId::of("body_too_large");

    /// Returns the maximum size of a request body in bytes.
    pub(crate) fn bytes_max(policy: &RoutePolicy) -> u64 {
        if policy.request_body_bytes_max == 0 { u64::MAX } else { policy.request_body_bytes_max }
    }
}

impl Filter for BodyLimit {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let bytes_max = Self::bytes_max(route.policy);
        Ok((bytes_max < u64::MAX).then_some(Self(bytes_max)))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        match request.body {
            RequestBody::Length(length) if length > self.0 => Decision::Reject(Reply::content_too_large()),
            _ => Decision::Pass,
        }
    }
}
