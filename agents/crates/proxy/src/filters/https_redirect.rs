//! HTTPS redirect of requests over plain HTTP, if the proxy listens for HTTPS. Invariant: it never redirects to a host
//! without a certificate, because the browser would show an error that explains nothing.

use fairlead_model::TrafficError;
use fairlead_route::{RequestLine, https_location};

use super::{Decision, Filter, FilterId, RequestContext, RouteSettings};
use crate::exchange::Reply;

/// Path prefix that is allowed on plain HTTP, where certificate authorities send challenges (RFC 8555, 8.3).
const ACME_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// Redirects all requests over plain HTTP; a route that serves plain HTTP has none, unless its host asks for
/// client certificates.
#[derive(Debug)]
pub(crate) struct HttpsRedirect {
    has_certificate: bool,
}

impl HttpsRedirect {
    pub(crate) const ID: FilterId = FilterId::of("redirected");

    /// Returns the reply to a request over plain HTTP; `None` for a challenge, which an app may answer.
    pub(crate) fn reply(has_certificate: bool, host: &[u8], port: u16, line: &RequestLine<'_>) -> Option<Reply> {
        if challenge_token(line.target.path()).is_some() {
            return None;
        }
        Some(match has_certificate {
            true => Reply::to_https(https_location(host, port, line.target.path_and_query)),
            false => Reply::no_certificate(),
        })
    }
}

/// Returns the token of an HTTP-01 challenge, which its path ends with.
pub(crate) fn challenge_token(path: &[u8]) -> Option<&[u8]> {
    path.strip_prefix(ACME_PATH)
}

impl Filter for HttpsRedirect {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let serves_plain =
            route.policy.serve_plain_http && !route.tls.as_ref().is_some_and(|tls| tls.asks_for_certificates());
        Ok((!serves_plain).then_some(Self { has_certificate: route.has_certificate }))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        let reply =
            request.https_port.and_then(|port| Self::reply(self.has_certificate, request.host, port, request.line));
        reply.map_or(Decision::Pass, Decision::Reject)
    }
}
