//! HTTP/3 client side of an exchange: converts HEADERS and DATA frames of one request stream, in its own task.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fairlead_h3::{
    ErrorCode, FRAME_HEADER_BYTES_MAX, Fault, Fields, MessageEvent, MessageReader, decode, encode_field, encode_prefix,
    encode_status, header, is_regular,
};
use fairlead_route::{ResponseBody, grpc_status, trailer_forwards};
use h2::Reason;
use quinn_proto::StreamId;

use super::connection::{H3Connection, ReadResult, WriteResult};
use super::request_head::{RequestStream, append};
use crate::core::{Backlog, BodyQueue, Core, copy_small_rest};
use crate::exchange::{
    ClientError, Downstream, ExchangeOutcome, Reply, RequestDispatch, ResponseView, Upload, trailer_fields,
};

/// Spawns a task that serves one request.
pub(crate) fn spawn(connection: &Rc<H3Connection>, id: StreamId, dispatch: RequestStream) {
    let connection = Rc::clone(connection);
    fairlead_reactor::spawn(serve(connection, id, dispatch));
}

async fn serve(connection: Rc<H3Connection>, id: StreamId, stream: RequestStream) {
    let RequestStream { dispatch, is_malformed, is_head, is_grpc, reader, input, ended, body_left } = stream;
    let core = Rc::clone(&connection.core);
    let mut client = H3Client {
        connection,
        id,
        is_head,
        is_grpc,
        reader,
        input,
        request_ended: ended,
        body_left,
        trailers: Vec::new(),
        pending: BodyQueue::default(),
        unsent: Bytes::new(),
        held: 0,
        framed: false,
        end: false,
        finished: false,
        reset: Some(ErrorCode::Internal),
        canceled: false,
    };
    let ended = match dispatch {
        Ok(RequestDispatch::Forward(exchange)) => {
            let alarm = core.alarms.alarm();
            exchange.run(&mut client, &alarm).await
        }
        Ok(RequestDispatch::Answer(reply)) => ExchangeOutcome::Answer(reply),
        Err(error) => {
            count_malformed(&core);
            if is_malformed {
                client.reset = Some(ErrorCode::Message);
                return;
            }
            ExchangeOutcome::Answer(Reply::malformed(error))
        }
    };
    match ended {
        ExchangeOutcome::Answer(reply) => client.answer(&reply).await,
        ExchangeOutcome::Reset(code) => client.reset = Some(reset_code(code)),
        ExchangeOutcome::Complete | ExchangeOutcome::Broken => {}
    }
}

/// Maps an HTTP/2 reset code of an app to HTTP/3 (RFC 9113, 7).
fn reset_code(code: u32) -> ErrorCode {
    match Reason::from(code) {
        Reason::NO_ERROR => ErrorCode::NoError,
        Reason::REFUSED_STREAM => ErrorCode::RequestRejected,
        Reason::CANCEL => ErrorCode::RequestCancelled,
        Reason::ENHANCE_YOUR_CALM => ErrorCode::ExcessiveLoad,
        _ => ErrorCode::Internal,
    }
}

fn count_malformed(core: &Core) {
    core.malformed_requests.set(core.malformed_requests.get() + 1);
}

/// Request stream of a client; released when dropped.
struct H3Client {
    connection: Rc<H3Connection>,
    id: StreamId,
    is_head: bool,
    /// True for a gRPC call, which reports its status in trailers.
    is_grpc: bool,
    reader: MessageReader,
    /// Unread bytes of the request.
    input: Bytes,
    /// True if nothing follows `input`.
    request_ended: bool,
    /// Body bytes that must still follow, from Content-Length.
    body_left: Option<u64>,
    trailers: Vec<u8>,
    /// Frames buffered until the next flush.
    pending: BodyQueue,
    /// Frames that QUIC has not accepted yet.
    unsent: Bytes,
    /// Number of bytes in both that count in the backlog of the connection.
    held: usize,
    /// True if one DATA frame header covers the whole body.
    framed: bool,
    /// True if nothing follows the buffered frames.
    end: bool,
    /// True if the end of the stream was sent.
    finished: bool,
    /// Code with which an incomplete response is reset.
    reset: Option<ErrorCode>,
    /// True if the client cancelled the response.
    canceled: bool,
}

