//! Request body for the app, reframed for the upstream protocol.

use std::borrow::Cow;
use std::sync::Arc;

use fairlead_route::RequestBody;

use crate::h1::{encode_chunk, encode_end};
use crate::policy::Policy;

/// State of a request body that is being forwarded.
#[derive(Debug)]
pub(crate) struct Upload {
    chunked: bool,
    done: bool,
    bytes: u64,
    /// True if nothing was read from the client, not even the end of an empty body.
    untouched: bool,
    /// Trailers of a body that the protocol frames; a chunked body ends with them.
    trailers: Vec<u8>,
    /// Header rules of the route, which apply to trailers too.
    policy: Option<Arc<Policy>>,
}

impl Upload {
    pub(crate) fn new(body: RequestBody) -> Self {
        let done = matches!(body, RequestBody::None | RequestBody::Length(0));
        let chunked = body == RequestBody::Chunked;
        Self { chunked, done, bytes: 0, untouched: true, trailers: Vec::new(), policy: None }
    }

    /// Creates a body without framing for protocols with frames: data only, trailers separate.
    pub(crate) fn unframed(body: RequestBody) -> Self {
        Self { chunked: false, ..Self::new(body) }
    }

    /// Creates the client direction of a tunnel: raw bytes until the client closes.
    pub(crate) fn tunnel(bytes: u64) -> Self {
        Self { chunked: false, done: false, bytes, untouched: false, trailers: Vec::new(), policy: None }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Returns the number of body bytes read from the client.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        self.bytes += data.len() as u64;
        self.untouched = false;
        if self.chunked {
            encode_chunk(data, out);
        } else {
            out.extend_from_slice(data);
        }
    }

    /// Applies the header rules of a route to the trailers.
    pub(crate) fn under(self, policy: &Option<Arc<Policy>>) -> Self {
        let may_have_trailers = !self.done;
        let rules = policy.as_ref().filter(|policy| may_have_trailers && policy.request_rules().is_some());
        Self { policy: rules.cloned(), ..self }
    }

    pub(crate) fn end(&mut self, trailers: &[u8], out: &mut Vec<u8>) {
        let policy = self.policy.take();
        let rules = policy.as_deref().and_then(Policy::request_rules);
        let trailers = &*rules.map_or(Cow::Borrowed(trailers), |rules| rules.trailers(trailers));
        if self.chunked {
            encode_end(trailers, out);
        } else {
            self.trailers.extend_from_slice(trailers);
        }
        self.done = true;
        self.untouched = false;
    }

    /// Returns the trailer lines of an unframed body.
    pub(crate) fn trailers(&self) -> &[u8] {
        &self.trailers
    }

    /// Stops the upload: the app accepts no more bytes, but its response still counts.
    pub(crate) fn abandon(&mut self) {
        self.done = true;
    }
}
