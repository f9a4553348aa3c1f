//! HTTP/2 client side of an exchange: converts headers and frames of one stream in both directions.

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use fairlead_route::{HttpVersion, Malformed, RequestLine, RequestTarget, ResponseBody, grpc_status, is_grpc};
use h2::ext::Protocol;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};

use super::OpenStream;
use super::payload::{Payload, StreamBacklog};
use super::trailers::{trailer_lines, trailer_map};
use crate::core::{Backlog, BodyQueue, Core};
use crate::exchange::{
    self, ClientError, Downstream, ExchangeOutcome, Origin, Reply, RequestDispatch, ResponseView, Upload,
};
use crate::limits::HEADERS_MAX;
use crate::websocket;

/// Overhead in bytes that counts for each field beside its name and value (RFC 9113, 6.5.2).
const FIELD_BYTES: usize = 32;

pub(crate) async fn serve(
    core: Rc<Core>,
    origin: Rc<Origin>,
    request: Request<RecvStream>,
    respond: SendResponse<Payload>,
    open: OpenStream,
    held: Rc<StreamBacklog>,
) {
    let (parts, body) = request.into_parts();
    let mut client = H2Client {
        body,
        respond,
        is_head: parts.method == Method::HEAD,
        is_grpc: parts.headers.get(CONTENT_TYPE).is_some_and(|kind| is_grpc(kind.as_bytes())),
        send: None,
        pending: BodyQueue::default(),
        held,
        end: None,
        ended: false,
        gone: false,
    };
    let ended = match begin(&core, &origin, &parts, !client.body.is_end_stream()) {
        Ok(RequestDispatch::Forward(exchange)) => {
            drop(parts);
            let alarm = core.alarms.alarm();
            exchange.run(&mut client, &alarm).await
        }
        Ok(RequestDispatch::Answer(reply)) => ExchangeOutcome::Answer(reply),
        Err(error) => {
            core.malformed_requests.set(core.malformed_requests.get() + 1);
            ExchangeOutcome::Answer(Reply::malformed(error))
        }
    };
    client.finish(&ended);
    if client.gone {
        open.reset_by_client();
    }
}

fn begin(
    core: &Rc<Core>,
    origin: &Origin,
    parts: &http::request::Parts,
    has_body: bool,
) -> Result<RequestDispatch, Malformed> {
    if parts.headers.len() > HEADERS_MAX || head_bytes(&parts.headers) > core.limits.head_bytes_max {
        return Err(Malformed::HeadTooLarge);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if path.len() > core.limits.target_bytes_max {
        return Err(Malformed::TargetTooLong);
    }
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    let headers =
        || parts.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes().trim_ascii()));
    match parts.extensions.get::<Protocol>() {
        None => {
            let method = parts.method.as_str().as_bytes();
            let target = RequestTarget::parse(method, path.as_bytes())?;
            let line = RequestLine { method, target, version: HttpVersion::Http2, authority, unsized_body: has_body };
            exchange::begin(core, origin, &line, headers).map(|(dispatch, _)| dispatch)
        }
        // Converts extended CONNECT (RFC 8441) to the HTTP/1.1 upgrade that it stands for.
        Some(protocol) if parts.method == Method::CONNECT && protocol.as_str() == "websocket" => {
            let target = RequestTarget::parse(b"GET", path.as_bytes())?;
            let line =
                RequestLine { method: b"GET", target, version: HttpVersion::Http11, authority, unsized_body: false };
            let key = websocket::key([core.ids.random(), core.ids.random()]);
            let handshake: [(&[u8], &[u8]); 3] =
                [(b"upgrade", b"websocket"), (b"connection", b"upgrade"), (b"sec-websocket-key", key.as_bytes())];
            let headers = || headers().filter(|(name, _)| *name != b"sec-websocket-key").chain(handshake);
            let (mut dispatch, _) = exchange::begin(core, origin, &line, headers)?;
            if let RequestDispatch::Forward(exchange) = &mut dispatch {
                exchange.require_websocket(websocket::accept(key.as_bytes()));
            }
            Ok(dispatch)
        }
        Some(_) => Err(Malformed::Method),
    }
}

/// Returns the size of the fields (RFC 9113, 6.5.2).
fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES).sum()
}

struct H2Client {
    body: RecvStream,
    respond: SendResponse<Payload>,
    is_head: bool,
    /// True for a gRPC call, which reports its status in trailers.
    is_grpc: bool,
    /// Set once the head of a response with a body was sent.
    send: Option<SendStream<Payload>>,
    pending: BodyQueue,
    /// Sum of `pending` and of the bytes that `h2` buffers for this stream.
    held: Rc<StreamBacklog>,
    /// Trailers; set when nothing else follows `pending`.
    end: Option<HeaderMap>,
    /// True if END_STREAM was sent.
    ended: bool,
    /// True if the client reset the stream, or violated the protocol and was reset.
    gone: bool,
}

impl H2Client {
    /// Ends the stream. `h2` itself refuses the rest of an unread request body after all data was sent: an explicit
    /// reset would overtake the response.
    fn finish(&mut self, ended: &ExchangeOutcome) {
        match ended {
            ExchangeOutcome::Complete => {}
            ExchangeOutcome::Answer(reply) => {
                if let Err(error) = self.answer(reply) {
                    tracing::debug!(%error, "a client left before its answer");
                }
            }
            ExchangeOutcome::Broken if self.gone => {}
            ExchangeOutcome::Broken => self.reset(Reason::INTERNAL_ERROR),
            ExchangeOutcome::Reset(code) => self.reset(Reason::from(*code)),
        }
    }