impl Drop for H3Client {
    fn drop(&mut self) {
        self.connection.backlog.update(&mut self.held, 0);
        let reset = self.reset.filter(|_| !self.finished);
        // After a complete response, stopping the rest of the request is no error (RFC 9114, 4.1).
        let stop = (!self.request_ended).then_some(reset.unwrap_or(ErrorCode::NoError));
        self.connection.leave_stream(self.id, reset, stop, self.canceled && reset.is_some());
    }
}

impl H3Client {
    /// Sends a reply; returns when it is complete or the client has left.
    async fn answer(&mut self, reply: &Reply) {
        self.push_answer(reply);
        let alarm = self.connection.core.alarms.alarm();
        alarm.set(self.connection.core.limits.write_stall_timeout);
        let sent = std::future::poll_fn(|cx| crate::h1::or_alarm(self.poll_flush(cx), &alarm, cx)).await;
        if !matches!(sent, Some(Ok(()))) {
            tracing::debug!("a client left before its answer");
        }
    }

    /// An answer to a call is trailers only, which are a head that ends (gRPC over HTTP/2, Responses; HTTP/3 has the same).
    fn push_call_answer(&mut self, reply: &Reply) {
        let mut block = Vec::new();
        encode_prefix(&mut block);
        encode_status(200, &mut block);
        encode_field(b"content-type", b"application/grpc", &mut block);
        encode_field(b"grpc-status", grpc_status(reply.status).to_string().as_bytes(), &mut block);
        encode_field(b"grpc-message", reply.reason.as_bytes(), &mut block);
        self.push_frame(false, &block);
        self.end = true;
    }

    fn push_answer(&mut self, reply: &Reply) {
        if self.is_grpc {
            return self.push_call_answer(reply);
        }
        let driver = Rc::clone(self.connection.driver());
        let mut block = driver.block.borrow_mut();
        block.clear();
        encode_prefix(&mut block);
        encode_status(reply.status, &mut block);
        for (name, value) in reply.headers() {
            encode_field(name.as_bytes(), value.as_bytes(), &mut block);
        }
        encode_field(b"content-length", reply.body.len().to_string().as_bytes(), &mut block);
        self.push_frame(false, &block);
        drop(block);
        if !self.is_head {
            self.push_frame(true, &reply.body);
        }
        self.end = true;
    }

    /// The client has taken its request back.
    fn gone<T>(&mut self) -> Poll<Result<T, ClientError>> {
        self.reset = Some(ErrorCode::RequestCancelled);
        self.canceled = true;
        Poll::Ready(Err(ClientError::Gone))
    }

