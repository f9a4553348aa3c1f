//! Request stream until its head is complete, and the conversion of that head into an exchange.

use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use fairlead_h3::{ErrorCode, Fault, Fields, MessageEvent, MessageReader, decode, request};
use fairlead_route::{HttpVersion, Malformed, RequestBody, RequestLine, RequestTarget, is_grpc};

use super::endpoint::EndpointHandle;
use crate::core::Core;
use crate::exchange::{self, Framing, Origin, RequestDispatch};
use crate::limits::HEADERS_MAX;

/// Reads a request stream until its head is complete.
pub(crate) struct RequestHeadReader {
    pub(crate) since_ms: u64,
    reader: MessageReader,
    head_bytes_max: usize,
    input: Bytes,
    block: Option<Bytes>,
    /// Cached result of `awaits_end`; set once the block is complete.
    awaits_end: Option<bool>,
    fault: Option<Fault>,
}

/// Result of reading the head of a request stream.
pub(crate) enum RequestHeadResult {
    Head(Head),
    /// Connection error: the client violated the protocol.
    Fault(ErrorCode),
    /// Stream error: the client violated the rules of its request only.
    Reset(ErrorCode),
}

/// Complete head, and the bytes that arrived after it.
pub(crate) struct Head {
    /// `None` if it exceeds the size limit.
    block: Option<Bytes>,
    size_max: usize,
    reader: MessageReader,
    input: Bytes,
    /// True if the stream has ended: nothing follows `input`.
    ended: bool,
}

/// Request with its route decision, and the rest of its stream.
pub(crate) struct RequestStream {
    pub(crate) dispatch: Result<RequestDispatch, Malformed>,
    /// True if the fields violate HTTP/3: a stream error, not a response (RFC 9114, 4.1.2).
    pub(crate) is_malformed: bool,
    pub(crate) is_head: bool,
    /// True for a gRPC call, which reports its status in trailers.
    pub(crate) is_grpc: bool,
    pub(crate) reader: MessageReader,
    pub(crate) input: Bytes,
    pub(crate) ended: bool,
    /// Body bytes that must follow, from Content-Length.
    pub(crate) body_left: Option<u64>,
}

impl RequestHeadReader {
    pub(crate) fn new(core: &Core) -> Self {
        let head_bytes_max = core.limits.head_bytes_max;
        Self {
            since_ms: core.alarms.now_ms(),
            reader: MessageReader::new(head_bytes_max),
            head_bytes_max,
            input: Bytes::new(),
            block: None,
            awaits_end: None,
            fault: None,
        }
    }

    /// Returns the number of bytes buffered until the head is complete.
    pub(crate) fn held_bytes(&self) -> usize {
        self.input.len() + self.block.as_ref().map_or(0, Bytes::len)
    }

