//! HTTP/1 client side of an exchange: decodes the request body, frames the response, and sends head and body together.

use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use fairlead_route::{DownstreamBody, RequestBody, ResponseBody, encode_response};

use super::BodyDecoder;
use super::chunked::{encode_chunk, encode_end};
use crate::core::{Backlog, Core};
use crate::exchange::{ClientError, Downstream, Reply, ResponseView, Upload};
use crate::limits::BACKLOG_BYTES_MAX;
use crate::transport::{Transport, TransportRead};

/// Maximum plaintext that is buffered before it is sealed: one TLS record.
const GATHER_BYTES_MAX: usize = 16 * 1024;

/// Connection of a client, with its current request.
#[derive(Debug)]
pub(crate) struct H1Client {
    pub(crate) core: Rc<Core>,
    pub(crate) transport: Transport,
    /// Unread plaintext: a partial head, a body, or the next request.
    pub(crate) input: Vec<u8>,
    plain: Vec<u8>,
    /// Rest of the request body.
    body: BodyDecoder,
    is_http_1_0: bool,
    is_head: bool,
    chunked: bool,
    /// True if the connection closes after this response.
    pub(crate) closing: bool,
    /// True if the client closed its sending side.
    pub(crate) ended: bool,
    peer: IpAddr,
    /// Backlog of the connection; `None` until bytes first wait for the client.
    backlog: Option<(Rc<Backlog>, usize)>,
}

impl H1Client {
    pub(crate) fn new(core: Rc<Core>, transport: Transport, input: Vec<u8>, peer: IpAddr) -> Self {
        Self {
            core,
            transport,
            input,
            plain: Vec::new(),
            body: BodyDecoder::Ended,
            is_http_1_0: false,
            is_head: false,
            chunked: false,
            closing: false,
            ended: false,
            peer,
            backlog: None,
        }
    }

    /// Starts a request after its head was read.
    pub(crate) fn begin(&mut self, body: RequestBody, is_http_1_0: bool, is_head: bool, close: bool) {
        self.body = BodyDecoder::of_request(body);
        self.is_http_1_0 = is_http_1_0;
        self.is_head = is_head;
        self.closing = close;
        self.chunked = false;
    }

    /// True if the whole request was read, so that the next request follows.
    pub(crate) fn request_has_ended(&self) -> bool {
        self.body.has_ended()
    }

    /// Writes a reply of the proxy.
    pub(crate) fn answer(&mut self, reply: &Reply) {
        self.closing |= !self.request_has_ended() || self.core.is_draining();
        self.core.buffers.lend(&mut self.plain);
        let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reply.reason);
        for (name, value) in reply.headers() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
        match (self.closing, self.is_http_1_0) {
            (true, _) => head.push_str("connection: close\r\n\r\n"),
            (false, true) => head.push_str("connection: keep-alive\r\n\r\n"),
            (false, false) => head.push_str("\r\n"),
        }
        self.plain.extend_from_slice(head.as_bytes());
        if !self.is_head {
            self.plain.extend_from_slice(&reply.body);
        }
    }

    fn encode_head(&mut self, view: &ResponseView<'_>, body: DownstreamBody) {
        let connection: Option<&[u8]> = match view.status {
            101 => Some(b"upgrade"),
            100..200 => None,
            _ if self.closing => Some(b"close"),
            _ if self.is_http_1_0 => Some(b"keep-alive"),
            _ => None,
        };
        self.core.buffers.lend(&mut self.plain);
        encode_response(view.status, view.reason, view.facts, view.fields(), body, connection, &mut self.plain);
    }

    fn count_backlog(&mut self) {
        let now = self.backlog();
        if now > 0 && self.backlog.is_none() {
            self.backlog = Some((self.core.backlog(self.peer), 0));
        }
        if let Some((backlog, counted)) = &mut self.backlog {
            backlog.update(counted, now);
        }
    }

    fn push_plain(&mut self) -> Result<(), ClientError> {
        if !self.plain.is_empty() {
            self.transport.push(&self.core, &self.plain).map_err(|_| ClientError::Gone)?;
            self.plain.clear();
        }
        self.core.buffers.reclaim(&mut self.plain);
        Ok(())
    }

    /// Decodes what was read; tells whether anything came of it.
    fn decode(&mut self, upload: &mut Upload, out: &mut Vec<u8>) -> Result<bool, ClientError> {
        let mut at = 0;
        while !upload.is_done() {
            let decoded = self.body.decode(&self.input[at..]).map_err(|_| ClientError::BadBody)?;
            at += decoded.consumed;
            upload.data(decoded.data, out);
            match decoded.end {
                Some(trailers) => upload.end(&trailers, out),
                None if decoded.consumed == 0 => break,
                None => {}
            }
        }
        self.input.drain(..at);
        self.core.buffers.reclaim(&mut self.input);
        Ok(at > 0)
    }
}

