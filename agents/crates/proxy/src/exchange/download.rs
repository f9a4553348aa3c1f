//! Response from the app to the client: interim responses, header edits, compression and byte counts. It connects an
//! upstream codec to a downstream codec, whatever protocols they translate.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use fairlead_route::{BadResponse, ResponseBody, ResponseFacts};

use super::compressed;
use super::relay::RelayError;
use super::websocket_close::WebSocketClose;
use super::{Downstream, Edit, Exchange, ResponseView};
use crate::compress::Compressor;
use crate::filters::PreparedPage;
use crate::h1::fields;
use crate::limits::INTERIMS_MAX;
use crate::upstream::Instance;

/// Content that follows a response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadKind {
    /// 1xx: another head follows.
    Interim,
    /// Final head: the body follows.
    Response,
    /// 101: bytes of another protocol follow.
    Tunnel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DownloadStage {
    Head,
    Body,
    Done,
}

/// The response of one attempt.
pub(crate) struct Download<'a, D> {
    pub(crate) exchange: &'a mut Exchange,
    pub(crate) downstream: &'a mut D,
    instance: &'a Instance,
    stage: DownloadStage,
    interims: u32,
    received_any: bool,
    tunnel: bool,
    long_lived: bool,
    /// True while the body of the app is discarded because the client got a page in its place.
    dropping: bool,
    keep_for: Option<Duration>,
    /// Set for a WebSocket only.
    websocket_close: Option<Box<WebSocketClose>>,
    compressor: Option<Compressor>,
    /// Block that holds the body, if it may be kept.
    block: Option<Bytes>,
}

impl<'a, D: Downstream> Download<'a, D> {
    pub(crate) fn new(exchange: &'a mut Exchange, downstream: &'a mut D, instance: &'a Instance) -> Self {
        Self {
            exchange,
            downstream,
            instance,
            stage: DownloadStage::Head,
            interims: 0,
            received_any: false,
            tunnel: false,
            long_lived: false,
            dropping: false,
            keep_for: None,
            websocket_close: None,
            compressor: None,
            block: None,
        }
    }

    /// Returns the maximum number of response bytes to read at once.
    pub(crate) fn piece(&self) -> usize {
        match self.downstream.connection_backlog() {
            Some(backlog) => backlog.piece(),
            None => self.exchange.core.backlogs.piece(),
        }
    }

    /// True if the request was HEAD: no body follows the head.
    pub(crate) fn is_head(&self) -> bool {
        self.exchange.is_head
    }

    /// Records that bytes arrived from the app: it has seen the request.
    pub(crate) fn received(&mut self) {
        self.received_any = true;
    }

    /// Sets the block that holds the next parts of the body; `None` if it can't be kept.
    pub(crate) fn set_block(&mut self, block: Option<Bytes>) {
        self.block = block;
    }

    pub(crate) fn has_received(&self) -> bool {
        self.received_any
    }

    pub(crate) fn had_interims(&self) -> bool {
        self.interims > 0
    }

    /// True until the final head arrives.
    pub(crate) fn is_before_head(&self) -> bool {
        self.stage == DownloadStage::Head
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == DownloadStage::Done
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        self.tunnel
    }

    /// True if the response may stay open for hours while the app works for moments.
    pub(crate) fn is_long_lived(&self) -> bool {
        self.long_lived
    }

    /// True if both sides may be silent for long without a timeout. A gRPC call on its own connection counts only
    /// after the app has answered: otherwise any client could claim one.
    pub(crate) fn is_conversation(&self) -> bool {
        let may_be_a_call = || self.stage != DownloadStage::Head || self.exchange.app.bounds().shares_connections;
        self.tunnel || self.exchange.grpc && may_be_a_call()
    }

    /// Returns how long the connection may stay idle before its next exchange, from the response head.
    pub(crate) fn keep_for(&self) -> Option<Duration> {
        self.keep_for
    }

