//! Client side of an exchange. Invariant: a codec only translates its protocol; it makes no policy decisions.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fairlead_route::{Coding, HeaderRules, ResponseBody, ResponseFacts};
use httparse::Header;

use super::Upload;
use crate::core::Backlog;
use crate::filters::PreparedPage;
use crate::h1::fields;

/// Failure on the client side: nothing more can be received or sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientError {
    /// The client reset, closed within its request, or failed on the network.
    #[error("the client is gone")]
    Gone,
    /// The request body violates its framing.
    #[error("the request's body is not valid")]
    BadBody,
}

/// Response head for the client.
pub(crate) struct ResponseView<'r> {
    pub(crate) status: u16,
    pub(crate) reason: &'r [u8],
    pub(crate) facts: &'r ResponseFacts<'r>,
    pub(crate) headers: &'r [Header<'r>],
    /// Edits of the header fields; an upstream codec leaves them empty.
    pub(crate) edit: Edit<'r>,
}

/// Edits of the fields of a response.
#[derive(Clone, Copy, Default)]
pub(crate) struct Edit<'r> {
    /// Page that replaces the body of the app.
    pub(crate) page: Option<&'r PreparedPage>,
    /// Header rules of the route. They are applied last.
    pub(crate) rules: Option<&'r HeaderRules>,
    /// Set-Cookie value of a sticky session.
    pub(crate) set_cookie: Option<&'r [u8]>,
    /// Value of Alt-Svc, which advertises HTTP/3.
    pub(crate) alt_svc: Option<&'r [u8]>,
    /// Set if the body is compressible.
    pub(crate) recoding: Option<Recoding<'r>>,
}

/// Edits of the fields for a compressible body, compressed or not.
#[derive(Clone, Copy)]
pub(crate) struct Recoding<'r> {
    /// `None` if the client accepts no coding.
    pub(crate) coding: Option<Coding>,
    /// True if Vary needs `accept-encoding` added.
    pub(crate) varies: bool,
    /// Strong ETag of the app as a weak one: it now identifies other bytes.
    pub(crate) weak_etag: Option<&'r [u8]>,
}

impl<'r> Recoding<'r> {
    fn drops(&self, name: &[u8]) -> bool {
        let of_bytes: [&[u8]; 4] = [b"accept-ranges", b"content-encoding", b"content-md5", b"digest"];
        self.coding.is_some() && of_bytes.iter().any(|other| name.eq_ignore_ascii_case(other))
            || self.weak_etag.is_some() && name.eq_ignore_ascii_case(b"etag")
    }

    fn added(self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> {
        let coding = self.coding.map(|coding| (&b"content-encoding"[..], coding.token().as_bytes()));
        let vary = self.varies.then_some((&b"vary"[..], &b"accept-encoding"[..]));
        let etag = self.weak_etag.map(|etag| (&b"etag"[..], etag));
        coding.into_iter().chain(vary).chain(etag)
    }
}

/// Fields that describe the body of the app and are wrong for a page.
const OF_CONTENT: [&[u8]; 9] = [
    b"accept-ranges",
    b"content-disposition",
    b"content-encoding",
    b"content-language",
    b"content-range",
    b"content-type",
    b"etag",
    b"last-modified",
    b"trailer",
];

impl<'r> ResponseView<'r> {
    /// Returns the fields to send, without framing, with all edits of the route applied. Codecs send them unchanged.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> {
        let (facts, edit) = (self.facts, self.edit);
        let of_app = fields(self.headers).filter(move |(name, _)| facts.forwards(name) && edit.keeps(name));
        let of_page = edit.page.into_iter().flat_map(PreparedPage::fields);
        let of_page = of_page.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let of_page = of_page.filter(move |(name, _)| !edit.rules.is_some_and(|rules| rules.drops(name)));
        let cookie = edit.set_cookie.map(|cookie| (&b"set-cookie"[..], cookie));
        let alt_svc = edit.alt_svc.map(|place| (&b"alt-svc"[..], place));
        let of_coding = edit.recoding.into_iter().flat_map(Recoding::added);
        let of_coding = of_coding.filter(move |(name, _)| !edit.rules.is_some_and(|rules| rules.drops(name)));
        let of_proxy = cookie.into_iter().chain(alt_svc).chain(of_coding);
        of_app.chain(of_page).chain(of_proxy).chain(edit.rules.into_iter().flat_map(HeaderRules::added))
    }

    /// Returns Content-Length for HTTP/2 and HTTP/3; RFC 9110, 8.6 forbids it in 1xx and 204.
    pub(crate) fn content_length(&self) -> Option<u64> {
        match self.facts.body {
            // `None` for a stream that ended with its head, so that a gRPC error for example stays unchanged.
            ResponseBody::Length(_) => self.facts.content_length,
            ResponseBody::None if self.status >= 200 && self.status != 204 => self.facts.content_length,
            _ => None,
        }
    }
}

impl Edit<'_> {
    /// True if a field of the app is forwarded.
    fn keeps(&self, name: &[u8]) -> bool {
        let described = self.page.is_some() && OF_CONTENT.iter().any(|other| name.eq_ignore_ascii_case(other));
        let recoded = self.recoding.is_some_and(|recoding| recoding.drops(name));
        !described && !recoded && !self.rules.is_some_and(|rules| rules.drops(name))
    }
}

/// (name, value) of trailer lines.
pub(crate) fn trailer_fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// The client's side of one exchange.
pub(crate) trait Downstream {
    /// True if `poll_gone` may be called while the request body is due: the protocol signals a reset separately from
    /// it.
    const SEES_LEAVING_IN_BODY: bool;

    /// True if `body_part` keeps the memory of a part instead of a copy.
    const KEEPS_BODY: bool = false;

    /// Reads a part of the request body into `upload`, which frames it into `out`. Ready means progress.
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), ClientError>>;

    /// Sends an interim response if the protocol has them.
    fn interim(&mut self, head: &ResponseView<'_>) -> Result<(), ClientError>;

    /// Sends the response head. After a 101, client bytes are forwarded unchanged.
    fn head(&mut self, head: &ResponseView<'_>) -> Result<(), ClientError>;

    /// Sends a part of the response body.
    fn body(&mut self, data: &[u8]) -> Result<(), ClientError>;

    /// Sends a part of the response body whose memory may be kept.
    fn body_part(&mut self, part: Bytes) -> Result<(), ClientError> {
        self.body(&part)
    }

    /// Ends the response; `trailers` are lines with CRLF.
    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError>;

    /// Returns the number of bytes that the client has not taken yet.
    fn backlog(&self) -> usize;

    /// Bytes held for the client in total: the backlog, and its part of a shared queue. If more than the backlog is held under
    /// pressure, `poll_flush` wakes the task when some of it is gone.
    fn held(&self) -> usize {
        self.backlog()
    }

    /// Backlog of the client's connection; `None` before anything was held.
    fn connection_backlog(&self) -> Option<&Rc<Backlog>>;

    /// Ready when the codec has written everything.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;

    /// Ready if the client closes while a response is due: `Ok` if it only closed its sending side, an error if it
    /// left.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;
}
