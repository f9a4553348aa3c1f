//! One attempt of an exchange, by whatever protocol its instance speaks.

use std::future::poll_fn;
use std::time::Duration;

use super::relay::{Relay, Relayed};
use super::{Downstream, Exchange, Failure, Upstream};
use crate::core::{Alarm, Permit};
use crate::h2::{self, Http2Upstream};
use crate::upstream::{Http2Lease, Instance, Link};

/// Why an attempt failed, and whether nothing of the request's body was used up and nothing came back.
type Failed = (Failure, bool);

impl Exchange {
    /// Carries the exchange to the app and back; tells how long the connection may wait for its next one. It is borrowed: a
    /// future that is handed it by value has room for it twice.
    pub(super) async fn carry<D: Downstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        link: &mut Link,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, Failed> {
        match link {
            Link::Http1(connection) => {
                connection.outbox.buffer(&self.core.buffers).extend_from_slice(&self.head);
                self.relay(downstream, alarm, connection, permit, instance).await
            }
            // Its state is larger, and must not widen the task of every exchange.
            Link::Http2(lease) => Box::pin(self.carry_by_http2(downstream, alarm, lease, permit, instance)).await,
        }
    }

    async fn carry_by_http2<D: Downstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        lease: &Http2Lease,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, Failed> {
        let request = h2::request(&self.head, instance.is_secure());
        let request = request.ok_or((Failure::Unspeakable, true))?;
        let stream = if self.offers_upgrade {
            Http2Upstream::open_tunnel(lease, request)
        } else {
            Http2Upstream::open(lease, request, self.body)
        };
        let mut stream = stream.map_err(|failure| (failure, true))?;
        self.relay(downstream, alarm, &mut stream, permit, instance).await
    }

    /// Moves everything both ways; tells how long the connection may wait for its next exchange.
    async fn relay<D: Downstream, U: Upstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        upstream: &mut U,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, Failed> {
        let mut relay = Relay::new(self, downstream, instance, alarm, upstream, permit);
        match poll_fn(|cx| relay.poll(cx)).await {
            Ok(Relayed { keep_for }) => Ok(keep_for),
            Err(failure) => Err((failure, relay.is_untouched())),
        }
    }
}