    /// Processes an interim or final head.
    pub(crate) fn head(&mut self, view: &ResponseView<'_>) -> Result<HeadKind, RelayError> {
        match view.status {
            101 if !self.exchange.offers_upgrade || view.facts.upgrade.is_none() => Err(BadResponse::Upgrade.into()),
            // A success without this proof would open a tunnel for the client.
            101 | 200..300 if !self.proves_websocket(view) => Err(BadResponse::Upgrade.into()),
            // Drops a 100 (Continue) that the client did not ask for.
            100 if !self.exchange.expects_continue => Ok(HeadKind::Interim),
            100 | 102..200 => {
                // Interim responses ignore the backlog of the client; only the final response respects it.
                self.interims += 1;
                if self.interims > INTERIMS_MAX {
                    return Err(BadResponse::Interims.into());
                }
                self.downstream.interim(view)?;
                Ok(HeadKind::Interim)
            }
            _ => self.begin(view),
        }
    }

    /// True if the response proves the WebSocket handshake, or if this proxy does not have to verify it.
    fn proves_websocket(&self, view: &ResponseView<'_>) -> bool {
        let Some(accept) = &self.exchange.websocket_accept else { return true };
        let mut proofs = fields(view.headers).filter(|(name, _)| name.eq_ignore_ascii_case(b"sec-websocket-accept"));
        view.status == 101
            && proofs.next().is_some_and(|(_, value)| value == accept.as_bytes())
            && proofs.next().is_none()
    }

    fn begin(&mut self, view: &ResponseView<'_>) -> Result<HeadKind, RelayError> {
        self.exchange.answered(view.status);
        self.stage = DownloadStage::Body;
        let policy = self.exchange.policy.clone();
        let cookie = self.exchange.sticky_cookie();
        let core = Rc::clone(&self.exchange.core);
        let edit = Edit {
            alt_svc: core.alt_svc().filter(|_| self.exchange.takes_alt_svc),
            page: policy.as_deref().and_then(|policy| policy.page_instead(view.status)),
            rules: policy.as_deref().and_then(|policy| policy.response_rules(self.exchange.secure)),
            set_cookie: cookie.as_deref().map(str::as_bytes),
            recoding: None,
        };
        match edit.page {
            None if policy.as_deref().is_some_and(|policy| policy.compress) && view.status != 101 => {
                self.compressor = compressed::head(self.exchange, self.downstream, &ResponseView { edit, ..*view })?;
            }
            None => self.downstream.head(&ResponseView { edit, ..*view })?,
            Some(page) => self.answer_with(page, &ResponseView { edit, ..*view })?,
        }
        self.tunnel = view.status == 101;
        if self.tunnel && view.facts.upgrade.is_some_and(|to| to.eq_ignore_ascii_case(b"websocket")) {
            self.websocket_close = Some(Box::new(WebSocketClose::new(&self.exchange.core)));
        }
        if !self.tunnel && view.facts.reusable {
            self.keep_for = keep_for(view.facts, self.exchange.core.limits.upstream_idle_timeout);
        }
        if self.tunnel || view.facts.event_stream || self.exchange.grpc {
            self.long_lived = true;
            self.exchange.is_long_lived();
        }
        Ok(if self.tunnel { HeadKind::Tunnel } else { HeadKind::Response })
    }

    /// Sends a page and discards the body of the app.
    fn answer_with(&mut self, page: &PreparedPage, view: &ResponseView<'_>) -> Result<(), RelayError> {
        let length = page.body.len() as u64;
        let body = if self.exchange.is_head { ResponseBody::None } else { ResponseBody::Length(length) };
        let facts = view.facts.with_body(body, length);
        self.downstream.head(&ResponseView { facts: &facts, ..*view })?;
        if !self.exchange.is_head {
            self.exchange.metrics.bytes_sent += length;
            self.downstream.body(&page.body)?;
        }
        self.downstream.end(&[])?;
        self.dropping = true;
        Ok(())
    }

