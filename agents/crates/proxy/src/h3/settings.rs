//! QUIC configuration: TLS 1.3 with the certificates and tickets of TCP, limits for streams and flow control, no
//! 0-RTT.

use std::sync::Arc;

use aws_lc_rs::{hkdf, hmac, rand};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::routing_id::{Generation, QuicRoutingId, RoutingIdGenerator};
use crate::control::{ProxyError, ProxyKeys};
use crate::limits::{Limits, STREAMS_MAX};

/// Flow control windows in bytes, for one stream and for the whole connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// Maximum unacknowledged response bytes of one connection.
pub(crate) const SEND_WINDOW_BYTES: u64 = 1024 * 1024;
/// A client opens a control stream and two for QPACK; the rest allows unknown types.
const UNI_STREAMS_MAX: u32 = 8;

/// Configuration and keys that all cores share, so that each accepts the tokens and resets of the others.
#[derive(Clone)]
pub(crate) struct QuicSettings {
    pub(crate) server: Arc<ServerConfig>,
    reset_key: Arc<hmac::Key>,
    pub(crate) generation: Generation,
}

impl QuicSettings {
    /// Derives the QUIC configuration from the `tls` of TCP: only ALPN and early data differ.
    pub(crate) fn new(tls: &rustls::ServerConfig, keys: &ProxyKeys, limits: &Limits) -> Result<Self, ProxyError> {
        let mut tls = tls.clone();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        tls.max_early_data_size = 0;
        let crypto = QuicServerConfig::try_from(tls)
            .map_err(|_| rustls::Error::General("AES-128-GCM is missing, which QUIC begins with".to_owned()))?;
        let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, b"fairlead quic token").extract(&keys.quic_token);
        let mut server = ServerConfig::new(Arc::new(crypto), Arc::new(token_key));
        server.transport_config(Arc::new(transport(limits))).migration(true);
        let reset_key = Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &keys.quic_reset));
        let mut generation = [0; 2];
        rand::fill(&mut generation).map_err(|_| ProxyError::Protocol("the system has no randomness"))?;
        Ok(Self { server: Arc::new(server), reset_key, generation })
    }

    /// Returns the endpoint configuration of one core.
    pub(crate) fn endpoint(&self, routing_id: QuicRoutingId) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::clone(&self.reset_key) as Arc<dyn quinn_proto::crypto::HmacKey>);
        config.cid_generator(move || Box::new(RoutingIdGenerator(routing_id)));
        config
    }
}

fn transport(limits: &Limits) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(STREAMS_MAX.into())
        .max_concurrent_uni_streams(UNI_STREAMS_MAX.into())
        .stream_receive_window(STREAM_WINDOW_BYTES.into())
        .receive_window(CONNECTION_WINDOW_BYTES.into())
        .send_window(SEND_WINDOW_BYTES)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(IdleTimeout::try_from(limits.idle_timeout).unwrap_or(VarInt::MAX.into())));
    transport
}
