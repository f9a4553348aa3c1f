//! HTTPS redirect of requests over plain HTTP, if the proxy listens for HTTPS.

use fairlead_model::TrafficError;
use fairlead_route::{RequestLine, https_location};

use super::{Decision, Filter, FilterId, RequestContext, RouteSettings};
use crate::exchange::Reply;

/// Path prefix that is allowed on plain HTTP, where certificate authorities send challenges (RFC 8555, 8.3).
const ACME_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// Redirects all requests over plain HTTP; a route that serves plain HTTP has none.
#[derive(Debug)]
pub(crate) struct HttpsRedirect;

impl HttpsRedirect {
    pub(crate) const ID: FilterId = FilterId::of("redirected");
}

/// True for a challenge of a certificate authority.
pub(crate) fn is_acme_challenge(line: &RequestLine<'_>) -> bool {
    line.target.path().starts_with(ACME_PATH)
}

impl Filter for HttpsRedirect {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        Ok((!route.policy.serve_plain_http).then_some(Self))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        match request.https_port.filter(|_| !is_acme_challenge(request.line)) {
            None => Decision::Pass,
            Some(port) => {
                let location = https_location(request.host, port, request.line.target.path_and_query);
                Decision::Reject(Reply::to_https(location))
            }
        }
    }
}