    /// Stops reading a discarded body: the rest is not awaited and the connection not reused.
    pub(crate) fn drop_rest(&mut self) {
        if self.dropping && self.stage == DownloadStage::Body {
            self.stage = DownloadStage::Done;
            self.keep_for = None;
        }
    }

    /// Forwards a part of the body.
    pub(crate) fn body(&mut self, data: &[u8]) -> Result<(), RelayError> {
        if self.dropping {
            return Ok(());
        }
        #[cfg(test)]
        assert_ne!(data, crate::worker::tests::FAULT);
        let (metrics, downstream) = (&mut self.exchange.metrics, &mut *self.downstream);
        if let Some(compressor) = &mut self.compressor {
            return compressor.write(data, |bytes| {
                metrics.bytes_sent += bytes.len() as u64;
                Ok(downstream.body(bytes)?)
            });
        }
        metrics.bytes_sent += data.len() as u64;
        match (&self.websocket_close, &self.block) {
            (None, None) => Ok(downstream.body(data)?),
            (None, Some(block)) => Ok(downstream.body_part(block.slice_ref(data))?),
            (Some(_), _) => self.frames(data),
        }
    }

    /// Flushes the compressor when no more input is available.
    pub(crate) fn settle(&mut self) -> Result<(), RelayError> {
        let Some(compressor) = &mut self.compressor else { return Ok(()) };
        let (metrics, downstream) = (&mut self.exchange.metrics, &mut *self.downstream);
        compressor.flush(|bytes| {
            metrics.bytes_sent += bytes.len() as u64;
            Ok(downstream.body(bytes)?)
        })
    }

    /// True if the task must yield to others of its core.
    pub(crate) fn ends_turn(&mut self) -> bool {
        self.compressor.as_mut().is_some_and(Compressor::ends_turn)
    }

    /// Forwards WebSocket bytes, and the proxy's Close frame at a frame boundary when it is due.
    fn frames(&mut self, data: &[u8]) -> Result<(), RelayError> {
        let Some(websocket_close) = &mut self.websocket_close else { return Ok(()) };
        let (data, close) = websocket_close.pass(data);
        self.downstream.body(data)?;
        if let Some(close) = close {
            self.downstream.body(close)?;
        }
        Ok(())
    }

    /// Returns the time at which the WebSocket must be closed in a drain.
    pub(crate) fn close_at(&self) -> Option<u64> {
        self.websocket_close.as_ref()?.due_at(&self.exchange.core, self.instance)
    }

    /// Sends the Close frame, now or at the next frame boundary.
    pub(crate) fn close_websocket(&mut self) -> Result<(), RelayError> {
        if let Some(websocket_close) = &mut self.websocket_close {
            websocket_close.mark_due();
        }
        self.frames(&[])
    }

    /// Ends the response; `trailers` are lines with CRLF.
    pub(crate) fn end(&mut self, trailers: &[u8]) -> Result<(), RelayError> {
        if let Some(compressor) = self.compressor.take() {
            let rest = compressor.end().map_err(RelayError::Compression)?;
            self.exchange.metrics.bytes_sent += rest.len() as u64;
            self.downstream.body(&rest)?;
        }
        if !self.dropping {
            let policy = self.exchange.policy.as_deref().filter(|_| !trailers.is_empty());
            match policy.and_then(|policy| policy.response_rules(self.exchange.secure)) {
                None => self.downstream.end(trailers)?,
                Some(rules) => self.downstream.end(&rules.trailers(trailers))?,
            }
        }
        self.stage = DownloadStage::Done;
        Ok(())
    }
}

/// Returns the idle time of the connection: one second less than the app offers, so that no request races its close.
fn keep_for(facts: &ResponseFacts<'_>, most: Duration) -> Option<Duration> {
    match facts.keep_alive_seconds {
        None => Some(most),
        Some(0 | 1) => None,
        Some(seconds) => Some(most.min(Duration::from_secs(seconds - 1))),
    }
}
