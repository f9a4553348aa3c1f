//! A response on its way from the app to the client: what its head allows, interim responses, and how it is counted.
//! Whatever protocol the app speaks, its codec ends here; whatever the client speaks, its codec begins here.

use std::rc::Rc;
use std::time::Duration;

use fairlead_route::{BadResponse, ResponseBody, ResponseFacts};

use super::compressed;
use super::farewell::Farewell;
use super::relay::Failure;
use super::{Downstream, Edit, Exchange, ResponseView};
use crate::compress::Compressor;
use crate::h1::fields;
use crate::limits::INTERIMS_MAX;
use crate::policy::{Page, Policy};
use crate::upstream::Instance;

/// What a head begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadKind {
    /// Another head follows.
    Interim,
    /// The body follows.
    Response,
    /// Bytes of another protocol follow.
    Tunnel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Done,
}

/// The response of one attempt.
pub(crate) struct Download<'a, D> {
    pub(crate) exchange: &'a mut Exchange,
    pub(crate) downstream: &'a mut D,
    instance: &'a Instance,
    stage: Stage,
    interims: u32,
    received_any: bool,
    tunnel: bool,
    long_lived: bool,
    /// The client has the whole response, which is not the app's.
    dropping: bool,
    keep_for: Option<Duration>,
    /// For a WebSocket.
    farewell: Option<Box<Farewell>>,
    compressor: Option<Compressor>,
}

impl<'a, D: Downstream> Download<'a, D> {
    pub(crate) fn new(exchange: &'a mut Exchange, downstream: &'a mut D, instance: &'a Instance) -> Self {
        Self {
            exchange,
            downstream,
            instance,
            stage: Stage::Head,
            interims: 0,
            received_any: false,
            tunnel: false,
            long_lived: false,
            dropping: false,
            keep_for: None,
            farewell: None,
            compressor: None,
        }
    }

    /// Most bytes of the response to read at once.
    pub(crate) fn piece(&self) -> usize {
        match self.downstream.connection_backlog() {
            Some(backlog) => backlog.piece(),
            None => self.exchange.core.backlogs.piece(),
        }
    }

    /// The request was HEAD: no body follows whatever the head says.
    pub(crate) fn is_head(&self) -> bool {
        self.exchange.is_head
    }

    /// Something came from the app: it has seen the request.
    pub(crate) fn received(&mut self) {
        self.received_any = true;
    }

    pub(crate) fn has_received(&self) -> bool {
        self.received_any
    }

    pub(crate) fn had_interims(&self) -> bool {
        self.interims > 0
    }

    /// The final head is still due.
    pub(crate) fn is_before_head(&self) -> bool {
        self.stage == Stage::Head
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        self.tunnel
    }

    /// It may stay open for hours, of which the app works for moments.
    pub(crate) fn is_long_lived(&self) -> bool {
        self.long_lived
    }

    /// Either side may be silent for long: nobody is slow. A call of gRPC that holds a connection of its own is one only once the
    /// app has answered: else any client could hold one by calling its request a call.
    pub(crate) fn is_conversation(&self) -> bool {
        let may_be_a_call = || self.stage != Stage::Head || self.exchange.app.bounds().shares_connections;
        self.tunnel || self.exchange.grpc && may_be_a_call()
    }

    /// How long the app's connection may wait for its next exchange, as far as the response tells.
    pub(crate) fn keep_for(&self) -> Option<Duration> {
        self.keep_for
    }