    /// Hands on the available bytes, and the end after them.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        loop {
            if self.unsent.is_empty() && !self.pending.is_empty() {
                self.unsent = self.pending.take(usize::MAX);
            }
            if self.unsent.is_empty() {
                break;
            }
            match self.connection.write(self.id, &mut self.unsent, cx.waker()) {
                WriteResult::All => {}
                WriteResult::Some => {
                    copy_small_rest(&mut self.unsent);
                    return Poll::Pending;
                }
                WriteResult::Gone => return self.gone(),
            }
        }
        if self.end && !self.finished {
            self.finished = true;
            if !self.connection.finish(self.id) {
                return self.gone();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn push_frame(&mut self, is_data: bool, payload: &[u8]) {
        self.pending.extend_from_slice(header(is_data, payload.len() as u64, &mut [0; FRAME_HEADER_BYTES_MAX]));
        self.pending.extend_from_slice(payload);
    }

    fn push_head(&mut self, view: &ResponseView<'_>) {
        let driver = Rc::clone(self.connection.driver());
        let mut block = driver.block.borrow_mut();
        block.clear();
        encode_prefix(&mut block);
        encode_status(view.status, &mut block);
        for (name, value) in view.fields() {
            encode_field(name, value, &mut block);
        }
        if let Some(length) = view.content_length() {
            encode_length(length, &mut block);
        }
        self.push_frame(false, &block);
    }

    /// Counts some of the body against what Content-Length promised; more would be another request to the app.
    fn count(&mut self, length: usize) -> Result<(), ClientError> {
        if let Some(left) = &mut self.body_left {
            *left = left.checked_sub(length as u64).ok_or(ClientError::BadBody)?;
        }
        Ok(())
    }

    fn fault(&mut self, fault: Fault) -> ClientError {
        match fault {
            Fault::Connection(code) => {
                self.connection.close(code);
                ClientError::Gone
            }
            Fault::Stream(code) => {
                self.reset = Some(code);
                ClientError::Gone
            }
            Fault::HeadTooLarge => ClientError::BadBody,
        }
    }

    /// Takes what it can out of the input; `false` when more of it has to come.
    fn advance(&mut self, upload: &mut Upload, out: &mut Vec<u8>) -> Result<bool, ClientError> {
        loop {
            let input = self.input.clone();
            let (event, consumed) = self.reader.advance(&input).map_err(|fault| self.fault(fault))?;
            self.input = input.slice(consumed..);
            match event {
                MessageEvent::Data(data) => {
                    self.count(data.len())?;
                    upload.data(data, out);
                    return Ok(true);
                }
                MessageEvent::Trailers(block) => self.trailers = self.trailer_lines(block)?,
                MessageEvent::Head(_) => return Err(ClientError::BadBody),
                MessageEvent::More if self.request_ended => {
                    self.reader.end(self.input.len()).map_err(|fault| self.fault(fault))?;
                    if self.body_left.is_some_and(|left| left > 0) {
                        return Err(ClientError::BadBody);
                    }
                    upload.end(&self.trailers, out);
                    return Ok(true);
                }
                MessageEvent::More => return Ok(false),
            }
        }
    }

    fn trailer_lines(&mut self, block: &[u8]) -> Result<Vec<u8>, ClientError> {
        let (mut fields, mut lines) = (Fields::default(), Vec::new());
        decode(block, self.connection.core.limits.head_bytes_max, &mut fields).map_err(|fault| self.fault(fault))?;
        for (name, value) in fields.iter() {
            if !is_regular(name, value) {
                self.reset = Some(ErrorCode::Message);
                return Err(ClientError::BadBody);
            }
            if trailer_forwards(name) {
                for part in [name, b": ", value.trim_ascii(), b"\r\n"] {
                    lines.extend_from_slice(part);
                }
            }
        }
        Ok(lines)
    }
}

fn encode_length(length: u64, block: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = length;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    encode_field(b"content-length", &digits[start..], block);
}

impl Downstream for H3Client {
    const SEES_LEAVING_IN_BODY: bool = true;
    const KEEPS_BODY: bool = true;

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), ClientError>> {
        loop {
            if (!self.input.is_empty() || self.request_ended) && self.advance(upload, out)? {
                return Poll::Ready(Ok(()));
            }
            match self.connection.read(self.id, cx.waker()) {
                ReadResult::Some(bytes) => append(&mut self.input, bytes),
                ReadResult::End => self.request_ended = true,
                ReadResult::Blocked => return Poll::Pending,
                ReadResult::Gone => {
                    self.request_ended = true;
                    return self.gone();
                }
            }
        }
    }

    fn interim(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        self.push_head(view);
        Ok(())
    }

    fn head(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        self.push_head(view);
        if let ResponseBody::Length(length @ 1..) = view.facts.body {
            self.framed = true;
            self.pending.extend_from_slice(header(true, length, &mut [0; FRAME_HEADER_BYTES_MAX]));
        }
        Ok(())
    }

    fn body(&mut self, data: &[u8]) -> Result<(), ClientError> {
        if self.framed {
            self.pending.extend_from_slice(data);
        } else if !data.is_empty() {
            self.push_frame(true, data);
        }
        Ok(())
    }

    fn body_part(&mut self, part: Bytes) -> Result<(), ClientError> {
        if !self.framed && !part.is_empty() {
            self.pending.extend_from_slice(header(true, part.len() as u64, &mut [0; FRAME_HEADER_BYTES_MAX]));
        }
        self.pending.push(part);
        Ok(())
    }

    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError> {
        let mut block = Vec::new();
        for (name, value) in trailer_fields(trailers) {
            if block.is_empty() {
                encode_prefix(&mut block);
            }
            encode_field(name, value, &mut block);
        }
        if !block.is_empty() {
            self.push_frame(false, &block);
        }
        self.end = true;
        Ok(())
    }

    fn backlog(&self) -> usize {
        self.pending.len() + self.unsent.len()
    }

    fn connection_backlog(&self) -> Option<&Rc<Backlog>> {
        Some(&self.connection.backlog)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        let flushed = self.poll_write(cx);
        let now = self.backlog();
        self.connection.backlog.update(&mut self.held, now);
        flushed
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        if self.connection.is_stopped(self.id, cx.waker()) {
            return self.gone();
        }
        Poll::Pending
    }
}
