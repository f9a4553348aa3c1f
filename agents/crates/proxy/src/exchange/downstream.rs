//! What an exchange needs of a client's codec. A codec translates: it knows its protocol's bytes and decides nothing.

use std::rc::Rc;
use std::task::{Context, Poll};

use fairlead_route::{Coding, HeaderRules, ResponseBody, ResponseFacts};
use httparse::Header;

use super::Upload;
use crate::core::Backlog;
use crate::h1::fields;
use crate::policy::Page;

/// Why nothing more can come from, or go to, the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientError {
    /// It reset, closed in the middle of its request, or failed on the network.
    #[error("the client is gone")]
    Gone,
    /// Its body broke its own framing.
    #[error("the request's body is not valid")]
    BadBody,
}

/// A response's head on its way to the client.
pub(crate) struct ResponseView<'r> {
    pub(crate) status: u16,
    pub(crate) reason: &'r [u8],
    pub(crate) facts: &'r ResponseFacts<'r>,
    pub(crate) headers: &'r [Header<'r>],
    /// What is changed of them on the way; an app's codec says nothing here.
    pub(crate) edit: Edit<'r>,
}

/// What is changed of a response's fields.
#[derive(Clone, Copy, Default)]
pub(crate) struct Edit<'r> {
    /// Sent in place of the app's body.
    pub(crate) page: Option<&'r Page>,
    /// The route's rules: they have the last word.
    pub(crate) rules: Option<&'r HeaderRules>,
    /// A cookie of the proxy's own.
    pub(crate) set_cookie: Option<&'r [u8]>,
    /// Where HTTP/3 is spoken.
    pub(crate) alt_svc: Option<&'r [u8]>,
    /// The body is one that may be compressed.
    pub(crate) recoding: Option<Recoding<'r>>,
}

/// What compression, or that it would depend on the client, changes of the fields.
#[derive(Clone, Copy)]
pub(crate) struct Recoding<'r> {
    /// `None`: the client takes none.
    pub(crate) coding: Option<Coding>,
    /// The app's Vary does not say yet that it depends on the client.
    pub(crate) varies: bool,
    /// The app's ETag if it was strong, made weak: it stands for other bytes now.
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

/// Fields that describe an app's body, and are wrong of another.
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
    /// What is sent on, framing apart, with everything done that the route wants done. A codec sends these as they are.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> {
        let (facts, edit) = (self.facts, self.edit);
        let of_app = fields(self.headers).filter(move |(name, _)| facts.forwards(name) && edit.keeps(name));
        let of_page = edit.page.into_iter().flat_map(Page::fields);
        let of_page = of_page.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let of_page = of_page.filter(move |(name, _)| !edit.rules.is_some_and(|rules| rules.drops(name)));
        let cookie = edit.set_cookie.map(|cookie| (&b"set-cookie"[..], cookie));
        let alt_svc = edit.alt_svc.map(|place| (&b"alt-svc"[..], place));
        let of_coding = edit.recoding.into_iter().flat_map(Recoding::added);
        let of_coding = of_coding.filter(move |(name, _)| !edit.rules.is_some_and(|rules| rules.drops(name)));
        let of_proxy = cookie.into_iter().chain(alt_svc).chain(of_coding);
        of_app.chain(of_page).chain(of_proxy).chain(edit.rules.into_iter().flat_map(HeaderRules::added))
    }

    /// The value of Content-Length, where HTTP/2 and HTTP/3 have it; RFC 9110, 8.6 forbids it in 1xx and 204.
    pub(crate) fn content_length(&self) -> Option<u64> {
        match self.facts.body {
            // None for a stream that ended with its head: a gRPC error, for one, is to stay as it is.
            ResponseBody::Length(_) => self.facts.content_length,
            ResponseBody::None if self.status >= 200 && self.status != 204 => self.facts.content_length,
            _ => None,
        }
    }
}

impl Edit<'_> {
    /// Whether one of the app's fields is sent on.
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
    /// Whether `poll_gone` may be asked while the request's body is still due: the protocol tells of leaving apart from it.
    const SEES_LEAVING_IN_BODY: bool;

    /// Moves some of the request's body into `upload`, which frames it into `out`. Ready means progress.
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), ClientError>>;

    /// Sends an interim response, if the client's protocol has them.
    fn interim(&mut self, head: &ResponseView<'_>) -> Result<(), ClientError>;

    /// Begins the response. After a 101 the client's bytes are passed on as they are.
    fn head(&mut self, head: &ResponseView<'_>) -> Result<(), ClientError>;

    /// Sends some of its body.
    fn body(&mut self, data: &[u8]) -> Result<(), ClientError>;

    /// Ends it; `trailers` are lines with CRLF.
    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError>;

    /// Bytes that the client has not taken yet.
    fn backlog(&self) -> usize;

    /// Bytes held for the client in total: the backlog, and its part of a shared queue. If more than the backlog is held under
    /// pressure, `poll_flush` wakes the task when some of it is gone.
    fn held(&self) -> usize {
        self.backlog()
    }

    /// Backlog of the client's connection; `None` before anything was held.
    fn connection_backlog(&self) -> Option<&Rc<Backlog>>;

    /// Ready when the codec has handed everything on.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;

    /// Ready when the client ends while a response is due: `Ok` when it only sends nothing more, an error when it is gone.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;
}
