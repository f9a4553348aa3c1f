//! What an exchange needs of an app's codec. A codec translates: it knows its protocol's bytes and decides nothing.

use std::io;
use std::task::{Context, Poll};

use fairlead_route::RequestBody;

use super::download::Download;
use super::relay::Failure;
use super::{Downstream, Upload};
use crate::core::{Buffers, Core};

/// The app's side of one exchange.
pub(crate) trait Upstream {
    /// The request's body, framed as this protocol wants it.
    fn upload(&self, body: RequestBody) -> Upload;

    /// Where the request goes on; nothing is sent before `poll_flush`.
    fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8>;

    /// Bytes that the app has not taken yet.
    fn backlog(&self) -> usize;

    /// Whether `poll_flush` has anything to do.
    fn owes(&self, upload: &Upload) -> bool;

    /// Sends what waits, and the end once `upload` is at it. Ready when all is sent; an error when the app takes no more.
    fn poll_flush(&mut self, cx: &mut Context<'_>, buffers: &Buffers, upload: &Upload) -> Poll<io::Result<()>>;

    /// Forgets what is unsent.
    fn discard(&mut self, buffers: &Buffers);

    /// Closes our half of a tunnel; the app's half goes on.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Hands some of the response to `download`. Ready means progress.
    fn poll_response<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        core: &Core,
        download: &mut Download<'_, D>,
    ) -> Poll<Result<(), Failure>>;

    /// Nothing is left over on either side: another exchange may follow.
    fn is_clean(&self) -> bool;
}
