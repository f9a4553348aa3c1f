//! HTTP/1.1 app side of an exchange: reads response heads and bodies from one connection.

use std::io;
use std::task::{Context, Poll, ready};

use fairlead_route::{BadResponse, RequestBody, ResponseFacts};

use super::{BodyDecoder, fields, header_slots, parse_response};
use crate::core::{Buffers, Core, keep_block};
use crate::exchange::{Download, Downstream, Edit, HeadKind, RelayError, ResponseView, Upload, Upstream};
use crate::upstream::UpstreamConnection;

/// Decoding state of a response.
#[derive(Debug, Default)]
pub(crate) struct ResponseReader {
    /// Set once the final head was read.
    body: Option<BodyDecoder>,
    /// Partial head, or bytes after the response.
    unread: Vec<u8>,
}

impl ResponseReader {
    /// Decodes heads and body from `input`; returns the number of bytes consumed.
    fn consume<D: Downstream>(
        &mut self,
        input: &[u8],
        core: &Core,
        download: &mut Download<'_, D>,
    ) -> Result<usize, RelayError> {
        let mut at = 0;
        while !download.is_done() {
            match &mut self.body {
                None => match self.consume_head(&input[at..], core, download)? {
                    None => return Ok(at),
                    Some(length) => at += length,
                },
                Some(body) => {
                    let decoded = body.decode(&input[at..]).map_err(|_| BadResponse::Body)?;
                    at += decoded.consumed;
                    download.body(decoded.data)?;
                    if let Some(trailers) = decoded.end {
                        download.end(&trailers)?;
                    } else if decoded.consumed == 0 {
                        return Ok(at);
                    }
                }
            }
        }
        Ok(at)
    }

    fn consume_head<D: Downstream>(
        &mut self,
        input: &[u8],
        core: &Core,
        download: &mut Download<'_, D>,
    ) -> Result<Option<usize>, RelayError> {
        let mut slots = header_slots();
        let Some(head) = parse_response(input, &mut slots, &core.limits)? else { return Ok(None) };
        let facts = ResponseFacts::gather(head.status, head.is_http_1_1, download.is_head(), fields(head.headers))?;
        let view = ResponseView {
            status: head.status,
            reason: head.reason,
            facts: &facts,
            headers: head.headers,
            edit: Edit::default(),
        };
        let body = match download.head(&view)? {
            HeadKind::Interim => return Ok(Some(head.length)),
            HeadKind::Response => BodyDecoder::of_response(facts.body),
            HeadKind::Tunnel => BodyDecoder::UntilClose,
        };
        if body.has_ended() {
            download.end(&[])?;
        }
        self.body = Some(body);
        Ok(Some(head.length))
    }
}

impl Upstream for UpstreamConnection {
    fn upload(&self, body: RequestBody) -> Upload {
        Upload::new(body)
    }

    fn buffer(&mut self, buffers: &Buffers) -> &mut Vec<u8> {
        self.outbox.buffer(buffers)
    }

    fn backlog(&self) -> usize {
        self.outbox.len()
    }

    fn owes(&self, _upload: &Upload) -> bool {
        UpstreamConnection::owes(self)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, buffers: &Buffers, _upload: &Upload) -> Poll<io::Result<()>> {
        self.poll_send(cx, buffers)
    }

    fn discard(&mut self, buffers: &Buffers) {
        self.outbox.discard(buffers);
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_close_half(cx)
    }

    fn poll_response<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        core: &Core,
        download: &mut Download<'_, D>,
    ) -> Poll<Result<(), RelayError>> {
        let mut scratch = core.buffers.read();
        let most = scratch.len().min(download.piece());
        let count = ready!(self.poll_read(cx, &mut scratch[..most])).map_err(RelayError::Io)?;
        if count == 0 {
            let Some(BodyDecoder::UntilClose) = self.reading.body else { return Poll::Ready(Err(RelayError::Closed)) };
            return Poll::Ready(download.end(&[]));
        }
        download.received();
        let reading = &mut self.reading;
        let kept = if D::KEEPS_BODY && reading.unread.is_empty() { keep_block(&mut scratch, count) } else { None };
        let bytes = kept.as_deref().unwrap_or(&scratch[..count]);
        if reading.unread.is_empty() {
            download.set_block(kept.clone());
            let used = reading.consume(bytes, core, download);
            download.set_block(None);
            reading.unread.extend_from_slice(&bytes[used?..]);
        } else {
            let mut all = std::mem::take(&mut reading.unread);
            all.extend_from_slice(bytes);
            let used = reading.consume(&all, core, download)?;
            all.drain(..used);
            reading.unread = all;
        }
        Poll::Ready(Ok(()))
    }

    fn is_clean(&self) -> bool {
        self.outbox.is_empty() && self.reading.unread.is_empty()
    }
}
