//! HTTP/2 app side of an exchange: one stream of a shared connection, with flow control and trailers in both
//! directions.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use fairlead_route::{BadResponse, RequestBody, ResponseBody, ResponseFacts};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::header::{SEC_WEBSOCKET_ACCEPT, UPGRADE};
use http::{HeaderMap, HeaderValue, Request};
use httparse::Header;

use super::as_tunnel;
use super::trailers::{trailer_lines, trailer_map};
use crate::core::{Buffers, Core};
use crate::exchange::{Download, Downstream, Edit, RelayError, ResponseView, Upload, Upstream};
use crate::h1::fields;
use crate::limits::HEADERS_MAX;
use crate::upstream::Http2Lease;

/// One stream. Dropping it before its end resets it.
pub(crate) struct Http2Upstream {
    send: SendStream<Bytes>,
    response: ResponseFuture,
    /// Set once the final head was read.
    body: Option<RecvStream>,
    /// Content-Length bytes that have not arrived yet.
    due: Option<u64>,
    out: Vec<u8>,
    /// True if END_STREAM was sent or the stream is not writable any more.
    ended: bool,
    /// Accept value for the client's WebSocket key while a tunnel is requested. Taken when the response decides it.
    tunnel: Option<String>,
}

impl Http2Upstream {
    /// Sends the request head; the lease must outlive the stream. An error means that nothing was sent.
    pub(crate) fn open(lease: &Http2Lease, request: Request<()>, body: RequestBody) -> Result<Self, RelayError> {
        let ends = matches!(body, RequestBody::None | RequestBody::Length(0));
        Self::send(lease, request, ends, None)
    }

    /// Requests a WebSocket. An error means that nothing was sent, because the app has no extended CONNECT.
    pub(crate) fn open_tunnel(lease: &Http2Lease, mut request: Request<()>) -> Result<Self, RelayError> {
        if !lease.send().is_extended_connect_protocol_enabled() {
            return Err(RelayError::Unspeakable);
        }
        let accept = as_tunnel(&mut request).ok_or(RelayError::Unspeakable)?;
        Self::send(lease, request, false, Some(accept))
    }

    fn send(lease: &Http2Lease, request: Request<()>, ended: bool, tunnel: Option<String>) -> Result<Self, RelayError> {
        let (response, send) = lease.send().send_request(request, ended).map_err(|_| RelayError::Refused)?;
        Ok(Self { send, response, body: None, due: None, out: Vec::new(), ended, tunnel })
    }

    fn poll_body<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        download: &mut Download<'_, D>,
    ) -> Poll<Result<(), RelayError>> {
        let Some(body) = &mut self.body else { return Poll::Pending };
        match ready!(body.poll_data(cx)) {
            Some(Ok(data)) => {
                self.due = self.due.map(|due| due.saturating_sub(data.len() as u64));
                download.body(&data)?;
                // The window opens only as fast as the client takes the bytes.
                body.flow_control().release_capacity(data.len()).map_err(failure)?;
                if body.is_end_stream() {
                    download.end(&[])?;
                }
                Poll::Ready(Ok(()))
            }
            // The app wants no more of the request; its response is whole (RFC 9113, 8.1).
            Some(Err(error)) if error.reason() == Some(Reason::NO_ERROR) && self.due.is_none_or(|due| due == 0) => {
                Poll::Ready(download.end(&[]))
            }
            Some(Err(error)) => Poll::Ready(Err(failure(error))),
            None => {
                let trailers = ready!(body.poll_trailers(cx)).map_err(failure)?;
                Poll::Ready(download.end(&trailers.map_or_else(Vec::new, |trailers| trailer_lines(&trailers))))
            }
        }
    }
}

/// Passes a head to the exchange; returns the kind of body that follows.
fn hand_on<D: Downstream>(
    status: u16,
    map: &HeaderMap,
    ends: bool,
    download: &mut Download<'_, D>,
) -> Result<ResponseBody, RelayError> {
    if map.len() > HEADERS_MAX {
        return Err(BadResponse::HeadTooLarge.into());
    }
    let headers: Vec<Header<'_>> =
        map.iter().map(|(name, value)| Header { name: name.as_str(), value: value.as_bytes() }).collect();
    let mut facts = ResponseFacts::gather(status, true, download.is_head(), fields(&headers))?;
    // The stream end is the end of the body, whatever Content-Length says.
    facts.body = match facts.body {
        ResponseBody::UntilClose if ends => ResponseBody::Length(0),
        ResponseBody::UntilClose => ResponseBody::Chunked,
        body => body,
    };
    facts.reusable = false;
    download.head(&ResponseView { status, reason: b"", facts: &facts, headers: &headers, edit: Edit::default() })?;
    Ok(facts.body)
}

