//! The request-smuggling corpus of HTTP/1: what is sent, what of it an app may see, and how the proxy answers the rest.

mod bodies;
mod heads;

/// What becomes of a case.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// Answered with this status; the connection ends and the app sees not one byte.
    Refused(u16),
    /// As `Refused`, after the head was sent on: the app sees no whole request.
    Cut(u16),
    /// The app sees exactly these requests (method, target, body); the next one of the connection is served too.
    Forwarded(&'static [(&'static str, &'static str, &'static [u8])]),
    /// The app sees these requests, then the connection ends with this status.
    ForwardedThenRefused(&'static [(&'static str, &'static str, &'static [u8])], u16),
}

/// One case. `{host}` stands for the routed host.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub send: &'static [u8],
    pub outcome: Outcome,
}

type Requests = &'static [(&'static str, &'static str, &'static [u8])];

const fn refused(name: &'static str, status: u16, send: &'static [u8]) -> Case {
    Case { name, send, outcome: Outcome::Refused(status) }
}

const fn cut(name: &'static str, status: u16, send: &'static [u8]) -> Case {
    Case { name, send, outcome: Outcome::Cut(status) }
}

const fn forwarded(name: &'static str, requests: Requests, send: &'static [u8]) -> Case {
    Case { name, send, outcome: Outcome::Forwarded(requests) }
}

const fn then_refused(name: &'static str, requests: Requests, status: u16, send: &'static [u8]) -> Case {
    Case { name, send, outcome: Outcome::ForwardedThenRefused(requests, status) }
}

/// All cases.
pub fn all() -> impl Iterator<Item = &'static Case> {
    heads::CASES.iter().chain(bodies::CASES)
}

/// The empty POST and GET that most cases are variants of, as an app sees them.
const POST: Requests = &[("POST", "/", b"")];
const HELLO: Requests = &[("POST", "/", b"hello")];
const GET: Requests = &[("GET", "/", b"")];