    pub(crate) fn push(&mut self, bytes: Bytes) {
        append(&mut self.input, bytes);
        if self.fault.is_some() {
            return;
        }
        if self.block.is_some() {
            return self.skip();
        }
        match self.reader.advance(&self.input) {
            Ok((MessageEvent::Head(block), consumed)) => {
                self.block = Some(self.input.slice_ref(block));
                self.input = self.input.split_off(consumed);
                self.skip();
            }
            // The reader reports content and trailers only after a head.
            Ok((_, consumed)) => self.input = self.input.split_off(consumed),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// Skips unknown frames: some clients send one after each head, and it is no content.
    fn skip(&mut self) {
        let mut reader = self.reader.clone();
        if let Ok((MessageEvent::More, consumed)) = reader.advance(&self.input) {
            self.reader = reader;
            self.input = self.input.split_off(consumed);
        }
    }

    /// True if the head is complete and nothing follows yet. With content there, it does not matter whether more
    /// follows.
    pub(crate) fn has_head_only(&self) -> bool {
        self.block.is_some() && self.input.is_empty()
    }

    /// True if the end of the request is worth waiting for: a GET without it would be forwarded with a body. Decoded
    /// once, because a client can trigger this call with every empty frame.
    pub(crate) fn awaits_end(&mut self) -> bool {
        if self.block.is_none() {
            return true;
        }
        if let Some(known) = self.awaits_end {
            return known;
        }
        let awaits = self.is_bodiless();
        self.awaits_end = Some(awaits);
        awaits
    }

    fn is_bodiless(&self) -> bool {
        let mut fields = Fields::default();
        let Some(block) = &self.block else { return true };
        decode(block, self.head_bytes_max, &mut fields).is_ok()
            && request(&fields).is_some_and(|head| matches!(head.method, b"GET" | b"HEAD"))
    }

    /// True if the head is complete or invalid.
    pub(crate) fn is_enough(&self) -> bool {
        self.block.is_some() || self.fault.is_some()
    }

    /// Returns the result; `ended` if the stream has ended.
    pub(crate) fn finish(self, ended: bool) -> RequestHeadResult {
        let fault = match (self.fault, &self.block) {
            (Some(fault), _) => Some(fault),
            (None, None) if ended => self.reader.end(self.input.len()).err(),
            (None, _) => None,
        };
        match fault {
            Some(Fault::Connection(code)) => return RequestHeadResult::Fault(code),
            Some(Fault::Stream(code)) => return RequestHeadResult::Reset(code),
            Some(Fault::HeadTooLarge) | None => {}
        }
        let Self { reader, head_bytes_max: size_max, input, block, .. } = self;
        RequestHeadResult::Head(Head { block, size_max, reader, input, ended })
    }
}

/// Appends `bytes` to `input`; copies only if `input` is not empty. Joined buffers have spare capacity, so that single
/// bytes do not copy everything each time.
pub(crate) fn append(input: &mut Bytes, bytes: Bytes) {
    if input.is_empty() {
        *input = bytes;
        return;
    }
    let mut joined = match std::mem::take(input).try_into_mut() {
        Ok(own) => own,
        Err(shared) => {
            let mut own = BytesMut::with_capacity((shared.len() + bytes.len()).next_power_of_two());
            own.extend_from_slice(&shared);
            own
        }
    };
    joined.extend_from_slice(&bytes);
    *input = joined.freeze();
}

impl Head {
    /// Decodes the fields and decides the route. A decoding error ends the connection.
    pub(crate) fn begin(
        self,
        core: &Rc<Core>,
        origin: &Origin,
        driver: &EndpointHandle,
    ) -> Result<RequestStream, ErrorCode> {
        let mut fields = driver.fields.borrow_mut();
        let content = match self.ended.then(|| self.reader.content_bytes(&self.input)).transpose() {
            Ok(content) => content,
            Err(Fault::Connection(code) | Fault::Stream(code)) => return Err(code),
            Err(Fault::HeadTooLarge) => None,
        };
        let decoded = match &self.block {
            Some(block) => decode(block, self.size_max, &mut fields),
            None => Err(Fault::HeadTooLarge),
        };
        let (dispatch, is_malformed) = match decoded {
            Ok(()) => match request(&fields) {
                Some(_) => (self.exchange(core, origin, &fields, content), false),
                None => (Err(Malformed::Syntax), true),
            },
            Err(Fault::HeadTooLarge) => (Err(Malformed::HeadTooLarge), false),
            Err(Fault::Connection(code) | Fault::Stream(code)) => return Err(code),
        };
        let (dispatch, body, is_grpc) = match dispatch {
            Ok((dispatch, framing)) => (Ok(dispatch), framing.body, framing.grpc),
            Err(error) => (Err(error), RequestBody::None, says_grpc(&fields)),
        };
        let body_left = match body {
            RequestBody::Length(length) => Some(length),
            RequestBody::None => Some(0),
            RequestBody::Chunked => None,
        };
        let Self { reader, input, ended, .. } = self;
        let is_head = request(&fields).is_some_and(|head| head.method == b"HEAD");
        Ok(RequestStream { dispatch, is_malformed, is_head, is_grpc, reader, input, ended, body_left })
    }

    fn exchange(
        &self,
        core: &Rc<Core>,
        origin: &Origin,
        fields: &Fields,
        content: Option<u64>,
    ) -> Result<(RequestDispatch, Framing), Malformed> {
        let Some(head) = request(fields) else { return Err(Malformed::Syntax) };
        if fields.len() - head.pseudo_count > HEADERS_MAX {
            return Err(Malformed::HeadTooLarge);
        }
        let path = head.path.unwrap_or(b"/");
        if path.len() > core.limits.target_bytes_max {
            return Err(Malformed::TargetTooLong);
        }
        let line = RequestLine {
            method: head.method,
            target: RequestTarget::parse(head.method, path)?,
            version: HttpVersion::Http3,
            authority: head.authority,
            unsized_body: content != Some(0),
        };
        let regular = || fields.iter().skip(head.pseudo_count).map(|(name, value)| (name, value.trim_ascii()));
        let (dispatch, framing) = exchange::begin(core, origin, &line, regular)?;
        if let RequestBody::Length(length) = framing.body
            && content.is_some_and(|content| content != length)
        {
            return Err(Malformed::ContentLength);
        }
        Ok((dispatch, framing))
    }
}

fn says_grpc(fields: &Fields) -> bool {
    fields.iter().any(|(name, value)| name == b"content-type" && is_grpc(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a complete HEADERS frame.
    fn head(method: &[u8]) -> Bytes {
        let (mut block, mut frame) = (Vec::new(), Vec::new());
        fairlead_h3::encode_prefix(&mut block);
        let fields: [(&[u8], &[u8]); 4] =
            [(b":method", method), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/")];
        fields.iter().for_each(|(name, value)| fairlead_h3::encode_field(name, value, &mut block));
        let mut buffer = [0; fairlead_h3::FRAME_HEADER_BYTES_MAX];
        frame.extend_from_slice(fairlead_h3::header(false, block.len() as u64, &mut buffer));
        frame.extend_from_slice(&block);
        frame.into()
    }

    #[test]
    fn a_head_that_waits_for_its_end_is_decoded_once_however_often_it_is_asked() {
        for (method, awaits) in [(&b"GET"[..], true), (b"POST", false)] {
            let mut opening = RequestHeadReader {
                since_ms: 0,
                reader: MessageReader::new(1 << 14),
                head_bytes_max: 1 << 14,
                input: Bytes::new(),
                block: None,
                awaits_end: None,
                fault: None,
            };
            assert!(opening.awaits_end() && opening.awaits_end.is_none(), "nothing is known before the head");
            opening.push(head(method));
            assert_eq!(opening.awaits_end(), awaits);
            // An invalid block proves that it is not decoded again.
            opening.block = Some(Bytes::from_static(&[0xff; 8]));
            // Unknown empty frame.
            opening.push(Bytes::from_static(&[0x21, 0]));
            assert_eq!(opening.awaits_end(), awaits);
        }
    }

    #[test]
    fn a_head_that_comes_byte_by_byte_is_moved_a_few_times_only() {
        let (mut input, mut moves, mut place) = (Bytes::new(), 0, std::ptr::null());
        let datagram = Bytes::from(vec![b'x'; 64 * 1024]);
        for at in 0..datagram.len() {
            append(&mut input, datagram.slice(at..=at));
            moves += usize::from(input.as_ptr() != place);
            place = input.as_ptr();
        }
        assert_eq!(input, datagram);
        assert!(moves < 40, "{moves}");
    }
}
