//! WebSocket handshake keys (RFC 6455, 4), for exchanges where one side speaks HTTP/2, which has no keys (RFC 8441).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// GUID that only a server with WebSocket support appends (RFC 6455, 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns a handshake key of 16 random bytes. It ties a response to this request; it is no secret.
pub(crate) fn key(random: [u64; 2]) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&random[1].to_ne_bytes());
    STANDARD.encode(bytes)
}

/// Computes Sec-WebSocket-Accept for a key.
pub(crate) fn accept(key: &[u8]) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
    STANDARD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_own_example() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(key([0, 0]), "AAAAAAAAAAAAAAAAAAAAAA==");
    }
}
