//! What an exchange needs of a client's codec. A codec translates: it knows its protocol's bytes and decides nothing.

use std::task::{Context, Poll};

use fairlead_route::ResponseFacts;
use httparse::Header;

use super::Upload;

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

    /// Ready when the codec has handed everything on.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;

    /// Ready when the client ends while a response is due: `Ok` when it only sends nothing more, an error when it is gone.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>>;
}
