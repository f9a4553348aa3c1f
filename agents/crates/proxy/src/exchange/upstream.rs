//! App side of an exchange. Invariant: a codec only translates its protocol; it makes no policy decisions.

use std::io;
use std::task::{Context, Poll};

use fairlead_route::RequestBody;

use super::download::Download;
use super::relay::RelayError;
use super::{Downstream, Upload};
use crate::core::{Buffers, Core};

/// The app's side of one exchange.
pub(crate) trait Upstream {
    /// Returns the request body, framed for this protocol.
    fn upload(&self, body: RequestBody) -> Upload;

    /// Returns the send buffer for the request; `poll_flush` sends it.
    fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8>;

    /// Returns the number of bytes that the app has not taken yet.
    fn backlog(&self) -> usize;

    /// True if `poll_flush` has something to send.
    fn owes(&self, upload: &Upload) -> bool;

    /// Sends the buffer, and the end of the body when `upload` is done. Ready when all is sent; an error if the app
    /// accepts no more.
    fn poll_flush(&mut self, cx: &mut Context<'_>, buffers: &Buffers, upload: &Upload) -> Poll<io::Result<()>>;

    /// Discards bytes that were not sent.
    fn discard(&mut self, buffers: &Buffers);

    /// Closes the proxy's half of a tunnel; the half of the app stays open.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Passes a part of the response to `download`. Ready means progress.
    fn poll_response<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        core: &Core,
        download: &mut Download<'_, D>,
    ) -> Poll<Result<(), RelayError>>;

    /// True if neither side has bytes left, so that the connection can be reused.
    fn is_clean(&self) -> bool;
}