    /// Takes a head, interim or final.
    pub(crate) fn head(&mut self, view: &ResponseView<'_>) -> Result<HeadKind, Failure> {
        match view.status {
            101 if !self.exchange.offers_upgrade || view.facts.upgrade.is_none() => Err(BadResponse::Upgrade.into()),
            // A success that is none would be a tunnel for the client.
            101 | 200..300 if !self.proves_websocket(view) => Err(BadResponse::Upgrade.into()),
            // A 100 that nobody waits for is noise.
            100 if !self.exchange.expects_continue => Ok(HeadKind::Interim),
            100 | 102..200 => {
                // They pass by the client's backlog, which only the response itself respects.
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

    /// Whether it is the WebSocket that was asked for, when this side has to judge that.
    fn proves_websocket(&self, view: &ResponseView<'_>) -> bool {
        let Some(accept) = &self.exchange.websocket_accept else { return true };
        let mut proofs = fields(view.headers).filter(|(name, _)| name.eq_ignore_ascii_case(b"sec-websocket-accept"));
        view.status == 101
            && proofs.next().is_some_and(|(_, value)| value == accept.as_bytes())
            && proofs.next().is_none()
    }

    fn begin(&mut self, view: &ResponseView<'_>) -> Result<HeadKind, Failure> {
        self.exchange.answered(view.status);
        self.stage = Stage::Body;
        let policy = self.exchange.policy.clone();
        let cookie = self.exchange.sticky_cookie();
        let core = Rc::clone(&self.exchange.core);
        let edit = Edit {
            alt_svc: core.alt_svc().filter(|_| self.exchange.takes_alt_svc),
            page: policy.as_deref().and_then(|policy| policy.page_instead(view.status)),
            rules: policy.as_deref().and_then(Policy::response_rules),
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
            self.farewell = Some(Box::new(Farewell::new(&self.exchange.core)));
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

    /// Sends a page in place of the app's body, which is dropped.
    fn answer_with(&mut self, page: &Page, view: &ResponseView<'_>) -> Result<(), Failure> {
        let length = page.body.len() as u64;
        let body = if self.exchange.is_head { ResponseBody::None } else { ResponseBody::Length(length) };
        let facts = view.facts.with_body(body, length);
        self.downstream.head(&ResponseView { facts: &facts, ..*view })?;
        if !self.exchange.is_head {
            self.exchange.tally.bytes_sent += length;
            self.downstream.body(&page.body)?;
        }
        self.downstream.end(&[])?;
        self.dropping = true;
        Ok(())
    }

    /// What has arrived of a body that nobody gets was read; the rest is not waited for, and its connection not used again.
    pub(crate) fn drop_rest(&mut self) {
        if self.dropping && self.stage == Stage::Body {
            self.stage = Stage::Done;
            self.keep_for = None;
        }
    }

    /// Takes some of the body.
    pub(crate) fn body(&mut self, data: &[u8]) -> Result<(), Failure> {
        if self.dropping {
            return Ok(());
        }
        #[cfg(test)]
        assert_ne!(data, crate::worker::tests::FAULT);
        let (tally, downstream) = (&mut self.exchange.tally, &mut *self.downstream);
        if let Some(compressor) = &mut self.compressor {
            return compressor.write(data, |bytes| {
                tally.bytes_sent += bytes.len() as u64;
                Ok(downstream.body(bytes)?)
            });
        }
        tally.bytes_sent += data.len() as u64;
        match &mut self.farewell {
            None => Ok(downstream.body(data)?),
            Some(_) => self.frames(data),
        }
    }

    /// Nothing more has come for now: what there is goes out.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        let Some(compressor) = &mut self.compressor else { return Ok(()) };
        let (tally, downstream) = (&mut self.exchange.tally, &mut *self.downstream);
        compressor.flush(|bytes| {
            tally.bytes_sent += bytes.len() as u64;
            Ok(downstream.body(bytes)?)
        })
    }

    /// Others of the core are to have their turn.
    pub(crate) fn ends_turn(&mut self) -> bool {
        self.compressor.as_mut().is_some_and(Compressor::ends_turn)
    }

    /// Passes a WebSocket's bytes on, and a Close of ours between two frames when it is due.
    fn frames(&mut self, data: &[u8]) -> Result<(), Failure> {
        let Some(farewell) = &mut self.farewell else { return Ok(()) };
        let (data, close) = farewell.pass(data);
        self.downstream.body(data)?;
        if let Some(close) = close {
            self.downstream.body(close)?;
        }
        Ok(())
    }

    /// When a WebSocket is to be told that it ends.
    pub(crate) fn farewell_at(&self) -> Option<u64> {
        self.farewell.as_ref()?.due_at(&self.exchange.core, self.instance)
    }

    /// Tells it, now or at the next border.
    pub(crate) fn bid_farewell(&mut self) -> Result<(), Failure> {
        if let Some(farewell) = &mut self.farewell {
            farewell.is_due();
        }
        self.frames(&[])
    }

    /// Takes the end; `trailers` are lines with CRLF.
    pub(crate) fn end(&mut self, trailers: &[u8]) -> Result<(), Failure> {
        if let Some(compressor) = self.compressor.take() {
            let rest = compressor.end().map_err(Failure::Compression)?;
            self.exchange.tally.bytes_sent += rest.len() as u64;
            self.downstream.body(&rest)?;
        }
        if !self.dropping {
            let policy = self.exchange.policy.as_deref().filter(|_| !trailers.is_empty());
            match policy.and_then(Policy::response_rules) {
                None => self.downstream.end(trailers)?,
                Some(rules) => self.downstream.end(&rules.trailers(trailers))?,
            }
        }
        self.stage = Stage::Done;
        Ok(())
    }
}

/// How long an idle connection is of use: less than the app said, so that we never send into its closing.
fn keep_for(facts: &ResponseFacts<'_>, most: Duration) -> Option<Duration> {
    match facts.keep_alive_seconds {
        None => Some(most),
        Some(0 | 1) => None,
        Some(seconds) => Some(most.min(Duration::from_secs(seconds - 1))),
    }
}
