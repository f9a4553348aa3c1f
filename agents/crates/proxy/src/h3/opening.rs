//! A request stream until its head is whole, and the head as an exchange takes it.

use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use fairlead_h3::{Code, Event, Fault, Fields, MessageReader, decode, request};
use fairlead_route::{Malformed, RequestBody, RequestLine, Target, Version, is_grpc};

use super::endpoint::Driver;
use crate::core::Core;
use crate::exchange::{self, Begun, Framing, Origin};
use crate::limits::HEADERS_MAX;

/// What has come of a stream.
pub(crate) struct Opening {
    pub(crate) since_ms: u64,
    reader: MessageReader,
    head_bytes_max: usize,
    input: Bytes,
    block: Option<Bytes>,
    /// Known once it was asked with the block there.
    awaits_end: Option<bool>,
    fault: Option<Fault>,
}

/// What a stream turned out to be.
pub(crate) enum Opened {
    Head(Head),
    /// The client broke the protocol: its connection ends.
    Fault(Code),
    /// It broke its own request.
    Reset(Code),
}

/// A head, and what came with it.
pub(crate) struct Head {
    /// `None` when it is larger than is taken.
    block: Option<Bytes>,
    size_max: usize,
    reader: MessageReader,
    input: Bytes,
    /// The stream has ended: nothing comes after `input`.
    ended: bool,
}

/// A request that was begun, and the rest of its stream.
pub(crate) struct BegunStream {
    pub(crate) begun: Result<Begun, Malformed>,
    /// The fields break HTTP/3's own rules: an error of the stream, not an answer (RFC 9114, 4.1.2).
    pub(crate) is_malformed: bool,
    pub(crate) is_head: bool,
    /// The outcome is told in trailers.
    pub(crate) is_grpc: bool,
    pub(crate) reader: MessageReader,
    pub(crate) input: Bytes,
    pub(crate) ended: bool,
    /// What Content-Length promises.
    pub(crate) body_left: Option<u64>,
}

impl Opening {
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

    /// What it keeps until the head is whole.
    pub(crate) fn held_bytes(&self) -> usize {
        self.input.len() + self.block.as_ref().map_or(0, Bytes::len)
    }

    /// Adds what has come.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        append(&mut self.input, bytes);
        if self.fault.is_some() {
            return;
        }
        if self.block.is_some() {
            return self.skip();
        }
        match self.reader.advance(&self.input) {
            Ok((Event::Head(block), consumed)) => {
                self.block = Some(self.input.slice_ref(block));
                self.input = self.input.split_off(consumed);
                self.skip();
            }
            // The reader gives content and trailers after a head only.
            Ok((_, consumed)) => self.input = self.input.split_off(consumed),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// Takes frames that nobody knows off the input: some clients send one after each head, and it is no content.
    fn skip(&mut self) {
        let mut reader = self.reader.clone();
        if let Ok((Event::More, consumed)) = reader.advance(&self.input) {
            self.reader = reader;
            self.input = self.input.split_off(consumed);
        }
    }

    /// Whether the head is there and nothing else: with content there it makes no difference whether more of it is.
    pub(crate) fn has_head_only(&self) -> bool {
        self.block.is_some() && self.input.is_empty()
    }

    /// Whether the end of the request is worth waiting for, which is on its way: a GET that seems to have a body would be
    /// sent on as one.
    /// Decoded once: a client may have this asked as often as it sends a frame without bytes.
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

    /// Whether no more has to be read to know.
    pub(crate) fn is_enough(&self) -> bool {
        self.block.is_some() || self.fault.is_some()
    }

    /// Tells what the stream is; `ended` when nothing more of it comes.
    pub(crate) fn finish(self, ended: bool) -> Opened {
        let fault = match (self.fault, &self.block) {
            (Some(fault), _) => Some(fault),
            (None, None) if ended => self.reader.end(self.input.len()).err(),
            (None, _) => None,
        };
        match fault {
            Some(Fault::Connection(code)) => return Opened::Fault(code),
            Some(Fault::Stream(code)) => return Opened::Reset(code),
            Some(Fault::HeadTooLarge) | None => {}
        }
        let Self { reader, head_bytes_max: size_max, input, block, .. } = self;
        Opened::Head(Head { block, size_max, reader, input, ended })
    }
}

/// Puts `bytes` after what is there; a copy only when something is. What was joined before has room for more, so that one who
/// sends byte by byte does not have all of it copied for each.
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
    /// Reads the fields and decides where the request goes. An error in the block ends the connection.
    pub(crate) fn begin(self, core: &Rc<Core>, origin: &Origin, driver: &Driver) -> Result<BegunStream, Code> {
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
        let (begun, is_malformed) = match decoded {
            Ok(()) => match request(&fields) {
                Some(_) => (self.exchange(core, origin, &fields, content), false),
                None => (Err(Malformed::Syntax), true),
            },
            Err(Fault::HeadTooLarge) => (Err(Malformed::HeadTooLarge), false),
            Err(Fault::Connection(code) | Fault::Stream(code)) => return Err(code),
        };
        let (begun, body, is_grpc) = match begun {
            Ok((begun, framing)) => (Ok(begun), framing.body, framing.grpc),
            Err(error) => (Err(error), RequestBody::None, says_grpc(&fields)),
        };
        let body_left = match body {
            RequestBody::Length(length) => Some(length),
            RequestBody::None => Some(0),
            RequestBody::Chunked => None,
        };
        let Self { reader, input, ended, .. } = self;
        let is_head = request(&fields).is_some_and(|head| head.method == b"HEAD");
        Ok(BegunStream { begun, is_malformed, is_head, is_grpc, reader, input, ended, body_left })
    }

    fn exchange(
        &self,
        core: &Rc<Core>,
        origin: &Origin,
        fields: &Fields,
        content: Option<u64>,
    ) -> Result<(Begun, Framing), Malformed> {
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
            target: Target::parse(head.method, path)?,
            version: Version::Http3,
            authority: head.authority,
            unsized_body: content != Some(0),
        };
        let regular = || fields.iter().skip(head.pseudo_count).map(|(name, value)| (name, value.trim_ascii()));
        let (begun, framing) = exchange::begin(core, origin, &line, regular)?;
        if let RequestBody::Length(length) = framing.body
            && content.is_some_and(|content| content != length)
        {
            return Err(Malformed::ContentLength);
        }
        Ok((begun, framing))
    }
}

fn says_grpc(fields: &Fields) -> bool {
    fields.iter().any(|(name, value)| name == b"content-type" && is_grpc(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole HEADERS frame.
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
            let mut opening = Opening {
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
            // A block that can't be decoded any more is not looked at again.
            opening.block = Some(Bytes::from_static(&[0xff; 8]));
            // A frame without bytes that nobody knows.
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
