//! What QUIC is set to: TLS 1.3 with the certificates and tickets of TCP's, bounds on streams and windows, no 0-RTT.

use std::sync::Arc;

use aws_lc_rs::{hkdf, hmac, rand};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::cid::{Cids, Generation, Place};
use crate::control::{ProxyError, ProxyKeys};
use crate::limits::{Limits, STREAMS_MAX};

/// Body bytes a client may send ahead, for one stream and for the whole connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// Bytes of responses that a client has not confirmed, for one connection.
pub(crate) const SEND_WINDOW_BYTES: u64 = 1024 * 1024;
/// A client has a control stream and QPACK's two; the rest is for kinds that nobody knows.
const UNI_STREAMS_MAX: u32 = 8;

/// What all cores share: the same keys, so that a token or a reset made by one is good on each.
#[derive(Clone)]
pub(crate) struct QuicSettings {
    pub(crate) server: Arc<ServerConfig>,
    reset_key: Arc<hmac::Key>,
    pub(crate) generation: Generation,
}

impl QuicSettings {
    /// `tls` is TCP's configuration: QUIC differs in the protocol it negotiates only.
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

    /// The endpoint's configuration of one core.
    pub(crate) fn endpoint(&self, place: Place) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::clone(&self.reset_key) as Arc<dyn quinn_proto::crypto::HmacKey>);
        config.cid_generator(move || Box::new(Cids(place)));
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
