//! Request-smuggling corpus of HTTP/1: bytes to send, requests that the app may see, and the expected response of the
//! proxy.

mod bodies;
mod heads;

/// Expected outcome of a case.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedOutcome {
    /// The proxy responds with this status and closes the connection; the app sees not one byte.
    Refused(u16),
    /// Like `Refused`, but after forwarding the head: the app sees no complete request.
    Cut(u16),
    /// The app sees exactly these requests (method, target, body); the proxy also serves the connection's next one.
    Forwarded(&'static [(&'static str, &'static str, &'static [u8])]),
    /// The app sees these requests, then the proxy closes the connection with this status.
    ForwardedThenRefused(&'static [(&'static str, &'static str, &'static [u8])], u16),
}

/// Case of the corpus. `{host}` stands for the routed host.
#[derive(Debug, Clone, Copy)]
pub struct CorpusCase {
    pub name: &'static str,
    pub send: &'static [u8],
    pub outcome: ExpectedOutcome,
}

type Requests = &'static [(&'static str, &'static str, &'static [u8])];

const fn refused(name: &'static str, status: u16, send: &'static [u8]) -> CorpusCase {
    CorpusCase { name, send, outcome: ExpectedOutcome::Refused(status) }
}

const fn cut(name: &'static str, status: u16, send: &'static [u8]) -> CorpusCase {
    CorpusCase { name, send, outcome: ExpectedOutcome::Cut(status) }
}

const fn forwarded(name: &'static str, requests: Requests, send: &'static [u8]) -> CorpusCase {
    CorpusCase { name, send, outcome: ExpectedOutcome::Forwarded(requests) }
}

const fn then_refused(name: &'static str, requests: Requests, status: u16, send: &'static [u8]) -> CorpusCase {
    CorpusCase { name, send, outcome: ExpectedOutcome::ForwardedThenRefused(requests, status) }
}

/// Returns the cases of all files.
pub fn all() -> impl Iterator<Item = &'static CorpusCase> {
    heads::CASES.iter().chain(bodies::CASES)
}

/// Empty POST and GET that most cases are variants of, as an app sees them.
const POST: Requests = &[("POST", "/", b"")];
const HELLO: Requests = &[("POST", "/", b"hello")];
const GET: Requests = &[("GET", "/", b"")];
