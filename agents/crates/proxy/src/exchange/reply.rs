//! Replies that the proxy sends by itself: short, plain text, without internal details.

use std::borrow::Cow;

use bytes::Bytes;
use fairlead_route::{HeaderRules, Malformed};

use crate::filters::PreparedPage;

/// Response of the proxy itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
    /// Body that HEAD omits; HEAD still gets its Content-Length.
    pub(crate) body: Bytes,
    /// Header fields without framing; names in lower case.
    fields: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    has_page: bool,
}

impl Reply {
    /// Creates a reply with a human-readable sentence.
    pub(crate) fn new(status: u16, reason: &'static str, sentence: &str) -> Self {
        let fields = [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")];
        Self {
            status,
            reason,
            // Human-readable sentence with a line end.
            body: format!("{status} {reason}: {sentence}\n").into(),
            fields: fields.map(|(name, value)| (name.into(), value.into())).into(),
            has_page: false,
        }
    }

    /// Adds a field.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
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
        let reply = Self::new(error.status(), reason, &format!("{error}."));
        if reply.status != 405 {
            return reply;
        }
        reply.with("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found", "nothing is served at this address.")
    }

    /// Rejects a request whose connection was made for another host, or before its host's TLS policy changed
    /// (RFC 9110, 15.5.20): the client repeats it on a connection of its own.
    pub(crate) fn misdirected() -> Self {
        Self::new(421, "Misdirected Request", "this address needs a connection of its own.")
    }

    /// Rejects a path that could bypass the policy of a route.
    pub(crate) fn ambiguous() -> Self {
        Self::new(400, "Bad Request", "the path can be read in two ways; write it without escapes, `//` and dots.")
    }

    pub(crate) fn request_timeout() -> Self {
        Self::new(408, "Request Timeout", "the request did not arrive in time.")
    }

    pub(crate) fn content_too_large() -> Self {
        Self::new(413, "Content Too Large", "the request's body is larger than is allowed here.")
    }

    pub(crate) fn bad_gateway(id: &str) -> Self {
        Self::new(502, "Bad Gateway", &format!("the app did not answer properly (request {id})."))
    }

    pub(crate) fn unavailable(id: &str) -> Self {
        let sentence = format!("the app can't take this request now (request {id}).");
        Self::new(503, "Service Unavailable", &sentence).with("retry-after", "1")
    }

    pub(crate) fn gateway_timeout(id: &str) -> Self {
        Self::new(504, "Gateway Timeout", &format!("the app did not answer in time (request {id})."))
    }

    /// 308 keeps method and body, which 301 does not (RFC 9110, 15.4.9).
    pub(crate) fn to_https(location: String) -> Self {
        Self::new(308, "Permanent Redirect", "this address is served over HTTPS.").with("location", location)
    }

    /// Answers over plain HTTP for a host that HTTPS could not serve yet.
    pub(crate) fn no_certificate() -> Self {
        let reply = Self::new(
            503,
            "Service Unavailable",
            "this address has no certificate yet, so HTTPS can't serve it. Its owner finds the reason in the dashboard, on \
             the page of the domain.",
        );
        reply.with("retry-after", "30")
    }

    /// Returns the response to an HTTP-01 challenge (RFC 8555, 8.3).
    pub(crate) fn challenge(key_authorization: String) -> Self {
        let fields = [("content-type", "application/octet-stream"), ("cache-control", "no-store")];
        Self {
            status: 200,
            reason: "OK",
            body: key_authorization.into(),
            fields: fields.map(|(name, value)| (name.into(), value.into())).into(),
            has_page: false,
        }
    }

    /// Redirects as a route configures.
    pub(crate) fn redirect(status: u16, location: String) -> Self {
        let reason = match status {
            301 => "Moved Permanently",
            302 => "Found",
            303 => "See Other",
            307 => "Temporary Redirect",
            _ => "Permanent Redirect",
        };
        Self::new(status, reason, "this is served at another address.").with("location", location)
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(403, "Forbidden", "this address is not open to you.")
    }

    pub(crate) fn unauthorized(challenge: &str) -> Self {
        let reply = Self::new(401, "Unauthorized", "a name and a password are needed.");
        reply.with("www-authenticate", challenge.to_owned())
    }

    pub(crate) fn too_many_requests(retry_after_seconds: u64) -> Self {
        let reply = Self::new(429, "Too Many Requests", "this is more than is allowed here; try again later.");
        reply.with("retry-after", retry_after_seconds.to_string())
    }

    pub(crate) fn maintenance() -> Self {
        Self::new(503, "Service Unavailable", "this is being worked on.")
    }

    /// Replaces the sentence with a page.
    pub(crate) fn with_page(mut self, page: &PreparedPage) -> Self {
        self.has_page = true;
        self.body = page.body.clone();
        for (name, value) in page.fields() {
            self.fields.retain(|(other, _)| other != name);
            self.fields.push((name.into(), value.to_owned().into()));
        }
        self
    }

    pub(crate) fn has_page(&self) -> bool {
        self.has_page
    }

    /// Applies the response header rules of a route.
    pub(crate) fn under(mut self, rules: &HeaderRules) -> Self {
        self.fields.retain(|(name, _)| !rules.drops(name.as_bytes()));
        let text = |bytes: &[u8]| Cow::Owned(String::from_utf8_lossy(bytes).into_owned());
        self.fields.extend(rules.added().map(|(name, value)| (text(name), text(value))));
        self
    }

    /// Returns the fields to send, without framing; names in lower case.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }
}
