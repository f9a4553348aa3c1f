//! One attempt of an exchange, over the protocol of its instance.

use std::future::poll_fn;
use std::time::Duration;

use super::relay::{ExchangeRelay, RelayResult};
use super::{Downstream, Exchange, RelayError, Upstream};
use crate::core::{Alarm, Permit};
use crate::h2::{self, Http2Upstream};
use crate::upstream::{ConnectionLease, Http2Lease, Instance};

/// Failure of an attempt, and true if no request body was consumed and no response arrived.
type AttemptFailure = (RelayError, bool);

impl Exchange {
    /// Sends the request and relays the response; returns the keep-alive time of the connection. `link` is borrowed: a
    /// future that takes it by value reserves its space twice.
    pub(super) async fn carry<D: Downstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        link: &mut ConnectionLease,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, AttemptFailure> {
        match link {
            ConnectionLease::Http1(connection) => {
                connection.outbox.buffer(&self.core.buffers).extend_from_slice(&self.head);
                self.relay(downstream, alarm, connection, permit, instance).await
            }
            // Boxed: its larger state must not enlarge the task of every exchange.
            ConnectionLease::Http2(lease) => {
                Box::pin(self.carry_by_http2(downstream, alarm, lease, permit, instance)).await
            }
        }
    }

    async fn carry_by_http2<D: Downstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        lease: &Http2Lease,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, AttemptFailure> {
        let request = h2::request(&self.head, instance.is_secure());
        let request = request.ok_or((RelayError::Unspeakable, true))?;
        let stream = if self.offers_upgrade {
            Http2Upstream::open_tunnel(lease, request)
        } else {
            Http2Upstream::open(lease, request, self.body)
        };
        let mut stream = stream.map_err(|failure| (failure, true))?;
        self.relay(downstream, alarm, &mut stream, permit, instance).await
    }

    /// Relays both directions; returns the keep-alive time of the connection.
    async fn relay<D: Downstream, U: Upstream>(
        &mut self,
        downstream: &mut D,
        alarm: &Alarm,
        upstream: &mut U,
        permit: Permit,
        instance: &Instance,
    ) -> Result<Option<Duration>, AttemptFailure> {
        let mut relay = ExchangeRelay::new(self, downstream, instance, alarm, upstream, permit);
        match poll_fn(|cx| relay.poll(cx)).await {
            Ok(RelayResult { keep_for }) => Ok(keep_for),
            Err(failure) => Err((failure, relay.is_untouched())),
        }
    }
}
