//! Answers of the proxy itself: short, plain, and never about its insides.

use fairlead_route::Malformed;

/// An answer that no app gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
    /// A sentence for people, with its line end.
    pub(crate) text: String,
    pub(crate) location: Option<String>,
    pub(crate) retry_after_seconds: Option<u32>,
}

impl Reply {
    fn new(status: u16, reason: &'static str, sentence: &str) -> Self {
        let text = format!("{status} {reason}: {sentence}\n");
        Self { status, reason, text, location: None, retry_after_seconds: None }
    }

    pub(crate) fn malformed(error: Malformed) -> Self {
        let reason = match error.status() {
            405 => "Method Not Allowed",
            414 => "URI Too Long",
            417 => "Expectation Failed",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            505 => "HTTP Version Not Supported",
            _ => "Bad Request",
        };
        Self::new(error.status(), reason, &format!("{error}."))
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found", "nothing is served at this address.")
    }

    pub(crate) fn request_timeout() -> Self {
        Self::new(408, "Request Timeout", "the request did not arrive in time.")
    }

    pub(crate) fn bad_gateway(id: &str) -> Self {
        Self::new(502, "Bad Gateway", &format!("the app did not answer properly (request {id})."))
    }

    pub(crate) fn unavailable(id: &str) -> Self {
        let reply =
            Self::new(503, "Service Unavailable", &format!("the app can't take this request now (request {id})."));
        Self { retry_after_seconds: Some(1), ..reply }
    }

    pub(crate) fn gateway_timeout(id: &str) -> Self {
        Self::new(504, "Gateway Timeout", &format!("the app did not answer in time (request {id})."))
    }

    /// 308 keeps method and body, which 301 does not (RFC 9110, 15.4.9).
    pub(crate) fn redirect(location: String) -> Self {
        let reply = Self::new(308, "Permanent Redirect", "this address is served over HTTPS.");
        Self { location: Some(location), ..reply }
    }

    /// The fields to send, framing apart.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let fixed =
            [("content-type", "text/plain; charset=utf-8".to_owned()), ("cache-control", "no-store".to_owned())];
        let location = self.location.clone().map(|location| ("location", location));
        let retry = self.retry_after_seconds.map(|seconds| ("retry-after", seconds.to_string()));
        let allow = (self.status == 405).then(|| ("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS".to_owned()));
        fixed.into_iter().chain(location).chain(retry).chain(allow)
    }
}
