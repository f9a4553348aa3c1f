//! One HTTP/2 stream: its headers as a request line and fields, its frames as body, and the response back into frames.

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use fairlead_route::{Malformed, RequestLine, ResponseBody, Target, Version, trailer_forwards};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};

use super::OpenStream;
use crate::core::Core;
use crate::exchange::{self, Begun, ClientError, Downstream, Ended, Origin, Reply, ResponseView, Upload};
use crate::h1::fields;
use crate::limits::HEADERS_MAX;

/// Serves one request.
pub(crate) async fn serve(
    core: Rc<Core>,
    origin: Rc<Origin>,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    open: OpenStream,
) {
    let (parts, body) = request.into_parts();
    let mut client =
        H2Client { body, respond, send: None, pending: BytesMut::new(), end: None, ended: false, gone: false };
    let ended = match begin(&core, &origin, &parts, !client.body.is_end_stream()) {
        Ok(Begun::Forward(exchange)) => {
            drop(parts);
            let alarm = core.alarms.alarm();
            exchange.run(&mut client, &alarm).await
        }
        Ok(Begun::Answer(reply)) => Ended::Answer(reply),
        Err(error) => {
            core.malformed_requests.set(core.malformed_requests.get() + 1);
            Ended::Answer(Reply::malformed(error))
        }
    };
    client.finish(&ended);
    drop(open);
}

fn begin(core: &Rc<Core>, origin: &Origin, parts: &http::request::Parts, has_body: bool) -> Result<Begun, Malformed> {
    if parts.headers.len() > HEADERS_MAX {
        return Err(Malformed::HeadTooLarge);
    }
    let method = parts.method.as_str().as_bytes();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if path.len() > core.limits.target_bytes_max {
        return Err(Malformed::TargetTooLong);
    }
    let line = RequestLine {
        method,
        target: Target::parse(method, path.as_bytes())?,
        version: Version::Http2,
        authority: parts.uri.authority().map(|authority| authority.as_str().as_bytes()),
        unsized_body: has_body,
    };
    let headers =
        || parts.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes().trim_ascii()));
    exchange::begin(core, origin, &line, headers).map(|(begun, _)| begun)
}

struct H2Client {
    body: RecvStream,
    respond: SendResponse<Bytes>,
    /// Once the response has begun and has a body.
    send: Option<SendStream<Bytes>>,
    pending: BytesMut,
    /// Set when nothing follows `pending` but these trailers.
    end: Option<HeaderMap>,
    /// END_STREAM was sent.
    ended: bool,
    /// The client reset the stream, or broke its rules and was reset for it.
    gone: bool,
}

impl H2Client {
    /// Ends the stream. What is left of a body that nobody wants is refused by `h2` itself, after all that was sent: a reset
    /// of ours would overtake the response.
    fn finish(&mut self, ended: &Ended) {
        match ended {
            Ended::Complete => {}
            Ended::Answer(reply) => {
                if let Err(error) = self.answer(reply) {
                    tracing::debug!(%error, "a client left before its answer");
                }
            }
            Ended::Broken if self.gone => {}
            Ended::Broken => self.reset(Reason::INTERNAL_ERROR),
        }
    }

    fn reset(&mut self, reason: Reason) {
        match &mut self.send {
            Some(send) => send.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    fn answer(&mut self, reply: &Reply) -> Result<(), h2::Error> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in reply.headers() {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response.headers_mut().insert(CONTENT_LENGTH, reply.text.len().into());
        let mut send = self.respond.send_response(response, false)?;
        // A short text fits every window a client may announce; h2 holds it if not.
        send.send_data(Bytes::from(reply.text.clone()), true)?;
        self.send = Some(send);
        Ok(())
    }
}

fn response(view: &ResponseView<'_>) -> Result<Response<()>, ClientError> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(view.status).map_err(|_| ClientError::Gone)?;
    let headers = response.headers_mut();
    headers.reserve(view.headers.len());
    for (name, value) in fields(view.headers).filter(|(name, _)| view.facts.forwards(name)) {
        // httparse let through only what these take.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let length = match view.facts.body {
        ResponseBody::Length(length) => Some(length),
        ResponseBody::None if view.status >= 200 && view.status != 204 => view.facts.content_length,
        _ => None,
    };
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    Ok(response)
}

fn trailer_lines(trailers: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in trailers.iter().filter(|(name, _)| trailer_forwards(name.as_str().as_bytes())) {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

fn trailer_map(lines: &[u8]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(line[colon + 1..].trim_ascii()));
        if let (Ok(name), Ok(value)) = (name, value) {
            map.append(name, value);
        }
    }
    map
}

impl Downstream for H2Client {
    const SEES_LEAVING_IN_BODY: bool = true;

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
        let empty = matches!(view.facts.body, ResponseBody::None | ResponseBody::Length(0));
        let send = self.respond.send_response(response(view)?, empty).map_err(|_| ClientError::Gone)?;
        self.ended = empty;
        self.send = Some(send);
        Ok(())
    }

    fn body(&mut self, data: &[u8]) -> Result<(), ClientError> {
        self.pending.extend_from_slice(data);
        Ok(())
    }

    fn end(&mut self, trailers: &[u8]) -> Result<(), ClientError> {
        self.end = Some(trailer_map(trailers));
        Ok(())
    }

    fn backlog(&self) -> usize {
        self.pending.len()
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
            let data = self.pending.split_to(capacity.min(self.pending.len())).freeze();
            let last = self.pending.is_empty() && self.end.as_ref().is_some_and(HeaderMap::is_empty);
            send.send_data(data, last).map_err(|_| ClientError::Gone)?;
            self.ended |= last;
        }
        if let Some(trailers) = self.end.take_if(|_| !self.ended) {
            self.ended = true;
            let sent =
                if trailers.is_empty() { send.send_data(Bytes::new(), true) } else { send.send_trailers(trailers) };
            sent.map_err(|_| ClientError::Gone)?;
        }
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