    fn reset(&mut self, reason: Reason) {
        match &mut self.send {
            Some(send) => send.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    /// Answers a gRPC call with trailers only, which are a head that ends the stream (gRPC over HTTP/2, Responses).
    fn answer_call(&mut self, reply: &Reply) -> Result<(), h2::Error> {
        let mut response = Response::new(());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", u16::from(grpc_status(reply.status)).into());
        headers.insert("grpc-message", HeaderValue::from_static(reply.reason));
        self.send = Some(self.respond.send_response(response, true)?);
        Ok(())
    }

    fn answer(&mut self, reply: &Reply) -> Result<(), h2::Error> {
        if self.is_grpc {
            return self.answer_call(reply);
        }
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in reply.headers() {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                response.headers_mut().append(name, value);
            }
        }
        response.headers_mut().insert(CONTENT_LENGTH, reply.body.len().into());
        let mut send = self.respond.send_response(response, self.is_head)?;
        if !self.is_head {
            // h2 holds what the client's window has no room for.
            self.held.add(reply.body.len());
            send.send_data(Payload::new(reply.body.clone(), &self.held), true)?;
        }
        self.send = Some(send);
        Ok(())
    }
}

impl Drop for H2Client {
    fn drop(&mut self) {
        self.held.remove(self.pending.len());
    }
}

fn response(view: &ResponseView<'_>) -> Result<Response<()>, ClientError> {
    let mut response = Response::new(());
    // A tunnel begins with a success (RFC 8441, 5), and needs no proof.
    let tunnel = view.status == 101;
    let status = if tunnel { 200 } else { view.status };
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| ClientError::Gone)?;
    let headers = response.headers_mut();
    headers.reserve(view.headers.len());
    for (name, value) in view.fields() {
        // httparse let through only what these take.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    if tunnel {
        headers.remove(SEC_WEBSOCKET_ACCEPT);
        return Ok(response);
    }
    if let Some(length) = view.content_length() {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    Ok(response)
}

impl Downstream for H2Client {
    const SEES_LEAVING_IN_BODY: bool = true;
    const KEEPS_BODY: bool = true;

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), ClientError>> {
        match ready!(self.body.poll_data(cx)) {
            Some(Ok(data)) => {
                upload.data(&data, out);
                // The window opens only as fast as the app takes the bytes.
                self.body.flow_control().release_capacity(data.len()).map_err(|_| ClientError::Gone)?;
            }
            Some(Err(_)) => {
                self.gone = true;
                return Poll::Ready(Err(ClientError::Gone));
            }
            None => {
                let trailers = ready!(self.body.poll_trailers(cx)).map_err(|_| ClientError::Gone)?;
                upload.end(&trailers.map_or_else(Vec::new, |trailers| trailer_lines(&trailers)), out);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn interim(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        self.respond.send_informational(response(view)?).map_err(|_| ClientError::Gone)
    }

    fn head(&mut self, view: &ResponseView<'_>) -> Result<(), ClientError> {
        let empty = view.status != 101 && matches!(view.facts.body, ResponseBody::None | ResponseBody::Length(0));
        let send = self.respond.send_response(response(view)?, empty).map_err(|_| ClientError::Gone)?;
        self.ended = empty;
        self.send = Some(send);
        Ok(())
    }

    fn body(&mut self, data: &[u8]) -> Result<(), ClientError> {
        self.pending.extend_from_slice(data);
        self.held.add(data.len());
        Ok(())
    }

    fn body_part(&mut self, part: Bytes) -> Result<(), ClientError> {
        self.held.add(part.len());
        self.pending.push(part);
        Ok(())
    }

    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError> {
        self.end = Some(trailer_map(trailers));
        Ok(())
    }

    fn backlog(&self) -> usize {
        self.pending.len()
    }

    fn held(&self) -> usize {
        self.held.bytes()
    }

    fn connection_backlog(&self) -> Option<&Rc<Backlog>> {
        Some(self.held.connection())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        let Some(send) = &mut self.send else { return Poll::Ready(Ok(())) };
        while !self.pending.is_empty() {
            send.reserve_capacity(self.pending.len());
            let capacity = send.capacity();
            if capacity == 0 {
                match ready!(send.poll_capacity(cx)) {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => {
                        self.gone = true;
                        return Poll::Ready(Err(ClientError::Gone));
                    }
                }
            }
            let data = self.pending.take(capacity);
            let last = self.pending.is_empty() && self.end.as_ref().is_some_and(HeaderMap::is_empty);
            send.send_data(Payload::new(data, &self.held), last).map_err(|_| ClientError::Gone)?;
            self.ended |= last;
        }
        if let Some(trailers) = self.end.take_if(|_| !self.ended) {
            self.ended = true;
            let sent = if trailers.is_empty() {
                send.send_data(Payload::new(Bytes::new(), &self.held), true)
            } else {
                send.send_trailers(trailers)
            };
            sent.map_err(|_| ClientError::Gone)?;
        }
        self.held.wake_when_empty(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        let reset = match &mut self.send {
            Some(send) => send.poll_reset(cx),
            None => self.respond.poll_reset(cx),
        };
        reset.map(|_| {
            self.gone = true;
            Err(ClientError::Gone)
        })
    }
}
