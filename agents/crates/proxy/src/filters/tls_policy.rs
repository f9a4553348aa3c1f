//! TLS policy of a host: only connections whose handshake followed it may send requests to the host. Without this check a
//! request could name a host in its head that another name in the handshake hid (domain fronting).

use std::sync::Arc;

use fairlead_model::TrafficError;
use fairlead_tls::TlsPolicy;

use super::{CheckResult, Decision, Filter, RequestContext, RouteSettings};
use crate::exchange::Reply;

/// TLS policy that a route's host has.
#[derive(Debug)]
pub(super) struct TlsPolicyFilter(Arc<TlsPolicy>);

impl Filter for TlsPolicyFilter {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        Ok(route.tls.clone().map(Self))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        let Some(tls) = request.tls.filter(|tls| tls.follows(&self.0)) else {
            // A route that serves plain HTTP too has no version to check there, but may have a visitor to ask.
            let is_open = !request.is_secure && !self.0.asks_for_certificates();
            return if is_open { Decision::Pass } else { Decision::Reject(Reply::misdirected()) };
        };
        match tls.client_certificate_lines() {
            Some(lines) => Decision::Await(Box::pin(std::future::ready(CheckResult::Pass(lines.to_vec())))),
            None if self.0.requires_certificates() => Decision::Reject(Reply::misdirected()),
            None => Decision::Pass,
        }
    }
}