impl Downstream for H1Client {
    const SEES_LEAVING_IN_BODY: bool = false;

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), ClientError>> {
        loop {
            if !self.input.is_empty() && self.decode(upload, out)? {
                return Poll::Ready(Ok(()));
            }
            match ready!(self.transport.poll_read(cx, &self.core, &mut self.input)) {
                Ok(TransportRead::Some) => {}
                Ok(TransportRead::End) => {
                    self.ended = true;
                    let BodyDecoder::UntilClose = self.body else { return Poll::Ready(Err(ClientError::Gone)) };
                    upload.end(&[], out);
                    return Poll::Ready(Ok(()));
                }
                Err(_) => return Poll::Ready(Err(ClientError::Gone)),
            }
        }
    }

    fn interim(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        // HTTP/1.0 has no interim responses (RFC 9110, 15.2).
        if !self.is_http_1_0 {
            self.encode_head(view, DownstreamBody::None(None));
        }
        Ok(())
    }

    fn head(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        self.closing |= self.core.is_draining();
        let body = match view.facts.body {
            _ if view.status == 101 => DownstreamBody::None(None),
            ResponseBody::None => DownstreamBody::None(view.facts.content_length),
            ResponseBody::Length(length) => DownstreamBody::Length(length),
            ResponseBody::Chunked | ResponseBody::UntilClose if self.is_http_1_0 => DownstreamBody::UntilClose,
            ResponseBody::Chunked | ResponseBody::UntilClose => DownstreamBody::Chunked,
        };
        self.chunked = body == DownstreamBody::Chunked;
        self.closing |= body == DownstreamBody::UntilClose;
        self.encode_head(view, body);
        if view.status == 101 {
            self.body = BodyDecoder::UntilClose;
            self.closing = true;
        }
        Ok(())
    }

    fn body(&mut self, data: &[u8]) -> Result<(), ClientError> {
        if data.is_empty() {
            return Ok(());
        }
        if self.chunked || self.plain.len() + data.len() <= GATHER_BYTES_MAX {
            self.core.buffers.lend(&mut self.plain);
            if self.chunked {
                encode_chunk(data, &mut self.plain);
            } else {
                self.plain.extend_from_slice(data);
            }
            return Ok(());
        }
        self.push_plain()?;
        self.transport.push(&self.core, data).map_err(|_| ClientError::Gone)
    }

    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError> {
        if self.chunked {
            self.core.buffers.lend(&mut self.plain);
            encode_end(trailers, &mut self.plain);
        }
        Ok(())
    }

    fn backlog(&self) -> usize {
        self.plain.len() + self.transport.backlog()
    }

    fn connection_backlog(&self) -> Option<&Rc<Backlog>> {
        self.backlog.as_ref().map(|(backlog, _)| backlog)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.push_plain()?;
        let flushed = self.transport.poll_flush(cx, &self.core).map_err(|_| ClientError::Gone);
        self.count_backlog();
        flushed
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        // A client may send its next requests early, but not without end.
        while !self.ended && self.input.len() < BACKLOG_BYTES_MAX {
            match ready!(self.transport.poll_read(cx, &self.core, &mut self.input)) {
                Ok(TransportRead::Some) => {}
                Ok(TransportRead::End) => self.ended = true,
                Err(_) => return Poll::Ready(Err(ClientError::Gone)),
            }
        }
        if self.ended { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}