/// Maps an error of the stream to a failure of the exchange.
fn failure(error: h2::Error) -> RelayError {
    let reason = error.reason();
    if error.is_remote() && (error.is_go_away() || reason == Some(Reason::REFUSED_STREAM)) {
        // The app reports that it did not process the request (RFC 9113, 8.7).
        return RelayError::Refused;
    }
    match reason {
        Some(reason) if error.is_remote() && error.is_reset() => RelayError::Reset(reason.into()),
        _ if error.is_io() => RelayError::Io(error.into_io().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())),
        _ => BadResponse::Syntax.into(),
    }
}

fn broken(error: h2::Error) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, error)
}

impl Upstream for Http2Upstream {
    fn upload(&self, body: RequestBody) -> Upload {
        Upload::unframed(body)
    }

    fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8> {
        buffers.lend(&mut self.out);
        &mut self.out
    }

    fn backlog(&self) -> usize {
        self.out.len()
    }

    fn owes(&self, upload: &Upload) -> bool {
        !self.out.is_empty() || upload.is_done() && !self.ended && self.tunnel.is_none()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, buffers: &Buffers, upload: &Upload) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            self.send.reserve_capacity(self.out.len());
            let capacity = self.send.capacity();
            if capacity == 0 {
                match ready!(self.send.poll_capacity(cx)) {
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return Poll::Ready(Err(broken(error))),
                    None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                }
            }
            let rest = if capacity < self.out.len() { self.out.split_off(capacity) } else { Vec::new() };
            let data = Bytes::from(std::mem::replace(&mut self.out, rest));
            let last = self.out.is_empty() && upload.is_done() && upload.trailers().is_empty();
            self.send.send_data(data, last).map_err(broken)?;
            self.ended |= last;
        }
        buffers.reclaim(&mut self.out);
        if upload.is_done() && !self.ended {
            self.ended = true;
            let sent = match upload.trailers() {
                [] => self.send.send_data(Bytes::new(), true),
                lines => self.send.send_trailers(trailer_map(lines)),
            };
            sent.map_err(broken)?;
        }
        Poll::Ready(Ok(()))
    }

    fn discard(&mut self, buffers: &Buffers) {
        self.out.clear();
        buffers.reclaim(&mut self.out);
        // The body is incomplete, so END_STREAM must not be sent.
        self.ended = true;
    }

    fn poll_shutdown(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // END_STREAM was sent with the last bytes.
        Poll::Ready(Ok(()))
    }

    fn poll_response<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        _core: &Core,
        download: &mut Download<'_, D>,
    ) -> Poll<Result<(), RelayError>> {
        if self.body.is_some() {
            return self.poll_body(cx, download);
        }
        match self.response.poll_informational(cx) {
            Poll::Ready(Some(Ok(interim))) => {
                download.received();
                hand_on(interim.status().as_u16(), interim.headers(), false, download)?;
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(failure(error))),
            Poll::Ready(None) | Poll::Pending => {}
        }
        let (mut head, body) = ready!(Pin::new(&mut self.response).poll(cx)).map_err(failure)?.into_parts();
        download.received();
        let ends = body.is_end_stream();
        if let Some(accept) = self.tunnel.take()
            && head.status.is_success()
        {
            // As HTTP/1.1 says it, which is how every client's codec takes it.
            let fields = [(UPGRADE, HeaderValue::from_static("websocket"))]
                .into_iter()
                .chain(HeaderValue::try_from(accept).map(|accept| (SEC_WEBSOCKET_ACCEPT, accept)));
            head.headers.extend(fields);
            hand_on(101, &head.headers, false, download)?;
            self.body = Some(body);
            return Poll::Ready(Ok(()));
        }
        let kind = hand_on(head.status.as_u16(), &head.headers, ends, download)?;
        if ends || kind == ResponseBody::None {
            download.end(&[])?;
        }
        self.due = match kind {
            ResponseBody::Length(length) => Some(length),
            _ => None,
        };
        self.body = Some(body);
        Poll::Ready(Ok(()))
    }

    fn is_clean(&self) -> bool {
        self.out.is_empty()
    }
}
